/* SPDX-License-Identifier: BSD-2-Clause */
/* One device with many QPs of every service under a script: work of every kind, frames of any kind from
 * beyond the wire, groups, SRQs, windows, tables that change, failing allocations. Memory that nobody
 * registered is poisoned, one region is never writable, every completion is held against what was posted,
 * frames that leave are sound, and nothing may leak.
 *
 * The input: bytes for many_begin(), then steps: a byte that says what (its lower four bits, enum step), a
 * byte that says which QP, then what the step reads.
 *
 * covers: ROCE-GEN-7 */
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/train.h"
#include "roce/wire/frame.h"
#include "roce/opcode.h"
#include "roce/packet.h"
#include "roce/psn.h"
#include "roce/wire.h"
#include "test/fuzz/roce/many_world.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define STEPS_MAX 500

enum step {
    STEP_QP = 0,      /* create or destroy */
    STEP_CONNECT = 1, /* from RESET to RTS */
    STEP_SEND = 2,
    STEP_RECEIVE = 3,
    STEP_RUN = 4,   /* run() */
    STEP_FRAME = 5, /* one that the fuzzer makes */
    STEP_WAIT = 6,
    STEP_POLL = 7,
    STEP_MODIFY = 8,
    STEP_MEMORY = 9, /* regions, windows, the fast region */
    STEP_HANDLE = 10,
    STEP_GROUP = 11,
    STEP_TABLE = 12, /* GIDs, P_Keys, the port */
    STEP_SRQ = 13,
    STEP_FAIL = 14,
    STEP_CQ = 15,
};

static void check_packet(const struct net_frame *frame)
{
    struct roce_pkt pkt;
    FUZZ_REQUIRE(frame->len_bytes <= MANY_FRAME_BYTES);
    FUZZ_REQUIRE(roce_pkt_parse(&pkt, frame->data, frame->len_bytes, ROCE_PARSE_V1) == ROCE_RX_TAKEN);
    FUZZ_REQUIRE(pkt.op->flags & (ROCE_PKT_REQUEST | ROCE_PKT_RESPONSE | ROCE_PKT_CNP));
    FUZZ_REQUIRE(pkt.bth.pkey & 0x7fff);
    FUZZ_REQUIRE(pkt.payload_bytes <= MANY_PMTU_BYTES);
}

/* So many frames out of the device; with the highest bit trains, inside the device too. */
static void run(struct many_world *w, uint8_t how)
{
    bool trains = how & 0x80;
    uint32_t cap_bytes = trains ? MANY_TRAIN_BYTES : MANY_FRAME_BYTES;
    struct net_frame frame = {.data = malloc(cap_bytes), .cap_bytes = cap_bytes};
    for (unsigned i = 0; i < (how & 0x7fu); i++) {
        struct net_train train;
        frame.train_pkts = trains ? 2 + i % 7 * 5 : 0;
        if (roce_dev_tx(w->dev, &frame, 1, w->now_ns) == 0)
            break;
        FUZZ_REQUIRE(frame.len_bytes <= frame.cap_bytes);
        net_train_begin(&train, &frame);
        FUZZ_REQUIRE(train.count == 1 || train.count <= frame.train_pkts);
        for (uint32_t k = 0; k < train.count; k++) {
            struct net_frame pkt = net_train_packet(&train, k);
            check_packet(&pkt);
        }
        net_train_end(&train);
    }
    free(frame.data);
}

static uint8_t *put_ext(uint8_t *p, const struct many_world *w, uint32_t kind, uint32_t dma_len,
                        struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    unsigned piece = how % MANY_PIECES;
    uint64_t va = (uintptr_t)many_piece(w, piece) + (uint64_t)(int64_t)(int8_t)fuzz_u8(in) * 8;
    uint32_t rkey = w->key[how >> 2 & 7 ? (how >> 2 & 7) % MANY_KEYS : piece];
    if (kind & ROCE_PKT_DETH)
        p = roce_deth_put(p, &(struct roce_deth){.qkey = how & 0x80   ? 0x80010000
                                                         : how & 0x40 ? 1
                                                                      : 0x1234,
                                                 .src_qpn = 0x900001});
    if (kind & ROCE_PKT_XRCETH)
        p = roce_xrceth_put(
            p, &(struct roce_xrceth){.xrc_srqn = how & 0x80 ? how : rdma_srq_number(w->srq[1].srq)});
    if (kind & ROCE_PKT_RETH)
        p = roce_reth_put(p, &(struct roce_reth){.va = va, .rkey = rkey, .dma_len = dma_len});
    if (kind & ROCE_PKT_ATOMICETH)
        p = roce_atomiceth_put(p, &(struct roce_atomiceth){.va = va, .rkey = rkey, .swap_add = 1});
    if (kind & ROCE_PKT_MASKETH)
        p = roce_masketh_put(p, &(struct roce_masketh){0x00ff00ff00ff00ff, 0x0f0f0f0f0f0f0f0f});
    if (kind & ROCE_PKT_AETH)
        p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = fuzz_u8(in), .msn = how});
    if (kind & ROCE_PKT_SACKETH)
        p = roce_sacketh_put(p, &(struct roce_sacketh){.probe = how & 1, .known = how >> 1 & 1, .echo = how});
    if (kind & ROCE_PKT_ATOMICACKETH)
        p = roce_atomicacketh_put(p, &(struct roce_atomicacketh){.original = 7});
    if (kind & ROCE_PKT_IMMDT)
        p = put_be32(p, 0x01020304);
    if (kind & ROCE_PKT_IETH)
        p = roce_ieth_put(p, &(struct roce_ieth){.rkey = rkey});
    if (kind & ROCE_PKT_CNP) {
        memset(p, 0, ROCE_CNP_BYTES);
        p += ROCE_CNP_BYTES;
    }
    return p;
}

/* A frame to QP `q`, or to a group: flags, opcode, length, PSN distance, then the extended headers. */
static void give_frame(struct many_world *w, unsigned q, struct fuzz_input *in)
{
    struct many_qp *qp = &w->qp[q];
    uint8_t flags = fuzz_u8(in), opcode = fuzz_u8(in), length = fuzz_u8(in), ahead = fuzz_u8(in);
    uint32_t kind = roce_opcodes[opcode].flags;
    uint32_t payload_bytes = length == 255 ? MANY_PMTU_BYTES : kind & ROCE_PKT_PAYLOAD ? length : 0;
    uint8_t pad = (uint8_t)(-payload_bytes & 3);
    bool group = flags & 0x80, ipv6 = flags & 1 || group;
    struct roce_path path = {.v1 = flags & 2,
                             .src = many_addr(ipv6, !(flags & 0x40)),
                             .dst = many_addr(ipv6, false),
                             .vlan_tci = flags & 4 ? 5 : -1,
                             .traffic_class = flags & 8 ? 3 : 0,
                             .hop_limit = 64,
                             .src_port = 0xc000};
    if (group)
        path.dst = (struct nornic_addr){{0xff, 2, [15] = ahead & 3}};
    struct roce_bth bth = {.opcode = opcode,
                           .se = flags >> 5 & 1,
                           .pad_count = pad,
                           .pkey = flags & 0x10 ? 0x9234 : 0xffff,
                           .dest_qpn = group    ? 0xffffff
                                       : qp->qp ? roce_qp_num(qp->qp)
                                                : q,
                           .ack_req = 1,
                           .psn = roce_psn_add(qp->expected_psn, (uint32_t)(int8_t)ahead)};
    uint8_t transport[ROCE_BTH_BYTES + 96 + MANY_PMTU_BYTES + 4], bytes[sizeof transport + 128];
    uint8_t *p = put_ext(roce_bth_put(transport, &bth), w, kind,
                         ahead & 0x80 ? (uint32_t)ahead << 24 : payload_bytes + (ahead & 7) * 256u, in);
    memset(p, 0x5a, payload_bytes + pad);
    struct roce_frame_template template;
    roce_frame_template_init(&template, &path);
    uint32_t transport_bytes = (uint32_t)(p - transport) + payload_bytes + pad;
    memcpy(roce_frame_begin(&template, bytes, transport_bytes, 0), transport, transport_bytes);
    uint32_t len_bytes = roce_frame_seal(&template, bytes, transport_bytes);
    uint8_t *own = malloc(len_bytes);
    memcpy(own, bytes, len_bytes);
    struct net_frame frame = {.data = own, .len_bytes = len_bytes, .cap_bytes = len_bytes};
    roce_dev_rx(w->dev, &frame, 1, w->now_ns);
    free(own);
    if (kind & ROCE_PKT_REQUEST && ahead == 0)
        qp->expected_psn = roce_psn_add(qp->expected_psn, 1);
}

static void wait(struct many_world *w, uint8_t how)
{
    w->now_ns += UINT64_C(1) << how % 36;
    if (roce_dev_deadline_ns(w->dev) > w->now_ns)
        return;
    roce_dev_expire(w->dev, w->now_ns);
    FUZZ_REQUIRE(roce_dev_deadline_ns(w->dev) > w->now_ns);
}

static void modify(struct many_world *w, unsigned q, struct fuzz_input *in)
{
    uint8_t how = fuzz_u8(in);
    struct nornic_qp_attr attr;
    roce_qp_query(w->qp[q].qp, &attr, NULL);
    attr.state = (enum nornic_qp_state)(how & 7);
    uint32_t mask = NORNIC_QP_STATE;
    if (how & 8) {
        mask |= fuzz_u32(in) & 0x3fffff;
        attr.access_flags = fuzz_u8(in);
        attr.pkey_index = fuzz_u8(in) & 3;
        attr.av.sgid_index = fuzz_u8(in) & 7;
        attr.max_rd_atomic = attr.max_dest_rd_atomic = fuzz_u8(in) & 7;
        attr.path_mig_state = fuzz_u8(in) & 3;
    }
    if (roce_qp_modify(w->qp[q].qp, &attr, mask, w->now_ns) == 0 && attr.state == NORNIC_QPS_RESET)
        many_qp_forget(w, q);
}

static void change_memory(struct many_world *w, uint8_t how, struct fuzz_input *in)
{
    if (how % 8 < MANY_MRS)
        many_region_toggle(w, how % 8, fuzz_u8(in));
    else if (how % 8 < MANY_MRS + MANY_MWS)
        many_window_toggle(w, how % 8 - MANY_MRS);
    else
        many_fast_toggle(w);
}

static void change_handle(struct many_world *w, uint8_t how)
{
    struct nornic_ah **ah = &w->ah[how % MANY_AHS];
    if (*ah) {
        if (roce_ah_destroy(*ah) == 0)
            *ah = NULL;
        return;
    }
    struct nornic_av av = {.dgid = many_addr(how & 4, how & 8), .sgid_index = how >> 4 & 3, .hop_limit = 1};
    if (how & 0x40)
        av.dgid = (struct nornic_addr){{0xff, 2, [15] = how & 3}};
    if (roce_ah_create(w->dev, w->pd, &av, ah) != 0)
        *ah = NULL;
}

static void change_group(struct roce_qp *qp, uint8_t how)
{
    struct nornic_addr group = {{0xff, 2, [15] = how & 3}};
    if (how & 0x80)
        roce_qp_detach_mcast(qp, &group);
    else
        roce_qp_attach_mcast(qp, &group);
}

static void change_table(struct many_world *w, uint8_t how, struct fuzz_input *in)
{
    struct nornic_gid gid = {.addr = many_addr(how & 4, false), .type = (enum nornic_gid_type)(how >> 3 & 1)};
    switch (how >> 6) {
    case 0:
        roce_dev_gid_remove(w->dev, how & 3, w->now_ns);
        return;
    case 1:
        roce_dev_gid_add(w->dev, &gid);
        return;
    case 2:
        roce_dev_pkey_set(w->dev, how & 1, fuzz_u16(in));
        return;
    }
    roce_dev_port_state(w->dev, how & 1);
}

static void change_srq(struct many_world *w, uint8_t how)
{
    struct rdma_srq *srq = w->srq[how & 1].srq;
    if (how >> 1 == 0x7f)
        rdma_srq_fail(srq);
    else if (how & 2)
        rdma_srq_resize(srq, how >> 2);
    else
        rdma_srq_set_limit(srq, how >> 2);
}

static void step(struct many_world *w, struct fuzz_input *in)
{
    enum step what = (enum step)(fuzz_u8(in) & 15);
    unsigned q = fuzz_u8(in) % MANY_QPS;
    bool there = w->qp[q].qp;
    uint8_t how;
    switch (what) {
    case STEP_QP:
        how = fuzz_u8(in);
        return there ? many_qp_destroy(w, q) : many_qp_create(w, q, how);
    case STEP_CONNECT:
        return there ? many_qp_connect(w, q, in) : (void)0;
    case STEP_SEND:
        return there ? many_post_send(w, q, in) : (void)0;
    case STEP_RECEIVE:
        return many_post_recv(w, q, in);
    case STEP_RUN:
        return run(w, fuzz_u8(in));
    case STEP_FRAME:
        return give_frame(w, q, in);
    case STEP_WAIT:
        return wait(w, fuzz_u8(in));
    case STEP_POLL:
        return many_poll(w, fuzz_u8(in));
    case STEP_MODIFY:
        return there ? modify(w, q, in) : (void)0;
    case STEP_MEMORY:
        how = fuzz_u8(in);
        return change_memory(w, how, in);
    case STEP_HANDLE:
        return change_handle(w, fuzz_u8(in));
    case STEP_GROUP:
        how = fuzz_u8(in);
        return there ? change_group(w->qp[q].qp, how) : (void)0;
    case STEP_TABLE:
        how = fuzz_u8(in);
        return change_table(w, how, in);
    case STEP_SRQ:
        return change_srq(w, fuzz_u8(in));
    case STEP_FAIL:
        w->fail_in = fuzz_u8(in);
        return;
    case STEP_CQ:
        how = fuzz_u8(in);
        rdma_cq_resize(w->cq[how % MANY_CQS], how >> 2);
        return;
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct many_world world;
    struct fuzz_input in = {.p = data, .left = size};
    bool whole = many_begin(&world, &in);
    for (unsigned i = 0; i < STEPS_MAX && in.left > 0 && whole; i++)
        step(&world, &in);
    many_end(&world);
    return 0;
}
