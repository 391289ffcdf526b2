/* SPDX-License-Identifier: BSD-2-Clause */
/* A forked child has no part in the connections of its parent (SMCR-ARC-28): it lets go of all that belongs
 * to them, and its copies of their descriptors answer EBADF to everything but close(). */
#define _GNU_SOURCE /* O_PATH, dup3() */
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <unistd.h>

#include "sock/inner.h"

static void before_fork(void)
{
    smcr_rt_lock();
}

static void in_parent(void)
{
    smcr_rt_release();
}

static void close_all(void)
{
    /* First the epoll: it is the parent's too, which goes on watching its sockets. */
    int *fds[] = {&smcr_rt.epfd, &smcr_rt.timer_fd, &smcr_rt.netlink_fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    for (struct smcr_sock *s = smcr_rt.all; s; s = s->all_next) {
        smcr_sock_close_tcp(s);
        smcr_sock_close_mirror(s);
    }
}

static void replace_descriptors(void)
{
    int nothing = open("/", O_PATH | O_CLOEXEC);
    for (unsigned fd = 0; fd < smcr_rt.by_fd_size; fd++) {
        /* One that the kernel's calls gave to another is the child's as well. */
        if (!smcr_rt.by_fd[fd] || !smcr_sock_owns_fd(smcr_rt.by_fd[fd], (int)fd))
            continue;
        int flags = fcntl((int)fd, F_GETFD);
        if (nothing >= 0 && flags >= 0)
            dup3(nothing, (int)fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
    }
    if (nothing >= 0)
        close(nothing);
}

/* What the parent's memory held stays allocated: nobody may touch it, the devices least of all. */
static void in_child(void)
{
    if (smcr_rt_is_on()) {
        smcr_stat_socket_forget();
        close_all();
        replace_descriptors();
    }
    int cancel_state = smcr_rt.cancel_state;
    memset(&smcr_rt, 0, sizeof smcr_rt);
    host_lock_init(&smcr_rt.lock);
    smcr_rt.epfd = smcr_rt.timer_fd = smcr_rt.netlink_fd = -1;
    pthread_setcancelstate(cancel_state, NULL);
}

void smcr_rt_guard_forks(void)
{
    static bool is_done;
    if (!is_done)
        is_done = pthread_atfork(before_fork, in_parent, in_child) == 0;
}
