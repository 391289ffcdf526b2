/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/sources.h"

#include <errno.h>
#include <sys/epoll.h>
#include <unistd.h>

#define LOOK_NS 1000000u

int host_sources_init(struct host_sources *sources)
{
    sources->fd = epoll_create1(EPOLL_CLOEXEC);
    return sources->fd < 0 ? -errno : 0;
}

void host_sources_deinit(struct host_sources *sources)
{
    close(sources->fd);
}

int host_source_add(struct host_sources *sources, struct host_source *source)
{
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = source};
    return epoll_ctl(sources->fd, EPOLL_CTL_ADD, source->fd, &event) == 0 ? 0 : -errno;
}

void host_source_remove(struct host_sources *sources, struct host_source *source)
{
    epoll_ctl(sources->fd, EPOLL_CTL_DEL, source->fd, NULL);
}

bool host_sources_round(struct host_sources *sources, uint64_t now_ns)
{
    if (!atomic_load_explicit(&sources->is_readable, memory_order_relaxed) &&
        now_ns - sources->looked_ns < LOOK_NS)
        return false;
    atomic_store(&sources->is_readable, false);
    sources->looked_ns = now_ns;
    /* One at a time: a handler may take another source out and free it. What is still readable ends the next
     * sleep at once. */
    struct epoll_event event;
    if (epoll_wait(sources->fd, &event, 1, 0) != 1)
        return false;
    struct host_source *source = event.data.ptr;
    source->ready(source, now_ns);
    atomic_store(&sources->is_readable, true);
    return true;
}
