/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE sections 8.5 and 8.6: execution, MSN, acknowledging. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

#include "net/bytes.h"
#include "rdma/transport.h"
#include "test/support/rc_masks.h"
#include "test/support/script.h"

static struct script *s;

static void setup(void)
{
    struct script_config config = script_defaults();
    s = script_new(&config);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(responder_exec, .init = setup, .fini = teardown);

static void send(struct script_pkt p)
{
    script_send(s, &p);
}

static struct script_pkt asking(struct script_pkt p)
{
    p.bth.ack_req = 1;
    return p;
}

static struct script_pkt write_only(uint32_t i, uint64_t offset)
{
    return script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), offset, 4, script_data(), 4);
}

static struct script_pkt read(uint32_t i, uint64_t offset, uint32_t len)
{
    return script_read_pkt(s, script_rq(s, i), offset, len);
}

static uint64_t word(uint64_t offset)
{
    uint64_t v;
    memcpy(&v, s->mem + offset, 8);
    return v;
}

Test(responder_exec, ROCE_RS_40_responses_leave_in_psn_order)
{
    struct script_pkt burst[6] = {
        asking(write_only(0, 65536)), read(1, 0, 3000),
        asking(write_only(4, 65536)), script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 5), 64, 1, 0),
        asking(write_only(6, 65536)), asking(write_only(7, 65536))};
    script_burst(s, burst, 6);
    static const uint8_t allowed[] = {ROCE_OP_ACK,
                                      ROCE_OP_READ_RESP_FIRST,
                                      ROCE_OP_READ_RESP_MIDDLE,
                                      ROCE_OP_READ_RESP_LAST,
                                      ROCE_OP_ACK,
                                      ROCE_OP_ATOMIC_ACK,
                                      ROCE_OP_ACK,
                                      ROCE_OP_ACK};
    const struct roce_pkt *pkt;
    int32_t at = -1;
    uint32_t responses = 0;
    while ((pkt = script_next(s))) {
        int32_t i = roce_psn_diff(pkt->bth.psn, script_rq(s, 0));
        cr_assert_gt(i, at, "PSN %d after %d", i, at);
        cr_assert_lt(i, 8);
        cr_assert_eq(pkt->bth.opcode, allowed[i], "%s at %d", pkt->op->name, i);
        responses += pkt->bth.opcode != ROCE_OP_ACK;
        at = i;
    }
    cr_assert_eq(at, 7, "the last request was not acknowledged");
    cr_assert_eq(responses, 4);
}

Test(responder_exec, ROCE_RS_40_requests_execute_in_psn_order)
{
    struct script_pkt burst[4] = {read(0, 512, 4), write_only(1, 512), read(2, 512, 4), write_only(3, 516)};
    uint8_t before[4];
    memcpy(before, s->mem + 512, 4);
    burst[3] = asking(burst[3]);
    script_burst(s, burst, 4);
    /* ROCE-RS-49 fetches a READ's data late; a later READ sees all earlier WRITEs (RS-61) */
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
    const struct roce_pkt *p = script_next(s);
    if (p && p->bth.opcode == ROCE_OP_ACK)
        p = script_next(s);
    cr_assert(p && p->bth.opcode == ROCE_OP_READ_RESP_ONLY && p->bth.psn == script_rq(s, 2));
    cr_assert_arr_eq(p->payload, script_data(), 4);
    expect_ack(s, script_rq(s, 3), 4);
}

Test(responder_exec, ROCE_RS_41_a_send_is_scattered)
{
    struct nornic_sge sges[4] = {{(uintptr_t)s->mem + 10, 1000, s->mr->lkey},
                                 {(uintptr_t)s->mem + 4000, 0, 0},
                                 {(uintptr_t)s->mem + 5000, 1100, s->mr->lkey},
                                 {(uintptr_t)s->mem + 9000, 3000, s->mr->lkey}};
    struct nornic_recv_wr wr = {.wr_id = 11, .sg_list = sges, .num_sge = 4};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    send(script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024));
    send(script_send_pkt(s, ROCE_OP_SEND_MIDDLE, script_rq(s, 1), script_data() + 1024, 1024));
    expect_no_wc(s, recv_cq);
    struct script_pkt p =
        script_send_pkt(s, ROCE_OP_SEND_LAST_IMM, script_rq(s, 2), script_data() + 2048, 451);
    memcpy(&p.imm_data, "\x01\x02\x03\x04", 4);
    send(asking(p));
    expect_ack(s, script_rq(s, 2), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 11, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV);
    cr_assert_eq(wc.byte_len, 2499);
    cr_assert_eq(wc.qp_num, roce_qp_num(s->qp));
    cr_assert_eq(wc.wc_flags, NORNIC_WC_WITH_IMM);
    cr_assert_eq(memcmp(&wc.imm_data, "\x01\x02\x03\x04", 4), 0);
    cr_assert_arr_eq(s->mem + 10, script_data(), 1000);
    cr_assert_arr_eq(s->mem + 5000, script_data() + 1000, 1100);
    cr_assert_arr_eq(s->mem + 9000, script_data() + 2100, 399);
    cr_assert_eq(s->mem[9399], 9399 % 251);
    cr_assert_eq(s->mem[9], 9);
}

Test(responder_exec, ROCE_RS_41_receives_are_taken_in_order)
{
    for (uint64_t i = 0; i < 3; i++)
        script_recv(s, 20 + i, 1000 * i, 100);
    for (uint32_t i = 0; i < 3; i++) {
        send(script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data() + i, 5));
        struct nornic_wc wc = expect_wc(s, recv_cq, 20 + i, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.byte_len, 5);
        cr_assert_eq(wc.wc_flags, 0);
        cr_assert_arr_eq(s->mem + 1000 * i, script_data() + i, 5);
    }
}

Test(responder_exec, ROCE_RS_42_a_write_takes_no_receive)
{
    script_recv(s, 1, 0, 64);
    send(script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 65537, 2050, script_data(), 1024));
    send(script_send_pkt(s, ROCE_OP_WRITE_MIDDLE, script_rq(s, 1), script_data() + 1024, 1024));
    send(asking(script_send_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 2), script_data() + 2048, 2)));
    expect_ack(s, script_rq(s, 2), 1);
    cr_assert_arr_eq(s->mem + 65537, script_data(), 2050);
    cr_assert_eq(s->mem[65536], 65536 % 251);
    cr_assert_eq(s->mem[65537 + 2050], (65537 + 2050) % 251);
    expect_no_wc(s, recv_cq);
}

Test(responder_exec, ROCE_RS_42_write_with_immediate_completes_a_receive_and_ignores_its_sges)
{
    struct nornic_sge sge = {0x10, 64, 0xdead}; /* nothing that could be written */
    struct nornic_recv_wr wr = {.wr_id = 9, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    send(script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 65536, 1500, script_data(), 1024));
    expect_no_wc(s, recv_cq);
    struct script_pkt p =
        script_send_pkt(s, ROCE_OP_WRITE_LAST_IMM, script_rq(s, 1), script_data() + 1024, 1500 - 1024);
    memcpy(&p.imm_data, "\xca\xfe\xba\xbe", 4);
    send(asking(p));
    expect_ack(s, script_rq(s, 1), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 9, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV_RDMA_WITH_IMM);
    cr_assert_eq(wc.byte_len, 1500);
    cr_assert_eq(wc.wc_flags, NORNIC_WC_WITH_IMM);
    cr_assert_eq(memcmp(&wc.imm_data, "\xca\xfe\xba\xbe", 4), 0);
    cr_assert_arr_eq(s->mem + 65536, script_data(), 1500);
}

Test(responder_exec, ROCE_RS_42_write_only_with_immediate_of_no_bytes)
{
    struct nornic_recv_wr wr = {.wr_id = 9};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY_IMM, script_rq(s, 0), 0, 0, NULL, 0);
    send(asking(p));
    expect_ack(s, script_rq(s, 0), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 9, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.byte_len, 0);
}

Test(responder_exec, ROCE_RS_43_no_receive_for_a_last_with_immediate)
{
    send(asking(script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 65536, 1500, script_data(), 1024)));
    expect_ack(s, script_rq(s, 0), 0);
    struct script_pkt last =
        asking(script_send_pkt(s, ROCE_OP_WRITE_LAST_IMM, script_rq(s, 1), script_data() + 1024, 476));
    send(last);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_RNR | 12, 0);
    cr_assert_arr_eq(s->mem + 65536, script_data(), 1024);
    cr_assert_eq(s->mem[65536 + 1024], (65536 + 1024) % 251, "data of the refused packet was placed");
    script_recv(s, 1, 0, 16);
    send(last);
    expect_ack(s, script_rq(s, 1), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 65536, script_data(), 1500);
}

Test(responder_exec, ROCE_RS_43_no_receive_for_an_only_with_immediate)
{
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY_IMM, script_rq(s, 0), 65536, 8, script_data(), 8);
    send(p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    cr_assert_eq(s->mem[65537], 65537 % 251);
}

/* A plain region is nothing that can be invalidated from afar. */
Test(responder_exec, ROCE_RS_45_invalidate_fails)
{
    script_recv(s, 1, 0, 64);
    script_recv(s, 2, 0, 64);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY_INV, script_rq(s, 0), script_data(), 8);
    p.ieth_rkey = s->mr->rkey;
    send(p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    expect_wc(s, recv_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    cr_assert_eq(rdma_mr_find(roce_dev_domain(s->dev), s->mr->rkey), s->mr);
}

/* covers: ROCE-RS-46, ROCE-HDR-11 */
Test(responder_exec, ROCE_RS_46_compare_and_swap)
{
    uint64_t v = UINT64_C(0x1122334455667788);
    memcpy(s->mem + 64, &v, 8);
    send(script_atomic_pkt(s, ROCE_OP_CMP_SWAP, script_rq(s, 0), 64, 5, v + 1));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0));
    cr_assert_eq(p->atomicacketh.original, v);
    cr_assert_eq(word(64), v, "unequal: not stored");
    send(script_atomic_pkt(s, ROCE_OP_CMP_SWAP, script_rq(s, 1), 64, 5, v));
    p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 1));
    cr_assert_eq(p->atomicacketh.original, v);
    cr_assert_eq(get_be64(s->out[s->out_read - 1].bytes + (p->payload - p->frame) - 8), v,
                 "big-endian on the wire");
    cr_assert_eq(word(64), 5, "equal: stored");
    cr_assert_eq(s->mem[72], 72);
    cr_assert_eq(s->mem[63], 63);
}

Test(responder_exec, ROCE_RS_46_fetch_and_add_wraps)
{
    uint64_t v = UINT64_MAX - 1;
    memcpy(s->mem + 64, &v, 8);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 5, 0));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0));
    cr_assert_eq(p->atomicacketh.original, v);
    cr_assert_eq(word(64), 3);
    expect_no_wc(s, recv_cq);
}

struct local_adder {
    uint64_t *word;
    atomic_bool stop;
    uint64_t added;
};

static void *add_locally(void *arg)
{
    struct local_adder *a = arg;
    while (!atomic_load(&a->stop)) {
        __atomic_fetch_add(a->word, 1, __ATOMIC_SEQ_CST);
        a->added++;
    }
    return NULL;
}

/* The application's own atomics and the peer's lose nothing to each other. A plain access is a report under
 * SAN=thread; without that it takes luck to see an update lost. */
Test(responder_exec, ROCE_RS_47_local_atomics_see_remote_ones, .timeout = 30)
{
    const uint32_t rounds = 8000;
    struct local_adder a = {.word = (uint64_t *)(s->mem + 4096)};
    pthread_t thread;
    *a.word = 0;
    cr_assert_eq(pthread_create(&thread, NULL, add_locally, &a), 0);
    while (__atomic_load_n(a.word, __ATOMIC_SEQ_CST) == 0)
        sched_yield(); /* both are running from here on */
    for (uint32_t i = 0; i < rounds; i++) {
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 4096, UINT64_C(1) << 40, 0));
        expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
    }
    atomic_store(&a.stop, true);
    pthread_join(thread, NULL);
    cr_assert_eq(*a.word >> 40, rounds);
    cr_assert_eq(*a.word & ((UINT64_C(1) << 40) - 1), a.added);
}

Test(responder_exec, ROCE_RS_46_alignment)
{
    static const enum roce_op ops[] = {ROCE_OP_CMP_SWAP, ROCE_OP_FETCH_ADD};
    for (uint64_t off = 1; off < 8; off++)
        for (int i = 0; i < 2; i++) {
            teardown();
            setup();
            send(script_atomic_pkt(s, ops[i], script_rq(s, 0), 64 + off, 5, word(64 + off)));
            expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
            expect_state(s, NORNIC_QPS_ERR);
            cr_assert_eq(s->mem[64 + off], 64 + off);
        }
}

Test(responder_exec, ROCE_RS_46_alignment_comes_before_the_key)
{
    for (uint64_t off = 1; off < 8; off++) {
        teardown();
        setup();
        struct script_pkt p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64 + off, 1, 0);
        p.atomiceth.rkey ^= 0x100;
        send(p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
        expect_state(s, NORNIC_QPS_ERR);
    }
}

Test(responder_exec, ROCE_RS_46_alignment_of_a_zero_based_region)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem + 4, 64, s->mr->access | NORNIC_ACCESS_ZERO_BASED, &mr), 0);
    struct script_pkt p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 0, 1, 0);
    p.atomiceth.va = 8; /* aligned as an offset, not as an address */
    p.atomiceth.rkey = mr->rkey;
    send(p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    rdma_mr_dereg(mr);
}

Test(responder_exec, ROCE_RS_48_nothing_to_move_needs_no_key)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 0, NULL, 0);
    p.reth = (struct roce_reth){0};
    send(asking(p));
    expect_ack(s, script_rq(s, 0), 1);
    p = read(1, 0, 0);
    p.reth = (struct roce_reth){.va = UINT64_MAX, .rkey = 0xffffffff};
    send(p);
    const struct roce_pkt *resp = expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    cr_assert_eq(resp->payload_bytes, 0);
    cr_assert_eq(resp->aeth.msn, 2);
    struct nornic_recv_wr wr = {.wr_id = 9};
    cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
    send(asking(script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 2), NULL, 0)));
    expect_ack(s, script_rq(s, 2), 3);
    expect_wc(s, recv_cq, 9, NORNIC_WC_SUCCESS);
    send(script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 3), NULL, 0));
    expect_nak(s, script_rq(s, 3), ROCE_SYNDROME_RNR | 12, 3);
}

Test(responder_exec, ROCE_RS_49_read_responses)
{
    send(asking(write_only(0, 65536)));
    expect_ack(s, script_rq(s, 0), 1);
    send(read(1, 777, 3 * 1024 + 5));
    static const enum roce_op ops[] = {ROCE_OP_READ_RESP_FIRST, ROCE_OP_READ_RESP_MIDDLE,
                                       ROCE_OP_READ_RESP_MIDDLE, ROCE_OP_READ_RESP_LAST};
    for (uint32_t i = 0; i < 4; i++) {
        const struct roce_pkt *p = expect_op(s, ops[i], script_rq(s, 1 + i));
        cr_assert_eq(p->payload_bytes, i < 3 ? 1024 : 5);
        cr_assert_eq(p->bth.pad_count, i < 3 ? 0 : 3);
        cr_assert_eq(p->bth.ack_req, 0);
        cr_assert_arr_eq(p->payload, s->mem + 777 + 1024 * i, p->payload_bytes);
        if (i == 0 || i == 3) {
            cr_assert_eq(p->aeth.msn, 2);
            cr_assert_eq(roce_syndrome_kind(p->aeth.syndrome), ROCE_SYN_ACK);
        }
    }
    expect_nothing(s);
}

Test(responder_exec, ROCE_RS_49_at_every_pmtu)
{
    for (int mtu = NORNIC_MTU_256; mtu <= NORNIC_MTU_4096; mtu++) {
        teardown();
        struct script_config config = script_defaults();
        config.attr.path_mtu = (enum nornic_mtu)mtu;
        s = script_new(&config);
        uint32_t pmtu = nornic_mtu_bytes((enum nornic_mtu)mtu);
        send(read(0, 3, 2 * pmtu));
        const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_RESP_FIRST, script_rq(s, 0));
        cr_assert_eq(p->payload_bytes, pmtu);
        p = expect_op(s, ROCE_OP_READ_RESP_LAST, script_rq(s, 1));
        cr_assert_eq(p->payload_bytes, pmtu); /* ROCE-OPC-3: never empty */
        cr_assert_arr_eq(p->payload, s->mem + 3 + pmtu, pmtu);
        expect_nothing(s);
        send(read(2, 3, 1));
        expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 2));
    }
}

Test(responder_exec, ROCE_RS_50_msn_counts_messages)
{
    for (uint64_t i = 0; i < 4; i++)
        script_recv(s, i, 4096 * i, 4096);
    send(asking(script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024)));
    expect_ack(s, script_rq(s, 0), 0);
    send(asking(script_send_pkt(s, ROCE_OP_SEND_MIDDLE, script_rq(s, 1), script_data(), 1024)));
    expect_ack(s, script_rq(s, 1), 0);
    send(asking(script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 2), script_data(), 4)));
    expect_ack(s, script_rq(s, 2), 1);
    send(write_only(3, 65536));
    send(read(4, 0, 8));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 4));
    cr_assert_eq(p->aeth.msn, 3);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 5), 64, 0, 0));
    p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 5));
    cr_assert_eq(p->aeth.msn, 4);
    send(asking(write_only(3, 65536)));
    const struct roce_pkt *dup = script_next(s);
    cr_assert_not_null(dup);
    send(asking(write_only(6, 65536)));
    expect_ack(s, script_rq(s, 6), 5);
}

/* covers: ROCE-RS-50, ROCE-QP-8 */
Test(responder_exec, ROCE_RS_50_msn_begins_at_zero_again)
{
    send(asking(write_only(0, 65536)));
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
    send(asking(write_only(0, 65536)));
    expect_ack(s, script_rq(s, 0), 1);
}

Test(responder_exec, ROCE_RS_51_ack_req_is_answered_at_once)
{
    send(write_only(0, 65536));
    send(write_only(1, 65536));
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
    send(asking(write_only(2, 65536)));
    expect_ack(s, script_rq(s, 2), 3);
    expect_nothing(s);
}

Test(responder_exec, ROCE_RS_51_acks_of_a_burst_may_merge_and_reach_the_last)
{
    struct script_pkt burst[32];
    for (uint32_t i = 0; i < 32; i++)
        burst[i] = asking(write_only(i, 65536));
    script_burst(s, burst, 32);
    const struct roce_pkt *pkt, *last = NULL;
    unsigned count = 0;
    for (; (pkt = script_next(s)); last = pkt, count++) {
        cr_assert_eq(pkt->bth.opcode, ROCE_OP_ACK);
        cr_assert(!last || roce_psn_diff(pkt->bth.psn, last->bth.psn) > 0);
    }
    cr_assert_not_null(last);
    cr_assert_eq(last->bth.psn, script_rq(s, 31));
    cr_assert_eq(last->aeth.msn, 32);
    cr_assert_leq(count, 32);
}

Test(responder_exec, ROCE_RS_51_not_beyond_what_was_executed)
{
    struct script_pkt burst[3] = {asking(write_only(0, 65536)), asking(write_only(1, 65536)),
                                  asking(write_only(3, 65536))};
    script_burst(s, burst, 3);
    const struct roce_pkt *pkt;
    bool nak = false;
    while ((pkt = script_next(s))) {
        if (pkt->aeth.syndrome == ROCE_SYNDROME_NAK_PSN_SEQ) {
            cr_assert_eq(pkt->bth.psn, script_rq(s, 2));
            nak = true;
        } else {
            cr_assert_not(nak, "an ACK behind its NAK");
            cr_assert_leq(roce_psn_diff(pkt->bth.psn, script_rq(s, 1)), 0);
        }
    }
    cr_assert(nak);
}

Test(responder_exec, ROCE_RS_53_credits_are_off_or_rounded_down)
{
    for (uint64_t i = 0; i < 7; i++)
        script_recv(s, i, 0, 64);
    send(asking(write_only(0, 65536)));
    const struct roce_pkt *ack = expect_ack(s, script_rq(s, 0), 1);
    if (ack->aeth.syndrome != ROCE_SYNDROME_ACK_UNLIMITED)
        cr_assert_eq(ack->aeth.syndrome, roce_credit_code(7));
}

/* covers: ROCE-RS-61, ROCE-CQ-3 */
Test(responder_exec, solicited_receive)
{
    script_recv(s, 1, 0, 64);
    struct script_pkt p = asking(script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8));
    p.bth.se = 1;
    rdma_cq_req_notify(s->recv_cq, true);
    send(p);
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_eq(s->wakeups, 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), 8);
    script_recv(s, 2, 0, 64); /* not solicited: nobody is woken */
    rdma_cq_req_notify(s->recv_cq, true);
    send(asking(script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 1), script_data(), 8)));
    expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert_eq(s->wakeups, 1);
}

/* A receive that a message has begun to fill is no credit. covers: ROCE-RS-53 */
Test(responder_exec, ROCE_RS_53_a_receive_in_use_is_no_credit)
{
    struct script_config config = script_defaults();
    config.e2e_credits = true;
    script_free(s);
    s = script_new(&config);
    for (uint64_t i = 0; i < 3; i++)
        script_recv(s, i, 0, 4096);
    struct script_pkt p =
        asking(script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024));
    send(p);
    const struct roce_pkt *answer = expect_ack(s, script_rq(s, 0), 0);
    cr_assert_eq(answer->aeth.syndrome, roce_credit_code(2));
}
