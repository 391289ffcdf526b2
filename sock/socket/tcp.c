/* SPDX-License-Identifier: BSD-2-Clause */
/* The TCP connection beside an SMC-R connection: CLC before, FIN and RST after (SMCR-ARC-03). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/base.h"
#include "sock/socket/state.h"
#include "sock/ports.h"

#define TCP_EVENTS (EPOLLIN | EPOLLOUT | EPOLLPRI | EPOLLRDHUP | EPOLLET)

int smcr_sock_int_option(const struct smcr_sock *s, int level, int name)
{
    int value = 0;
    socklen_t len = sizeof value;
    getsockopt(s->tcp_fd, level, name, &value, &len);
    return value;
}

/* NULL: the SYN may have the option. */
static const char *why_not(const struct smcr_sock *s)
{
    if (!smcr_rt.rendezvous)
        return "the TCP option needs BPF, which is not allowed";
    if (s->offer == SMCR_SOCK_TCP_ONLY)
        return "SMC-R is switched off for the socket";
    return smcr_rt_has_port() ? NULL : "no usable RNIC port";
}

void smcr_sock_offer(struct smcr_sock *s)
{
    const char *reason = why_not(s);
    if (!reason && smcr_rendezvous_want(smcr_rt.rendezvous, s->tcp_fd, true) != 0)
        reason = "the TCP option was refused";
    if (!reason) {
        s->offer = SMCR_SOCK_OFFERED;
        return;
    }
    s->reason = reason;
    if (smcr_rt.rendezvous)
        smcr_rendezvous_want(smcr_rt.rendezvous, s->tcp_fd, false);
    if (s->offer == SMCR_SOCK_OFFERED) /* for an earlier connect() that failed */
        s->offer = SMCR_SOCK_MAY_OFFER;
}

int smcr_sock_watch_tcp(struct smcr_sock *s)
{
    int err = smcr_rt_watch(s->tcp_fd, TCP_EVENTS, &s->tcp_source);
    return err == -EEXIST ? 0 : err; /* an earlier connect() failed */
}

void smcr_sock_reset_tcp(struct smcr_sock *s)
{
    struct sockaddr none = {.sa_family = AF_UNSPEC};
    int err = connect(s->tcp_fd, &none, sizeof none);
    (void)err; /* there is nothing to reset then */
}

static void set_tcp_nodelay(const struct smcr_sock *s, int on)
{
    setsockopt(s->tcp_fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

void smcr_sock_become_tcp(struct smcr_sock *s, const char *reason)
{
    s->state = SMCR_SOCK_TCP;
    s->reason = reason;
    smcr_rt_count_reason(reason);
    if (!s->options.is_nodelay)
        set_tcp_nodelay(s, 0);
    fcntl(s->tcp_fd, F_SETFL, fcntl(s->tcp_fd, F_GETFL) & ~O_NONBLOCK);
}

void smcr_sock_apply_keepalive(struct smcr_sock *s)
{
    uint64_t idle_s =
        s->options.is_keepalive ? (uint64_t)smcr_sock_int_option(s, IPPROTO_TCP, TCP_KEEPIDLE) : 0;
    if (s->state == SMCR_SOCK_SMCR && s->conn)
        smcr_conn_set_keepalive(s->conn, idle_s * NS_PER_S, host_now_ns());
}

/* --- what the core wants of it --- */

/* What is not taken now goes with the next event of the socket. */
void smcr_sock_send_rest(struct smcr_sock *s)
{
    while (s->unsent_bytes > 0) {
        ssize_t n = send(s->tcp_fd, s->unsent, s->unsent_bytes, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (n <= 0)
            return;
        s->unsent_bytes -= (size_t)n;
        memmove(s->unsent, s->unsent + n, s->unsent_bytes);
    }
}

static int send_clc(void *ctx, const uint8_t *bytes, size_t len_bytes)
{
    struct smcr_sock *s = ctx;
    uint8_t *larger = realloc(s->unsent, s->unsent_bytes + len_bytes);
    if (!larger)
        return -ENOMEM;
    memcpy(larger + s->unsent_bytes, bytes, len_bytes);
    s->unsent = larger;
    s->unsent_bytes += len_bytes;
    smcr_sock_send_rest(s);
    return 0;
}

static void reset_by_core(void *ctx)
{
    struct smcr_sock *s = ctx;
    s->told = SMCR_SOCK_TOLD_RST;
    if (s->tcp_fd >= 0)
        smcr_sock_reset_tcp(s);
}

/* --- what comes on it --- */

static void tell_end(struct smcr_sock *s, enum smcr_tcp_end how)
{
    s->told = how == SMCR_TCP_FIN ? SMCR_SOCK_TOLD_FIN : SMCR_SOCK_TOLD_RST;
    smcr_conn_tcp_end(s->conn, how, host_now_ns());
}

/* Of one whose FIN has come: recv() says 0 for good, also behind a RST. */
static bool was_reset_after_fin(const struct smcr_sock *s)
{
    struct pollfd look = {.fd = s->tcp_fd};
    return poll(&look, 1, 0) == 1 && look.revents & POLLERR;
}

static void offer_later(struct smcr_sock *s)
{
    if (s->is_in_offers)
        return;
    s->is_in_offers = true;
    s->offer_next = smcr_rt.offers;
    smcr_rt.offers = s;
}

/* Looks first and takes what the core has taken: the rest is the application's, and stays in the kernel
 * (SMCR-CLC-05, FBK-05). */
static void offer_bytes(struct smcr_sock *s)
{
    uint8_t bytes[SMCR_CLC_MAX_BYTES];
    while (s->conn && s->tcp_fd >= 0 && s->told == SMCR_SOCK_TOLD_NOTHING) {
        ssize_t n = recv(s->tcp_fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
        if (n < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (n <= 0) {
            tell_end(s, n == 0 ? SMCR_TCP_FIN : SMCR_TCP_RST);
            return;
        }
        size_t taken = smcr_conn_tcp_input(s->conn, bytes, (size_t)n, host_now_ns());
        if (taken > 0 && s->tcp_fd >= 0) {
            ssize_t got = recv(s->tcp_fd, bytes, taken, MSG_DONTWAIT);
            (void)got; /* it was there a moment ago, and nobody else reads */
        }
        if (taken < (size_t)n) {
            offer_later(s);
            return;
        }
    }
}

void smcr_sock_offer_tcp(struct smcr_sock *s)
{
    offer_bytes(s);
    if (s->conn && s->tcp_fd >= 0 && s->told == SMCR_SOCK_TOLD_FIN && was_reset_after_fin(s))
        tell_end(s, SMCR_TCP_RST);
}

/* Both ends declined at once, so that the peer's Decline comes before its data. */
bool smcr_sock_settle_crossed(struct smcr_sock *s)
{
    uint8_t bytes[SMCR_LONGEST_DECLINE_BYTES] = {0};
    size_t decline_bytes = 0;
    struct pollfd end = {.fd = s->tcp_fd, .events = POLLRDHUP};
    if (!s->fallback.may_cross)
        return true;
    bool has_ended = poll(&end, 1, 0) == 1; /* before the look: nothing follows what that sees */
    ssize_t n = recv(s->tcp_fd, bytes, sizeof bytes, MSG_PEEK | MSG_DONTWAIT);
    enum smcr_crossed crossed =
        smcr_crossed_decline(s->fallback.peer_id, bytes, n > 0 ? (size_t)n : 0, &decline_bytes);
    s->fallback.may_cross = crossed == SMCR_CROSSED_MAYBE && !has_ended;
    if (crossed == SMCR_CROSSED_YES)
        recv(s->tcp_fd, bytes, decline_bytes, MSG_DONTWAIT);
    return !s->fallback.may_cross;
}

/* --- its beginning --- */

static void to_net(const struct sockaddr_storage *from, struct nornic_addr *addr, uint16_t *port)
{
    if (from->ss_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)from;
        *addr = nornic_addr_from_v4((const uint8_t *)&a->sin_addr);
        *port = ntohs(a->sin_port);
    } else {
        const struct sockaddr_in6 *a = (const void *)from;
        memcpy(addr->b, &a->sin6_addr, sizeof addr->b);
        *port = ntohs(a->sin6_port);
    }
}

int smcr_sock_peer_addr(int tcp_fd, struct nornic_addr *out)
{
    struct sockaddr_storage peer;
    socklen_t len = sizeof peer;
    uint16_t port;
    memset(&peer, 0, sizeof peer);
    if (getpeername(tcp_fd, (struct sockaddr *)&peer, &len) != 0)
        return -errno;
    to_net(&peer, out, &port);
    return 0;
}

/* The payload that the application's SO_RCVBUF means, of which the kernel keeps the double (socket(7));
 * SMCR-RMB-03, SOC-03. */
static uint32_t receive_buffer(const struct smcr_sock *s)
{
    return s->options.rcvbuf_bytes > 0 ? s->options.rcvbuf_bytes
                                       : (uint32_t)smcr_sock_int_option(s, SOL_SOCKET, SO_RCVBUF) / 2;
}

static int start_core(struct smcr_sock *s, enum smcr_role role)
{
    struct sockaddr_storage local, remote;
    socklen_t local_len = sizeof local, remote_len = sizeof remote;
    struct smcr_conn_config config = {.role = role,
                                      .rcvbuf_bytes = receive_buffer(s),
                                      .sndbuf_bytes = s->options.sndbuf_bytes,
                                      .in_place = s->loan != NULL,
                                      .owner_pid = s->loan_pid,
                                      .declines = s->declines,
                                      .tcp = {.send = send_clc, .reset = reset_by_core},
                                      .ctx = s};
    memset(&local, 0, sizeof local);
    memset(&remote, 0, sizeof remote);
    if (getsockname(s->tcp_fd, (struct sockaddr *)&local, &local_len) != 0 ||
        getpeername(s->tcp_fd, (struct sockaddr *)&remote, &remote_len) != 0)
        return -errno;
    to_net(&local, &config.local, &config.local_port);
    to_net(&remote, &config.remote, &config.remote_port);
    smcr_rt_find_networks(&config.local, &config);
    return smcr_conn_create(smcr_rt.core, &config, host_now_ns(), &s->conn);
}

void smcr_sock_on_established(struct smcr_sock *s, enum smcr_role role)
{
    if (s->offer != SMCR_SOCK_OFFERED) {
        smcr_sock_become_tcp(s, s->reason);
        return;
    }
    if (!smcr_rendezvous_seen(smcr_rt.rendezvous, s->tcp_fd)) {
        smcr_sock_become_tcp(s, "the peer did not offer SMC-R");
        return;
    }
    smcr_sock_negotiate(s, role);
}

void smcr_sock_negotiate(struct smcr_sock *s, enum smcr_role role)
{
    s->state = SMCR_SOCK_NEGOTIATING;
    /* The CLC messages are small and answered at once. */
    set_tcp_nodelay(s, 1);
    int err = start_core(s, role);
    if (!err) {
        smcr_sock_ref(s);
        smcr_sock_offer_tcp(s);
        return;
    }
    /* The peer waits for CLC: there is no way back to TCP. */
    s->state = SMCR_SOCK_FAILED;
    s->error = -err;
    s->reason = "no room for one more connection over SMC-R";
    smcr_sock_reset_tcp(s);
}
