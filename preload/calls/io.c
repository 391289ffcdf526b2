/* SPDX-License-Identifier: BSD-2-Clause */
/* Reading and writing. */
#define _GNU_SOURCE
#include <limits.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "base/base.h"
#include "preload/calls/calls.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/stream.h"
#include "preload/user.h"
#include "preload/waiting.h"

/* Whether the call is the kernel's after all: the connection has just fallen back to TCP. */
static bool is_kernels(struct conn *c, ssize_t rc)
{
    if (rc != STREAM_FELL_BACK)
        return false;
    lend_back(c);
    return true;
}

static ssize_t recv_one(struct conn *c, void *buf, size_t len, int flags)
{
    struct iovec iov = {buf, len < USER_MAX_CALL ? len : USER_MAX_CALL};
    bool is_for_nobody = flags & MSG_TRUNC; /* TCP drops the bytes */
    if (!is_for_nobody && user_is_bad(buf, len))
        return -EFAULT;
    return stream_recv(c, &iov, 1, iov.iov_len, flags);
}

static ssize_t send_one(struct conn *c, const void *buf, size_t len, int flags)
{
    struct iovec iov = {(void *)buf, len < USER_MAX_CALL ? len : USER_MAX_CALL};
    if (user_is_bad(buf, len))
        return -EFAULT;
    return stream_send(c, &iov, 1, iov.iov_len, flags);
}

EXPORT ssize_t recv(int fd, void *buf, size_t len, int flags)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? recv_one(c, buf, len, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->recv(fd, buf, len, flags);
    return calls_result(rc);
}

EXPORT ssize_t send(int fd, const void *buf, size_t len, int flags)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_one(c, buf, len, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->send(fd, buf, len, flags);
    return calls_result(rc);
}

/* Linux's read() and readv() of nothing do not ask the socket at all; recv() does. */
EXPORT ssize_t read(int fd, void *buf, size_t len)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c && len > 0 ? recv_one(c, buf, len, 0) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->read(fd, buf, len);
    return calls_result(rc);
}

EXPORT ssize_t write(int fd, const void *buf, size_t len)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_one(c, buf, len, 0) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->write(fd, buf, len);
    return calls_result(rc);
}

/* TCP tells no address with its bytes. */
EXPORT ssize_t recvfrom(int fd, void *buf, size_t len, int flags, struct sockaddr *addr, socklen_t *addr_len)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? recv_one(c, buf, len, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->recvfrom(fd, buf, len, flags, addr, addr_len);
    if (rc >= 0 && addr && addr_len) {
        if (user_is_bad(addr_len, sizeof *addr_len))
            return calls_result(-EFAULT);
        *addr_len = 0;
    }
    return calls_result(rc);
}

/* On a socket that is connected, TCP does not look at the address. */
EXPORT ssize_t sendto(int fd, const void *buf, size_t len, int flags, const struct sockaddr *addr,
                      socklen_t addr_len)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_one(c, buf, len, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->sendto(fd, buf, len, flags, addr, addr_len);
    return calls_result(rc);
}

/* --- lists of pieces --- */

static ssize_t recv_list(struct conn *c, const struct iovec *iov, long n, int flags)
{
    ssize_t bytes = user_iov_bytes(iov, n, -EMSGSIZE);
    return bytes < 0 ? bytes : stream_recv(c, iov, (int)n, (size_t)bytes, flags);
}

static ssize_t read_list(struct conn *c, const struct iovec *iov, long n, int flags)
{
    ssize_t bytes = user_iov_bytes(iov, n, -EINVAL);
    return bytes <= 0 ? bytes : stream_recv(c, iov, (int)n, (size_t)bytes, flags);
}

static ssize_t send_list(struct conn *c, const struct iovec *iov, long n, int flags, int too_many)
{
    ssize_t bytes = user_iov_bytes(iov, n, too_many);
    return bytes < 0 ? bytes : stream_send(c, iov, (int)n, (size_t)bytes, flags);
}

EXPORT ssize_t readv(int fd, const struct iovec *iov, int n)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? read_list(c, iov, n, 0) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->readv(fd, iov, n);
    return calls_result(rc);
}

EXPORT ssize_t writev(int fd, const struct iovec *iov, int n)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_list(c, iov, n, 0, -EINVAL) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->writev(fd, iov, n);
    return calls_result(rc);
}

/* Place -1 means that there is none: what a socket takes. RWF_NOWAIT waits for nothing. */
EXPORT ssize_t preadv2(int fd, const struct iovec *iov, int n, off_t place, int flags)
{
    LEND_HELD c = place == -1 ? lend_enter(fd) : NULL;
    ssize_t rc = c ? read_list(c, iov, n, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->preadv2(fd, iov, n, place, flags);
    return calls_result(rc);
}

EXPORT ssize_t pwritev2(int fd, const struct iovec *iov, int n, off_t place, int flags)
{
    LEND_HELD c = place == -1 ? lend_enter(fd) : NULL;
    ssize_t rc = c ? send_list(c, iov, n, flags & RWF_NOWAIT ? MSG_DONTWAIT : 0, -EINVAL) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->pwritev2(fd, iov, n, place, flags);
    return calls_result(rc);
}

/* What the headers make of them where off_t has 64 bits anyway. */
EXPORT ssize_t preadv64v2(int fd, const struct iovec *iov, int n, off64_t place, int flags)
{
    return preadv2(fd, iov, n, place, flags);
}

EXPORT ssize_t pwritev64v2(int fd, const struct iovec *iov, int n, off64_t place, int flags)
{
    return pwritev2(fd, iov, n, place, flags);
}

/* --- messages --- */

static ssize_t recv_msg(struct conn *c, struct msghdr *msg, int flags)
{
    if (user_is_bad(msg, sizeof *msg))
        return -EFAULT;
    long n = msg->msg_iovlen > INT_MAX ? -1 : (long)msg->msg_iovlen;
    ssize_t rc = recv_list(c, msg->msg_iov, n, flags);
    if (rc >= 0) {
        if (msg->msg_name)
            msg->msg_namelen = 0;
        msg->msg_controllen = 0;
        msg->msg_flags = flags & MSG_OOB && rc > 0 ? MSG_OOB : 0;
    }
    return rc;
}

/* Control messages that TCP sends by: none whose effect would be missed, but for what it would refuse. */
static ssize_t send_msg(struct conn *c, const struct msghdr *msg, int flags)
{
    if (user_is_bad(msg, sizeof *msg))
        return -EFAULT;
    long n = msg->msg_iovlen > INT_MAX ? -1 : (long)msg->msg_iovlen;
    return send_list(c, msg->msg_iov, n, flags, -EMSGSIZE);
}

/* The descriptors that a message of a UNIX socket bears. */
struct passed {
    struct msghdr *msg;
    struct cmsghdr *at;
    size_t done_bytes; /* of `at` */
};

static struct passed passed_of(const struct msghdr *msg)
{
    return (struct passed){.msg = (struct msghdr *)msg, .at = CMSG_FIRSTHDR(msg), .done_bytes = CMSG_LEN(0)};
}

/* What the program sends may have lengths that lie. */
static bool next_passed(struct passed *p, int *fd)
{
    const char *end = (const char *)p->msg->msg_control + p->msg->msg_controllen;
    for (; p->at; p->at = CMSG_NXTHDR(p->msg, p->at), p->done_bytes = CMSG_LEN(0)) {
        size_t there_bytes = (size_t)(end - (const char *)p->at);
        if (p->at->cmsg_level != SOL_SOCKET || p->at->cmsg_type != SCM_RIGHTS ||
            p->done_bytes + sizeof *fd > min_u64(p->at->cmsg_len, there_bytes))
            continue;
        memcpy(fd, (const char *)p->at + p->done_bytes, sizeof *fd);
        p->done_bytes += sizeof *fd;
        return true;
    }
    return false;
}

/* Of those that came: a lent connection may be among them. */
static void look_for_lent(const struct msghdr *msg)
{
    struct passed passed = passed_of(msg);
    int fd;
    if (reach_is_inside() || !reach_is_wanted())
        return;
    while (next_passed(&passed, &fd))
        lend_attach(fd);
}

/* Of those that go to others. A connection that is there, and that the program has not looked at since it
 * began to connect, is lent first: who gets it would not know that its peer waits for SMC-R's messages. */
static void settle_passed(const struct msghdr *msg)
{
    int fd;
    if (reach_is_inside() || user_is_bad(msg, sizeof *msg) || msg->msg_controllen == 0 ||
        user_is_bad(msg->msg_control, msg->msg_controllen))
        return;
    for (struct passed passed = passed_of(msg); next_passed(&passed, &fd);)
        if (fds_has(fd))
            fds_put(lend_enter_any(fd));
}

EXPORT ssize_t recvmsg(int fd, struct msghdr *msg, int flags)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? recv_msg(c, msg, flags) : 0;
    if (c && !is_kernels(c, rc))
        return calls_result(rc);
    rc = libc()->recvmsg(fd, msg, flags);
    if (rc >= 0 && msg->msg_controllen > 0)
        look_for_lent(msg);
    return rc;
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
    settle_passed(msg);
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_msg(c, msg, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->sendmsg(fd, msg, flags);
    return calls_result(rc);
}

/* As the kernel: the timeout is looked at after each message, and an error behind the first is kept quiet. */
static ssize_t recv_many(struct conn *c, struct mmsghdr *msgs, unsigned n, int flags,
                         const struct timespec *timeout)
{
    uint64_t timeout_ns;
    unsigned done = 0;
    if (!waiting_timespec_ns(timeout, &timeout_ns))
        return -EINVAL;
    uint64_t deadline_ns = waiting_deadline(timeout_ns);
    if (n > 0 && user_is_bad(msgs, sizeof *msgs))
        return -EFAULT;
    while (done < n && done < IOV_MAX) {
        ssize_t rc = recv_msg(c, &msgs[done].msg_hdr, flags & ~MSG_WAITFORONE);
        if (rc < 0)
            return done > 0 ? (ssize_t)done : rc;
        msgs[done++].msg_len = (unsigned)rc;
        if (flags & MSG_WAITFORONE)
            flags |= MSG_DONTWAIT;
        if (rc == 0 || (timeout && base_now_ns() >= deadline_ns))
            break;
    }
    return done;
}

EXPORT int recvmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags, struct timespec *timeout)
{
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? recv_many(c, msgs, n, flags, timeout) : 0;
    if (c && !is_kernels(c, rc))
        return (int)calls_result(rc);
    rc = libc()->recvmmsg(fd, msgs, n, flags, timeout);
    for (ssize_t i = 0; i < rc; i++)
        if (msgs[i].msg_hdr.msg_controllen > 0)
            look_for_lent(&msgs[i].msg_hdr);
    return (int)rc;
}

static ssize_t send_many(struct conn *c, struct mmsghdr *msgs, unsigned n, int flags)
{
    unsigned done = 0;
    if (n > 0 && user_is_bad(msgs, sizeof *msgs))
        return -EFAULT;
    while (done < n && done < IOV_MAX) {
        ssize_t rc = send_msg(c, &msgs[done].msg_hdr, flags);
        if (rc < 0)
            return done > 0 ? (ssize_t)done : rc;
        msgs[done++].msg_len = (unsigned)rc;
    }
    return done;
}

EXPORT int sendmmsg(int fd, struct mmsghdr *msgs, unsigned n, int flags)
{
    for (unsigned i = 0; i < n && i < IOV_MAX && !user_is_bad(&msgs[i], sizeof msgs[i]); i++)
        settle_passed(&msgs[i].msg_hdr);
    LEND_HELD c = lend_enter(fd);
    ssize_t rc = c ? send_many(c, msgs, n, flags) : 0;
    if (!c || is_kernels(c, rc))
        return libc()->sendmmsg(fd, msgs, n, flags);
    return (int)calls_result(rc);
}

/* --- what a C library with _FORTIFY_SOURCE has in the place of some of these, and other names of them --- */

void __chk_fail(void) __attribute__((noreturn));
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
                       socklen_t *addr_len);
ssize_t __read(int fd, void *buf, size_t len);
ssize_t __write(int fd, const void *buf, size_t len);
ssize_t __send(int fd, const void *buf, size_t len, int flags);

EXPORT ssize_t __read_chk(int fd, void *buf, size_t len, size_t room)
{
    if (len > room)
        __chk_fail();
    return read(fd, buf, len);
}

EXPORT ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
    if (len > room)
        __chk_fail();
    return recv(fd, buf, len, flags);
}

EXPORT ssize_t __recvfrom_chk(int fd, void *buf, size_t len, size_t room, int flags, struct sockaddr *addr,
                              socklen_t *addr_len)
{
    if (len > room)
        __chk_fail();
    return recvfrom(fd, buf, len, flags, addr, addr_len);
}

EXPORT ssize_t __read(int fd, void *buf, size_t len)
{
    return read(fd, buf, len);
}

EXPORT ssize_t __write(int fd, const void *buf, size_t len)
{
    return write(fd, buf, len);
}

EXPORT ssize_t __send(int fd, const void *buf, size_t len, int flags)
{
    return send(fd, buf, len, flags);
}
