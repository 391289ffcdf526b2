/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 9 and the column of UC in section 6.3: what is taken, and what is dropped without a word. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

#define BUFFER  4096u
#define TARGET  65536u
#define MTU     1024u
#define RECVS   4u
#define ANY_PSN 0x345678u

static void post_receives(void)
{
    for (uint32_t i = 0; i < RECVS; i++)
        script_recv(s, i, i * BUFFER, BUFFER);
}

static void start(void)
{
    renew();
    post_receives();
}

static void uc_setup(void)
{
    config = script_defaults();
    config.type = NORNIC_QPT_UC;
    start();
}

TestSuite(uc_receive, .init = uc_setup, .fini = teardown);

/* Gives a packet; it is never answered, and leaves the QP in its state, whatever it is. */
static void give(const struct script_pkt *p)
{
    script_send(s, p);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    while (s->event_read < s->event_count)
        expect_event(s, NORNIC_EVENT_COMM_EST);
}

static void send_at(enum roce_op op, uint32_t psn, const uint8_t *data, uint32_t len_bytes)
{
    struct script_pkt p = script_send_pkt(s, op, psn, data, len_bytes);
    memcpy(&p.imm_data, "\1\2\3\4", 4);
    give(&p);
}

static void write_at(enum roce_op op, uint32_t psn, uint32_t dma_len, const uint8_t *data, uint32_t len_bytes)
{
    struct script_pkt p = script_write_pkt(s, op, psn, TARGET, dma_len, data, len_bytes);
    memcpy(&p.imm_data, "\1\2\3\4", 4);
    give(&p);
}

static uint32_t rq(uint32_t i)
{
    return script_rq(s, i);
}

/* --- the table --- */

enum before { BETWEEN, IN_SEND, IN_WRITE, BEFORE_COUNT };

/* A request of `op` that is right by itself; what follows a WRITE_FIRST fits `dma_len`. */
static struct script_pkt request(unsigned op, uint32_t psn, uint32_t dma_len)
{
    bool only = op == ROCE_OP_SEND_ONLY || op == ROCE_OP_SEND_ONLY_IMM || op == ROCE_OP_WRITE_ONLY ||
                op == ROCE_OP_WRITE_ONLY_IMM;
    return script_write_pkt(s, (enum roce_op)op, psn, TARGET, only ? 8 : dma_len, script_data(),
                            only ? 8 : MTU);
}

static bool begins(unsigned op)
{
    return op == ROCE_OP_SEND_FIRST || op == ROCE_OP_SEND_ONLY || op == ROCE_OP_SEND_ONLY_IMM ||
           op == ROCE_OP_WRITE_FIRST || op == ROCE_OP_WRITE_ONLY || op == ROCE_OP_WRITE_ONLY_IMM;
}

static bool goes_on(enum before before, unsigned op)
{
    if (before == IN_SEND)
        return op >= ROCE_OP_SEND_MIDDLE && op <= ROCE_OP_SEND_LAST_IMM;
    return before == IN_WRITE && op >= ROCE_OP_WRITE_MIDDLE && op <= ROCE_OP_WRITE_LAST_IMM;
}

static bool completes(unsigned op)
{
    return (op >= ROCE_OP_SEND_LAST && op <= ROCE_OP_SEND_ONLY_IMM) || op == ROCE_OP_WRITE_LAST_IMM ||
           op == ROCE_OP_WRITE_ONLY_IMM;
}

static uint64_t verdicts(enum roce_rx_verdict verdict)
{
    return roce_dev_counters(s->dev)->verdicts[verdict];
}

/* Whether the last packet of the message of `kind` is taken at `psn`, which completes a receive. */
static bool ends_at(enum before kind, uint32_t psn, uint64_t wr_id)
{
    uint64_t taken = verdicts(ROCE_RX_TAKEN);
    if (kind == IN_SEND)
        send_at(ROCE_OP_SEND_LAST, psn, script_data(), MTU);
    else
        write_at(ROCE_OP_WRITE_LAST_IMM, psn, 0, script_data(), MTU);
    if (verdicts(ROCE_RX_TAKEN) == taken)
        return false;
    expect_wc(s, recv_cq, wr_id, NORNIC_WC_SUCCESS);
    return true;
}

static void try_opcode(enum before before, unsigned op, int off)
{
    start();
    bool middle = op == ROCE_OP_SEND_MIDDLE || op == ROCE_OP_WRITE_MIDDLE;
    bool first = op == ROCE_OP_SEND_FIRST || op == ROCE_OP_WRITE_FIRST;
    uint32_t dma_len = middle ? 3 * MTU : 2 * MTU;
    if (before != BETWEEN) {
        struct script_pkt p =
            request(before == IN_SEND ? ROCE_OP_SEND_FIRST : ROCE_OP_WRITE_FIRST, rq(0), dma_len);
        give(&p);
    }
    uint32_t epsn = rq(before != BETWEEN), psn = roce_psn_add(epsn, (uint32_t)off & ROCE_PSN_MASK);
    uint64_t taken_before = verdicts(ROCE_RX_TAKEN);
    struct script_pkt p = request(op, psn, dma_len);
    give(&p);

    bool reserved = op > ROCE_OP_WRITE_ONLY_IMM;
    bool taken = begins(op) || (off == 0 && goes_on(before, op));
    cr_assert_eq(verdicts(ROCE_RX_TAKEN) - taken_before, taken, "state %d, opcode %02x, PSN %+d", before, op,
                 off);
    cr_assert_eq(verdicts(ROCE_RX_DROP_OPCODE), reserved);
    cr_assert_eq(verdicts(ROCE_RX_DROP_ORDER), !reserved && !taken);
    bool done = taken && completes(op);
    if (done)
        expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS); /* what an abandoned SEND had taken: ROCE-UC-4 */
    expect_no_wc(s, recv_cq);

    /* what has become of the message that was open, and of the one that has begun */
    if (before != BETWEEN && !(taken && first))
        cr_assert_eq(ends_at(before, taken && middle ? rq(2) : epsn, done), reserved || (taken && middle),
                     "state %d, opcode %02x, PSN %+d", before, op, off);
    if (taken && first)
        cr_assert(ends_at(op == ROCE_OP_SEND_FIRST ? IN_SEND : IN_WRITE, roce_psn_add(psn, 1), 0));
    expect_no_wc(s, recv_cq);
}

/* Every opcode of the service, reserved ones too, in every state, at, before and after the expected PSN. */
/* covers: ROCE-UC-2, ROCE-UC-3, ROCE-UC-4, ROCE-OPC-5, ROCE-RX-20 */
Test(uc_receive, ROCE_UC_3_every_opcode_in_every_state_at_every_psn)
{
    for (int before = BETWEEN; before < BEFORE_COUNT; before++)
        for (unsigned op = 0; op < 32; op++)
            for (int off = -1; off <= 1; off++)
                try_opcode((enum before)before, op, off);
}

/* --- sequence --- */

/* covers: ROCE-UC-2, ROCE-RS-41 */
Test(uc_receive, ROCE_UC_2_a_whole_message)
{
    send_at(ROCE_OP_SEND_FIRST, rq(0), script_data(), MTU);
    send_at(ROCE_OP_SEND_MIDDLE, rq(1), script_data() + MTU, MTU);
    expect_no_wc(s, recv_cq);
    send_at(ROCE_OP_SEND_LAST_IMM, rq(2), script_data() + 2 * MTU, 7);
    struct nornic_wc wc = expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV);
    cr_assert_eq(wc.byte_len, 2 * MTU + 7);
    cr_assert_eq(wc.wc_flags, NORNIC_WC_WITH_IMM);
    cr_assert_eq(memcmp(&wc.imm_data, "\1\2\3\4", 4), 0);
    cr_assert_arr_eq(s->mem, script_data(), 2 * MTU + 7);
    cr_assert_eq(roce_qp_counters(s->qp)->messages_abandoned, 0);
    cr_assert_eq(roce_qp_counters(s->qp)->out_of_sequence, 0);
}

Test(uc_receive, ROCE_UC_2_what_is_replayed_is_executed_again)
{
    for (uint64_t i = 0; i < 3; i++) {
        send_at(ROCE_OP_SEND_ONLY, rq(0), script_data(), 20);
        expect_wc(s, recv_cq, i, NORNIC_WC_SUCCESS);
    }
    send_at(ROCE_OP_SEND_ONLY, ANY_PSN, script_data(), 20); /* far away is as good */
    expect_wc(s, recv_cq, 3, NORNIC_WC_SUCCESS);
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.rq_psn, ANY_PSN + 1);
}

/* Each packet of a SEND of five lost in turn; the next message arrives whole in the same buffer. */
/* covers: ROCE-UC-2, ROCE-UC-4 */
Test(uc_receive, ROCE_UC_4_any_packet_lost_and_the_receive_serves_the_next_message)
{
    for (uint32_t lost = 0; lost < 4; lost++) {
        start();
        for (uint32_t i = 0; i < 4; i++) {
            enum roce_op op = i == 0 ? ROCE_OP_SEND_FIRST : i == 3 ? ROCE_OP_SEND_LAST : ROCE_OP_SEND_MIDDLE;
            if (i != lost)
                send_at(op, rq(i), script_data(), i == 3 ? 9 : MTU);
        }
        expect_no_wc(s, recv_cq);
        send_at(ROCE_OP_SEND_FIRST, rq(4), script_data() + 5000, MTU);
        send_at(ROCE_OP_SEND_LAST, rq(5), script_data() + 5000 + MTU, 100);
        cr_assert_eq(expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS).byte_len, MTU + 100);
        cr_assert_arr_eq(s->mem, script_data() + 5000, MTU + 100);
        cr_assert_eq(roce_qp_counters(s->qp)->messages_abandoned, lost != 0);
    }
}

/* A WRITE that broke off does not keep a SEND from its receive, nor the other way round. */
Test(uc_receive, ROCE_UC_3_a_first_ends_whatever_was_open)
{
    send_at(ROCE_OP_SEND_FIRST, rq(0), script_data(), MTU);
    write_at(ROCE_OP_WRITE_FIRST, rq(1), 2 * MTU, script_data(), MTU);
    send_at(ROCE_OP_SEND_LAST, rq(2), script_data(), MTU); /* not of the WRITE */
    write_at(ROCE_OP_WRITE_LAST_IMM, rq(3), 0, script_data(), MTU);
    expect_no_wc(s, recv_cq);
    send_at(ROCE_OP_SEND_ONLY, rq(4), script_data(), MTU);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_counters(s->qp)->messages_abandoned, 2);
    expect_verdict(s, ROCE_RX_DROP_ORDER, 2);
}

/* covers: ROCE-UC-6, ROCE-RS-42 */
Test(uc_receive, ROCE_UC_6_an_immediate_tells_of_a_whole_write_only)
{
    static const enum roce_op ops[] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST_IMM};
    for (uint32_t lost = 0; lost < 4; lost++) {
        start();
        for (uint32_t i = 0; i < 3; i++)
            if (i != lost)
                write_at(ops[i], rq(i), 2 * MTU + 5, script_data() + MTU * i, i == 2 ? 5 : MTU);
        if (lost < 3) {
            expect_no_wc(s, recv_cq);
            continue;
        }
        struct nornic_wc wc = expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.opcode, NORNIC_WC_RECV_RDMA_WITH_IMM);
        cr_assert_eq(wc.byte_len, 2 * MTU + 5);
        cr_assert_arr_eq(s->mem + TARGET, script_data(), 2 * MTU + 5);
    }
}

/* A last packet that leaves the message shorter, or makes it longer, than its first one said. */
/* covers: ROCE-UC-5, ROCE-RS-6 */
Test(uc_receive, ROCE_UC_6_nor_of_a_write_of_another_length)
{
    for (uint32_t n = 4; n <= 6; n++) {
        start();
        write_at(ROCE_OP_WRITE_FIRST, rq(0), MTU + 5, script_data(), MTU);
        write_at(ROCE_OP_WRITE_LAST_IMM, rq(1), 0, script_data() + MTU, n);
        expect_verdict(s, ROCE_RX_DROP_LENGTH, n == 5 ? 0 : 1);
        if (n == 5)
            expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
        expect_no_wc(s, recv_cq);
    }
}

/* --- faults of the peer --- */

/* Nothing was placed at or after `from`, and the next message is as welcome as ever. */
static void expect_untouched(uint32_t from, uint32_t psn)
{
    for (uint32_t i = from; i < 4 * MTU; i++)
        cr_assert_eq(s->mem[TARGET + i], (uint8_t)((TARGET + i) % 251), "byte %u", i);
    expect_no_wc(s, recv_cq);
    write_at(ROCE_OP_WRITE_ONLY_IMM, psn, 20, script_data(), 20);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + TARGET, script_data(), 20);
}

/* A message without a receive is lost whole, even if one is posted half-way. */
/* covers: ROCE-UC-5 */
Test(uc_receive, ROCE_UC_5_no_receive)
{
    renew();
    send_at(ROCE_OP_SEND_FIRST, rq(0), script_data(), MTU);
    expect_verdict(s, ROCE_RX_DROP_NO_RECV, 1);
    post_receives();
    send_at(ROCE_OP_SEND_MIDDLE, rq(1), script_data(), MTU);
    send_at(ROCE_OP_SEND_LAST, rq(2), script_data(), MTU);
    expect_verdict(s, ROCE_RX_DROP_ORDER, 2);
    expect_no_wc(s, recv_cq);
    send_at(ROCE_OP_SEND_ONLY, rq(3), script_data(), 8);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
}

/* The packet with the immediate finds no receive: what came before it stays, its own bytes are not placed. */
/* covers: ROCE-UC-5, ROCE-UC-6 */
Test(uc_receive, ROCE_UC_6_no_receive_for_the_immediate)
{
    renew();
    write_at(ROCE_OP_WRITE_FIRST, rq(0), 2 * MTU, script_data(), MTU);
    write_at(ROCE_OP_WRITE_LAST_IMM, rq(1), 0, script_data() + MTU, MTU);
    expect_verdict(s, ROCE_RX_DROP_NO_RECV, 1);
    cr_assert_arr_eq(s->mem + TARGET, script_data(), MTU);
    post_receives();
    expect_untouched(MTU, rq(2));
}

/* covers: ROCE-UC-5 */
Test(uc_receive, ROCE_UC_5_keys_ranges_and_rights)
{
    for (int fault = 0; fault < 4; fault++) {
        config.attr.access_flags = fault == 3 ? 0 : NORNIC_ACCESS_REMOTE_WRITE;
        start();
        struct script_pkt p =
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, rq(0), TARGET, 2 * MTU, script_data(), MTU);
        p.reth.rkey ^= fault == 0 ? 0x100 : 0;
        p.reth.va = fault == 1 ? s->mr->iova + SCRIPT_MEM_BYTES - MTU : p.reth.va;
        p.reth.va = fault == 2 ? UINT64_MAX - 100 : p.reth.va;
        give(&p);
        expect_verdict(s, fault == 3 ? ROCE_RX_DROP_OPCODE : ROCE_RX_DROP_KEY, 1);
        write_at(ROCE_OP_WRITE_LAST_IMM, rq(1), 0, script_data(), MTU);
        expect_verdict(s, ROCE_RX_DROP_ORDER, 1);
        if (fault == 3) {
            s->config.attr.access_flags = NORNIC_ACCESS_REMOTE_WRITE;
            cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_ACCESS_FLAGS), 0);
        }
        expect_untouched(0, rq(2));
    }
}

/* A region that goes away between two packets: ROCE-RS-8 says when it is noticed. */
/* covers: ROCE-UC-5, ROCE-RS-8 */
Test(uc_receive, ROCE_UC_5_data_placed_before_the_fault_stays)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem + TARGET, 4 * MTU,
                             NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, &mr),
                 0);
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_FIRST, rq(0), TARGET, 2 * MTU, script_data(), MTU);
    p.reth.rkey = mr->rkey;
    give(&p);
    rdma_mr_dereg(mr);
    write_at(ROCE_OP_WRITE_LAST_IMM, rq(1), 0, script_data(), MTU);
    expect_verdict(s, ROCE_RX_DROP_KEY, 1);
    cr_assert_arr_eq(s->mem + TARGET, script_data(), MTU);
    expect_untouched(MTU, rq(2));
}

/* covers: ROCE-UC-5, ROCE-RS-6 */
Test(uc_receive, ROCE_UC_5_length_rules)
{
    static const struct {
        enum roce_op op;
        uint32_t dma_len, len;
    } rows[] = {
        {ROCE_OP_SEND_FIRST, 0, MTU - 4},
        {ROCE_OP_SEND_FIRST, 0, MTU + 4},
        {ROCE_OP_SEND_ONLY, 0, MTU + 4},
        {ROCE_OP_WRITE_FIRST, 2 * MTU, MTU - 4},
        {ROCE_OP_WRITE_FIRST, MTU, MTU},
        {ROCE_OP_WRITE_FIRST, 0, MTU},
        {ROCE_OP_WRITE_ONLY, 8, 9},
        {ROCE_OP_WRITE_ONLY, 9, 8},
        {ROCE_OP_WRITE_ONLY_IMM, 0, 8},
        {ROCE_OP_WRITE_ONLY_IMM, 1, 0},
        {ROCE_OP_WRITE_ONLY, MTU + 4, MTU + 4},
    };
    for (unsigned i = 0; i < array_len(rows); i++) {
        start();
        write_at(rows[i].op, rq(0), rows[i].dma_len, script_data(), rows[i].len);
        expect_verdict(s, ROCE_RX_DROP_LENGTH, 1);
        write_at(rows[i].op < ROCE_OP_WRITE_FIRST ? ROCE_OP_SEND_LAST : ROCE_OP_WRITE_LAST_IMM, rq(1), 0,
                 script_data(), MTU);
        expect_verdict(s, ROCE_RX_DROP_ORDER, 1);
        expect_untouched(0, rq(2));
    }
}

/* ... and those of what follows the first packet. */
/* covers: ROCE-UC-5, ROCE-RS-6 */
Test(uc_receive, ROCE_UC_5_length_rules_inside_a_message)
{
    static const struct {
        enum roce_op first, op;
        uint32_t len;
    } rows[] = {
        {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, MTU - 4}, {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, 0},
        {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_LAST, MTU + 4},   {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, MTU},
        {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_LAST, MTU - 4}, {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_LAST_IMM, 0},
    };
    for (unsigned i = 0; i < array_len(rows); i++) {
        start();
        write_at(rows[i].first, rq(0), 2 * MTU, script_data(), MTU);
        write_at(rows[i].op, rq(1), 0, script_data(), rows[i].len);
        expect_verdict(s, ROCE_RX_DROP_LENGTH, 1);
        expect_untouched(MTU, rq(2));
    }
}

/* covers: ROCE-UC-4, ROCE-UC-5 */
Test(uc_receive, ROCE_UC_4_a_message_longer_than_its_buffer_leaves_the_receive)
{
    for (uint32_t i = 0; i < 5; i++)
        send_at(i == 0 ? ROCE_OP_SEND_FIRST : ROCE_OP_SEND_MIDDLE, rq(i), script_data(), MTU);
    expect_verdict(s, ROCE_RX_DROP_TOO_LONG, 1);
    send_at(ROCE_OP_SEND_LAST, rq(5), script_data(), 1);
    expect_verdict(s, ROCE_RX_DROP_ORDER, 1);
    for (uint32_t i = 0; i < 4; i++) /* exactly full is fine */
        send_at(i == 0   ? ROCE_OP_SEND_FIRST
                : i == 3 ? ROCE_OP_SEND_LAST
                         : ROCE_OP_SEND_MIDDLE,
                rq(6 + i), script_data() + 100, MTU);
    cr_assert_eq(expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS).byte_len, BUFFER);
}

/* --- faults of this side --- */

/* covers: ROCE-RC-64 */
Test(uc_receive, ROCE_RC_64_a_receive_that_cannot_be_stored_to_ends_the_connection)
{
    renew();
    struct nornic_sge sge = {(uintptr_t)s->mem, 100, s->mr->lkey ^ 0x100};
    struct nornic_recv_wr wr = {.wr_id = 5, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    script_recv(s, 6, 0, 100);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, rq(0), script_data(), 10);
    script_send(s, &p);
    expect_nothing(s);
    expect_wc(s, recv_cq, 5, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, recv_cq, 6, NORNIC_WC_WR_FLUSH_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    expect_verdict(s, ROCE_RX_DROP_LOCAL, 1);
}

/* covers: ROCE-RC-64, ROCE-RS-16, ROCE-CQ-2 */
Test(uc_receive, ROCE_RS_16_a_full_queue_ends_the_connection)
{
    config.recv_cq_capacity = 2;
    start();
    for (uint32_t i = 0; i < 3; i++) {
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, rq(i), script_data(), 10);
        script_send(s, &p);
    }
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_ERR);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
}

/* --- admission --- */

/* covers: ROCE-RX-13, ROCE-RX-14, ROCE-EV-5 */
Test(uc_receive, ROCE_RX_13_packets_of_other_services)
{
    for (unsigned service = 0; service < 8; service++) {
        if (service == ROCE_SERVICE_UC || service == ROCE_SERVICE_CNP)
            continue;
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, rq(0), script_data(), 10);
        p.bth.opcode = ROCE_OPCODE(service, ROCE_OP_SEND_ONLY);
        give(&p);
        expect_no_wc(s, recv_cq);
    }
    expect_verdict(s, ROCE_RX_DROP_TYPE, 6);
    config.state = NORNIC_QPS_RTR;
    start();
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, rq(0), script_data(), 10);
    script_send(s, &p);
    expect_event(s, NORNIC_EVENT_COMM_EST);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    config.state = NORNIC_QPS_RTS;
}
