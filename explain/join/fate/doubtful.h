/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets in doubt that wait, stream by stream, for what the receiver's capture says of them: lists within
 * one array, of bounded length. Internal to explain/join/. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_DOUBTFUL_H
#define NORNIC_EXPLAIN_JOIN_FATE_DOUBTFUL_H

#include "explain/join/types.h"

#define JOIN_WAITING_MAX 256 /* of a stream; the oldest beyond stay in doubt */

/* A packet in doubt, and the next of its stream. */
struct join_doubtful {
    uint32_t packet, next; /* next: JOIN_NONE at the end */
    uint32_t bytes;   /* of TCP: so many of its bytes were there since it left, each as often as it was */
    uint64_t time_ns; /* when it left, by clock 0 */
};

/* Those of a stream, in the order in which they left; all 0: none. */
struct join_waiting {
    uint32_t first, last, count; /* places in the array; of no meaning while the count is 0 */
};

/* Puts place `at` of the array behind the others of its stream. */
static inline void join_waiting_put(struct join_waiting *w, struct join_doubtful *all, uint32_t at)
{
    if (w->count == JOIN_WAITING_MAX) {
        w->first = all[w->first].next;
        w->count--;
    }
    if (w->count++ == 0)
        w->first = at;
    else
        all[w->last].next = at;
    w->last = at;
}

/* Takes place `at` out, which stands behind place `before`; JOIN_NONE: it is the first. Its own `next` stays
 * as it is. */
static inline void join_waiting_take(struct join_waiting *w, struct join_doubtful *all, uint32_t before,
                                     uint32_t at)
{
    if (before == JOIN_NONE)
        w->first = all[at].next;
    else
        all[before].next = all[at].next;
    if (w->last == at)
        w->last = before;
    w->count--;
}

/* Takes out of a list all packets that `is_done` says need not wait any more. It may change the packet. */
void join_waiting_settle(struct join_waiting *w, struct join_doubtful *all,
                         bool (*is_done)(void *ctx, struct join_doubtful *d), void *ctx);

#endif
