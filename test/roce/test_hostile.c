/* SPDX-License-Identifier: BSD-2-Clause */
/* Anything at all sent to a UC QP, an XRC target, and an RC QP with every option: memory changes only where a
 * good key or a receive allows it, and the QP is in a state that it can be in. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

#define ROUNDS     4
#define PKTS       1500
#define RECEIVES   4096u /* bytes from 0 on: where receives point */
#define TARGET     65536u
#define TARGET_LEN 4096u

static struct test_random rnd = {.state = 11};

static uint32_t pick(const uint32_t *from, unsigned n)
{
    return from[test_random_below(&rnd, n)];
}

static bool mostly(void)
{
    return test_random_below(&rnd, 10) != 0;
}

static uint8_t draw_opcode(uint8_t masked)
{
    if (masked && !mostly())
        return masked;
    uint32_t defined = s->service == ROCE_SERVICE_UC ? ROCE_OP_WRITE_ONLY_IMM + 1 : ROCE_OP_SEND_ONLY_INV + 1;
    return ROCE_OPCODE(s->service, test_random_below(&rnd, mostly() ? defined : 0x20));
}

static struct script_pkt draw(const struct rdma_mr *mr, uint32_t epsn)
{
    static const uint32_t lens[] = {0, 1, 3, 8, 1020, 1023, 1024, 1025, 1028};
    static const uint32_t dma_lens[] = {0, 1, 8, 1024, 1025, 2048, 3000, 4096, 4097, 1u << 31, UINT32_MAX};
    static const uint32_t offs[] = {0, 8, 4, 1024, TARGET_LEN - 8, TARGET_LEN, (uint32_t)-8};
    struct script_pkt p = script_pkt(s, ROCE_OP_SEND_ONLY, epsn);
    p.bth.opcode = draw_opcode(test_random_below(&rnd, 2) ? 0xf3 : 0xf4);
    p.bth.ack_req = test_random_below(&rnd, 2);
    if (!mostly())
        p.bth.psn = (epsn + test_random_below(&rnd, 9) - 4) & ROCE_PSN_MASK;
    p.payload = script_data() + test_random_below(&rnd, 1000);
    p.payload_bytes = pick(lens, array_len(lens));
    if (roce_opcodes[p.bth.opcode].flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) && mostly())
        p.payload_bytes = 1024;
    p.keep_pad_count = !mostly();
    p.bth.pad_count = test_random_below(&rnd, 4);
    uint64_t va = mr->iova + (uint64_t)(int32_t)pick(offs, array_len(offs));
    uint32_t rkey = mostly() ? mr->rkey : (uint32_t)test_random_next(&rnd);
    uint32_t dma_len = mostly() ? p.payload_bytes : pick(dma_lens, array_len(dma_lens));
    p.reth = (struct roce_reth){mostly() ? va : test_random_next(&rnd), rkey, dma_len};
    p.atomiceth = (struct roce_atomiceth){va, rkey, test_random_next(&rnd), test_random_next(&rnd)};
    p.masketh = (struct roce_masketh){test_random_next(&rnd), 0};
    if (!mostly())
        p.xrceth.xrc_srqn = test_random_below(&rnd, 1u << 24);
    return p;
}

static void refill(uint32_t posted)
{
    struct nornic_wc wc;
    while (rdma_cq_poll(s->recv_cq, &wc, 1) > 0)
        ;
    for (uint32_t i = posted; i < 4; i++)
        script_recv(s, i, 1024 * i, 1024);
}

static void expect_rest_untouched(void)
{
    for (uint32_t i = RECEIVES; i < SCRIPT_MEM_BYTES; i++)
        if ((i < TARGET || i >= TARGET + TARGET_LEN) && s->mem[i] != i % 251)
            cr_assert_fail("byte %u was written", i);
}

static void assault(void)
{
    uint64_t taken = 0;
    for (int round = 0; round < ROUNDS; round++) {
        struct rdma_mr *mr;
        renew();
        cr_assert_eq(rdma_mr_reg(s->pd, s->mem + TARGET, TARGET_LEN,
                                 NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE |
                                     NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
                                 &mr),
                     0);
        for (int i = 0; i < PKTS; i++) {
            struct nornic_qp_attr attr;
            if (roce_qp_state(s->qp) == NORNIC_QPS_ERR) {
                cr_assert_neq(s->service, ROCE_SERVICE_UC, "nothing that a peer does ends UC: ROCE-UC-5");
                cr_assert_eq(roce_qp_destroy(s->qp), 0);
                s->qp = script_more_qp(s);
            }
            cr_assert_eq(roce_qp_state(s->qp), NORNIC_QPS_RTS);
            refill(s->srq ? rdma_srq_count(s->srq) : (uint32_t)i % 4);
            roce_qp_query(s->qp, &attr, NULL);
            struct script_pkt p = draw(mr, attr.rq_psn);
            script_send(s, &p);
            script_forget(s);
            s->event_read = s->event_count = 0;
        }
        expect_rest_untouched();
        taken += roce_dev_counters(s->dev)->verdicts[ROCE_RX_TAKEN];
        cr_assert_eq(rdma_mr_dereg(mr), 0);
    }
    cr_assert_gt(taken, ROUNDS * PKTS / 10, "hardly anything was taken"); /* else this would show nothing */
}

static void begin(void)
{
    config = script_defaults();
    config.masked_atomics = true;
    config.caps.max_recv_wr = 4096;
    config.recv_cq_capacity = 8192;
    s = NULL;
}

TestSuite(hostile, .init = begin, .fini = teardown);

/* covers: ROCE-GEN-7, ROCE-UC-5, ROCE-RX-20 */
Test(hostile, ROCE_GEN_7_uc)
{
    config.type = NORNIC_QPT_UC;
    assault();
}

/* covers: ROCE-GEN-7, ROCE-XRC-2 */
Test(hostile, ROCE_GEN_7_xrc_target)
{
    config.type = NORNIC_QPT_XRC_TGT;
    assault();
}

/* covers: ROCE-GEN-7 */
Test(hostile, ROCE_GEN_7_rc_with_masked_atomics_and_a_reorder_buffer)
{
    config.reorder_pkts = 8;
    assault();
}
