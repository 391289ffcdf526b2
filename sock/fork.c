/* SPDX-License-Identifier: BSD-2-Clause */
/* A forked child has no part in the connections of its parent (SMCR-ARC-28): it lets go of all that belongs
 * to them, and its copies of their descriptors answer EBADF to everything but close(). */
#define _GNU_SOURCE /* O_PATH, dup3(), getdents64() */
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "sock/socket/state.h"

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
    smcr_rt_close_fds();
    for (struct smcr_sock *s = smcr_rt.all; s; s = s->all_next) {
        smcr_sock_close_tcp(s);
        smcr_sock_close_mirror(s);
    }
}

/* Unless it is another's: the kernel's calls may have given it away, and then it is the child's as well. */
static void replace(int fd, int nothing)
{
    int flags = smcr_sock_behind(fd) ? fcntl(fd, F_GETFD) : -1;
    if (flags >= 0)
        dup3(nothing, fd, flags & FD_CLOEXEC ? O_CLOEXEC : 0);
}

/* Those that the program made with the kernel's dup() and that no call of ours has seen: they would hold the
 * connection open for as long as the child lives. Without /proc they stay. */
static void replace_unseen(int nothing)
{
    struct {
        _Alignas(struct dirent64) char bytes[4096];
    } buf;
    int dir = open("/proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    ssize_t n;
    while (dir >= 0 && (n = getdents64(dir, buf.bytes, sizeof buf.bytes)) > 0) {
        const struct dirent64 *entry;
        for (ssize_t at = 0; at < n; at += entry->d_reclen) {
            entry = (const struct dirent64 *)(const void *)(buf.bytes + at);
            if (entry->d_name[0] != '.')
                replace((int)strtol(entry->d_name, NULL, 10), nothing);
        }
    }
    if (dir >= 0)
        close(dir);
}

static void replace_descriptors(void)
{
    int nothing = smcr_rt.all ? open("/", O_PATH | O_CLOEXEC) : -1;
    if (nothing < 0)
        return;
    for (unsigned fd = 0; fd < smcr_rt.by_fd_size; fd++)
        if (smcr_rt.by_fd[fd])
            replace((int)fd, nothing);
    replace_unseen(nothing);
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
    smcr_rt.epfd = smcr_rt.timer_fd = -1;
    pthread_setcancelstate(cancel_state, NULL);
}

void smcr_rt_guard_forks(void)
{
    static bool is_done;
    if (!is_done)
        is_done = pthread_atfork(before_fork, in_parent, in_child) == 0;
}
