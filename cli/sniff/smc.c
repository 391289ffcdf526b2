/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/sniff/smc.h"

#include "net/bytes.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"

#define TCP_BYTES      20
#define TCP_FLAG_SYN   0x02
#define OPTION_END     0
#define OPTION_NOTHING 1
#define OPTION_TRIAL   254         /* experimental, told apart by what follows: RFC 6994 */
#define EYECATCHER     0xe2d4c3d9u /* "SMCR" in EBCDIC: RFC 7609, 3.1 */

/* Where the TCP header of a frame begins; `*end` is one past the IP packet. 0: there is none. */
static size_t find_tcp(const uint8_t *frame, size_t len_bytes, size_t *end)
{
    size_t at = NET_ETHER_BYTES;
    if (len_bytes < NET_ETHER_BYTES + NET_VLAN_BYTES + NET_IPV4_BYTES)
        return 0;
    uint16_t ethertype = get_be16(frame + at - 2);
    if (ethertype == NET_ETHERTYPE_VLAN) {
        at += NET_VLAN_BYTES;
        ethertype = get_be16(frame + at - 2);
    }
    if (ethertype == NET_ETHERTYPE_IPV4) {
        size_t header_bytes = (frame[at] & 0xfu) * 4u, total_bytes = get_be16(frame + at + 2);
        bool is_later_fragment = get_be16(frame + at + 6) & 0x1fff;
        if (header_bytes < NET_IPV4_BYTES || frame[at + 9] != NET_IP_PROTO_TCP || is_later_fragment)
            return 0;
        *end = at + total_bytes < len_bytes ? at + total_bytes : len_bytes;
        return at + header_bytes;
    }
    if (ethertype != NET_ETHERTYPE_IPV6 || len_bytes < at + NET_IPV6_BYTES ||
        frame[at + 6] != NET_IP_PROTO_TCP)
        return 0;
    size_t payload_bytes = get_be16(frame + at + 4);
    at += NET_IPV6_BYTES;
    *end = at + payload_bytes < len_bytes ? at + payload_bytes : len_bytes;
    return at;
}

static bool has_smc_option(const uint8_t *options, size_t len_bytes)
{
    for (size_t i = 0; i < len_bytes && options[i] != OPTION_END;) {
        if (options[i] == OPTION_NOTHING) {
            i++;
            continue;
        }
        if (i + 1 >= len_bytes || options[i + 1] < 2 || options[i + 1] > len_bytes - i)
            return false;
        if (options[i] == OPTION_TRIAL && options[i + 1] >= 6 && get_be32(options + i + 2) == EYECATCHER)
            return true;
        i += options[i + 1];
    }
    return false;
}

bool sniff_is_smc_handshake(const uint8_t *frame, size_t len_bytes)
{
    size_t end = 0, at = find_tcp(frame, len_bytes, &end);
    if (at == 0 || at + TCP_BYTES > end)
        return false;
    size_t header_bytes = (frame[at + 12] >> 4) * 4u;
    if (header_bytes < TCP_BYTES || at + header_bytes > end)
        return false;
    if (frame[at + 13] & TCP_FLAG_SYN)
        return has_smc_option(frame + at + TCP_BYTES, header_bytes - TCP_BYTES);
    at += header_bytes;
    return end - at >= 4 && get_be32(frame + at) == EYECATCHER;
}
