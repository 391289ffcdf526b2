/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that read and write, in all their forms. */
#include <errno.h>
#include <sys/uio.h>

#include "verbs/rsocket/datagram.h"
#include "verbs/rsocket/rsocket.h"

/* --- in --- */

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    const struct rs_parts parts = {msg->msg_iov, msg->msg_iovlen, 0};
    ssize_t done = s->type == SOCK_DGRAM ? ds_recv(s, parts, flags, msg->msg_name, &msg->msg_namelen)
                                         : rs_recv_parts(s, parts, flags);
    rs_done(s);
    if (done >= 0) {
        msg->msg_controllen = 0;
        msg->msg_flags = 0;
    }
    return done;
}

/* Of a stream nobody's address comes with the bytes. */
ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr, socklen_t *addrlen)
{
    struct iovec part = {buf, len};
    struct msghdr msg = {.msg_iov = &part,
                         .msg_iovlen = 1,
                         .msg_name = addrlen ? src_addr : NULL,
                         .msg_namelen = src_addr && addrlen ? *addrlen : 0};
    ssize_t done = rrecvmsg(socket, &msg, flags);
    if (done >= 0 && src_addr && addrlen)
        *addrlen = msg.msg_namelen;
    return done;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
    return rrecvfrom(socket, buf, len, flags, NULL, NULL);
}

ssize_t rread(int socket, void *buf, size_t count)
{
    return rrecvfrom(socket, buf, count, 0, NULL, NULL);
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)iovcnt};
    return rrecvmsg(socket, &msg, 0);
}

/* --- out --- */

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
    struct rsock *s = rs_need(socket);
    if (!s)
        return -1;
    const struct rs_parts parts = {msg->msg_iov, msg->msg_iovlen, 0};
    ssize_t done = s->type == SOCK_DGRAM ? ds_send(s, parts, flags, msg->msg_name, msg->msg_namelen)
                                         : rs_send_parts(s, parts, flags);
    rs_done(s);
    return done;
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const struct sockaddr *dest_addr,
                socklen_t addrlen)
{
    struct iovec part = {(void *)buf, len};
    const struct msghdr msg = {
        .msg_iov = &part, .msg_iovlen = 1, .msg_name = (void *)dest_addr, .msg_namelen = addrlen};
    return rsendmsg(socket, &msg, flags);
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
    return rsendto(socket, buf, len, flags, NULL, 0);
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
    return rsendto(socket, buf, count, 0, NULL, 0);
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
    const struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)iovcnt};
    return rsendmsg(socket, &msg, 0);
}
