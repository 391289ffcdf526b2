/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/uc.h"

#include <string.h>

static bool holds(const struct sim_region *region, struct sim_area area, uint64_t key, uint32_t from)
{
    const uint8_t *bytes = sim_region_at(region, area);
    for (uint32_t i = 0; i < area.len_bytes; i++)
        if (bytes[i] != sim_pattern(key, from + i))
            return false;
    return true;
}

static bool gather_holds(const struct sim_end *end, const struct sim_gather *gather,
                         const struct sim_message *m)
{
    const struct sim_region *region = &end->plan->region[end->node][gather->region];
    uint32_t from = 0;
    for (unsigned i = 0; i < gather->count && from < m->len_bytes; i++) {
        struct sim_area piece = gather->pieces[i];
        if (piece.len_bytes > m->len_bytes - from)
            piece.len_bytes = m->len_bytes - from;
        if (!holds(region, piece, m->key, from))
            return false;
        from += piece.len_bytes;
    }
    return from == m->len_bytes;
}

/* The completion may be that of `m`, a message of the peer. */
static bool fits(const struct sim_end *end, const struct sim_receive *receive, const struct sim_message *m,
                 const struct nornic_wc *wc)
{
    bool send = sim_is_send(m->opcode);
    bool imm = m->opcode == NORNIC_WR_SEND_WITH_IMM || m->opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
    if (!m->takes_receive || wc->byte_len != m->len_bytes ||
        wc->opcode != (send ? NORNIC_WC_RECV : NORNIC_WC_RECV_RDMA_WITH_IMM) ||
        wc->wc_flags != (imm ? NORNIC_WC_WITH_IMM : 0) || (imm && wc->imm_data != m->imm))
        return false;
    return send ? gather_holds(end, &receive->local, m)
                : holds(&end->plan->region[end->node][m->remote_region], m->remote, m->key, 0);
}

static void accept(struct sim_end *end, const struct sim_gather *gather)
{
    for (unsigned i = 0; i < gather->count; i++)
        sim_region_accept(&end->plan->region[end->node][gather->region], gather->pieces[i]);
}

/* Without copies and overtaking, messages arrive in order and once. */
static bool is_orderly(const struct sim_end *end)
{
    const struct sim_link_config *link = &end->plan->config.link[!end->node];
    return link->duplicate_ppm == 0 && link->reorder_ppm == 0 && link->jitter_ns == 0;
}

void sim_uc_receive(struct sim_end *end, unsigned index, const struct nornic_wc *wc)
{
    const struct sim_receive *receive = &end->want->receives[index];
    struct sim_end *peer = end->peer;
    accept(end, &receive->local); /* what was abandoned before may lie behind the bytes that count */
    unsigned found = peer->sends_posted;
    for (unsigned i = is_orderly(end) ? end->next_arrival : 0; i < peer->sends_posted; i++) {
        bool better = found == peer->sends_posted || (peer->arrived[found] && !peer->arrived[i]);
        if (better && fits(end, receive, &peer->want->messages[i], wc))
            found = i; /* of messages that look alike, one that has not come yet */
    }
    if (found < peer->sends_posted) {
        peer->arrived[found] = true;
        end->next_arrival = found + 1;
        return;
    }
    sim_fail(end->sim, "pair %u node %u receive %u (opcode %d, %u bytes) holds no message whole", end->pair,
             end->node, index, (int)wc->opcode, wc->byte_len);
}

/* Nothing was lost, and everything came in order: then nothing may be missing, if receives were in time. */
static bool must_all_arrive(const struct sim_end *end)
{
    const struct sim_link_counters *c = sim_link_counters(end->sim->link[end->node]);
    const struct sim_link_config *link = &end->plan->config.link[end->node];
    const struct roce_dev_counters *there = roce_dev_counters(end->sim->node[!end->node].dev);
    return c->lost + c->corrupted + c->held + c->duplicated == 0 && link->jitter_ns == 0 &&
           there->verdicts[ROCE_RX_DROP_NO_RECV] == 0;
}

/* Each packet of a WRITE was placed as a whole, or is missing as a whole. */
static void settle_write(struct sim_end *end, unsigned index)
{
    const struct sim_message *m = &end->want->messages[index];
    struct sim_region *region = &end->plan->region[!end->node][m->remote_region];
    uint32_t mtu_bytes = sim_plan_mtu(end->plan, end->pair);
    bool whole = must_all_arrive(end) || end->arrived[index];
    for (uint32_t from = 0; from < m->len_bytes; from += mtu_bytes) {
        uint32_t left = m->len_bytes - from;
        struct sim_area chunk = {m->remote.offset + from, left < mtu_bytes ? left : mtu_bytes};
        bool missing =
            memcmp(sim_region_at(region, chunk), region->shadow + chunk.offset, chunk.len_bytes) == 0;
        if (!holds(region, chunk, m->key, from) && (whole || !missing))
            sim_fail(end->sim, "pair %u node %u message %u: byte %u of its target is wrong", end->pair,
                     end->node, index, from);
    }
    sim_region_accept(region, m->remote);
}

void sim_uc_settle(struct sim_end *end)
{
    for (unsigned i = 0; i < end->sends_posted; i++) {
        const struct sim_message *m = &end->want->messages[i];
        if (sim_is_write(m->opcode))
            settle_write(end, i);
        if (m->takes_receive && !end->arrived[i] && must_all_arrive(end))
            sim_fail(end->sim, "pair %u node %u message %u: nothing was lost, but it did not arrive",
                     end->pair, end->node, i);
    }
    for (unsigned i = end->receives_good; i < end->receives_posted; i++)
        accept(end, &end->want->receives[i].local);
}
