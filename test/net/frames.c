/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/net/frames.h"

#include <assert.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"

static uint8_t *put_l3(uint8_t *p, enum test_frame_kind kind, uint16_t payload_bytes)
{
    if (kind == TEST_FRAME_IPV6)
        return net_ipv6_put(p, &(struct net_ipv6){.version = 6,
                                                  .ecn = NET_ECN_ECT0,
                                                  .payload_len = payload_bytes,
                                                  .next_header = NET_IP_PROTO_UDP,
                                                  .hop_limit = 64,
                                                  .src = {0xfe, 0x80, [15] = 1},
                                                  .dst = {0xfe, 0x80, [15] = 2}});
    uint8_t *end = net_ipv4_put(p, &(struct net_ipv4){.version = 4,
                                                      .ihl = 5,
                                                      .ecn = NET_ECN_ECT0,
                                                      .total_len = (uint16_t)(NET_IPV4_BYTES + payload_bytes),
                                                      .df = 1,
                                                      .ttl = 64,
                                                      .protocol = NET_IP_PROTO_UDP,
                                                      .src = {10, 0, 0, 1},
                                                      .dst = {10, 0, 0, 2}});
    put_be16(p + 10, net_checksum_ipv4(p, NET_IPV4_BYTES));
    return end;
}

void test_frame_build(uint8_t *frame, uint32_t len_bytes, enum test_frame_kind kind, uint32_t number)
{
    assert(len_bytes >= TEST_FRAME_MIN_BYTES);
    uint16_t ethertype = kind == TEST_FRAME_IPV6 ? NET_ETHERTYPE_IPV6 : NET_ETHERTYPE_IPV4;
    bool has_tag = kind == TEST_FRAME_IPV4_VLAN;
    uint8_t *p =
        net_ether_put(frame, &(struct net_ether){.dst = {2, 0, 0, 0, 0, 2},
                                                 .src = {2, 0, 0, 0, 0, 1},
                                                 .ethertype = has_tag ? NET_ETHERTYPE_VLAN : ethertype});
    if (has_tag)
        p = net_vlan_put(p, &(struct net_vlan){.pcp = 3, .vid = 100, .ethertype = ethertype});
    uint32_t l3_header_bytes = kind == TEST_FRAME_IPV6 ? NET_IPV6_BYTES : NET_IPV4_BYTES;
    uint8_t *ip = p;
    uint16_t udp_bytes = (uint16_t)(frame + len_bytes - ip - l3_header_bytes);
    uint8_t *udp = put_l3(ip, kind, udp_bytes);
    p = net_udp_put(udp, &(struct net_udp){.src_port = 0xc000, .dst_port = 4791, .len = udp_bytes});
    for (uint32_t i = number; p < frame + len_bytes - 4; i++)
        p = put_u8(p, (uint8_t)(i * 7));
    put_be32(p, number);
    put_be16(udp + 6, net_checksum_udp(ip, udp, udp_bytes));
}

uint32_t test_frame_number(const uint8_t *frame, uint32_t len_bytes)
{
    return get_be32(frame + len_bytes - 4);
}
