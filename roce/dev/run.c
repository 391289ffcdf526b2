/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/dev/run.h"

#include <assert.h>

#include "base/base.h"
#include "net/bytes.h"
#include "rdma/access.h"
#include "roce/wire/icrc_copy.h"
#include "roce/wire/icrc_parts.h"
#include "roce/psn.h"
#include "roce/wire.h"

void roce_run_init(struct roce_run *run, struct net_frame *frame, uint32_t max_pkts, uint16_t *ip_id)
{
    *run = (struct roce_run){.frame = frame, .max_pkts = max_pkts, .ip_id = ip_id};
    frame->len_bytes = 0;
    frame->seg_bytes = 0;
}

/* Whether a packet may follow those that are there. RoCEv1 has no trains, which are of UDP. */
static bool continues(const struct roce_run *run, const struct roce_frame_template *tmpl,
                      const struct roce_dest *dest, uint32_t transport_bytes)
{
    return run->pkts < run->max_pkts && !run->is_closed && tmpl == run->tmpl &&
           tmpl->l3_kind != ROCE_L3_GRH && dest->qpn == run->dest.qpn && dest->dgid == run->dest.dgid &&
           dest->route == run->dest.route && transport_bytes <= run->transport_bytes &&
           run->frame->len_bytes + transport_bytes + ROCE_ICRC_BYTES <= run->frame->cap_bytes;
}

uint8_t *roce_run_begin(struct roce_run *run, const struct roce_frame_template *tmpl,
                        const struct roce_dest *dest, uint32_t transport_bytes)
{
    if (run->pkts) {
        run->next_bytes = transport_bytes;
        return continues(run, tmpl, dest, transport_bytes) ? run->frame->data + run->frame->len_bytes : NULL;
    }
    assert(tmpl->len_bytes + transport_bytes + ROCE_ICRC_BYTES <= run->frame->cap_bytes);
    run->tmpl = tmpl;
    run->dest = *dest;
    run->transport_bytes = run->next_bytes = transport_bytes;
    run->first_id = *run->ip_id;
    return roce_frame_begin(tmpl, run->frame->data, transport_bytes, run->first_id);
}

/* The packets of a run differ below their BTH by the identification only, but for a shorter one. */
static uint32_t icrc_below(struct roce_run *run)
{
    if (run->pkts == 0)
        return run->icrc_below = roce_frame_icrc_below(run->tmpl, run->next_bytes, run->first_id);
    if (run->next_bytes != run->transport_bytes)
        return roce_frame_icrc_below(run->tmpl, run->next_bytes, *run->ip_id);
    if (run->tmpl->l3_kind != ROCE_L3_IPV4)
        return run->icrc_below;
    return run->icrc_below ^ roce_icrc_change_of_id(run->first_id ^ *run->ip_id);
}

/* The newest packet, of `bytes` from its BTH on, is one of the run. */
static void take_in(struct roce_run *run, uint8_t *bth, uint32_t bytes, uint32_t icrc)
{
    struct net_frame *frame = run->frame;
    uint8_t *end = put_le32(bth + bytes, icrc);
    frame->len_bytes = (uint32_t)(end - frame->data);
    run->pkts++;
    (*run->ip_id)++;
}

uint32_t roce_run_room(const struct roce_run *run)
{
    if (run->pkts == 0 || run->is_closed || run->tmpl->l3_kind == ROCE_L3_GRH)
        return 0;
    uint32_t room_bytes = run->frame->cap_bytes - run->frame->len_bytes;
    return min_u32(run->max_pkts - run->pkts, room_bytes / (run->transport_bytes + ROCE_ICRC_BYTES));
}

struct counting {
    struct roce_run *run;
    uint32_t n;
    const uint8_t *data;
};

/* Adds the packets, each whole before the next is begun: a fault in the data of one leaves those before
 * it. */
static void count_on(void *arg)
{
    const struct counting *c = arg;
    struct roce_run *run = c->run;
    const uint8_t *data = c->data;
    uint32_t payload_bytes = run->transport_bytes - ROCE_BTH_BYTES;
    uint32_t pkt_bytes = run->transport_bytes + ROCE_ICRC_BYTES;
    uint8_t *bth = run->frame->data + run->frame->len_bytes;
    uint8_t head[ROCE_BTH_BYTES - sizeof(uint32_t)];
    memcpy(head, bth - pkt_bytes, sizeof head);
    uint32_t psn = get_be32(bth - pkt_bytes + sizeof head); /* and the bits beside it */
    run->next_bytes = run->transport_bytes;
    for (uint32_t i = 0; i < c->n; i++, bth += pkt_bytes, data += payload_bytes) {
        memcpy(bth, head, sizeof head);
        psn = (psn & ~ROCE_PSN_MASK) | roce_psn_add(psn & ROCE_PSN_MASK, 1);
        put_be32(bth + sizeof head, psn);
        take_in(run, bth, run->transport_bytes, roce_icrc_copy(icrc_below(run), bth, data, payload_bytes));
    }
}

uint32_t roce_run_count_on(struct roce_run *run, struct rdma_domain *domain, uint32_t n, const uint8_t *data)
{
    uint32_t before = run->pkts;
    struct counting counting = {run, n, data};
    rdma_access(domain, data, n * (run->transport_bytes - ROCE_BTH_BYTES), count_on, &counting);
    if (run->pkts != before)
        run->frame->seg_bytes = run->transport_bytes + ROCE_ICRC_BYTES;
    return run->pkts - before;
}

void roce_run_seal(struct roce_run *run)
{
    struct net_frame *frame = run->frame;
    uint8_t *bth = frame->data + (run->pkts ? frame->len_bytes : run->tmpl->len_bytes);
    take_in(run, bth, run->next_bytes, roce_icrc_above(icrc_below(run), bth, run->next_bytes));
    run->pkt_bytes = run->tmpl->len_bytes + run->next_bytes + ROCE_ICRC_BYTES;
    run->is_closed = run->next_bytes < run->transport_bytes;
    frame->seg_bytes = run->pkts > 1 ? run->transport_bytes + ROCE_ICRC_BYTES : 0;
}
