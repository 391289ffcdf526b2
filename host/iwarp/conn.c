/* SPDX-License-Identifier: BSD-2-Clause */
/* A TCP connection of iWARP: between a non-blocking socket and a queue pair of iwarp/, or the set-up that
 * comes before there is one.
 *
 * epoll tells edges, so an edge is kept until a call says EAGAIN. A short read is as good as EAGAIN:
 * octets that come later make another edge. A FIN may have been there before the edge: then the socket is
 * read to its end. */
#include "host/iwarp/iwarp.h"

#include <assert.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"
#include "base/guard.h"
#include "host/dev/clock.h"
#include "net/kernel/sockaddr.h"

#define READS_PER_ROUND  4
#define SHORT_BYTES      512u
#define BULK_BYTES       2048
#define WRITES_PER_ROUND 32
#define EMSS_CHECK_NS    NS_PER_S /* the path may have got narrower (IWARP-FPDU-05) */

/* --- life --- */

static bool on_ready(struct host_iw_fd *self, uint32_t events)
{
    struct host_iw_conn *conn = container_of(self, struct host_iw_conn, socket);
    bool has_ended = events & (EPOLLRDHUP | EPOLLHUP | EPOLLERR);
    conn->ready.is_readable |= has_ended || events & EPOLLIN;
    conn->halves.is_fin_near |= has_ended;
    conn->ready.is_writable |= (events & (EPOLLOUT | EPOLLERR)) != 0;
    host_iw_conn_activate(conn);
    return true;
}

static void on_time(struct rdma_timer *timer, uint64_t now_ns)
{
    host_iw_conn_expire(container_of(timer, struct host_iw_conn, timer), now_ns);
}

struct host_iw_conn *host_iw_conn_new(struct host_iw *iw, int fd, bool is_connecting, uint64_t end_ns)
{
    host_dev_assert_held(iw->dev);
    struct host_iw_conn *conn = iw->conn_count < HOST_IW_MAX_CONNS ? calloc(1, sizeof *conn) : NULL;
    if (!conn) {
        close(fd);
        return NULL;
    }
    conn->socket = (struct host_iw_fd){.fd = fd, .ready = on_ready};
    if (host_iw_set_add(&iw->set, &conn->socket, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET) != 0) {
        close(fd);
        free(conn);
        return NULL;
    }
    conn->iw = iw;
    conn->tcp = is_connecting ? HOST_IW_CONNECTING : HOST_IW_OPEN;
    conn->end_ns = end_ns;
    conn->timer.fire = on_time;
    TAILQ_INSERT_TAIL(&iw->conns, conn, of_all);
    iw->conn_count++;
    host_iw_conn_settle(conn);
    return conn;
}

void host_iw_set_tcp_of_dev(int fd, const struct host_iw *iw)
{
    const struct host_iw_tcp_options options = {.has_traffic_class = iw->traffic_class != 0,
                                                .traffic_class = iw->traffic_class};
    const int hops = iw->hop_limit;
    host_iw_set_tcp(fd, &options);
    if (hops) {
        setsockopt(fd, IPPROTO_IP, IP_TTL, &hops, sizeof hops);
        setsockopt(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &hops, sizeof hops);
    }
}

void host_iw_set_tcp(int fd, const struct host_iw_tcp_options *options)
{
    const int traffic_class = options->traffic_class;
    if (options->has_traffic_class) { /* a socket has one of the two families */
        setsockopt(fd, IPPROTO_IP, IP_TOS, &traffic_class, sizeof traffic_class);
        setsockopt(fd, IPPROTO_IPV6, IPV6_TCLASS, &traffic_class, sizeof traffic_class);
    }
    if (options->user_timeout_ms)
        setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &options->user_timeout_ms,
                   sizeof options->user_timeout_ms);
}

void host_iw_conn_activate(struct host_iw_conn *conn)
{
    if (conn->is_active || conn->tcp == HOST_IW_CLOSED)
        return;
    conn->is_active = true;
    TAILQ_INSERT_TAIL(&conn->iw->active, conn, of_active);
}

void host_iw_conn_ends(const struct host_iw_conn *conn, struct nornic_cm_endpoints *out)
{
    union net_sockaddr at;
    socklen_t at_bytes = sizeof at;
    if (getsockname(conn->socket.fd, &at.any, &at_bytes) == 0)
        out->local = net_sockaddr_get(&at, &out->local_port);
    at_bytes = sizeof at;
    if (getpeername(conn->socket.fd, &at.any, &at_bytes) == 0)
        out->remote = net_sockaddr_get(&at, &out->remote_port);
}

static void deactivate(struct host_iw_conn *conn)
{
    if (conn->is_active)
        TAILQ_REMOVE(&conn->iw->active, conn, of_active);
    conn->is_active = false;
}

static void tell(struct host_iw_conn *conn)
{
    if (!conn->has_news)
        TAILQ_INSERT_TAIL(&conn->iw->changed, conn, of_news);
    conn->has_news = true;
}

struct host_iw_conn *host_iw_take_news(struct host_iw *iw)
{
    struct host_iw_conn *conn = TAILQ_FIRST(&iw->changed);
    if (conn) {
        TAILQ_REMOVE(&iw->changed, conn, of_news);
        conn->has_news = false;
    }
    return conn;
}

void host_iw_conn_close(struct host_iw_conn *conn, bool is_reset, int err)
{
    if (conn->tcp == HOST_IW_CLOSED)
        return;
    const struct linger at_once = {.l_onoff = 1};
    bool parts = !is_reset && conn->halves.is_shut && !conn->halves.has_fin;
    if (is_reset)
        setsockopt(conn->socket.fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    conn->iw->counters.resets += is_reset;
    if (!parts || !host_iw_part(conn->iw, &conn->socket))
        host_iw_set_close(&conn->iw->set, &conn->socket);
    conn->tcp = HOST_IW_CLOSED;
    conn->err = err;
    deactivate(conn);
    rdma_timer_cancel(&conn->iw->timers, &conn->timer);
    tell(conn);
}

void host_iw_conn_recall(struct host_iw_conn *conn, uint64_t due_ns)
{
    assert(conn->tcp == HOST_IW_CLOSED);
    rdma_timer_arm(&conn->iw->timers, &conn->timer, due_ns);
}

void host_iw_conn_release(struct host_iw_conn *conn)
{
    struct host_iw *iw = conn->iw;
    if (conn->tcp != HOST_IW_CLOSED || conn->owner || conn->qp)
        return;
    if (conn->has_news)
        TAILQ_REMOVE(&iw->changed, conn, of_news);
    rdma_timer_cancel(&iw->timers, &conn->timer);
    TAILQ_REMOVE(&iw->conns, conn, of_all);
    iw->conn_count--;
    free(conn);
}

/* --- deadlines and TCP, as the engine wants them --- */

/* A set-up without a queue pair has said no, and TCP has not taken all of that. */
static bool is_refusing(const struct host_iw_conn *conn)
{
    size_t left_bytes;
    return !conn->qp && conn->setup.state == IWARP_SETUP_FAILED &&
           iwarp_setup_output(&conn->setup, &left_bytes);
}

static uint64_t deadline_ns(const struct host_iw_conn *conn)
{
    if (conn->tcp == HOST_IW_CONNECTING || is_refusing(conn))
        return conn->end_ns;
    if (conn->qp)
        return iwarp_qp_deadline_ns(conn->qp->engine);
    return conn->setup.state == IWARP_SETUP_NONE ? UINT64_MAX : conn->setup.deadline_ns;
}

static void set_timer(struct host_iw_conn *conn)
{
    uint64_t due_ns = deadline_ns(conn);
    if (due_ns == UINT64_MAX)
        rdma_timer_cancel(&conn->iw->timers, &conn->timer);
    else if (!rdma_timer_armed(&conn->timer) || conn->timer.deadline_ns != due_ns)
        rdma_timer_arm(&conn->iw->timers, &conn->timer, due_ns);
}

/* Returns the state that TCP is to have. A set-up without a queue pair says so by its own state. */
static enum iwarp_tcp wanted_tcp(const struct host_iw_conn *conn)
{
    if (conn->qp)
        return conn->qp->engine->tcp;
    bool has_failed = conn->setup.state == IWARP_SETUP_FAILED;
    return has_failed && !is_refusing(conn) ? IWARP_TCP_CLOSE : IWARP_TCP_OPEN;
}

/* Returns a number that changes with each state that the CM is told of. */
static unsigned look_of(const struct host_iw_conn *conn)
{
    size_t left_bytes;
    const struct iwarp_setup *setup = conn->qp ? &conn->qp->engine->setup : &conn->setup;
    return (unsigned)conn->tcp | (unsigned)setup->state << 4 | (conn->qp ? conn->qp->engine->state << 8 : 0) |
           (iwarp_setup_output(setup, &left_bytes) ? 1u << 12 : 0);
}

/* Another one, with revision 1 of MPA, is to come from the same port: that has to be free at once. */
static bool is_port_wanted(const struct host_iw_conn *conn)
{
    return conn->is_port_named && conn->qp && iwarp_qp_may_fall_back(conn->qp->engine);
}

void host_iw_conn_settle(struct host_iw_conn *conn)
{
    if (conn->tcp == HOST_IW_CLOSED)
        return;
    switch (wanted_tcp(conn)) {
    case IWARP_TCP_OPEN:
        break;
    case IWARP_TCP_SHUTDOWN:
        if (!conn->halves.is_shut)
            shutdown(conn->socket.fd, SHUT_WR);
        conn->halves.is_shut = true;
        break;
    case IWARP_TCP_CLOSE:
        host_iw_conn_close(conn, is_port_wanted(conn), 0);
        return;
    case IWARP_TCP_RESET:
        host_iw_conn_close(conn, true, -ECONNRESET);
        return;
    }
    if (is_refusing(conn) && !conn->end_ns)
        conn->end_ns = host_deadline_ns(IWARP_CLOSE_WAIT_NS); /* IWARP-MPA-14 */
    set_timer(conn);
    if (look_of(conn) != conn->look)
        tell(conn);
    conn->look = look_of(conn);
}

void host_iw_conn_expire(struct host_iw_conn *conn, uint64_t now_ns)
{
    if (conn->tcp == HOST_IW_CLOSED) { /* host_iw_conn_recall() */
        tell(conn);
        return;
    }
    if (conn->tcp == HOST_IW_CONNECTING || is_refusing(conn)) {
        host_iw_conn_close(conn, true, -ETIMEDOUT);
        return;
    }
    if (conn->qp)
        iwarp_qp_advance(conn->qp->engine, now_ns);
    else
        iwarp_setup_advance(&conn->setup, now_ns);
    host_iw_conn_activate(conn);
    host_iw_conn_settle(conn);
}

/* --- octets in --- */

/* TCP is gone, for the reason `err`. */
static void lose(struct host_iw_conn *conn, int err)
{
    if (conn->qp)
        iwarp_qp_lost(conn->qp->engine);
    else
        iwarp_setup_closed(&conn->setup);
    host_iw_conn_close(conn, true, err);
}

static void finish(struct host_iw_conn *conn, uint64_t now_ns)
{
    conn->ready.is_readable = false;
    if (conn->halves.has_fin)
        return;
    conn->halves.has_fin = true;
    if (conn->qp)
        iwarp_qp_fin(conn->qp->engine, now_ns);
    else
        iwarp_setup_closed(&conn->setup);
}

static void take(struct host_iw_conn *conn, size_t len_bytes)
{
    if (conn->qp)
        iwarp_qp_input(conn->qp->engine, conn->iw->rx, len_bytes);
    else
        iwarp_setup_input(&conn->setup, conn->iw->rx, len_bytes);
}

enum outcome { READ_NOTHING, READ_SOMETHING, READ_LOST };

static enum outcome read_once(struct host_iw_conn *conn, uint64_t now_ns)
{
    ssize_t n = recv(conn->socket.fd, conn->iw->rx, HOST_IW_RX_BYTES, 0);
    conn->iw->counters.rx_calls++;
    if (n > 0) {
        conn->iw->counters.rx_bytes += (uint64_t)n;
        conn->ready.is_readable = n == HOST_IW_RX_BYTES || conn->halves.is_fin_near;
        conn->ready.is_bulk = n >= BULK_BYTES;
        take(conn, (size_t)n);
    } else if (n == 0) {
        finish(conn, now_ns);
    } else if (errno == EAGAIN) {
        conn->ready.is_readable = false;
        return READ_NOTHING;
    } else if (errno != EINTR) {
        lose(conn, -errno);
        return READ_LOST;
    }
    return READ_SOMETHING;
}

/* The kernel has answered, or given up, and nobody has looked yet. */
static bool is_answered(const struct host_iw_conn *conn)
{
    return conn->tcp == HOST_IW_CONNECTING && (conn->ready.is_writable || conn->halves.is_fin_near);
}

static bool finish_connecting(struct host_iw_conn *conn)
{
    int err = 0;
    socklen_t err_bytes = sizeof err;
    if (!is_answered(conn))
        return false;
    getsockopt(conn->socket.fd, SOL_SOCKET, SO_ERROR, &err, &err_bytes);
    if (err) {
        host_iw_conn_close(conn, false, -err);
        return true;
    }
    conn->tcp = HOST_IW_OPEN;
    host_iw_conn_settle(conn);
    return true;
}

/* Octets wait until the CM knows that TCP is up. */
static bool takes_octets(const struct host_iw_conn *conn)
{
    return conn->tcp == HOST_IW_OPEN && (conn->qp || conn->setup.state != IWARP_SETUP_NONE);
}

bool host_iw_conn_ask(struct host_iw_conn *conn)
{
    if (conn->ready.is_readable || conn->ready.is_bulk || !conn->ready.is_writable || !takes_octets(conn))
        return false;
    conn->ready.is_readable = true;
    host_iw_conn_activate(conn);
    return true;
}

bool host_iw_conn_receive(struct host_iw_conn *conn, uint64_t now_ns)
{
    bool did = false;
    if (conn->tcp == HOST_IW_CONNECTING)
        return finish_connecting(conn);
    for (unsigned i = 0; i < READS_PER_ROUND && conn->ready.is_readable && takes_octets(conn); i++) {
        enum outcome outcome = read_once(conn, now_ns);
        did |= outcome != READ_NOTHING;
        if (outcome == READ_SOMETHING)
            host_iw_conn_settle(conn);
    }
    return did;
}

/* --- octets out --- */

/* IWARP-FPDU-05. */
static void follow_emss(struct host_iw_conn *conn, uint64_t now_ns)
{
    int bytes;
    socklen_t len = sizeof bytes;
    if (conn->emss_checked_ns && now_ns - conn->emss_checked_ns < EMSS_CHECK_NS)
        return;
    conn->emss_checked_ns = now_ns;
    if (getsockopt(conn->socket.fd, IPPROTO_TCP, TCP_MAXSEG, &bytes, &len) == 0 && bytes > 0)
        iwarp_qp_set_emss(conn->qp->engine, (uint32_t)bytes);
}

static size_t sum(const struct iwarp_piece *pieces, uint32_t piece_count)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < piece_count; i++)
        bytes += pieces[i].len_bytes;
    return bytes;
}

/* Copies the pieces of a short message to `whole`: they take the kernel longer than its octets. Returns
 * false when a piece cannot be read. */
static bool put_together(uint8_t *whole, const struct iwarp_piece *pieces, uint32_t piece_count)
{
    for (uint32_t i = 0; i < piece_count; i++) {
        if (!guard_copy_from(whole, pieces[i].bytes, pieces[i].len_bytes))
            return false;
        whole += pieces[i].len_bytes;
    }
    return true;
}

/* Returns how much TCP took, or -errno. */
static ssize_t write_pieces(struct host_iw_conn *conn, const struct iwarp_piece *pieces, uint32_t piece_count)
{
    struct iovec iov[IWARP_BATCH_PIECES];
    uint8_t whole[SHORT_BYTES];
    assert(piece_count <= array_len(iov));
    size_t len_bytes = sum(pieces, piece_count);
    if (len_bytes <= sizeof whole) {
        if (!put_together(whole, pieces, piece_count))
            return -EFAULT; /* as sendmsg() has it */
        iov[0] = (struct iovec){.iov_base = whole, .iov_len = len_bytes};
        piece_count = 1;
    } else {
        for (uint32_t i = 0; i < piece_count; i++)
            iov[i] = (struct iovec){.iov_base = (void *)pieces[i].bytes, .iov_len = pieces[i].len_bytes};
    }
    const struct msghdr message = {.msg_iov = iov, .msg_iovlen = piece_count};
    ssize_t n = sendmsg(conn->socket.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    conn->iw->counters.tx_calls++;
    if (n > 0)
        conn->iw->counters.tx_bytes += (uint64_t)n;
    return n < 0 ? -errno : n;
}

/* EAGAIN and EINTR are no failure: the octets are sent when the socket is writable again. */
static bool is_failure(ssize_t written)
{
    return written < 0 && written != -EAGAIN && written != -EINTR;
}

/* The set-up of a responder without a queue pair says no. */
static void write_refusal(struct host_iw_conn *conn)
{
    size_t len_bytes;
    const uint8_t *bytes = iwarp_setup_output(&conn->setup, &len_bytes);
    if (!bytes)
        return;
    const struct iwarp_piece piece = {bytes, (uint32_t)len_bytes};
    ssize_t n = write_pieces(conn, &piece, 1);
    if (is_failure(n))
        lose(conn, (int)n);
    else
        iwarp_setup_sent(&conn->setup, n > 0 ? (size_t)n : 0);
}

/* One batch. Whether another may follow. */
static bool write_batch(struct host_iw_conn *conn, uint64_t now_ns)
{
    struct iwarp_qp *engine = conn->qp->engine;
    uint32_t piece_count;
    const struct iwarp_piece *pieces = iwarp_qp_output(engine, &piece_count, now_ns);
    size_t len_bytes = sum(pieces, piece_count);
    ssize_t n = len_bytes ? write_pieces(conn, pieces, piece_count) : 0;
    iwarp_qp_sent(engine, n > 0 ? (size_t)n : 0, now_ns);
    conn->ready.is_writable = n >= 0 && (size_t)n == len_bytes;
    if (is_failure(n))
        lose(conn, (int)n);
    return len_bytes && conn->ready.is_writable;
}

bool host_iw_conn_send(struct host_iw_conn *conn, uint64_t now_ns)
{
    bool did = false, goes_on = conn->tcp == HOST_IW_OPEN && conn->ready.is_writable;
    if (goes_on && conn->qp)
        follow_emss(conn, now_ns);
    for (unsigned i = 0; goes_on && i < WRITES_PER_ROUND; i++) {
        if (conn->qp)
            goes_on = write_batch(conn, now_ns);
        else
            write_refusal(conn), goes_on = false;
        did |= goes_on;
    }
    host_iw_conn_settle(conn);
    bool waits = is_answered(conn) || (conn->ready.is_readable && takes_octets(conn));
    if (conn->tcp != HOST_IW_CLOSED && !goes_on && !waits)
        deactivate(conn);
    return did;
}
