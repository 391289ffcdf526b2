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

#define CLOCK_AHEAD_NS (2 * NS_PER_S)
#define WAY_NS         (30 * NS_PER_US)
#define LATER_NS       (5 * NS_PER_US) /* the second part of a segment */
#define IP_AT          14              /* all captures here are of Ethernet and IPv4, */
#define TCP_AT         34              /* without options of IP */

/* A capture at 10.77.0.1 (side 0), and one at 10.77.0.2, 30 us away, whose clock is 2 s ahead. */
enum at_other { AS_IT_IS, NOT_THERE, IN_TWO, FIRST_HALF };

static void take(struct ends *e, unsigned side, const uint8_t *frame, uint32_t len, uint64_t time_ns)
{
    struct net_capture_record r = {
        .data = frame, .len_bytes = len, .wire_bytes = len, .time_ns = time_ns, .link = NET_LINK_ETHERNET};
    struct explain_packet packet;
    explain_dissect(&packet, &r, ++e->count[side]);
    cr_assert_eq(explain_join_take(e->join, side, &packet), 0);
}

/* `n` bytes of the segment's data from `from` on, as a packet of their own. */
static void take_part(struct ends *e, const uint8_t *frame, const struct explain_segment *s, uint32_t from,
                      uint32_t n, uint64_t time_ns)
{
    uint8_t part[9000];
    memcpy(part, frame, s->offset);
    memcpy(part + s->offset, frame + s->offset + from, n);
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
    take_part(e, r->data, &s, 0, half, time_ns);
    e->cut += what == IN_TWO;
    if (what == IN_TWO)
        take_part(e, r->data, &s, half, s.len_bytes - half, time_ns + LATER_NS);
}

#define EVERY 0 /* record */

/* What is done to record `number`, or to every one, at the other end. */
static struct ends *join(const char *path, uint64_t number, enum at_other what)
{
    struct ends *e = calloc(1, sizeof *e);
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    e->join = explain_join_create(0);
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (uint64_t n = 1; net_capture_next(capture, &record, &why) > 0; n++) {
        take(e, 0, record.data, record.len_bytes, record.time_ns);
        take_other(e, &record, number == EVERY || n == number ? what : AS_IT_IS);
    }
    net_capture_close(capture);
    ends_finish(e);
    return e;
}

#define IWARP_MIX   "pcaps/iwarp/crc_mix.pcap"
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

Test(join_tcp, of_a_segment_that_came_in_part_it_is_told_how_much)
{
    struct ends *e = join(IWARP_MIX, READ_ANSWER, FIRST_HALF);
    const struct explain_join_place *p = ends_place_of(e, READ_ANSWER);
    cr_expect_eq(p->fate, EXPLAIN_FATE_LOST, "%s", explain_fate_key(p->fate));
    cr_expect_eq(p->part_bytes, 296, "%u", (unsigned)p->part_bytes);
    cr_expect_eq(e->place_count, e->count[0], "the part is no packet of its own");
    ends_free(e);
}

/* Other TCP is let go of: while the captures are read, where there is no room for all of it. */
Test(join_tcp, what_is_no_iwarp_is_not_kept)
{
    struct explain_join *j = explain_join_create(64 * EXPLAIN_JOIN_PACKET_BYTES);
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_packet packet;
    cr_assert_eq(net_capture_open("pcaps/smcfb_eid.pcap", &capture, &why), 0);
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
