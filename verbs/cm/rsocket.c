/* SPDX-License-Identifier: BSD-2-Clause */
/* rsockets: not there. rsocket() says so, so that nobody has one for the other calls, which say the same.
 * rpoll() and rselect() take plain descriptors as well, and are given some by programs that have no
 * rsocket. */
#include <errno.h>
#include <netinet/in.h>
#include <rdma/rsocket.h>

#include "verbs/cm/cma.h"

int rsocket(int domain, int type, int protocol)
{
    (void)domain;
    (void)type;
    (void)protocol;
    return cma_fail(ENOSYS, "there are no rsockets");
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    return poll(fds, nfds, timeout);
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
    return select(nfds, readfds, writefds, exceptfds, timeout);
}

/* The calls about an rsocket, of which there is none. */
#define NONE_        cma_fail(EBADF, "there are no rsockets")
#define UNUSED_(...) (void)sizeof((int[]){__VA_ARGS__})

int rbind(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
    UNUSED_(socket, addr != NULL, (int)addrlen);
    return NONE_;
}

int rlisten(int socket, int backlog)
{
    UNUSED_(socket, backlog);
    return NONE_;
}

int raccept(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    UNUSED_(socket, addr != NULL, addrlen != NULL);
    return NONE_;
}

int rconnect(int socket, const struct sockaddr *addr, socklen_t addrlen)
{
    UNUSED_(socket, addr != NULL, (int)addrlen);
    return NONE_;
}

int rshutdown(int socket, int how)
{
    UNUSED_(socket, how);
    return NONE_;
}

int rclose(int socket)
{
    UNUSED_(socket);
    return NONE_;
}

ssize_t rrecv(int socket, void *buf, size_t len, int flags)
{
    UNUSED_(socket, buf != NULL, (int)len, flags);
    return NONE_;
}

ssize_t rrecvfrom(int socket, void *buf, size_t len, int flags, struct sockaddr *src_addr, socklen_t *addrlen)
{
    UNUSED_(socket, buf != NULL, (int)len, flags, src_addr != NULL, addrlen != NULL);
    return NONE_;
}

ssize_t rrecvmsg(int socket, struct msghdr *msg, int flags)
{
    UNUSED_(socket, msg != NULL, flags);
    return NONE_;
}

ssize_t rsend(int socket, const void *buf, size_t len, int flags)
{
    UNUSED_(socket, buf != NULL, (int)len, flags);
    return NONE_;
}

ssize_t rsendto(int socket, const void *buf, size_t len, int flags, const struct sockaddr *dest_addr,
                socklen_t addrlen)
{
    UNUSED_(socket, buf != NULL, (int)len, flags, dest_addr != NULL, (int)addrlen);
    return NONE_;
}

ssize_t rsendmsg(int socket, const struct msghdr *msg, int flags)
{
    UNUSED_(socket, msg != NULL, flags);
    return NONE_;
}

ssize_t rread(int socket, void *buf, size_t count)
{
    UNUSED_(socket, buf != NULL, (int)count);
    return NONE_;
}

ssize_t rreadv(int socket, const struct iovec *iov, int iovcnt)
{
    UNUSED_(socket, iov != NULL, iovcnt);
    return NONE_;
}

ssize_t rwrite(int socket, const void *buf, size_t count)
{
    UNUSED_(socket, buf != NULL, (int)count);
    return NONE_;
}

ssize_t rwritev(int socket, const struct iovec *iov, int iovcnt)
{
    UNUSED_(socket, iov != NULL, iovcnt);
    return NONE_;
}

int rgetpeername(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    UNUSED_(socket, addr != NULL, addrlen != NULL);
    return NONE_;
}

int rgetsockname(int socket, struct sockaddr *addr, socklen_t *addrlen)
{
    UNUSED_(socket, addr != NULL, addrlen != NULL);
    return NONE_;
}

int rsetsockopt(int socket, int level, int optname, const void *optval, socklen_t optlen)
{
    UNUSED_(socket, level, optname, optval != NULL, (int)optlen);
    return NONE_;
}

int rgetsockopt(int socket, int level, int optname, void *optval, socklen_t *optlen)
{
    UNUSED_(socket, level, optname, optval != NULL, optlen != NULL);
    return NONE_;
}

int rfcntl(int socket, int cmd, ...)
{
    UNUSED_(socket, cmd);
    return NONE_;
}

off_t riomap(int socket, void *buf, size_t len, int prot, int flags, off_t offset)
{
    UNUSED_(socket, buf != NULL, (int)len, prot, flags, (int)offset);
    return NONE_;
}

int riounmap(int socket, void *buf, size_t len)
{
    UNUSED_(socket, buf != NULL, (int)len);
    return NONE_;
}

size_t riowrite(int socket, const void *buf, size_t count, off_t offset, int flags)
{
    UNUSED_(socket, buf != NULL, (int)count, (int)offset, flags);
    return (size_t)NONE_;
}
