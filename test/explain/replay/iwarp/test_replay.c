/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP replayed: of captures of Linux siw the engine says again what either end said; and each kind of
 * outcome comes where a message was changed, is missing or is one too many. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/iwarp/replay.h"
#include "test/explain/tape_of.h"

TestSuite(iwarp_replay, .timeout = 60);

#define TOLD_MAX 64
#define SERVER   "10.77.0.1"
#define CLIENT   "10.77.0.2"

struct outcome {
    struct explain_iwarp_replay_result result;
    struct explain_iwarp_compared told[TOLD_MAX]; /* those that are not equal */
    unsigned told_count;
};

/* Where things stand in these captures: the TCP flags; the data, behind time stamps; an FPDU's length,
 * controls and queue numbers; the payload of an untagged one. */
enum { FLAGS_AT = 47, DATA_AT = 66, OPCODE_AT = DATA_AT + 3, STAG_AT = DATA_AT + 4, MSN_AT = DATA_AT + 12 };
enum { MPA_FLAGS_AT = DATA_AT + 16, TERM_AT = DATA_AT + 20, TCP_FIN = 1 };

static void keep(void *ctx, const struct explain_iwarp_compared *c)
{
    struct outcome *o = ctx;
    if (c->outcome != EXPLAIN_IWARP_REPLAY_EQUAL && o->told_count < TOLD_MAX)
        o->told[o->told_count++] = *c;
}

static struct outcome replay(const char *name, const char *as, tape_edit *change)
{
    struct outcome o = {.told_count = 0};
    struct explain_iwarp_replay_config config = {.compared = keep, .ctx = &o};
    struct explain_tape tape;
    struct nornic_addr addr;
    struct nornic_error why = {{0}};
    tape_of(name, change, NULL, &tape);
    cr_assert_eq(nornic_addr_parse(as, &addr), 0);
    cr_assert_eq(explain_iwarp_replay(&tape, &addr, &config, &o.result, &why), 0, "%s", why.text);
    explain_tape_free(&tape);
    return o;
}

static void expect_fine(const char *name, const char *as, uint64_t messages, uint64_t fed, uint64_t work)
{
    struct outcome o = replay(name, as, NULL);
    cr_expect_eq(o.told_count, 0, "%s as %s: %s", name, as, o.told_count ? o.told[0].message : "");
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_EQUAL], messages, "%s as %s", name, as);
    cr_expect(o.result.connections == 1 && o.result.left_out == 0);
    cr_expect(o.result.fed == fed && o.result.work_requests == work, "%s as %s: %lu, %lu", name, as,
              (unsigned long)o.result.fed, (unsigned long)o.result.work_requests);
}

/* One message is not equal: packet `number`, of the engine what it says behind packet `cause`. Its first
 * difference. */
static struct explain_field_diff expect_one(const struct outcome *o,
                                            enum explain_iwarp_replay_outcome outcome, uint64_t number,
                                            uint64_t cause, const char *message)
{
    cr_assert_eq(o->told_count, 1, "%u", o->told_count);
    const struct explain_iwarp_compared *c = &o->told[0];
    cr_expect_eq(c->outcome, outcome, "%s", explain_iwarp_replay_outcome_of(c->outcome)->words);
    cr_expect_eq(o->result.outcomes[outcome], 1);
    cr_expect_eq(c->number, number, "%lu", (unsigned long)c->number);
    cr_expect_eq(c->cause, cause, "%lu", (unsigned long)c->cause);
    cr_expect_str_eq(c->message, message, "%s", c->message);
    return c->diff_count ? c->diffs[0] : (struct explain_field_diff){.layer = "", .field = ""};
}

static void expect_diff(const struct explain_field_diff *d, const char *layer, const char *field,
                        const char *recorded, const char *engine)
{
    cr_expect_str_eq(d->layer, layer, "%s", d->layer);
    cr_expect_str_eq(d->field, field, "%s", d->field);
    cr_expect_str_eq(d->recorded, recorded, "%s", d->recorded);
    cr_expect_str_eq(d->engine, engine, "%s", d->engine);
}

/* --- as recorded --- */

Test(iwarp_replay, golden_captures_are_equal_from_both_ends)
{
    expect_fine("iwarp/rping_23", SERVER, 13, 10, 12);
    expect_fine("iwarp/rping_23", CLIENT, 10, 13, 6);
    expect_fine("iwarp/crc_rping_100", SERVER, 13, 10, 12);
    expect_fine("iwarp/crc_rping_100", CLIENT, 10, 13, 6);
}

Test(iwarp_replay, a_capture_without_iwarp_has_nothing_to_compare)
{
    static const struct explain_iwarp_replay_result none;
    struct explain_tape tape;
    struct nornic_addr addr;
    struct outcome o = replay("rc_write_1024", SERVER, NULL);
    cr_expect_eq(memcmp(&o.result, &none, sizeof none), 0);
    tape_of("iwarp/rping_23", NULL, NULL, &tape);
    cr_assert_eq(nornic_addr_parse(CLIENT, &addr), 0);
    cr_expect(explain_iwarp_replay_is_there(&tape, &addr));
    cr_assert_eq(nornic_addr_parse("10.77.0.3", &addr), 0);
    cr_expect_not(explain_iwarp_replay_is_there(&tape, &addr), "not of that address");
    explain_tape_free(&tape);
}

Test(iwarp_replay, a_message_that_is_cut_off_is_not_compared)
{
    struct outcome o = replay("iwarp/mid_reuse", CLIENT, NULL);
    expect_one(&o, EXPLAIN_IWARP_REPLAY_UNKNOWN, 95, 0, "RDMA Write");
}

/* --- one packet changed --- */

static bool set_reserved_flag_of_the_reply(uint64_t number, uint8_t *bytes)
{
    bytes[MPA_FLAGS_AT] |= number == 6;
    return true;
}

Test(iwarp_replay, another_reply)
{
    struct outcome o = replay("iwarp/rping_23", SERVER, set_reserved_flag_of_the_reply);
    struct explain_field_diff d = expect_one(&o, EXPLAIN_IWARP_REPLAY_DIFFERENT, 6, 4, "MPA Reply");
    expect_diff(&d, "mpa_frame", "resv4", "0x1", "0x0");
}

static bool ask_for_markers(uint64_t number, uint8_t *bytes)
{
    bytes[MPA_FLAGS_AT] |= number == 4 ? 0x80 : 0;
    return true;
}

Test(iwarp_replay, streams_with_markers_are_left_out_and_counted)
{
    struct outcome o = replay("iwarp/rping_23", CLIENT, ask_for_markers);
    cr_expect(o.result.left_out == 1 && o.result.connections == 0 && o.told_count == 0);
}

static bool skip_four_msns(uint64_t number, uint8_t *bytes)
{
    bytes[MSN_AT + 3] = number == 12 ? 5 : bytes[MSN_AT + 3];
    return true;
}

Test(iwarp_replay, another_msn)
{
    struct outcome o = replay("iwarp/rping_23", SERVER, skip_four_msns);
    struct explain_field_diff d = expect_one(&o, EXPLAIN_IWARP_REPLAY_DIFFERENT, 12, 11, "Send");
    expect_diff(&d, "ddp_untagged", "msn", "0x5", "0x1");
}

static bool answer_elsewhere(uint64_t number, uint8_t *bytes)
{
    bytes[STAG_AT] ^= number == 11;
    return true;
}

Test(iwarp_replay, an_answer_to_another_place)
{
    struct outcome o = replay("iwarp/rping_23", CLIENT, answer_elsewhere);
    struct explain_field_diff d =
        expect_one(&o, EXPLAIN_IWARP_REPLAY_DIFFERENT, 11, 10, "RDMA Read Response");
    expect_diff(&d, "ddp_tagged", "stag", "0x4a314100", "0x4b314100");
}

/* The client's first Send has a bad CRC: as the client the engine says the same with a good one, as the
 * server it has nothing to say on that stream any more. */
static bool spoil_a_crc(uint64_t number, uint8_t *bytes)
{
    bytes[DATA_AT + 39] ^= number == 8;
    return true;
}

Test(iwarp_replay, a_bad_crc)
{
    struct outcome o = replay("iwarp/crc_rping_100", CLIENT, spoil_a_crc);
    expect_one(&o, EXPLAIN_IWARP_REPLAY_CRC, 8, 6, "Send");
    o = replay("iwarp/crc_rping_100", SERVER, spoil_a_crc);
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_EQUAL], 1, "the Reply");
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_ONLY_RECORD], 12);
    cr_expect_eq(o.told_count, 12);
}

/* The server's Read Request has a reserved opcode, which the client did not mind: the engine ends the
 * stream. */
static bool ask_by_no_opcode(uint64_t number, uint8_t *bytes)
{
    bytes[OPCODE_AT] |= number == 10 ? 15 : 0;
    return true;
}

Test(iwarp_replay, what_the_engine_does_not_take)
{
    struct outcome o = replay("iwarp/rping_23", CLIENT, ask_by_no_opcode);
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_ONLY_RECORD], 8, "five Sends and three answers");
    cr_assert_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_ONLY_ENGINE], 1);
    const struct explain_iwarp_compared *last = &o.told[o.told_count - 1];
    cr_expect(last->outcome == EXPLAIN_IWARP_REPLAY_ONLY_ENGINE && last->number == 0 && last->cause == 10);
    cr_expect_str_eq(last->message, "Terminate");
}

static bool end_behind_the_request(uint64_t number, uint8_t *bytes)
{
    bytes[FLAGS_AT] |= number == 10 ? TCP_FIN : 0;
    return number <= 10;
}

Test(iwarp_replay, an_answer_that_is_owed_behind_a_fin)
{
    struct outcome o = replay("iwarp/rping_23", CLIENT, end_behind_the_request);
    expect_one(&o, EXPLAIN_IWARP_REPLAY_OWED, 0, 10, "RDMA Read Response");
}

/* The server's FIN is in the client's TCP when the client, which has not looked, sends once more. */
static bool end_before_a_send(uint64_t number, uint8_t *bytes)
{
    bytes[FLAGS_AT] |= number == 15 ? TCP_FIN : 0;
    return number <= 17;
}

Test(iwarp_replay, a_fin_is_heard_when_nothing_more_begins)
{
    struct outcome o = replay("iwarp/rping_23", CLIENT, end_before_a_send);
    cr_expect_eq(o.told_count, 0);
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_EQUAL], 5, "Request, three Sends and an answer");
}

/* --- Terminates --- */

static bool say_another_code(uint64_t number, uint8_t *bytes)
{
    bytes[TERM_AT + 1] = number == 9 ? 2 : bytes[TERM_AT + 1];
    return true;
}

static bool copy_another_header(uint64_t number, uint8_t *bytes)
{
    bytes[TERM_AT + 6] ^= number == 9 ? 0x80 : 0;
    return true;
}

/* The first FPDU is too short for its header, and the server had heard nothing before. */
static bool shorten_the_request(uint64_t number, uint8_t *bytes)
{
    bytes[DATA_AT + 1] = number == 8 ? 10 : bytes[DATA_AT + 1];
    return true;
}

Test(iwarp_replay, terminates)
{
    struct outcome o = replay("iwarp/term_badread", SERVER, NULL);
    struct explain_field_diff d = expect_one(&o, EXPLAIN_IWARP_REPLAY_TERMINATE, 9, 8, "Terminate");
    expect_diff(&d, "rdmap_term", "layer, etype and code", "0x1000", "0x100");
    o = replay("iwarp/term_badread", SERVER, say_another_code);
    d = expect_one(&o, EXPLAIN_IWARP_REPLAY_CODE, 9, 8, "Terminate");
    expect_diff(&d, "rdmap_term", "layer, etype and code", "0x1002", "0x100");
    o = replay("iwarp/term_badread", SERVER, shorten_the_request);
    expect_one(&o, EXPLAIN_IWARP_REPLAY_EARLY, 9, 0, "Terminate");
    /* A Terminate about nothing that came: the READ was not refused, so that the engine serves it. */
    o = replay("iwarp/term_badread", SERVER, copy_another_header);
    cr_expect_eq(o.result.outcomes[EXPLAIN_IWARP_REPLAY_ONLY_RECORD], 1);
    cr_expect_eq(o.told_count, 2);
}
