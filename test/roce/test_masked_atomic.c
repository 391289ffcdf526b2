/* SPDX-License-Identifier: BSD-2-Clause */
/* Masked atomics (docs/masked-atomics.md): what they compute, how they travel, and that everything that holds
 * for atomics holds for them. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "roce/responder/atomic.h"
#include "test/support/script_suite.h"

#define AT 4096u /* of the word in s->mem */

static void masked_setup(void)
{
    config = script_defaults();
    config.masked_atomics = true;
    renew();
}

TestSuite(masked_atomic, .init = masked_setup, .fini = teardown);

/* --- arithmetic --- */

/* Bit by bit: the carry into each bit is that of the bit below, unless a field ends there. */
static uint64_t add_bit_by_bit(uint64_t a, uint64_t b, uint64_t boundaries)
{
    uint64_t sum = 0;
    unsigned carry = 0;
    for (unsigned i = 0; i < 64; i++) {
        unsigned n = (unsigned)(a >> i & 1) + (unsigned)(b >> i & 1) + carry;
        sum |= (uint64_t)(n & 1) << i;
        carry = boundaries >> i & 1 ? 0 : n >> 1;
    }
    return sum;
}

Test(masked_atomic, fields_are_added_each_by_itself)
{
    struct test_random random = {.state = 7};
    cr_assert_eq(roce_atomic_add_fields(UINT64_MAX, 1, 0), 0);
    cr_assert_eq(roce_atomic_add_fields(0x00ff00ff, 0x00010001, 0x80008000), 0x01000100);
    cr_assert_eq(roce_atomic_add_fields(0xffff, 0x0001, UINT64_C(0x8000800080008000)), 0);
    for (int i = 0; i < 20000; i++) {
        uint64_t a = test_random_next(&random), b = test_random_next(&random);
        uint64_t boundaries = test_random_next(&random) & test_random_next(&random);
        cr_assert_eq(roce_atomic_add_fields(a, b, boundaries), add_bit_by_bit(a, b, boundaries));
    }
}

static struct script_pkt masked(enum roce_op op, uint32_t psn, uint64_t swap_add, uint64_t swap_add_mask,
                                uint64_t compare, uint64_t compare_mask)
{
    struct script_pkt p = script_atomic_pkt(s, op, psn, AT, swap_add, compare);
    p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_VENDOR, op);
    p.masketh = (struct roce_masketh){swap_add_mask, compare_mask};
    return p;
}

static uint64_t word(void)
{
    uint64_t value;
    memcpy(&value, s->mem + AT, sizeof value);
    return value;
}

static void set_word(uint64_t value)
{
    memcpy(s->mem + AT, &value, sizeof value);
}

/* --- responder --- */

Test(masked_atomic, compare_and_swap_look_at_their_bits_only)
{
    static const struct {
        uint64_t before, swap, swap_mask, compare, compare_mask, after;
    } rows[] = {
        {0x1122334455667788, 0xaabbccddeeff0011, UINT64_MAX, 0x1122334455667788, UINT64_MAX,
         0xaabbccddeeff0011}, /* the plain one */
        {0x1122334455667788, 0xaabbccddeeff0011, UINT64_MAX, 0x1122334455667789, UINT64_MAX,
         0x1122334455667788},
        {0x1122334455667788, 0xaabbccddeeff0011, 0xff00, 0x00000000000000cc, 0x0f, 0x1122334455667788},
        {0x1122334455667788, 0xaabbccddeeff0011, 0xff00, 0x99999999999999f8, 0x0f, 0x1122334455660088},
        {0x1122334455667788, 0xaabbccddeeff0011, 0xffffffff00000000, 0, 0, 0xaabbccdd55667788},
        {0x1122334455667788, 0xaabbccddeeff0011, 0, 0, 0, 0x1122334455667788},
    };
    for (uint32_t i = 0; i < array_len(rows); i++) {
        set_word(rows[i].before);
        struct script_pkt p = masked(ROCE_OP_CMP_SWAP, script_rq(s, i), rows[i].swap, rows[i].swap_mask,
                                     rows[i].compare, rows[i].compare_mask);
        script_send(s, &p);
        const struct roce_pkt *answer = expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, i));
        cr_assert_eq(answer->atomicacketh.original, rows[i].before, "row %u", i);
        cr_assert_eq(answer->aeth.msn, i + 1);
        cr_assert_eq(word(), rows[i].after, "row %u", i);
    }
}

Test(masked_atomic, addition_by_fields)
{
    set_word(0x00ff00ff00ff00ff);
    struct script_pkt p =
        masked(ROCE_OP_FETCH_ADD, script_rq(s, 0), 0x0001ff0100010001, 0x0080800000008080, 0, 0);
    script_send(s, &p);
    cr_assert_eq(expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0))->atomicacketh.original,
                 0x00ff00ff00ff00ff);
    cr_assert_eq(word(), add_bit_by_bit(0x00ff00ff00ff00ff, 0x0001ff0100010001, 0x0080800000008080));
}

/* ROCE-RS-23 and RS-30: once, and the stored result for duplicates. */
Test(masked_atomic, a_duplicate_gets_the_stored_result)
{
    set_word(100);
    struct script_pkt p = masked(ROCE_OP_FETCH_ADD, script_rq(s, 0), 5, 0, 0, 0);
    for (int i = 0; i < 3; i++) {
        script_send(s, &p);
        cr_assert_eq(expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0))->atomicacketh.original, 100);
        cr_assert_eq(word(), 105);
    }
    cr_assert_eq(roce_qp_counters(s->qp)->atomic_replays, 2);
    /* a plain atomic with its PSN is something else */
    struct script_pkt plain = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), AT, 5, 0);
    script_send(s, &plain);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_DUPLICATE, 1);
}

/* The errors are those of atomics: ROCE-RS-3, RS-5, RS-46, RS-35. */
Test(masked_atomic, errors_are_those_of_atomics)
{
    struct script_pkt p = masked(ROCE_OP_CMP_SWAP, script_rq(s, 0), 1, 1, 0, 0);
    p.atomiceth.va += 4;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    renew();
    p = masked(ROCE_OP_CMP_SWAP, script_rq(s, 0), 1, 1, 0, 0);
    p.atomiceth.rkey ^= 0x100;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    config.attr.access_flags = NORNIC_ACCESS_REMOTE_WRITE;
    renew();
    p = masked(ROCE_OP_CMP_SWAP, script_rq(s, 0), 1, 1, 0, 0);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_state(s, NORNIC_QPS_ERR);
}

/* --- requester --- */

static void post_masked(uint64_t wr_id, enum nornic_wr_opcode opcode)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, opcode, &sge, 0, 8);
    wr.compare_add = 0x1111;
    wr.swap = 0x2222;
    wr.compare_mask = 0x3333;
    wr.swap_mask = 0x4444;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

Test(masked_atomic, each_mask_goes_with_its_operand)
{
    post_masked(1, NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP);
    const struct roce_pkt *p = script_next(s);
    cr_assert_eq(p->bth.opcode, 0xf3);
    cr_assert_eq(p->bth.psn, script_sq(s, 0));
    cr_assert_eq(p->atomiceth.va, SCRIPT_PEER_VA);
    cr_assert_eq(p->atomiceth.rkey, SCRIPT_PEER_RKEY);
    cr_assert_eq(p->atomiceth.swap_add, 0x2222);
    cr_assert_eq(p->atomiceth.compare, 0x1111);
    cr_assert_eq(p->masketh.swap_add_mask, 0x4444);
    cr_assert_eq(p->masketh.compare_mask, 0x3333);
    cr_assert_eq(p->payload_bytes, 0);
    post_masked(2, NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD);
    p = script_next(s);
    cr_assert_eq(p->bth.opcode, 0xf4);
    cr_assert_eq(p->bth.psn, script_sq(s, 1));
    cr_assert_eq(p->atomiceth.swap_add, 0x1111);
    cr_assert_eq(p->atomiceth.compare, 0);
    cr_assert_eq(p->masketh.swap_add_mask, 0x3333);
    cr_assert_eq(p->masketh.compare_mask, 0);

    struct script_pkt ack0 = script_atomic_ack_pkt(s, script_sq(s, 0), 1, 0x123456789abcdef0);
    struct script_pkt ack1 = script_atomic_ack_pkt(s, script_sq(s, 1), 2, 99);
    script_send(s, &ack0);
    struct nornic_wc wc = expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_MASKED_COMP_SWAP);
    cr_assert_eq(wc.byte_len, 8);
    uint64_t original;
    memcpy(&original, s->mem, 8);
    cr_assert_eq(original, 0x123456789abcdef0);
    script_send(s, &ack1);
    cr_assert_eq(expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_MASKED_FETCH_ADD);
}

/* ROCE-RC-45, RC-13: repeated as it was, and counted among the READs and atomics. */
Test(masked_atomic, a_timeout_repeats_it_as_it_was)
{
    config.attr.max_rd_atomic = 1;
    renew();
    post_masked(1, NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP);
    post_masked(2, NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD);
    struct roce_pkt first = *script_next(s);
    expect_nothing(s);
    cr_assert(script_until_sent(s, SCRIPT_S));
    const struct roce_pkt *again = script_next(s);
    cr_assert_eq(again->bth.opcode, first.bth.opcode);
    cr_assert_eq(again->bth.psn, first.bth.psn);
    cr_assert_eq(memcmp(&again->atomiceth, &first.atomiceth, sizeof first.atomiceth), 0);
    cr_assert_eq(memcmp(&again->masketh, &first.masketh, sizeof first.masketh), 0);
    struct script_pkt ack0 = script_atomic_ack_pkt(s, script_sq(s, 0), 1, 1);
    script_send(s, &ack0);
    cr_assert_eq(script_next(s)->bth.opcode, 0xf4);
}

/* --- the option --- */

static int try_post(enum nornic_wr_opcode opcode, uint32_t len_bytes, uint32_t flags)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, opcode, &sge, 0, len_bytes);
    wr.send_flags |= flags;
    return roce_post_send(s->qp, &wr, NULL);
}

/* covers: ROCE-QP-40 */
Test(masked_atomic, ROCE_QP_40_eight_bytes_and_never_inline)
{
    cr_assert_eq(try_post(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, 4, 0), -EINVAL);
    cr_assert_eq(try_post(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD, 16, 0), -EINVAL);
    cr_assert_eq(try_post(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD, 8, NORNIC_SEND_INLINE), -EINVAL);
}

/* Off, nothing is different from what the standard says: opcodes of the manufacturer are of no service that a
 * QP has. */
/* covers: ROCE-RX-13, ROCE-QP-40 */
Test(masked_atomic, ROCE_RX_13_without_the_option_there_are_none)
{
    struct script_pkt p = masked(ROCE_OP_FETCH_ADD, script_rq(s, 0), 5, 0, 0, 0);
    config.masked_atomics = false;
    renew();
    p.bth.dest_qpn = roce_qp_num(s->qp);
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 1);
    expect_state(s, NORNIC_QPS_RTS);
    cr_assert_eq(try_post(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, 8, 0), -EINVAL);
    cr_assert_eq(try_post(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD, 8, 0), -EINVAL);
}

/* Other manufacturers' opcodes stay unknown, and on other services there are none. */
Test(masked_atomic, other_opcodes_of_manufacturers_are_dropped)
{
    uint64_t dropped = 0;
    for (unsigned opcode = 0xc0; opcode < 0x100; opcode++) {
        if (opcode == 0xf3 || opcode == 0xf4)
            continue;
        struct script_pkt p = masked(ROCE_OP_FETCH_ADD, script_rq(s, 0), 5, 0, 0, 0);
        p.bth.opcode = (uint8_t)opcode;
        script_send(s, &p);
        expect_nothing(s);
        expect_verdict(s, ROCE_RX_DROP_TYPE, ++dropped);
    }
    config.type = NORNIC_QPT_UC;
    renew();
    struct script_pkt p = masked(ROCE_OP_FETCH_ADD, script_rq(s, 0), 5, 0, 0, 0);
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 1);
}
