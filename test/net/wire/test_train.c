/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/train.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/parse.h"
#include "test/net/frames.h"
#include "test/support/train.h"

#define FRAME_MAX_BYTES 1600
#define TRAIN_CAP_BYTES 65553

/* Packet `i` of a flow: identification `first_id` + i, no UDP checksum. */
static uint32_t build(uint8_t *frame, enum test_frame_kind kind, uint32_t len_bytes, uint16_t first_id,
                      uint32_t i)
{
    struct net_parsed at;
    test_frame_build(frame, len_bytes, kind, i);
    cr_assert_eq(net_parse(&at, frame, len_bytes), NET_PARSE_UDP);
    put_be16(frame + at.l4_offset + 6, 0);
    if (kind != TEST_FRAME_IPV6) {
        put_be16(frame + at.l3_offset + 4, (uint16_t)(first_id + i));
        put_be16(frame + at.l3_offset + 10, net_checksum_ipv4(frame + at.l3_offset, 20));
    }
    return len_bytes;
}

/* A train of `n` packets of `len_bytes`, the last of `last_bytes`, the payloads side by side. */
static struct net_frame couple(uint8_t *room, enum test_frame_kind kind, uint32_t n, uint32_t len_bytes,
                               uint32_t last_bytes, uint16_t first_id)
{
    uint8_t pkt[FRAME_MAX_BYTES];
    uint32_t head_bytes = kind == TEST_FRAME_IPV6 ? 62 : kind == TEST_FRAME_IPV4_VLAN ? 46 : 42;
    struct net_frame train = {
        .data = room, .cap_bytes = TRAIN_CAP_BYTES, .seg_bytes = len_bytes - head_bytes};
    train.len_bytes = build(room, kind, len_bytes, first_id, 0);
    for (uint32_t i = 1; i < n; i++) {
        uint32_t bytes = build(pkt, kind, i == n - 1 ? last_bytes : len_bytes, first_id, i);
        memcpy(room + train.len_bytes, pkt + head_bytes, bytes - head_bytes);
        train.len_bytes += bytes - head_bytes;
    }
    return train;
}

static void check_packet(const struct net_frame *pkt, enum test_frame_kind kind, uint32_t len_bytes,
                         uint16_t first_id, uint32_t i)
{
    uint8_t expected[FRAME_MAX_BYTES];
    build(expected, kind, len_bytes, first_id, i);
    cr_assert_eq(pkt->seg_bytes, 0);
    cr_assert_eq(pkt->len_bytes, len_bytes, "packet %u", i);
    cr_assert_arr_eq(pkt->data, expected, len_bytes, "packet %u", i);
}

/* Lengths around those of the headers, so that one packet's headers reach back over several others. */
Test(train, cut_packets_are_those_that_were_coupled)
{
    static uint8_t room[TRAIN_CAP_BYTES], before[TRAIN_CAP_BYTES];
    static const uint32_t lens[] = {TEST_FRAME_MIN_BYTES, 67, 80, 110, 1082, 1500};
    for (unsigned kind = 0; kind < 3; kind++) {
        for (size_t l = 0; l < sizeof lens / sizeof lens[0]; l++) {
            for (uint32_t n = 2; n <= 40; n += 19) {
                uint32_t last_bytes = TEST_FRAME_MIN_BYTES + (lens[l] - TEST_FRAME_MIN_BYTES) / 2;
                struct net_frame frame =
                    couple(room, (enum test_frame_kind)kind, n, lens[l], last_bytes, 0xfff0);
                memcpy(before, room, frame.len_bytes);
                struct net_train train;
                net_train_begin(&train, &frame);
                cr_assert_eq(train.count, n);
                for (uint32_t i = 0; i < n; i++) {
                    struct net_frame pkt = net_train_packet(&train, i);
                    check_packet(&pkt, (enum test_frame_kind)kind, i == n - 1 ? last_bytes : lens[l], 0xfff0,
                                 i);
                }
                net_train_end(&train);
                cr_assert_arr_eq(room, before, frame.len_bytes, "the walk leaves no trace");
            }
        }
    }
}

Test(train, packets_may_be_looked_at_in_any_order)
{
    static uint8_t room[TRAIN_CAP_BYTES];
    struct net_frame frame = couple(room, TEST_FRAME_IPV4, 5, 80, 70, 7);
    struct net_train train;
    static const uint32_t order[] = {4, 1, 1, 3, 0, 2, 4, 0};
    net_train_begin(&train, &frame);
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        struct net_frame pkt = net_train_packet(&train, order[i]);
        check_packet(&pkt, TEST_FRAME_IPV4, order[i] == 4 ? 70 : 80, 7, order[i]);
    }
    net_train_end(&train);
}

Test(train, size_counts_packets_and_bytes_on_the_wire)
{
    static uint8_t room[TRAIN_CAP_BYTES];
    struct net_frame frame = couple(room, TEST_FRAME_IPV6, 10, 1000, 500, 0);
    struct net_train_size size = net_train_size(&frame);
    cr_assert_eq(size.pkts, 10);
    cr_assert_eq(size.bytes, 9 * 1000 + 500);
    frame.seg_bytes = 0;
    frame.len_bytes = 1000;
    size = net_train_size(&frame);
    cr_assert_eq(size.pkts, 1);
    cr_assert_eq(size.bytes, 1000);
}

/* What has no headers of that shape is one packet, as it came. */
Test(train, frame_that_is_no_train_is_one_packet)
{
    static uint8_t room[TRAIN_CAP_BYTES];
    struct net_train train;
    for (unsigned flaw = 0; flaw < 6; flaw++) {
        struct net_frame frame = couple(room, TEST_FRAME_IPV4, 5, 200, 200, 0);
        uint32_t seg_bytes = frame.seg_bytes;
        frame.seg_bytes = flaw == 0 ? 0 : flaw == 1 ? seg_bytes - 1 : flaw == 2 ? seg_bytes + 1 : seg_bytes;
        if (flaw == 3)
            frame.len_bytes = 41; /* within the headers */
        else if (flaw == 4)
            room[12] = 0x88; /* another EtherType */
        else if (flaw == 5)
            frame.len_bytes = 199; /* the first is not whole */
        net_train_begin(&train, &frame);
        cr_assert_eq(train.count, 1, "flaw %u", flaw);
        struct net_frame pkt = net_train_packet(&train, 0);
        cr_assert(pkt.data == room && pkt.len_bytes == frame.len_bytes, "flaw %u", flaw);
        net_train_end(&train);
    }
}

Test(train, wrong_checksum_of_the_first_makes_all_wrong)
{
    static uint8_t room[TRAIN_CAP_BYTES];
    struct net_frame frame = couple(room, TEST_FRAME_IPV4, 4, 100, 90, 3);
    room[14 + 11] ^= 1;
    struct net_train train;
    net_train_begin(&train, &frame);
    cr_assert_eq(train.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        cr_assert_not(net_checksum_ipv4_is_ok(pkt.data + 14, 20));
    }
    net_train_end(&train);
}

/* The helper of the tests that coalesces: what belongs together, and nothing else. */
Test(train, coupling_takes_only_what_follows)
{
    static uint8_t room[TRAIN_CAP_BYTES];
    uint8_t bytes[FRAME_MAX_BYTES];
    struct net_frame train = {.data = room, .cap_bytes = TRAIN_CAP_BYTES}, pkt = {.data = bytes};
    train.len_bytes = build(room, TEST_FRAME_IPV4, 120, 0xffff, 0);
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4, 120, 0xffff, 2);
    cr_assert_not(test_train_append(&train, &pkt), "one is missing");
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4, 124, 0xffff, 1);
    cr_assert_not(test_train_append(&train, &pkt), "longer than the first");
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4_VLAN, 120, 0xffff, 1);
    cr_assert_not(test_train_append(&train, &pkt), "another flow");
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4, 120, 0xffff, 1);
    cr_assert(test_train_append(&train, &pkt));
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4, 100, 0xffff, 2);
    cr_assert(test_train_append(&train, &pkt));
    cr_assert_eq(net_train_size(&train).pkts, 3);
    pkt.len_bytes = build(bytes, TEST_FRAME_IPV4, 100, 0xffff, 3);
    cr_assert_not(test_train_append(&train, &pkt), "the last was shorter");
}
