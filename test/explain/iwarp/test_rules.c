/* SPDX-License-Identifier: BSD-2-Clause */
/* What explain finds in iWARP that breaks a rule, and how a stream ends. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/crc.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/wire.h"
#include "test/explain/iwarp_reel.h"

#define TCP_FIN 0x01
#define TCP_RST 0x04
#define TCP_ACK 0x10

static struct iwarp_reel reel;

struct wrong {
    const char *rule;
    enum explain_finding_kind kind;
    uint32_t (*make)(uint8_t *ulpdu);
};

#define WRONG(name, expression)         \
    static uint32_t name(uint8_t *u)    \
    {                                   \
        static const uint8_t zeros[64]; \
        (void)zeros;                    \
        return expression;              \
    }
WRONG(opcode_15, reel_untagged(u, 15, true, 0, 1, 0, zeros, 4))
WRONG(tagged_send, reel_tagged(u, IWARP_OP_SEND, true, 1, 2, 3))
WRONG(untagged_write, reel_untagged(u, IWARP_OP_WRITE, true, 0, 1, 0, zeros, 4))
WRONG(send_to_queue_1, reel_untagged(u, IWARP_OP_SEND, true, 1, 1, 0, zeros, 4))
WRONG(msn_2_first, reel_untagged(u, IWARP_OP_SEND, true, 0, 2, 0, zeros, 4))
WRONG(mo_4_first, reel_untagged(u, IWARP_OP_SEND, true, 0, 1, 4, zeros, 4))
WRONG(short_imm, reel_untagged(u, IWARP_OP_IMM, true, 0, 1, 0, zeros, 7))
WRONG(read_in_two, reel_untagged(u, IWARP_OP_READ_REQUEST, false, 1, 1, 0, zeros, IWARP_READ_REQ_BYTES))
WRONG(response_unasked, reel_tagged(u, IWARP_OP_READ_RESPONSE, true, 1, 2, 3))
WRONG(atomic_response_unasked, reel_untagged(u, IWARP_OP_ATOMIC_RESPONSE, true, 3, 1, 0, zeros, 12))

static uint32_t dv_2(uint8_t *u)
{
    uint32_t n = reel_tagged(u, IWARP_OP_WRITE, true, 1, 2, 3);
    u[0] = (uint8_t)((u[0] & ~3) | 2);
    return n;
}

static uint32_t short_ulpdu(uint8_t *u)
{
    reel_tagged(u, IWARP_OP_WRITE, true, 1, 2, 3);
    return 5;
}

Test(iwarp, each_violation_by_its_rule)
{
    static const struct wrong wrongs[] = {
        {"IWARP-RDMAP-01", EXPLAIN_FIND_IWARP_OPCODE, opcode_15},
        {"IWARP-RDMAP-01", EXPLAIN_FIND_IWARP_OPCODE, tagged_send},
        {"IWARP-RDMAP-01", EXPLAIN_FIND_IWARP_OPCODE, untagged_write},
        {"IWARP-DDP-20", EXPLAIN_FIND_IWARP_OPCODE, send_to_queue_1},
        {"IWARP-DDP-02", EXPLAIN_FIND_IWARP_OPCODE, dv_2},
        {"IWARP-RDMAP-42", EXPLAIN_FIND_IWARP_OPCODE, short_imm},
        {"IWARP-RDMAP-03", EXPLAIN_FIND_IWARP_OPCODE, read_in_two},
        {"IWARP-DDP-04", EXPLAIN_FIND_IWARP_SEQUENCE, msn_2_first},
        {"IWARP-DDP-05", EXPLAIN_FIND_IWARP_SEQUENCE, mo_4_first},
        {"IWARP-RDMAP-14", EXPLAIN_FIND_IWARP_RESPONSE, response_unasked},
        {"IWARP-ATOM-06", EXPLAIN_FIND_IWARP_RESPONSE, atomic_response_unasked},
        {"IWARP-FPDU-02", EXPLAIN_FIND_IWARP_FRAMING, short_ulpdu},
    };
    for (unsigned i = 0; i < array_len(wrongs); i++) {
        uint8_t ulpdu[128];
        reel_begin_full(&reel);
        reel_ulpdu(&reel, 0, ulpdu, wrongs[i].make(ulpdu));
        reel_expect_finding(&reel, wrongs[i].kind, wrongs[i].rule);
        cr_assert_eq(reel_errors(&reel), 1, "%s: %s", wrongs[i].rule, reel.m.words);
        reel_end(&reel);
    }
}

/* A Send in a Write, and a Write in a Send: told once, when the second begins. */
Test(iwarp, a_message_in_another_one)
{
    uint8_t u[64];
    static const uint8_t zeros[8];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 0, u, reel_tagged(u, IWARP_OP_WRITE, false, 7, 0x700, 8));
    reel_ulpdu(&reel, 0, u, reel_untagged(u, IWARP_OP_SEND, false, 0, 1, 0, zeros, 8));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_SEQUENCE, "IWARP-DDP-09");
    reel_ulpdu(&reel, 0, u, reel_tagged(u, IWARP_OP_WRITE, true, 7, 0x708, 8));
    cr_assert_eq(reel_errors(&reel), 1, "%s", reel.m.words);
    reel_ulpdu(&reel, 0, u, reel_tagged(u, IWARP_OP_WRITE, true, 7, 0x700, 8));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_SEQUENCE, "IWARP-DDP-09");
    reel_ulpdu(&reel, 0, u, reel_untagged(u, IWARP_OP_SEND, true, 0, 1, 8, zeros, 8));
    reel_ulpdu(&reel, 0, u, reel_tagged(u, IWARP_OP_WRITE, true, 7, 0x700, 8));
    cr_assert_eq(reel_errors(&reel), 2, "%s", reel.m.words);
    reel_end(&reel);
}

/* The other direction is a stream of its own. */
Test(iwarp, a_response_while_the_other_side_writes)
{
    uint8_t u[64];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 0, u, reel_read(u, 1, 16));
    reel_ulpdu(&reel, 0, u, reel_tagged(u, IWARP_OP_WRITE, false, 7, 0x700, 8));
    reel_ulpdu(&reel, 1, u, reel_tagged(u, IWARP_OP_READ_RESPONSE, false, 9, 0x900, 8));
    cr_assert_eq(reel_errors(&reel), 0, "%s", reel.m.words);
    reel_ulpdu(&reel, 1, u, reel_tagged(u, IWARP_OP_WRITE, true, 7, 0x700, 8));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_SEQUENCE, "IWARP-DDP-09");
    reel_end(&reel);
}

Test(iwarp, bad_crc_and_nothing_else_of_it)
{
    uint8_t ulpdu[64], fpdu[100];
    reel_begin_full(&reel);
    uint32_t n =
        reel_put_fpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 9, 0, ulpdu, 20), fpdu);
    fpdu[n - 9] ^= 1;
    reel_send(&reel, 0, fpdu, n);
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_CRC, "IWARP-FPDU-10");
    cr_assert_eq(reel_errors(&reel), 1, "its MSN is not believed");
    cr_assert_eq(reel.crcs[EXPLAIN_CRC_BAD], 1);
    reel_end(&reel);
}

Test(iwarp, marker_that_disagrees)
{
    uint8_t ulpdu[64], fpdu[100];
    reel_begin(&reel);
    reel.has_markers[0] = true;
    reel_open(&reel);
    reel_set_up(&reel);
    reel.place[0] = 512; /* as if the FPDU stood elsewhere: its marker leads, and is taken for one inside */
    uint32_t n = reel_tagged(ulpdu, IWARP_OP_WRITE, true, 1, 2, 3);
    n = reel_put_fpdu(&reel, 0, ulpdu, n, fpdu);
    reel_send(&reel, 0, fpdu, n);
    cr_assert_eq(reel_errors(&reel), 0, "a leading marker says 0");
    reel_end(&reel);
    reel_begin(&reel);
    reel.has_markers[0] = true;
    reel_open(&reel);
    reel_set_up(&reel);
    reel.has_markers[0] = false; /* four bytes that are no marker, under a good CRC */
    uint8_t bytes[24] = {0, 0, 0, 8, 0, 14, 0xc1, 0x40, 0, 0, 0, 1}; /* a Write of nothing behind them */
    uint32_t crc = iwarp_crc(0, bytes, 20);
    iwarp_crc_put(bytes + 20, crc);
    reel_send(&reel, 0, bytes, 24);
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_FRAMING, "IWARP-MARK-05");
    reel_end(&reel);
}

Test(iwarp, more_reads_than_ord)
{
    uint8_t ulpdu[64];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, 1, 10));
    reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, 2, 10));
    cr_assert_eq(reel_errors(&reel), 0);
    reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, 3, 10));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_LIMIT, "IWARP-FLOW-01");
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 11));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_RESPONSE, "IWARP-RDMAP-14");
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 8, 0x900, 10));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_RESPONSE, "IWARP-RDMAP-14");
    reel.time_ns += NS_PER_S;
    reel_ack(&reel, 1);
    struct explain_finding open[4];
    cr_assert_eq(explain_analysis_end(reel.analysis, open, 4), 1, "the third Read");
    cr_assert_eq(open[0].kind, EXPLAIN_FIND_IWARP_UNANSWERED);
    cr_assert_eq(open[0].number, 7);
    reel_end(&reel);
}

Test(iwarp, turns_before_the_first_fpdu)
{
    uint8_t ulpdu[64];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 1, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 1, 0, ulpdu, 4));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_EARLY, "IWARP-MPA-03");
    reel_end(&reel);
    reel_begin(&reel);
    reel_open(&reel);
    reel_example(&reel, 0, IWARP_EX_REQUEST_1);
    reel_example(&reel, 0, IWARP_EX_SEND);
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_EARLY, "IWARP-MPA-02");
    reel_end(&reel);
    reel_begin(&reel);
    reel_open(&reel);
    reel_example(&reel, 0, IWARP_EX_REQUEST_2);
    reel_example(&reel, 1, IWARP_EX_REPLY_2);
    reel_example(&reel, 0, IWARP_EX_SEND); /* and no RTR */
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_SETUP, "IWARP-ECE-06");
    reel_end(&reel);
}

Test(iwarp, ends_of_a_stream)
{
    uint8_t ulpdu[64], fpdu[100];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 0, ulpdu,
               reel_untagged(ulpdu, IWARP_OP_TERMINATE, true, 2, 1, 0, (const uint8_t *)"\x20\x02\0", 4));
    reel_expect_words(&reel, "Terminate: 2/0/02 MPA, MPA CRC error");
    reel_ulpdu(&reel, 0, ulpdu, reel_tagged(ulpdu, IWARP_OP_WRITE, true, 1, 2, 3));
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_AFTER_END, "IWARP-RDMAP-30");
    uint32_t n = reel_put_fpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_WRITE, true, 1, 2, 3), fpdu);
    reel_send(&reel, 1, fpdu, n - 5);
    reel_segment(&reel, 1, reel.seq[1], TCP_FIN | TCP_ACK, NULL, 0);
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_CUT_OFF, "IWARP-MPA-20");
    reel_segment(&reel, 0, reel.seq[0], TCP_RST, NULL, 0);
    reel_expect_words(&reel, "RST: the connection is aborted");
    reel_end(&reel);
}

Test(iwarp, a_refusal_ends_it)
{
    uint8_t reply[IWARP_EXAMPLE_MAX_BYTES];
    reel_begin(&reel);
    reel_open(&reel);
    reel_example(&reel, 0, IWARP_EX_REQUEST_1);
    uint32_t n = (uint32_t)iwarp_example_bytes(IWARP_EX_REPLY_1, reply);
    reply[16] |= 0x20; /* R */
    reel_send(&reel, 1, reply, n);
    reel_expect_words(&reel, "MPA Reply, revision 1: CRC, no markers, refused");
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_REFUSED, "IWARP-MPA-08");
    cr_assert(explain_analysis_iwarp_conn(reel.analysis, 1)->is_refused);
    cr_assert_eq(reel.m.answers, 3);
    reel_end(&reel);
}
