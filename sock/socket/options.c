/* SPDX-License-Identifier: BSD-2-Clause */
/* Options: the TCP socket takes them, checks them and gives them back (SMCR-SOC-02); those that mean
 * something for bytes that do not go by TCP are known here too. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <linux/sockios.h>

#include "base/base.h"
#include "base/tcp_only.h"
#include "sock/socket/state.h"
#include "sock/socket/user.h"

static uint64_t timeout_option(const struct smcr_sock *s, int name)
{
    struct timeval tv = {0};
    socklen_t len = sizeof tv;
    getsockopt(s->tcp_fd, SOL_SOCKET, name, &tv, &len);
    uint64_t ns = (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * NS_PER_US;
    return ns ? ns : NET_TIME_NONE;
}

static void read_linger(struct smcr_sock *s)
{
    struct linger linger = {0};
    socklen_t len = sizeof linger;
    getsockopt(s->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, &len);
    s->options.linger_s = linger.l_onoff ? linger.l_linger : -1;
}

static void set_oob_inline(struct smcr_sock *s)
{
    s->options.is_oob_inline = smcr_sock_int_option(s, SOL_SOCKET, SO_OOBINLINE) != 0;
    if (s->state == SMCR_SOCK_SMCR && s->conn)
        smcr_conn_set_urgent_inline(s->conn, s->options.is_oob_inline);
}

static void note_socket_option(struct smcr_sock *s, int name, int value)
{
    switch (name) {
    case SO_RCVTIMEO:
        s->options.rcvtimeo_ns = timeout_option(s, SO_RCVTIMEO);
        break;
    case SO_SNDTIMEO:
        s->options.sndtimeo_ns = timeout_option(s, SO_SNDTIMEO);
        break;
    case SO_RCVLOWAT:
        s->options.rcvlowat = smcr_sock_int_option(s, SOL_SOCKET, SO_RCVLOWAT);
        break;
    case SO_OOBINLINE:
        set_oob_inline(s);
        break;
    case SO_KEEPALIVE:
        s->options.is_keepalive = smcr_sock_int_option(s, SOL_SOCKET, SO_KEEPALIVE) != 0;
        smcr_sock_apply_keepalive(s);
        break;
    case SO_LINGER:
        read_linger(s);
        break;
    case SO_RCVBUF:
        s->options.rcvbuf_bytes =
            value > 0 ? (uint32_t)smcr_sock_int_option(s, SOL_SOCKET, SO_RCVBUF) / 2 : 0;
        break;
    case SO_SNDBUF:
        s->options.sndbuf_bytes =
            value > 0 ? (uint32_t)smcr_sock_int_option(s, SOL_SOCKET, SO_SNDBUF) / 2 : 0;
        break;
    }
}

/* Pushes what waited for more. */
static void uncork(struct smcr_sock *s)
{
    if (s->state == SMCR_SOCK_SMCR && s->conn)
        smcr_conn_send(s->conn, "", 0, SMCR_SEND_NODELAY, host_now_ns());
}

static void note_tcp_option(struct smcr_sock *s, int name)
{
    switch (name) {
    case TCP_NODELAY:
        s->options.is_nodelay = smcr_sock_int_option(s, IPPROTO_TCP, TCP_NODELAY) != 0;
        if (s->options.is_nodelay)
            uncork(s);
        break;
    case TCP_CORK:
        s->options.is_corked = smcr_sock_int_option(s, IPPROTO_TCP, TCP_CORK) != 0;
        if (!s->options.is_corked)
            uncork(s);
        break;
    case TCP_KEEPIDLE:
        smcr_sock_apply_keepalive(s);
        break;
    }
}

/* Whether the value switches it off: what is off acts on nothing. */
static bool is_off(int level, int name, const void *value, socklen_t len)
{
    int number;
    if (len < sizeof number || smcr_user_readable(value, sizeof number) < sizeof number)
        return false;
    memcpy(&number, value, sizeof number);
    return tcp_only_is_off(level, name, number);
}

static int set_option(struct smcr_sock *s, int level, int name, const void *value, socklen_t len)
{
    int number = 0;
    bool is_tcp_only = tcp_only_option(level, name) && !is_off(level, name, value, len);
    /* Too late to stay with TCP, and nothing would come of it; better to say so. */
    if (is_tcp_only && s->offer == SMCR_SOCK_OFFERED && s->state != SMCR_SOCK_NEW &&
        s->state != SMCR_SOCK_TCP)
        return -EOPNOTSUPP;
    if (setsockopt(s->tcp_fd, level, name, value, len) != 0)
        return -errno;
    if (is_tcp_only)
        s->offer = SMCR_SOCK_TCP_ONLY;
    if (value && len >= sizeof number)
        memcpy(&number, value, sizeof number);
    if (level == SOL_SOCKET)
        note_socket_option(s, name, number);
    else if (level == IPPROTO_TCP)
        note_tcp_option(s, name);
    return 0;
}

int nornic_setsockopt(int fd, int level, int name, const void *value, socklen_t len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return setsockopt(fd, level, name, value, len);
    int err = set_option(s, level, name, value, len);
    smcr_sock_sync(s, fd, 0);
    return (int)smcr_sock_leave_with(s, err);
}

/* In TCP's states the kernel knows; else we. */
static int take_so_error(struct smcr_sock *s, int fd)
{
    int error =
        s->state == SMCR_SOCK_TCP ? smcr_sock_int_option(s, SOL_SOCKET, SO_ERROR) : -smcr_sock_take_error(s);
    smcr_sock_sync(s, fd, 0);
    return error;
}

static int get_nodelay(const struct smcr_sock *s)
{
    return s->options.is_nodelay;
}

/* What the TCP socket would answer otherwise than the application has set it. */
static bool is_ours(int level, int name)
{
    return (level == SOL_SOCKET && name == SO_ERROR) || (level == IPPROTO_TCP && name == TCP_NODELAY);
}

static int get_option(struct smcr_sock *s, int fd, int level, int name, void *value, socklen_t *len)
{
    if (!is_ours(level, name))
        return getsockopt(s->tcp_fd, level, name, value, len) == 0 ? 0 : -errno;
    if (smcr_user_writable(len, sizeof *len) < sizeof *len)
        return -EFAULT;
    if ((int)*len < 0)
        return -EINVAL;
    socklen_t room = *len < sizeof(int) ? *len : sizeof(int);
    int number = level == SOL_SOCKET ? take_so_error(s, fd) : get_nodelay(s);
    if (smcr_user_writable(value, room) < room)
        return -EFAULT;
    memcpy(value, &number, room);
    *len = room;
    return 0;
}

int nornic_getsockopt(int fd, int level, int name, void *value, socklen_t *len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return getsockopt(fd, level, name, value, len);
    return (int)smcr_sock_leave_with(s, get_option(s, fd, level, name, value, len));
}

/* The descriptor is one of the kernel's: its flags and duplicates are too. */
int nornic_fcntl(int fd, int cmd, long arg)
{
    return fcntl(fd, cmd, arg);
}

static int answer(void *arg, int value)
{
    if (smcr_user_writable(arg, sizeof value) < sizeof value)
        return -EFAULT;
    memcpy(arg, &value, sizeof value);
    return 0;
}

static int ioctl_smcr(struct smcr_sock *s, unsigned long request, void *arg)
{
    struct smcr_conn_status status;
    bool is_reset = s->state == SMCR_SOCK_RESET;
    smcr_conn_status(s->conn, &status);
    switch (request) {
    case SIOCINQ:
        return answer(arg, is_reset ? 0 : (int)status.readable_bytes);
    case SIOCOUTQ:
    case SIOCOUTQNSD:
        return answer(arg, is_reset ? 0 : (int)status.unsent_bytes);
    case SIOCATMARK:
        return answer(arg, !is_reset && smcr_conn_at_mark(s->conn));
    default:
        return ioctl(s->tcp_fd, request, arg) == 0 ? 0 : -errno;
    }
}

/* What is about the descriptor itself. */
static bool is_of_descriptor(unsigned long request)
{
    return request == FIONBIO || request == FIOASYNC || request == FIOCLEX || request == FIONCLEX ||
           request == FIOSETOWN || request == FIOGETOWN || request == SIOCSPGRP || request == SIOCGPGRP;
}

int nornic_ioctl(int fd, unsigned long request, void *arg)
{
    if (is_of_descriptor(request))
        return ioctl(fd, request, arg);
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return ioctl(fd, request, arg);
    int err;
    if (smcr_sock_is_smcr(s) && s->conn)
        err = ioctl_smcr(s, request, arg);
    else
        err = ioctl(s->tcp_fd, request, arg) == 0 ? 0 : -errno;
    return (int)smcr_sock_leave_with(s, err);
}
