/* SPDX-License-Identifier: BSD-2-Clause */
/* Descriptors: closing and duplicating, fcntl(), ioctl(). */
#define _GNU_SOURCE
#include <fcntl.h>
#include <limits.h>
#include <linux/close_range.h>
#include <linux/sockios.h>
#include <stdarg.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "preload/calls/calls.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/user.h"

/* --- closing --- */

/* The number leads to nothing before it is closed: the next to get it may be another thread's. */
EXPORT int close(int fd)
{
    if (!fds_has(fd))
        return libc()->close(fd);
    if (fds_is_kept(fd) && !reach_is_inside())
        return (int)calls_result(-EBADF);
    fds_unbind(fd);
    return libc()->close(fd);
}

/* Up to the next number that is kept. */
static int close_between(unsigned first, unsigned last, unsigned flags)
{
    if (!(flags & CLOSE_RANGE_CLOEXEC))
        fds_unbind_range(first, last);
    return libc()->close_range(first, last, (int)flags);
}

EXPORT int close_range(unsigned first, unsigned last, int flags)
{
    int rc = 0;
    if (first > last)
        return libc()->close_range(first, last, flags);
    for (int kept = fds_next_kept(first); rc == 0 && kept >= 0 && (unsigned)kept <= last;
         kept = fds_next_kept(first)) {
        if ((unsigned)kept > first)
            rc = close_between(first, (unsigned)kept - 1, (unsigned)flags);
        if ((unsigned)kept == last)
            return rc;
        first = (unsigned)kept + 1;
    }
    return rc == 0 ? close_between(first, last, (unsigned)flags) : rc;
}

EXPORT void closefrom(int first)
{
    if (close_range((unsigned)(first > 0 ? first : 0), UINT_MAX, 0) != 0)
        libc()->closefrom(first); /* an old kernel; then what is kept goes, too */
}

/* --- duplicating --- */

EXPORT int dup(int fd)
{
    int to = libc()->dup(fd);
    if (to < 0 || !fds_has(fd))
        return to;
    fds_copy(fd, to);
    return to;
}

/* What `to` was goes if the kernel says so, and only then. */
static int replace(int from, int to, int flags, bool is_dup2)
{
    if (from == to || (!fds_has(from) && !fds_has(to)))
        return is_dup2 ? libc()->dup2(from, to) : libc()->dup3(from, to, flags);
    if (fds_is_kept(to))
        return (int)calls_result(-EBUSY);
    void *before = fds_take(to);
    int rc = is_dup2 ? libc()->dup2(from, to) : libc()->dup3(from, to, flags);
    if (rc < 0) {
        fds_give_back(to, before);
        return rc;
    }
    fds_let_go(before);
    fds_copy(from, to);
    return rc;
}

EXPORT int dup2(int from, int to)
{
    return replace(from, to, 0, true);
}

EXPORT int dup3(int from, int to, int flags)
{
    return replace(from, to, flags, false);
}

/* --- fcntl() --- */

static int control(int fd, int command, void *arg)
{
    if (command == F_DUPFD_CLOEXEC && reach_is_inside())
        return fds_keep_copy(fd); /* what the program's half of the service wants for itself */
    int rc = libc()->fcntl(fd, command, arg);
    if (rc < 0 || !fds_has(fd))
        return rc;
    if (command == F_DUPFD || command == F_DUPFD_CLOEXEC) {
        fds_copy(fd, rc);
    } else if (command == F_SETFL || command == F_GETFL) {
        LEND_HELD c = lend_enter(fd);
        if (c && command == F_SETFL)
            borrow_set_nonblocking(c->borrow, (int)(intptr_t)arg & O_NONBLOCK);
        else if (c)
            rc = (rc & ~O_NONBLOCK) | (borrow_is_nonblocking(c->borrow) ? O_NONBLOCK : 0);
    }
    return rc;
}

EXPORT int fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return control(fd, command, arg);
}

EXPORT int fcntl64(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return control(fd, command, arg);
}

/* --- ioctl() --- */

static int put_number(void *to, size_t number)
{
    int value = number < INT_MAX ? (int)number : INT_MAX;
    if (user_is_bad(to, sizeof value))
        return -EFAULT;
    memcpy(to, &value, sizeof value);
    return 0;
}

static int io_control(struct conn *c, int fd, unsigned long request, void *arg)
{
    int on;
    switch (request) {
    case FIONREAD: /* SIOCINQ */
        return put_number(arg, borrow_readable(c->borrow));
    case SIOCOUTQ:
    case SIOCOUTQNSD:
        return put_number(arg, borrow_unsent(c->borrow));
    case SIOCATMARK:
        return put_number(arg, borrow_at_mark(c->borrow));
    case FIONBIO:
        if (user_is_bad(arg, sizeof on))
            return -EFAULT;
        memcpy(&on, arg, sizeof on);
        borrow_set_nonblocking(c->borrow, on != 0);
        break;
    default:
        break;
    }
    return libc()->ioctl(fd, request, arg) < 0 ? -errno : 0;
}

EXPORT int ioctl(int fd, unsigned long request, ...)
{
    va_list args;
    va_start(args, request);
    void *arg = va_arg(args, void *);
    va_end(args);
    LEND_HELD c = lend_enter(fd);
    if (!c)
        return libc()->ioctl(fd, request, arg);
    return (int)calls_result(io_control(c, fd, request, arg));
}

/* --- system calls by number, as far as they are made by syscall() --- */

/* Closing what is ours must not go unnoticed, and io_uring, which the kernel alone would see, is not there:
 * who asks for it by syscall() (libuv) takes the calls that are interposed instead. */
EXPORT long syscall(long number, ...)
{
    long a[6];
    va_list args;
    va_start(args, number);
    for (unsigned i = 0; i < 6; i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (number == SYS_close)
        return close((int)a[0]);
    if (number == SYS_close_range)
        return close_range((unsigned)a[0], (unsigned)a[1], (int)a[2]);
    if (number == SYS_io_uring_setup && reach_is_wanted())
        return calls_result(-ENOSYS);
    long rc;
    if (reach_is_wanted() && calls_by_number(number, a, &rc))
        return rc;
    return libc()->syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Other names. */
int __close(int fd);
int __dup2(int from, int to);
int __fcntl(int fd, int command, ...);

EXPORT int __close(int fd)
{
    return close(fd);
}

EXPORT int __dup2(int from, int to)
{
    return dup2(from, to);
}

EXPORT int __fcntl(int fd, int command, ...)
{
    va_list args;
    va_start(args, command);
    void *arg = va_arg(args, void *);
    va_end(args);
    return control(fd, command, arg);
}
