/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold of every datagram. */
#include <string.h>

#include "net/bytes.h"
#include "test/sim/crowd.h"

#define AREA_BYTES 40u
#define GUARD      0xee

/* The datagram is for this QP. */
static bool is_for(const struct crowd *crowd, const struct crowd_datagram *d, unsigned node, unsigned qp)
{
    const struct crowd_qp *q = &crowd->qp[node][qp];
    bool own = node == d->node && qp == d->qp;
    if (d->too_long || d->qkey != q->qkey)
        return false;
    if (d->dest == CROWD_GROUP)
        return q->member[d->target] && !(own && q->blocks_own);
    return node == (d->dest == CROWD_HERE ? d->node : !d->node) && qp == d->target;
}

static void complete_send(struct crowd *crowd, unsigned node, const struct nornic_wc *wc)
{
    uint32_t number = (uint32_t)wc->wr_id & ~(1u << 31);
    const struct crowd_datagram *d = &crowd->datagram[number];
    struct crowd_qp *q = &crowd->qp[node][d->qp];
    if (d->node != node || q->completed == q->sent || q->sends[q->completed] != number)
        sim_fail(&crowd->sim, "node %u: datagram %u completed out of its turn", node, number);
    else if (wc->opcode != NORNIC_WC_SEND || wc->qp_num != roce_qp_num(q->qp))
        sim_fail(&crowd->sim, "datagram %u: the completion is another's", number);
    q->completed++;
}

/* The L3 header that arrived: ROCE-UD-4. Through a socket the MAC address does not come. */
static void check_area(struct crowd *crowd, const struct crowd_datagram *d, const struct nornic_wc *wc,
                       unsigned node, const uint8_t *area)
{
    static const uint8_t zero[20];
    const struct sim_node *from = &crowd->sim.node[d->node];
    const struct nornic_addr *dst =
        d->dest == CROWD_GROUP ? &crowd->group[d->target] : &crowd->sim.node[node].addr;
    bool v6 = crowd->sim.config.ipv6;
    const uint8_t *found_src = area + (v6 ? 8 : 32), *found_dst = area + (v6 ? 24 : 36);
    uint32_t skip = v6 ? 0 : 12, len = v6 ? 16 : 4;
    if (area[v6 ? 0 : 20] >> 4 != (v6 ? 6 : 4) || (!v6 && memcmp(area, zero, sizeof zero) != 0) ||
        memcmp(found_src, from->addr.b + skip, len) != 0 || memcmp(found_dst, dst->b + skip, len) != 0)
        sim_fail(&crowd->sim, "the L3 area is wrong");
    if (wc->network != (v6 ? NORNIC_NETWORK_IPV6 : NORNIC_NETWORK_IPV4) || !(wc->wc_flags & NORNIC_WC_GRH) ||
        wc->vlan_id != crowd->sim.config.vlan_id || wc->pkey_index != 0 ||
        wc->src_qpn != roce_qp_num(crowd->qp[d->node][d->qp].qp) ||
        memcmp(wc->src_mac, crowd->sim.has_sockets && d->node != node ? zero : from->mac.b,
               sizeof wc->src_mac) != 0)
        sim_fail(&crowd->sim, "the completion tells a wrong origin");
}

static void check_bytes(struct crowd *crowd, const struct crowd_datagram *d, uint32_t number,
                        const uint8_t *buffer)
{
    uint32_t end = crowd_recv_bytes(crowd) - AREA_BYTES;
    const uint8_t *payload = buffer + AREA_BYTES;
    for (uint32_t i = d->imm ? 0 : 4; i < end; i++)
        if (payload[i] != (i < d->len_bytes ? sim_pattern(d->key, i) : GUARD)) {
            sim_fail(&crowd->sim, "datagram %u: byte %u of %u is wrong", number, i, d->len_bytes);
            return;
        }
}

/* Looks at a datagram that `node` received; its number, which may be that of none. */
static uint32_t number_of(const struct nornic_wc *wc, const uint8_t *buffer)
{
    uint32_t number = wc->imm_data;
    if (!(wc->wc_flags & NORNIC_WC_WITH_IMM))
        memcpy(&number, buffer + AREA_BYTES, sizeof number);
    return number;
}

static void complete_recv(struct crowd *crowd, unsigned node, unsigned qp, const struct nornic_wc *wc,
                          const uint8_t *buffer)
{
    uint32_t number = number_of(wc, buffer);
    if (number >= crowd->count) {
        sim_fail(&crowd->sim, "node %u QP %u received what nobody sent", node, qp);
        return;
    }
    struct crowd_datagram *d = &crowd->datagram[number];
    bool here = d->node == node;
    if (!is_for(crowd, d, node, qp))
        sim_fail(&crowd->sim, "node %u QP %u received datagram %u, which is not for it", node, qp, number);
    if (wc->byte_len != AREA_BYTES + d->len_bytes || !(wc->wc_flags & NORNIC_WC_WITH_IMM) == d->imm)
        sim_fail(&crowd->sim, "datagram %u: its length is %u, or its immediate lost", number, wc->byte_len);
    /* nothing inside a device doubles a datagram; a wire does so once */
    if (++d->got[node][qp] > (here || crowd->orderly ? 1 : 2))
        sim_fail(&crowd->sim, "node %u QP %u received datagram %u too often", node, qp, number);
    uint32_t *last = &crowd->qp[node][qp].last_from[d->node][d->qp];
    if ((here || crowd->orderly) && number < *last)
        sim_fail(&crowd->sim, "datagram %u was overtaken", number);
    *last = number + 1;
    check_area(crowd, d, wc, node, buffer);
    check_bytes(crowd, d, number, buffer);
}

void crowd_complete(struct crowd *crowd, unsigned node, const struct nornic_wc *wc)
{
    if (wc->status != NORNIC_WC_SUCCESS) {
        sim_fail(&crowd->sim, "node %u: completion with %s", node, nornic_wc_status_name(wc->status));
        return;
    }
    if (wc->wr_id >> 31) {
        complete_send(crowd, node, wc);
        return;
    }
    unsigned qp = (unsigned)wc->wr_id >> 16, slot = (unsigned)wc->wr_id & 0xffff;
    if (wc->opcode != NORNIC_WC_RECV || wc->qp_num != roce_qp_num(crowd->qp[node][qp].qp))
        sim_fail(&crowd->sim, "node %u: a receive completed as another's", node);
    complete_recv(crowd, node, qp, wc, crowd_recv_at(crowd, node, qp, slot));
    if (!crowd->profile.late || !test_random_chance(&crowd->random, 300000))
        crowd_post_recv(crowd, node, qp, slot);
}

/* What did not arrive was lost on the wire, or found no receive: nothing else is an excuse. */
static void judge_datagram(struct crowd *crowd, uint32_t number)
{
    const struct crowd_datagram *d = &crowd->datagram[number];
    for (unsigned node = 0; node < 2; node++) {
        bool sure = !crowd->profile.late && (node == d->node || crowd->calm);
        for (unsigned qp = 0; qp < crowd->qps[node]; qp++)
            if (sure && is_for(crowd, d, node, qp) && d->got[node][qp] == 0)
                sim_fail(&crowd->sim, "node %u QP %u did not receive datagram %u", node, qp, number);
    }
}

/* A frame across for every datagram that is for others, none for others: nobody answers. */
static uint64_t frames_due(const struct crowd *crowd)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < crowd->count; i++)
        n += !crowd->datagram[i].too_long && crowd->datagram[i].dest != CROWD_HERE;
    return n;
}

void crowd_judge(struct crowd *crowd)
{
    for (uint32_t i = 0; i < crowd->count; i++)
        judge_datagram(crowd, i);
    if (crowd->sim.tx_frames != frames_due(crowd))
        sim_fail(&crowd->sim, "%u frames were sent, %u are due", (unsigned)crowd->sim.tx_frames,
                 (unsigned)frames_due(crowd));
    for (unsigned node = 0; node < 2; node++) {
        struct sim_node *n = &crowd->sim.node[node];
        for (unsigned qp = 0; qp < crowd->qps[node]; qp++) {
            const struct crowd_qp *q = &crowd->qp[node][qp];
            if (q->completed != q->sent || roce_qp_state(q->qp) != NORNIC_QPS_RTS)
                sim_fail(&crowd->sim, "node %u QP %u: %u of %u sends completed, state %s", node, qp,
                         q->completed, q->sent, nornic_qp_state_name(roce_qp_state(q->qp)));
        }
        for (unsigned e = 0; e < NORNIC_EVENT_COUNT; e++)
            if (n->events[e] && e != NORNIC_EVENT_GID_CHANGE)
                sim_fail(&crowd->sim, "node %u: %s", node, nornic_event_name((enum nornic_event_type)e));
    }
}
