/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread that answers the requests of all rsockets that listen, as a kernel does for sockets: who
 * connects is connected also while the program does something else. And it keeps alive those that want it. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

static struct {
    pthread_once_t once;
    int epoll; /* verbs/rsocket/served.c */
    int err;   /* why there is none */
} server = {.once = PTHREAD_ONCE_INIT};

/* What an event of the epoll is about: the rsocket of that descriptor, and its timer. */
#define IS_TIMER (UINT64_C(1) << 32)

/* An end that is gone does not acknowledge it, and so the queue pair fails; what the peer does with it is
 * nothing. */
static void tick(struct rsock *s)
{
    uint64_t expired;
    if (s->timer_fd < 0 || read(s->timer_fd, &expired, sizeof expired) != sizeof expired)
        return;
    rs_progress(s); /* the last one's completion, where the program does not look */
    if (s->state == RS_CONNECTED && s->ctrl_free && rs_post_ctrl(s, RS_CTRL_KEEPALIVE))
        verbs_tell("the rsocket of descriptor %d cannot be kept alive", s->fd);
}

static void *serve(void *arg)
{
    struct epoll_event event;
    (void)arg;
    for (;;) {
        if (epoll_wait(server.epoll, &event, 1, -1) != 1)
            continue;
        struct rsock *s = rs_get((int)(uint32_t)event.data.u64);
        if (!s)
            continue;
        pthread_mutex_lock(&s->lock);
        if (event.data.u64 & IS_TIMER)
            tick(s);
        else
            rs_progress(s);
        pthread_mutex_unlock(&s->lock);
        rs_put(s);
    }
    return NULL;
}

static void begin(void)
{
    pthread_t thread;
    sigset_t all, before;
    server.epoll = rs_served_open();
    if (server.epoll < 0) {
        server.err = errno;
        return;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
    server.err = pthread_create(&thread, NULL, serve, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!server.err)
        pthread_detach(thread);
}

/* 0 or an errno value. */
static int watch(int fd, uint64_t about)
{
    pthread_once(&server.once, begin);
    if (server.err)
        return verbs_fail(server.err, "no thread to answer requests for rsockets");
    return rs_served_add(fd, about);
}

int rs_serve(struct rsock *s)
{
    return watch(s->fd, (uint32_t)s->fd);
}

int rs_keep_alive(struct rsock *s, unsigned seconds)
{
    const struct itimerspec every = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
    if (s->timer_fd < 0 && !seconds)
        return 0;
    if (s->timer_fd < 0) {
        int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
        int err = fd < 0 ? errno : watch(fd, (uint32_t)s->fd | IS_TIMER);
        if (err) {
            if (fd >= 0)
                close(fd);
            return verbs_fail(err, "no timer for an rsocket");
        }
        s->timer_fd = fd;
    }
    return timerfd_settime(s->timer_fd, 0, &every, NULL) ? errno : 0;
}
