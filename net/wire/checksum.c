/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/checksum.h"

#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/udp.h"

#define IPV4_CHECKSUM_AT 10
#define UDP_CHECKSUM_AT  6

static uint16_t fold(uint64_t sum)
{
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

uint16_t net_checksum_add(uint16_t sum, const uint8_t *p, size_t len_bytes)
{
    uint64_t wide = sum;
    /* 2^16 is 1 in one's complement arithmetic, so 32-bit words sum to the same as their halves (RFC 1071,
     * 2). 2^32 of them fit 64 bits. */
    for (; len_bytes >= 4; p += 4, len_bytes -= 4)
        wide += get_be32(p);
    if (len_bytes >= 2) {
        wide += get_be16(p);
        p += 2;
        len_bytes -= 2;
    }
    if (len_bytes)
        wide += (uint64_t)*p << 8;
    return fold(wide);
}

uint16_t net_checksum_ipv4(const uint8_t *ip, size_t header_bytes)
{
    uint16_t sum = net_checksum_add(0, ip, IPV4_CHECKSUM_AT);
    sum = net_checksum_add(sum, ip + IPV4_CHECKSUM_AT + 2, header_bytes - IPV4_CHECKSUM_AT - 2);
    return (uint16_t)~sum;
}

bool net_checksum_ipv4_is_ok(const uint8_t *ip, size_t header_bytes)
{
    return net_checksum_add(0, ip, header_bytes) == 0xffff;
}

/* The pseudo headers of IPv4 and IPv6 lay out length and protocol differently, but both add the same two
 * numbers. */
static uint16_t pseudo_sum(const uint8_t *ip, size_t udp_bytes)
{
    bool v4 = ip[0] >> 4 == 4;
    uint16_t sum = v4 ? net_checksum_add(0, ip + 12, 2 * 4) : net_checksum_add(0, ip + 8, 2 * 16);
    return fold((uint64_t)sum + udp_bytes + NET_IP_PROTO_UDP);
}

/* The sum over pseudo header and datagram. */
static uint16_t udp_sum(const uint8_t *ip, const uint8_t *udp, size_t udp_bytes)
{
    return net_checksum_add(pseudo_sum(ip, udp_bytes), udp, udp_bytes);
}

uint16_t net_checksum_udp(const uint8_t *ip, const uint8_t *udp, size_t udp_bytes)
{
    /* Adding the complement of the field takes it out of the sum (RFC 1624, 2). */
    uint16_t field = get_be16(udp + UDP_CHECKSUM_AT);
    uint16_t sum = fold((uint64_t)udp_sum(ip, udp, udp_bytes) + (uint16_t)~field);
    uint16_t checksum = (uint16_t)~sum;
    return checksum ? checksum : 0xffff; /* 0 on the wire would mean "none" (RFC 768) */
}

bool net_checksum_udp_is_ok(const uint8_t *ip, const uint8_t *udp, size_t udp_bytes)
{
    uint16_t field = get_be16(udp + UDP_CHECKSUM_AT);
    return field == 0 || field == pseudo_sum(ip, udp_bytes) || udp_sum(ip, udp, udp_bytes) == 0xffff;
}
