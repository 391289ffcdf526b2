/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/pair/count.h"

#include "net/ipv4.h"

void explain_pair_span(struct explain_pair *pair)
{
    const struct explain_span *a = &pair->span[0], *b = &pair->span[1];
    bool is_b_first = !a->first_number || (b->first_number && b->first_number < a->first_number);
    const struct explain_span *first = is_b_first ? b : a, *last = b->last_number > a->last_number ? b : a;
    pair->shown.first_number = first->first_number;
    pair->shown.first_ns = first->first_ns;
    pair->shown.last_number = last->last_number;
    pair->shown.last_ns = last->last_ns;
}

void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet)
{
    struct explain_flow *flow = &pair->shown;
    struct explain_span *span = &pair->span[direction];
    if (!span->first_number) {
        span->first_number = packet->number;
        span->first_ns = packet->time_ns;
    }
    span->last_number = packet->number;
    span->last_ns = packet->time_ns;
    explain_pair_span(pair);
    flow->packets[direction]++;
    flow->bytes[direction] += packet->wire_bytes;
    if ((packet->roce.tclass & 3) == NET_ECN_CE)
        flow->marks[direction]++;
}

/* Shows what both ways carried: a pair may have got the half of another. */
static void show_carried(struct explain_pair *pair)
{
    for (unsigned d = 0; d < 2; d++) {
        pair->shown.carried_bytes[d] = pair->half[d].carried.bytes;
        pair->shown.requests[d] = pair->half[d].carried.requests;
    }
}

void explain_pair_carry(struct explain_pair *pair, unsigned asker, const struct explain_packet *packet,
                        struct explain_meaning *m)
{
    if (!(packet->roce.op->flags & ROCE_PKT_DEFINED) || m->is_copy)
        return;
    m->new_bytes = explain_carried_take(&pair->half[asker].carried, &packet->roce);
    show_carried(pair);
}

void explain_pair_carry_datagram(struct explain_pair *pair, unsigned sender,
                                 const struct explain_packet *packet, struct explain_meaning *m)
{
    m->new_bytes = packet->roce.payload_bytes;
    pair->half[sender].carried.bytes += m->new_bytes;
    show_carried(pair);
}
