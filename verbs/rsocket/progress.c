/* SPDX-License-Identifier: BSD-2-Clause */
/* Each thread that comes by does all that can be done, and sleeps if there is nothing. */
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>

#include "verbs/rsocket/datagram.h"
#include "verbs/rsocket/rsocket.h"

/* Lets the descriptor wake threads that sleep, after the calling thread has taken their event. */
static void arm_for_others(struct rsock *s)
{
    if (rs_has_others(s))
        (void)rs_arm(s);
}

void rs_progress(struct rsock *s)
{
    struct ibv_cq *cq;
    void *context;
    int before = errno;
    if (s->type == SOCK_DGRAM) {
        if (ds_poll(s))
            rs_wake(s);
        arm_for_others(s);
        errno = before;
        return;
    }
    if (rs_poll_stream(s)) {
        rs_wake(s);
        if (rs_is_connected(s))
            return; /* the next look finds nothing more, and empties the descriptors */
    }
    rs_take_events(s);
    while (s->comp && ibv_get_cq_event(s->comp, &cq, &context) == 0) {
        ibv_ack_cq_events(cq, 1);
        s->is_armed = false;
    }
    if (rs_poll_stream(s))
        rs_wake(s);
    arm_for_others(s);
    errno = before;
}

bool rs_arm(struct rsock *s)
{
    return s->type == SOCK_DGRAM ? ds_arm(s) : rs_arm_stream(s);
}

/* --- conditions --- */

bool rs_can_read(const struct rsock *s)
{
    if (s->state == RS_LISTENING)
        return !STAILQ_EMPTY(&s->pending);
    return s->unread_bytes || s->is_recv_shut || rs_is_over(s);
}

bool rs_can_write(const struct rsock *s)
{
    return rs_data_room(s) || s->is_send_shut || rs_is_over(s);
}

short rs_events(const struct rsock *s, short asked)
{
    int found = 0;
    if (s->type == SOCK_DGRAM)
        return ds_events(s, asked);
    if (rs_can_read(s))
        found |= asked & (POLLIN | POLLRDNORM);
    if (rs_can_write(s))
        found |= asked & (POLLOUT | POLLWRNORM);
    if (s->state == RS_FAILED || s->state == RS_REFUSED)
        found |= POLLERR;
    if (s->state == RS_ENDED && !s->unread_bytes)
        found |= POLLHUP; /* programs take it for the end also if there is more to read */
    return (short)found;
}

/* --- sleeping --- */

uint64_t rs_now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Under the lock, which is given back meanwhile. -1 waits without end. 0 or an errno value. */
static int sleep_for(struct rsock *s, int wake_fd, int timeout_ms)
{
    struct pollfd fds[] = {{.fd = s->fd, .events = POLLIN}, {.fd = wake_fd, .events = POLLIN}};
    struct rs_watch watch = {.wake_fd = wake_fd};
    eventfd_t count;
    LIST_INSERT_HEAD(&s->watches, &watch, entry);
    rs_unlock(s);
    int err = poll(fds, array_len(fds), timeout_ms) < 0 ? errno : 0;
    rs_lock(s);
    LIST_REMOVE(&watch, entry);
    if (fds[1].revents & POLLIN)
        eventfd_read(wake_fd, &count);
    return err;
}

int rs_wait(struct rsock *s, enum rs_patience patience, int flags, bool (*is_so)(const struct rsock *s))
{
    bool may_wait = patience == RS_ALWAYS || !(s->is_nonblocking || (flags & MSG_DONTWAIT));
    uint64_t limit_ms = patience == RS_ALWAYS    ? 0
                        : patience == RS_TO_READ ? s->recv_timeout_ms
                                                 : s->send_timeout_ms;
    const uint64_t end_ms = limit_ms ? rs_now_ms() + limit_ms : 0;
    for (;;) {
        if (is_so(s))
            return 0;
        rs_progress(s);
        if (is_so(s))
            return 0;
        if (!may_wait)
            return EAGAIN;
        const bool may_sleep = rs_arm(s);
        int64_t left_ms = limit_ms ? (int64_t)(end_ms - rs_now_ms()) : -1;
        if (limit_ms && left_ms <= 0)
            return EAGAIN;
        int wake_fd = rs_wake_fd();
        int err = wake_fd < 0 ? errno
                              : sleep_for(s, wake_fd,
                                          !may_sleep          ? 0
                                          : left_ms > INT_MAX ? INT_MAX
                                                              : (int)left_ms);
        if (err)
            return err;
    }
}

int rs_need_connection(struct rsock *s, int flags)
{
    if (s->state == RS_NEW || s->state == RS_LISTENING)
        return ENOTCONN;
    return rs_wait(s, RS_TO_WRITE, flags, rs_is_connected);
}
