/* SPDX-License-Identifier: BSD-2-Clause */
/* What must not get through, also where soft-RoCE of Linux lets it: protection domains of regions, SGEs and
 * queues; full queues; keys of operations without data; requests that a service does not have; lengths and
 * offsets of the wire that wrap. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "base/base.h"
#include "rdma/srq.h"
#include "roce/dev/inner.h"
#include "test/support/rc_masks.h"
#include "test/support/script_suite.h"

#define ALL_ACCESS                                                                        \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | \
     NORNIC_ACCESS_REMOTE_ATOMIC)

static struct rdma_pd *other_pd;
static struct rdma_mr *other_mr; /* the same memory, in another PD */

static void open_other(void)
{
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &other_pd), 0);
    cr_assert_eq(rdma_mr_reg(other_pd, s->mem, SCRIPT_MEM_BYTES, ALL_ACCESS, &other_mr), 0);
}

static void safety_setup(void)
{
    setup();
    open_other();
}

static void close_other(void)
{
    cr_assert_eq(rdma_mr_dereg(other_mr), 0);
    cr_assert_eq(rdma_pd_destroy(other_pd), 0);
}

static void again(void)
{
    close_other();
    renew();
    open_other();
}

static void safety_teardown(void)
{
    close_other();
    teardown();
}

TestSuite(safety, .init = safety_setup, .fini = safety_teardown);

/* The request is NAKed with `syndrome`, memory is as it was. */
static void expect_refused(struct script_pkt p, uint8_t syndrome, int line)
{
    static uint8_t before[SCRIPT_MEM_BYTES];
    memcpy(before, s->mem, sizeof before);
    script_send(s, &p);
    script_expect_nak(s, script_rq(s, 0), syndrome, 0, line);
    script_expect_state(s, NORNIC_QPS_ERR, line);
    cr_assert_arr_eq(s->mem, before, sizeof before, "line %d: memory was changed", line);
    again();
}
#define refused(p, syndrome) expect_refused(p, syndrome, __LINE__)

/* --- protection domains --- */

/* covers: ROCE-PD-1, ROCE-RS-5 */
Test(safety, ROCE_PD_1_a_key_of_another_pd_is_no_key)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 64, script_data(), 64);
    p.reth.rkey = other_mr->rkey;
    refused(p, ROCE_SYNDROME_NAK_REM_ACC);
    p = script_read_pkt(s, script_rq(s, 0), 0, 64);
    p.reth.rkey = other_mr->rkey;
    refused(p, ROCE_SYNDROME_NAK_REM_ACC);
    p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 0, 1, 0);
    p.atomiceth.rkey = other_mr->rkey;
    refused(p, ROCE_SYNDROME_NAK_REM_ACC);
}

/* covers: ROCE-PD-1, ROCE-RC-17 */
Test(safety, ROCE_PD_1_what_is_sent_must_be_of_the_pd)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 64);
    sge.lkey = other_mr->lkey;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-PD-1, ROCE-RS-7 */
Test(safety, ROCE_PD_1_where_is_received_must_be_of_the_pd)
{
    struct nornic_sge sge = {(uintptr_t)s->mem, 64, other_mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 64);
    refused(p, ROCE_SYNDROME_NAK_REM_OP);
}

/* covers: ROCE-PD-1, ROCE-RC-37 */
Test(safety, ROCE_PD_1_where_a_read_goes_must_be_of_the_pd)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_RDMA_READ, &sge, 0, 64);
    uint8_t before[64];
    memcpy(before, s->mem, sizeof before);
    sge.lkey = other_mr->lkey;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 64);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    cr_assert_arr_eq(s->mem, before, sizeof before);
}

/* The keys of an SRQ's SGEs are those of the SRQ's PD, and no others, whatever the QP's is.
 * covers: ROCE-PD-1, ROCE-RS-70 */
Test(safety, ROCE_RS_70_keys_of_an_srq_are_of_its_pd)
{
    struct rdma_srq *srq;
    cr_assert_eq(rdma_srq_create(other_pd, &(struct rdma_srq_config){.max_wr = 4, .max_sge = 1}, &srq), 0);
    const struct rdma_mr *mrs[2] = {other_mr, s->mr};
    for (int i = 0; i < 2; i++) {
        struct roce_qp_config qp_config = {.type = NORNIC_QPT_RC,
                                           .pd = s->pd,
                                           .send_cq = s->send_cq,
                                           .recv_cq = s->recv_cq,
                                           .srq = srq,
                                           .caps = {.max_send_wr = 1}};
        struct roce_qp *own = s->qp;
        cr_assert_eq(roce_qp_create(s->dev, &qp_config, &s->qp), 0);
        cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
        cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
        struct nornic_sge sge = {(uintptr_t)s->mem, 64, mrs[i]->lkey};
        struct nornic_recv_wr wr = {.wr_id = 7, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(rdma_srq_post(srq, &wr, NULL), 0);
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 64);
        p.bth.ack_req = 1;
        script_send(s, &p);
        if (i == 0)
            expect_ack(s, script_rq(s, 0), 1);
        else
            expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_OP, 0);
        expect_wc(s, recv_cq, 7, i == 0 ? NORNIC_WC_SUCCESS : NORNIC_WC_LOC_PROT_ERR);
        cr_assert_eq(roce_qp_destroy(s->qp), 0);
        s->qp = own;
    }
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

/* --- full queues --- */

/* A full send queue takes nothing more, and what it holds is what was posted: also after its counters have
 * gone round many times. Unsignalled requests keep their places until a completion tells of them.
 * covers: ROCE-QP-40, ROCE-RC-60 */
Test(safety, ROCE_QP_40_a_full_send_queue_refuses)
{
    config.caps.max_send_wr = 4;
    again();
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_RDMA_WRITE, &sge, 0, 4);
    const struct nornic_send_wr *bad = NULL;
    uint32_t psn = 0;
    for (unsigned round = 0; round < 100; round++) {
        wr.send_flags = 0;
        for (unsigned i = 0; i < 3; i++)
            cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        wr.send_flags = NORNIC_SEND_SIGNALED;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        cr_assert_eq(roce_post_send(s->qp, &wr, &bad), -ENOMEM);
        cr_assert_eq(bad, &wr);
        script_pump(s);
        psn += 4;
        ack(psn - 2, psn - 1); /* three unsignalled ones are done, and nobody was told */
        cr_assert_eq(roce_post_send(s->qp, &wr, &bad), -ENOMEM);
        ack(psn - 1, psn);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        expect_no_wc(s, send_cq);
        script_forget(s);
    }
}

/* covers: ROCE-QP-40 */
Test(safety, ROCE_QP_40_a_full_receive_queue_refuses)
{
    config.caps.max_recv_wr = 4;
    again();
    struct nornic_recv_wr wr = {.wr_id = 1};
    const struct nornic_recv_wr *bad = NULL;
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    cr_assert_eq(roce_post_recv(s->qp, &wr, &bad), -ENOMEM);
    cr_assert_eq(bad, &wr);
    struct rdma_srq *srq;
    cr_assert_eq(rdma_srq_create(s->pd, &(struct rdma_srq_config){.max_wr = 4, .max_sge = 1}, &srq), 0);
    for (unsigned i = 0; i < 4; i++)
        cr_assert_eq(rdma_srq_post(srq, &wr, NULL), 0);
    cr_assert_eq(rdma_srq_post(srq, &wr, NULL), -ENOMEM);
    cr_assert_eq(rdma_srq_count(srq), 4);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

/* --- keys of operations without data --- */

/* The standard: no key is looked at where nothing is touched, but rights of the QP are. What names an object
 * (an invalidation, an atomic) names it all the same.
 * covers: ROCE-RS-48, ROCE-RS-3, ROCE-RS-45 */
Test(safety, ROCE_RS_48_nothing_to_move)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 0, NULL, 0);
    p.reth = (struct roce_reth){UINT64_MAX, 0xdeadbeef, 0};
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    p = script_read_pkt(s, script_rq(s, 1), 0, 0);
    p.reth = (struct roce_reth){UINT64_MAX, 0xdeadbeef, 0};
    script_send(s, &p);
    cr_assert_eq(expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1))->payload_bytes, 0);
    script_recv(s, 1, 0, 64);
    p = script_send_pkt(s, ROCE_OP_SEND_ONLY_INV, script_rq(s, 2), NULL, 0);
    p.ieth_rkey = 0xdeadbeef;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_REM_ACC, 2);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    config.attr.access_flags = 0;
    again();
    refused(script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 0, NULL, 0),
            ROCE_SYNDROME_NAK_INV_REQ);
    refused(script_read_pkt(s, script_rq(s, 0), 0, 0), ROCE_SYNDROME_NAK_INV_REQ);
}

/* --- lengths and offsets that wrap --- */

/* covers: ROCE-MR-3, ROCE-RS-5, ROCE-GEN-7 */
Test(safety, ROCE_RS_5_no_range_wraps)
{
    uint64_t base = s->mr->iova, end = base + SCRIPT_MEM_BYTES;
    const struct {
        uint64_t va;
        uint32_t len_bytes;
    } ranges[] = {
        {end - 4, 8},
        {end, 1},
        {base - 4, 8},
        {base - 1, 1},
        {UINT64_MAX - 3, 4},
        {0, 4},
        {UINT64_MAX, 1},
        {base, SCRIPT_MEM_BYTES + 1},
        {base, 0x80000000},
        {end - 1, 2},
        {base + (1ull << 32), 4},
        {base - (1ull << 32), 4},
    };
    for (unsigned i = 0; i < array_len(ranges); i++) {
        struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, ranges[i].len_bytes);
        p.reth.va = ranges[i].va;
        refused(p, ROCE_SYNDROME_NAK_REM_ACC);
        uint32_t n = ranges[i].len_bytes < 1024 ? ranges[i].len_bytes : 1024;
        p = script_write_pkt(s, n < ranges[i].len_bytes ? ROCE_OP_WRITE_FIRST : ROCE_OP_WRITE_ONLY,
                             script_rq(s, 0), 0, ranges[i].len_bytes, script_data(), n);
        p.reth.va = ranges[i].va;
        refused(p, ROCE_SYNDROME_NAK_REM_ACC);
    }
    struct script_pkt p = script_atomic_pkt(s, ROCE_OP_CMP_SWAP, script_rq(s, 0), 0, 1, 0);
    p.atomiceth.va = UINT64_MAX - 7;
    refused(p, ROCE_SYNDROME_NAK_REM_ACC);
    p.atomiceth.va = (end + 7) & ~7ull;
    p.atomiceth.rkey = s->mr->rkey;
    p.bth.dest_qpn = roce_qp_num(s->qp);
    refused(p, ROCE_SYNDROME_NAK_REM_ACC);
}

/* Longer than any message may be: a NAK, not a count of packets that does not fit 24 bits.
 * covers: ROCE-OPC-4, ROCE-RS-6 */
Test(safety, ROCE_OPC_4_messages_beyond_two_gibibytes)
{
    static const uint32_t lengths[] = {0x80000001, 0xc0000000, 0xffffffff};
    struct rdma_mr *huge; /* 4 GiB of addresses that nobody ever touches */
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 1ull << 33, ALL_ACCESS, &huge), 0);
    for (unsigned i = 0; i < 3; i++) {
        struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, lengths[i]);
        p.reth.rkey = huge->rkey;
        script_send(s, &p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
        cr_assert_eq(rdma_mr_dereg(huge), 0);
        again();
        cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 1ull << 33, ALL_ACCESS, &huge), 0);
        p = script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, lengths[i], script_data(), 1024);
        p.reth.rkey = huge->rkey;
        script_send(s, &p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
        cr_assert_eq(rdma_mr_dereg(huge), 0);
        again();
        cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 1ull << 33, ALL_ACCESS, &huge), 0);
    }
    cr_assert_eq(rdma_mr_dereg(huge), 0);
}

/* A WRITE writes what it announced, however it goes on.
 * covers: ROCE-RS-6, ROCE-RS-8 */
Test(safety, ROCE_RS_6_a_write_stays_in_what_it_announced)
{
    static const struct {
        enum roce_op op;
        uint32_t len_bytes;
    } second[] = {{ROCE_OP_WRITE_LAST, 201},
                  {ROCE_OP_WRITE_LAST, 199},
                  {ROCE_OP_WRITE_LAST, 1024},
                  {ROCE_OP_WRITE_MIDDLE, 1024},
                  {ROCE_OP_WRITE_LAST, 0}};
    for (unsigned i = 0; i < 5; i++) {
        struct script_pkt p[2] = {
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, 1224, script_data(), 1024),
            script_write_pkt(s, second[i].op, script_rq(s, 1), 0, 0, script_data() + 1024,
                             second[i].len_bytes),
        };
        uint8_t after[2048];
        memcpy(after, s->mem + 1024, sizeof after);
        script_burst(s, p, 2);
        expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
        cr_assert_arr_eq(s->mem + 1024, after, sizeof after, "%u", i);
        again();
    }
}

/* A SEND stays in its buffer, whose length is the sum of its SGEs.
 * covers: ROCE-RS-6, ROCE-RS-15 */
Test(safety, ROCE_RS_6_a_send_stays_in_its_buffer)
{
    script_recv(s, 1, 0, 1100);
    struct script_pkt p[2] = {
        script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024),
        script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), script_data() + 1024, 77),
    };
    uint8_t after[256];
    memcpy(after, s->mem + 1024, sizeof after);
    script_burst(s, p, 2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_LEN_ERR);
    cr_assert_arr_eq(s->mem + 1024, after, sizeof after);
}

/* covers: ROCE-QP-40, ROCE-OPC-4 */
Test(safety, ROCE_QP_40_sums_of_sges_do_not_wrap)
{
    struct nornic_sge sges[3] = {{0, 0xffffffff, 1}, {0, 2, 1}, {0, 0x80000000, 1}};
    struct nornic_send_wr wr = {.sg_list = sges, .num_sge = 2, .opcode = NORNIC_WR_SEND};
    struct nornic_recv_wr recv = {.sg_list = sges, .num_sge = 2};
    for (unsigned n = 1; n <= 3; n++) {
        wr.num_sge = recv.num_sge = n;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
        cr_assert_eq(roce_post_recv(s->qp, &recv, NULL), -EINVAL);
    }
    wr.num_sge = recv.num_sge = NORNIC_MAX_SGE + 1;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL, "not one SGE is read");
    cr_assert_eq(roce_post_recv(s->qp, &recv, NULL), -EINVAL);
    wr.num_sge = recv.num_sge = UINT32_MAX;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
    cr_assert_eq(roce_post_recv(s->qp, &recv, NULL), -EINVAL);
}

/* --- what a service does not have --- */

static int post(enum nornic_wr_opcode opcode)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, opcode, &sge, 0, 8);
    if (opcode == NORNIC_WR_LOCAL_INV || opcode == NORNIC_WR_BIND_MW || opcode == NORNIC_WR_REG_MR)
        wr.num_sge = 0;
    return roce_post_send(s->qp, &wr, NULL);
}

/* ROCE section 11.3, by the type of the QP.
 * covers: ROCE-QP-40, ROCE-UC-1 */
Test(safety, ROCE_QP_40_requests_that_the_type_does_not_have)
{
    static const enum nornic_wr_opcode rc_only[] = {NORNIC_WR_RDMA_READ, NORNIC_WR_ATOMIC_CMP_AND_SWP,
                                                    NORNIC_WR_ATOMIC_FETCH_AND_ADD, NORNIC_WR_SEND_WITH_INV};
    static const enum nornic_wr_opcode nobodys[] = {
        (enum nornic_wr_opcode)10,        (enum nornic_wr_opcode)11, (enum nornic_wr_opcode)14,
        (enum nornic_wr_opcode)31,        (enum nornic_wr_opcode)33, (enum nornic_wr_opcode)64,
        (enum nornic_wr_opcode)0x7fffffff};
    for (int uc = 0; uc < 2; uc++) {
        config.type = uc ? NORNIC_QPT_UC : NORNIC_QPT_RC;
        again();
        for (unsigned i = 0; i < array_len(nobodys); i++)
            cr_assert_eq(post(nobodys[i]), -EINVAL, "%d", nobodys[i]);
        cr_assert_eq(post(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP), -EINVAL, "not offered unless asked for");
        for (unsigned i = 0; i < array_len(rc_only); i++)
            cr_assert_eq(post(rc_only[i]), uc ? -EINVAL : 0, "%d", rc_only[i]);
    }
}

/* covers: ROCE-RX-13, ROCE-OPC-5 */
Test(safety, ROCE_RX_13_every_opcode_of_another_service)
{
    static const enum nornic_qp_type types[] = {NORNIC_QPT_RC, NORNIC_QPT_UC};
    for (unsigned t = 0; t < 2; t++) {
        config.type = types[t];
        again();
        uint64_t dropped = 0;
        for (unsigned opcode = 0; opcode < 256; opcode++) {
            if (opcode >> 5 == t || opcode == ROCE_OPCODE_CNP)
                continue;
            static const uint8_t zero[64];
            struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), zero, 64);
            p.bth.opcode = (uint8_t)opcode;
            script_send(s, &p);
            expect_nothing(s);
            expect_state(s, NORNIC_QPS_RTS);
            expect_verdict(s, ROCE_RX_DROP_TYPE, ++dropped);
        }
    }
}
