/* SPDX-License-Identifier: BSD-2-Clause */
/* The Internet checksum (RFC 1071): of an IPv4 header, of UDP with its pseudo header. */
#ifndef NORNIC_NET_CHECKSUM_H
#define NORNIC_NET_CHECKSUM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "net/bytes.h"
#include "net/ipv4.h"

/* The one's complement sum of `len_bytes` bytes as big-endian 16-bit words, folded to 16 bits (not
 * complemented), added to `sum`, the result for what came before (0 at the start). An odd last byte is padded
 * with a zero byte, so only the last piece may be odd. */
uint16_t net_checksum_add(uint16_t sum, const uint8_t *p, size_t len_bytes);

/* What belongs into the checksum field of the IPv4 header at `ip` (RFC 791): computed as if the field were 0.
 * `header_bytes` is IHL * 4, 20 to 60. */
uint16_t net_checksum_ipv4(const uint8_t *ip, size_t header_bytes);

/* Whether the checksum in an IPv4 header is right (ROCE-FRM-20). */
bool net_checksum_ipv4_is_ok(const uint8_t *ip, size_t header_bytes);

/* The checksum after a 16-bit word that it covers became `now` instead of `before` (RFC 1624, 3): a wrong
 * checksum stays as wrong as it was. */
static inline uint16_t net_checksum_replace(uint16_t checksum, uint16_t before, uint16_t now)
{
    uint32_t sum = (uint16_t)~checksum + (uint32_t)(uint16_t)~before + now;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* Gives the IPv4 header at `ip` another identification, and the checksum that follows from it. */
static inline void net_checksum_ipv4_set_id(uint8_t *ip, uint16_t id)
{
    uint16_t checksum = get_be16(ip + NET_IPV4_CHECKSUM_AT);
    checksum = net_checksum_replace(checksum, get_be16(ip + NET_IPV4_ID_AT), id);
    put_be16(ip + NET_IPV4_CHECKSUM_AT, checksum);
    put_be16(ip + NET_IPV4_ID_AT, id);
}

/* What belongs into the UDP checksum field (RFC 768; RFC 8200, 8.1): never 0. `ip` is the IPv4 or IPv6 header
 * (its version nibble tells which; its addresses enter the sum), `udp` the UDP header of `udp_bytes` bytes
 * with payload, at least 8. The field itself is read as 0. */
uint16_t net_checksum_udp(const uint8_t *ip, const uint8_t *udp, size_t udp_bytes);

/* Whether a UDP checksum is absent (0; for IPv6 too, RFC 6935) or right (ROCE-FRM-43), or still to be made: a
 * packet of an ordinary socket that has not left its machine, as over a veth pair or in a capture of what is
 * sent, bears the sum over the pseudo header alone, to which hardware is to add the rest (Linux,
 * networking/checksum-offloads). */
bool net_checksum_udp_is_ok(const uint8_t *ip, const uint8_t *udp, size_t udp_bytes);

#endif
