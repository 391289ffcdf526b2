/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/wire.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "test/support/tiling.h"
#include "test/support/vectors.h"

static const struct net_header *const headers[] = {
    &roce_bth_header,       &roce_rdeth_header,   &roce_deth_header,         &roce_xrceth_header,
    &roce_reth_header,      &roce_aeth_header,    &roce_atomicacketh_header, &roce_immdt_header,
    &roce_atomiceth_header, &roce_masketh_header, &roce_ieth_header,         &roce_cnp_header,
    &roce_grh_header,       &roce_sacketh_header,
};
#define HEADER_COUNT array_len(headers)

/* covers: ROCE-HDR-10 */
Test(wire, every_header_is_tiled_by_its_fields)
{
    for (size_t i = 0; i < HEADER_COUNT; i++)
        test_header_tiles(headers[i]);
}

/* The lengths of ROCE sections 4.1 and 4.2; the SackETH is our own. */
Test(wire, headers_are_as_long_as_the_standard_says)
{
    static const uint16_t lengths[HEADER_COUNT] = {12, 4, 8, 4, 16, 4, 8, 4, 28, 16, 4, 16, 40, 12};
    for (size_t i = 0; i < HEADER_COUNT; i++)
        cr_expect_eq(headers[i]->len_bytes, lengths[i], "%s", headers[i]->name);
}

/* Every byte that is decoded is encoded again, whatever it is. */
#define EXPECT_ROUND_TRIP(prefix, bytes)                                   \
    do {                                                                   \
        uint8_t in[bytes], out[bytes];                                     \
        struct prefix h;                                                   \
        for (unsigned i = 0; i < (bytes); i++)                             \
            in[i] = (uint8_t)(0x5b + 0x8d * i);                            \
        memset(out, 0xa5, sizeof out);                                     \
        cr_expect_eq(prefix##_get(&h, in), in + (bytes), "%s", #prefix);   \
        cr_expect_eq(prefix##_put(out, &h), out + (bytes), "%s", #prefix); \
        cr_expect_arr_eq(in, out, sizeof in, "%s", #prefix);               \
    } while (0)

Test(wire, what_is_decoded_encodes_to_itself)
{
    EXPECT_ROUND_TRIP(roce_grh, ROCE_GRH_BYTES);
    EXPECT_ROUND_TRIP(roce_bth, ROCE_BTH_BYTES);
    EXPECT_ROUND_TRIP(roce_rdeth, ROCE_RDETH_BYTES);
    EXPECT_ROUND_TRIP(roce_deth, ROCE_DETH_BYTES);
    EXPECT_ROUND_TRIP(roce_xrceth, ROCE_XRCETH_BYTES);
    EXPECT_ROUND_TRIP(roce_reth, ROCE_RETH_BYTES);
    EXPECT_ROUND_TRIP(roce_atomiceth, ROCE_ATOMICETH_BYTES);
    EXPECT_ROUND_TRIP(roce_masketh, ROCE_MASKETH_BYTES);
    EXPECT_ROUND_TRIP(roce_sacketh, ROCE_SACKETH_BYTES);
    EXPECT_ROUND_TRIP(roce_aeth, ROCE_AETH_BYTES);
    EXPECT_ROUND_TRIP(roce_atomicacketh, ROCE_ATOMICACKETH_BYTES);
    EXPECT_ROUND_TRIP(roce_immdt, ROCE_IMMDT_BYTES);
    EXPECT_ROUND_TRIP(roce_ieth, ROCE_IETH_BYTES);
    EXPECT_ROUND_TRIP(roce_cnp, ROCE_CNP_BYTES);
}

/* covers: ROCE-HDR-3, ROCE-HDR-10 */
Test(wire, bth_fields_are_where_section_4_1_has_them)
{
    static const uint8_t bytes[ROCE_BTH_BYTES] = {0x04, 0xe0 | 0x05, 0x12, 0x34, 0x80 | 0x2a, 0xab,
                                                  0xcd, 0xef,        0x81, 0xff, 0xff,        0xfe};
    struct roce_bth bth;
    roce_bth_get(&bth, bytes);
    cr_expect_eq(bth.opcode, 0x04);
    cr_expect_eq(bth.se, 1);
    cr_expect_eq(bth.mig_req, 1);
    cr_expect_eq(bth.pad_count, 2);
    cr_expect_eq(bth.tver, 5);
    cr_expect_eq(bth.pkey, 0x1234);
    cr_expect_eq(bth.fecn, 1);
    cr_expect_eq(bth.becn, 0);
    cr_expect_eq(bth.resv6, 0x2a);
    cr_expect_eq(bth.dest_qpn, 0xabcdef);
    cr_expect_eq(bth.ack_req, 1);
    cr_expect_eq(bth.resv7, 1);
    cr_expect_eq(bth.psn, 0xfffffe);
}

/* Position of the transport headers of a vector, through its IP header. */
static const uint8_t *transport(const struct vector *v, uint8_t *buf)
{
    vector_datagram(v, buf);
    return buf + (v->l3_kind == ROCE_L3_IPV4 ? 28 : 48);
}

/* covers: ROCE-HDR-11, ROCE-HDR-12 */
Test(wire, ROCE_HDR_11_extended_headers_of_the_vectors)
{
    uint8_t buf[VECTOR_MAX_BYTES];
    struct roce_reth reth;
    roce_reth_get(&reth, transport(&vectors[4], buf) + ROCE_BTH_BYTES);
    cr_expect_eq(reth.va, UINT64_C(0x00007f0123456000));
    cr_expect_eq(reth.rkey, 0x00abcd01);
    cr_expect_eq(reth.dma_len, 1000);

    struct roce_atomiceth atomic;
    roce_atomiceth_get(&atomic, transport(&vectors[6], buf) + ROCE_BTH_BYTES);
    cr_expect_eq(atomic.va, UINT64_C(0x00007f0123456008));
    cr_expect_eq(atomic.swap_add, UINT64_C(0x1122334455667788));
    cr_expect_eq(atomic.compare, UINT64_C(0x99aabbccddeeff00));
    roce_atomiceth_get(&atomic, transport(&vectors[11], buf) + ROCE_BTH_BYTES);
    cr_expect_eq(atomic.swap_add, 1);
    cr_expect_eq(atomic.compare, 0);

    struct roce_deth deth;
    roce_deth_get(&deth, transport(&vectors[10], buf) + ROCE_BTH_BYTES);
    cr_expect_eq(deth.qkey, 0x11111111);
    cr_expect_eq(deth.src_qpn, 0x203);

    struct roce_immdt imm;
    roce_immdt_get(&imm, transport(&vectors[9], buf) + ROCE_BTH_BYTES);
    cr_expect_arr_eq(imm.imm_data, "\xca\xfe\xba\xbe", 4);

    struct roce_aeth aeth;
    roce_aeth_get(&aeth, transport(&vectors[8], buf) + ROCE_BTH_BYTES);
    cr_expect_eq(aeth.syndrome, ROCE_SYNDROME_NAK_PSN_SEQ);
    cr_expect_eq(aeth.msn, 5);
}

/* covers: ROCE-HDR-20 */
Test(wire, ROCE_HDR_20_kind_of_every_syndrome)
{
    for (unsigned s = 0; s < 256; s++) {
        enum roce_syndrome_kind expected = s < 0x20                ? ROCE_SYN_ACK
                                           : s < 0x40              ? ROCE_SYN_RNR
                                           : s >= 0x60 && s < 0x64 ? ROCE_SYN_NAK
                                                                   : ROCE_SYN_RESERVED;
        cr_expect_eq(roce_syndrome_kind((uint8_t)s), expected, "0x%02x", s);
        cr_expect_eq(strcmp(roce_syndrome_name(s), "reserved") == 0, expected == ROCE_SYN_RESERVED, "0x%02x",
                     s);
    }
    cr_expect_str_eq(roce_syndrome_name(0x1f), "ACK");
    cr_expect_str_eq(roce_syndrome_name(0x2c), "RNR NAK 0.64 ms");
    cr_expect_str_eq(roce_syndrome_name(0x60), "NAK PSN sequence error");
    cr_expect_str_eq(roce_syndrome_name(0x63), "NAK remote operational error");
}

/* Codes 4 and up alternate between 4 and 6 times a power of two; so do credits and RNR timers. */
static uint32_t four_or_six_times_power_of_two(unsigned code)
{
    return (code % 2 ? 6u : 4u) << (code - 4) / 2;
}

/* Code 0 is what code 32 would be.
 * covers: ROCE-HDR-22, ROCE-HDR-23 */
Test(wire, ROCE_HDR_22_rnr_timers_follow_their_formula)
{
    for (unsigned code = 0; code < 32; code++) {
        uint64_t units = code == 0  ? four_or_six_times_power_of_two(32)
                         : code < 4 ? code
                                    : four_or_six_times_power_of_two(code);
        cr_expect_eq(roce_rnr_timer_ns((uint8_t)code), units * 10000, "code %u", code);
        char words[32];
        snprintf(words, sizeof words, "RNR NAK %.2f ms", (double)units / 100);
        cr_expect_str_eq(roce_syndrome_name(ROCE_SYNDROME_RNR | code), words);
    }
    for (uint8_t code = 1; code < 32; code++)
        cr_expect_lt(roce_rnr_timer_ns(code), roce_rnr_timer_ns(0), "code 0 is the longest");
}

/* covers: ROCE-HDR-21 */
Test(wire, ROCE_HDR_21_credits_follow_their_formula)
{
    for (unsigned code = 0; code < 31; code++)
        cr_expect_eq(roce_credit_count((uint8_t)code), code < 4 ? code : four_or_six_times_power_of_two(code),
                     "code %u", code);
    cr_expect_eq(roce_credit_count(31), UINT32_MAX);
}

/* covers: ROCE-HDR-21 */
Test(wire, ROCE_HDR_21_encoder_rounds_down)
{
    for (uint32_t credits = 0; credits < 33000; credits++) {
        uint8_t code = roce_credit_code(credits);
        cr_assert_leq(roce_credit_count(code), credits, "%u", credits);
        cr_assert(code == 30 || roce_credit_count(code + 1) > credits, "%u", credits);
    }
    cr_expect_eq(roce_credit_code(UINT32_MAX), 30,
                 "31 means no credits at all: only who asks for it gets it");
}
