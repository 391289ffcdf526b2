/* SPDX-License-Identifier: BSD-2-Clause */
/* Places in the rings of requests. Inside the engine only. */
#ifndef NORNIC_IWARP_RING_H
#define NORNIC_IWARP_RING_H

#include "iwarp/qp.h"

static inline uint32_t iwarp_ring_count(const struct iwarp_ring_place *at)
{
    return at->tail - at->head;
}

/* The oldest; there is one. */
static inline struct iwarp_owed *iwarp_owed_oldest(struct iwarp_sink *sink)
{
    return &sink->owed[sink->owed_at.head & (sink->owed_at.size - 1)];
}

static inline struct iwarp_asked *iwarp_asked_oldest(struct iwarp_source *source)
{
    return &source->asked[source->asked_at.head & (source->asked_at.size - 1)];
}

/* A new one; there is room. */
static inline struct iwarp_owed *iwarp_owed_add(struct iwarp_sink *sink)
{
    return &sink->owed[sink->owed_at.tail++ & (sink->owed_at.size - 1)];
}

static inline struct iwarp_asked *iwarp_asked_add(struct iwarp_source *source)
{
    return &source->asked[source->asked_at.tail++ & (source->asked_at.size - 1)];
}

#endif
