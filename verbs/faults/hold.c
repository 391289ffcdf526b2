/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions that come late: taken from their queue when a program polls, and given to it when their time
 * has come. Who arms a queue waits until the time of all that were in it has come, so that its next poll
 * finds them: no event will come for them. */
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "verbs/faults/faults.h"

struct held {
    uint64_t due_ns;
    struct nornic_wc wc;
};

struct verbs_hold {
    pthread_mutex_t lock;
    uint64_t delay_ns;
    struct held *list; /* in the order of their times */
    size_t count, room;
};

static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

struct verbs_hold *verbs_hold_new(uint64_t delay_ns)
{
    struct verbs_hold *hold = calloc(1, sizeof *hold);
    if (!hold)
        return NULL;
    hold->delay_ns = delay_ns;
    pthread_mutex_init(&hold->lock, NULL);
    return hold;
}

void verbs_hold_free(struct verbs_hold *hold)
{
    if (!hold)
        return;
    pthread_mutex_destroy(&hold->lock);
    free(hold->list);
    free(hold);
}

/* Under the lock. */
static bool make_room(struct verbs_hold *hold, unsigned n)
{
    struct held *list = array_room(hold->list, &hold->room, hold->count + n, sizeof *list);
    if (list)
        hold->list = list;
    return list;
}

bool verbs_hold_put(struct verbs_hold *hold, const struct nornic_wc *wcs, unsigned n)
{
    uint64_t due_ns = now_ns() + hold->delay_ns;
    pthread_mutex_lock(&hold->lock);
    bool has_room = make_room(hold, n);
    for (unsigned i = 0; has_room && i < n; i++)
        hold->list[hold->count++] = (struct held){.due_ns = due_ns, .wc = wcs[i]};
    pthread_mutex_unlock(&hold->lock);
    return has_room;
}

unsigned verbs_hold_take(struct verbs_hold *hold, struct nornic_wc *wcs, unsigned n)
{
    unsigned taken = 0;
    uint64_t now = now_ns();
    pthread_mutex_lock(&hold->lock);
    for (; taken < n && taken < hold->count && hold->list[taken].due_ns <= now; taken++)
        wcs[taken] = hold->list[taken].wc;
    hold->count -= taken;
    if (taken)
        memmove(hold->list, hold->list + taken, hold->count * sizeof *hold->list);
    pthread_mutex_unlock(&hold->lock);
    return taken;
}

bool verbs_hold_is_empty(struct verbs_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    bool is_empty = hold->count == 0;
    pthread_mutex_unlock(&hold->lock);
    return is_empty;
}

void verbs_hold_wait(struct verbs_hold *hold)
{
    pthread_mutex_lock(&hold->lock);
    uint64_t due_ns = hold->count ? hold->list[hold->count - 1].due_ns : 0;
    pthread_mutex_unlock(&hold->lock);
    const struct timespec until = {.tv_sec = (time_t)(due_ns / NS_PER_S),
                                   .tv_nsec = (long)(due_ns % NS_PER_S)};
    clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL); /* a signal: it comes early */
}

void verbs_hold_drop(struct verbs_hold *hold, uint32_t qp_num)
{
    size_t kept = 0;
    pthread_mutex_lock(&hold->lock);
    for (size_t i = 0; i < hold->count; i++)
        if (hold->list[i].wc.qp_num != qp_num)
            hold->list[kept++] = hold->list[i];
    hold->count = kept;
    pthread_mutex_unlock(&hold->lock);
}
