/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE sections 8.3 and 8.4: duplicates, and what the responder keeps to answer them. */
#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>

#include "base/base.h"
#include "test/support/script.h"

static struct script *s;

static void renew(uint8_t max_dest_rd_atomic)
{
    struct script_config config = script_defaults();
    config.attr.max_dest_rd_atomic = max_dest_rd_atomic;
    if (s)
        script_free(s);
    s = script_new(&config);
}

static void setup(void)
{
    renew(4);
}

static void teardown(void)
{
    script_free(s);
    s = NULL;
}

TestSuite(responder_dup, .init = setup, .fini = teardown);

static void send(struct script_pkt p)
{
    script_send(s, &p);
}

static struct script_pkt write_only(uint32_t i)
{
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 65536, 4, script_data(), 4);
    p.bth.ack_req = 1;
    return p;
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

static void set_word(uint64_t offset, uint64_t v)
{
    memcpy(s->mem + offset, &v, 8);
}

/* `count` responses of a READ of memory from `offset` on, the first at the i-th PSN. */
static void is_answered(uint32_t i, unsigned count, uint64_t offset, uint32_t len, int line)
{
    for (unsigned k = 0; k < count; k++) {
        enum roce_op op = count == 1       ? ROCE_OP_READ_RESP_ONLY
                          : k == 0         ? ROCE_OP_READ_RESP_FIRST
                          : k == count - 1 ? ROCE_OP_READ_RESP_LAST
                                           : ROCE_OP_READ_RESP_MIDDLE;
        const struct roce_pkt *p = script_expect_op(s, op, script_rq(s, i + k), line);
        uint32_t n = k == count - 1 ? len - 1024 * k : 1024;
        cr_assert_eq(p->payload_bytes, n, "line %d", line);
        cr_assert_eq(memcmp(p->payload, s->mem + offset + 1024 * k, n), 0, "line %d: data of response %u",
                     line, k);
    }
    script_expect_nothing(s, line);
}
#define expect_responses(i, count, offset, len) is_answered(i, count, offset, len, __LINE__)

Test(responder_dup, ROCE_RS_20_a_write_is_not_executed_again)
{
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    send(write_only(1));
    expect_ack(s, script_rq(s, 1), 2);
    memset(s->mem + 65536, 0xee, 4);
    send(write_only(0));
    expect_ack(s, script_rq(s, 1), 2);
    cr_assert_eq(s->mem[65536], 0xee);
    struct script_pkt p = write_only(1); /* errors in it are not looked at */
    p.reth.rkey = 0;
    p.reth.dma_len = 77;
    send(p);
    expect_ack(s, script_rq(s, 1), 2);
    p = write_only(0);
    p.bth.opcode = ROCE_OP_WRITE_MIDDLE;
    send(p);
    expect_ack(s, script_rq(s, 1), 2);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
}

Test(responder_dup, ROCE_RS_20_a_send_takes_no_second_receive)
{
    script_recv(s, 1, 0, 64);
    script_recv(s, 2, 64, 64);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8);
    p.bth.ack_req = 1;
    send(p);
    send(p);
    expect_ack(s, script_rq(s, 0), 1);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, recv_cq);
    cr_assert_eq(s->mem[64], 64);
}

Test(responder_dup, ROCE_RS_20_in_mid_message)
{
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    send(script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 1), 65536, 2048, script_data(), 1024));
    send(write_only(0));
    expect_ack(s, script_rq(s, 1), 1);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 2), script_data(), 1024);
    p.bth.ack_req = 1;
    send(p);
    expect_ack(s, script_rq(s, 2), 2);
}

Test(responder_dup, ROCE_RS_20_without_ack_req_an_ack_is_allowed_and_nothing_else)
{
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    struct script_pkt p = write_only(0);
    p.bth.ack_req = 0;
    send(p);
    const struct roce_pkt *ack = script_next(s);
    cr_assert(!ack || (ack->bth.opcode == ROCE_OP_ACK && ack->aeth.syndrome < 0x20 && ack->aeth.msn == 1 &&
                       ack->bth.psn == script_rq(s, 0)));
    expect_nothing(s);
}

/* The ACK must not look like one for the READ that was executed in between: that would be an implied NAK. */
Test(responder_dup, ROCE_RS_21_not_past_a_read)
{
    send(write_only(0));
    send(read(1, 0, 2048));
    send(write_only(3));
    script_forget(s);
    send(write_only(0));
    const struct roce_pkt *ack = expect_op(s, ROCE_OP_ACK, script_rq(s, 0));
    cr_assert_eq(roce_syndrome_kind(ack->aeth.syndrome), ROCE_SYN_ACK);
    expect_nothing(s);
    send(write_only(3));
    expect_ack(s, script_rq(s, 3), 3);
}

Test(responder_dup, ROCE_RS_21_not_past_an_atomic)
{
    send(write_only(0));
    send(write_only(1));
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 2), 0, 1, 0));
    send(write_only(3));
    send(read(4, 0, 1));
    script_forget(s);
    send(write_only(0));
    const struct roce_pkt *ack = expect_op(s, ROCE_OP_ACK, script_rq(s, 1));
    cr_assert_eq(roce_syndrome_kind(ack->aeth.syndrome), ROCE_SYN_ACK);
    send(write_only(3));
    ack = expect_op(s, ROCE_OP_ACK, script_rq(s, 3));
    cr_assert_eq(roce_syndrome_kind(ack->aeth.syndrome), ROCE_SYN_ACK);
    expect_nothing(s);
}

Test(responder_dup, ROCE_RS_22_a_read_is_answered_again_from_memory_as_it_is_now)
{
    send(read(0, 100, 3001));
    expect_responses(0, 3, 100, 3001);
    memset(s->mem + 100, 0x5a, 3001);
    send(read(0, 100, 3001));
    expect_responses(0, 3, 100, 3001);
    send(write_only(3));
    expect_ack(s, script_rq(s, 3), 2);
}

Test(responder_dup, ROCE_RS_22_a_suffix)
{
    send(read(0, 100, 3001));
    script_forget(s);
    send(read(1, 100 + 1024, 3001 - 1024));
    expect_responses(1, 2, 100 + 1024, 3001 - 1024);
    send(read(2, 100 + 2048, 3001 - 2048));
    expect_responses(2, 1, 100 + 2048, 3001 - 2048);
    send(read(0, 100, 3001));
    expect_responses(0, 3, 100, 3001);
}

Test(responder_dup, ROCE_RS_22_an_empty_read)
{
    send(read(0, 0, 0));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
    cr_assert_eq(p->payload_bytes, 0);
    send(read(0, 0, 0));
    p = expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
    cr_assert_eq(p->payload_bytes, 0);
    cr_assert_eq(p->aeth.msn, 1);
}

Test(responder_dup, ROCE_RS_22_what_is_no_suffix_is_dropped)
{
    send(read(0, 4096, 3001));
    send(write_only(3));
    script_forget(s);
    struct script_pkt other_key = read(0, 4096, 3001);
    other_key.reth.rkey ^= 1;
    const struct script_pkt wrong[] = {
        read(0, 4096, 3000),
        read(0, 4096, 3002),
        read(0, 4097, 3001),
        read(0, 4095, 3001),
        read(1, 4096, 3001),
        read(1, 5120, 3001),
        read(1, 5120, 1976),
        read(2, 5120, 1977),
        read(0, 5120, 3001 - 1024),
        read(3, 4096 + 3072, 1),
        other_key,
        read(0, 4096, 0),
        script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 4096, 1, 0),
    };
    for (unsigned i = 0; i < array_len(wrong); i++) {
        send(wrong[i]);
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_null(pkt, "row %u was answered with %s", i, pkt ? pkt->op->name : "");
    }
    expect_state(s, NORNIC_QPS_RTS);
    send(read(0, 4096, 3001));
    expect_responses(0, 3, 4096, 3001);
}

/* covers: ROCE-RS-22, ROCE-RS-24, ROCE-MR-5 */
Test(responder_dup, ROCE_RS_22_the_key_is_checked_again)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 4096, s->mr->access, &mr), 0);
    struct script_pkt p = read(0, 0, 16);
    p.reth.rkey = mr->rkey;
    send(p);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
    rdma_mr_dereg(mr);
    send(p);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    expect_no_event(s);
}

/* PSNs come round: the newest of two saved READs with one PSN is the one that is asked for again. */
Test(responder_dup, ROCE_RS_22_the_newest_after_all_psns_went_by)
{
    struct script_config config = script_defaults();
    config.attr.path_mtu = NORNIC_MTU_256;
    script_free(s);
    s = script_new(&config);
    /* 2 GiB are 2^23 PSNs; nothing is ever sent, so that nobody looks at them */
    uint8_t *much =
        mmap(NULL, NORNIC_MAX_MSG_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    struct rdma_mr *mr;
    cr_assert_neq(much, MAP_FAILED);
    cr_assert_eq(rdma_mr_reg(s->pd, much, NORNIC_MAX_MSG_BYTES, NORNIC_ACCESS_REMOTE_READ, &mr), 0);
    send(read(0, 0, 16));
    script_forget(s);
    struct script_pkt all[2] = {read(1, 0, NORNIC_MAX_MSG_BYTES),
                                read(1 + (1 << 23), 0, NORNIC_MAX_MSG_BYTES - 256)};
    for (unsigned i = 0; i < 2; i++) {
        all[i].reth.va = mr->iova;
        all[i].reth.rkey = mr->rkey;
    }
    script_give(s, all, 2);
    struct script_pkt again = read(0, 64, 32);
    script_give(s, &again, 1);
    script_give(s, &again, 1);
    cr_assert_eq(roce_qp_counters(s->qp)->read_replays, 1);
    expect_verdict(s, ROCE_RX_DROP_DUPLICATE, 0);
    rdma_mr_dereg(mr);
    munmap(much, NORNIC_MAX_MSG_BYTES);
}

Test(responder_dup, ROCE_RS_23_an_atomic_is_executed_once)
{
    set_word(64, 1000);
    struct script_pkt add = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 5, 0);
    for (int i = 0; i < 3; i++) {
        send(add);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0));
        cr_assert_eq(p->atomicacketh.original, 1000);
        cr_assert_eq(p->aeth.msn, 1);
        cr_assert_eq(word(64), 1005);
        expect_nothing(s);
    }
    struct script_pkt swap = script_atomic_pkt(s, ROCE_OP_CMP_SWAP, script_rq(s, 1), 64, 7, 1005);
    for (int i = 0; i < 3; i++) {
        send(swap);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 1));
        cr_assert_eq(p->atomicacketh.original, 1005);
        cr_assert_eq(word(64), 7);
    }
    send(add);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0));
    cr_assert_eq(p->atomicacketh.original, 1000);
}

Test(responder_dup, ROCE_RS_23_no_saved_result_no_answer)
{
    send(write_only(0));
    send(read(1, 0, 16));
    script_forget(s);
    set_word(64, 1000);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 5, 0));
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 1), 64, 5, 0));
    send(read(0, 0, 16));
    expect_nothing(s);
    cr_assert_eq(word(64), 1000);
    expect_state(s, NORNIC_QPS_RTS);
}

Test(responder_dup, ROCE_RS_24_a_duplicate_never_yields_a_nak)
{
    send(write_only(0));
    send(read(1, 0, 2000));
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 3), 64, 5, 0));
    script_forget(s);
    for (unsigned op = 0; op < 32; op++)
        for (uint32_t back = 1; back <= 6; back++) {
            struct script_pkt p =
                script_send_pkt(s, (enum roce_op)op, script_rq(s, 4 - back), script_data(), 60);
            if (roce_opcodes[op].flags & ROCE_PKT_RESPONSE)
                continue;
            p.bth.ack_req = 1;
            send(p);
            const struct roce_pkt *pkt;
            while ((pkt = script_next(s)))
                cr_assert(!(pkt->op->flags & ROCE_PKT_AETH) || pkt->aeth.syndrome < 0x20,
                          "opcode %02x back %u", op, back);
        }
    expect_state(s, NORNIC_QPS_RTS);
    expect_no_event(s);
    send(write_only(4));
    expect_ack(s, script_rq(s, 4), 4);
}

Test(responder_dup, ROCE_RS_25_a_new_replay_ends_the_one_before)
{
    send(read(0, 0, 4096));
    script_forget(s);
    struct script_pkt burst[2] = {read(0, 0, 4096), read(2, 2048, 2048)};
    script_burst(s, burst, 2);
    expect_responses(2, 2, 2048, 2048);
}

/* Two answers wait when one before them is asked for again. Behind them it would make the peer, which waits
 * for it, drop them both, and miss them next.
 * covers: ROCE-RS-22, ROCE-RS-23, ROCE-RS-40 */
Test(responder_dup, ROCE_RS_40_a_replay_goes_before_what_it_precedes)
{
    send(read(0, 0, 4096));
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 4), 0, 1, 0));
    script_forget(s);
    struct script_pkt burst[4] = {read(5, 4096, 2048), read(7, 8192, 100), read(3, 3072, 1024),
                                  script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 4), 0, 1, 0)};
    script_burst(s, burst, 4);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 3));
    expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 4));
    expect_op(s, ROCE_OP_READ_RESP_FIRST, script_rq(s, 5));
    expect_op(s, ROCE_OP_READ_RESP_LAST, script_rq(s, 6));
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 7));
    expect_nothing(s);
}

Test(responder_dup, ROCE_RS_30_the_oldest_is_forgotten_first)
{
    renew(2);
    for (uint32_t i = 0; i < 3; i++)
        send(read(i, 1024 * i, 100));
    script_forget(s);
    send(read(0, 0, 100));
    expect_nothing(s);
    send(read(1, 1024, 100));
    expect_responses(1, 1, 1024, 100);
    send(read(2, 2048, 100));
    expect_responses(2, 1, 2048, 100);
}

Test(responder_dup, ROCE_RS_30_writes_in_between_take_no_place)
{
    renew(1);
    set_word(64, 10);
    struct script_pkt add = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 5, 0);
    send(add);
    for (uint32_t i = 1; i < 50; i++)
        send(write_only(i));
    script_forget(s);
    send(add);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0));
    cr_assert_eq(p->atomicacketh.original, 10);
    cr_assert_eq(word(64), 15);
}

Test(responder_dup, ROCE_RS_31_the_limit_is_not_rounded_up)
{
    renew(3);
    set_word(64, 0);
    for (uint32_t i = 0; i < 4; i++)
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 64, 1, 0));
    script_forget(s);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 1, 0));
    expect_nothing(s);
    for (uint32_t i = 1; i < 4; i++) {
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 64, 1, 0));
        const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
        cr_assert_eq(p->atomicacketh.original, i);
    }
    cr_assert_eq(word(64), 4);
}

Test(responder_dup, ROCE_RS_35_no_resources_at_all)
{
    renew(0);
    send(read(0, 0, 8));
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_state(s, NORNIC_QPS_ERR);
    renew(0);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), 64, 5, 0));
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
}

Test(responder_dup, ROCE_RS_35_more_at_once_than_agreed)
{
    renew(2);
    struct script_pkt burst[3] = {read(0, 0, 8), read(1, 0, 8), read(2, 0, 8)};
    script_burst(s, burst, 3);
    const struct roce_pkt *pkt, *last = NULL;
    while ((pkt = script_next(s)))
        last = pkt;
    cr_assert_not_null(last);
    cr_assert_eq(last->bth.opcode, ROCE_OP_ACK);
    cr_assert_eq(last->aeth.syndrome, ROCE_SYNDROME_NAK_INV_REQ);
    cr_assert_eq(last->bth.psn, script_rq(s, 2));
    expect_state(s, NORNIC_QPS_ERR);
    renew(2);
    script_burst(s, (struct script_pkt[]){read(0, 0, 8), read(1, 0, 8)}, 2);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    script_burst(s, (struct script_pkt[]){read(2, 0, 8), read(3, 0, 8)}, 2);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 2));
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 3));
}

/* Drained, then other responder resources. */
static void change_resources(uint8_t max_dest_rd_atomic)
{
    if (roce_qp_state(s->qp) == NORNIC_QPS_RTS)
        cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    s->config.attr.max_dest_rd_atomic = max_dest_rd_atomic;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_MAX_DEST_RD_ATOMIC), 0);
}

/* covers: ROCE-RS-30, ROCE-QP-27, ROCE-QP-11 */
Test(responder_dup, ROCE_RS_30_other_resources_in_sqd_keep_the_newest)
{
    for (uint32_t i = 0; i < 6; i++) {
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 64, 1, 0));
        expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
    }
    uint64_t original = word(64) - 6;
    change_resources(8);
    for (uint32_t i = 2; i < 6; i++) {
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 64, 1, 0));
        const struct roce_pkt *p = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
        cr_assert_eq(p->atomicacketh.original, original + i);
    }
    change_resources(2);
    for (uint32_t i = 2; i < 6; i++) {
        send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, i), 64, 1, 0));
        if (i >= 4)
            expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
        expect_nothing(s);
    }
    /* The oldest makes room first, as ever. */
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 6), 64, 1, 0));
    expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 6));
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 4), 64, 1, 0));
    expect_nothing(s);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 5), 64, 1, 0));
    expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 5));
    change_resources(0);
    send(script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 6), 64, 1, 0));
    expect_nothing(s);
    cr_assert_eq(word(64), original + 7);
}

/* covers: ROCE-QP-11, ROCE-QP-27, ROCE-RS-40 */
Test(responder_dup, ROCE_QP_11_answers_that_wait_outlive_other_resources)
{
    static const uint8_t limits[] = {16, 1, 0};
    for (unsigned k = 0; k < sizeof limits; k++) {
        renew(4);
        struct script_pkt burst[] = {read(0, 0, 2000), write_only(2), read(3, 64, 8), write_only(4),
                                     read(5, 0, 8),    write_only(6), read(7, 0, 8),  write_only(8)};
        script_give(s, burst, 8);
        change_resources(limits[k]);
        script_pump(s);
        expect_op(s, ROCE_OP_READ_RESP_FIRST, script_rq(s, 0));
        expect_op(s, ROCE_OP_READ_RESP_LAST, script_rq(s, 1));
        for (uint32_t i = 2; i < 9; i += 2) {
            expect_ack(s, script_rq(s, i), i);
            if (i < 8)
                expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, i + 1));
        }
        expect_nothing(s);
    }
}

static struct script_pkt asking_write(uint32_t i)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 0, 4, script_data(), 4);
    p.bth.ack_req = 1;
    return p;
}

/* A duplicate from before a READ is acknowledged up to the READ only; that must not take back the newer ACK
 * that waits behind the READ's answer. covers: ROCE-RS-20, ROCE-RS-40 */
Test(responder_dup, ROCE_RS_20_an_older_psn_does_not_replace_a_newer_ack_that_waits)
{
    struct script_pkt burst[] = {asking_write(0), script_read_pkt(s, script_rq(s, 1), 0, 8), asking_write(2),
                                 asking_write(0)};
    script_burst(s, burst, 4);
    expect_ack(s, script_rq(s, 0), 1);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    expect_ack(s, script_rq(s, 2), 3);
}

/* As many READs wait to be answered again as may be outstanding: none of them takes the place of a new one.
 * covers: ROCE-RS-35, ROCE-RS-22 */
Test(responder_dup, ROCE_RS_35_replays_do_not_count)
{
    struct script_pkt burst[5];
    for (uint32_t i = 0; i < 4; i++) {
        burst[i] = script_read_pkt(s, script_rq(s, i), 0, 8);
        script_send(s, &burst[i]);
        expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, i));
    }
    burst[4] = script_read_pkt(s, script_rq(s, 4), 0, 8);
    script_burst(s, burst, 5);
    for (uint32_t i = 0; i < 5; i++)
        expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, i));
    expect_state(s, NORNIC_QPS_RTS);
}

/* All that may wait at once: six READs to be answered again, six new ones with an ACK behind each, and a
 * NAK. covers: ROCE-RS-40 */
Test(responder_dup, ROCE_RS_40_there_is_room_for_all_that_waits)
{
    enum { READS = 6 };
    renew(READS);
    struct script_pkt burst[3 * READS + 1];
    for (uint32_t i = 0; i < READS; i++) {
        burst[i] = script_read_pkt(s, script_rq(s, i), 0, 8);
        script_send(s, &burst[i]);
        expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, i));
    }
    for (uint32_t i = READS; i < 3 * READS; i += 2) {
        burst[i] = script_read_pkt(s, script_rq(s, i), 0, 8);
        burst[i + 1] = asking_write(i + 1);
    }
    burst[3 * READS] = asking_write(3 * READS + 1); /* behind a gap */
    script_burst(s, burst, 3 * READS + 1);
    for (uint32_t i = 0; i < 3 * READS; i++)
        if (i < READS || i % 2 == 0)
            expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, i));
        else
            expect_ack(s, script_rq(s, i), i + 1);
    expect_nak(s, script_rq(s, 3 * READS), ROCE_SYNDROME_NAK_PSN_SEQ, 3 * READS);
}
