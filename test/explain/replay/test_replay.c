/* SPDX-License-Identifier: BSD-2-Clause */
/* Replays of the golden captures, as they are (test/e2e/replay.list has all of them) and after one
 * packet was changed: each kind of outcome comes when it should, and only then. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "explain/replay/learn/learn.h"
#include "explain/replay/replay.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "roce/wire/frame.h"
#include "test/explain/tape_of.h"

struct outcome {
    struct explain_replay_result result;
    struct explain_compared last; /* that is not equal */
    uint64_t last_number;
    uint8_t engine_opcode; /* of the last packet that the engine alone sent */
};

static void make_whole(uint8_t *bytes, uint32_t len)
{
    put_be16(bytes + 24, net_checksum_ipv4(bytes + 14, 20));
    put_le32(bytes + len - 4, roce_icrc(bytes + 14, ROCE_L3_IPV4, len - 14 - 4));
}

static void keep(void *ctx, const struct explain_compared *c)
{
    struct outcome *o = ctx;
    if (c->outcome == EXPLAIN_REPLAY_EQUAL)
        return;
    o->last = *c; /* its packets end with this call */
    if (!c->recorded)
        o->engine_opcode = c->engine->roce.bth.opcode;
    o->last_number = c->recorded ? c->recorded->number : 0;
}

static struct outcome replay(const char *name, const char *as, tape_edit *change)
{
    struct explain_tape tape;
    struct explain_endpoint endpoint;
    struct outcome o = {0};
    struct explain_replay_config config = {.compared = keep, .ctx = &o};
    struct nornic_addr addr;
    struct nornic_error why;
    tape_of(name, change, change ? make_whole : NULL, &tape);
    cr_assert_eq(nornic_addr_parse(as, &addr), 0);
    cr_assert_eq(explain_learn(&tape, &addr, NULL, &endpoint, &why), 0, "%s", why.text);
    cr_assert_eq(explain_replay(&tape, &endpoint, &config, &o.result, &why), 0, "%s", why.text);
    explain_endpoint_free(&endpoint);
    explain_tape_free(&tape);
    return o;
}

static uint64_t failures(const struct explain_replay_result *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < EXPLAIN_REPLAY_OUTCOME_COUNT; i++)
        n += explain_replay_outcome_of(i)->fails ? r->outcomes[i] : 0;
    return n;
}

static void expect_one_diff(const struct outcome *o, uint64_t number, const char *layer, const char *field)
{
    cr_assert_eq(failures(&o->result), 1);
    cr_expect_eq(o->result.outcomes[EXPLAIN_REPLAY_DIFFERENT], 1);
    cr_expect_eq(o->last_number, number);
    cr_assert_eq(o->last.diff_count, 1);
    cr_expect_str_eq(o->last.diffs[0].layer, layer);
    cr_expect_str_eq(o->last.diffs[0].field, field);
}

/* Where things lie in these frames: Ethernet 14, IPv4 20, UDP 8, BTH 12. */
enum { AT_IP = 14, AT_UDP = 34, AT_BTH = 42, AT_EXT = 54 };

/* --- one field changed in what the endpoint sent --- */

static bool other_msn(uint64_t number, uint8_t *bytes)
{
    if (number == 4)
        bytes[AT_EXT + 3]++;
    return true;
}

Test(replay, an_ack_with_another_msn_is_different)
{
    struct outcome o = replay("rc_write_1024", "10.77.0.2", other_msn);
    expect_one_diff(&o, 4, "aeth", "msn");
    cr_expect_str_eq(o.last.diffs[0].recorded, "3");
    cr_expect_str_eq(o.last.diffs[0].engine, "2");
}

static bool other_freedoms(uint64_t number, uint8_t *bytes)
{
    bytes[AT_IP + 4] ^= (uint8_t)number; /* identification */
    bytes[AT_IP + 8] = (uint8_t)(200 - number);
    bytes[AT_UDP] ^= 0x10;     /* source port */
    bytes[AT_BTH + 1] |= 0x40; /* M */
    return true;
}

Test(replay, what_is_free_is_not_compared)
{
    struct outcome o = replay("rc_write_1024", "10.77.0.2", other_freedoms);
    cr_expect_eq(failures(&o.result), 0);
    cr_expect_eq(o.result.outcomes[EXPLAIN_REPLAY_EQUAL], 27);
    o = replay("rc_write_1024", "10.77.0.1", other_freedoms);
    cr_expect_eq(failures(&o.result), 0);
    cr_expect_eq(o.result.outcomes[EXPLAIN_REPLAY_EQUAL], 38);
}

static bool not_asked(uint64_t number, uint8_t *bytes)
{
    if (number == 1)
        bytes[AT_BTH + 8] &= 0x7f;
    return true;
}

Test(replay, a_message_must_ask_for_its_ack)
{
    struct outcome o = replay("rc_write_1024", "10.77.0.1", not_asked);
    expect_one_diff(&o, 1, "bth", "ack_req");
}

static bool reserved_bits(uint64_t number, uint8_t *bytes)
{
    if (number == 3)
        bytes[AT_BTH + 8] |= 1; /* resv7 */
    return true;
}

Test(replay, a_reserved_bit_in_a_request_is_different)
{
    struct outcome o = replay("rc_read_1024", "10.77.0.1", reserved_bits);
    expect_one_diff(&o, 3, "bth", "resv7");
}

/* --- packets that are missing --- */

static bool second_gone(uint64_t number, uint8_t *bytes)
{
    (void)bytes;
    return number != 2;
}

Test(replay, an_answer_that_the_capture_lacks_is_of_the_engine_only)
{
    struct outcome o = replay("rc_atomic", "10.77.0.2", second_gone);
    cr_expect_eq(o.result.outcomes[EXPLAIN_REPLAY_ONLY_ENGINE], 1);
    cr_expect_eq(failures(&o.result), 1);
    cr_expect_eq(o.engine_opcode, ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_ATOMIC_ACK));
}

Test(replay, ROCE_RS_51_an_ack_that_the_capture_lacks_is_implied_by_the_next)
{
    struct outcome o = replay("rc_write_1024", "10.77.0.2", second_gone);
    cr_expect_eq(o.result.outcomes[EXPLAIN_REPLAY_ACK_ENGINE], 1);
    cr_expect_eq(failures(&o.result), 0);
}

/* --- captures that begin late --- */

static uint64_t first_kept;

static bool from_there(uint64_t number, uint8_t *bytes)
{
    (void)bytes;
    return number >= first_kept;
}

Test(replay, a_capture_may_begin_within_a_connection)
{
    static const char *const names[] = {"rc_write_1024", "rc_send_256", "rc_read_256", "rc_long"};
    for (unsigned n = 0; n < 4; n++)
        for (first_kept = 2; first_kept < 40; first_kept++)
            for (unsigned side = 1; side <= 2; side++) {
                struct outcome o = replay(names[n], side == 1 ? "10.77.0.1" : "10.77.0.2", from_there);
                cr_expect_eq(failures(&o.result), 0, "%s from %lu as %u", names[n], (unsigned long)first_kept,
                             side);
                cr_expect_gt(o.result.outcomes[EXPLAIN_REPLAY_EQUAL], 10);
            }
}

static bool from_four_other_msn(uint64_t number, uint8_t *bytes)
{
    if (number == 6)
        bytes[AT_EXT + 3]++;
    return number >= 4;
}

Test(replay, the_msn_is_learned_once)
{
    first_kept = 5;
    struct outcome o = replay("rc_write_1024", "10.77.0.2", from_there);
    cr_expect_eq(o.result.late_qps, 1);
    o = replay("rc_write_1024", "10.77.0.2", from_four_other_msn);
    cr_expect_gt(failures(&o.result), 0);
    o = replay("rc_write_1024", "10.77.0.2", NULL);
    cr_expect_eq(o.result.late_qps, 0);
}

/* --- memory --- */

static bool other_original(uint64_t number, uint8_t *bytes)
{
    if (number == 8) /* the fourth atomic's answer: the third left another value there */
        bytes[AT_EXT + 4 + 7] ^= 0x55;
    return true;
}

Test(replay, memory_that_holds_something_else_is_told_of)
{
    struct outcome o = replay("rc_atomic", "10.77.0.2", NULL);
    cr_expect_eq(o.result.changed_memory, 0);
    o = replay("rc_atomic", "10.77.0.2", other_original);
    /* Where it was changed; and where the next shows that the compare before it had matched. */
    cr_expect_eq(o.result.changed_memory, 2);
}

/* --- what is learned --- */

struct learned {
    struct explain_tape tape;
    struct explain_endpoint endpoint;
};

static void learn(struct learned *l, const char *name, const char *as)
{
    struct nornic_addr addr;
    struct nornic_error why;
    tape_of(name, NULL, NULL, &l->tape);
    cr_assert_eq(nornic_addr_parse(as, &addr), 0);
    cr_assert_eq(explain_learn(&l->tape, &addr, NULL, &l->endpoint, &why), 0, "%s", why.text);
}

static void forget(struct learned *l)
{
    explain_endpoint_free(&l->endpoint);
    explain_tape_free(&l->tape);
}

Test(learn, the_requests_of_an_endpoint)
{
    struct learned l;
    learn(&l, "rc_long", "10.77.0.1");
    const struct explain_learned *q = &l.endpoint.qps[0];
    cr_assert_eq(l.endpoint.qp_count, 1);
    cr_expect_eq(q->pmtu_bytes, 1024);
    cr_assert_eq(q->message_count, 3);
    cr_expect_eq(q->messages[0].wr.opcode, NORNIC_WR_RDMA_WRITE);
    cr_expect_eq(q->messages[0].len_bytes, 100000);
    cr_expect_eq(q->messages[0].psn_count, 98);
    cr_expect_eq(q->messages[1].len_bytes, 70000);
    cr_expect_eq(q->messages[2].wr.opcode, NORNIC_WR_RDMA_READ);
    cr_expect_eq(q->messages[2].psn_count, 65);
    forget(&l);
}

Test(learn, memory_as_far_as_it_was_reached)
{
    struct learned l;
    learn(&l, "rc_nak", "10.77.0.2");
    /* Two keys were good once; the WRITE with a wrong key and the READ beyond show nothing. */
    cr_assert_eq(l.endpoint.region_count, 2);
    for (unsigned i = 0; i < 2; i++)
        cr_expect_eq(l.endpoint.regions[i].to - l.endpoint.regions[i].from, 100);
    forget(&l);
    learn(&l, "rc_sendinv", "10.77.0.2");
    cr_expect(l.endpoint.regions[0].is_revocable);
    forget(&l);
}

Test(learn, a_receive_that_was_too_short)
{
    struct learned l;
    unsigned limits = 0;
    learn(&l, "rc_nak", "10.77.0.2");
    for (uint32_t i = 0; i < l.endpoint.qp_count; i++)
        limits += l.endpoint.qps[i].limit.is_there;
    cr_expect_eq(limits, 1);
    forget(&l);
}

Test(learn, nobody_by_that_address)
{
    struct explain_tape tape;
    struct explain_endpoint endpoint;
    struct nornic_addr addr;
    struct nornic_error why;
    tape_of("rc_atomic", NULL, NULL, &tape);
    nornic_addr_parse("10.9.9.9", &addr);
    cr_expect_lt(explain_learn(&tape, &addr, NULL, &endpoint, &why), 0);
    cr_expect(strstr(why.text, "10.9.9.9") != NULL);
    explain_endpoint_free(&endpoint);
    explain_tape_free(&tape);
}

/* --- hostile captures --- */

/* A request of UC with any opcode and PadCnt, 12 bytes behind the BTH, and a good ICRC. Returns its length.
 */
static uint32_t build(uint8_t *frame, uint8_t opcode, uint8_t pad_count)
{
    struct roce_path path = {.vlan_tci = -1, .hop_limit = 64, .src_port = 0xc000};
    struct roce_bth bth = {
        .opcode = opcode, .pad_count = pad_count, .pkey = NORNIC_PKEY_DEFAULT, .dest_qpn = 0x11};
    struct roce_frame_template t;
    cr_assert_eq(nornic_addr_parse("10.77.0.1", &path.src) | nornic_addr_parse("10.77.0.2", &path.dst), 0);
    memset(frame, 0, 128);
    roce_frame_template_init(&t, &path);
    roce_bth_put(roce_frame_begin(&t, frame, ROCE_BTH_BYTES + 12, 1), &bth);
    return roce_frame_seal(&t, frame, ROCE_BTH_BYTES + 12);
}

/* Behind a reserved opcode nothing is padding, whatever PadCnt says: the ICRC, which is made anew when the
 * packet gets the engine's keys, is where it was. (AddressSanitizer sees it written beyond the frame.) */
Test(replay, the_icrc_stays_within_the_frame_whatever_padcnt_says)
{
    for (unsigned op = 0; op < 32; op++)
        for (uint8_t pad_count = 0; pad_count < 4; pad_count++) {
            uint8_t frame[128];
            struct explain_tape tape = {0};
            struct explain_endpoint endpoint;
            struct explain_replay_result result;
            struct explain_packet p;
            struct nornic_addr addr;
            struct nornic_error why;
            struct net_capture_record record = {.data = frame};
            record.len_bytes = record.wire_bytes = build(frame, ROCE_OPCODE(ROCE_SERVICE_UC, op), pad_count);
            cr_assert_eq(explain_tape_add(&tape, &record), 0);
            explain_tape_packet(&tape, 0, &p);
            if (explain_has_icrc(&p)) {
                cr_expect_eq(p.icrc_offset + ROCE_ICRC_BYTES, p.len_bytes, "opcode %u, PadCnt %u", op,
                             pad_count);
                cr_expect_eq(get_le32(p.frame + p.icrc_offset), p.roce.icrc_found);
            }
            nornic_addr_parse("10.77.0.2", &addr);
            if (explain_learn(&tape, &addr, NULL, &endpoint, &why) == 0)
                cr_expect_eq(
                    explain_replay(&tape, &endpoint, &(struct explain_replay_config){0}, &result, &why), 0,
                    "%s", why.text);
            explain_endpoint_free(&endpoint);
            explain_tape_free(&tape);
        }
}

static uint32_t seed;

static bool anything(uint64_t number, uint8_t *bytes)
{
    seed = seed * 1664525 + 1013904223;
    if (seed >> 29 == 0)
        bytes[AT_BTH + (seed >> 8) % 40] ^= (uint8_t)(1u << (seed >> 4 & 7));
    if (seed >> 28 == 15)
        bytes[AT_BTH + (seed >> 8) % 40] = (uint8_t)(seed >> 16);
    return number != 0 && seed >> 26 != 9;
}

Test(replay, captures_with_anything_in_their_packets, .timeout = 120)
{
    static const char *const names[] = {"rc_mix", "rc_sendinv", "lossy_duplicate", "uc", "ud_4", "rc_rnr"};
    unsigned replayed = 0;
    for (unsigned round = 0; round < 120; round++) {
        struct explain_tape tape;
        struct explain_endpoint endpoint;
        struct explain_replay_result result;
        struct nornic_addr addr;
        struct nornic_error why;
        seed = round;
        tape_of(names[round % 6], anything, make_whole, &tape);
        nornic_addr_parse(round / 6 % 2 ? "10.77.0.1" : "10.77.0.2", &addr);
        if (explain_learn(&tape, &addr, NULL, &endpoint, &why) == 0 &&
            explain_replay(&tape, &endpoint, &(struct explain_replay_config){0}, &result, &why) == 0)
            replayed++;
        explain_endpoint_free(&endpoint);
        explain_tape_free(&tape);
    }
    cr_expect_gt(replayed, 20);
}
