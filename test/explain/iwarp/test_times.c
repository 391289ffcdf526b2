/* SPDX-License-Identifier: BSD-2-Clause */
/* When messages of iWARP are done, and when that cannot be told. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/opcode.h"
#include "test/explain/iwarp_reel.h"

#define TCP_ACK 0x10

static struct iwarp_reel reel;

static void begin(struct iwarp_reel *f)
{
    reel_begin(f);
    reel_open(f);
    reel_set_up(f);
}

/* A Response behind a hole fits the Read whose data go there, and may be that of one in the hole: it is not
 * called its answer for sure, and no latency is told. */
Test(iwarp_times, answers_behind_a_hole)
{
    uint8_t ulpdu[200];
    begin(&reel);
    for (uint32_t msn = 1; msn <= 2; msn++)
        reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, msn, 30 * msn));
    reel.is_off_air = true;
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 30));
    reel.is_off_air = false;
    reel_ack(&reel, 0);
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 60));
    cr_assert(strstr(reel.m.words, "most likely for #5 (MSN 1)"), "%s", reel.m.words);
    cr_assert_null(strstr(reel.m.words, "ms before"), "%s", reel.m.words);
    cr_assert_eq(reel.m.iwarp.done, 0);
    cr_assert_eq(explain_analysis_iwarp_conn(reel.analysis, 1)->untimed[0], 1);
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 8, 0x900, 60));
    cr_assert(strstr(reel.m.words, "for a request that this capture does not show"), "another buffer: %s",
              reel.m.words);
    reel_end(&reel);
}

/* What is said of an FPDU stands with it, and is left out with it. */
Test(iwarp_times, many_answers_in_a_segment)
{
    uint8_t ulpdu[200], fpdus[1000];
    uint32_t n = 0;
    begin(&reel);
    for (uint32_t msn = 1; msn <= 2; msn++)
        reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, msn, 30));
    for (uint32_t msn = 1; msn <= 3; msn++)
        n += reel_put_fpdu(&reel, 1, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 5),
                           fpdus + n);
    for (uint32_t msn = 1; msn <= 2; msn++)
        n += reel_put_fpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 30),
                           fpdus + n);
    reel_send(&reel, 1, fpdus, n);
    cr_assert(strstr(reel.m.words, "message 3 (MSN 3): 5 bytes; and 2 more FPDUs"), "%s", reel.m.words);
    cr_assert_eq(reel.m.iwarp.done, 2);
    cr_assert_eq(reel.m.done[0].first_number, 5);
    cr_assert_eq(reel.m.done[1].message, 2);
    cr_assert_eq(reel.time_ns - NS_PER_MS - reel.m.done[0].begin_ns, 2 * NS_PER_MS);
    reel_end(&reel);
}

/* A Send ends with the acknowledgement of its last byte, whatever came between; one that covers more says so.
 * What is acknowledged before it is in the capture, and what is beyond a list, has no time. */
Test(iwarp_times, messages_end_when_tcp_acknowledges_them)
{
    static uint8_t ulpdu[200], fpdus[4000];
    uint32_t n = 0;
    begin(&reel);
    const struct explain_iwarp_conn *c = explain_analysis_iwarp_conn(reel.analysis, 1);
    reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, false, 0, 1, 0, ulpdu, 100));
    reel_ack(&reel, 1);
    cr_assert_eq(reel.m.iwarp.done, 0, "only a part of it");
    reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 1, 100, ulpdu, 50));
    reel_ulpdu(&reel, 0, ulpdu, reel_tagged(ulpdu, IWARP_OP_WRITE, true, 5, 0, 20));
    reel_ack(&reel, 1);
    cr_assert_eq(reel.p.kind, EXPLAIN_OTHER);
    cr_assert_eq(reel.m.iwarp.done, 2);
    cr_assert(reel.m.done[0].is_with_later && reel.m.done[0].bytes == 150 && reel.m.done[0].fpdus == 2);
    cr_assert(!reel.m.done[1].is_with_later && reel.m.done[1].opcode == IWARP_OP_WRITE);
    cr_assert_eq(reel.m.done[1].first_number, 8);
    for (uint32_t msn = 2; msn < 42; msn++)
        n += reel_put_fpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 5),
                           fpdus + n);
    reel_send(&reel, 0, fpdus, n);
    reel_ack(&reel, 1);
    cr_assert_eq(reel.m.iwarp.done, EXPLAIN_IWARP_DONE_MAX);
    cr_assert_eq(c->untimed[0], 40 - EXPLAIN_IWARP_DONE_MAX);
    cr_assert_eq(c->most_bytes[0], n);
    uint32_t seq = reel.seq[0];
    n = reel_put_fpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 42, 0, ulpdu, 5), fpdus);
    reel.seq[0] += n;
    reel_ack(&reel, 1);
    reel_segment(&reel, 0, seq, TCP_ACK, fpdus, n);
    reel_ack(&reel, 1);
    cr_assert_eq(reel.m.iwarp.done, 0);
    cr_assert_eq(c->untimed[0], 41 - EXPLAIN_IWARP_DONE_MAX);
    reel_end(&reel);
}
