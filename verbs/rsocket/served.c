/* SPDX-License-Identifier: BSD-2-Clause */
/* The rsockets that the server's thread (verbs/rsocket/serve.c) serves, and its descriptors. */
#include <errno.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

/* The lock is a leaf: no other lock is taken under it. */
static struct {
    pthread_mutex_t lock;
    int epoll, bell;         /* of the thread; -1: no thread runs */
    unsigned sockets, swept; /* rsockets that are served, and those of RS_SWEPT among them */
    int (*start)(int epoll);
    unsigned generation; /* processes between the first one and this one, by fork() */
} served = {.lock = PTHREAD_MUTEX_INITIALIZER, .epoll = -1, .bell = -1};

/* --- fork() --- */

static void lock(void)
{
    pthread_mutex_lock(&served.lock);
}

static void unlock(void)
{
    pthread_mutex_unlock(&served.lock);
}

static void close_fds(void)
{
    if (served.epoll >= 0)
        close(served.epoll);
    if (served.bell >= 0)
        close(served.bell);
    served.epoll = served.bell = -1;
}

/* Forgets the parent's thread, which a child does not have, and leaves the parent's epoll as it is. */
static void in_child(void)
{
    close_fds();
    served.sockets = served.swept = 0;
    served.generation++;
    unlock();
}

void rs_served_follow_forks(void)
{
    (void)pthread_atfork(lock, unlock, in_child); /* without memory: as if nobody forked */
}

unsigned rs_served_generation(void)
{
    lock();
    unsigned generation = served.generation;
    unlock();
    return generation;
}

/* --- the thread --- */

static int watch(int fd, uint64_t about)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = about};
    return epoll_ctl(served.epoll, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

void rs_served_begin(int (*start)(int epoll))
{
    lock();
    served.start = start;
    unlock();
}

static int need_thread(void)
{
    if (served.epoll >= 0)
        return 0;
    served.epoll = epoll_create1(EPOLL_CLOEXEC);
    served.bell = served.epoll < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int err = served.bell < 0 ? errno : watch(served.bell, RS_SERVED_BELL);
    if (!err)
        err = served.start(served.epoll);
    if (err)
        close_fds();
    return err;
}

bool rs_served_is_over(void)
{
    eventfd_t rings;
    lock();
    bool is_over = served.sockets == 0;
    if (is_over)
        close_fds();
    else
        (void)eventfd_read(served.bell, &rings);
    unlock();
    return is_over;
}

bool rs_served_has_swept(void)
{
    lock();
    bool has_swept = served.swept != 0;
    unlock();
    return has_swept;
}

/* --- rsockets --- */

static bool is_served(enum rs_service mode)
{
    return mode == RS_SWEPT || mode == RS_WATCHED;
}

/* Adds the descriptors of the rsocket that `mode` needs. 0 or an errno value. */
static int add_fds(const struct rsock *s, enum rs_service mode)
{
    int err = 0;
    if (s->service != RS_WATCHED && mode == RS_WATCHED)
        err = watch(s->fd, (uint32_t)s->fd);
    if (!err && !is_served(s->service) && is_served(mode) && s->timer_fd >= 0)
        err = watch(s->timer_fd, (uint32_t)s->fd | RS_SERVED_TIMER);
    return err;
}

static void remove_fds(const struct rsock *s, enum rs_service mode)
{
    if (s->service == RS_WATCHED && mode != RS_WATCHED)
        (void)epoll_ctl(served.epoll, EPOLL_CTL_DEL, s->fd, NULL);
    if (s->timer_fd >= 0 && mode != RS_WATCHED && mode != RS_SWEPT)
        (void)epoll_ctl(served.epoll, EPOLL_CTL_DEL, s->timer_fd, NULL);
}

static int change(struct rsock *s, enum rs_service mode)
{
    int err = is_served(mode) ? need_thread() : 0;
    if (!err)
        err = add_fds(s, mode);
    if (err)
        return err;
    if (is_served(s->service))
        remove_fds(s, mode);
    unsigned before = served.swept;
    served.sockets += is_served(mode) - is_served(s->service);
    served.swept += (mode == RS_SWEPT) - (s->service == RS_SWEPT);
    s->service = mode;
    if (served.bell >= 0 && (!served.sockets || (!before && served.swept)))
        (void)eventfd_write(served.bell, 1);
    return 0;
}

static int change_to(struct rsock *s, enum rs_service mode)
{
    if (s->service == mode || s->service == RS_UNSERVABLE)
        return 0;
    lock();
    /* A parent's rsocket stays the parent's: a child of fork() has the same descriptors. */
    int err = s->generation == served.generation ? change(s, mode) : 0;
    unlock();
    return err;
}

static enum rs_service service_of(const struct rsock *s)
{
    if (s->type != SOCK_STREAM)
        return RS_UNSERVED;
    if (s->state == RS_LISTENING || !rs_is_connected(s) || rs_owes_memory(s))
        return RS_WATCHED;
    return s->state == RS_CONNECTED ? RS_SWEPT : RS_UNSERVED;
}

int rs_serve(struct rsock *s)
{
    const enum rs_service before = s->service, mode = service_of(s);
    int err = change_to(s, mode);
    if (err)
        return verbs_fail(err, "no thread goes on with rsocket %d while the program does not", s->fd);
    if (before != s->service && s->service == RS_WATCHED)
        (void)rs_arm_stream(s); /* earlier completions make no event: they are taken here */
    return 0;
}

void rs_leave_server(struct rsock *s)
{
    (void)change_to(s, RS_UNSERVABLE);
}

int rs_served_add_timer(const struct rsock *s)
{
    lock();
    int err = s->generation == served.generation && is_served(s->service)
                  ? watch(s->timer_fd, (uint32_t)s->fd | RS_SERVED_TIMER)
                  : 0;
    unlock();
    return err;
}

void rs_served_close_timer(struct rsock *s)
{
    if (s->timer_fd >= 0)
        close(s->timer_fd);
    s->timer_fd = -1;
}
