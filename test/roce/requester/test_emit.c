/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE sections 7.1 and 7.2: what a requester sends, in which order, under which PSNs. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/ether.h"
#include "net/wire/udp.h"
#include "test/support/script_suite.h"

#define TWO_GIB (UINT64_C(1) << 31)

TestSuite(requester_emit, .init = setup, .fini = teardown);

/* 2 GiB of address space, and a region over it; the test unmaps and deregisters. NULL: there is none. */
static uint8_t *two_gib(struct rdma_mr **mr)
{
    uint8_t *mem =
        mmap(NULL, TWO_GIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (mem == MAP_FAILED)
        return NULL;
    cr_assert_eq(rdma_mr_reg(s->pd, mem, TWO_GIB, NORNIC_ACCESS_LOCAL_WRITE, mr), 0);
    return mem;
}

/* A READ of all of it: at a path MTU of 256 half of all PSNs. */
static void post_read_of(uint8_t *mem, const struct rdma_mr *mr, uint64_t wr_id)
{
    struct nornic_sge sge = {(uintptr_t)mem, (uint32_t)TWO_GIB, mr->lkey};
    struct nornic_send_wr wr = {.wr_id = wr_id,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_READ,
                                .remote_addr = SCRIPT_PEER_VA,
                                .rkey = SCRIPT_PEER_RKEY};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* covers: ROCE-RC-1, ROCE-OPC-3, ROCE-OPC-4 */
Test(requester_emit, ROCE_RC_1_a_write_takes_a_psn_a_packet)
{
    static const enum roce_op ops[] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST};
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 100, 3001);
    for (uint32_t i = 0; i < 3; i++) {
        const struct roce_pkt *p = expect_op(s, ops[i], script_sq(s, i));
        cr_assert_eq(p->payload_bytes, i < 2 ? 1024 : 953);
        cr_assert_eq(p->bth.pad_count, i < 2 ? 0 : 3);
        cr_assert_arr_eq(p->payload, s->mem + 100 + 1024 * i, p->payload_bytes);
        cr_assert_eq(p->reth.va, i == 0 ? SCRIPT_PEER_VA : 0);
        cr_assert_eq(p->reth.rkey, i == 0 ? SCRIPT_PEER_RKEY : 0);
        cr_assert_eq(p->reth.dma_len, i == 0 ? 3001 : 0);
        cr_assert_eq(p->bth.mig_req, 1);
        cr_assert_eq(p->bth.pkey, 0xffff);
        cr_assert_eq(p->bth.se, 0);
    }
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 1);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
    expect_nothing(s);
}

Test(requester_emit, ROCE_HDR_3_pad_bytes_are_zero)
{
    memset(s->mem, 0xff, 64);
    for (uint32_t len = 1; len <= 4; len++) {
        static const uint8_t zero[3];
        script_post(s, len, NORNIC_WR_SEND, 0, len);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, len - 1));
        cr_assert_eq(p->bth.pad_count, 4 - len);
        cr_assert_arr_eq(p->payload + len, zero, 4 - len);
        script_ack(s, script_sq(s, len - 1), ROCE_SYNDROME_ACK_UNLIMITED, len);
    }
}

Test(requester_emit, ROCE_OPC_3_the_last_packet_is_never_empty)
{
    static const struct {
        uint32_t len, packets;
    } rows[] = {{0, 1}, {1, 1}, {1023, 1}, {1024, 1}, {1025, 2}, {2048, 2}, {2049, 3}, {10240, 10}};
    for (unsigned row = 0; row < array_len(rows); row++) {
        renew();
        script_post(s, 1, NORNIC_WR_SEND, 7, rows[row].len);
        uint32_t sum = 0;
        for (uint32_t i = 0; i < rows[row].packets; i++) {
            enum roce_op op = rows[row].packets == 1       ? ROCE_OP_SEND_ONLY
                              : i == 0                     ? ROCE_OP_SEND_FIRST
                              : i == rows[row].packets - 1 ? ROCE_OP_SEND_LAST
                                                           : ROCE_OP_SEND_MIDDLE;
            const struct roce_pkt *p = expect_op(s, op, script_sq(s, i));
            cr_assert_arr_eq(p->payload, s->mem + 7 + sum, p->payload_bytes);
            sum += p->payload_bytes;
        }
        cr_assert_eq(sum, rows[row].len);
        expect_nothing(s);
    }
}

/* covers: ROCE-RC-11, ROCE-HDR-10 */
Test(requester_emit, each_opcode_has_its_headers)
{
    static const struct {
        enum nornic_wr_opcode wr;
        enum roce_op first, last, only;
    } rows[] = {
        {NORNIC_WR_SEND, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, ROCE_OP_SEND_ONLY},
        {NORNIC_WR_SEND_WITH_IMM, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST_IMM, ROCE_OP_SEND_ONLY_IMM},
        {NORNIC_WR_RDMA_WRITE, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_LAST, ROCE_OP_WRITE_ONLY},
        {NORNIC_WR_RDMA_WRITE_WITH_IMM, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_LAST_IMM, ROCE_OP_WRITE_ONLY_IMM}};
    for (unsigned row = 0; row < 4; row++)
        for (int solicited = 0; solicited < 2; solicited++) {
            renew();
            struct nornic_sge sge;
            struct nornic_send_wr wr = script_wr(s, 1, rows[row].wr, &sge, 0, 1500);
            memcpy(&wr.imm_data, "\xde\xad\xbe\xef", 4);
            wr.send_flags |= solicited ? NORNIC_SEND_SOLICITED : 0;
            cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
            script_pump(s);
            const struct roce_pkt *first = expect_op(s, rows[row].first, script_sq(s, 0));
            const struct roce_pkt *last = expect_op(s, rows[row].last, script_sq(s, 1));
            ack(1, 1);
            sge.len_bytes = 4;
            cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
            script_pump(s);
            const struct roce_pkt *only = expect_op(s, rows[row].only, script_sq(s, 2));
            bool imm =
                rows[row].wr == NORNIC_WR_SEND_WITH_IMM || rows[row].wr == NORNIC_WR_RDMA_WRITE_WITH_IMM;
            cr_assert_eq(memcmp(last->immdt.imm_data, imm ? "\xde\xad\xbe\xef" : "\0\0\0", 4), 0);
            cr_assert_eq(memcmp(only->immdt.imm_data, imm ? "\xde\xad\xbe\xef" : "\0\0\0", 4), 0);
            /* ROCE-RC-11; a plain WRITE has no receive that could be solicited */
            bool se = solicited && rows[row].wr != NORNIC_WR_RDMA_WRITE;
            cr_assert_eq(first->bth.se, 0);
            cr_assert_eq(last->bth.se, se, "row %u", row);
            cr_assert_eq(only->bth.se, se, "row %u", row);
        }
}

/* covers: ROCE-RC-2, ROCE-OPC-4 */
Test(requester_emit, ROCE_RC_2_a_read_takes_a_psn_a_response)
{
    static const struct {
        uint32_t len, psns;
    } rows[] = {{0, 1}, {1, 1}, {1024, 1}, {1025, 2}, {3001, 3}, {65536, 64}};
    for (unsigned row = 0; row < array_len(rows); row++) {
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_READ, 0, rows[row].len);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
        cr_assert_eq(p->reth.dma_len, rows[row].len);
        cr_assert_eq(p->payload_bytes, 0);
        cr_assert_eq(p->bth.pad_count, 0);
        if (rows[row].len != 0) {
            cr_assert_eq(p->reth.va, SCRIPT_PEER_VA);
            cr_assert_eq(p->reth.rkey, SCRIPT_PEER_RKEY);
        }
        script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 1);
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, rows[row].psns));
    }
}

/* covers: ROCE-RC-3, ROCE-HDR-11 */
Test(requester_emit, ROCE_RC_3_an_atomic_takes_one_psn)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, 8);
    wr.compare_add = UINT64_C(0x1122334455667788);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    wr.opcode = NORNIC_WR_ATOMIC_CMP_AND_SWP;
    wr.swap = 99;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_FETCH_ADD, script_sq(s, 0));
    cr_assert_eq(p->atomiceth.va, SCRIPT_PEER_VA);
    cr_assert_eq(p->atomiceth.rkey, SCRIPT_PEER_RKEY);
    cr_assert_eq(p->atomiceth.swap_add, UINT64_C(0x1122334455667788));
    cr_assert_eq(p->atomiceth.compare, 0);
    p = expect_op(s, ROCE_OP_CMP_SWAP, script_sq(s, 1));
    cr_assert_eq(p->atomiceth.compare, UINT64_C(0x1122334455667788));
    cr_assert_eq(p->atomiceth.swap_add, 99);
    expect_nothing(s);
}

/* covers: ROCE-RC-4, ROCE-RC-12 */
Test(requester_emit, ROCE_RC_4_the_window_holds)
{
    config.window_pkts = 8;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 20 * 1024);
    uint32_t sent = 0;
    while (sent < 20) {
        const struct roce_pkt *p, *last = NULL;
        uint32_t before = sent;
        for (; (p = script_next(s)); last = p)
            cr_assert_eq(p->bth.psn, script_sq(s, sent++));
        cr_assert_not_null(last, "it stopped at packet %u", sent);
        cr_assert_leq(sent - before, 8);
        cr_assert_eq(last->bth.ack_req, 1, "the packet after which the window stops it asks for an ACK");
        ack(sent - 1, sent == 20);
    }
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

Test(requester_emit, ROCE_RC_12_who_asks_for_an_ack)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 200 * 1024);
    uint32_t silent = 0, count = 0;
    const struct roce_pkt *p;
    while ((p = script_next(s))) {
        silent = p->bth.ack_req ? 0 : silent + 1;
        cr_assert_lt(silent, 64, "at packet %u", count);
        count++;
    }
    cr_assert_eq(count, 200);
    cr_assert_eq(silent, 0, "the last packet asks");
    script_post(s, 2, NORNIC_WR_SEND, 0, 4);
    cr_assert_eq(script_next(s)->bth.ack_req, 1);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 4);
    cr_assert_eq(script_next(s)->bth.ack_req, 1);
    script_post(s, 4, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
    cr_assert_eq(script_next(s)->bth.ack_req, 1);
}

Test(requester_emit, ROCE_RC_10_in_posting_order_over_the_wrap)
{
    for (uint64_t i = 0; i < 20; i++) {
        struct nornic_sge sge;
        struct nornic_send_wr wr = script_wr(s, i, NORNIC_WR_RDMA_WRITE, &sge, 0, i % 3 == 0 ? 2048 : 4);
        wr.remote_addr = i;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    }
    script_pump(s);
    const struct roce_pkt *p;
    uint32_t count = 0;
    uint64_t wqe = 0;
    while ((p = script_next(s))) {
        cr_assert_eq(p->bth.psn, (SCRIPT_PSN + count++) & 0xffffff);
        if (p->op->flags & ROCE_PKT_RETH)
            cr_assert_eq(p->reth.va, wqe++);
    }
    cr_assert_eq(count, 27);
    cr_assert_eq(wqe, 20);
}

/* covers: ROCE-RC-13, ROCE-RC-10 */
Test(requester_emit, ROCE_RC_13_outstanding_reads_and_atomics)
{
    config.attr.max_rd_atomic = 2;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8, 8);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 16, 8);
    script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_op(s, ROCE_OP_FETCH_ADD, script_sq(s, 1));
    expect_nothing(s); /* the third waits, and the WRITE behind it */
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 2));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), 8);
}

Test(requester_emit, ROCE_RC_13_a_retransmitted_one_does_not_count_twice)
{
    config.attr.max_rd_atomic = 1;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 8, 8);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_nothing(s);
    for (int i = 0; i < 3; i++)
        script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    script_forget(s);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 1), 2, script_data(), 8);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

Test(requester_emit, ROCE_RC_14_a_fence_waits_for_reads_and_atomics)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8, 8);
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 3, NORNIC_WR_RDMA_WRITE, &sge, 0, 4);
    wr.send_flags |= NORNIC_SEND_FENCE;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_op(s, ROCE_OP_FETCH_ADD, script_sq(s, 1));
    expect_nothing(s);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_nothing(s);
    p = script_atomic_ack_pkt(s, script_sq(s, 1), 2, 5);
    script_send(s, &p);
    const struct roce_pkt *w = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 2));
    cr_assert_arr_eq(w->payload, script_data(), 4, "the fenced WRITE sends what was read");
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
}

Test(requester_emit, ROCE_RC_14_a_fence_does_not_wait_for_writes)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 2, NORNIC_WR_RDMA_WRITE, &sge, 0, 4);
    wr.send_flags |= NORNIC_SEND_FENCE;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
}

Test(requester_emit, ROCE_RC_15_without_a_fence_nothing_waits)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 3000);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
}

/* covers: ROCE-RC-6, ROCE-RC-45 */
Test(requester_emit, ROCE_RC_6_what_is_sent_again_is_the_same)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 3, 2500);
    script_post(s, 2, NORNIC_WR_ATOMIC_CMP_AND_SWP, 8000, 8);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 9000, 2500);
    cr_assert_eq(s->out_count, 5);
    script_forget(s);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    cr_assert_eq(s->out_count, 10);
    for (int i = 0; i < 5; i++) {
        const struct roce_pkt *a = &s->out[i].pkt, *b = &s->out[5 + i].pkt;
        cr_assert_eq(a->bth.opcode, b->bth.opcode);
        cr_assert_eq(a->bth.psn, b->bth.psn);
        cr_assert_eq(a->bth.se, b->bth.se);
        cr_assert_eq(a->bth.pad_count, b->bth.pad_count);
        cr_assert_eq(a->payload_bytes, b->payload_bytes);
        cr_assert_eq(a->src_port, b->src_port);
        uint32_t bth_at = (uint32_t)(a->payload - a->frame) - a->op->ext_bytes;
        cr_assert_eq(memcmp(a->frame + bth_at, b->frame + bth_at, a->op->ext_bytes + a->payload_bytes), 0,
                     "packet %d: headers and data", i);
    }
}

/* covers: ROCE-FRM-44, ROCE-FRM-45 */
Test(requester_emit, ROCE_FRM_44_one_source_port)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 5000);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 0, 5000);
    uint16_t port = roce_label_src_port(roce_flow_label(0, roce_qp_num(s->qp), SCRIPT_PEER_QPN));
    const struct roce_pkt *p;
    while ((p = script_next(s)))
        cr_assert_eq(p->src_port, port);
}

/* A UDP socket port has few source ports. The kernel writes the flow label of its packets.
 * covers: ROCE-FRM-44, ROCE-FRM-45 */
Test(requester_emit, ROCE_FRM_45_source_ports_of_udp_sockets)
{
    config.udp_socket = true;
    config.ipv6 = true;
    config.attr.av.flow_label = 0x12345;
    config.labels = ROCE_LABELS_OF_FLOWS;
    for (config.src_port_count = 0; config.src_port_count <= 16; config.src_port_count += 16) {
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        uint16_t port = roce_label_src_port(0x12345);
        cr_expect_eq(p->src_port,
                     config.src_port_count ? NET_UDP_SRC_PORT_FIRST + port % NET_UDP_SRC_PORT_COUNT : 4791);
        cr_expect_eq(get_be32(p->frame + NET_ETHER_BYTES) & 0xfffff, 0);
    }
}

/* A QP without a flow label has one of both QPNs, if the device is told to; the source port is the same.
 * covers: ROCE-FRM-45 */
Test(requester_emit, ROCE_FRM_45_flow_labels)
{
    config.ipv6 = true;
    for (unsigned i = 0; i < 2; i++) {
        config.labels = i ? ROCE_LABELS_OF_FLOWS : ROCE_LABELS_OF_VECTORS;
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        uint32_t label = roce_flow_label(0, roce_qp_num(s->qp), SCRIPT_PEER_QPN);
        cr_expect_eq(get_be32(p->frame + NET_ETHER_BYTES) & 0xfffff, i ? label : 0);
        cr_expect_eq(p->src_port, roce_label_src_port(label));
    }
}

/* covers: ROCE-RC-4, ROCE-OPC-4, ROCE-RC-2 */
Test(requester_emit, ROCE_RC_4_a_read_of_2_gib_takes_half_of_the_sequence_numbers)
{
    config.attr.path_mtu = NORNIC_MTU_256;
    renew();
    struct rdma_mr *mr;
    uint8_t *mem = two_gib(&mr);
    if (!mem)
        cr_skip("no 2 GiB of address space");
    post_read_of(mem, mr, 1);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    cr_assert_eq(p->reth.dma_len, TWO_GIB);
    expect_nothing(s); /* 2^23 PSNs are outstanding: no more */
    struct script_pkt r =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 0), 1, script_data(), 256);
    script_send(s, &r);
    cr_assert_arr_eq(mem, script_data(), 256);
    r = script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, (1 << 23) - 1), 1, script_data(), 256);
    script_send(s, &r);
    p = script_next(s);
    while (p && p->bth.opcode != ROCE_OP_READ_REQUEST)
        p = script_next(s);
    cr_assert_not_null(p, "the gap is asked for");
    cr_assert_eq(p->bth.psn, script_sq(s, 1));
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA + 256);
    cr_assert_eq(p->reth.dma_len, TWO_GIB - 256);
    expect_state(s, NORNIC_QPS_RTS);
    rdma_mr_dereg(mr);
    munmap(mem, TWO_GIB);
}

/* One packet before it is outstanding: the READ would make it more than half of the PSNs. */
Test(requester_emit, ROCE_RC_4_no_more_than_half_of_the_sequence_numbers_are_outstanding)
{
    config.attr.path_mtu = NORNIC_MTU_256;
    renew();
    struct rdma_mr *mr;
    uint8_t *mem = two_gib(&mr);
    if (!mem)
        cr_skip("no 2 GiB of address space");
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    post_read_of(mem, mr, 2);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_nothing(s);
    ack(0, 1);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    expect_state(s, NORNIC_QPS_RTS);
    rdma_mr_dereg(mr);
    munmap(mem, TWO_GIB);
}

/* covers: ROCE-FRM-3, ROCE-FRM-12, ROCE-FRM-13, ROCE-FRM-18, CA17-5 */
Test(requester_emit, ROCE_FRM_12_the_address_vector_shows_on_the_wire)
{
    config.attr.av.traffic_class = 0x68;
    config.attr.av.hop_limit = 1;
    config.attr.av.flow_label = 0x12345;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(p->tclass, 0x68);
    cr_assert_eq(p->hop_limit, 1);
    cr_assert_eq(p->vlan_tci, -1);
    cr_assert_eq(p->src_port,
                 roce_label_src_port(roce_flow_label(0x12345, roce_qp_num(s->qp), SCRIPT_PEER_QPN)));
    config.attr.av.traffic_class = 0x6b; /* ECN 00 without congestion management, whatever is asked for */
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    p = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(p->tclass, 0x68);
}

/* covers: ROCE-FRM-31, ROCE-FRM-32, ROCE-FRM-36, CA17-14 */
Test(requester_emit, ROCE_FRM_32_the_address_vector_shows_on_ipv6)
{
    config.ipv6 = true;
    config.attr.av.traffic_class = 0x6b;
    config.attr.av.hop_limit = 255;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(p->l3_kind, ROCE_L3_IPV6);
    cr_assert_eq(p->tclass, 0x68);
    cr_assert_eq(p->hop_limit, 255);
}

Test(requester_emit, ROCE_RC_4_a_window_is_less_than_half_of_the_sequence_numbers)
{
    struct test_random rnd = {.state = 1};
    struct roce_dev_config dc = {
        .random = test_random_source(&rnd), .port_mtu_bytes = 1500, .window_pkts = 1u << 23};
    struct roce_dev *dev;
    cr_assert_eq(roce_dev_create(&dc, &dev), -EINVAL);
    dc.window_pkts--;
    cr_assert_eq(roce_dev_create(&dc, &dev), 0);
    cr_assert_eq(roce_dev_destroy(dev), 0);
}
