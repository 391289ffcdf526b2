/* SPDX-License-Identifier: BSD-2-Clause */
/* A thread for rsockets that have something under way while the program does something else, as a kernel has
 * it for sockets. It answers requests, connects, lends memory again and keeps connections alive. It ends with
 * the last rsocket that it serves. */
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

/* Between two looks at connected rsockets. A peer's messages for which it needs no credit, such as those of
 * SO_KEEPALIVE, use up receives of a program that never looks. */
#define SWEEP_MS 3000

/* Rounds over one rsocket before others have their turn. */
#define ROUNDS 8

/* --- one rsocket --- */

/* Sends the message of SO_KEEPALIVE. A dead peer does not acknowledge it, so the queue pair fails. */
static void tick(struct rsock *s)
{
    uint64_t expired;
    if (s->timer_fd < 0 || read(s->timer_fd, &expired, sizeof expired) != sizeof expired)
        return;
    rs_progress(s); /* the completion of the last one */
    if (s->state == RS_CONNECTED && s->ctrl_free && rs_post_ctrl(s, RS_CTRL_KEEPALIVE))
        verbs_tell("the rsocket of descriptor %d cannot be kept alive", s->fd);
}

static void go_on(struct rsock *s)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        rs_progress(s);
        if (s->service != RS_WATCHED || rs_arm(s))
            return;
    }
}

static void serve_fd(int fd, bool is_timer)
{
    struct rsock *s = rs_get(fd);
    if (!s)
        return;
    rs_lock(s);
    if (is_timer)
        tick(s);
    else
        go_on(s);
    rs_done(s);
}

/* --- the thread --- */

static void sweep(void)
{
    for (int fd = 0, end = rs_table_end(); fd < end; fd++) {
        struct rsock *s = rs_get(fd);
        if (!s)
            continue;
        rs_lock(s);
        if (s->service == RS_SWEPT) {
            go_on(s);
            rs_probe(s);
        }
        rs_done(s);
    }
}

static void *serve(void *arg)
{
    const int epoll = (int)(intptr_t)arg;
    uint64_t swept_ms = rs_now_ms();
    for (;;) {
        struct epoll_event event;
        const bool has_swept = rs_served_has_swept();
        const int64_t left_ms = (int64_t)(swept_ms + SWEEP_MS - rs_now_ms());
        const int count = epoll_wait(epoll, &event, 1, has_swept ? (int)max_i64(left_ms, 0) : -1);
        if (has_swept && rs_now_ms() >= swept_ms + SWEEP_MS) {
            sweep();
            swept_ms = rs_now_ms();
        }
        if (count != 1)
            continue;
        if (event.data.u64 != RS_SERVED_BELL)
            serve_fd((int)(uint32_t)event.data.u64, event.data.u64 & RS_SERVED_TIMER);
        else if (rs_served_is_over())
            return NULL;
    }
}

static int start(int epoll)
{
    pthread_t thread;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before); /* signals are for the program's threads */
    int err = pthread_create(&thread, NULL, serve, (void *)(intptr_t)epoll);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!err)
        pthread_detach(thread);
    return err;
}

void rs_prepare_server(void)
{
    rs_served_begin(start);
}

/* --- SO_KEEPALIVE --- */

static int open_timer(struct rsock *s)
{
    s->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
    int err = s->timer_fd < 0 ? errno : rs_served_add_timer(s);
    if (!err)
        return 0;
    rs_served_close_timer(s);
    return verbs_fail(err, "no timer for an rsocket");
}

int rs_keep_alive(struct rsock *s, unsigned seconds)
{
    const struct itimerspec every = {.it_interval.tv_sec = seconds, .it_value.tv_sec = seconds};
    if (s->timer_fd < 0 && !seconds)
        return 0;
    int err = s->timer_fd < 0 ? open_timer(s) : 0;
    if (err)
        return err;
    return timerfd_settime(s->timer_fd, 0, &every, NULL) ? errno : 0;
}
