/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "sock/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

struct smcr_rt smcr_rt = {
    .lock = HOST_LOCK_INITIALIZER, .epfd = -1, .timer_fd = -1, .peer_fd = -1, .news_end = &smcr_rt.lent_news};

void smcr_rt_lock(void)
{
    int state;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    host_lock_take(&smcr_rt.lock);
    smcr_rt.cancel_state = state;
    atomic_store_explicit(&smcr_rt.caller_cpu, sched_getcpu(), memory_order_relaxed);
}

void smcr_rt_release(void)
{
    int state = smcr_rt.cancel_state;
    host_lock_give(&smcr_rt.lock);
    pthread_setcancelstate(state, NULL);
}

uint64_t smcr_rt_now_ns(void)
{
    smcr_rt_assert_locked();
    smcr_rt.now_ns = host_now_ns();
    return smcr_rt.now_ns;
}

int smcr_rt_watch(int fd, uint32_t events, struct smcr_rt_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(smcr_rt.epfd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void smcr_rt_unwatch(int fd)
{
    struct epoll_event unused = {0};
    if (fd >= 0)
        epoll_ctl(smcr_rt.epfd, EPOLL_CTL_DEL, fd, &unused);
}

void smcr_rt_close_fds(void)
{
    int *fds[] = {&smcr_rt.epfd, &smcr_rt.timer_fd, &smcr_rt.peer_fd};
    for (unsigned i = 0; i < sizeof fds / sizeof *fds; i++) {
        if (*fds[i] >= 0)
            close(*fds[i]);
        *fds[i] = -1;
    }
    if (smcr_rt.news)
        net_news_close(smcr_rt.news);
    smcr_rt.news = NULL;
}

void smcr_rt_count_reason(const char *text)
{
    for (unsigned i = 0; i < SMCR_RT_REASONS; i++) {
        struct smcr_rt_reason *r = &smcr_rt.reasons[i];
        if (!r->text)
            r->text = text;
        if (strcmp(r->text, text) == 0) {
            r->count++;
            return;
        }
    }
}
