/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/parse.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "test/net/frames.h"
#include "test/support/random.h"

#define LEN 200

static uint32_t l3_at(enum test_frame_kind kind)
{
    return kind == TEST_FRAME_IPV4_VLAN ? 18 : 14;
}

static uint32_t l3_header(enum test_frame_kind kind)
{
    return kind == TEST_FRAME_IPV6 ? 40 : 20;
}

Test(parse, positions_of_sound_frames)
{
    for (enum test_frame_kind kind = TEST_FRAME_IPV4; kind <= TEST_FRAME_IPV6; kind++) {
        uint8_t frame[LEN];
        struct net_parsed at;
        test_frame_build(frame, LEN, kind, 1);
        cr_assert_eq(net_parse(&at, frame, LEN), NET_PARSE_UDP);
        cr_assert_eq(at.vlan_tci, kind == TEST_FRAME_IPV4_VLAN ? 3 << 13 | 100 : -1);
        cr_assert_eq(at.ethertype, kind == TEST_FRAME_IPV6 ? 0x86dd : 0x0800);
        cr_assert_eq(at.ip_version, kind == TEST_FRAME_IPV6 ? 6 : 4);
        cr_assert_eq(at.ip_protocol, 17);
        cr_assert_eq(at.l3_offset, l3_at(kind));
        cr_assert_eq(at.l3_bytes, LEN - l3_at(kind));
        cr_assert_eq(at.l4_offset, l3_at(kind) + l3_header(kind));
        cr_assert_eq(at.l4_bytes, LEN - at.l4_offset);
        cr_assert_eq(at.udp_bytes, at.l4_bytes);
    }
}

/* covers: ROCE-FRM-5 */
Test(parse, ROCE_FRM_5_bytes_behind_the_ip_packet_do_not_count)
{
    for (enum test_frame_kind kind = TEST_FRAME_IPV4; kind <= TEST_FRAME_IPV6; kind++) {
        uint8_t frame[LEN + 50] = {0};
        struct net_parsed whole, padded;
        test_frame_build(frame, LEN, kind, 1);
        net_parse(&whole, frame, LEN);
        cr_assert_eq(net_parse(&padded, frame, sizeof frame), NET_PARSE_UDP);
        cr_assert_eq(padded.l3_bytes, whole.l3_bytes);
        cr_assert_eq(padded.udp_bytes, whole.udp_bytes);
    }
}

Test(parse, a_frame_cut_anywhere_is_never_taken_for_whole)
{
    for (enum test_frame_kind kind = TEST_FRAME_IPV4; kind <= TEST_FRAME_IPV6; kind++) {
        uint8_t frame[LEN];
        test_frame_build(frame, LEN, kind, 1);
        for (uint32_t len = 0; len < LEN; len++) {
            struct net_parsed at;
            enum net_parse_result expected = len < l3_at(kind) ? NET_PARSE_BAD_L2 : NET_PARSE_BAD_IP;
            cr_assert_eq(net_parse(&at, frame, len), expected, "kind %d, %u bytes", kind, len);
            cr_assert_eq(at.udp_bytes, 0);
        }
    }
}

/* One byte of an IPv4 frame is changed. */
static enum net_parse_result parse_changed(enum test_frame_kind kind, uint32_t at, uint8_t value)
{
    uint8_t frame[LEN];
    struct net_parsed parsed;
    test_frame_build(frame, LEN, kind, 1);
    frame[at] = value;
    return net_parse(&parsed, frame, LEN);
}

Test(parse, lengths_and_versions_are_checked)
{
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 14, 0x65), NET_PARSE_BAD_IP, "version 6 behind 0x0800");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 14, 0x44), NET_PARSE_BAD_IP, "IHL 4");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 17, 187), NET_PARSE_BAD_IP,
                 "one byte more than the frame has");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 17, 19), NET_PARSE_BAD_IP, "total length below the header");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 17, 20), NET_PARSE_BAD_UDP, "no room for a UDP header");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 17, 185), NET_PARSE_BAD_UDP, "UDP reaches beyond IP");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 39, 7), NET_PARSE_BAD_UDP, "UDP length 7");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 39, 8), NET_PARSE_UDP, "UDP without payload");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV6, 14, 0x45), NET_PARSE_BAD_IP, "version 4 behind 0x86dd");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV6, 19, 147), NET_PARSE_BAD_IP,
                 "one byte more than the frame has");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV6, 19, 7), NET_PARSE_BAD_UDP, "no room for a UDP header");
}

Test(parse, other_protocols_and_fragments_stop_at_ip)
{
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 23, 6), NET_PARSE_IP, "TCP");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 20, 0x20), NET_PARSE_IP, "MF");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 21, 1), NET_PARSE_IP, "a fragment offset");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV6, 20, 44), NET_PARSE_IP, "a fragment header");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4, 13, 6), NET_PARSE_NOT_IP, "ARP");
    cr_assert_eq(parse_changed(TEST_FRAME_IPV4_VLAN, 16, 0x81), NET_PARSE_NOT_IP, "a second tag");
}

Test(parse, options_of_ipv4_are_stepped_over)
{
    uint8_t frame[LEN];
    struct net_parsed at;
    test_frame_build(frame, LEN, TEST_FRAME_IPV4, 1);
    frame[14] = 0x46;
    put_be16(frame + 38 + 4, LEN - 38); /* a UDP length where it is now */
    cr_assert_eq(net_parse(&at, frame, LEN), NET_PARSE_UDP);
    cr_assert_eq(at.l4_offset, 38);
    cr_assert_eq(at.udp_bytes, LEN - 38);
}

/* Whatever the bytes are, what is reported lies within the frame, header by header. */
Test(parse, positions_are_inside_the_frame_for_any_bytes)
{
    struct test_random rng = {.state = 5};
    for (int round = 0; round < 100000; round++) {
        uint8_t frame[LEN];
        enum test_frame_kind kind = (enum test_frame_kind)test_random_below(&rng, 3);
        test_frame_build(frame, LEN, kind, (uint32_t)round);
        for (uint32_t i = test_random_below(&rng, 5); i > 0; i--)
            frame[12 + test_random_below(&rng, 60)] = (uint8_t)test_random_next(&rng);
        uint32_t len = test_random_below(&rng, LEN + 1);
        struct net_parsed at;
        enum net_parse_result result = net_parse(&at, frame, len);
        cr_assert_leq(at.l3_offset, len);
        cr_assert_leq(at.l3_offset + at.l3_bytes, len);
        if (at.ip_version)
            cr_assert_eq(at.l4_offset + at.l4_bytes, at.l3_offset + at.l3_bytes);
        cr_assert_leq(at.udp_bytes, at.l4_bytes);
        cr_assert_eq(result == NET_PARSE_UDP, at.udp_bytes >= 8);
    }
}
