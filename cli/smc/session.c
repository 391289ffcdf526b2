/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic smc listen` and `smc connect`: from names to a connection, and one connection after another. */
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/tcp.h"
#include "cli/smc/smc.h"
#include "cli/stop.h"

#define BACKLOG 16

static int set_buffer(int fd, int name, uint32_t bytes)
{
    int value = (int)bytes;
    return bytes ? nornic_setsockopt(fd, SOL_SOCKET, name, &value, sizeof value) : 0;
}

/* A socket for that address with the options set. -1: a sentence was said. */
static int make_socket(const struct smc_options *o, const struct addrinfo *at)
{
    int on = 1, off = 0;
    int fd = nornic_socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0) {
        cli_fail("cannot create a socket: %s", strerror(errno));
        return -1;
    }
    bool ok =
        set_buffer(fd, SO_RCVBUF, o->rcvbuf_bytes) == 0 && set_buffer(fd, SO_SNDBUF, o->sndbuf_bytes) == 0;
    if (ok && o->listen)
        ok = nornic_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) == 0;
    /* IPv4 clients too, unless an IPv6 address or -6 says otherwise. */
    if (ok && o->listen && at->ai_family == AF_INET6) {
        const int *only = o->host || o->family == AF_INET6 ? &on : &off;
        ok = nornic_setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, only, sizeof *only) == 0;
    }
    if (ok && o->tcp_only)
        ok = nornic_socket_set_tcp_only(fd, true) == 0;
    if (ok)
        return fd;
    cli_fail("cannot set the options of a socket: %s", strerror(errno));
    nornic_close(fd);
    return -1;
}

static int resolve(const struct smc_options *o, struct addrinfo **out)
{
    struct addrinfo hints = {.ai_family = o->family, .ai_socktype = SOCK_STREAM};
    if (o->listen && !o->host) {
        hints.ai_flags = AI_PASSIVE;
        if (o->family == AF_UNSPEC)
            hints.ai_family = AF_INET6;
    }
    int err = getaddrinfo(o->host, o->service, &hints, out);
    if (err == EAI_SERVICE)
        return cli_fail("'%s' is no port: give a number to 65535, or a name of /etc/services", o->service);
    return !err ? CLI_OK
                : cli_fail("cannot find %s, port %s: %s%s", o->host ? o->host : "any address", o->service,
                           gai_strerror(err), cli_name_remedy(err));
}

/* --- files --- */

static int open_input(const struct smc_options *o, int *fd)
{
    *fd = STDIN_FILENO;
    if (!o->input && o->output)
        *fd = -1;
    if (!o->input)
        return CLI_OK;
    *fd = open(o->input, O_RDONLY | O_CLOEXEC);
    return *fd >= 0 ? CLI_OK : cli_fail("cannot open %s: %s", o->input, strerror(errno));
}

static int open_output(const struct smc_options *o, int *fd)
{
    *fd = STDOUT_FILENO;
    if (!o->output)
        return CLI_OK;
    *fd = open(o->output, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    return *fd >= 0 ? CLI_OK : cli_fail("cannot create %s: %s", o->output, strerror(errno));
}

static int open_files(struct smc_connection *c)
{
    const struct smc_options *o = c->options;
    c->in_fd = c->out_fd = -1;
    int err = open_input(o, &c->in_fd);
    if (err == CLI_OK)
        err = open_output(o, &c->out_fd);
    if (err != CLI_OK || !o->say.sum)
        return err;
    c->sent.sum = smc_sum_create();
    c->taken.sum = smc_sum_create();
    return c->sent.sum && c->taken.sum ? CLI_OK : cli_fail("no memory for SHA-256");
}

/* The output is whole on its disk, or it is said. */
static int close_files(struct smc_connection *c, int status)
{
    if (c->options->input && c->in_fd >= 0)
        close(c->in_fd);
    bool lost = c->options->output && c->out_fd >= 0 && close(c->out_fd) != 0;
    if (lost && status == CLI_OK)
        status = cli_fail("cannot write %s: %s", c->options->output, strerror(errno));
    smc_sum_destroy(c->sent.sum);
    smc_sum_destroy(c->taken.sum);
    return status;
}

/* --- a connection --- */

static int check_transport(const struct smc_connection *c)
{
    if (c->info.smcr || !c->options->require_smc)
        return CLI_OK;
    return cli_negative("the bytes would travel by TCP, which --require-smc forbids: %s",
                        *c->info.reason ? c->info.reason : "no reason is known");
}

/* What happens on an open connection; closes it. */
static int converse(const struct smc_options *o, int fd)
{
    struct smc_connection c = {.options = o, .fd = fd, .connected_ns = host_now_ns()};
    socklen_t len = sizeof c.peer, local_len = sizeof c.local;
    nornic_getpeername(fd, (struct sockaddr *)&c.peer, &len);
    nornic_getsockname(fd, (struct sockaddr *)&c.local, &local_len);
    if (nornic_socket_info(fd, &c.info) != 0)
        c.info = (struct nornic_socket_info){.reason = ""};
    if (!c.info.smcr && o->sock.num_ports == 0)
        c.info.reason = "no --device was given";
    c.end_ns = c.connected_ns;
    int err = open_files(&c);
    if (err == CLI_OK) {
        smc_say_transport(&c);
        err = check_transport(&c);
    }
    if (err == CLI_OK)
        err = smc_pump(&c);
    /* An end that is not asked for is an abort, which the peer is to see as such. */
    struct linger abort = {.l_onoff = 1, .l_linger = 0};
    if (err != CLI_OK)
        nornic_setsockopt(fd, SOL_SOCKET, SO_LINGER, &abort, sizeof abort);
    if (c.out_fd >= 0)
        smc_report(&c, err == CLI_OK);
    nornic_close(fd);
    return close_files(&c, err);
}

/* Waits for what the socket does. 1: it did; 0: late; -1: stopped. */
static int wait_for(int fd, short events, uint64_t end_ns)
{
    struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = cli_stop_fd(), .events = POLLIN}};
    for (;;) {
        uint64_t now_ns = host_now_ns();
        int ms = end_ns == UINT64_MAX ? -1 : now_ns >= end_ns ? 0 : (int)((end_ns - now_ns) / 1000000) + 1;
        int n = poll(fds, 2, ms);
        if (cli_stopped())
            return -1;
        if (n > 0)
            return 1;
        if (n == 0 && ms >= 0 && host_now_ns() >= end_ns)
            return 0;
    }
}

/* 0, -1 when stopped, or the errno. */
static int connect_one(const struct smc_options *o, int fd, const struct addrinfo *at)
{
    int flags = nornic_fcntl(fd, F_GETFL, 0), error = 0;
    socklen_t len = sizeof error;
    nornic_fcntl(fd, F_SETFL, flags | O_NONBLOCK);
    if (nornic_connect(fd, at->ai_addr, at->ai_addrlen) == 0)
        return 0;
    if (errno != EINPROGRESS)
        return errno;
    uint64_t end_ns = o->connect_ns == UINT64_MAX ? UINT64_MAX : host_now_ns() + o->connect_ns;
    int ready = wait_for(fd, POLLOUT, end_ns);
    if (ready <= 0)
        return ready < 0 ? -1 : ETIMEDOUT;
    return nornic_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) == 0 ? error : errno;
}

static int run_client(const struct smc_options *o)
{
    struct addrinfo *list;
    int err = resolve(o, &list), error = 0;
    if (err != CLI_OK)
        return err;
    for (const struct addrinfo *at = list; at; at = at->ai_next) {
        int fd = make_socket(o, at);
        err = fd >= 0 ? CLI_OK : CLI_ERROR;
        if (fd < 0)
            break;
        error = connect_one(o, fd, at);
        if (error == 0) {
            freeaddrinfo(list);
            return converse(o, fd);
        }
        nornic_close(fd);
        if (error < 0)
            break;
    }
    freeaddrinfo(list);
    if (err != CLI_OK)
        return err;
    return error < 0 ? cli_negative("stopped before the connection stood")
                     : cli_fail("cannot connect to %s port %s: %s%s", o->host, o->service, strerror(error),
                                cli_tcp_remedy(error));
}

/* Where, so that a script that reads it knows that it can connect. */
static void say_listening(const struct smc_options *o, int fd)
{
    char text[SMC_ADDR_TEXT];
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    if ((o->say.quiet && !o->say.json) || nornic_getsockname(fd, (struct sockaddr *)&addr, &len) != 0)
        return;
    fprintf(o->say.json && o->output ? stdout : stderr,
            o->say.json ? "{\"listening\":\"%s\"}\n" : "listening on %s\n", smc_addr_text(&addr, text));
    fflush(stdout);
}

static int listen_on(const struct smc_options *o, int *out)
{
    struct addrinfo *at;
    int err = resolve(o, &at);
    if (err != CLI_OK)
        return err;
    *out = make_socket(o, at);
    err = *out >= 0 ? CLI_OK : CLI_ERROR;
    if (err == CLI_OK &&
        (nornic_bind(*out, at->ai_addr, at->ai_addrlen) != 0 || nornic_listen(*out, BACKLOG) != 0)) {
        int error = errno;
        err = cli_fail("cannot listen on %s port %s: %s%s", o->host ? o->host : "any address", o->service,
                       strerror(error), cli_tcp_remedy(error));
        nornic_close(*out);
    }
    freeaddrinfo(at);
    if (err == CLI_OK)
        say_listening(o, *out);
    return err;
}

/* A connection, or -1 after a sentence. */
static int accept_one(const struct smc_options *o, int listen_fd)
{
    for (;;) {
        int ready = wait_for(listen_fd, POLLIN, UINT64_MAX);
        if (ready < 0) {
            if (!o->keep)
                cli_negative("stopped before a client came");
            return -1;
        }
        int fd = nornic_accept4(listen_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (fd >= 0)
            return fd;
        /* One that was broken before it was taken is no failure of ours. */
        if (errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR && errno != ECONNABORTED &&
            errno != ECONNRESET && errno != EPROTO) {
            cli_fail("cannot accept a connection: %s", strerror(errno));
            return -1;
        }
    }
}

static int run_server(const struct smc_options *o)
{
    int listen_fd;
    int err = listen_on(o, &listen_fd);
    if (err != CLI_OK)
        return err;
    nornic_fcntl(listen_fd, F_SETFL, nornic_fcntl(listen_fd, F_GETFL, 0) | O_NONBLOCK);
    do {
        int fd = accept_one(o, listen_fd);
        if (fd < 0) {
            err = o->keep && cli_stopped() ? CLI_OK : CLI_NEGATIVE; /* -k is ended by Ctrl-C */
            break;
        }
        err = converse(o, fd);
    } while (o->keep && !cli_stopped());
    nornic_close(listen_fd);
    return err;
}

static int start(const struct smc_options *o)
{
    struct nornic_error why = {""};
    if (o->sock.num_ports == 0)
        return CLI_OK;
    int err = smcr_sock_start(&o->sock, &why);
    if (err)
        return cli_fail("%s", why.text);
    if (!why.text[0])
        return CLI_OK;
    if (o->require_smc) {
        smcr_sock_stop(NULL);
        return cli_fail("%s", why.text);
    }
    if (!o->say.quiet)
        fprintf(stderr, "nornic smc: %s\n", why.text);
    return CLI_OK;
}

static int stop(int status)
{
    struct nornic_error why;
    if (smcr_sock_stop(&why) == 0)
        return status;
    cli_fail("%s", why.text);
    return status == CLI_OK ? CLI_ERROR : status;
}

int smc_session(struct smc_options *options)
{
    int err = cli_stop_install();
    if (err)
        return cli_fail("cannot watch for signals: %s", strerror(-err));
    err = options->trace ? smc_trace_open(options->trace, &options->sock) : CLI_OK;
    if (err == CLI_OK)
        err = start(options);
    if (err == CLI_OK) {
        err = options->listen ? run_server(options) : run_client(options);
        err = stop(err);
    }
    return smc_trace_close(err);
}
