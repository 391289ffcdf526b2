/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet does not say from which queue pair of a host it came, so that the first guess, which requests the
 * other end's answers go along with, may be wrong; so may it be to make no guess, and to follow the requests
 * of both ends as two pairs. Answers show it, and the directions change places. */
#include "explain/flow/pair/exchange.h"

#include "explain/flow/pair/count.h"
#include "explain/flow/pair/table.h"

static void exchange_counts(struct explain_flow *a, unsigned a_way, struct explain_flow *b, unsigned b_way)
{
    swap_values(a->packets[a_way], b->packets[b_way]);
    swap_values(a->bytes[a_way], b->bytes[b_way]);
    swap_values(a->messages[a_way], b->messages[b_way]);
    swap_values(a->retransmissions[a_way], b->retransmissions[b_way]);
    swap_values(a->naks[a_way], b->naks[b_way]);
    swap_values(a->rnr_naks[a_way], b->rnr_naks[b_way]);
    swap_values(a->cnps[a_way], b->cnps[b_way]);
    swap_values(a->marks[a_way], b->marks[b_way]);
    swap_values(a->pauses[a_way], b->pauses[b_way]);
    swap_values(a->paused_ns[a_way], b->paused_ns[b_way]);
    swap_values(a->selective_acks[a_way], b->selective_acks[b_way]);
    swap_values(a->probes[a_way], b->probes[b_way]);
}

/* Answers that were counted may be another requester's: what they counted is to be shown anew. */
static void forget_counts(struct explain_pair *p)
{
    for (unsigned d = 0; d < 2; d++)
        p->half[d].strict.is_begun = false;
}

/* All that `a` had is `b`'s now. */
static void end_if_empty(struct explain_flows *f, struct explain_pair *a, struct explain_pair *b,
                         bool is_turned)
{
    bool is_empty =
        !a->half[0].asks.has_any && !a->half[1].asks.has_any && !a->shown.packets[0] && !a->shown.packets[1];
    if (!is_empty || b->same.as)
        return;
    a->same.as = b->index;
    a->same.is_turned = is_turned;
    f->same_count++;
}

void explain_pair_exchange(struct explain_flows *f, struct explain_pair *a, unsigned a_end,
                           struct explain_pair *b, unsigned b_end)
{
    unsigned a_way = !a_end, b_way = !b_end;
    explain_pair_stand_alone(f, a);
    explain_pair_stand_alone(f, b);
    if (a->shown.qpn[a_end])
        explain_pair_take_out(f, a, a_way);
    if (b->shown.qpn[b_end])
        explain_pair_take_out(f, b, b_way);
    swap_values(a->shown.qpn[a_end], b->shown.qpn[b_end]);
    swap_values(a->half[a_way], b->half[b_way]);
    swap_values(a->ids[a_way], b->ids[b_way]);
    swap_values(a->src_port[a_way], b->src_port[b_way]);
    swap_values(a->first_port[a_way], b->first_port[b_way]);
    swap_values(a->other_port[a_way], b->other_port[b_way]);
    swap_values(a->newest_ns[a_way], b->newest_ns[b_way]);
    swap_values(a->span[a_way], b->span[b_way]);
    explain_pair_span(a);
    explain_pair_span(b);
    exchange_counts(&a->shown, a_way, &b->shown, b_way);
    forget_counts(a);
    forget_counts(b);
    a->smc = b->smc = (struct explain_smc_place){0};
    if (a->shown.qpn[a_end])
        explain_pair_insert(f, a, a_way);
    if (b->shown.qpn[b_end])
        explain_pair_insert(f, b, b_way);
    f->exchanged = (struct explain_exchange){.flow = {a->index, b->index}, .way = {a_way, b_way}};
    end_if_empty(f, a, b, a_way != b_way);
    end_if_empty(f, b, a, a_way != b_way);
}
