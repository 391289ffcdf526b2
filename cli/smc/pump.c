/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes both ways between two descriptors and a connection, each way with a buffer of its own. The peer's
 * end of stream ends one way, the end of the input the other (a half close each). */
#include <errno.h>
#include <limits.h>
#include <linux/sockios.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/smc/smc.h"
#include "cli/stop.h"

#define SLICE_MS   100 /* so often progress is shown */
#define DELIVER_MS 5
#define BUF_BYTES  (256u << 10)

enum step {
    STEP_NONE,
    STEP_DONE,
    STEP_FAILED
}; /* nothing could be done now; something; a sentence was said */

static bool is_regular(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode);
}

static void count(struct smc_flow *flow, const uint8_t *bytes, size_t n)
{
    flow->bytes += n;
    if (flow->sum)
        smc_sum_add(flow->sum, bytes, n);
}

static bool must_wait(void)
{
    return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR;
}

static int broken(const struct smc_connection *c, const char *what)
{
    struct nornic_socket_info info;
    int error = errno;
    const char *reason = nornic_socket_info(c->fd, &info) == 0 ? info.reason : "";
    if (error == 0)
        return cli_negative("%s", what);
    return cli_negative("%s: %s%s%s", what, strerror(error), *reason ? ": " : "", reason);
}

/* --- from the input to the peer --- */

static enum step read_input(struct smc_connection *c)
{
    struct smc_flow *flow = &c->sent;
    ssize_t n = read(c->in_fd, flow->buf, BUF_BYTES);
    if (n < 0 && must_wait())
        return STEP_NONE;
    if (n < 0) {
        cli_negative("cannot read %s: %s", c->options->input ? c->options->input : "standard input",
                     strerror(errno));
        return STEP_FAILED;
    }
    flow->is_eof = n == 0;
    flow->from = 0;
    flow->to = (size_t)n;
    return STEP_DONE;
}

static enum step end_sending(struct smc_connection *c)
{
    c->sent.has_ended = true;
    if (nornic_shutdown(c->fd, SHUT_WR) == 0 || errno == ENOTCONN)
        return STEP_DONE;
    broken(c, "cannot end the stream");
    return STEP_FAILED;
}

static enum step send_some(struct smc_connection *c, short input_events, short peer_events)
{
    struct smc_flow *flow = &c->sent;
    if (flow->has_ended)
        return STEP_NONE;
    if (flow->from == flow->to && !flow->is_eof)
        return input_events ? read_input(c) : STEP_NONE;
    if (flow->from == flow->to)
        return end_sending(c);
    if (!(peer_events & (POLLOUT | POLLERR | POLLHUP)))
        return STEP_NONE;
    ssize_t n =
        nornic_send(c->fd, flow->buf + flow->from, flow->to - flow->from, MSG_DONTWAIT | MSG_NOSIGNAL);
    if (n < 0 && must_wait())
        return STEP_NONE;
    if (n < 0) {
        broken(c, "the connection broke while sending");
        return STEP_FAILED;
    }
    count(flow, flow->buf + flow->from, (size_t)n);
    flow->from += (size_t)n;
    return STEP_DONE;
}

/* --- from the peer to the output --- */

static enum step write_output(struct smc_connection *c, short events)
{
    struct smc_flow *flow = &c->taken;
    size_t n = flow->to - flow->from;
    if (!events)
        return STEP_NONE;
    /* A pipe that is writable takes so much without making us wait, which would hold up the other way. */
    if (!is_regular(c->out_fd) && n > PIPE_BUF)
        n = PIPE_BUF;
    ssize_t wrote = write(c->out_fd, flow->buf + flow->from, n);
    if (wrote < 0 && must_wait())
        return STEP_NONE;
    if (wrote < 0) {
        cli_negative("cannot write %s: %s", c->options->output ? c->options->output : "to standard output",
                     strerror(errno));
        return STEP_FAILED;
    }
    flow->from += (size_t)wrote;
    return STEP_DONE;
}

static enum step take_some(struct smc_connection *c, short output_events, short peer_events)
{
    struct smc_flow *flow = &c->taken;
    if (flow->has_ended)
        return STEP_NONE;
    if (flow->from < flow->to)
        return write_output(c, output_events);
    if (flow->is_eof) {
        flow->has_ended = true;
        return STEP_DONE;
    }
    if (!(peer_events & (POLLIN | POLLERR | POLLHUP)))
        return STEP_NONE;
    ssize_t n = nornic_recv(c->fd, flow->buf, BUF_BYTES, MSG_DONTWAIT);
    if (n < 0 && must_wait())
        return STEP_NONE;
    if (n < 0) {
        broken(c, "the connection broke");
        return STEP_FAILED;
    }
    flow->is_eof = n == 0;
    flow->from = 0;
    flow->to = (size_t)n;
    count(flow, flow->buf, (size_t)n);
    return STEP_DONE;
}

/* --- both --- */

enum { PEER, INPUT, OUTPUT, STOP, POLL_COUNT };

static void want(const struct smc_connection *c, struct pollfd fds[POLL_COUNT])
{
    const struct smc_flow *sent = &c->sent, *taken = &c->taken;
    bool to_send = !sent->has_ended && sent->from < sent->to;
    bool to_write = !taken->has_ended && taken->from < taken->to;
    bool to_read = !sent->has_ended && !sent->is_eof && !to_send;
    bool to_take = !taken->has_ended && !taken->is_eof && !to_write;
    short peer = (short)((to_send ? POLLOUT : 0) | (to_take ? POLLIN : 0));
    /* With nothing to take any more it is only watched for its end. */
    fds[PEER] = (struct pollfd){.fd = peer || taken->has_ended ? c->fd : -1, .events = peer};
    fds[INPUT] = (struct pollfd){.fd = to_read ? c->in_fd : -1, .events = POLLIN};
    fds[OUTPUT] = (struct pollfd){.fd = to_write ? c->out_fd : -1, .events = POLLOUT};
    fds[STOP] = (struct pollfd){.fd = cli_stop_fd(), .events = POLLIN};
}

/* The peer has closed both ways, so what is typed now goes nowhere; or the connection broke while there was
 * nothing to send. */
static int notice_hangup(struct smc_connection *c, short peer_events)
{
    int error = 0;
    socklen_t len = sizeof error;
    if (!c->taken.has_ended || c->sent.has_ended || c->sent.from < c->sent.to ||
        !(peer_events & (POLLHUP | POLLERR)))
        return CLI_OK;
    if (nornic_getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
        errno = error;
        return broken(c, "the connection broke");
    }
    c->sent.is_eof = true;
    return CLI_OK;
}

static int idle_too_long(const struct smc_connection *c, uint64_t since_ns)
{
    if (host_now_ns() - since_ns < c->options->idle_ns)
        return CLI_OK;
    return cli_negative("nothing moved for %g s (--idle waits longer)",
                        (double)c->options->idle_ns / NS_PER_S);
}

static int move(struct smc_connection *c, struct smc_progress *progress)
{
    uint64_t moved_ns = host_now_ns();
    while (!c->sent.has_ended || !c->taken.has_ended) {
        struct pollfd fds[POLL_COUNT];
        want(c, fds);
        bool wait = !(c->sent.is_eof && c->sent.from == c->sent.to && !c->sent.has_ended) &&
                    !(c->taken.is_eof && c->taken.from == c->taken.to && !c->taken.has_ended);
        if (poll(fds, POLL_COUNT, wait ? SLICE_MS : 0) < 0 && errno != EINTR)
            return cli_fail("cannot wait for bytes: %s", strerror(errno));
        if (cli_stopped())
            return cli_negative("stopped");
        int err = notice_hangup(c, fds[PEER].revents);
        if (err != CLI_OK)
            return err;
        enum step sent = send_some(c, fds[INPUT].revents, fds[PEER].revents);
        enum step taken =
            sent == STEP_FAILED ? STEP_FAILED : take_some(c, fds[OUTPUT].revents, fds[PEER].revents);
        if (taken == STEP_FAILED)
            return CLI_NEGATIVE;
        if (sent == STEP_DONE || taken == STEP_DONE)
            moved_ns = host_now_ns();
        err = idle_too_long(c, moved_ns);
        if (err != CLI_OK)
            return err;
        smc_progress_show(progress, c);
    }
    return CLI_OK;
}

/* What is sent last is on its way still: until the other end has it, or it broke. */
static int deliver(struct smc_connection *c)
{
    struct pollfd stop = {.fd = cli_stop_fd(), .events = POLLIN};
    uint64_t moved_ns = host_now_ns();
    int err = CLI_OK, left = 0, before = 0, error = 0;
    socklen_t len = sizeof error;
    while (err == CLI_OK && nornic_ioctl(c->fd, SIOCOUTQ, &left) == 0 && left > 0) {
        if (nornic_getsockopt(c->fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 && error != 0) {
            errno = error;
            return broken(c, "the connection broke before all had arrived");
        }
        if (poll(&stop, 1, DELIVER_MS) > 0)
            return cli_negative("stopped");
        if (left != before)
            moved_ns = host_now_ns();
        before = left;
        err = idle_too_long(c, moved_ns);
    }
    return err;
}

int smc_pump(struct smc_connection *c)
{
    static uint8_t sent[BUF_BYTES], taken[BUF_BYTES];
    struct smc_progress progress;
    struct stat st;
    c->sent.buf = sent;
    c->taken.buf = taken;
    c->sent.is_eof = c->in_fd < 0;
    if (c->in_fd >= 0 && fstat(c->in_fd, &st) == 0 && S_ISREG(st.st_mode))
        c->sent.size_bytes = (uint64_t)st.st_size;
    smc_progress_begin(&progress, c);
    int err = move(c, &progress);
    if (err == CLI_OK)
        err = deliver(c);
    c->end_ns = host_now_ns();
    smc_progress_end(&progress);
    return err;
}
