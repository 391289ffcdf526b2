/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/icrc.h"

#include <criterion/criterion.h>
#include <string.h>
#include <zlib.h>

#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/udp.h"
#include "roce/wire/icrc_copy.h"
#include "roce/wire/icrc_parts.h"
#include "roce/wire.h"
#include "test/support/random.h"
#include "test/support/vectors.h"
#include "test/support/upper_halves.h"

/* The rule as the standard tells it: eight bytes of ones, then the packet with its variant bytes as ones,
 * through the CRC of another library. The masks are written out bit by bit, as ROCE-ICRC-4 has them. */
static uint8_t variant_bits(enum roce_l3 kind, size_t offset)
{
    size_t udp = kind == ROCE_L3_IPV4 ? 20 : 40;
    size_t bth = kind == ROCE_L3_GRH ? udp : udp + 8;

    if (offset == bth + 4)
        return 0xff;
    if (kind != ROCE_L3_GRH && (offset == udp + 6 || offset == udp + 7))
        return 0xff;
    if (kind == ROCE_L3_IPV4)
        return offset == 1 || offset == 8 || offset == 10 || offset == 11 ? 0xff : 0;
    if (offset == 0)
        return 0x0f;
    return offset == 1 || offset == 2 || offset == 3 || offset == 7 ? 0xff : 0;
}

static uint32_t reference_icrc(const uint8_t *l3, enum roce_l3 kind, size_t len)
{
    uLong crc = crc32(0, (const uint8_t *)"\xff\xff\xff\xff\xff\xff\xff\xff", 8);
    for (size_t i = 0; i < len; i++) {
        uint8_t byte = l3[i] | variant_bits(kind, i);
        crc = crc32(crc, &byte, 1);
    }
    return (uint32_t)crc;
}

/* covers: ROCE-ICRC-1, ROCE-ICRC-2, ROCE-ICRC-3, ROCE-ICRC-4, ROCE-ICRC-8, CA17-22 */
Test(icrc, worked_vectors)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        const struct vector *v = &vectors[i];
        uint8_t packet[VECTOR_MAX_BYTES], before[VECTOR_MAX_BYTES];
        size_t len = vector_datagram(v, packet);
        memcpy(before, packet, len);
        uint32_t icrc = roce_icrc(packet, v->l3_kind, len);
        cr_expect_eq(icrc, get_le32(v->icrc), "%s %s: %08x", v->id, v->title, icrc);
        cr_expect_eq(icrc, reference_icrc(packet, v->l3_kind, len), "%s by the reference", v->id);
        cr_expect_arr_eq(packet, before, len, "%s was changed", v->id);
    }
}

/* covers: ROCE-ICRC-1, ROCE-ICRC-2 */
Test(icrc, ROCE_ICRC_1_agrees_with_zlib_on_any_bytes)
{
    struct test_random random = {1};
    uint8_t packet[4200];
    for (int round = 0; round < 600; round++) {
        enum roce_l3 kind = (enum roce_l3)(round % 3);
        for (size_t i = 0; i < sizeof packet; i++)
            packet[i] = (uint8_t)test_random_next(&random);
        /* every length near the shortest packet, then all over the range */
        size_t least = kind == ROCE_L3_IPV4 ? 40 : kind == ROCE_L3_IPV6 ? 60 : 52;
        size_t len = round < 300 ? least + (size_t)round / 3 : least + test_random_below(&random, 4100);
        cr_assert_eq(roce_icrc(packet, kind, len), reference_icrc(packet, kind, len), "round %d, %zu bytes",
                     round, len);
    }
}

/* Flips every bit of a packet in turn: the ICRC may change for covered bits only, and must for each of them.
 * covers: ROCE-ICRC-4, ROCE-ICRC-5, ROCE-ICRC-6, ROCE-ICRC-7 */
Test(icrc, ROCE_ICRC_4_every_bit_is_covered_or_masked)
{
    unsigned masked = 0;
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        const struct vector *v = &vectors[i];
        uint8_t packet[VECTOR_MAX_BYTES];
        size_t len = vector_datagram(v, packet);
        uint32_t good = roce_icrc(packet, v->l3_kind, len);
        for (size_t bit = 0; bit < len * 8; bit++) {
            uint8_t mask = (uint8_t)(0x80 >> bit % 8);
            bool is_masked = variant_bits(v->l3_kind, bit / 8) & mask;
            packet[bit / 8] ^= mask;
            cr_expect((roce_icrc(packet, v->l3_kind, len) == good) == is_masked, "%s byte %zu bit %zu", v->id,
                      bit / 8, 7 - bit % 8);
            packet[bit / 8] ^= mask;
            masked += is_masked;
        }
    }
    /* IPv4: 4 + 2 + 1 bytes; IPv6: 4 bits, 4 + 2 + 1 bytes; GRH: 4 bits, 4 + 1 bytes */
    cr_expect_eq(masked, 10 * 56 + 6 * 60 + 44);
}

/* A CNP has one ICRC whether BECN is set or not. */
Test(icrc, ROCE_ICRC_6_becn_does_not_matter)
{
    uint8_t packet[VECTOR_MAX_BYTES];
    size_t len = vector_datagram(&vectors[7], packet);
    uint32_t without = roce_icrc(packet, ROCE_L3_IPV4, len);
    packet[28 + 4] |= 0xc0;
    cr_expect_eq(roce_icrc(packet, ROCE_L3_IPV4, len), without);
}

/* The CRC below the BTH, carried over from one packet of a flow to another by the fields that differ, is that
 * of the other: every bit of every field, and any change.
 * covers: ROCE-ICRC-1, ROCE-ICRC-4 */
Test(icrc, ROCE_ICRC_1_headers_of_a_flow_are_hashed_once)
{
    struct test_random random = {3};
    uint8_t l3[48], bth[100];
    for (unsigned round = 0; round < 3000; round++) {
        enum roce_l3 kind = (enum roce_l3)(round % 3);
        uint8_t *len = l3 + (kind == ROCE_L3_IPV4 ? 2 : 4), *udp = l3 + (kind == ROCE_L3_IPV4 ? 24 : 44);
        for (size_t i = 0; i < sizeof l3; i++)
            l3[i] = (uint8_t)test_random_next(&random);
        uint32_t below = roce_icrc_below(l3, kind);
        bool one_bit = round < 3 * 48;
        uint64_t flips = one_bit ? UINT64_C(1) << round / 3 : test_random_next(&random);
        uint16_t of_len = (uint16_t)flips, of_udp = (uint16_t)(flips >> 16), of_id = (uint16_t)(flips >> 32);
        put_be16(len, get_be16(len) ^ of_len);
        if (kind != ROCE_L3_GRH)
            put_be16(udp, get_be16(udp) ^ of_udp);
        if (kind == ROCE_L3_IPV4) {
            put_be16(l3 + 4, get_be16(l3 + 4) ^ of_id);
            below ^= roce_icrc_change_of_id(of_id);
        }
        below ^= roce_icrc_change_of_lengths(kind, of_len, of_udp);
        cr_assert_eq(below, roce_icrc_below(l3, kind), "round %u", round);
        /* and with what follows it is the ICRC of the whole */
        size_t l3_bytes = kind == ROCE_L3_IPV4 ? 28 : kind == ROCE_L3_IPV6 ? 48 : 40;
        uint8_t packet[sizeof l3 + sizeof bth];
        size_t bth_bytes = 12 + round % (sizeof bth - 12);
        for (size_t i = 0; i < sizeof bth; i++)
            bth[i] = (uint8_t)test_random_next(&random);
        memcpy(packet, l3, l3_bytes);
        memcpy(packet + l3_bytes, bth, bth_bytes);
        cr_assert_eq(roce_icrc_above(below, bth, bth_bytes),
                     reference_icrc(packet, kind, l3_bytes + bth_bytes), "round %u", round);
    }
}

/* Payloads of every path MTU and of any length, from and to any place: what is copied is copied, what stands
 * beside it stays, and the ICRC is that of the packet.
 * covers: ROCE-ICRC-1, ROCE-ICRC-6 */
Test(icrc, ROCE_ICRC_6_copied_on_the_way)
{
    struct test_random random = {4};
    uint8_t from[4096 + 64], packet[64 + ROCE_BTH_BYTES + 4096 + 64], before[sizeof packet];
    for (unsigned round = 0; round < 2000; round++) {
        size_t len = round % 2 ? test_random_below(&random, 4097) : 256 * test_random_below(&random, 17);
        uint8_t *bth = packet + test_random_below(&random, 64), *payload = bth + ROCE_BTH_BYTES;
        const uint8_t *source = from + test_random_below(&random, 64);
        uint32_t below = (uint32_t)test_random_next(&random);
        for (size_t i = 0; i < sizeof from; i++)
            from[i] = (uint8_t)test_random_next(&random);
        for (size_t i = 0; i < sizeof packet; i++)
            packet[i] = (uint8_t)test_random_next(&random);
        memcpy(before, packet, sizeof packet);
        uint32_t icrc = roce_icrc_copy(below, bth, source, len);
        cr_assert_arr_eq(payload, source, len, "round %u, %zu bytes", round, len);
        memcpy(before + (payload - packet), source, len);
        cr_assert_arr_eq(packet, before, sizeof packet, "round %u, %zu bytes", round, len);
        bth[4] = 0xff;
        cr_assert_eq(icrc, crc32(below, bth, (uInt)(ROCE_BTH_BYTES + len)), "round %u, %zu bytes", round,
                     len);
        cr_assert_not(upper_halves_are_in_use(), "%zu bytes", len);
    }
}

Test(icrc, leaves_no_upper_halves_in_use)
{
    static uint8_t packet[4096];
    uint32_t below = roce_icrc_below(packet, ROCE_L3_IPV4);
    cr_expect_not(upper_halves_are_in_use(), "behind what is below the BTH");
    for (size_t len = ROCE_BTH_BYTES; len <= sizeof packet - NET_IPV4_BYTES - NET_UDP_BYTES;
         len = len * 2 + 1) {
        roce_icrc_above(below, packet + NET_IPV4_BYTES + NET_UDP_BYTES, len);
        cr_expect_not(upper_halves_are_in_use(), "behind an ICRC from the BTH on, %zu octets", len);
        roce_icrc(packet, ROCE_L3_IPV4, NET_IPV4_BYTES + NET_UDP_BYTES + len);
        cr_expect_not(upper_halves_are_in_use(), "behind an ICRC, %zu octets from the BTH on", len);
    }
}
