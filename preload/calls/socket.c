/* SPDX-License-Identifier: BSD-2-Clause */
/* Making sockets, connecting, accepting, ending, options, names. */
#define _GNU_SOURCE
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#include "base/tcp_only.h"
#include "preload/calls/calls.h"
#include "preload/decline.h"
#include "preload/identity.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/shadow.h"
#include "preload/user.h"

#define TYPE_MASK 0xf /* of socket()'s type: beside it are flags */

static bool is_tcp(int family, int type, int protocol)
{
    return (family == AF_INET || family == AF_INET6) && (type & TYPE_MASK) == SOCK_STREAM &&
           (protocol == 0 || protocol == IPPROTO_TCP);
}

EXPORT int socket(int family, int type, int protocol)
{
    int fd = libc()->socket(family, type, protocol);
    if (fd >= 0 && is_tcp(family, type, protocol) && reach_is_wanted()) {
        LEND_HELD c = conn_new(family, CONN_FRESH);
        if (c)
            fds_bind(fd, c);
    }
    return fd;
}

EXPORT int bind(int fd, const struct sockaddr *addr, socklen_t len_bytes)
{
    LEND_HELD c = lend_enter(fd);
    return c ? (int)calls_result(-EINVAL) : libc()->bind(fd, addr, len_bytes);
}

EXPORT int listen(int fd, int backlog)
{
    identity_look();
    LEND_HELD c = fds_has(fd) ? lend_enter_any(fd) : NULL;
    if (c && conn_state(c) == CONN_LENT)
        return (int)calls_result(-EINVAL);
    if (c)
        lend_offer(c, fd);
    int rc = libc()->listen(fd, backlog);
    if (rc == 0 && c)
        atomic_store(&c->state, CONN_LISTENING);
    return rc;
}

/* A socket that was made before this program's time (by who started it) and is going to connect. */
static struct conn *of_others(int fd, const struct sockaddr *addr)
{
    int type = 0, protocol = 0;
    socklen_t len_bytes = sizeof type;
    if (!reach_is_wanted() || fds_has(fd) || user_is_bad(addr, sizeof *addr) ||
        (addr->sa_family != AF_INET && addr->sa_family != AF_INET6) ||
        libc()->getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len_bytes) != 0 ||
        libc()->getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len_bytes) != 0 ||
        !is_tcp(addr->sa_family, type, protocol))
        return NULL;
    struct conn *c = conn_new(addr->sa_family, CONN_FRESH);
    if (!c)
        return NULL;
    conn_read_options(c, fd);
    fds_bind(fd, c);
    return c;
}

EXPORT int connect(int fd, const struct sockaddr *addr, socklen_t len_bytes)
{
    identity_look();
    LEND_HELD c = fds_has(fd) ? lend_enter_any(fd) : of_others(fd, addr);
    if (c && conn_state(c) == CONN_LENT)
        return (int)calls_result(-EISCONN);
    if (c && conn_state(c) == CONN_FRESH) {
        decline_forget(fd);
        lend_offer(c, fd);
    }
    int rc = libc()->connect(fd, addr, len_bytes);
    int err = rc == 0 ? 0 : errno;
    if (!c || conn_state(c) == CONN_LISTENING)
        return rc;
    if (err == EINPROGRESS || err == EINTR || err == EALREADY)
        atomic_store(&c->state, CONN_CONNECTING);
    else if ((err == 0 || (err == EISCONN && conn_state(c) == CONN_CONNECTING)) && !lend_connected(c, fd))
        return (int)calls_result(-ECONNRESET);
    errno = err;
    return rc;
}

/* The kernel's accept tells the peer, so that no other call is needed to see what was accepted. */
EXPORT int accept4(int fd, struct sockaddr *addr, socklen_t *len_bytes, int flags)
{
    if (!reach_is_wanted())
        return libc()->accept4(fd, addr, len_bytes, flags);
    identity_look();
    {
        LEND_HELD c = lend_enter(fd);
        if (c)
            return (int)calls_result(-EINVAL);
    }
    struct sockaddr_storage peer = {.ss_family = AF_UNSPEC};
    socklen_t peer_bytes = sizeof peer;
    int accepted = libc()->accept4(fd, (struct sockaddr *)&peer, &peer_bytes, flags);
    if (accepted < 0)
        return accepted;
    if (addr) {
        if (user_is_bad(len_bytes, sizeof *len_bytes) || (int)*len_bytes < 0 ||
            user_is_bad(addr, *len_bytes)) {
            int err = !user_is_bad(len_bytes, sizeof *len_bytes) && (int)*len_bytes < 0 ? EINVAL : EFAULT;
            libc()->close(accepted);
            return (int)calls_result(-err);
        }
        memcpy(addr, &peer, *len_bytes < peer_bytes ? *len_bytes : peer_bytes);
        *len_bytes = peer_bytes;
    }
    int saved = errno;
    if (!lend_accepted(fd, accepted, peer.ss_family, flags)) {
        libc()->close(accepted);
        return (int)calls_result(-ECONNABORTED); /* as of one that was reset while it waited */
    }
    errno = saved;
    return accepted;
}

EXPORT int accept(int fd, struct sockaddr *addr, socklen_t *len_bytes)
{
    return accept4(fd, addr, len_bytes, 0);
}

EXPORT int shutdown(int fd, int how)
{
    LEND_HELD c = lend_enter(fd);
    if (!c)
        return libc()->shutdown(fd, how);
    int err = borrow_shutdown(c->borrow, how);
    if (err == 0)
        shadow_changed(c);
    return (int)calls_result(err);
}

/* --- options --- */

/* Before it is lent, a socket that offers SMC-R does so by this option, and goes on to. */
static bool is_mark(const struct conn *c, int level, int name)
{
    return level == IPPROTO_TCP && name == TCP_SAVE_SYN && c->offers && conn_state(c) != CONN_LENT;
}

static int set_own_save_syn(struct conn *c, const void *value, socklen_t len_bytes)
{
    int number;
    if (len_bytes < sizeof number)
        return -EINVAL;
    if (user_is_bad(value, sizeof number))
        return -EFAULT;
    memcpy(&number, value, sizeof number);
    if (number < 0 || number > 2) /* 2: with the headers below IP */
        return -EINVAL;
    c->save_syn = number;
    return 0;
}

static int set_option(struct conn *c, int fd, int level, int name, const void *value, socklen_t len_bytes)
{
    bool is_lent = conn_state(c) == CONN_LENT;
    if (is_lent && tcp_only_option(level, name)) {
        int number = 1;
        if (len_bytes >= sizeof number && !user_is_bad(value, sizeof number))
            memcpy(&number, value, sizeof number);
        if (!tcp_only_is_off(level, name, number))
            return -EOPNOTSUPP; /* too late to stay with TCP, and nothing would come of it */
    }
    if (is_lent && conn_keep_option(c, level, name, value, len_bytes))
        return 0;
    if (is_mark(c, level, name))
        return set_own_save_syn(c, value, len_bytes);
    int tcp_fd = is_lent ? conn_beside(c) : fd;
    if (tcp_fd < 0)
        return tcp_fd;
    if (libc()->setsockopt(tcp_fd, level, name, value, len_bytes) != 0)
        return -errno;
    conn_note_option(c, level, name, value, len_bytes);
    return 0;
}

EXPORT int setsockopt(int fd, int level, int name, const void *value, socklen_t len_bytes)
{
    LEND_HELD c = fds_has(fd) ? lend_enter_any(fd) : NULL;
    if (!c)
        return libc()->setsockopt(fd, level, name, value, len_bytes);
    return (int)calls_result(set_option(c, fd, level, name, value, len_bytes));
}

/* What the TCP socket beside would answer otherwise, or need not be asked for. */
static bool is_known(const struct conn *c, int level, int name, int *number)
{
    struct borrow_options options;
    if (level == IPPROTO_TCP && name == TCP_SAVE_SYN) {
        *number = c->save_syn;
        return true;
    }
    if (level == IPPROTO_TCP && name == TCP_NODELAY) { /* there it is the service's */
        borrow_get_options(c->borrow, &options);
        *number = options.is_nodelay;
        return true;
    }
    if (level != SOL_SOCKET)
        return false;
    switch (name) {
    case SO_ERROR:
        *number = borrow_take_error(c->borrow);
        return true;
    case SO_RCVLOWAT:
        *number = borrow_rcvlowat(c->borrow);
        return true;
    case SO_TYPE:
        *number = SOCK_STREAM;
        return true;
    case SO_PROTOCOL:
        *number = IPPROTO_TCP;
        return true;
    case SO_DOMAIN:
        *number = c->family;
        return true;
    case SO_ACCEPTCONN:
        *number = 0;
        return true;
    default:
        return false;
    }
}

static int get_option(struct conn *c, int level, int name, void *value, socklen_t *len_bytes)
{
    int number;
    if (user_is_bad(len_bytes, sizeof *len_bytes))
        return -EFAULT;
    if ((int)*len_bytes < 0)
        return -EINVAL;
    if (!is_known(c, level, name, &number)) {
        int tcp_fd = conn_beside(c);
        if (tcp_fd < 0)
            return tcp_fd;
        return libc()->getsockopt(tcp_fd, level, name, value, len_bytes) == 0 ? 0 : -errno;
    }
    socklen_t room = *len_bytes < sizeof number ? *len_bytes : (socklen_t)sizeof number;
    if (user_is_bad(value, room))
        return -EFAULT;
    memcpy(value, &number, room);
    *len_bytes = room;
    return 0;
}

EXPORT int getsockopt(int fd, int level, int name, void *value, socklen_t *len_bytes)
{
    bool may_be_mark = level == IPPROTO_TCP && name == TCP_SAVE_SYN && fds_has(fd);
    LEND_HELD c = may_be_mark ? lend_enter_any(fd) : lend_enter(fd);
    if (!c)
        return libc()->getsockopt(fd, level, name, value, len_bytes);
    return (int)calls_result(get_option(c, level, name, value, len_bytes));
}

/* --- names --- */

EXPORT int getsockname(int fd, struct sockaddr *addr, socklen_t *len_bytes)
{
    LEND_HELD c = lend_enter(fd);
    int tcp_fd = c ? conn_beside(c) : fd;
    return tcp_fd < 0 && c ? (int)calls_result(tcp_fd) : libc()->getsockname(tcp_fd, addr, len_bytes);
}

EXPORT int getpeername(int fd, struct sockaddr *addr, socklen_t *len_bytes)
{
    LEND_HELD c = lend_enter(fd);
    int tcp_fd = c ? conn_beside(c) : fd;
    return tcp_fd < 0 && c ? (int)calls_result(tcp_fd) : libc()->getpeername(tcp_fd, addr, len_bytes);
}

/* Another name of it. */
int __connect(int fd, const struct sockaddr *addr, socklen_t len_bytes);

EXPORT int __connect(int fd, const struct sockaddr *addr, socklen_t len_bytes)
{
    return connect(fd, addr, len_bytes);
}
