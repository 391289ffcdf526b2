/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/carried.h"

#include <stdlib.h>
#include <string.h>

#include "roce/packet.h"
#include "roce/psn.h"

#define BITS_LEAST 64u
#define BITS_MOST  65536u /* a PSN so far behind the newest was counted before */

static uint64_t *word_of(struct explain_carried *c, uint32_t psn)
{
    return (c->map ? c->map : &c->few) + (psn & (c->bits - 1)) / 64;
}

static bool has(struct explain_carried *c, uint32_t psn)
{
    return *word_of(c, psn) >> (psn & 63) & 1;
}

/* Makes room for `psns` up to the end, as far as that goes. Without memory it stays as it is. */
static void grow(struct explain_carried *c, uint32_t psns)
{
    struct explain_carried larger = *c;
    while (larger.bits < psns && larger.bits < BITS_MOST)
        larger.bits *= 2;
    if (larger.bits == c->bits)
        return;
    larger.map = calloc(larger.bits / 64, sizeof *larger.map);
    if (!larger.map)
        return;
    for (uint32_t psn = c->low_psn; psn != c->end_psn; psn = roce_psn_add(psn, 1))
        *word_of(&larger, psn) |= (uint64_t)has(c, psn) << (psn & 63);
    free(c->map);
    *c = larger;
}

static void advance(struct explain_carried *c, uint32_t by)
{
    uint32_t end_psn = roce_psn_add(c->end_psn, by);
    uint32_t psns = ((c->end_psn - c->low_psn) & ROCE_PSN_MASK) + by;
    grow(c, psns);
    if (by >= c->bits)
        memset(c->map ? c->map : &c->few, 0, c->bits / 8);
    else
        for (uint32_t psn = c->end_psn; psn != end_psn; psn = roce_psn_add(psn, 1))
            *word_of(c, psn) &= ~(UINT64_C(1) << (psn & 63));
    if (psns > c->bits)
        c->low_psn = (end_psn - c->bits) & ROCE_PSN_MASK;
    c->end_psn = end_psn;
}

/* Returns whether the PSN comes for the first time, as far as the map reaches, and notes it. */
static bool is_first(struct explain_carried *c, uint32_t psn)
{
    if (!c->bits)
        *c = (struct explain_carried){
            .bits = BITS_LEAST, .low_psn = psn, .end_psn = psn, .bytes = c->bytes, .requests = c->requests};
    int32_t ahead = roce_psn_diff(psn, c->end_psn);
    if (ahead >= 0)
        advance(c, (uint32_t)ahead + 1);
    else if (roce_psn_diff(psn, c->low_psn) < 0) {
        grow(c, (uint32_t)-ahead);
        if ((uint32_t)-ahead > c->bits)
            return false;
        c->low_psn = psn;
    }
    bool is_new = !has(c, psn);
    *word_of(c, psn) |= UINT64_C(1) << (psn & 63);
    return is_new;
}

uint32_t explain_carried_take(struct explain_carried *c, const struct roce_pkt *pkt)
{
    c->requests += !(pkt->op->flags & ROCE_PKT_RESPONSE);
    if (!pkt->payload_bytes || !is_first(c, pkt->bth.psn))
        return 0;
    c->bytes += pkt->payload_bytes;
    return pkt->payload_bytes;
}

size_t explain_carried_bytes(const struct explain_carried *c)
{
    return c->map ? c->bits / 8 : 0;
}

void explain_carried_free(struct explain_carried *c)
{
    free(c->map);
}
