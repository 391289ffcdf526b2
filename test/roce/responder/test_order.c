/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 8.1: the checks of a request, in their order. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script.h"

static struct script *s;

static void renew(const struct script_config *config)
{
    if (s)
        script_free(s);
    s = script_new(config);
    for (uint64_t i = 0; i < 4; i++)
        script_recv(s, i, 8192 * i, 8192);
}

static void setup(void)
{
    struct script_config config = script_defaults();
    renew(&config);
}

static void teardown(void)
{
    script_free(s);
    s = NULL;
}

TestSuite(responder_order, .init = setup, .fini = teardown);

enum before { BETWEEN, IN_SEND, IN_WRITE, BEFORE_COUNT };

/* A request of `op` that is right by itself: a WRITE of 2048 bytes, a SEND, a READ of 8 bytes, an atomic. */
static struct script_pkt request(enum roce_op op, uint32_t psn)
{
    uint32_t flags = roce_opcodes[op].flags;
    if (flags & ROCE_PKT_READ)
        return script_read_pkt(s, psn, 65536, 8);
    if (flags & ROCE_PKT_ATOMIC)
        return script_atomic_pkt(s, op, psn, 65536, 1, 0);
    uint32_t len = flags & ROCE_PKT_ONLY ? 8 : 1024;
    struct script_pkt p =
        script_write_pkt(s, op, psn, 65536, flags & ROCE_PKT_ONLY ? 8 : 2048, script_data(), len);
    p.bth.ack_req = 1;
    return p;
}

/* Begins a message of which `op` is a fitting second packet, if it can be. */
static void enter(enum before before, enum roce_op op)
{
    if (before == BETWEEN)
        return;
    struct script_pkt p =
        request(before == IN_SEND ? ROCE_OP_SEND_FIRST : ROCE_OP_WRITE_FIRST, script_rq(s, 0));
    if (roce_opcodes[op].flags & ROCE_PKT_MIDDLE)
        p.reth.dma_len += 1024;
    p.bth.ack_req = 0;
    script_send(s, &p);
    expect_nothing(s);
}

static bool in_sequence(enum before before, enum roce_op op)
{
    uint32_t flags = roce_opcodes[op].flags;
    bool goes_on = flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST);
    switch (before) {
    case BETWEEN:
    case BEFORE_COUNT:
        return !goes_on;
    case IN_SEND:
        return goes_on && (flags & ROCE_PKT_SEND);
    case IN_WRITE:
        return goes_on && (flags & ROCE_PKT_WRITE);
    }
    return false;
}

Test(responder_order, ROCE_RS_2_every_opcode_in_every_state)
{
    struct script_config config = script_defaults();
    for (int before = BETWEEN; before < BEFORE_COUNT; before++)
        for (int op = 0; op < 0x18; op++) {
            if (!(roce_opcodes[op].flags & ROCE_PKT_REQUEST))
                continue;
            renew(&config);
            enter((enum before)before, (enum roce_op)op);
            uint32_t psn = script_rq(s, before != BETWEEN);
            struct script_pkt p = request((enum roce_op)op, psn);
            script_send(s, &p);
            const struct roce_pkt *answer = script_next(s);
            cr_assert_not_null(answer, "state %d, %s", before, roce_opcodes[op].name);
            cr_assert_eq(answer->bth.psn, psn);
            bool refused =
                answer->op->flags & ROCE_PKT_AETH && answer->aeth.syndrome == ROCE_SYNDROME_NAK_INV_REQ;
            cr_assert_eq(refused, !in_sequence((enum before)before, (enum roce_op)op),
                         "state %d, %s: syndrome %02x", before, roce_opcodes[op].name, answer->aeth.syndrome);
            if (refused)
                expect_state(s, NORNIC_QPS_ERR);
        }
}

/* An operation that is not enabled is an invalid request, whatever else is wrong with it. */
static void is_not_enabled(uint32_t access, enum roce_op op, bool bad_key, uint32_t len)
{
    struct script_config config = script_defaults();
    config.attr.access_flags = access;
    renew(&config);
    struct script_pkt p = request(op, script_rq(s, 0));
    if (bad_key) {
        p.reth.rkey ^= 0x100;
        p.atomiceth.rkey ^= 0x100;
    }
    if (len == 0) {
        p.reth.dma_len = 0;
        p.payload_bytes = 0;
    }
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RS-3, ROCE-INT-58 */
Test(responder_order, ROCE_RS_3_each_operation_needs_its_right)
{
    static const struct {
        enum roce_op op;
        uint32_t right;
    } rows[] = {
        {ROCE_OP_WRITE_FIRST, NORNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_WRITE_ONLY, NORNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_WRITE_ONLY_IMM, NORNIC_ACCESS_REMOTE_WRITE},
        {ROCE_OP_READ_REQUEST, NORNIC_ACCESS_REMOTE_READ},
        {ROCE_OP_CMP_SWAP, NORNIC_ACCESS_REMOTE_ATOMIC},
        {ROCE_OP_FETCH_ADD, NORNIC_ACCESS_REMOTE_ATOMIC},
    };
    const uint32_t all = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC;
    for (unsigned i = 0; i < array_len(rows); i++) {
        is_not_enabled(all & ~rows[i].right, rows[i].op, false, 8);
        is_not_enabled(0, rows[i].op, true, 8); /* ROCE-RS-3 comes before RS-5 */
        if (rows[i].right == NORNIC_ACCESS_REMOTE_READ)
            is_not_enabled(0, rows[i].op, false, 0);
        struct script_config config = script_defaults();
        config.attr.access_flags = rows[i].right;
        renew(&config);
        struct script_pkt p = request(rows[i].op, script_rq(s, 0));
        script_send(s, &p);
        cr_assert_not_null(script_next(s));
        expect_state(s, NORNIC_QPS_RTS);
    }
}

Test(responder_order, ROCE_RS_3_a_send_needs_no_right)
{
    struct script_config config = script_defaults();
    config.attr.access_flags = 0;
    renew(&config);
    struct script_pkt p = request(ROCE_OP_SEND_ONLY, script_rq(s, 0));
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
}

Test(responder_order, ROCE_RS_4_resources_before_keys)
{
    for (int i = 0; i < 4; i++) { /* uses up the receives */
        struct script_pkt p = request(ROCE_OP_SEND_ONLY, script_rq(s, (uint32_t)i));
        script_send(s, &p);
    }
    script_forget(s);
    struct script_pkt p = request(ROCE_OP_WRITE_ONLY_IMM, script_rq(s, 4));
    p.reth.rkey ^= 0x100;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 4), ROCE_SYNDROME_RNR | 12, 4);
    expect_state(s, NORNIC_QPS_RTS);
}

/* What is wrong with a key, an address or a length of remote memory. */
static void access_error(struct script_pkt p, int line)
{
    uint8_t was[64];
    memcpy(was, s->mem + 65536, sizeof was);
    script_send(s, &p);
    script_expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0, line);
    script_expect_nothing(s, line);
    script_expect_state(s, NORNIC_QPS_ERR, line);
    cr_assert_arr_eq(s->mem + 65536, was, sizeof was, "line %d: memory was changed", line);
    struct script_config config = script_defaults();
    renew(&config);
}
#define expect_access_error(p) access_error(p, __LINE__)

/* covers: ROCE-RS-5, ROCE-MR-3, ROCE-MR-2 */
Test(responder_order, ROCE_RS_5_key_and_range_of_each_operation)
{
    static const enum roce_op ops[] = {ROCE_OP_WRITE_ONLY, ROCE_OP_WRITE_FIRST, ROCE_OP_READ_REQUEST};
    for (unsigned i = 0; i < 3; i++) {
        uint64_t end = s->mr->iova + SCRIPT_MEM_BYTES;
        struct script_pkt p = request(ops[i], script_rq(s, 0));
        p.reth.rkey ^= 1;
        expect_access_error(p);
        p = request(ops[i], script_rq(s, 0));
        p.reth.rkey = 0;
        expect_access_error(p);
        p = request(ops[i], script_rq(s, 0));
        p.reth.rkey ^= 0x80000000;
        expect_access_error(p);
        p = request(ops[i], script_rq(s, 0));
        end = s->mr->iova + SCRIPT_MEM_BYTES;
        p.reth.va = end - p.reth.dma_len + 1;
        expect_access_error(p);
        p = request(ops[i], script_rq(s, 0));
        p.reth.va = s->mr->iova - 1;
        expect_access_error(p);
        p = request(ops[i], script_rq(s, 0));
        p.reth.va = UINT64_MAX - 3; /* wraps */
        expect_access_error(p);
    }
}

Test(responder_order, ROCE_RS_5_the_last_byte_is_inside)
{
    struct script_pkt p = request(ROCE_OP_WRITE_ONLY, script_rq(s, 0));
    p.reth.va = s->mr->iova + SCRIPT_MEM_BYTES - 8;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_arr_eq(s->mem + SCRIPT_MEM_BYTES - 8, script_data(), 8);
}

Test(responder_order, ROCE_RS_5_rights_of_the_region)
{
    static const struct {
        enum roce_op op;
        uint32_t access;
    } rows[] = {
        {ROCE_OP_WRITE_ONLY,
         NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC},
        {ROCE_OP_READ_REQUEST,
         NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC},
        {ROCE_OP_FETCH_ADD,
         NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ},
        {ROCE_OP_CMP_SWAP,
         NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ},
    };
    for (unsigned i = 0; i < 4; i++) {
        struct rdma_mr *mr;
        cr_assert_eq(rdma_mr_reg(s->pd, s->mem, SCRIPT_MEM_BYTES, rows[i].access, &mr), 0);
        struct script_pkt p = request(rows[i].op, script_rq(s, 0));
        p.reth.rkey = p.atomiceth.rkey = mr->rkey;
        script_send(s, &p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
        expect_state(s, NORNIC_QPS_ERR);
        rdma_mr_dereg(mr);
        struct script_config config = script_defaults();
        renew(&config);
    }
}

/* covers: ROCE-RS-5, ROCE-PD-1 */
Test(responder_order, ROCE_RS_5_key_of_another_pd)
{
    struct rdma_pd *pd;
    struct rdma_mr *mr;
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &pd), 0);
    cr_assert_eq(rdma_mr_reg(pd, s->mem, SCRIPT_MEM_BYTES, s->mr->access, &mr), 0);
    struct script_pkt p = request(ROCE_OP_READ_REQUEST, script_rq(s, 0));
    p.reth.rkey = mr->rkey;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    rdma_mr_dereg(mr);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
}

static void length_error(struct script_pkt p, enum before before, int line)
{
    enter(before, ROCE_OP_WRITE_LAST);
    p.bth.psn = script_rq(s, before != BETWEEN);
    script_send(s, &p);
    script_expect_nak(s, script_rq(s, before != BETWEEN), ROCE_SYNDROME_NAK_INV_REQ, 0, line);
    script_expect_nothing(s, line);
    script_expect_state(s, NORNIC_QPS_ERR, line);
    struct script_config config = script_defaults();
    renew(&config);
}
#define expect_length_error(p, before) length_error(p, before, __LINE__)
#define WRITE(op, dma_len, len)        script_write_pkt(s, op, 0, 65536, dma_len, script_data(), len)

Test(responder_order, ROCE_RS_6_length_of_writes)
{
    expect_length_error(WRITE(ROCE_OP_WRITE_FIRST, 2048, 1020), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_FIRST, 2048, 1023), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_FIRST, 2048, 1028), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_FIRST, 1000, 1024), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_ONLY, 8, 9), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_ONLY, 8, 7), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_ONLY, 0, 4), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_ONLY, 8, 0), BETWEEN);
    expect_length_error(WRITE(ROCE_OP_WRITE_ONLY, 1028, 1028), BETWEEN);
    /* the message of 2048 bytes has 1024 left */
    expect_length_error(WRITE(ROCE_OP_WRITE_MIDDLE, 0, 1020), IN_WRITE);
    expect_length_error(WRITE(ROCE_OP_WRITE_LAST, 0, 1023), IN_WRITE);
    expect_length_error(WRITE(ROCE_OP_WRITE_LAST, 0, 1028), IN_WRITE);
    expect_length_error(WRITE(ROCE_OP_WRITE_LAST, 0, 0), IN_WRITE);
    expect_length_error(WRITE(ROCE_OP_WRITE_LAST_IMM, 0, 4), IN_WRITE);
}

Test(responder_order, ROCE_RS_6_a_write_never_exceeds_its_dma_len)
{
    enter(IN_WRITE, ROCE_OP_WRITE_LAST);
    memset(s->mem + 65536 + 2048, 0xee, 1024);
    struct script_pkt p = WRITE(ROCE_OP_WRITE_MIDDLE, 0, 1024);
    p.bth.psn = script_rq(s, 1);
    script_send(s, &p); /* a MIDDLE that leaves nothing for the LAST: refused now or at the next packet */
    p = WRITE(ROCE_OP_WRITE_LAST, 0, 1024);
    p.bth.psn = script_rq(s, 2);
    script_send(s, &p);
    const struct roce_pkt *nak = script_next(s);
    cr_assert_not_null(nak);
    cr_assert_eq(nak->aeth.syndrome, ROCE_SYNDROME_NAK_INV_REQ);
    expect_state(s, NORNIC_QPS_ERR);
    for (int i = 0; i < 1024; i++)
        cr_assert_eq(s->mem[65536 + 2048 + i], 0xee);
}

Test(responder_order, ROCE_RS_6_messages_above_2_gib)
{
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, 0x80000001);
    script_send(s, &p);
    const struct roce_pkt *nak = script_next(s);
    cr_assert(nak && (nak->aeth.syndrome == ROCE_SYNDROME_NAK_INV_REQ ||
                      nak->aeth.syndrome == ROCE_SYNDROME_NAK_REM_ACC));
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RS-6, ROCE-RS-15 */
Test(responder_order, ROCE_RS_6_a_send_longer_than_the_receive)
{
    struct script_config config = script_defaults();
    script_free(s);
    s = script_new(&config);
    script_recv(s, 7, 0, 2000);
    script_recv(s, 8, 4096, 2000);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    memset(s->mem + 2000, 0xee, 100);
    p = script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), script_data(), 977);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    for (int i = 0; i < 100; i++)
        cr_assert_eq(s->mem[2000 + i], 0xee);
    expect_wc(s, recv_cq, 7, NORNIC_WC_LOC_LEN_ERR);
    expect_wc(s, recv_cq, 8, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
    expect_no_event(s);
    expect_state(s, NORNIC_QPS_ERR);
}

Test(responder_order, ROCE_RS_6_a_send_that_just_fits)
{
    struct script_config config = script_defaults();
    script_free(s);
    s = script_new(&config);
    script_recv(s, 7, 0, 2000);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    p = script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), script_data() + 1024, 976);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 1), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.byte_len, 2000);
    cr_assert_arr_eq(s->mem, script_data(), 2000);
}

/* covers: ROCE-RS-7, ROCE-RS-15, ROCE-MR-4 */
Test(responder_order, ROCE_RS_7_scatter_fault)
{
    for (int kind = 0; kind < 2; kind++) { /* no such key; a region that may not be written */
        struct script_config config = script_defaults();
        script_free(s);
        s = script_new(&config);
        struct rdma_mr *mr;
        cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 4096, NORNIC_ACCESS_REMOTE_READ, &mr), 0);
        struct nornic_sge sge = {(uintptr_t)s->mem, 4096, kind ? mr->lkey : mr->lkey ^ 1};
        struct nornic_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8);
        script_send(s, &p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_OP, 0);
        expect_state(s, NORNIC_QPS_ERR);
        struct nornic_wc wc;
        cr_assert_eq(rdma_cq_poll(s->recv_cq, &wc, 1), 1);
        cr_assert(wc.wr_id == 5 &&
                  (wc.status == NORNIC_WC_LOC_PROT_ERR || wc.status == NORNIC_WC_LOC_QP_OP_ERR));
        cr_assert_eq(s->mem[0], 0);
        rdma_mr_dereg(mr);
    }
}

/* covers: ROCE-RS-8, ROCE-MR-5 */
Test(responder_order, ROCE_RS_8_region_gone_in_mid_message)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem + 65536, 4096, s->mr->access, &mr), 0);
    struct script_pkt p = WRITE(ROCE_OP_WRITE_FIRST, 2048, 1024);
    p.reth.rkey = mr->rkey;
    p.bth.psn = script_rq(s, 0);
    script_send(s, &p);
    rdma_mr_dereg(mr);
    memset(s->mem + 65536, 0xee, 4096);
    p = WRITE(ROCE_OP_WRITE_LAST, 0, 1024);
    p.bth.psn = script_rq(s, 1);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_state(s, NORNIC_QPS_ERR);
    for (int i = 0; i < 4096; i++)
        cr_assert_eq(s->mem[65536 + i], 0xee);
}

Test(responder_order, ROCE_RS_8_the_whole_dma_len_is_checked_at_once)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), SCRIPT_MEM_BYTES - 1024,
                                           1025, script_data(), 1024);
    memset(s->mem + SCRIPT_MEM_BYTES - 1024, 0xee, 1024);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    cr_assert_eq(s->mem[SCRIPT_MEM_BYTES - 1024], 0xee);
}

/* covers: ROCE-RS-9, ROCE-RC-2 */
Test(responder_order, ROCE_RS_9_a_read_takes_a_psn_a_response)
{
    static const struct {
        uint32_t len, psns;
    } rows[] = {{0, 1}, {1, 1}, {1024, 1}, {1025, 2}, {3001, 3}, {4096, 4}, {4097, 5}};
    uint32_t i = 0, msn = 0;
    for (unsigned row = 0; row < array_len(rows); row++) {
        struct script_pkt p = script_read_pkt(s, script_rq(s, i), 0, rows[row].len);
        script_send(s, &p);
        script_forget(s);
        i += rows[row].psns;
        p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 65536, 4, script_data(), 4);
        p.bth.ack_req = 1;
        script_send(s, &p);
        msn += 2;
        expect_ack(s, script_rq(s, i), msn);
        i++;
    }
}

Test(responder_order, ROCE_RS_1_sequence_numbers_are_signed_24_bit)
{
    struct script_pkt p = request(ROCE_OP_SEND_ONLY, script_rq(s, 0));
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    static const struct {
        uint32_t ahead; /* of the expected PSN */
        bool duplicate;
    } rows[] = {{0xffffff, true}, {0xc00000, true}, {0x800001, true}, {0x7fffff, false}};
    for (unsigned i = 0; i < 4; i++) {
        p = request(ROCE_OP_SEND_ONLY, script_rq(s, 1 + rows[i].ahead));
        script_send(s, &p);
        if (rows[i].duplicate)
            expect_ack(s, script_rq(s, 0), 1);
        else
            expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    }
    expect_nothing(s);
}
