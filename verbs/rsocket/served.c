/* SPDX-License-Identifier: BSD-2-Clause */
/* What the server's thread (verbs/rsocket/serve.c) waits for: rsockets that listen, and timers. */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "verbs/rsocket/rsocket.h"

static struct {
    int epoll;   /* -1: there is none */
    pid_t owner; /* the process whose thread waits: a child of a fork has the same epoll */
} served = {.epoll = -1};

int rs_served_open(void)
{
    served.owner = getpid();
    served.epoll = epoll_create1(EPOLL_CLOEXEC);
    return served.epoll;
}

int rs_served_add(int fd, uint64_t about)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = about};
    return epoll_ctl(served.epoll, EPOLL_CTL_ADD, fd, &event) ? errno : 0;
}

/* What an epoll watches leaves it when the last descriptor of it is closed, and a child of a fork has all of
 * them: a timer that nobody reads would wake the thread for as long as the child is there. What the child
 * closes in turn stays the parent's. */
void rs_served_drop(struct rsock *s)
{
    static const struct itimerspec never = {0};
    if (served.epoll >= 0 && served.owner == getpid()) {
        (void)epoll_ctl(served.epoll, EPOLL_CTL_DEL, s->fd, NULL); /* ENOENT: it does not listen */
        if (s->timer_fd >= 0) {
            (void)epoll_ctl(served.epoll, EPOLL_CTL_DEL, s->timer_fd, NULL);
            (void)timerfd_settime(s->timer_fd, 0, &never, NULL);
        }
    }
    if (s->timer_fd >= 0)
        close(s->timer_fd);
    s->timer_fd = -1;
}
