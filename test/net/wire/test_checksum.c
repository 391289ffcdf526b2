/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/checksum.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "test/net/frames.h"
#include "test/support/random.h"

/* RFC 1071 word for word: 16-bit words, carries added at once, an odd byte padded. */
static uint16_t slow_sum(const uint8_t *p, size_t len_bytes)
{
    uint32_t sum = 0;
    for (size_t i = 0; i < len_bytes; i += 2) {
        sum += (uint32_t)p[i] << 8 | (i + 1 < len_bytes ? p[i + 1] : 0);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

Test(checksum, sum_is_that_of_rfc_1071)
{
    static const uint8_t example[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7}; /* RFC 1071, 3 */
    cr_assert_eq(net_checksum_add(0, example, sizeof example), 0xddf2);
    struct test_random rng = {.state = 1};
    for (int round = 0; round < 2000; round++) {
        uint8_t bytes[300];
        size_t len = test_random_below(&rng, sizeof bytes + 1);
        for (size_t i = 0; i < len; i++)
            bytes[i] = round % 3 ? (uint8_t)test_random_next(&rng) : 0xff;
        cr_assert_eq(net_checksum_add(0, bytes, len), slow_sum(bytes, len), "round %d", round);
        size_t cut = len ? test_random_below(&rng, (uint32_t)len) & ~1u : 0;
        cr_assert_eq(net_checksum_add(net_checksum_add(0, bytes, cut), bytes + cut, len - cut),
                     slow_sum(bytes, len), "round %d: in two pieces", round);
    }
}

/* covers: ROCE-FRM-20 */
Test(checksum, ROCE_FRM_20_ipv4_header)
{
    /* The header that everybody knows from the encyclopedia. */
    uint8_t ip[20] = {0x45, 0x00, 0x00, 0x73, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11,
                      0xb8, 0x61, 0xc0, 0xa8, 0x00, 0x01, 0xc0, 0xa8, 0x00, 0xc7};
    cr_assert_eq(net_checksum_ipv4(ip, sizeof ip), 0xb861);
    cr_assert(net_checksum_ipv4_is_ok(ip, sizeof ip));
    for (unsigned bit = 0; bit < sizeof ip * 8; bit++) {
        ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
        cr_assert_not(net_checksum_ipv4_is_ok(ip, sizeof ip), "bit %u", bit);
        ip[bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
}

Test(checksum, ipv4_header_with_options)
{
    uint8_t ip[60];
    for (unsigned i = 0; i < sizeof ip; i++)
        ip[i] = (uint8_t)(i * 11);
    put_be16(ip + 10, net_checksum_ipv4(ip, sizeof ip));
    cr_assert(net_checksum_ipv4_is_ok(ip, sizeof ip));
    cr_assert_eq(slow_sum(ip, sizeof ip), 0xffff);
}

/* Sums the pseudo header as it is drawn in RFC 768 and RFC 8200, section 8.1. */
static uint16_t slow_udp(const uint8_t *ip, const uint8_t *udp, uint16_t udp_bytes)
{
    static uint8_t all[40 + 2000];
    uint8_t *p = all;
    if (ip[0] >> 4 == 4) {
        p = put_bytes(p, ip + 12, 8);
        p = put_u8(p, 0);
        p = put_u8(p, 17);
        p = put_be16(p, udp_bytes);
    } else {
        p = put_bytes(p, ip + 8, 32);
        p = put_be32(p, udp_bytes);
        p = put_be24(p, 0);
        p = put_u8(p, 17);
    }
    uint8_t *header = p;
    p = put_bytes(p, udp, udp_bytes);
    put_be16(header + 6, 0);
    uint16_t sum = (uint16_t)~slow_sum(all, (size_t)(p - all));
    return sum ? sum : 0xffff;
}

/* covers: ROCE-FRM-43 */
Test(checksum, ROCE_FRM_43_udp_over_both_families)
{
    for (enum test_frame_kind kind = TEST_FRAME_IPV4; kind <= TEST_FRAME_IPV6; kind++) {
        for (uint32_t len = TEST_FRAME_MIN_BYTES; len < 400; len++) {
            uint8_t frame[400];
            test_frame_build(frame, len, kind, len);
            uint8_t *ip = frame + (kind == TEST_FRAME_IPV4_VLAN ? 18 : 14);
            uint8_t *udp = ip + (kind == TEST_FRAME_IPV6 ? 40 : 20);
            uint16_t udp_bytes = (uint16_t)(frame + len - udp);
            cr_assert_eq(net_checksum_udp(ip, udp, udp_bytes), slow_udp(ip, udp, udp_bytes));
            cr_assert(net_checksum_udp_is_ok(ip, udp, udp_bytes));
            udp[udp_bytes - 1] ^= 1;
            cr_assert_not(net_checksum_udp_is_ok(ip, udp, udp_bytes));
            put_be16(udp + 6, 0);
            cr_assert(net_checksum_udp_is_ok(ip, udp, udp_bytes), "0: none was computed");
        }
    }
}

/* What a kernel leaves to hardware: the sum over addresses, length and protocol, not complemented. */
Test(checksum, udp_checksum_that_is_still_to_be_made)
{
    uint8_t packet[28 + 6] = {0x45, 0, 0, 34, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 77, 0, 1, 10, 77, 0, 2};
    uint8_t *udp = packet + 20;
    put_be16(udp + 4, 14);
    memset(udp + 8, 0x5a, 6);
    put_be16(udp + 6, 10 * 256 + 77 + 1 + 10 * 256 + 77 + 2 + 17 + 14);
    cr_assert(net_checksum_udp_is_ok(packet, udp, 14));
    put_be16(udp + 6, get_be16(udp + 6) + 1);
    cr_assert_not(net_checksum_udp_is_ok(packet, udp, 14));
}

Test(checksum, udp_checksum_of_zero_is_sent_as_all_ones)
{
    uint8_t frame[80];
    test_frame_build(frame, sizeof frame, TEST_FRAME_IPV4, 1);
    uint8_t *udp = frame + 34;
    uint16_t udp_bytes = (uint16_t)(frame + sizeof frame - udp);
    /* Makes the sum all ones, whose complement is 0. */
    put_be16(udp + 8, 0);
    put_be16(udp + 8, net_checksum_udp(frame + 14, udp, udp_bytes));
    cr_assert_eq(net_checksum_udp(frame + 14, udp, udp_bytes), 0xffff);
    put_be16(udp + 6, 0xffff);
    cr_assert(net_checksum_udp_is_ok(frame + 14, udp, udp_bytes));
}
