/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/packet.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "roce/counters.h"
#include "test/support/vectors.h"

#define L3       14
#define UDP_V4   (L3 + 20)
#define BTH_V4   (UDP_V4 + 8)
#define UDP_V6   (L3 + 40)
#define V1       (&vectors[0])
#define V2       (&vectors[1])
#define V10      (&vectors[9])
#define V15      (&vectors[14])
#define IS_V1(v) ((v)->l3_kind == ROCE_L3_GRH)

/* Parses a copy that ends where the frame ends, so that a sanitizer sees every byte read beyond it. */
static enum roce_rx_verdict judge(struct roce_pkt *pkt, const uint8_t *frame, size_t len, unsigned flags)
{
    uint8_t *exact = malloc(len ? len : 1);
    memcpy(exact, frame, len);
    enum roce_rx_verdict verdict = roce_pkt_parse(pkt, exact, len, flags);
    free(exact);
    return verdict;
}

/* covers: CA17-1, ROCE-GEN-2, ROCE-HDR-2, ROCE-HDR-6, ROCE-FRM-3 */
Test(packet, takes_every_vector_with_and_without_a_tag)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        for (int tci = -1; tci < 0x7000; tci += 0x2003) {
            const struct vector *v = &vectors[i];
            uint8_t frame[VECTOR_MAX_BYTES];
            struct roce_pkt pkt;
            size_t len = vector_frame(v, tci, frame);
            enum roce_rx_verdict verdict = judge(&pkt, frame, len, 0);
            cr_expect_eq(verdict, IS_V1(v) ? ROCE_RX_DROP_L2 : ROCE_RX_TAKEN, "%s: %s", v->id,
                         roce_rx_verdict_words(verdict));
            cr_expect_eq(pkt.vlan_tci, tci);
            cr_expect_eq(pkt.l3_kind, v->l3_kind);
            if (!IS_V1(v))
                cr_expect_eq(pkt.icrc_found, get_le32(v->icrc));
        }
    }
}

Test(packet, fills_what_the_packet_says)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V10, 0x6005, frame);
    cr_assert_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.frame, frame);
    cr_expect_eq(pkt.frame_bytes, len);
    cr_expect_arr_eq(pkt.dst_mac.b, frame, 6);
    cr_expect_arr_eq(pkt.src_mac.b, frame + 6, 6);
    cr_expect_eq(pkt.l3, frame + 18);
    cr_expect_arr_eq(pkt.src.b, frame + 18 + 8, 16);
    cr_expect_arr_eq(pkt.dst.b, frame + 18 + 24, 16);
    cr_expect_eq(pkt.tclass, 0x0a);
    cr_expect_eq(pkt.hop_limit, 64);
    cr_expect_eq(pkt.src_port, 0xc123);
    cr_expect_eq(pkt.bth.psn, 0xffffff);
    cr_expect_eq(pkt.op, &roce_opcodes[0x05]);
    cr_expect_arr_eq(pkt.immdt.imm_data, "\xca\xfe\xba\xbe", 4);
    cr_expect_eq(pkt.payload_bytes, 3);
    cr_expect_arr_eq(pkt.payload, "\0\1\2", 3);
    cr_expect_eq(pkt.reth.va, 0, "a header that is not there reads as zero");
    len = vector_frame(V1, -1, frame);
    cr_assert_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    cr_expect_arr_eq(pkt.src.b, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1", 16);
    cr_expect_eq(pkt.aeth.msn, 5);
    cr_expect_eq(pkt.payload_bytes, 0);
}

/* Every defined opcode, with each pad: the payload is what remains (ROCE-HDR-4), one word less is too short.
 * covers: ROCE-HDR-4, ROCE-HDR-10, ROCE-RX-4, ROCE-OPC-6 */
Test(packet, ROCE_RX_4_every_opcode_at_every_length)
{
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        for (unsigned transport = 12; transport <= 128; transport += 4) {
            for (unsigned pad = 0; pad < 4; pad++) {
                uint8_t frame[256] = {0};
                struct roce_pkt pkt;
                memcpy(frame, "\2\0\0\0\0\2\2\0\0\0\0\1\x86\xdd\x60", 15);
                put_be16(frame + L3 + 4, (uint16_t)(8 + transport + 4));
                frame[L3 + 6] = 17;
                put_be32(frame + UDP_V6, 0xc0000000 | ROCE_UDP_PORT);
                put_be16(frame + UDP_V6 + 4, (uint16_t)(8 + transport + 4));
                frame[UDP_V6 + 8] = (uint8_t)opcode;
                frame[UDP_V6 + 9] = (uint8_t)(pad << 4);
                frame_reseal(frame, L3, ROCE_L3_IPV6);
                enum roce_rx_verdict verdict = judge(&pkt, frame, UDP_V6 + 8 + transport + 4, 0);

                const struct roce_opcode *op = &roce_opcodes[opcode];
                unsigned needed = op->name ? op->ext_bytes + pad : 0;
                bool fits = transport - 12 >= needed;
                cr_assert_eq(verdict, fits ? ROCE_RX_TAKEN : ROCE_RX_DROP_SHORT, "0x%02x %u %u", opcode,
                             transport, pad);
                cr_assert_eq(pkt.bth.opcode, opcode);
                if (fits)
                    cr_assert_eq(pkt.payload_bytes, transport - 12 - needed);
            }
        }
    }
}

/* covers: ROCE-FRM-5, CA17-6, CA17-21 */
Test(packet, ROCE_FRM_5_bytes_after_the_icrc_are_ignored)
{
    for (size_t i = 0; i < 14; i++) {
        uint8_t frame[VECTOR_MAX_BYTES + 64];
        struct roce_pkt pkt, padded;
        size_t len = vector_frame(&vectors[i], -1, frame);
        memset(frame + len, 0xee, 64);
        cr_expect_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
        cr_expect_eq(roce_pkt_parse(&padded, frame, len + 64, 0), ROCE_RX_TAKEN);
        cr_expect_eq(pkt.payload_bytes, padded.payload_bytes);
        cr_expect_eq(pkt.payload, padded.payload);
    }
}

/* covers: ROCE-GEN-7, CA17-24 */
Test(packet, ROCE_GEN_7_truncated_at_every_length)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t whole = vector_frame(&vectors[i], 7, frame);
        for (size_t len = 0; len < whole; len++) {
            enum roce_rx_verdict verdict = judge(&pkt, frame, len, 0);
            if (IS_V1(&vectors[i]))
                cr_expect_eq(verdict, len < 18 ? ROCE_RX_NOT_ROCE : ROCE_RX_DROP_L2);
            else /* the port is seen when four bytes of the UDP header are there */
                cr_expect_eq(verdict,
                             len < (vectors[i].l3_kind == ROCE_L3_IPV4 ? 18u + 20 + 8 : 18u + 40 + 8)
                                 ? ROCE_RX_NOT_ROCE
                                 : ROCE_RX_DROP_IP,
                             "%s at %zu", vectors[i].id, len);
        }
    }
}

/* Whether the network may change this byte without the packet being lost (its IPv4 checksum is renewed). */
static bool may_change(const struct vector *v, size_t offset)
{
    if (offset < 12)
        return true; /* the Ethernet addresses: no check of this layer */
    if (offset < L3)
        return false;
    offset -= L3;
    if (v->l3_kind == ROCE_L3_IPV4)
        return offset == 1 || offset == 8 || offset == 28 + 4;
    return (offset >= 1 && offset <= 3) || offset == 7 || offset == 48 + 4;
}

/* The sweep over every bit of every vector: what the network may change passes, all else is dropped. The bits
 * of the UDP checksum are masked in the ICRC, but a checksum that is there must be right.
 * covers: CA17-22, CA17-24, CA17-29, ROCE-ICRC-4, ROCE-ICRC-5, ROCE-ICRC-7, ROCE-HDR-6, ROCE-RX-5 */
Test(packet, ROCE_ICRC_7_every_flipped_bit_is_judged)
{
    for (size_t i = 0; i < VECTOR_COUNT; i++) {
        const struct vector *v = &vectors[i];
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t len = vector_frame(v, -1, frame);
        if (IS_V1(v))
            continue;
        for (size_t bit = 0; bit < len * 8; bit++) {
            uint8_t flipped[VECTOR_MAX_BYTES];
            bool passes = may_change(v, bit / 8);
            memcpy(flipped, frame, len);
            flipped[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            if (passes && v->l3_kind == ROCE_L3_IPV4)
                put_be16(flipped + L3 + 10, net_checksum_ipv4(flipped + L3, 20));
            if (v->l3_kind == ROCE_L3_IPV6 && bit / 8 == L3 && bit % 8 >= 4)
                passes = true; /* the upper half of the traffic class */
            cr_expect_eq(judge(&pkt, flipped, len, 0) == ROCE_RX_TAKEN, passes, "%s byte %zu bit %zu", v->id,
                         bit / 8, 7 - bit % 8);
        }
    }
}

/* One rule broken at a time, with the checksum and the ICRC made right again, so that nothing else speaks. */
struct violation {
    const char *rule;
    const struct vector *base;
    size_t offset; /* in the frame; two bytes there become `value`, one byte if `bytes` is 1 */
    uint8_t bytes;
    uint16_t value;
    enum roce_rx_verdict expected;
};

static const struct violation violations[] = {
    {"FRM-2: another EtherType", V1, 12, 2, 0x0806, ROCE_RX_NOT_ROCE},
    {"FRM-55: RoCEv1", V1, 12, 2, 0x8915, ROCE_RX_DROP_L2},
    {"FRM-2: IPv6 under the EtherType of IPv4", V10, 12, 2, 0x0800, ROCE_RX_NOT_ROCE},
    {"FRM-10: version 5", V1, L3, 1, 0x55, ROCE_RX_DROP_IP},
    {"FRM-11: IHL 4", V1, L3, 1, 0x44, ROCE_RX_DROP_IP},
    {"FRM-14: total length beyond the frame", V1, L3 + 2, 2, 0x34, ROCE_RX_DROP_IP},
    {"FRM-14: total length without UDP", V1, L3 + 2, 2, 27, ROCE_RX_DROP_IP},
    {"FRM-16: DF clear", V1, L3 + 6, 2, 0x0000, ROCE_RX_DROP_IP},
    {"FRM-16: reserved flag", V1, L3 + 6, 2, 0xc000, ROCE_RX_DROP_IP},
    {"FRM-16: MF", V1, L3 + 6, 2, 0x6000, ROCE_RX_DROP_IP},
    {"FRM-17: fragment offset 1", V1, L3 + 6, 2, 0x4001, ROCE_RX_DROP_IP},
    {"FRM-19: TCP", V1, L3 + 9, 1, 6, ROCE_RX_NOT_ROCE},
    {"FRM-30: version 5", V10, L3, 1, 0x50, ROCE_RX_DROP_IP},
    {"FRM-34: payload length beyond the frame", V10, L3 + 4, 2, 0x24, ROCE_RX_DROP_IP},
    {"FRM-34: payload length without UDP", V10, L3 + 4, 2, 7, ROCE_RX_DROP_IP},
    {"FRM-35: no next header", V10, L3 + 6, 1, 59, ROCE_RX_NOT_ROCE},
    {"FRM-41: another port", V1, UDP_V4 + 2, 2, 4792, ROCE_RX_NOT_ROCE},
    {"FRM-42: UDP length too long", V1, UDP_V4 + 4, 2, 0x20, ROCE_RX_DROP_UDP},
    {"FRM-42: UDP length too short", V1, UDP_V4 + 4, 2, 0x18, ROCE_RX_DROP_UDP},
    {"FRM-42: UDP length 0", V10, UDP_V6 + 4, 2, 0, ROCE_RX_DROP_UDP},
    {"FRM-43: a wrong checksum", V1, UDP_V4 + 6, 2, 0x1234, ROCE_RX_DROP_UDP},
    {"FRM-43: a wrong checksum over IPv6", V10, UDP_V6 + 6, 2, 0x1234, ROCE_RX_DROP_UDP},
    {"RX-4: an opcode with longer headers", V1, BTH_V4, 1, 0x13, ROCE_RX_DROP_SHORT},
    {"HDR-4: pad beyond the packet", V1, BTH_V4 + 1, 1, 0x70, ROCE_RX_DROP_SHORT},
    {"HDR-1: transport version 1", V2, BTH_V4 + 1, 1, 0x71, ROCE_RX_DROP_TVER},
    {"HDR-1: transport version 15", V2, BTH_V4 + 1, 1, 0x7f, ROCE_RX_DROP_TVER},
};

/* covers: CA17-3, CA17-7, CA17-8, CA17-10, CA17-20, CA17-21, CA17-23, CA17-24, CA17-27, CA17-39, CA17-41,
 * ROCE-FRM-2, ROCE-FRM-10, ROCE-FRM-11, ROCE-FRM-14, ROCE-FRM-16, ROCE-FRM-17, ROCE-FRM-19, ROCE-FRM-30,
 * ROCE-FRM-34, ROCE-FRM-35, ROCE-FRM-41, ROCE-FRM-42, ROCE-FRM-43, ROCE-FRM-55, ROCE-RX-1, ROCE-RX-2,
 * ROCE-RX-3, ROCE-RX-4, ROCE-RX-10, ROCE-RX-22, ROCE-VB-7, ROCE-HDR-1, ROCE-HDR-4 */
Test(packet, ROCE_RX_1_each_rule_broken_alone_has_its_verdict)
{
    for (size_t i = 0; i < array_len(violations); i++) {
        const struct violation *bad = &violations[i];
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t len = vector_frame(bad->base, -1, frame);
        uint16_t l3_length = get_be16(frame + L3 + 2);
        if (bad->bytes == 1)
            frame[bad->offset] = (uint8_t)bad->value;
        else
            put_be16(frame + bad->offset, bad->value);
        if (l3_length == get_be16(frame + L3 + 2) && bad->offset != L3 + 4)
            frame_reseal(frame, L3, bad->base->l3_kind);
        else
            put_be16(frame + L3 + 10, net_checksum_ipv4(frame + L3, 20));
        enum roce_rx_verdict verdict = judge(&pkt, frame, len, 0);
        cr_expect_eq(verdict, bad->expected, "%s: %s", bad->rule, roce_rx_verdict_words(verdict));
    }
}

/* covers: ROCE-RX-2, ROCE-FRM-20 */
Test(packet, ROCE_FRM_20_wrong_header_checksum)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V1, -1, frame);
    frame[L3 + 10] ^= 1;
    cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_IP);
}

/* covers: ROCE-FRM-42, ROCE-RX-3 */
Test(packet, ROCE_FRM_42_length_is_at_least_16_and_whole_words)
{
    for (uint16_t udp_payload = 0; udp_payload < 40; udp_payload++) {
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        vector_frame(&vectors[4], -1, frame);
        frame[BTH_V4] = ROCE_OP_SEND_MIDDLE; /* no headers but the BTH */
        put_be16(frame + UDP_V4 + 4, (uint16_t)(8 + udp_payload));
        put_be16(frame + L3 + 2, (uint16_t)(28 + udp_payload));
        if (udp_payload >= 16)
            frame_reseal(frame, L3, ROCE_L3_IPV4);
        else
            put_be16(frame + L3 + 10, net_checksum_ipv4(frame + L3, 20));
        enum roce_rx_verdict verdict = judge(&pkt, frame, BTH_V4 + udp_payload, 0);
        cr_expect_eq(verdict, udp_payload < 16 || udp_payload % 4 ? ROCE_RX_DROP_UDP : ROCE_RX_TAKEN,
                     "%u: %s", udp_payload, roce_rx_verdict_words(verdict));
    }
}

/* covers: ROCE-FRM-43 */
Test(packet, ROCE_FRM_43_a_right_udp_checksum_is_accepted)
{
    static const struct {
        const struct vector *v;
        size_t udp;
    } cases[] = {{V2, UDP_V4}, {V10, UDP_V6}};
    for (int i = 0; i < 2; i++) {
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t len = vector_frame(cases[i].v, -1, frame), udp = cases[i].udp;
        put_be16(frame + udp + 6, net_checksum_udp(frame + L3, frame + udp, len - udp));
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    }
}

/* covers: ROCE-FRM-23, CA17-7 */
Test(packet, ROCE_FRM_23_tolerant_profile_takes_df_clear)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V1, -1, frame);
    put_be16(frame + L3 + 6, 0);
    frame_reseal(frame, L3, ROCE_L3_IPV4);
    cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_IP);
    cr_expect_eq(judge(&pkt, frame, len, ROCE_PARSE_ALLOW_NO_DF), ROCE_RX_TAKEN);
    put_be16(frame + L3 + 6, 0x2000); /* more fragments: never */
    frame_reseal(frame, L3, ROCE_L3_IPV4);
    cr_expect_eq(judge(&pkt, frame, len, ROCE_PARSE_ALLOW_NO_DF), ROCE_RX_DROP_IP);
}

/* Moves what is behind the IP header back and puts `option_bytes` of `options` between. */
static size_t insert_options(uint8_t *frame, size_t len, size_t at, const uint8_t *options,
                             size_t option_bytes)
{
    memmove(frame + at + option_bytes, frame + at, len - at);
    memcpy(frame + at, options, option_bytes);
    return len + option_bytes;
}

/* covers: ROCE-FRM-11, CA17-3 */
Test(packet, ROCE_FRM_11_ipv4_options_are_dropped)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V1, -1, frame);
    len = insert_options(frame, len, UDP_V4, (const uint8_t[]){1, 1, 1, 0}, 4);
    frame[L3] = 0x46;
    put_be16(frame + L3 + 2, (uint16_t)(len - L3));
    put_be16(frame + L3 + 10, net_checksum_ipv4(frame + L3, 24));
    cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_IP);
}

/* covers: ROCE-FRM-35, CA17-16 */
Test(packet, ROCE_FRM_35_extension_headers_are_dropped)
{
    static const uint8_t kinds[] = {0, 43, 44, 60};
    for (size_t i = 0; i < sizeof kinds; i++) {
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t len = vector_frame(V10, -1, frame);
        len = insert_options(frame, len, UDP_V6, (const uint8_t[]){17, 0, 1, 4, 0, 0, 0, 0}, 8);
        frame[L3 + 6] = kinds[i];
        put_be16(frame + L3 + 4, (uint16_t)(len - UDP_V6));
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_IP, "%u", kinds[i]);
        frame[UDP_V6] = 58; /* ICMPv6 behind it: a packet of somebody else */
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_NOT_ROCE, "%u", kinds[i]);
        frame[UDP_V6] = kinds[i]; /* a chain that leads out of the frame */
        frame[UDP_V6 + 1] = 255;
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_NOT_ROCE, "%u", kinds[i]);
    }
}

/* covers: ROCE-RX-15, CA17-41 */
Test(packet, ROCE_RX_15_mapped_addresses_in_an_ipv6_header)
{
    for (size_t address = L3 + 8; address <= L3 + 24; address += 16) {
        uint8_t frame[VECTOR_MAX_BYTES];
        struct roce_pkt pkt;
        size_t len = vector_frame(V10, -1, frame);
        memcpy(frame + address, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1", 16);
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_ICRC, "the ICRC speaks first: ROCE-ICRC-7");
        frame_reseal(frame, L3, ROCE_L3_IPV6);
        cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_GID);
    }
}

/* covers: ROCE-ICRC-7, ROCE-RX-5 */
Test(packet, ROCE_RX_5_expected_and_found_are_reported)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V2, -1, frame);
    frame[len - 1] ^= 0x80;
    cr_expect_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_DROP_ICRC);
    cr_expect_eq(pkt.icrc_expected, get_le32(V2->icrc));
    cr_expect_eq(pkt.icrc_found, get_le32(frame + len - 4));
    cr_expect_eq(roce_pkt_parse(&pkt, frame, len, ROCE_PARSE_SKIP_ICRC), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.icrc_expected, get_le32(V2->icrc));
}

/* A reserved opcode is parsed without any length arithmetic: pad count and all, it is the responder's.
 * covers: ROCE-OPC-6, ROCE-RX-23 */
Test(packet, ROCE_OPC_6_reserved_opcode_is_taken_whole)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V2, -1, frame);
    frame[BTH_V4] = 0x15;
    frame_reseal(frame, L3, ROCE_L3_IPV4);
    cr_expect_eq(roce_pkt_parse(&pkt, frame, len, 0), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.op->flags, 0);
    cr_expect_eq(pkt.payload, frame + BTH_V4 + 12);
    cr_expect_eq(pkt.payload_bytes, 4);
}

Test(packet, verdicts_and_counters_have_distinct_names)
{
    for (int a = 0; a < ROCE_RX_VERDICT_COUNT; a++) {
        cr_expect(strlen(roce_rx_verdict_words((enum roce_rx_verdict)a)) > 0);
        for (int b = 0; b < a; b++) {
            cr_expect_str_neq(roce_rx_verdict_words((enum roce_rx_verdict)a),
                              roce_rx_verdict_words((enum roce_rx_verdict)b));
            cr_expect_str_neq(roce_verdict_counter_name((enum roce_rx_verdict)a),
                              roce_verdict_counter_name((enum roce_rx_verdict)b));
        }
    }
}
