/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of the scripted peer. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/script.h"
#include "test/support/train.h"

#define MAX_BURST       64u
#define MAX_FRAME_BYTES (ROCE_PMTU_MAX_BYTES + 256u)

const uint8_t *script_data(void)
{
    static uint8_t data[65536];
    for (uint32_t i = 0; data[0] == 0 && i < sizeof data; i++)
        data[sizeof data - 1 - i] = (uint8_t)(7 * (sizeof data - 1 - i) + 3);
    return data;
}

struct script_pkt script_pkt(const struct script *s, enum roce_op op, uint32_t psn)
{
    return (struct script_pkt){.path = s->from_peer,
                               .xrceth.xrc_srqn = s->xrcd ? rdma_srq_number(s->srq) : 0,
                               .bth = {.opcode = ROCE_OPCODE(s->service, op),
                                       .mig_req = 1,
                                       .pkey = 0xffff,
                                       .dest_qpn = roce_qp_num(s->qp),
                                       .psn = psn & ROCE_PSN_MASK},
                               .deth = {.qkey = SCRIPT_QKEY, .src_qpn = SCRIPT_PEER_QPN}};
}

struct script_pkt script_send_pkt(const struct script *s, enum roce_op op, uint32_t psn, const void *payload,
                                  uint32_t payload_bytes)
{
    struct script_pkt p = script_pkt(s, op, psn);
    p.payload = payload;
    p.payload_bytes = payload_bytes;
    return p;
}

struct script_pkt script_write_pkt(const struct script *s, enum roce_op op, uint32_t psn, uint64_t mem_offset,
                                   uint32_t dma_len, const void *payload, uint32_t payload_bytes)
{
    struct script_pkt p = script_send_pkt(s, op, psn, payload, payload_bytes);
    p.reth = (struct roce_reth){s->mr->iova + mem_offset, s->mr->rkey, dma_len};
    return p;
}

struct script_pkt script_read_pkt(const struct script *s, uint32_t psn, uint64_t mem_offset, uint32_t dma_len)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_READ_REQUEST, psn, mem_offset, dma_len, NULL, 0);
    p.bth.ack_req = 1;
    return p;
}

struct script_pkt script_atomic_pkt(const struct script *s, enum roce_op op, uint32_t psn,
                                    uint64_t mem_offset, uint64_t swap_add, uint64_t compare)
{
    struct script_pkt p = script_pkt(s, op, psn);
    p.bth.ack_req = 1;
    p.atomiceth = (struct roce_atomiceth){s->mr->iova + mem_offset, s->mr->rkey, swap_add, compare};
    return p;
}

struct script_pkt script_ack_pkt(const struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct script_pkt p = script_pkt(s, ROCE_OP_ACK, psn);
    p.aeth = (struct roce_aeth){syndrome, msn};
    return p;
}

struct script_pkt script_read_resp_pkt(const struct script *s, enum roce_op op, uint32_t psn, uint32_t msn,
                                       const void *payload, uint32_t payload_bytes)
{
    struct script_pkt p = script_send_pkt(s, op, psn, payload, payload_bytes);
    p.aeth = (struct roce_aeth){ROCE_SYNDROME_ACK_UNLIMITED, msn};
    return p;
}

struct script_pkt script_atomic_ack_pkt(const struct script *s, uint32_t psn, uint32_t msn, uint64_t original)
{
    struct script_pkt p = script_pkt(s, ROCE_OP_ATOMIC_ACK, psn);
    p.aeth = (struct roce_aeth){ROCE_SYNDROME_ACK_UNLIMITED, msn};
    p.atomicacketh.original = original;
    return p;
}

void script_ack(struct script *s, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    struct script_pkt p = script_ack_pkt(s, psn, syndrome, msn);
    script_send(s, &p);
}

struct script_pkt script_cnp_pkt(const struct script *s)
{
    static const uint8_t body[ROCE_CNP_BYTES];
    struct script_pkt p = script_pkt(s, ROCE_OP_ACK, 0);
    p.bth.opcode = ROCE_OPCODE_CNP;
    p.bth.mig_req = 0;
    p.path.traffic_class = 48 << 2;
    p.payload = body;
    p.payload_bytes = sizeof body;
    return p;
}

/* The extended headers in the order of ROCE-HDR-10. */
static uint8_t *put_ext(uint8_t *at, const struct script_pkt *p, uint32_t flags)
{
    if (flags & ROCE_PKT_DETH)
        at = roce_deth_put(at, &p->deth);
    if (flags & ROCE_PKT_XRCETH)
        at = roce_xrceth_put(at, &p->xrceth);
    if (flags & ROCE_PKT_RETH)
        at = roce_reth_put(at, &p->reth);
    if (flags & ROCE_PKT_ATOMICETH)
        at = roce_atomiceth_put(at, &p->atomiceth);
    if (flags & ROCE_PKT_MASKETH)
        at = roce_masketh_put(at, &p->masketh);
    if (flags & ROCE_PKT_AETH)
        at = roce_aeth_put(at, &p->aeth);
    if (flags & ROCE_PKT_SACKETH)
        at = roce_sacketh_put(at, &p->sacketh);
    if (flags & ROCE_PKT_ATOMICACKETH)
        at = roce_atomicacketh_put(at, &p->atomicacketh);
    if (flags & ROCE_PKT_IMMDT) {
        memcpy(at, &p->imm_data, ROCE_IMMDT_BYTES);
        at += ROCE_IMMDT_BYTES;
    }
    if (flags & ROCE_PKT_IETH)
        at = roce_ieth_put(at, &(struct roce_ieth){.rkey = p->ieth_rkey});
    return at;
}

/* Builds the frame, then moves it into memory of its own size, so that a sanitizer sees a read past its
 * end. */
static struct net_frame build(const struct script_pkt *p, uint16_t ip_id)
{
    static uint8_t frame[MAX_FRAME_BYTES];
    uint8_t ext[64];
    uint32_t ext_bytes = (uint32_t)(put_ext(ext, p, roce_opcodes[p->bth.opcode].flags) - ext);
    struct roce_bth bth = p->bth;
    uint32_t pad_bytes = -p->payload_bytes & 3;
    if (!p->keep_pad_count)
        bth.pad_count = (uint8_t)pad_bytes;
    uint32_t transport_bytes = ROCE_BTH_BYTES + ext_bytes + p->payload_bytes + pad_bytes;
    struct roce_frame_template t;
    roce_frame_template_init(&t, &p->path);
    cr_assert_leq(t.len_bytes + transport_bytes + ROCE_ICRC_BYTES, sizeof frame);
    memset(frame, 0, sizeof frame);
    uint8_t *at = roce_frame_begin(&t, frame, transport_bytes, ip_id);
    at = roce_bth_put(at, &bth);
    memcpy(at, ext, ext_bytes);
    if (p->payload_bytes != 0)
        memcpy(at + ext_bytes, p->payload, p->payload_bytes);
    uint32_t len_bytes = roce_frame_seal(&t, frame, transport_bytes);
    if (p->bad_icrc)
        frame[len_bytes - 1] ^= 1;
    uint8_t *own = malloc(len_bytes);
    cr_assert_not_null(own);
    memcpy(own, frame, len_bytes);
    return (struct net_frame){.data = own, .len_bytes = len_bytes, .cap_bytes = len_bytes};
}

void script_give(struct script *s, const struct script_pkt *pkts, unsigned n)
{
    struct net_frame frames[MAX_BURST];
    cr_assert_leq(n, MAX_BURST);
    for (unsigned i = 0; i < n; i++)
        frames[i] = build(&pkts[i], (uint16_t)(0xfffe + i));
    if (script_train_pkts(s) > 1)
        n = test_train_couple(frames, n, &s->train_rnd);
    const uint64_t *taken = &roce_dev_counters(s->dev)->verdicts[ROCE_RX_TAKEN];
    uint64_t taken_before = *taken;
    /* What a port would have kept away. */
    bool is_admitted = pkts[0].bth.dest_qpn == ROCE_MULTICAST_QPN ||
                       reach_admits(&s->reach, pkts[0].bth.dest_qpn, &pkts[0].path.src);
    roce_dev_rx(s->dev, frames, n, s->now_ns);
    cr_assert(is_admitted || *taken == taken_before || n > 1, "the port was not told of these packets");
    for (unsigned i = 0; i < n; i++)
        free(frames[i].data);
}

void script_burst(struct script *s, const struct script_pkt *pkts, unsigned n)
{
    script_give(s, pkts, n);
    script_pump(s);
}

void script_send(struct script *s, const struct script_pkt *pkt)
{
    script_burst(s, pkt, 1);
}
