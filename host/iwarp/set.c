/* SPDX-License-Identifier: BSD-2-Clause */
/* The epoll set of an iWARP device: its sockets, and what else ends a sleep, so that one call is the sleep
 * and says what ended it.
 *
 * A sleeper has its events without the device's lock. Until it has that, others may have closed the sockets
 * and freed what they belonged to. So an event names a place in a table and how often that was given away;
 * one about an earlier owner is about nobody. */
#define _GNU_SOURCE /* epoll_pwait2() */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "host/iwarp/iwarp.h"

#define EVENTS_AT_ONCE 64
#define FIRST_PLACES   64u
#define NO_PLACE       UINT32_MAX

struct host_iw_place {
    struct host_iw_fd *socket; /* NULL: free */
    uint32_t times;            /* that it was given away */
    uint32_t next_free;
};

/* --- who is in it --- */

static int grow(struct host_iw_set *set)
{
    uint32_t count = set->place_count ? 2 * set->place_count : FIRST_PLACES;
    struct host_iw_place *places = realloc(set->places, count * sizeof *places);
    if (!places)
        return -ENOMEM;
    for (uint32_t i = set->place_count; i < count; i++)
        places[i] = (struct host_iw_place){.next_free = i + 1 < count ? i + 1 : NO_PLACE};
    set->first_free = set->place_count;
    set->places = places;
    set->place_count = count;
    return 0;
}

int host_iw_set_add(struct host_iw_set *set, struct host_iw_fd *socket, uint32_t events)
{
    int err = set->first_free == NO_PLACE ? grow(set) : 0;
    if (err)
        return err;
    struct host_iw_place *place = &set->places[set->first_free];
    struct epoll_event event = {.events = events,
                                .data.u64 = (uint64_t)(place->times + 1) << 32 | set->first_free};
    if (epoll_ctl(set->fd, EPOLL_CTL_ADD, socket->fd, &event) < 0)
        return -errno;
    socket->place = set->first_free;
    set->first_free = place->next_free;
    place->socket = socket;
    place->times++;
    return 0;
}

void host_iw_set_close(struct host_iw_set *set, struct host_iw_fd *socket)
{
    struct host_iw_place *place = &set->places[socket->place];
    epoll_ctl(set->fd, EPOLL_CTL_DEL, socket->fd, NULL);
    close(socket->fd);
    socket->fd = -1;
    place->socket = NULL;
    place->next_free = set->first_free;
    set->first_free = socket->place;
}

void host_iw_set_move(struct host_iw_set *set, struct host_iw_fd *from, struct host_iw_fd *to)
{
    to->fd = from->fd;
    to->place = from->place;
    set->places[to->place].socket = to;
    from->fd = -1;
}

int host_iw_set_init(struct host_iw_set *set)
{
    set->first_free = NO_PLACE;
    set->fd = epoll_create1(EPOLL_CLOEXEC);
    return set->fd < 0 ? -errno : 0;
}

void host_iw_set_deinit(struct host_iw_set *set)
{
    if (set->fd >= 0)
        close(set->fd);
    free(set->places);
}

/* --- what happens to them --- */

/* Whether there is something to do now. */
static bool tell(struct host_iw_set *set, const struct epoll_event *events, int count)
{
    bool has_work = false;
    for (int i = 0; i < count; i++) {
        const struct host_iw_place *place = &set->places[(uint32_t)events[i].data.u64];
        if (place->socket && place->times == events[i].data.u64 >> 32)
            has_work = place->socket->ready(place->socket, events[i].events) || has_work;
    }
    return has_work;
}

bool host_iw_set_look(struct host_iw_set *set)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    if (set->was_told) { /* by a sleeper, a moment ago */
        set->was_told = false;
        return false;
    }
    return tell(set, events, epoll_wait(set->fd, events, EVENTS_AT_ONCE, 0));
}

static int wait_events(const struct host_iw_set *set, struct epoll_event *events, uint64_t timeout_ns)
{
    const struct timespec ts = {.tv_sec = (time_t)(timeout_ns / NS_PER_S),
                                .tv_nsec = (long)(timeout_ns % NS_PER_S)};
    int count = epoll_pwait2(set->fd, events, EVENTS_AT_ONCE, timeout_ns == UINT64_MAX ? NULL : &ts, NULL);
    if (count >= 0 || (errno != ENOSYS && errno != EPERM))
        return count;
    /* Before Linux 5.11 there were milliseconds only; and filters of containers refuse a call that they do
     * not know, some by EPERM. */
    uint64_t ms = timeout_ns / NS_PER_MS + (timeout_ns % NS_PER_MS != 0);
    return epoll_wait(set->fd, events, EVENTS_AT_ONCE, ms > INT_MAX ? -1 : (int)ms);
}

void host_iw_set_sleep(struct host_iw_set *set, struct host_dev *dev, uint64_t timeout_ns)
{
    struct epoll_event events[EVENTS_AT_ONCE];
    int count = wait_events(set, events, timeout_ns);
    if (count <= 0)
        return;
    /* Not host_dev_unlock(): it would set the timer for what is now due, which this sleeper sees to. */
    host_lock_take(&dev->lock);
    bool has_work = tell(set, events, count);
    /* What is left of a full list the next look finds. */
    set->was_told = has_work && count < EVENTS_AT_ONCE;
    host_lock_give(&dev->lock);
    /* The sockets will not say it again, and this sleeper may have other things to do. */
    if (has_work && atomic_load(&dev->sleepers) > 1)
        host_dev_ring(dev);
}
