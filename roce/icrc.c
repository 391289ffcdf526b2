/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/udp.h"
#include "roce/wire.h"

/* crc32() of the 8 bytes of 0xff that stand for the LRH: the register 0xdebb20e3, complemented as the CRC
 * functions pass it on (ROCE-ICRC-2). */
#define CRC_OF_DUMMY_LRH 0x2144df1cu

/* ROCE-ICRC-4: what routers may change in the L3 header reads as ones. Returns the header's length. */
static size_t mask_l3(uint8_t *p, enum roce_l3 kind)
{
    switch (kind) {
    case ROCE_L3_IPV4:
        p[1] = 0xff;          /* DSCP, ECN */
        p[8] = 0xff;          /* TTL */
        p[10] = p[11] = 0xff; /* header checksum */
        return NET_IPV4_BYTES;
    case ROCE_L3_IPV6:
    case ROCE_L3_GRH:
        p[0] |= 0x0f; /* traffic class, flow label */
        p[1] = p[2] = p[3] = 0xff;
        p[7] = 0xff; /* hop limit */
        break;
    }
    return NET_IPV6_BYTES; /* a GRH is as long */
}

uint32_t roce_icrc(const uint8_t *l3, enum roce_l3 l3_kind, size_t len_bytes)
{
    uint8_t head[NET_IPV6_BYTES + NET_UDP_BYTES + ROCE_BTH_BYTES]; /* a copy: the packet stays as it is */
    size_t head_bytes = (l3_kind == ROCE_L3_IPV4 ? NET_IPV4_BYTES : NET_IPV6_BYTES) +
                        (l3_kind == ROCE_L3_GRH ? 0 : NET_UDP_BYTES) + ROCE_BTH_BYTES;

    memcpy(head, l3, head_bytes);
    size_t bth = mask_l3(head, l3_kind);
    if (l3_kind != ROCE_L3_GRH) {
        head[bth + 6] = head[bth + 7] = 0xff; /* UDP checksum */
        bth += NET_UDP_BYTES;
    }
    head[bth + 4] = 0xff; /* FECN, BECN and the bits beside them (ROCE-ICRC-6) */

    uint32_t crc = crc32_gzip_refl(CRC_OF_DUMMY_LRH, head, head_bytes);
    return crc32_gzip_refl(crc, l3 + head_bytes, len_bytes - head_bytes);
}
