/* SPDX-License-Identifier: BSD-2-Clause */
/* The work requests that the endpoint must have posted: its request packets in the order of their PSNs, the
 * first copy of each, put together to messages. */
#include "explain/replay/learn/messages.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "explain/replay/tape.h"
#include "roce/psn.h"

/* The places on the tape of the packets of each PSN from sq_psn on: tape index + 1. */
struct psn_table {
    size_t *at;
    uint32_t count;
};

uint32_t explain_read_psns(uint32_t len_bytes, uint32_t pmtu_bytes)
{
    return len_bytes ? (len_bytes - 1) / pmtu_bytes + 1 : 1;
}

static int collect(const struct explain_tape *tape, const struct explain_endpoint *e, uint32_t qp,
                   struct psn_table *t)
{
    const struct explain_learned *q = &e->qps[qp];
    uint32_t cap = 0;
    for (size_t i = 0; i < tape->count; i++) {
        if (e->qp_of[i] != qp + 1 || e->part[i] != EXPLAIN_PART_SENT_REQUEST)
            continue;
        struct explain_packet p;
        explain_tape_packet(tape, i, &p);
        int32_t ahead = roce_psn_diff(p.roce.bth.psn, q->sq_psn);
        if (ahead < 0 || (uint32_t)ahead >= EXPLAIN_PSNS_MAX)
            continue;
        if ((uint32_t)ahead >= cap) {
            uint32_t more = cap ? cap : 256;
            while (more <= (uint32_t)ahead)
                more *= 2;
            size_t *grown = reallocarray(t->at, more, sizeof *grown);
            if (!grown)
                return -ENOMEM;
            memset(grown + cap, 0, (more - cap) * sizeof *grown);
            t->at = grown;
            cap = more;
        }
        if ((uint32_t)ahead >= t->count)
            t->count = (uint32_t)ahead + 1;
        if (!t->at[ahead])
            t->at[ahead] = i + 1;
    }
    return 0;
}

static enum nornic_wr_opcode send_opcode(uint32_t flags)
{
    if (flags & ROCE_PKT_IMMDT)
        return NORNIC_WR_SEND_WITH_IMM;
    return flags & ROCE_PKT_IETH ? NORNIC_WR_SEND_WITH_INV : NORNIC_WR_SEND;
}

static enum nornic_wr_opcode atomic_opcode(const struct roce_pkt *pkt)
{
    bool add = ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_FETCH_ADD;
    if (pkt->op->flags & ROCE_PKT_MASKETH)
        return add ? NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD : NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP;
    return add ? NORNIC_WR_ATOMIC_FETCH_AND_ADD : NORNIC_WR_ATOMIC_CMP_AND_SWP;
}

/* Reads the first packet of a message. */
static void take_first(struct explain_message *m, const struct roce_pkt *pkt)
{
    uint32_t flags = pkt->op->flags;
    if (flags & ROCE_PKT_RETH) {
        m->wr.opcode = flags & ROCE_PKT_READ ? NORNIC_WR_RDMA_READ : NORNIC_WR_RDMA_WRITE;
        m->wr.remote_addr = pkt->reth.va;
        m->wr.rkey = pkt->reth.rkey;
        if (flags & ROCE_PKT_READ)
            m->len_bytes = pkt->reth.dma_len;
    } else if (flags & ROCE_PKT_ATOMIC) {
        bool add = ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_FETCH_ADD;
        m->wr.opcode = atomic_opcode(pkt);
        m->wr.remote_addr = pkt->atomiceth.va;
        m->wr.rkey = pkt->atomiceth.rkey;
        m->wr.compare_add = add ? pkt->atomiceth.swap_add : pkt->atomiceth.compare;
        m->wr.swap = pkt->atomiceth.swap_add;
        m->wr.compare_mask = add ? pkt->masketh.swap_add_mask : pkt->masketh.compare_mask;
        m->wr.swap_mask = pkt->masketh.swap_add_mask;
        m->len_bytes = 8;
    }
    if (flags & ROCE_PKT_DETH) {
        m->wr.ud.remote_qpn = pkt->bth.dest_qpn;
        m->wr.ud.remote_qkey = pkt->deth.qkey;
        m->av = (struct nornic_av){.dgid = pkt->dst,
                                   .sl = pkt->vlan_tci < 0 ? 0 : (uint8_t)(pkt->vlan_tci >> 13),
                                   .traffic_class = pkt->tclass,
                                   .hop_limit = pkt->hop_limit,
                                   .dst_mac = pkt->dst_mac};
    }
}

static void take_last(struct explain_message *m, const struct roce_pkt *pkt)
{
    uint32_t flags = pkt->op->flags;
    if (flags & ROCE_PKT_SEND)
        m->wr.opcode = send_opcode(flags);
    else if (flags & ROCE_PKT_WRITE && flags & ROCE_PKT_IMMDT)
        m->wr.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM;
    if (flags & ROCE_PKT_IMMDT)
        memcpy(&m->wr.imm_data, pkt->immdt.imm_data, sizeof m->wr.imm_data);
    if (flags & ROCE_PKT_IETH)
        m->wr.invalidate_rkey = pkt->ieth.rkey;
    m->wr.send_flags = pkt->bth.se ? NORNIC_SEND_SOLICITED : 0;
}

static bool add_data(struct explain_learned *q, const struct roce_pkt *pkt)
{
    if (pkt->payload_bytes == 0)
        return true;
    uint8_t *grown = realloc(q->data, q->data_bytes + pkt->payload_bytes);
    if (!grown)
        return false;
    memcpy(grown + q->data_bytes, pkt->payload, pkt->payload_bytes);
    q->data = grown;
    q->data_bytes += pkt->payload_bytes;
    return true;
}

/* Puts the message at `at` together. How many PSNs it takes; 0: some of it is missing; -errno. */
static int64_t take_message(const struct explain_tape *tape, struct explain_learned *q,
                            const struct psn_table *t, uint32_t at, struct explain_message *m)
{
    struct explain_packet p;
    size_t data_bytes = q->data_bytes;
    *m = (struct explain_message){.first_psn = roce_psn_add(q->sq_psn, at), .data_offset = data_bytes};
    for (uint32_t k = at; k < t->count && t->at[k]; k++) {
        explain_tape_packet(tape, t->at[k] - 1, &p);
        uint32_t flags = p.roce.op->flags;
        bool begins = !(flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST));
        if (!(flags & ROCE_PKT_DEFINED) || begins != (k == at))
            break;
        if (begins)
            take_first(m, &p.roce);
        if (flags & (ROCE_PKT_SEND | ROCE_PKT_WRITE) && !add_data(q, &p.roce))
            return -ENOMEM;
        if (!(flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY)))
            continue;
        take_last(m, &p.roce);
        if (flags & (ROCE_PKT_SEND | ROCE_PKT_WRITE))
            m->len_bytes = (uint32_t)(q->data_bytes - m->data_offset);
        m->psn_count = flags & ROCE_PKT_READ ? explain_read_psns(m->len_bytes, q->pmtu_bytes) : k - at + 1;
        return m->psn_count;
    }
    q->data_bytes = data_bytes;
    return 0;
}

int explain_learn_messages(const struct explain_tape *tape, const struct explain_endpoint *e, uint32_t qp,
                           struct nornic_error *why)
{
    struct explain_learned *q = &e->qps[qp];
    struct psn_table t = {0};
    int err = collect(tape, e, qp, &t);
    uint32_t at = 0;
    size_t cap = 0;
    while (!err && at < t.count) {
        struct explain_message *messages =
            array_room(q->messages, &cap, q->message_count + 1, sizeof *messages);
        if (!messages) {
            err = -ENOMEM;
            break;
        }
        q->messages = messages;
        struct explain_message *m = &q->messages[q->message_count];
        int64_t psns = take_message(tape, q, &t, at, m);
        if (psns <= 0) {
            err = (int)psns; /* 0: some of it is missing, and what follows is not compared */
            break;
        }
        if (m->wr.opcode == NORNIC_WR_RDMA_READ && m->len_bytes > EXPLAIN_READ_MAX_BYTES) {
            err = net_error_set(why, E2BIG, "packet %zu asks for %u bytes, more than a replay has room for",
                                t.at[at], m->len_bytes);
            break;
        }
        if (m->len_bytes > q->scratch_bytes && m->wr.opcode >= NORNIC_WR_RDMA_READ)
            q->scratch_bytes = m->len_bytes;
        q->message_count++;
        at += (uint32_t)psns;
    }
    q->end_psn = roce_psn_add(q->sq_psn, at);
    free(t.at);
    return err;
}
