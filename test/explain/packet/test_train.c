/* SPDX-License-Identifier: BSD-2-Clause */
/* Trains that had not been cut when they were captured: what is said of their packets is what is said of the
 * same packets captured alone. Records lie in memory of their own length, so that a sanitizer would tell. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/analysis.h"
#include "explain/packet/train.h"
#include "explain/replay/tape.h"
#include "explain/show/json.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/wire/link.h"
#include "nornic/device.h"
#include "roce/wire/frame.h"
#include "test/explain/json_packet.h"

#define QPN                0x11u
#define FIRST_PSN          0xfffffe /* the third packet's is 0 */
#define ROOM_BYTES         70000
#define PACKETS_MAX        200
#define HEAD_BYTES(family) (14u + ((family) == 4 ? 20u : 40u) + 8u)

/* Packets, each as it is alone, and the train of them. */
struct couple {
    int family; /* 4 or 6 */
    unsigned count;
    uint8_t *alone[PACKETS_MAX];
    uint32_t alone_bytes[PACKETS_MAX];
    uint8_t *frame;
    uint32_t frame_bytes;
};

struct shape {
    int family;
    unsigned count;
    uint32_t bytes, last_bytes; /* of data in each packet, and in the last */
    uint16_t ip_id;             /* of the first packet */
    unsigned ip_id_step;        /* to the next one's */
    bool other_qps;             /* each packet goes to a queue pair of its own, with a PSN of its own */
};

static uint32_t build(uint8_t *frame, const struct shape *s, unsigned i)
{
    static const uint8_t addr[2][16] = {{0xfd, 0x77, [15] = 1}, {0xfd, 0x77, [15] = 2}};
    static const uint8_t addr4[2][4] = {{10, 77, 0, 1}, {10, 77, 0, 2}};
    struct roce_path path = {.vlan_tci = -1, .hop_limit = 64, .src_port = 4791};
    struct roce_frame_template t;
    uint32_t bytes = i == s->count - 1 ? s->last_bytes : s->bytes, pad = -bytes & 3;
    for (unsigned k = 0; k < 2; k++) {
        struct nornic_addr *a = k ? &path.dst : &path.src;
        if (s->family == 4)
            *a = nornic_addr_from_v4(addr4[k]);
        else
            memcpy(a->b, addr[k], sizeof addr[k]);
    }
    struct roce_bth bth = {.opcode = ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_SEND_MIDDLE),
                           .pkey = NORNIC_PKEY_DEFAULT,
                           .pad_count = (uint8_t)pad,
                           .dest_qpn = s->other_qps ? QPN + 3 * i : QPN,
                           .psn = (FIRST_PSN + (s->other_qps ? 1000 * i : i)) & 0xffffff};
    uint32_t transport = ROCE_BTH_BYTES + bytes + pad;
    roce_frame_template_init(&t, &path);
    uint8_t *p =
        roce_bth_put(roce_frame_begin(&t, frame, transport, (uint16_t)(s->ip_id + i * s->ip_id_step)), &bth);
    memset(p, 0, bytes + pad);
    for (uint32_t k = 0; k < bytes; k++)
        p[k] = (uint8_t)(i + k);
    return roce_frame_seal(&t, frame, transport);
}

/* The lengths of the headers become those of the whole. */
static void stretch(uint8_t *frame, uint32_t len_bytes, int family)
{
    uint8_t *l3 = frame + NET_ETHER_BYTES, *udp = frame + HEAD_BYTES(family) - 8;
    put_be16(udp + 4, (uint16_t)(len_bytes - (uint32_t)(udp - frame)));
    if (family == 6) {
        put_be16(l3 + 4, (uint16_t)(len_bytes - NET_ETHER_BYTES - 40));
        return;
    }
    put_be16(l3 + 2, (uint16_t)(len_bytes - NET_ETHER_BYTES));
    put_be16(l3 + 10, net_checksum_ipv4(l3, 20));
}

static struct couple couple(const struct shape *s)
{
    static uint8_t room[ROOM_BYTES];
    struct couple c = {.family = s->family, .count = s->count};
    for (unsigned i = 0; i < s->count; i++) {
        uint8_t pkt[5000];
        uint32_t n = build(pkt, s, i), skipped = i ? HEAD_BYTES(s->family) : 0;
        cr_assert_leq(c.frame_bytes + n, sizeof room);
        memcpy(room + c.frame_bytes, pkt + skipped, n - skipped);
        c.frame_bytes += n - skipped;
        c.alone[i] = malloc(n);
        c.alone_bytes[i] = n;
        cr_assert_not_null(c.alone[i]);
        memcpy(c.alone[i], pkt, n);
    }
    stretch(room, c.frame_bytes, s->family);
    c.frame = malloc(c.frame_bytes);
    cr_assert_not_null(c.frame);
    memcpy(c.frame, room, c.frame_bytes);
    return c;
}

static void uncouple(struct couple *c)
{
    for (unsigned i = 0; i < c->count; i++)
        free(c->alone[i]);
    free(c->frame);
}

static struct net_capture_record record_of(const struct couple *c)
{
    return (struct net_capture_record){
        .data = c->frame, .len_bytes = c->frame_bytes, .wire_bytes = c->frame_bytes, .time_ns = 5};
}

/* The packets of the record are those of the couple, byte for byte. */
static void expect_packets(const struct couple *c, const struct net_capture_record *record)
{
    struct explain_cutter cutter;
    struct explain_packet p;
    unsigned n = 0;
    explain_cutter_begin(&cutter, record, 7);
    while (explain_cutter_next(&cutter, &p)) {
        cr_assert_lt(n, c->count);
        cr_assert_eq(p.number, 7);
        cr_assert_eq(p.time_ns, 5);
        cr_assert_eq(p.train.packet, n + 1);
        cr_assert_eq(p.train.of, c->count);
        cr_assert_eq(p.verdict, ROCE_RX_TAKEN, "packet %u: %s", n, roce_rx_verdict_words(p.verdict));
        cr_assert_eq(p.wire_bytes, c->alone_bytes[n], "packet %u", n);
        cr_assert_eq(p.len_bytes, c->alone_bytes[n], "packet %u", n);
        cr_assert_arr_eq(p.frame, c->alone[n], p.len_bytes, "packet %u", n);
        n++;
    }
    cr_assert_eq(n, c->count, "%u packets of %u", n, c->count);
}

static void expect_whole(const struct shape *s)
{
    struct couple c = couple(s);
    struct net_capture_record record = record_of(&c);
    expect_packets(&c, &record);
    uncouple(&c);
}

Test(train, packets_are_as_if_they_had_been_captured_alone)
{
    for (int family = 4; family <= 6; family += 2) {
        expect_whole(&(struct shape){family, 2, 28, 28, 0, 1, false});
        expect_whole(&(struct shape){family, 2, 1024, 1, 0, 1, false});
        expect_whole(&(struct shape){family, 3, 4096, 4093, 65535, 1, false});
        expect_whole(&(struct shape){family, 60, 1024, 12, 0, 1, false});
        expect_whole(&(struct shape){family, 128, 0, 0, 0, 1, false});
    }
}

/* GRO puts together what has the same addresses and ports: packets of several queue pairs, with whatever
 * identifications their sender gives. */
Test(train, what_a_receiver_put_together_is_taken_apart)
{
    for (int family = 4; family <= 6; family += 2)
        for (unsigned step = 0; step < 2; step++)
            expect_whole(&(struct shape){family, 9, 256, 100, 4711, step, true});
    expect_whole(&(struct shape){4, 9, 256, 100, 4711, 0, false});
    expect_whole(&(struct shape){4, 9, 256, 100, 4711, 40503, false});
}

/* As a sender's kernel leaves checksums to the NIC. */
Test(train, checksums_of_the_whole_are_not_judged)
{
    struct couple c = couple(&(struct shape){4, 3, 256, 100, 0, 1, false});
    struct net_capture_record record = record_of(&c);
    put_be16(c.frame + HEAD_BYTES(4) - 2, 0x1234);
    expect_packets(&c, &record);
    put_be16(c.frame + NET_ETHER_BYTES + 10, 0);
    expect_packets(&c, &record);
    uncouple(&c);
}

Test(train, a_wrong_icrc_within_is_its_packet_s_alone)
{
    for (int family = 4; family <= 6; family += 2) {
        struct couple c = couple(&(struct shape){family, 5, 1024, 100, 0, 1, false});
        struct net_capture_record record = record_of(&c);
        struct explain_cutter cutter;
        struct explain_packet p;
        c.frame[HEAD_BYTES(family) + 2 * 1040 + 500] ^= 1; /* in the third */
        explain_cutter_begin(&cutter, &record, 1);
        for (unsigned i = 0; i < 5; i++) {
            cr_assert(explain_cutter_next(&cutter, &p));
            cr_expect_eq(p.train.of, 5);
            cr_expect_eq(p.verdict, i == 2 ? ROCE_RX_DROP_ICRC : ROCE_RX_TAKEN, "packet %u", i);
        }
        cr_expect_not(explain_cutter_next(&cutter, &p));
        uncouple(&c);
    }
}

/* As many packets as the frame had on the wire, each as whole as it is there. */
Test(train, what_a_snap_length_left_of_it_is_told)
{
    for (uint32_t snap_bytes = 0; snap_bytes < 42 + 3 * 272; snap_bytes++) {
        struct couple c = couple(&(struct shape){4, 4, 256, 256, 0, 1, false});
        struct net_capture_record record = record_of(&c);
        struct explain_cutter cutter;
        struct explain_packet p;
        unsigned n = 0;
        uint8_t *part = malloc(snap_bytes + 1);
        cr_assert_not_null(part);
        memcpy(part + 1, c.frame, snap_bytes);
        record.data = part + 1;
        record.len_bytes = snap_bytes;
        explain_cutter_begin(&cutter, &record, 1);
        for (; explain_cutter_next(&cutter, &p); n++) {
            uint32_t behind_bytes = n * 272, whole_bytes = 42 + 272;
            if (p.train.of == 0)
                continue;
            uint32_t there_bytes = snap_bytes < 42 + behind_bytes ? 42 : snap_bytes - behind_bytes;
            there_bytes = there_bytes < whole_bytes ? there_bytes : whole_bytes;
            cr_assert_eq(p.len_bytes, there_bytes, "packet %u of %u bytes", n, snap_bytes);
            cr_assert_eq(p.wire_bytes, whole_bytes);
            cr_assert_eq(p.verdict == ROCE_RX_TAKEN, there_bytes >= 42 + 12);
            cr_assert_eq(p.cut.is_end, there_bytes >= 42 + 12 && there_bytes < whole_bytes);
        }
        cr_assert_eq(n, snap_bytes < 42 + 272 + 12 ? 1 : 4, "%u packets of %u bytes", n, snap_bytes);
        free(part);
        uncouple(&c);
    }
}

/* Longer than a packet may be, and the end of the first is not there. */
Test(train, one_that_was_cut_within_its_first_packet_is_none)
{
    struct couple c = couple(&(struct shape){4, 9, 1024, 1024, 0, 1, false});
    struct net_capture_record record = record_of(&c);
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct explain_cutter cutter;
    struct explain_packet p;
    struct explain_meaning m;
    cr_assert_not_null(a);
    record.len_bytes = 128;
    explain_cutter_begin(&cutter, &record, 1);
    cr_assert(explain_cutter_next(&cutter, &p));
    explain_analysis_next(a, &p, &m);
    cr_expect_neq(p.verdict, ROCE_RX_TAKEN);
    cr_expect_str_eq(m.words, "a train of packets, cut within the first of them");
    cr_expect_eq(m.remark_count, 1);
    cr_expect_eq(m.remarks[0].kind, EXPLAIN_FIND_CUT);
    cr_expect_not(explain_cutter_next(&cutter, &p));
    explain_analysis_destroy(a);
    uncouple(&c);
}

/* A packet with a wrong ICRC whose data look like a packet that follows is one packet. */
Test(train, a_damaged_packet_is_no_train)
{
    uint8_t frame[5000];
    struct shape s = {4, 1, 1024, 1024, 9, 1, false};
    struct roce_bth bth;
    uint32_t n = build(frame, &s, 0);
    roce_bth_get(&bth, frame + HEAD_BYTES(4));
    bth.psn++;
    for (uint32_t at = HEAD_BYTES(4) + 16; at + 16 <= n; at += 16)
        roce_bth_put(frame + at, &bth);
    struct net_capture_record record = {.data = frame, .len_bytes = n, .wire_bytes = n};
    struct explain_cutter cutter;
    struct explain_packet p;
    explain_cutter_begin(&cutter, &record, 1);
    cr_assert(explain_cutter_next(&cutter, &p));
    cr_expect_eq(p.train.of, 0);
    cr_expect_eq(p.verdict, ROCE_RX_DROP_ICRC);
    cr_expect_not(explain_cutter_next(&cutter, &p));
}

/* As of tcpdump -i any, and in a tunnel: what stands in front of the datagram stays. */
Test(train, what_is_below_the_datagram_stays)
{
    struct couple c = couple(&(struct shape){4, 3, 256, 100, 0, 1, false});
    uint8_t *cooked = calloc(1, NET_SLL_BYTES + c.frame_bytes);
    cr_assert_not_null(cooked);
    put_be16(cooked + NET_SLL_BYTES - 2, NET_ETHERTYPE_IPV4);
    memcpy(cooked + NET_SLL_BYTES, c.frame + NET_ETHER_BYTES, c.frame_bytes - NET_ETHER_BYTES);
    uint32_t n = NET_SLL_BYTES + c.frame_bytes - NET_ETHER_BYTES;
    struct net_capture_record record = {
        .data = cooked, .len_bytes = n, .wire_bytes = n, .link = NET_LINK_SLL};
    struct explain_cutter cutter;
    struct explain_packet p;
    explain_cutter_begin(&cutter, &record, 1);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert(explain_cutter_next(&cutter, &p));
        cr_expect_eq(p.verdict, ROCE_RX_TAKEN);
        cr_expect_eq(p.link, NET_LINK_SLL);
        cr_expect_arr_eq(p.frame, cooked, NET_SLL_BYTES);
        cr_expect_arr_eq(p.frame + NET_SLL_BYTES, c.alone[i] + NET_ETHER_BYTES,
                         c.alone_bytes[i] - NET_ETHER_BYTES);
    }
    cr_expect_not(explain_cutter_next(&cutter, &p));
    free(cooked);
    uncouple(&c);
}

Test(train, a_walk_may_end_early)
{
    struct couple c = couple(&(struct shape){6, 3, 256, 100, 0, 1, false});
    struct net_capture_record record = record_of(&c);
    struct explain_cutter cutter;
    struct explain_packet p;
    explain_cutter_begin(&cutter, &record, 1);
    explain_cutter_end(&cutter);
    explain_cutter_begin(&cutter, &record, 1);
    cr_assert(explain_cutter_next(&cutter, &p));
    explain_cutter_end(&cutter);
    uncouple(&c);
}

Test(train, it_is_said_once_and_each_packet_has_its_place)
{
    struct couple c = couple(&(struct shape){4, 3, 256, 100, 0, 1, false});
    struct net_capture_record record = record_of(&c);
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){0});
    struct explain_text json = {0};
    struct explain_cutter cutter;
    struct explain_packet p;
    struct explain_meaning m;
    cr_assert_not_null(a);
    explain_cutter_begin(&cutter, &record, 12);
    for (unsigned i = 0; i < 3; i++) {
        char place[64];
        cr_assert(explain_cutter_next(&cutter, &p));
        explain_analysis_next(a, &p, &m);
        cr_expect_eq(strstr(m.words, "; first of a train of 3 packets, captured before it was cut") != NULL,
                     i == 0, "%s", m.words);
        explain_text_clear(&json);
        json_packet(&json, &p, &m);
        snprintf(place, sizeof place, "\"train\":{\"packet\":%u,\"of\":3}", i + 1);
        cr_expect_not_null(strstr(json.bytes, place), "%s", json.bytes);
        cr_expect_not_null(strstr(json.bytes, "{\"n\":12,"));
    }
    cr_expect_not(explain_cutter_next(&cutter, &p));
    explain_text_free(&json);
    explain_analysis_destroy(a);
    uncouple(&c);
}

Test(train, a_tape_has_its_packets)
{
    struct couple c = couple(&(struct shape){4, 3, 256, 100, 0, 1, false});
    struct net_capture_record record = record_of(&c);
    struct explain_tape tape = {0};
    struct explain_packet p;
    for (unsigned round = 0; round < 2; round++)
        cr_assert_eq(explain_tape_add(&tape, &record), 0);
    cr_assert_eq(tape.count, 6);
    for (unsigned i = 0; i < 6; i++) {
        explain_tape_packet(&tape, i, &p);
        cr_expect_eq(p.number, i / 3 + 1);
        cr_expect_eq(p.train.packet, i % 3 + 1);
        cr_expect_eq(p.len_bytes, c.alone_bytes[i % 3]);
        cr_expect_arr_eq(p.frame, c.alone[i % 3], p.len_bytes);
    }
    explain_tape_free(&tape);
    uncouple(&c);
}
