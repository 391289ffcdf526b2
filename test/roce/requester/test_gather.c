/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE-RC-16, RC-17: where a requester takes its data from, and where it puts it. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/script_suite.h"

TestSuite(requester_gather, .init = setup, .fini = teardown);

Test(requester_gather, ROCE_RC_16_inline_data_is_copied_by_the_post)
{
    struct nornic_sge sges[2] = {{(uintptr_t)s->mem, 100, 0xbad}, {(uintptr_t)s->mem + 1000, 100, 0}};
    struct nornic_send_wr wr = {.wr_id = 1,
                                .sg_list = sges,
                                .num_sge = 2,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED | NORNIC_SEND_INLINE};
    uint8_t expected[200];
    memcpy(expected, s->mem, 100);
    memcpy(expected + 100, s->mem + 1000, 100);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    memset(s->mem, 0xee, 2000);
    script_pump(s);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    cr_assert_eq(p->payload_bytes, 200);
    cr_assert_arr_eq(p->payload, expected, 200);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    p = expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    cr_assert_arr_eq(p->payload, expected, 200);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(requester_gather, ROCE_RC_16_inline_over_several_packets)
{
    config.attr.path_mtu = NORNIC_MTU_256;
    config.caps.max_inline_bytes = 600;
    renew();
    struct nornic_sge sges[3] = {
        {(uintptr_t)s->mem, 200, 0}, {(uintptr_t)s->mem + 1000, 1, 0}, {(uintptr_t)s->mem + 2000, 399, 0}};
    struct nornic_send_wr wr = {.wr_id = 1,
                                .sg_list = sges,
                                .num_sge = 3,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED | NORNIC_SEND_INLINE};
    uint8_t expected[600], got[600];
    memcpy(expected, s->mem, 200);
    memcpy(expected + 200, s->mem + 1000, 1);
    memcpy(expected + 201, s->mem + 2000, 399);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    memset(s->mem, 0xee, 4000);
    script_pump(s);
    uint32_t at = 0;
    for (const struct roce_pkt *p; (p = script_next(s)); at += p->payload_bytes) {
        cr_assert_leq(at + p->payload_bytes, sizeof got);
        memcpy(got + at, p->payload, p->payload_bytes);
    }
    cr_assert_eq(at, 600);
    cr_assert_arr_eq(got, expected, 600);
}

Test(requester_gather, ROCE_RC_16_data_is_gathered_over_sges)
{
    struct nornic_sge sges[5] = {{(uintptr_t)s->mem + 10, 1000, s->mr->lkey},
                                 {(uintptr_t)s->mem + 5000, 1, s->mr->lkey},
                                 {0, 0, 0},
                                 {(uintptr_t)s->mem + 6000, 2000, s->mr->lkey},
                                 {(uintptr_t)s->mem + 9000, 100, s->mr->lkey}};
    struct nornic_send_wr wr = {.wr_id = 1,
                                .sg_list = sges,
                                .num_sge = 5,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED};
    uint8_t expected[3101], got[3101];
    memcpy(expected, s->mem + 10, 1000);
    memcpy(expected + 1000, s->mem + 5000, 1);
    memcpy(expected + 1001, s->mem + 6000, 2000);
    memcpy(expected + 3001, s->mem + 9000, 100);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    uint32_t at = 0;
    for (const struct roce_pkt *p; (p = script_next(s)); at += p->payload_bytes) {
        cr_assert_leq(at + p->payload_bytes, sizeof got);
        memcpy(got + at, p->payload, p->payload_bytes);
    }
    cr_assert_eq(at, 3101);
    cr_assert_arr_eq(got, expected, 3101);
    /* a resend from the middle finds its place again */
    script_ack(s, script_sq(s, 2), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_SEND_MIDDLE, script_sq(s, 2));
    cr_assert_arr_eq(p->payload, expected + 2048, 1024);
    p = expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 3));
    cr_assert_arr_eq(p->payload, expected + 3072, 29);
}

/* The sink of a READ is scattered over SGEs as well. covers: ROCE-CQ-8 */
Test(requester_gather, a_read_is_scattered_over_sges)
{
    struct nornic_sge sges[3] = {{(uintptr_t)s->mem + 10, 1000, s->mr->lkey},
                                 {(uintptr_t)s->mem + 5000, 100, s->mr->lkey},
                                 {(uintptr_t)s->mem + 6000, 900, s->mr->lkey}};
    struct nornic_send_wr wr = {.wr_id = 1,
                                .sg_list = sges,
                                .num_sge = 3,
                                .opcode = NORNIC_WR_RDMA_READ,
                                .send_flags = NORNIC_SEND_SIGNALED};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    struct script_pkt burst[2] = {
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 0), 1, script_data(), 1024),
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, 1), 1, script_data() + 1024, 976)};
    script_burst(s, burst, 2);
    struct nornic_wc wc = expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RDMA_READ);
    cr_assert_eq(wc.byte_len, 2000);
    cr_assert_arr_eq(s->mem + 10, script_data(), 1000);
    cr_assert_arr_eq(s->mem + 5000, script_data() + 1000, 100);
    cr_assert_arr_eq(s->mem + 6000, script_data() + 1100, 900);
    cr_assert_eq(s->mem[6900], 6900 % 251);
}

/* An SGE that cannot be used: LOC_PROT_ERR, the QP in ERR, the rest flushed. */
static void is_local_error(enum nornic_wr_opcode opcode, struct nornic_sge sge, int line)
{
    struct nornic_send_wr wr = {.wr_id = 1,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = opcode,
                                .send_flags = 0, /* an error completes all the same */
                                .remote_addr = SCRIPT_PEER_VA};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    struct nornic_sge good;
    struct nornic_send_wr behind = script_wr(s, 2, NORNIC_WR_RDMA_WRITE, &good, 0, 4);
    cr_assert_eq(roce_post_send(s->qp, &behind, NULL), 0);
    script_pump(s);
    if (opcode == NORNIC_WR_RDMA_READ) { /* the sink may be judged when data comes */
        uint32_t n = sge.len_bytes > 1024 ? 1024 : sge.len_bytes;
        struct script_pkt p =
            script_read_resp_pkt(s, sge.len_bytes > 1024 ? ROCE_OP_READ_RESP_FIRST : ROCE_OP_READ_RESP_ONLY,
                                 script_sq(s, 0), 1, script_data(), n);
        script_send(s, &p);
    }
    script_expect_wc(s->send_cq, 1, NORNIC_WC_LOC_PROT_ERR, line);
    script_expect_wc(s->send_cq, 2, NORNIC_WC_WR_FLUSH_ERR, line);
    script_expect_state(s, NORNIC_QPS_ERR, line);
    renew();
}
#define expect_local_error(opcode, ...) is_local_error(opcode, (struct nornic_sge)__VA_ARGS__, __LINE__)

/* covers: ROCE-RC-17, ROCE-PD-1, ROCE-MR-3, ROCE-MR-4 */
Test(requester_gather, ROCE_RC_17_local_keys_and_bounds)
{
    static const enum nornic_wr_opcode ops[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE, NORNIC_WR_RDMA_READ};
    for (int i = 0; i < 3; i++) {
        expect_local_error(ops[i], {(uintptr_t)s->mem, 8, s->mr->lkey ^ 1});
        expect_local_error(ops[i], {(uintptr_t)s->mem, 8, 0});
        expect_local_error(ops[i], {(uintptr_t)s->mem - 1, 8, s->mr->lkey});
        expect_local_error(ops[i], {(uintptr_t)s->mem + SCRIPT_MEM_BYTES - 7, 8, s->mr->lkey});
        expect_local_error(ops[i], {UINTPTR_MAX - 3, 8, s->mr->lkey});
    }
}

/* covers: ROCE-RC-17, ROCE-MR-4 */
Test(requester_gather, ROCE_RC_17_a_sink_must_be_writable)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 64, 0, &mr), 0);
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_RDMA_READ};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    cr_assert_eq(s->mem[0], 0);
    rdma_mr_dereg(mr);
}

/* covers: ROCE-RC-17, ROCE-MR-5 */
Test(requester_gather, ROCE_RC_17_a_region_that_goes_away_before_it_is_sent)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 64, 0, &mr), 0);
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    rdma_mr_dereg(mr);
    script_pump(s);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
}

Test(requester_gather, ROCE_RC_17_nothing_to_send_needs_no_sge)
{
    struct nornic_send_wr wr = {.wr_id = 1, .opcode = NORNIC_WR_SEND, .send_flags = NORNIC_SEND_SIGNALED};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    cr_assert_eq(p->payload_bytes, 0);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-RC-31, ROCE-RC-17 */
Test(requester_gather, ROCE_RC_31_an_ack_passes_what_cannot_be_sent_again)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 64, 0, &mr), 0);
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 2,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED};
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    rdma_mr_dereg(mr);
    cr_assert(script_until_sent(s, 300 * SCRIPT_MS));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_nothing(s);
    ack(1, 2); /* of the first transmission */
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 2));
    expect_state(s, NORNIC_QPS_RTS);
    ack(2, 3);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
}
