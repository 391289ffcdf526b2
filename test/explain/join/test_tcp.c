/* SPDX-License-Identifier: BSD-2-Clause */
/* TCP of iWARP in two captures: the other end's is made here from one of real traffic, so that it is known
 * which segment is which. Traffic through a lossy way: test/e2e/explain_join.sh. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/join.h"
#include "explain/tcp/segment.h"
#include "net/bytes.h"
#include "test/explain/join_ends.h"
#include "test/explain/pcap.h"

#define CLOCK_AHEAD_NS (2 * NS_PER_S)
#define WAY_NS         (30 * NS_PER_US)
#define LATER_NS       (5 * NS_PER_US) /* the second part of a segment */
#define THE_MIDDLE     100             /* bytes */
#define IP_AT          14              /* all captures here are of Ethernet and IPv4, */
#define TCP_AT         34              /* without options of IP */

/* A capture at 10.77.0.1 (side 0), and one at 10.77.0.2, 30 us away, whose clock is 2 s ahead. */
enum at_other { AS_IT_IS, NOT_THERE, IN_TWO, FIRST_HALF, BUT_THE_MIDDLE, CHANGED, IN_TWO_CHANGED };

static void take_cut(struct ends *e, unsigned side, const uint8_t *frame, uint32_t len, uint32_t wire_bytes,
                     uint64_t time_ns)
{
    struct net_capture_record r = {.data = frame,
                                   .len_bytes = len,
                                   .wire_bytes = wire_bytes,
                                   .time_ns = time_ns,
                                   .link = NET_LINK_ETHERNET};
    struct explain_packet packet;
    explain_dissect(&packet, &r, ++e->count[side]);
    cr_assert_eq(explain_join_take(e->join, side, &packet), 0);
}

static void take(struct ends *e, unsigned side, const uint8_t *frame, uint32_t len, uint64_t time_ns)
{
    take_cut(e, side, frame, len, len, time_ns);
}

/* `n` bytes of the segment's data from `from` on, as a packet of their own; with `flip` in the last. */
static void take_part(struct ends *e, const uint8_t *frame, const struct explain_segment *s, uint32_t from,
                      uint32_t n, uint64_t time_ns, uint8_t flip)
{
    uint8_t part[9000];
    memcpy(part, frame, s->offset);
    memcpy(part + s->offset, frame + s->offset + from, n);
    part[s->offset + n - 1] ^= flip;
    put_be16(part + IP_AT + 2, (uint16_t)(s->offset - IP_AT + n));
    put_be16(part + IP_AT + 4, (uint16_t)(s->ip_id + (from != 0)));
    put_be32(part + TCP_AT + 4, s->seq + from);
    take(e, 1, part, s->offset + n, time_ns);
}

static void take_other(struct ends *e, const struct net_capture_record *r, enum at_other what)
{
    struct explain_packet p;
    struct explain_segment s;
    explain_dissect(&p, r, 1);
    cr_assert(explain_segment_get(&s, &p));
    uint64_t time_ns = r->time_ns + CLOCK_AHEAD_NS + (s.addr[0].b[15] == 1 ? WAY_NS : -WAY_NS);
    uint32_t half = s.len_bytes / 2;
    if (what == NOT_THERE)
        return;
    if (what == AS_IT_IS || s.addr[0].b[15] != 1 || half == 0) {
        take(e, 1, r->data, r->len_bytes, time_ns);
        return;
    }
    uint32_t first = what == CHANGED ? s.len_bytes : half;
    uint32_t second = what == BUT_THE_MIDDLE ? half + THE_MIDDLE : half;
    take_part(e, r->data, &s, 0, first, time_ns, what == CHANGED);
    e->cut += what == IN_TWO;
    if (what == IN_TWO || what == BUT_THE_MIDDLE || what == IN_TWO_CHANGED)
        take_part(e, r->data, &s, second, s.len_bytes - second, time_ns + LATER_NS, what == IN_TWO_CHANGED);
}

#define EVERY 0 /* record */

/* What is done to record `number`, or to every one, at the other end. */
static struct ends *join(const char *name, uint64_t number, enum at_other what)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open(name);
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
        take(e, 0, record.data, record.len_bytes, record.time_ns);
        take_other(e, &record, number == EVERY || n == number ? what : AS_IT_IS);
    }
    net_capture_close(capture);
    ends_finish(e);
    return e;
}

#define IWARP_MIX   "iwarp/crc_mix"
#define READ_ANSWER 19 /* its record with 592 bytes of data from 10.77.0.1, which are acknowledged */

/* From the SYN on, though a connection shows later that it is iWARP; bare acknowledgements as well. */
Test(join_tcp, each_segment_stands_there_once_with_its_time)
{
    struct ends *e = join(IWARP_MIX, EVERY, AS_IT_IS);
    cr_expect_eq(e->place_count, e->count[0]);
    for (unsigned i = 0; i < e->place_count; i++) {
        cr_expect_eq(e->places[i].fate, EXPLAIN_FATE_ARRIVED);
        cr_expect_eq(e->places[i].sure, EXPLAIN_SURE_SHOWN);
        cr_expect_leq(llabs(e->places[i].delay_ns - (int64_t)WAY_NS), 10);
    }
    ends_free(e);
}

Test(join_tcp, what_tcp_acknowledged_was_not_lost)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, NOT_THERE);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(p->fate, EXPLAIN_FATE_MISSED_THERE, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->sure, EXPLAIN_SURE_SHOWN);
    cr_expect_str_eq(p->evidence, "acknowledges it");
    ends_free(e);
}

/* As a NIC cuts what its host hands it as one: it is there when the last of it is. */
Test(join_tcp, a_segment_that_comes_in_parts_has_come)
{
    struct ends *e = join(IWARP_MIX, EVERY, IN_TWO);
    unsigned cut = 0;
    cr_expect_eq(e->place_count, e->count[0]);
    for (unsigned i = 0; i < e->place_count; i++) {
        const struct explain_join_place *p = &e->places[i];
        bool is_cut = p->delay_ns > (int64_t)WAY_NS + 1000;
        cr_expect_eq(p->fate, EXPLAIN_FATE_ARRIVED, "record %u: %s", (unsigned)p->record[0],
                     explain_fate_key(p->fate));
        cr_expect_leq(llabs(p->delay_ns - (int64_t)(WAY_NS + (is_cut ? LATER_NS : 0))), 1000);
        cut += is_cut;
    }
    cr_expect_eq(cut, e->cut);
    cr_expect_gt(cut, 8);
    ends_free(e);
}

/* All of it is acknowledged, so that the rest came, too. */
Test(join_tcp, of_a_segment_that_came_in_part_it_is_told_how_much)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, FIRST_HALF);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(p->fate, EXPLAIN_FATE_MISSED_THERE, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->sure, EXPLAIN_SURE_SHOWN);
    cr_expect_eq(p->part_bytes, 296, "%u", (unsigned)p->part_bytes);
    cr_expect_eq(e->place_count, e->count[0], "the part is no packet of its own");
    ends_free(e);
}

Test(join_tcp, what_came_behind_a_hole_is_of_the_segment)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, BUT_THE_MIDDLE);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(p->part_bytes, 592 - THE_MIDDLE, "%u", (unsigned)p->part_bytes);
    cr_expect_eq(e->place_count, e->count[0], "neither part is a packet of its own");
    ends_free(e);
}

/* Of a segment that was changed on its way nothing is shown, neither of what left nor of what came. */
Test(join_tcp, a_segment_whose_data_differ_is_two)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, CHANGED);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    unsigned others = 0;
    cr_expect_eq(e->place_count, e->count[0] + 1);
    cr_expect_eq(p->fate, EXPLAIN_FATE_LOST, "%s", explain_fate_key(p->fate));
    cr_expect_neq(p->sure, EXPLAIN_SURE_SHOWN);
    for (unsigned i = 0; i < e->place_count; i++) {
        const struct explain_join_place *o = &e->places[i];
        if (o->record[0])
            continue;
        others++;
        cr_expect_eq(o->sure, EXPLAIN_SURE_UNKNOWN);
        cr_expect_eq(o->or_fate, EXPLAIN_FATE_DAMAGED, "%s", explain_fate_key(o->or_fate));
    }
    cr_expect_eq(others, 1);
    ends_free(e);
}

Test(join_tcp, parts_whose_data_differ_show_nothing)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, IN_TWO_CHANGED);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(e->place_count, e->count[0]);
    cr_expect_eq(p->fate, EXPLAIN_FATE_DAMAGED, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->sure, EXPLAIN_SURE_UNKNOWN);
    cr_expect_eq(p->or_fate, EXPLAIN_FATE_ARRIVED, "%s", explain_fate_key(p->or_fate));
    ends_free(e);
    e = join(IWARP_MIX, READ_ANSWER, IN_TWO);
    p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(p->fate, EXPLAIN_FATE_ARRIVED, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->sure, EXPLAIN_SURE_SHOWN, "the data of both are those of the whole");
    ends_free(e);
}

/* --- a connection of iWARP that goes on --- */

#define BEHIND_BYTES 100000           /* those of the capture */
#define GOES_ON_NS   (10 * NS_PER_MS) /* behind the capture */

/* The capture, as it is at both ends, and a segment each way, of which others are made. */
struct stream {
    struct ends *e;
    uint8_t data[200], ack[200];
    uint32_t data_at; /* offset of the data */
    uint32_t psn;     /* of the first byte */
    uint64_t start_ns;
};

/* `n` bytes from the `from`th on, in the capture of that side, so long behind the start by one clock. */
static void say(struct stream *s, unsigned side, uint16_t ip_id, uint32_t from, uint32_t n, uint64_t time_ns)
{
    uint8_t frame[9000];
    memcpy(frame, s->data, s->data_at);
    for (uint32_t i = 0; i < n; i++)
        frame[s->data_at + i] = (uint8_t)((from + i) * 2654435761u >> 13);
    put_be16(frame + IP_AT + 2, (uint16_t)(s->data_at - IP_AT + n));
    put_be16(frame + IP_AT + 4, ip_id);
    put_be32(frame + TCP_AT + 4, s->psn + from);
    take(s->e, side, frame, s->data_at + n, s->start_ns + time_ns + side * CLOCK_AHEAD_NS);
}

/* All before byte `end` is acknowledged, as the captures of the `sides` hold it; when it leaves. */
static void acknowledge(struct stream *s, unsigned sides, uint32_t end, uint64_t time_ns)
{
    put_be16(s->ack + IP_AT + 4, (uint16_t)(get_be16(s->ack + IP_AT + 4) + 1));
    put_be32(s->ack + TCP_AT + 8, s->psn + end);
    uint32_t len = IP_AT + get_be16(s->ack + IP_AT + 2);
    if (sides & 2)
        take(s->e, 1, s->ack, len, s->start_ns + time_ns + CLOCK_AHEAD_NS);
    if (sides & 1)
        take(s->e, 0, s->ack, len, s->start_ns + time_ns + WAY_NS);
}

static struct stream go_on(const char *name)
{
    struct stream s = {.e = calloc(1, sizeof *s.e)};
    struct net_capture_record record;
    struct nornic_error why;
    s.e->join = explain_join_create(0);
    struct net_capture *capture = pcap_open(name);
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
        struct explain_packet p;
        struct explain_segment segment;
        take(s.e, 0, record.data, record.len_bytes, record.time_ns);
        take_other(s.e, &record, AS_IT_IS);
        explain_dissect(&p, &record, 1);
        cr_assert(explain_segment_get(&segment, &p));
        cr_assert_leq(segment.offset, sizeof s.data);
        bool is_ours = segment.addr[0].b[15] == 1;
        if (is_ours && n == READ_ANSWER) {
            s.data_at = segment.offset;
            s.psn = segment.seq + BEHIND_BYTES;
        }
        if (n == READ_ANSWER || (!is_ours && segment.len_bytes == 0))
            memcpy(is_ours ? s.data : s.ack, record.data, segment.offset);
        s.start_ns = record.time_ns + GOES_ON_NS;
    }
    net_capture_close(capture);
    acknowledge(&s, 3, 0, 0);
    s.start_ns += GOES_ON_NS;
    return s;
}

#define IN_FLIGHT 3000 /* segments, each in two parts */

/* All leave before the first comes, and the sequence numbers begin anew among them. */
Test(join_tcp, parts_are_found_however_many_are_under_way)
{
    struct stream s = go_on(IWARP_MIX);
    struct nornic_error why;
    s.psn = UINT32_MAX - BEHIND_BYTES;
    for (unsigned i = 0; i < IN_FLIGHT; i++) {
        say(&s, 0, (uint16_t)(2 * i), 200 * i, 200, 8 * i);
        say(&s, 1, (uint16_t)(2 * i), 200 * i, 90, WAY_NS + 8 * i);
        say(&s, 1, (uint16_t)(2 * i + 1), 200 * i + 90, 110, WAY_NS + 8 * i + 4);
    }
    cr_assert_eq(explain_join_finish(s.e->join, &why), 0, "%s", why.text);
    const struct explain_join_way *way = &explain_join_summary(s.e->join)->way[0];
    cr_expect_eq(way->fates[EXPLAIN_FATE_ARRIVED], way->packets, "%u of %u",
                 (unsigned)way->fates[EXPLAIN_FATE_ARRIVED], (unsigned)way->packets);
    ends_free(s.e);
}

/* Whether segments are told apart by their data says nothing of packets of RoCE. */
Test(join_tcp, a_segment_that_is_cut_takes_the_data_of_all_away)
{
    for (unsigned cut = 0; cut < 2; cut++) {
        struct stream s = go_on(IWARP_MIX);
        take_cut(s.e, 0, s.data, s.data_at, s.data_at + 100 * cut, s.start_ns);
        ends_finish(s.e);
        cr_expect_eq(explain_join_summary(s.e->join)->has_data, !cut);
        cr_expect(explain_join_summary(s.e->join)->has_icrc);
        ends_free(s.e);
    }
}

/* Neither of two with the same bytes is in the capture there, and one of them came. */
Test(join_tcp, of_a_segment_that_was_sent_again_it_is_open_which_came)
{
    struct stream s = go_on(IWARP_MIX);
    uint64_t first = s.e->count[0] + 1;
    say(&s, 0, 7001, 0, 500, 0);
    say(&s, 0, 7002, 0, 500, NS_PER_MS);
    acknowledge(&s, 3, 500, 2 * NS_PER_MS);
    acknowledge(&s, 3, 500, 3 * NS_PER_MS);
    ends_finish(s.e);
    for (unsigned i = 0; i < 2; i++) {
        const struct explain_join_place *p = ends_place_of(s.e, first + i);
        cr_expect_eq(p->fate, EXPLAIN_FATE_LOST, "%s", explain_fate_key(p->fate));
        cr_expect_eq(p->sure, EXPLAIN_SURE_UNKNOWN);
        cr_expect_eq(p->or_fate, EXPLAIN_FATE_MISSED_THERE, "%s", explain_fate_key(p->or_fate));
    }
    ends_free(s.e);
}

/* The copy that came is what is acknowledged, whole or in parts. */
Test(join_tcp, what_came_when_it_was_sent_again_says_nothing_of_the_first)
{
    for (unsigned parts = 1; parts <= 2; parts++) {
        struct stream s = go_on(IWARP_MIX);
        uint64_t first = s.e->count[0] + 1;
        say(&s, 0, 7001, 0, 500, 0);
        for (unsigned i = 0; i < parts; i++) {
            uint32_t n = 500 / parts;
            say(&s, 0, (uint16_t)(7002 + i), n * i, n, NS_PER_MS);
            say(&s, 1, (uint16_t)(7002 + i), n * i, n, NS_PER_MS + WAY_NS);
        }
        acknowledge(&s, 3, 500, 2 * NS_PER_MS);
        acknowledge(&s, 3, 500, 3 * NS_PER_MS);
        ends_finish(s.e);
        const struct explain_join_place *p = ends_place_of(s.e, first);
        cr_expect_eq(p->fate, EXPLAIN_FATE_LOST, "%s", explain_fate_key(p->fate));
        cr_expect_eq(p->sure, EXPLAIN_SURE_LIKELY);
        ends_free(s.e);
    }
}

/* A copy may have left behind the end of the capture there. */
Test(join_tcp, an_acknowledgement_behind_the_end_of_the_other_capture_shows_nothing)
{
    struct stream s = go_on(IWARP_MIX);
    uint64_t first = s.e->count[0] + 1;
    say(&s, 0, 7001, 0, 500, 0);
    acknowledge(&s, 2, 500, NS_PER_MS);
    ends_finish(s.e);
    const struct explain_join_place *p = ends_place_of(s.e, first);
    cr_expect_neq(p->sure, EXPLAIN_SURE_SHOWN, "%s", explain_fate_key(p->fate));
    ends_free(s.e);
}

/* Other TCP is let go of: while the captures are read, where there is no room for all of it. */
Test(join_tcp, what_is_no_iwarp_is_not_kept)
{
    struct explain_join *j = explain_join_create(64 * EXPLAIN_JOIN_PACKET_BYTES);
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    struct net_capture *capture = pcap_open("smcfb_eid");
    cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    for (unsigned i = 0; i < 500; i++) {
        uint8_t frame[1514] = {0};
        memcpy(frame, record.data, TCP_AT);
        frame[IP_AT] = 0x45;
        put_be16(frame + IP_AT + 2, 60);
        put_be16(frame + TCP_AT, 5000);
        put_be16(frame + TCP_AT + 2, 80);
        put_be32(frame + TCP_AT + 4, 1000 + 20 * i);
        frame[TCP_AT + 12] = 5 << 4;
        frame[TCP_AT + 13] = 0x10;
        struct net_capture_record r = {.data = frame,
                                       .len_bytes = 74,
                                       .wire_bytes = 74,
                                       .time_ns = i * NS_PER_US,
                                       .link = NET_LINK_ETHERNET};
        explain_dissect(&packet, &r, i + 1);
        cr_assert_eq(explain_join_take(j, 0, &packet), 0, "packet %u", i);
    }
    net_capture_close(capture);
    cr_expect_eq(explain_join_finish(j, &why), -ENODATA);
    cr_expect(strstr(why.text, "has no packet of RoCE or iWARP in 500 records"), "%s", why.text);
    explain_join_destroy(j);
}

/* A SYN from an address to a port, each of which was not there before. */
static void take_syn(struct ends *e, unsigned side, uint32_t n, uint64_t time_ns)
{
    uint8_t frame[54] = {[12] = 0x08, [IP_AT] = 0x45, [IP_AT + 9] = 6};
    put_be16(frame + IP_AT + 2, 40);
    put_be32(frame + IP_AT + 12, 0x0a000000 + n);
    put_be32(frame + IP_AT + 16, 0x0b000001);
    put_be16(frame + TCP_AT, (uint16_t)n);
    put_be16(frame + TCP_AT + 2, 80);
    put_be32(frame + TCP_AT + 4, n);
    frame[TCP_AT + 12] = 5 << 4;
    frame[TCP_AT + 13] = 2;
    take(e, side, frame, sizeof frame, time_ns);
}

#define SYNS_EACH 20 /* behind each packet */
#define ROOM_FOR  (64 * (EXPLAIN_JOIN_PACKET_BYTES + EXPLAIN_JOIN_CONN_BYTES + EXPLAIN_JOIN_LANE_BYTES))

/* Packets of RoCE among connections of which there is no end: neither takes the other's room. */
Test(join_tcp, connections_that_end_nowhere_are_let_go_of)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    uint64_t packets = 0, syns = 0;
    for (unsigned pass = 0; pass < 2; pass++) {
        if (pass)
            e->join = explain_join_create(2 * packets * EXPLAIN_JOIN_PACKET_BYTES + ROOM_FOR);
        struct net_capture *capture = pcap_open("rc_long");
        while (net_capture_next(capture, &record, &why) > 0) {
            packets += !pass;
            for (unsigned side = 0; side < 2 && pass; side++) {
                take(e, side, record.data, record.len_bytes, record.time_ns + side * CLOCK_AHEAD_NS);
                for (unsigned i = 0; i < SYNS_EACH; i++)
                    take_syn(e, side, (uint32_t)syns++, record.time_ns + side * CLOCK_AHEAD_NS);
            }
        }
        net_capture_close(capture);
    }
    ends_finish(e);
    const struct explain_join_summary *s = explain_join_summary(e->join);
    cr_expect_eq(s->packets[0], packets);
    cr_expect_eq(s->way[0].fates[EXPLAIN_FATE_ARRIVED] + s->way[1].fates[EXPLAIN_FATE_ARRIVED], packets);
    ends_free(e);
}

#define SHOWN_LATER 3 /* records, in which a connection does not show that it is iWARP */

/* What one capture had no room for is not missing there. */
Test(join_tcp, what_was_let_go_of_is_not_missing)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(ROOM_FOR);
    for (unsigned side = 0; side < 2; side++) {
        struct net_capture *capture = pcap_open(IWARP_MIX);
        for (unsigned n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
            if (side == 1)
                take_other(e, &record, AS_IT_IS);
            else
                take(e, 0, record.data, record.len_bytes, record.time_ns);
            for (unsigned i = 0; i < 100 && side == 0 && n == SHOWN_LATER; i++)
                take_syn(e, 0, i, record.time_ns);
        }
        net_capture_close(capture);
    }
    ends_finish(e);
    for (unsigned i = 0; i < e->place_count; i++) {
        const struct explain_join_place *p = &e->places[i];
        bool is_gone = p->record[1] && p->record[1] <= SHOWN_LATER;
        cr_expect_eq(p->fate, is_gone ? EXPLAIN_FATE_OUTSIDE : EXPLAIN_FATE_ARRIVED, "%u: %s",
                     (unsigned)p->record[1], explain_fate_key(p->fate));
    }
    cr_expect_eq(e->place_count, e->count[1]);
    ends_free(e);
}
