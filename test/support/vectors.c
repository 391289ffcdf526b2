/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/vectors.h"

#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"

/* clang-format off */
const struct vector vectors[VECTOR_COUNT] = {
    {"V1", "v4 RC ACK syn 0x1F msn 5", ROCE_L3_IPV4,
     "450a0030123440004011a47bc0000201c0000202c12312b7001c00001140ffff00000102000000071f000005",
     0, {0xc5, 0x71, 0x62, 0x94}},
    {"V2", "v4 RC SEND_ONLY 1 B, pad 3, A=1", ROCE_L3_IPV4,
     "450a0030123440004011a47bc0000201c0000202c12312b7001c00000470ffff000001028000000a00000000",
     0, {0xb1, 0xc1, 0x00, 0x17}},
    {"V3", "v4 RC SEND_ONLY 2 B, pad 2, A=1 SE=1", ROCE_L3_IPV4,
     "450a0030123440004011a47bc0000201c0000202c12312b7001c000004e0ffff000001028000000b00010000",
     0, {0xc2, 0xed, 0x47, 0x21}},
    {"V4", "v4 RC SEND_ONLY 3 B, pad 1, M=0", ROCE_L3_IPV4,
     "450a0030123440004011a47bc0000201c0000202c12312b7001c00000410ffff000001028000000c00010200",
     0, {0x47, 0x79, 0x8a, 0xe9}},
    {"V5", "v4 RC WRITE_FIRST, 256 B pattern 00..ff follows", ROCE_L3_IPV4,
     "450a013c123440004011a36fc0000201c0000202c12312b7012800000640ffff000001020000000d00007f01"
     "2345600000abcd01000003e8",
     256, {0xe3, 0xd0, 0x16, 0x0d}},
    {"V6", "v4 RC READ_REQUEST 4097 B", ROCE_L3_IPV4,
     "450a003c123440004011a46fc0000201c0000202c12312b7002800000c40ffff000001028000001100007f01"
     "2345600000abcd0100001001",
     0, {0x0c, 0x0b, 0xed, 0x53}},
    {"V7", "v4 RC COMPARE_SWAP", ROCE_L3_IPV4,
     "450a0048123440004011a463c0000201c0000202c12312b7003400001340ffff000001028000001200007f01"
     "2345600800abcd01112233445566778899aabbccddeeff00",
     0, {0xad, 0x06, 0x56, 0x40}},
    {"V8", "v4 CNP BECN=0", ROCE_L3_IPV4,
     "450a003c123440004011a46fc0000201c0000202c12312b7002800008100ffff000001020000000000000000"
     "000000000000000000000000",
     0, {0x60, 0x3a, 0x3e, 0x4a}},
    {"V9", "v6 RC NAK syn 0x60 msn 5", ROCE_L3_IPV6,
     "60aabcde001c114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "001c00001140ffff000001020000000760000005",
     0, {0x15, 0x36, 0x98, 0x8e}},
    {"V10", "v6 RC SEND_ONLY_IMM 3 B, pad 1, PSN 0xFFFFFF", ROCE_L3_IPV6,
     "60aabcde0020114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "002000000550ffff0000010280ffffffcafebabe00010200",
     0, {0x15, 0x9e, 0x1b, 0x51}},
    {"V11", "v6 UD SEND_ONLY 2 B, pad 2", ROCE_L3_IPV6,
     "60aabcde0024114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "002400006460ffff0000010200000020111111110000020300010000",
     0, {0xde, 0x16, 0xdc, 0x85}},
    {"V12", "v6 RC FETCH_ADD", ROCE_L3_IPV6,
     "60aabcde0034114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "003400001440ffff000001028000001300007f012345601000abcd0100000000000000010000000000000000",
     0, {0x90, 0x55, 0x32, 0x9a}},
    {"V13", "v6 RC READ_RESPONSE_ONLY 1 B, pad 3", ROCE_L3_IPV6,
     "60aabcde0020114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "002000001070ffff00000102000000111f00000600000000",
     0, {0x93, 0xa0, 0x32, 0x07}},
    {"V14", "v6 CNP BECN=1", ROCE_L3_IPV6,
     "60aabcde0028114020010db800000000000000000000000120010db8000000000000000000000002c12312b7"
     "002800008100ffff400001020000000000000000000000000000000000000000",
     0, {0xce, 0x4b, 0xa5, 0xb0}},
    {"V15", "RoCEv1 RC SEND_ONLY 1 B, pad 3 (GRH fe80::200:ff:fe00:1 -> :2)", ROCE_L3_GRH,
     "60aabcde00141b40fe80000000000000020000fffe000001fe80000000000000020000fffe0000020470ffff"
     "000001028000000a00000000",
     0, {0x81, 0x85, 0xc0, 0x49}},
    {"V16", "hardware CNP (ConnectX-4 Lx, published)", ROCE_L3_IPV4,
     "45c2003c718c4000401191610a0011010a001201000012b7002800008100ffff400001180000000000000000"
     "000000000000000000000000",
     0, {0x82, 0xfd, 0x00, 0x2a}},
    {"V17", "Linux rxe CM REQ (ROCE-CM-90)", ROCE_L3_IPV4,
     "45000134962a400040118ec60a6300020a630001d87212b7012000006400ffff000000018000000080010000"
     "00000001010702030000000000000002486568bf0010000000000000bf686548000000000000000001061c06"
     "505400fffe000002000000000000000000002f0100000001000000a0667a06a7ffff37f0ffffffff00000000"
     "000000000000ffff0a63000200000000000000000000ffff0a6300012266b000004000880000000000000000"
     "000000000000000000000000000000000000000000000000000000000000000000000000004094fb00000000"
     "00000000000000000a6300020000000000000000000000000a63000100000000000000000000000000000000"
     "00000000000000000000000000000000000000000000000000000000000000000000000000000000",
     0, {0x2e, 0x89, 0x71, 0x58}},
};
/* clang-format on */

static uint8_t nibble(char c)
{
    return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10);
}

size_t vector_datagram(const struct vector *v, uint8_t *out)
{
    size_t len = strlen(v->hex) / 2;
    for (size_t i = 0; i < len; i++)
        out[i] = (uint8_t)(nibble(v->hex[2 * i]) << 4 | nibble(v->hex[2 * i + 1]));
    for (size_t i = 0; i < v->pattern_bytes; i++)
        out[len++] = (uint8_t)i;
    return len;
}

size_t vector_frame(const struct vector *v, int vlan_tci, uint8_t *out)
{
    static const uint8_t macs[12] = {2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1};
    static const uint16_t ethertypes[] = {
        [ROCE_L3_IPV4] = 0x0800, /* the numbers themselves, not what the code calls by these names */
        [ROCE_L3_IPV6] = 0x86dd,
        [ROCE_L3_GRH] = 0x8915,
    };
    uint8_t *p = put_bytes(out, macs, sizeof macs);
    if (vlan_tci >= 0)
        p = put_be16(put_be16(p, 0x8100), (uint16_t)vlan_tci);
    p = put_be16(p, ethertypes[v->l3_kind]);
    p += vector_datagram(v, p);
    p = put_bytes(p, v->icrc, sizeof v->icrc);
    return (size_t)(p - out);
}

void frame_reseal(uint8_t *frame, size_t l3_offset, enum roce_l3 l3_kind)
{
    uint8_t *l3 = frame + l3_offset;
    size_t l3_bytes;
    if (l3_kind == ROCE_L3_IPV4) {
        put_be16(l3 + 10, net_checksum_ipv4(l3, NET_IPV4_BYTES));
        l3_bytes = get_be16(l3 + 2);
    } else {
        l3_bytes = NET_IPV6_BYTES + get_be16(l3 + 4);
    }
    put_le32(l3 + l3_bytes - 4, roce_icrc(l3, l3_kind, l3_bytes - 4));
}
