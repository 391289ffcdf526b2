/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/icrc.h"

#include <isa-l/crc.h>
#include <string.h>

#include "base/upper_halves.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "roce/wire/icrc_parts.h"
#include "roce/wire.h"

/* crc32() of the 8 bytes of 0xff that stand for the LRH: the register 0xdebb20e3, complemented as the CRC
 * functions pass it on (ROCE-ICRC-2). */
#define CRC_OF_DUMMY_LRH 0x2144df1cu

#define BTH_MASKED_BYTE 4 /* FECN, BECN and the bits beside them (ROCE-ICRC-6) */

/* What four bits contribute, lowest first, for each of the 16 values that they can have together. */
#define NIBBLE(a, b, c, d)                                                                         \
    {                                                                                              \
        0, a, b, (a) ^ (b), c, (c) ^ (a), (c) ^ (b), (c) ^ (b) ^ (a), /* without d */              \
            d, (d) ^ (a), (d) ^ (b), (d) ^ (b) ^ (a), (d) ^ (c), (d) ^ (c) ^ (a), (d) ^ (c) ^ (b), \
            (d) ^ (c) ^ (b) ^ (a),                                                                 \
    }

/* What bit i of a big-endian 16-bit field contributes to the CRC over the headers that it stands in, by the
 * number of bytes from behind the field to the BTH: crc32() of the field with that bit and so many bytes of
 * 0, plus (XOR) crc32() of as many bytes of 0. Looked up four bits at a time, so that a packet costs the same
 * whatever its identification is. */
static const uint32_t bits_2_before[4][16] = {
    /* UDP length */
    NIBBLE(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8),
    NIBBLE(0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
    NIBBLE(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef),
    NIBBLE(0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
};
static const uint32_t bits_22_before[4][16] = {
    /* IPv4 identification */
    NIBBLE(0x9b73ead4, 0xed96d3e9, 0x005ca193, 0x00b94326),
    NIBBLE(0x0172864c, 0x02e50c98, 0x05ca1930, 0x0b943260),
    NIBBLE(0x81256527, 0xd93bcc0f, 0x69069e5f, 0xd20d3cbe),
    NIBBLE(0x7f6b7f3d, 0xfed6fe7a, 0x26dcfab5, 0x4db9f56a),
};
static const uint32_t bits_24_before[4][16] = {
    /* IPv4 total length */
    NIBBLE(0xa58b900e, 0x9066265d, 0xfbbd4afb, 0x2c0b93b7),
    NIBBLE(0x5817276e, 0xb02e4edc, 0xbb2d9bf9, 0xad2a31b3),
    NIBBLE(0xe71da697, 0x154a4b6f, 0x2a9496de, 0x55292dbc),
    NIBBLE(0xaa525b78, 0x8fd5b0b1, 0xc4da6723, 0x52c5c807),
};
static const uint32_t bits_34_before[4][16] = {
    /* payload length of a GRH */
    NIBBLE(0xcf9e17c8, 0x444d29d1, 0x889a53a2, 0xca45a105),
    NIBBLE(0x4ffa444b, 0x9ff48896, 0xe498176d, 0x1241289b),
    NIBBLE(0x9570d495, 0xf190af6b, 0x38505897, 0x70a0b12e),
    NIBBLE(0xe141625c, 0x19f3c2f9, 0x33e785f2, 0x67cf0be4),
};
static const uint32_t bits_42_before[4][16] = {
    /* IPv6 payload length */
    NIBBLE(0x4713f6fb, 0x8e27edf6, 0xc73eddad, 0x550cbd1b),
    NIBBLE(0xaa197a36, 0x8f43f22d, 0xc5f6e21b, 0x509cc277),
    NIBBLE(0x2a283862, 0x545070c4, 0xa8a0e188, 0x8a30c551),
    NIBBLE(0xcf108ce3, 0x45501f87, 0x8aa03f0e, 0xce31785d),
};

/* ROCE-ICRC-4: what routers may change in the L3 header reads as ones. Returns the header's length. */
static inline size_t mask_l3(uint8_t *p, enum roce_l3 kind)
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

static size_t bytes_below(enum roce_l3 kind)
{
    return (kind == ROCE_L3_IPV4 ? NET_IPV4_BYTES : NET_IPV6_BYTES) +
           (kind == ROCE_L3_GRH ? 0 : NET_UDP_BYTES);
}

/* Masks the L3 and the UDP header at `p`. */
static inline void mask_below(uint8_t *p, enum roce_l3 kind)
{
    size_t udp = mask_l3(p, kind);
    if (kind != ROCE_L3_GRH)
        p[udp + 6] = p[udp + 7] = 0xff; /* UDP checksum */
}

/* Of some bytes; then the vector registers are as other code wants them. */
static inline uint32_t crc_of(uint32_t crc, const uint8_t *bytes, size_t len_bytes)
{
    crc = crc32_gzip_refl(crc, bytes, len_bytes);
    base_give_up_upper_halves();
    return crc;
}

uint32_t roce_icrc(const uint8_t *l3, enum roce_l3 l3_kind, size_t len_bytes)
{
    uint8_t head[NET_IPV6_BYTES + NET_UDP_BYTES + ROCE_BTH_BYTES]; /* a copy: the packet stays as it is */
    size_t bth = bytes_below(l3_kind), head_bytes = bth + ROCE_BTH_BYTES;

    /* In pieces of constant size, which are a few moves. */
    memcpy(head, l3, NET_IPV4_BYTES + NET_UDP_BYTES + ROCE_BTH_BYTES);
    if (l3_kind != ROCE_L3_IPV4)
        memcpy(head + 40, l3 + 40, ROCE_BTH_BYTES);
    if (l3_kind == ROCE_L3_IPV6)
        memcpy(head + 52, l3 + 52, NET_UDP_BYTES);
    mask_below(head, l3_kind);
    head[bth + BTH_MASKED_BYTE] = 0xff;
    uint32_t crc = crc32_gzip_refl(CRC_OF_DUMMY_LRH, head, head_bytes);
    return crc_of(crc, l3 + head_bytes, len_bytes - head_bytes);
}

uint32_t roce_icrc_below(const uint8_t *l3, enum roce_l3 l3_kind)
{
    uint8_t head[NET_IPV6_BYTES + NET_UDP_BYTES];
    size_t head_bytes = bytes_below(l3_kind);

    memcpy(head, l3, head_bytes);
    mask_below(head, l3_kind);
    return crc_of(CRC_OF_DUMMY_LRH, head, head_bytes);
}

/* What a field contributes, or how much its change does. */
static inline uint32_t contribution(const uint32_t bits[4][16], uint32_t field)
{
    return bits[0][field & 15] ^ bits[1][field >> 4 & 15] ^ bits[2][field >> 8 & 15] ^ bits[3][field >> 12];
}

uint32_t roce_icrc_change_of_lengths(enum roce_l3 l3_kind, uint16_t l3_len, uint16_t udp_len)
{
    switch (l3_kind) {
    case ROCE_L3_IPV4:
        return contribution(bits_24_before, l3_len) ^ contribution(bits_2_before, udp_len);
    case ROCE_L3_IPV6:
        return contribution(bits_42_before, l3_len) ^ contribution(bits_2_before, udp_len);
    case ROCE_L3_GRH:
        break;
    }
    return contribution(bits_34_before, l3_len);
}

uint32_t roce_icrc_change_of_id(uint16_t ip_id)
{
    return contribution(bits_22_before, ip_id);
}

uint32_t roce_icrc_above(uint32_t below, uint8_t *bth, size_t len_bytes)
{
    uint8_t masked = bth[BTH_MASKED_BYTE];
    bth[BTH_MASKED_BYTE] = 0xff;
    uint32_t crc = crc_of(below, bth, len_bytes);
    bth[BTH_MASKED_BYTE] = masked;
    return crc;
}
