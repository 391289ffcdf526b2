/* SPDX-License-Identifier: BSD-2-Clause */
/* The C library's own functions, behind those that this library puts before them.
 *
 * A program that was started with this library calls read() and means this library's; what it does with a
 * descriptor that is not its business, and whatever this library itself wants of the kernel, goes by this
 * table. No file of preload/ calls an interposed function by its name. */
#ifndef NORNIC_PRELOAD_LIBC_H
#define NORNIC_PRELOAD_LIBC_H

#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

/* Result, name, arguments. */
#define LIBC_FUNCTIONS(F)                                                                             \
    F(int, socket, (int, int, int))                                                                   \
    F(int, listen, (int, int))                                                                        \
    F(int, connect, (int, const struct sockaddr *, socklen_t))                                        \
    F(int, accept4, (int, struct sockaddr *, socklen_t *, int))                                       \
    F(int, shutdown, (int, int))                                                                      \
    F(int, getsockopt, (int, int, int, void *, socklen_t *))                                          \
    F(int, setsockopt, (int, int, int, const void *, socklen_t))                                      \
    F(int, getsockname, (int, struct sockaddr *, socklen_t *))                                        \
    F(int, getpeername, (int, struct sockaddr *, socklen_t *))                                        \
    F(int, bind, (int, const struct sockaddr *, socklen_t))                                           \
    F(ssize_t, read, (int, void *, size_t))                                                           \
    F(ssize_t, write, (int, const void *, size_t))                                                    \
    F(ssize_t, readv, (int, const struct iovec *, int))                                               \
    F(ssize_t, writev, (int, const struct iovec *, int))                                              \
    F(ssize_t, preadv2, (int, const struct iovec *, int, off_t, int))                                 \
    F(ssize_t, pwritev2, (int, const struct iovec *, int, off_t, int))                                \
    F(ssize_t, pread, (int, void *, size_t, off_t))                                                   \
    F(ssize_t, recv, (int, void *, size_t, int))                                                      \
    F(ssize_t, send, (int, const void *, size_t, int))                                                \
    F(ssize_t, recvfrom, (int, void *, size_t, int, struct sockaddr *, socklen_t *))                  \
    F(ssize_t, sendto, (int, const void *, size_t, int, const struct sockaddr *, socklen_t))          \
    F(ssize_t, recvmsg, (int, struct msghdr *, int))                                                  \
    F(ssize_t, sendmsg, (int, const struct msghdr *, int))                                            \
    F(int, recvmmsg, (int, struct mmsghdr *, unsigned, int, struct timespec *))                       \
    F(int, sendmmsg, (int, struct mmsghdr *, unsigned, int))                                          \
    F(ssize_t, sendfile, (int, int, off_t *, size_t))                                                 \
    F(ssize_t, splice, (int, off_t *, int, off_t *, size_t, unsigned))                                \
    F(ssize_t, tee, (int, int, size_t, unsigned))                                                     \
    F(int, poll, (struct pollfd *, nfds_t, int))                                                      \
    F(int, ppoll, (struct pollfd *, nfds_t, const struct timespec *, const sigset_t *))               \
    F(int, select, (int, fd_set *, fd_set *, fd_set *, struct timeval *))                             \
    F(int, pselect, (int, fd_set *, fd_set *, fd_set *, const struct timespec *, const sigset_t *))   \
    F(int, epoll_create, (int))                                                                       \
    F(int, epoll_create1, (int))                                                                      \
    F(int, epoll_ctl, (int, int, int, struct epoll_event *))                                          \
    F(int, epoll_wait, (int, struct epoll_event *, int, int))                                         \
    F(int, epoll_pwait, (int, struct epoll_event *, int, int, const sigset_t *))                      \
    F(int, epoll_pwait2, (int, struct epoll_event *, int, const struct timespec *, const sigset_t *)) \
    F(int, dup, (int))                                                                                \
    F(int, dup2, (int, int))                                                                          \
    F(int, dup3, (int, int, int))                                                                     \
    F(int, fcntl, (int, int, ...))                                                                    \
    F(int, ioctl, (int, unsigned long, ...))                                                          \
    F(int, close, (int))                                                                              \
    F(int, close_range, (unsigned, unsigned, int))                                                    \
    F(void, closefrom, (int))                                                                         \
    F(int, pipe2, (int[2], int))                                                                      \
    F(FILE *, fdopen, (int, const char *))                                                            \
    F(int, fileno, (FILE *))                                                                          \
    F(int, vdprintf, (int, const char *, va_list))                                                    \
    F(pid_t, fork, (void))                                                                            \
    F(int, setuid, (uid_t))                                                                           \
    F(int, seteuid, (uid_t))                                                                          \
    F(int, setreuid, (uid_t, uid_t))                                                                  \
    F(int, setresuid, (uid_t, uid_t, uid_t))                                                          \
    F(int, setfsuid, (uid_t))                                                                         \
    F(int, unshare, (int))                                                                            \
    F(int, setns, (int, int))                                                                         \
    F(int, chroot, (const char *))                                                                    \
    F(int, prctl, (int, ...))                                                                         \
    F(int, setrlimit, (__rlimit_resource_t, const struct rlimit *))                                   \
    F(int, prlimit, (pid_t, __rlimit_resource_t, const struct rlimit *, struct rlimit *))             \
    F(long, syscall, (long, ...))

#define LIBC_MEMBER(result, name, args) result(*name) args;

/* Where each is found; NULL: this C library has none of that name. */
struct libc {
    LIBC_FUNCTIONS(LIBC_MEMBER)
};

/* Fills it: at the first call, whether that is the constructor's or that of a program's or another
 * library's constructor. Not for others than libc(). */
const struct libc *libc_find(void);

extern bool libc_is_found;
extern struct libc libc_table;

static inline const struct libc *libc(void)
{
    return __builtin_expect(__atomic_load_n(&libc_is_found, __ATOMIC_ACQUIRE), 1) ? &libc_table : libc_find();
}

#endif
