/* SPDX-License-Identifier: BSD-2-Clause */
/* Two captures laid together, of real traffic, from which the other end's is made here. Clocks:
 * test_clock.c. Simulated runs with captures at both ends: test/explain_truth/test_joined.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/show.h"
#include "net/bytes.h"
#include "roce/wire.h"
#include "test/explain/join_ends.h"
#include "test/explain/pcap.h"
#include "test/explain/story.h"

#define CLOCK_AHEAD_NS (2 * NS_PER_S)
#define WAY_NS         (30 * NS_PER_US)

/* A capture at 10.77.0.1, and one at the other end as the test wants it: 30 us away, its clock 2 s ahead. */
enum at_other { AS_IT_IS, NOT_THERE, TWICE, LATE, CHANGED };

static void take(struct ends *e, unsigned side, const struct net_capture_record *record, uint64_t time_ns,
                 bool is_changed)
{
    uint8_t frame[9000];
    struct net_capture_record r = *record;
    struct explain_packet packet;
    memcpy(frame, r.data, r.len_bytes);
    if (is_changed)
        frame[60] ^= 0x10;
    r.data = frame;
    r.time_ns = time_ns;
    explain_dissect(&packet, &r, ++e->count[side]);
    cr_assert_eq(explain_join_take(e->join, side, &packet), 0);
}

/* The capture at the other end. Packets of 10.77.0.1 come 30 us later, its own left 30 us before. */
static void take_other(struct ends *e, const struct net_capture_record *record, enum at_other what)
{
    struct explain_packet p;
    explain_dissect(&p, record, 1);
    bool is_ours = p.kind == EXPLAIN_ROCE && p.roce.src.b[15] == 1;
    uint64_t time_ns = record->time_ns + CLOCK_AHEAD_NS + (is_ours ? WAY_NS : -WAY_NS);
    if (what == NOT_THERE)
        return;
    take(e, 1, record, time_ns + (what == LATE ? 5 * NS_PER_US : 0), what == CHANGED);
    if (what == TWICE)
        take(e, 1, record, time_ns + 5 * NS_PER_US, false);
}

/* A segment of no iWARP, of which the capture has the header and some of the data. */
static void take_cut_tcp(struct ends *e, unsigned side, const struct net_capture_record *like)
{
    uint8_t frame[100] = {0};
    memcpy(frame, like->data, 34); /* Ethernet and IPv4 */
    put_be16(frame + 16, 6000);
    frame[23] = 6;
    put_be16(frame + 34, 22);
    put_be16(frame + 36, 40000);
    frame[46] = 5 << 4;
    frame[47] = 0x10;
    struct net_capture_record r = *like;
    r.data = frame;
    r.len_bytes = sizeof frame;
    r.wire_bytes = 6014;
    take(e, side, &r, like->time_ns + side * CLOCK_AHEAD_NS, false);
}

#define EVERY 0 /* record */

static struct ends *join(const char *name, uint64_t number, enum at_other what)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open(name);
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
        take(e, 0, &record, record.time_ns, false);
        take_other(e, &record, number == EVERY || n == number ? what : AS_IT_IS);
    }
    net_capture_close(capture);
    ends_finish(e);
    return e;
}

Test(join, a_cut_segment_that_is_not_kept_takes_no_icrc_away)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open("rc_long");
    while (net_capture_next(capture, &record, &why) > 0) {
        if (e->count[0] == 0)
            take_cut_tcp(e, 0, &record);
        take(e, 0, &record, record.time_ns, false);
        take_other(e, &record, AS_IT_IS);
    }
    net_capture_close(capture);
    ends_finish(e);
    cr_expect(explain_join_summary(e->join)->has_icrc);
    cr_expect(explain_join_summary(e->join)->has_data);
    ends_free(e);
}

Test(join, captures_of_the_same_traffic_have_each_packet_once_with_its_time)
{
    struct ends *e = join("rc_long", EVERY, AS_IT_IS);
    const struct explain_join_summary *s = explain_join_summary(e->join);
    cr_expect_eq(e->place_count, e->count[0]);
    cr_expect_leq(llabs(explain_clock_ahead_ns(&s->clock, s->clock.epoch_ns) - (int64_t)CLOCK_AHEAD_NS), 10);
    for (unsigned i = 0; i < e->place_count; i++) {
        cr_expect_eq(e->places[i].fate, EXPLAIN_FATE_ARRIVED);
        cr_expect_eq(e->places[i].number, i + 1);
        cr_expect_leq(llabs(e->places[i].delay_ns - (int64_t)WAY_NS), 10);
    }
    cr_expect_eq(s->way[0].fates[EXPLAIN_FATE_ARRIVED] + s->way[1].fates[EXPLAIN_FATE_ARRIVED], e->count[0]);
    ends_free(e);
}

/* The other capture sees each packet at two places, 5 us apart: the first time counts. */
Test(join, a_capture_that_holds_each_packet_twice_tells_the_same)
{
    struct ends *e = join("rc_long", EVERY, TWICE);
    const struct explain_join_summary *s = explain_join_summary(e->join);
    cr_expect_eq(s->twice[0], 0);
    cr_expect_eq(s->twice[1], e->count[0]);
    cr_expect_eq(e->place_count, e->count[0]);
    for (unsigned i = 0; i < e->place_count; i++) {
        cr_expect_eq(e->places[i].fate, EXPLAIN_FATE_ARRIVED);
        cr_expect_leq(llabs(e->places[i].delay_ns - (int64_t)WAY_NS), 10);
    }
    ends_free(e);
}

/* Linux numbers its packets, so that a second one is a copy for certain. */
Test(join, a_copy_is_told_from_what_was_sent_twice)
{
    struct ends *e = join("rc_long", 10, TWICE);
    const struct explain_join_place *p = ends_place_of(e, 10), *copy = p + 1;
    while (copy->fate != EXPLAIN_FATE_COPY && copy < &e->places[e->place_count])
        copy++;
    cr_expect_eq(p->fate, EXPLAIN_FATE_ARRIVED);
    cr_expect_eq(copy->fate, EXPLAIN_FATE_COPY);
    cr_expect_eq(copy->sure, EXPLAIN_SURE_SHOWN);
    cr_expect_eq(copy->related, p->number);
    ends_free(e);
}

/* The ACK that covers it shows that it came: the capture misses it, no more. */
Test(join, what_was_acknowledged_was_not_lost)
{
    struct ends *e = join("rc_long", 110, NOT_THERE);
    const struct explain_join_place *p = ends_place_of(e, 110);
    cr_expect_eq(p->fate, EXPLAIN_FATE_MISSED_THERE, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->sure, EXPLAIN_SURE_SHOWN);
    cr_expect_str_eq(p->evidence, "acknowledges it");
    cr_expect_gt(p->related, p->number);
    ends_free(e);
}

static void expect_finding(const struct ends *e, const struct explain_join_place *p,
                           enum explain_finding_kind kind)
{
    struct explain_meaning m;
    explain_meaning_clear(&m);
    explain_join_remark(&m, e->join, p);
    cr_assert_eq(m.remark_count, 1);
    cr_expect_eq(m.remarks[0].kind, kind, "%s", explain_finding_key(m.remarks[0].kind));
    cr_expect_eq(m.remarks[0].number, p->number);
}

Test(join, what_came_damaged_is_found_and_told)
{
    struct ends *e = join("rc_long", 110, CHANGED);
    const struct explain_join_place *p = ends_place_of(e, 110);
    cr_expect_eq(p->fate, EXPLAIN_FATE_DAMAGED, "%s", explain_fate_key(p->fate));
    cr_expect_neq(p->record[1], 0);
    expect_finding(e, p, EXPLAIN_FIND_DAMAGED_ON_WAY);
    ends_free(e);
}

/* An answer that is missing at the other end's own capture was sent all the same; at the requester's it is
 * lost, as far as can be told. */
Test(join, an_answer_that_never_came_is_probably_lost)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open("rc_long");
    uint64_t answer = 0;
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
        struct explain_packet p;
        explain_dissect(&p, &record, n);
        bool is_answer = p.roce.op->flags & ROCE_PKT_RESPONSE;
        take_other(e, &record, AS_IT_IS);
        if (!answer && is_answer && n > 50)
            answer = e->count[1];
        else
            take(e, 0, &record, record.time_ns, false);
    }
    net_capture_close(capture);
    cr_assert_eq(explain_join_finish(e->join, &why), 0, "%s", why.text);
    struct explain_join_place p;
    while (explain_join_step(e->join, &p) && p.record[1] != answer)
        ;
    cr_expect_eq(p.fate, EXPLAIN_FATE_LOST, "%s", explain_fate_key(p.fate));
    cr_expect_eq(p.sure, EXPLAIN_SURE_LIKELY);
    cr_expect_eq(p.from, 1);
    expect_finding(e, &p, EXPLAIN_FIND_LOST_ON_WAY);
    ends_free(e);
}

/* Capture 0 was taken with a filter for the CM; capture 1 has nothing of queue pairs from the other end, so
 * that no packet shows that capture 0 lacks any. */
Test(join, a_capture_of_the_cm_alone_does_not_tell_that_others_were_lost)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    unsigned open = 0;
    e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open("cm_rping");
    while (net_capture_next(capture, &record, &why) > 0) {
        struct explain_packet p;
        explain_dissect(&p, &record, 1);
        if (p.kind == EXPLAIN_CM)
            take(e, 0, &record, record.time_ns, false);
        if (p.kind == EXPLAIN_CM || (p.kind == EXPLAIN_ROCE && p.roce.src.b[15] == 2))
            take_other(e, &record, AS_IT_IS);
    }
    net_capture_close(capture);
    cr_assert_eq(explain_join_finish(e->join, &why), 0, "%s", why.text);
    for (struct explain_join_place p; explain_join_step(e->join, &p);) {
        if (p.fate == EXPLAIN_FATE_ARRIVED)
            continue;
        cr_expect_eq(p.fate, EXPLAIN_FATE_LOST);
        cr_expect_eq(p.sure, EXPLAIN_SURE_UNKNOWN);
        cr_expect_eq(p.or_fate, EXPLAIN_FATE_MISSED_THERE, "%s", explain_fate_key(p.or_fate));
        open++;
    }
    cr_expect_gt(open, 10);
    ends_free(e);
}

Test(join, captures_without_a_common_packet_are_refused_with_what_differs)
{
    struct explain_join *j = explain_join_create(0);
    struct net_capture_record record;
    struct nornic_error why;
    static const char *const names[] = {"rc_long", "ud_6"};
    for (unsigned side = 0; side < 2; side++) {
        struct explain_packet packet;
        struct net_capture *capture = pcap_open(names[side]);
        while (net_capture_next(capture, &record, &why) > 0) {
            explain_dissect(&packet, &record, 1);
            cr_assert_eq(explain_join_take(j, side, &packet), 0);
        }
        net_capture_close(capture);
    }
    cr_expect_eq(explain_join_finish(j, &why), -ENODATA);
    cr_expect(strstr(why.text, "their addresses differ"), "%s", why.text);
    explain_join_destroy(j);
}

/* Of two packets without identifications each capture has one twice, and the other once. */
Test(join, captures_whose_common_packets_cannot_be_told_apart_are_refused)
{
    struct explain_join *j = explain_join_create(0);
    struct net_capture_record record;
    struct nornic_error why;
    static const unsigned times[2][2] = {{1, 2}, {2, 1}};
    struct net_capture *capture = pcap_open("rc_ipv6_atomic");
    for (unsigned i = 0; i < 2;) {
        struct explain_packet packet;
        cr_assert_eq(net_capture_next(capture, &record, &why), 1);
        explain_dissect(&packet, &record, 1);
        if (packet.kind != EXPLAIN_ROCE)
            continue;
        for (unsigned side = 0; side < 2; side++)
            for (unsigned n = 0; n < times[side][i]; n++) {
                record.time_ns += NS_PER_MS;
                explain_dissect(&packet, &record, i + n + 1);
                cr_assert_eq(explain_join_take(j, side, &packet), 0);
            }
        i++;
    }
    net_capture_close(capture);
    cr_expect_eq(explain_join_finish(j, &why), -ENODATA);
    cr_expect(strstr(why.text, "nothing tells which is which"), "%s", why.text);
    explain_join_destroy(j);
}

Test(join, memory_has_a_bound_that_is_kept)
{
    struct explain_join *j = explain_join_create(10 * EXPLAIN_JOIN_PACKET_BYTES + EXPLAIN_JOIN_LANE_BYTES);
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    unsigned taken = 0;
    struct net_capture *capture = pcap_open("rc_long");
    while (net_capture_next(capture, &record, &why) > 0) {
        explain_dissect(&packet, &record, 1);
        int err = explain_join_take(j, 0, &packet);
        taken += !err;
        cr_assert(!err || err == -EFBIG);
    }
    cr_expect_eq(taken, 10, "%u", taken);
    net_capture_close(capture);
    explain_join_destroy(j);
}

#define AT_A 1
#define AT_B 2

/* The story's last packet, so long behind the start by the clock of A, in the captures of `sides`. */
static void tell(struct ends *e, const struct story *s, unsigned sides, uint64_t time_ns)
{
    bool is_of_b = s->frame[29] == 2;
    for (unsigned side = 0; side < 2; side++) {
        struct net_capture_record r = {.data = s->frame,
                                       .len_bytes = s->len_bytes,
                                       .wire_bytes = s->len_bytes,
                                       .time_ns = NS_PER_S + time_ns + (side == is_of_b ? 0 : WAY_NS),
                                       .link = NET_LINK_ETHERNET};
        if (sides & 1u << side)
            take(e, side, &r, r.time_ns, false);
    }
}

/* Both ends of a queue pair ask before anything is answered, from one UDP port: they count as two until then.
 * A request of B that left so, and that A's capture misses, is of the one that A's answers are of. */
Test(join, a_request_is_of_the_queue_pair_that_it_showed_to_be_of)
{
    struct story s;
    struct ends *e = calloc(1, sizeof *e);
    e->join = explain_join_create(0);
    story_begin(&s);
    s.src_port = ROCE_UDP_PORT;
    for (unsigned i = 0; i < 2; i++) {
        s.is_b_asking = i;
        story_request(&s, ROCE_OP_SEND_ONLY, i ? 90000 : 100, 8, 0);
        tell(e, &s, AT_A | AT_B, 0);
    }
    story_request(&s, ROCE_OP_SEND_ONLY, 90001, 8, 0);
    tell(e, &s, AT_B, 50 * NS_PER_US);
    uint64_t number = e->count[1];
    s.is_b_asking = false;
    story_answer(&s, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    tell(e, &s, AT_A, 5 * NS_PER_US);
    s.is_b_asking = true;
    story_answer(&s, ROCE_OP_ACK, 90000, 0x1f, 1, 0);
    tell(e, &s, AT_A | AT_B, 40 * NS_PER_US);
    story_answer(&s, ROCE_OP_ACK, 90001, 0x1f, 2, 0);
    tell(e, &s, AT_A | AT_B, 100 * NS_PER_US);
    for (uint32_t i = 0; i < 20; i++) {
        s.is_b_asking = false;
        story_request(&s, ROCE_OP_SEND_ONLY, 102 + i, 8, 0);
        tell(e, &s, AT_A | AT_B, NS_PER_MS + i * 100 * NS_PER_US);
        story_answer(&s, ROCE_OP_ACK, 102 + i, 0x1f, 3 + i, 0);
        tell(e, &s, AT_A | AT_B, NS_PER_MS + (i * 100 + 50) * NS_PER_US);
    }
    ends_finish(e);
    unsigned told = 0;
    for (unsigned i = 0; i < e->place_count; i++)
        if (e->places[i].record[1] == number) {
            told++;
            cr_expect_eq(e->places[i].fate, EXPLAIN_FATE_MISSED_THERE, "%s",
                         explain_fate_key(e->places[i].fate));
            cr_expect_str_eq(e->places[i].evidence, "acknowledges it");
        }
    cr_expect_eq(told, 1);
    story_end(&s);
    ends_free(e);
}
