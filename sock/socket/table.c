/* SPDX-License-Identifier: BSD-2-Clause */
/* The table of sockets: by descriptor, and by the inode that all duplicates of a descriptor share. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/high_fd.h"
#include "sock/socket/state.h"

static struct smcr_sock **bucket_of(ino_t ino)
{
    return &smcr_rt.by_ino[ino % SMCR_RT_INO_BUCKETS];
}

struct smcr_sock *smcr_sock_new(int tcp_fd)
{
    struct smcr_sock *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->tcp_fd = high_fd(tcp_fd);
    s->refs = 1;
    s->mirror.inner = -1;
    s->reason = "not connected";
    s->crowded_ns = NET_TIME_NONE;
    s->options = (struct smcr_sock_options){
        .rcvtimeo_ns = NET_TIME_NONE, .sndtimeo_ns = NET_TIME_NONE, .rcvlowat = 1, .linger_s = -1};
    s->ready_end = &s->ready;
    s->tcp_source = (struct smcr_rt_source){.kind = SMCR_RT_TCP, .of = s};
    s->inner_source = (struct smcr_rt_source){.kind = SMCR_RT_INNER, .of = s};
    s->all_next = smcr_rt.all;
    s->all_prev = &smcr_rt.all;
    if (s->all_next)
        s->all_next->all_prev = &s->all_next;
    smcr_rt.all = s;
    return s;
}

/* A descriptor that is another one's by now. */
static void forget_fd(int fd)
{
    struct smcr_sock *s = (unsigned)fd < smcr_rt.by_fd_size ? smcr_rt.by_fd[fd] : NULL;
    if (!s)
        return;
    smcr_rt.by_fd[fd] = NULL;
    s->num_fds--;
    /* Its inner end cannot tell any more when it is dropped. */
    if (s->num_fds == 0 && !smcr_sock_is_closing(s) && (s->mirror.inner < 0 || s->mirror.hup)) {
        s->orphan_next = smcr_rt.orphans;
        smcr_rt.orphans = s;
    }
}

static int remember_fd(struct smcr_sock *s, int fd)
{
    if ((unsigned)fd >= smcr_rt.by_fd_size) {
        unsigned size = smcr_rt.by_fd_size ? smcr_rt.by_fd_size : 256;
        while (size <= (unsigned)fd)
            size *= 2;
        struct smcr_sock **larger = realloc(smcr_rt.by_fd, size * sizeof *larger);
        if (!larger)
            return -ENOMEM;
        memset(larger + smcr_rt.by_fd_size, 0, (size - smcr_rt.by_fd_size) * sizeof *larger);
        smcr_rt.by_fd = larger;
        smcr_rt.by_fd_size = size;
    }
    /* One that is still there was closed behind our back. */
    forget_fd(fd);
    smcr_rt.by_fd[fd] = s;
    s->num_fds++;
    return 0;
}

static void forget_ino(struct smcr_sock *s)
{
    struct smcr_sock **at = bucket_of(s->mirror.ino);
    while (*at && *at != s)
        at = &(*at)->ino_next;
    if (*at)
        *at = s->ino_next;
}

int smcr_sock_add_fd(struct smcr_sock *s, int flags)
{
    int fd = smcr_mirror_open(&s->mirror, flags);
    if (fd < 0)
        return fd;
    s->mirror.inner = high_fd(s->mirror.inner);
    int err = remember_fd(s, fd);
    if (!err &&
        (err = smcr_rt_watch(s->mirror.inner, EPOLLIN | EPOLLRDHUP | EPOLLET, &s->inner_source)) != 0) {
        smcr_rt.by_fd[fd] = NULL;
        s->num_fds--;
    }
    if (err) {
        smcr_mirror_close(&s->mirror);
        close(fd);
        return err;
    }
    struct smcr_sock **bucket = bucket_of(s->mirror.ino);
    s->ino_next = *bucket;
    *bucket = s;
    return fd;
}

int smcr_sock_renew_fd(struct smcr_sock *s, int fd, int flags)
{
    int old_flags = fcntl(fd, F_GETFD);
    forget_ino(s);
    int fresh = smcr_sock_add_fd(s, flags);
    if (fresh < 0)
        return fresh;
    smcr_rt.by_fd[fresh] = NULL;
    s->num_fds--;
    int err = dup3(fresh, fd, old_flags & FD_CLOEXEC ? O_CLOEXEC : 0) < 0 ? -errno : 0;
    close(fresh);
    return err;
}

void smcr_sock_ref(struct smcr_sock *s)
{
    s->refs++;
}

void smcr_sock_unref(struct smcr_sock *s)
{
    smcr_rt_assert_locked();
    if (--s->refs > 0)
        return;
    smcr_sock_close_tcp(s);
    smcr_sock_close_mirror(s);
    forget_ino(s);
    for (unsigned fd = 0; fd < smcr_rt.by_fd_size && s->num_fds > 0; fd++)
        if (smcr_rt.by_fd[fd] == s) {
            smcr_rt.by_fd[fd] = NULL;
            s->num_fds--;
        }
    assert(!s->is_in_news); /* who is told of it holds a reference */
    for (struct smcr_sock **at = &smcr_rt.offers; s->is_in_offers && *at; at = &(*at)->offer_next)
        if (*at == s) {
            *at = s->offer_next;
            break;
        }
    *s->all_prev = s->all_next;
    if (s->all_next)
        s->all_next->all_prev = s->all_prev;
    s->life = SMCR_SOCK_DEAD;
    s->dead_next = smcr_rt.dead;
    smcr_rt.dead = s;
}

void smcr_sock_close_tcp(struct smcr_sock *s)
{
    smcr_rt_unwatch(s->tcp_fd);
    if (s->tcp_fd >= 0)
        close(s->tcp_fd);
    s->tcp_fd = -1;
}

void smcr_sock_close_mirror(struct smcr_sock *s)
{
    smcr_rt_unwatch(s->mirror.inner);
    smcr_mirror_close(&s->mirror);
}

bool smcr_sock_owns_fd(const struct smcr_sock *s, int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISSOCK(st.st_mode) && st.st_ino == s->mirror.ino;
}

struct smcr_sock *smcr_sock_behind(int fd)
{
    struct stat st;
    if (fstat(fd, &st) != 0 || !S_ISSOCK(st.st_mode))
        return NULL;
    struct smcr_sock *s = *bucket_of(st.st_ino);
    while (s && (s->mirror.ino != st.st_ino || smcr_sock_is_closing(s)))
        s = s->ino_next;
    return s;
}

/* A descriptor that we have not seen: maybe a duplicate (dup(), F_DUPFD, SCM_RIGHTS to oneself). */
static struct smcr_sock *find_duplicate(int fd)
{
    struct smcr_sock *s = smcr_sock_behind(fd);
    return s && remember_fd(s, fd) == 0 ? s : NULL;
}

struct smcr_sock *smcr_sock_find(int fd)
{
    struct smcr_sock *s = (unsigned)fd < smcr_rt.by_fd_size ? smcr_rt.by_fd[fd] : NULL;
    /* It may be another one's by now: after the kernel's close(), or dup2() over it. */
    if (s && !smcr_sock_owns_fd(s, fd)) {
        forget_fd(fd);
        s = NULL;
    }
    return s ? s : find_duplicate(fd);
}

void smcr_sock_reap(void)
{
    struct smcr_sock *s;
    while ((s = smcr_rt.dead)) {
        smcr_rt.dead = s->dead_next;
        free(s->unsent);
        free(s);
    }
}
