/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets made, named, connected and closed. */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>

#include "verbs/rsocket/datagram.h"
#include "verbs/rsocket/rsocket.h"

#define RESOLVE_MS 2000
#define BACKLOG    1024 /* at most */

/* Opens the devices now: librspreload, under which nornic's own sockets would become rsockets too,
 * stands aside while a thread is in rsocket(), and makes a plain socket if that finds no device. */
static int need_devices(void)
{
    struct ibv_context **devices = rdma_get_devices(NULL);
    rdma_free_devices(devices);
    return devices ? 0 : errno;
}

int rsocket(int domain, int type, int protocol)
{
    int kind = type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (domain != AF_INET && domain != AF_INET6)
        return rs_fail(EAFNOSUPPORT, "rsockets are of AF_INET or AF_INET6, not family %d", domain);
    if (kind != SOCK_STREAM && kind != SOCK_DGRAM)
        return rs_fail(EPROTONOSUPPORT, "rsockets are of SOCK_STREAM or SOCK_DGRAM, not type %d", kind);
    if (protocol && protocol != (kind == SOCK_STREAM ? IPPROTO_TCP : IPPROTO_UDP))
        return rs_fail(EPROTONOSUPPORT, "rsockets have no protocol %d", protocol);
    int err = need_devices();
    if (err)
        return rs_fail(err, "an rsocket needs a device");
    rs_prepare_server();
    struct rsock *s = rs_new(domain, kind);
    if (!s)
        return -1;
    int fd = s->fd;
    err = kind == SOCK_STREAM ? rs_open_id(s) : ds_open(s);
    s->is_nonblocking = type & SOCK_NONBLOCK;
    if (!err)
        err = rs_publish(s);
    rs_put(s);
    errno = err ? err : errno;
    return err ? -1 : fd;
}

/* Gives the rsocket back: the end of a call that answers with an errno value. */
static int leave(struct rsock *s, const char *call, int err)
{
    int answer = rs_ended(s, call, err);
    rs_done(s);
    return answer;
}

/* --- listening --- */

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (s->type == SOCK_DGRAM)
        return leave(s, __func__, ds_bind(s, addr, addrlen));
    if (s->state != RS_NEW)
        return leave(s, __func__, EINVAL);
    return leave(s, __func__, rdma_bind_addr(s->id, (struct sockaddr *)addr) ? errno : 0);
}

int rlisten(int socket, int backlog)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (s->type != SOCK_STREAM)
        return leave(s, __func__, EOPNOTSUPP);
    s->backlog = backlog > 0 ? min_u32((uint32_t)backlog, BACKLOG) : 1;
    if (s->state == RS_LISTENING)
        return leave(s, __func__, 0);
    if (s->state != RS_NEW)
        return leave(s, __func__, EINVAL);
    int err = rdma_listen(s->id, (int)s->backlog) ? errno : 0;
    if (!err) {
        s->state = RS_LISTENING;
        err = rs_serve(s);
    }
    return leave(s, __func__, err);
}

/* --- names --- */

/* Of an address that is IPv4: as programs on AF_INET6 sockets know it. */
static struct sockaddr_in6 mapped(const struct sockaddr_in *from)
{
    struct sockaddr_in6 out = {.sin6_family = AF_INET6, .sin6_port = from->sin_port};
    out.sin6_addr.s6_addr[10] = out.sin6_addr.s6_addr[11] = 0xff;
    memcpy(out.sin6_addr.s6_addr + 12, &from->sin_addr, sizeof from->sin_addr);
    return out;
}

static void name(const struct rsock *s, const struct sockaddr *from, struct sockaddr *addr,
                 socklen_t *addrlen)
{
    struct sockaddr_storage all = {.ss_family = (sa_family_t)s->family};
    socklen_t len = s->family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
    if (!addr || !addrlen)
        return;
    if (from->sa_family == AF_INET && s->family == AF_INET6) {
        const struct sockaddr_in6 v6 = mapped((const struct sockaddr_in *)(const void *)from);
        memcpy(&all, &v6, sizeof v6);
    } else if (from->sa_family == s->family) {
        memcpy(&all, from, len);
    }
    memcpy(addr, &all, min_u32(*addrlen, len));
    *addrlen = len;
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (s->type == SOCK_DGRAM)
        return leave(s, __func__, ds_name(s, false, addr, addrlen));
    name(s, &s->id->route.addr.src_addr, addr, addrlen);
    return leave(s, __func__, 0);
}

/* A connection, also one that has ended. */
static bool has_peer(const struct rsock *s)
{
    return s->state == RS_ACCEPTING || s->state == RS_CONNECTED || s->state == RS_ENDED ||
           s->state == RS_FAILED;
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (s->type == SOCK_DGRAM)
        return leave(s, __func__, ds_name(s, true, addr, addrlen));
    rs_progress(s);
    if (!has_peer(s))
        return leave(s, __func__, ENOTCONN);
    name(s, &s->id->route.addr.dst_addr, addr, addrlen);
    return leave(s, __func__, 0);
}

/* --- connecting --- */

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    struct rsock *listener = rs_need(socket);
    if (!listener)
        return -1;
    int err = listener->type != SOCK_STREAM     ? EOPNOTSUPP
              : listener->state == RS_LISTENING ? rs_wait(listener, RS_TO_READ, 0, rs_can_read)
                                                : EINVAL;
    if (err)
        return leave(listener, __func__, err);
    struct rsock *s = STAILQ_FIRST(&listener->pending);
    STAILQ_REMOVE_HEAD(&listener->pending, next_pending);
    listener->num_pending--;
    rs_done(listener);
    rs_lock(s);
    (void)rs_keep_alive(s, rs_keepalive_s(s)); /* without a timer: as if the option were not set */
    (void)rs_serve(s);
    rs_unlock(s);
    name(s, &s->id->route.addr.dst_addr, addr, addrlen);
    return s->fd;
}

static int begin_to_connect(struct rsock *s, const struct sockaddr *addr)
{
    s->request = RS_ASKED;
    s->state = RS_RESOLVING;
    if (rdma_resolve_addr(s->id, NULL, (struct sockaddr *)addr, RESOLVE_MS) == 0)
        return 0;
    rs_break(s, errno);
    return rs_take_err(s);
}

/* The first call after the connection was made says 0, as for TCP, and later ones EISCONN. An rsocket
 * connects once: after a refusal it stays without a connection. */
static int answer_of_connect(struct rsock *s)
{
    int err = rs_take_err(s);
    if (s->state != RS_CONNECTED)
        return err ? err : ENOTCONN;
    if (s->request != RS_ASKED)
        return EISCONN;
    s->request = RS_ANSWERED;
    return 0;
}

static int connect_stream(struct rsock *s, const struct sockaddr *addr)
{
    const bool is_first = s->state == RS_NEW;
    if (s->state == RS_LISTENING)
        return EINVAL;
    int err = is_first ? begin_to_connect(s, addr) : 0;
    if (!err)
        err = rs_need_connection(s, 0);
    if (err == EAGAIN)
        return is_first || !s->is_nonblocking ? EINPROGRESS : EALREADY;
    return err ? err : answer_of_connect(s);
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    return leave(s, __func__, s->type == SOCK_DGRAM ? ds_connect(s, addr, addrlen) : connect_stream(s, addr));
}

/* --- ending --- */

/* Marks ways as shut. Returns the message to the peer; -1: none. */
static int shut(struct rsock *s, int how)
{
    if ((how == SHUT_WR && s->is_send_shut) || (how == SHUT_RD && s->is_recv_shut))
        return -1;
    if (how != SHUT_RD)
        s->is_send_shut = true;
    if (how != SHUT_WR)
        s->is_recv_shut = true;
    rs_wake(s);
    if (!s->is_send_shut)
        return -1;
    return s->is_recv_shut ? RS_CTRL_DISCONNECT : RS_CTRL_SHUTDOWN;
}

/* Tells the peer behind all that was sent before, waits until it has it, and ends the connection that
 * has no way left. */
static void shut_down(struct rsock *s, int how)
{
    int what = s->state == RS_CONNECTED ? shut(s, how) : -1;
    if (what >= 0 && rs_wait(s, RS_ALWAYS, 0, rs_can_ctrl) == 0 && s->state == RS_CONNECTED &&
        rs_post_ctrl(s, (enum rs_ctrl)what) == 0)
        rs_wait(s, RS_ALWAYS, 0, rs_is_sent);
    if (what == RS_CTRL_DISCONNECT && s->state == RS_CONNECTED)
        rs_set_state(s, RS_ENDED, 0);
}

int rshutdown(int socket, int how)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
        return leave(s, __func__, EINVAL);
    if (s->state == RS_ACCEPTING)
        rs_wait(s, RS_ALWAYS, 0, rs_is_connected);
    if (s->type == SOCK_STREAM && s->state != RS_CONNECTED && s->state != RS_ENDED)
        return leave(s, __func__, ENOTCONN);
    if (s->type == SOCK_STREAM)
        shut_down(s, how);
    return leave(s, __func__, 0);
}

/* A parent's, before this process was forked: the parent goes on with it. */
static bool is_inherited(const struct rsock *s)
{
    return s->id && s->id->verbs && verbs_is_inherited(s->id->verbs);
}

int rclose(int socket)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    if (is_inherited(s)) {
        rs_forget(s);
        return leave(s, __func__, 0);
    }
    if (s->state == RS_ACCEPTING)
        rs_wait(s, RS_ALWAYS, 0, rs_is_connected);
    shut_down(s, SHUT_RDWR);
    if (s->id && s->id->qp && s->state == RS_ENDED)
        rdma_disconnect(s->id);
    rs_leave_server(s);
    rs_forget(s);
    return leave(s, __func__, 0);
}

/* --- the descriptor's flags --- */

int rfcntl(int socket, int cmd, ...)
{
    struct rsock *s = rs_need(socket);
    va_list args;
    if (!s)
        return -1;
    va_start(args, cmd);
    long arg = cmd == F_SETFL || cmd == F_SETFD ? va_arg(args, long) : 0;
    va_end(args);
    int out = 0;
    if (cmd == F_GETFL)
        out = O_RDWR | (s->is_nonblocking ? O_NONBLOCK : 0);
    else if (cmd == F_SETFL)
        s->is_nonblocking = arg & O_NONBLOCK;
    else if (cmd == F_GETFD || cmd == F_SETFD)
        out = fcntl(s->fd, cmd, arg);
    else
        out = rs_fail(ENOTSUP, "rfcntl() knows F_GETFL, F_SETFL, F_GETFD and F_SETFD, not %d", cmd);
    rs_done(s);
    return out;
}
