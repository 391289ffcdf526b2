/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/field.h"

#include <criterion/criterion.h>

#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "test/support/random.h"
#include "test/support/tiling.h"

static const struct net_header *const all_headers[] = {&net_ether_header, &net_vlan_header, &net_ipv4_header,
                                                       &net_ipv6_header, &net_udp_header};

Test(field, every_header_is_tiled)
{
    for (size_t i = 0; i < array_len(all_headers); i++)
        test_header_tiles(all_headers[i]);
}

static void random_bytes(struct test_random *rng, uint8_t *p, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes; i++)
        p[i] = (uint8_t)test_random_next(rng);
}

/* One bit at a time, straight from the definition: bit 0 is the most significant bit of byte 0. */
static unsigned slow_bit(const uint8_t *p, unsigned bit)
{
    return p[bit / 8] >> (7 - bit % 8) & 1;
}

Test(field, bits_get_reads_what_single_bits_say)
{
    struct test_random rng = {.state = 1};
    for (int round = 0; round < 20000; round++) {
        uint8_t bytes[24];
        random_bytes(&rng, bytes, sizeof bytes);
        unsigned first = (unsigned)(test_random_next(&rng) % 128),
                 width = 1 + (unsigned)(test_random_next(&rng) % 64);
        uint64_t expected = 0;
        for (unsigned i = 0; i < width; i++)
            expected = expected << 1 | slow_bit(bytes, first + i);
        cr_assert_eq(net_bits_get(bytes, first, width), expected, "round %d: bits %u..%u", round, first,
                     first + width);
    }
}

Test(field, bits_put_changes_its_bits_and_no_other)
{
    struct test_random rng = {.state = 2};
    for (int round = 0; round < 20000; round++) {
        uint8_t before[24], after[24];
        random_bytes(&rng, before, sizeof before);
        memcpy(after, before, sizeof after);
        unsigned first = (unsigned)(test_random_next(&rng) % 128),
                 width = 1 + (unsigned)(test_random_next(&rng) % 64);
        uint64_t value = test_random_next(&rng);
        net_bits_put(after, first, width, value);
        for (unsigned bit = 0; bit < sizeof after * 8; bit++) {
            unsigned expected = bit < first || bit >= first + width
                                    ? slow_bit(before, bit)
                                    : (unsigned)(value >> (first + width - 1 - bit)) & 1;
            cr_assert_eq(slow_bit(after, bit), expected, "round %d: bits %u..%u, bit %u", round, first,
                         first + width, bit);
        }
    }
}

/* Random bytes decoded and encoded again are the same bytes: holds only if the fields tile the header and
 * every member is wide enough for its field. */
#define ROUND_TRIP(prefix, len)                                  \
    Test(field, prefix##_decoded_and_encoded_is_the_same)        \
    {                                                            \
        struct test_random rng = {.state = 3};                   \
        for (int round = 0; round < 1000; round++) {             \
            uint8_t in[len], out[len];                           \
            random_bytes(&rng, in, len);                         \
            memset(out, round & 1 ? 0xff : 0, len);              \
            struct prefix header;                                \
            cr_assert_eq(prefix##_get(&header, in), in + len);   \
            cr_assert_eq(prefix##_put(out, &header), out + len); \
            cr_assert_arr_eq(in, out, len, "round %d", round);   \
        }                                                        \
    }

ROUND_TRIP(net_ether, NET_ETHER_BYTES)
ROUND_TRIP(net_vlan, NET_VLAN_BYTES)
ROUND_TRIP(net_ipv4, NET_IPV4_BYTES)
ROUND_TRIP(net_ipv6, NET_IPV6_BYTES)
ROUND_TRIP(net_udp, NET_UDP_BYTES)

/* The table says the same as the decoder: each integer member of a known header, by name and place. */
Test(field, ipv4_members_are_where_rfc_791_draws_them)
{
    static const uint8_t bytes[NET_IPV4_BYTES] = {0x45, 0xbb, 0x01, 0x02, 0x03, 0x04, 0x40, 0x05, 0x3f, 0x11,
                                                  0x12, 0x34, 10,   0,    0,    1,    10,   0,    0,    2};
    struct net_ipv4 ip;
    net_ipv4_get(&ip, bytes);
    cr_assert(ip.version == 4 && ip.ihl == 5 && ip.dscp == 46 && ip.ecn == NET_ECN_CE);
    cr_assert(ip.total_len == 0x0102 && ip.id == 0x0304);
    cr_assert(ip.resv1 == 0 && ip.df == 1 && ip.mf == 0 && ip.frag_offset == 5);
    cr_assert(ip.ttl == 63 && ip.protocol == NET_IP_PROTO_UDP && ip.checksum == 0x1234);
    cr_assert(ip.src[3] == 1 && ip.dst[3] == 2);
}

Test(field, ipv6_members_are_where_rfc_8200_draws_them)
{
    uint8_t bytes[NET_IPV6_BYTES] = {0x6b, 0xb1, 0x23, 0x45, 0x01, 0x02, 0x11, 0x40};
    bytes[23] = 1;
    bytes[39] = 2;
    struct net_ipv6 ip;
    net_ipv6_get(&ip, bytes);
    cr_assert(ip.version == 6 && ip.dscp == 46 && ip.ecn == NET_ECN_CE && ip.flow_label == 0x12345);
    cr_assert(ip.payload_len == 0x0102 && ip.next_header == NET_IP_PROTO_UDP && ip.hop_limit == 64);
    cr_assert(ip.src[15] == 1 && ip.dst[15] == 2);
}

/* covers: ROCE-FRM-3 */
Test(field, ROCE_FRM_3_vlan_tag_layout)
{
    static const uint8_t tag[NET_VLAN_BYTES] = {0xb1, 0x23, 0x08, 0x00};
    struct net_vlan vlan;
    net_vlan_get(&vlan, tag);
    cr_assert(vlan.pcp == 5 && vlan.dei == 1 && vlan.vid == 0x123 && vlan.ethertype == NET_ETHERTYPE_IPV4);
}

Test(field, values_have_their_words)
{
    cr_assert_str_eq(net_ethertype_name(0x86dd), "IPv6");
    cr_assert_str_eq(net_ip_proto_name(17), "UDP");
    cr_assert_str_eq(net_ecn_name(3), "CE");
    cr_assert_null(net_ethertype_name(0x1234));
    cr_assert_null(net_ip_proto_name(200));
    cr_assert_null(net_ecn_name(4));
}
