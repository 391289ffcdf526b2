/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that the endpoint must have registered: for each key, the range that its peers reached. */
#include "explain/replay/learn/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "base/array.h"
#include "explain/replay/tape.h"
#include "roce/psn.h"

struct explain_region *explain_region_find(const struct explain_endpoint *e, uint32_t rkey)
{
    for (uint32_t i = 0; i < e->region_count; i++)
        if (e->regions[i].rkey == rkey)
            return &e->regions[i];
    return NULL;
}

static struct explain_region *region_of(struct explain_endpoint *e, uint32_t rkey)
{
    struct explain_region *r = explain_region_find(e, rkey);
    if (r)
        return r;
    struct explain_region *regions =
        array_room(e->regions, &e->region_cap, e->region_count + 1, sizeof *regions);
    if (!regions)
        return NULL;
    e->regions = regions;
    e->regions[e->region_count] = (struct explain_region){.rkey = rkey, .from = UINT64_MAX};
    return &e->regions[e->region_count++];
}

/* A request that was not refused shows what its key gives. */
static bool was_refused(const struct explain_learned *q, uint32_t psn)
{
    return q->is_silent || (q->refusal.is_there && roce_psn_diff(psn, q->refusal.psn) >= 0);
}

static int reach(struct explain_endpoint *e, uint32_t rkey, uint64_t va, uint64_t len, uint32_t access)
{
    if (len == 0 || va > UINT64_MAX - len)
        return 0;
    struct explain_region *r = region_of(e, rkey);
    if (!r)
        return -ENOMEM;
    r->from = va < r->from ? va : r->from;
    r->to = va + len > r->to ? va + len : r->to;
    r->access |= access;
    return 0;
}

static int take_request(struct explain_endpoint *e, const struct explain_learned *q,
                        const struct roce_pkt *pkt)
{
    uint32_t flags = pkt->op->flags;
    if (q->service == ROCE_SERVICE_RC && was_refused(q, pkt->bth.psn))
        return 0;
    if (flags & ROCE_PKT_RETH)
        return reach(e, pkt->reth.rkey, pkt->reth.va, pkt->reth.dma_len,
                     flags & ROCE_PKT_READ ? NORNIC_ACCESS_REMOTE_READ
                                           : NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_LOCAL_WRITE);
    if (flags & ROCE_PKT_ATOMIC)
        return reach(e, pkt->atomiceth.rkey, pkt->atomiceth.va, 8,
                     NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_LOCAL_WRITE);
    if (flags & ROCE_PKT_IETH) {
        struct explain_region *r = region_of(e, pkt->ieth.rkey);
        if (!r)
            return -ENOMEM;
        r->is_revocable = true;
    }
    return 0;
}

static int allocate(struct explain_region *r, struct nornic_error *why)
{
    if (r->from > r->to) { /* invalidated, and never reached */
        r->from = r->to = 0;
        r->access = NORNIC_ACCESS_REMOTE_READ;
    }
    uint64_t len = r->to - r->from, shift = r->from & 7;
    if (len > EXPLAIN_REGION_MAX_BYTES)
        return net_error_set(why, E2BIG,
                             "R_Key 0x%08" PRIx32 " is used from 0x%" PRIx64 " to 0x%" PRIx64
                             ": more memory than a replay makes for a key",
                             r->rkey, r->from, r->to);
    r->memory = calloc(1, len + 16);
    r->known = calloc(1, len + 1);
    r->bytes = r->memory + shift;
    return r->memory && r->known ? 0 : -ENOMEM;
}

int explain_learn_memory(const struct explain_tape *tape, const struct explain_scenario *scenario,
                         struct explain_endpoint *e, struct nornic_error *why)
{
    int err = 0;
    for (unsigned i = 0; scenario && i < scenario->key_count && !err; i++) {
        const struct explain_scenario_key *k = &scenario->keys[i];
        err = reach(e, k->rkey, k->va, k->bytes, k->access);
    }
    for (size_t i = 0; i < tape->count && !err; i++) {
        if (e->part[i] != EXPLAIN_PART_GOT_REQUEST)
            continue;
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        err = take_request(e, &e->qps[e->qp_of[i] - 1], &p.roce);
    }
    for (uint32_t i = 0; i < e->region_count && !err; i++)
        err = allocate(&e->regions[i], why);
    return err;
}
