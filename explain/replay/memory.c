/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint's memory. What a READ or an atomic found there is learned from the recorded answer; bytes
 * that came over the wire before ought to be there already, unless the endpoint's program changed them
 * itself. */
#include "explain/replay/memory.h"

#include <string.h>

#include "explain/replay/learn/memory.h"
#include "explain/replay/learn/messages.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "roce/psn.h"

#define ANSWERS_SEEN 4096 /* how far ahead the answer to a request is looked for */

uint32_t explain_replay_own_key(const struct replay *r, const struct replay_half *h, uint32_t rkey)
{
    for (uint32_t i = 0; i < r->endpoint->region_count && i < h->mr_count; i++)
        if (r->endpoint->regions[i].rkey == rkey)
            return h->mrs[i]->rkey;
    return 0;
}

static bool is_inside(const struct explain_region *region, uint64_t va, uint64_t len)
{
    return region && va >= region->from && len <= region->to - region->from &&
           va - region->from <= region->to - region->from - len;
}

/* Makes memory what it was. Returns whether bytes that were known had another value. */
static bool put(const struct explain_region *region, uint64_t va, const uint8_t *data, uint32_t len)
{
    bool changed = false;
    if (!is_inside(region, va, len))
        return false;
    uint64_t at = va - region->from;
    for (uint32_t i = 0; i < len; i++)
        changed |= region->known[at + i] && region->bytes[at + i] != data[i];
    memcpy(region->bytes + at, data, len);
    memset(region->known + at, 1, len);
    return changed;
}

static void prepare_atomic(struct replay *r, const struct explain_packet *request,
                           const struct explain_packet *answer)
{
    uint64_t original = answer->roce.atomicacketh.original; /* in memory in host order: ROCE-HDR-11 */
    const struct explain_region *region = explain_region_find(r->endpoint, request->roce.atomiceth.rkey);
    uint8_t bytes[8];
    memcpy(bytes, &original, sizeof bytes);
    r->result->changed_memory += put(region, request->roce.atomiceth.va, bytes, sizeof bytes);
}

void explain_replay_memory_prepare(struct replay *r, struct replay_qp *q, size_t i,
                                   const struct explain_packet *p)
{
    const struct explain_learned *l = q->learned;
    const struct roce_reth *reth = &p->roce.reth;
    bool read = p->roce.op->flags & ROCE_PKT_READ, changed = false;
    uint32_t span = read ? explain_read_psns(reth->dma_len, l->pmtu_bytes) : 1, found = 0;
    const struct explain_region *region = explain_region_find(r->endpoint, reth->rkey);
    for (size_t j = q->answer_at; j < l->answer_count && j < q->answer_at + ANSWERS_SEEN && found < span;
         j++) {
        struct explain_packet answer;
        if (l->answers[j] < i)
            continue;
        explain_tape_packet(r->tape, l->answers[j], &answer);
        uint32_t k = (answer.roce.bth.psn - p->roce.bth.psn) & ROCE_PSN_MASK;
        if (k >= span)
            continue;
        if (read && answer.roce.op->flags & ROCE_PKT_READ_RESP) {
            changed |= put(region, reth->va + (uint64_t)k * l->pmtu_bytes, answer.roce.payload,
                           answer.roce.payload_bytes);
            found++;
        } else if (!read && answer.roce.op->flags & ROCE_PKT_ATOMICACKETH) {
            prepare_atomic(r, p, &answer);
            found++;
        }
    }
    r->result->changed_memory += changed;
}

void explain_replay_memory_written(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    if (p->roce.op->flags & ROCE_PKT_RETH) {
        q->write_rkey = p->roce.reth.rkey;
        q->write_va = p->roce.reth.va;
    }
    const struct explain_region *region = explain_region_find(r->endpoint, q->write_rkey);
    if (is_inside(region, q->write_va, p->roce.payload_bytes))
        memset(region->known + (q->write_va - region->from), 1, p->roce.payload_bytes);
    q->write_va += p->roce.payload_bytes;
}
