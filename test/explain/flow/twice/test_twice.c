/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a capture holds twice: who copied them, and that they count once. Frames have IPv4 headers
 * without options: TTL at 22, checksum at 24. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/twice/identity.h"
#include "net/bytes.h"
#include "roce/opcode.h"
#include "test/explain/story.h"

#define IP_AT     14
#define KEPT_MAX  64
#define WITH_DATA 100

/* Frames in the order in which they came. */
struct reel {
    unsigned count;
    uint32_t len_bytes[KEPT_MAX];
    uint64_t time_ns[KEPT_MAX];
    uint8_t frame[KEPT_MAX][STORY_FRAME_BYTES];
};

/* Something that was captured then. */
static void feed(struct story *s, const uint8_t *frame, uint32_t len_bytes, uint64_t time_ns)
{
    struct net_capture_record record = {
        .data = frame, .len_bytes = len_bytes, .wire_bytes = len_bytes, .time_ns = time_ns};
    explain_dissect(&s->p, &record, ++s->number);
    explain_analysis_next(s->analysis, &s->p, &s->m);
}

/* The last packet comes once more, 2 us behind itself. */
static void again(struct story *s)
{
    feed(s, s->frame, s->len_bytes, s->time_ns - 8 * NS_PER_US);
}

/* As it looks behind a router. */
static void again_behind_router(struct story *s)
{
    uint8_t frame[STORY_FRAME_BYTES];
    memcpy(frame, s->frame, s->len_bytes);
    frame[IP_AT + 8]--;
    put_be16(frame + IP_AT + 10, (uint16_t)(get_be16(frame + IP_AT + 10) + 0x100));
    feed(s, frame, s->len_bytes, s->time_ns - 8 * NS_PER_US);
}

static void again_with_tag(struct story *s)
{
    uint8_t frame[STORY_FRAME_BYTES];
    memcpy(frame, s->frame, 12);
    put_be16(frame + 12, 0x8100);
    put_be16(frame + 14, 7);
    memcpy(frame + 16, s->frame + 12, s->len_bytes - 12);
    feed(s, frame, s->len_bytes + 4, s->time_ns - 8 * NS_PER_US);
}

static void send_at(struct story *s, uint32_t psn)
{
    story_request(s, ROCE_OP_SEND_ONLY, psn, WITH_DATA, 0);
}

static void answer(struct story *s, uint32_t psn, uint8_t syndrome, uint32_t msn)
{
    story_answer(s, ROCE_OP_ACK, psn, syndrome, msn, 0);
}

static void expect_duplicate(const struct story *s, enum explain_cause cause)
{
    cr_assert_eq(s->m.remark_count, 1, "#%u %s", (unsigned)s->number, s->m.words);
    cr_expect_eq(s->m.remarks[0].kind, EXPLAIN_FIND_DUPLICATE);
    cr_expect_str_eq(explain_cause_key(s->m.remarks[0].why.cause), explain_cause_key(cause), "#%u %s",
                     (unsigned)s->number, s->m.remarks[0].words);
}

static const struct explain_flow *flow(const struct story *s)
{
    cr_assert_eq(explain_analysis_flow_count(s->analysis), 1);
    return explain_analysis_flow(s->analysis, 1);
}

/* Ten messages, of which one is lost and comes again when a NAK asks for it; after each packet `more` is
 * called. */
static unsigned tell_a_loss(struct story *s, void (*more)(struct story *))
{
    unsigned notes = 0;
    for (uint32_t i = 0; i < 12; i++) {
        if (i == 9)
            continue;
        if (i < 10)
            send_at(s, i);
        else if (i == 10)
            answer(s, 5, ROCE_SYNDROME_NAK_PSN_SEQ, 5);
        else
            send_at(s, 5);
        cr_expect_not(s->m.is_copy, "#%u %s", (unsigned)s->number, s->m.words);
        cr_expect_eq(story_has(s, EXPLAIN_FIND_RETRANSMISSION), i == 11, "#%u %s", (unsigned)s->number,
                     s->m.words);
        uint64_t of = s->number;
        more(s);
        cr_expect(s->m.is_copy, "#%u %s", (unsigned)s->number, s->m.words);
        cr_expect_eq(s->m.answers, of);
        cr_expect_not(story_has(s, EXPLAIN_FIND_RETRANSMISSION), "#%u %s", (unsigned)s->number, s->m.words);
        notes += story_has(s, EXPLAIN_FIND_CAPTURED_TWICE);
    }
    return notes;
}

static void expect_counted_once(const struct story *s)
{
    const struct explain_flow *f = flow(s);
    cr_expect_eq(f->packets[0], 10);
    cr_expect_eq(f->packets[1], 1);
    cr_expect_eq(f->messages[0], 9);
    cr_expect_eq(f->naks[1], 1);
    cr_expect_eq(f->retransmissions[0], 1);
    cr_expect_eq(explain_analysis_twice(s->analysis)->packets, 11);
    cr_expect_eq(explain_analysis_twice(s->analysis)->first, 2);
    cr_expect_eq(explain_analysis_twice(s->analysis)->of, 1);
}

Test(twice, a_capture_that_sees_each_packet_twice_says_so_once)
{
    struct story s;
    story_begin(&s);
    cr_expect_eq(tell_a_loss(&s, again), 1);
    cr_expect(s.m.is_recapture);
    cr_expect_eq(s.m.remark_count, 0);
    expect_counted_once(&s);
    story_end(&s);
}

/* Its sender does not count identifications, so that only the times tell. */
Test(twice, with_a_constant_identification_too)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    cr_expect_eq(tell_a_loss(&s, again), 1);
    expect_counted_once(&s);
    story_end(&s);
}

Test(twice, both_sides_of_a_router)
{
    struct story s;
    story_begin(&s);
    cr_expect_eq(tell_a_loss(&s, again_behind_router), 1);
    cr_expect_not_null(strstr(s.m.words, "with TTL 63, not 64"), "%s", s.m.words);
    expect_counted_once(&s);
    cr_expect_eq(explain_analysis_twice(s.analysis)->elsewhere, 11);
    story_end(&s);
}

Test(twice, with_a_tag_and_without)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    cr_expect_eq(tell_a_loss(&s, again_with_tag), 1);
    cr_expect_not_null(strstr(s.m.words, "in VLAN 7"), "%s", s.m.words);
    expect_counted_once(&s);
    story_end(&s);
}

Test(twice, one_of_many_is_the_networks_copy)
{
    struct story s;
    story_begin(&s);
    for (uint32_t i = 0; i < 20; i++)
        send_at(&s, i);
    again(&s);
    expect_duplicate(&s, EXPLAIN_CAUSE_COPIED);
    cr_expect_not(s.m.is_recapture);
    cr_expect_eq(explain_analysis_twice(s.analysis)->packets, 0);
    for (uint32_t i = 10; i < 20; i += 3)
        answer(&s, i, ROCE_SYNDROME_ACK_UNLIMITED, i + 1);
    again(&s);
    expect_duplicate(&s, EXPLAIN_CAUSE_COPIED);
    cr_expect_eq(flow(&s)->retransmissions[0], 0);
    story_end(&s);
}

Test(twice, one_of_few_is_nobodys)
{
    struct story s;
    story_begin(&s);
    for (uint32_t i = 0; i < 6; i++)
        send_at(&s, i);
    again(&s);
    expect_duplicate(&s, EXPLAIN_CAUSE_UNKNOWN);
    cr_expect_eq(s.m.remarks[0].why.sure, EXPLAIN_SURE_UNKNOWN);
    story_end(&s);
}

/* What the network copied comes twice as well. */
Test(twice, a_copy_in_a_capture_that_sees_each_packet_twice)
{
    struct story s;
    story_begin(&s);
    for (uint32_t i = 0; i < 12; i++) {
        send_at(&s, i);
        again(&s);
    }
    again(&s);
    expect_duplicate(&s, EXPLAIN_CAUSE_COPIED);
    again(&s);
    cr_expect(s.m.is_recapture);
    cr_expect_eq(s.m.remark_count, 0);
    story_end(&s);
}

static void keep(struct reel *r, const struct story *s)
{
    cr_assert_lt(r->count, KEPT_MAX);
    r->len_bytes[r->count] = s->len_bytes;
    r->time_ns[r->count] = s->p.time_ns;
    memcpy(r->frame[r->count++], s->frame, s->len_bytes);
}

/* The same capture behind itself: as late as it was, or with the old times. */
Test(twice, a_capture_behind_itself)
{
    static struct reel r;
    for (unsigned late_s = 0; late_s <= 10; late_s += 10) {
        struct story s;
        unsigned notes = 0;
        r.count = 0;
        story_begin(&s);
        for (uint32_t i = 0; i < 12; i++) {
            send_at(&s, i);
            keep(&r, &s);
            s.time_ns += NS_PER_MS;
            answer(&s, i, ROCE_SYNDROME_ACK_UNLIMITED, i + 1);
            keep(&r, &s);
        }
        for (unsigned i = 0; i < r.count; i++) {
            feed(&s, r.frame[i], r.len_bytes[i], r.time_ns[i] + late_s * NS_PER_S);
            cr_expect(s.m.is_copy, "#%u %s", (unsigned)s.number, s.m.words);
            cr_expect_eq(s.m.answers, i + 1);
            notes += story_has(&s, EXPLAIN_FIND_CAPTURED_TWICE);
            for (unsigned k = 0; k < s.m.remark_count; k++)
                cr_expect_neq(s.m.remarks[k].why.cause, EXPLAIN_CAUSE_COPIED, "%s", s.m.remarks[k].words);
        }
        cr_expect_eq(notes, 1);
        cr_expect_eq(flow(&s)->messages[0], 12);
        story_end(&s);
    }
}

/* The same, from senders of which not all count identifications: with the old times, or moved as a whole. */
static void behind_itself_with(bool requests_count, uint64_t late_ns)
{
    static struct reel r;
    struct story s;
    r.count = 0;
    story_begin(&s);
    for (uint32_t i = 0; i < 12; i++) {
        s.has_id = !requests_count;
        send_at(&s, i);
        keep(&r, &s);
        s.time_ns += (20 + i) * NS_PER_MS;
        s.has_id = true;
        answer(&s, i, ROCE_SYNDROME_ACK_UNLIMITED, i + 1);
        keep(&r, &s);
    }
    for (unsigned i = 0; i < r.count; i++) {
        feed(&s, r.frame[i], r.len_bytes[i], r.time_ns[i] + late_ns);
        cr_expect(s.m.is_recapture, "#%u %s", (unsigned)s.number, s.m.words);
    }
    cr_expect_eq(flow(&s)->packets[0], 12);
    cr_expect_eq(flow(&s)->packets[1], 12);
    story_end(&s);
}

Test(twice, a_capture_behind_itself_is_known_by_its_times)
{
    behind_itself_with(false, 0);
    behind_itself_with(true, NS_PER_S);
}

/* Its identification is another, or it was asked for: what a sender sends again is no copy. */
Test(twice, what_is_sent_again_is_not_taken_for_a_copy)
{
    struct story s;
    story_begin(&s);
    for (uint32_t i = 0; i < 20; i++)
        send_at(&s, i);
    answer(&s, 18, ROCE_SYNDROME_NAK_PSN_SEQ, 18);
    send_at(&s, 18);
    cr_expect(story_has(&s, EXPLAIN_FIND_RETRANSMISSION), "%s", s.m.words);
    cr_expect_not(s.m.is_copy);
    story_end(&s);
    story_begin(&s);
    s.has_id = true;
    for (uint32_t i = 0; i < 20; i++)
        send_at(&s, i);
    answer(&s, 18, ROCE_SYNDROME_NAK_PSN_SEQ, 18);
    for (uint32_t i = 18; i < 20; i++) {
        send_at(&s, i);
        cr_expect(story_has(&s, EXPLAIN_FIND_RETRANSMISSION), "%s", s.m.words);
        cr_expect_not(s.m.is_copy);
    }
    story_end(&s);
}

/* More packets than are remembered: the newest are known again, the oldest are not. */
Test(twice, the_newest_packets_are_remembered)
{
    struct story s;
    story_begin(&s);
    for (uint32_t i = 0; i < 140000; i++)
        story_request(&s, ROCE_OP_SEND_ONLY, i, 1, 0);
    uint64_t of = s.number;
    again(&s);
    expect_duplicate(&s, EXPLAIN_CAUSE_COPIED);
    cr_expect_eq(s.m.answers, of);
    cr_expect_eq(flow(&s)->packets[0], 140001);
    story_end(&s);
}

/* At how many places packets lie that have the same PSN and identification, and other data. */
static unsigned places_of_alike(bool is_datagram)
{
    struct story s;
    uint32_t place[64];
    unsigned count = 0;
    story_begin(&s);
    s.has_id = true;
    for (unsigned i = 0; i < array_len(place); i++) {
        struct explain_identity id;
        s.shape = i;
        send_at(&s, 7);
        if (is_datagram)
            s.p.roce.op = &roce_opcodes[ROCE_OPCODE(ROCE_SERVICE_UD, ROCE_OP_SEND_ONLY)];
        cr_assert(explain_identify(&s.p, &id));
        bool is_new = true;
        for (unsigned k = 0; k < i; k++)
            is_new &= place[k] != id.place;
        place[i] = id.place;
        count += is_new;
    }
    story_end(&s);
    return count;
}

/* A chain holds what lies at one place, and each look goes along it. */
Test(twice, senders_that_do_not_count_fill_many_chains)
{
    cr_expect_gt(places_of_alike(false), 32);
    cr_expect_eq(places_of_alike(true), 64);
}
