/* SPDX-License-Identifier: BSD-2-Clause */
/* RoCEv1 frames: ROCE section 2.5. The vector is V15 of section 3.1. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/wire/ether.h"
#include "roce/wire/frame.h"
#include "roce/packet.h"
#include "test/support/vectors.h"

#define V15  (&vectors[14])
#define L3   14
#define BTH  (L3 + 40)
#define BASE (ROCE_PARSE_V1)

/* The flow of the vector. */
static struct roce_path path_v1(void)
{
    return (struct roce_path){
        .v1 = true,
        .src_mac = {{2, 0, 0, 0, 0, 1}},
        .dst_mac = {{2, 0, 0, 0, 0, 2}},
        .vlan_tci = -1,
        .src = {{0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 1}},
        .dst = {{0xfe, 0x80, [8] = 2, 0, 0, 0xff, 0xfe, 0, 0, 2}},
        .traffic_class = 0x0a,
        .flow_label = 0xabcde,
        .hop_limit = 64,
        .src_port = 0xc123,
    };
}

/* Parses a copy that ends where the frame ends, so that a sanitizer sees every byte read beyond it. */
static enum roce_rx_verdict judge(struct roce_pkt *pkt, const uint8_t *frame, size_t len, unsigned flags)
{
    uint8_t *exact = malloc(len ? len : 1);
    memcpy(exact, frame, len);
    enum roce_rx_verdict verdict = roce_pkt_parse(pkt, exact, len, flags);
    free(exact);
    return verdict;
}

/* covers: ROCE-FRM-50, ROCE-FRM-51, ROCE-ICRC-4, ROCE-FRM-3 */
Test(v1, ROCE_FRM_50_the_vector_is_built_bit_for_bit)
{
    for (int tci = -1; tci < 0x7000; tci += 0x2003) {
        struct roce_path path = path_v1();
        struct roce_frame_template t;
        uint8_t expected[VECTOR_MAX_BYTES], built[VECTOR_MAX_BYTES];
        size_t expected_bytes = vector_frame(V15, tci, expected);
        path.vlan_tci = tci;
        roce_frame_template_init(&t, &path);
        uint32_t transport_bytes = (uint32_t)expected_bytes - t.len_bytes - ROCE_ICRC_BYTES;
        memset(built, 0xa5, sizeof built);
        uint8_t *bth = roce_frame_begin(&t, built, transport_bytes, 0x1234);
        cr_assert_eq(bth - built, (tci < 0 ? 14 : 18) + 40, "no UDP header");
        memcpy(bth, expected + t.len_bytes, transport_bytes);
        cr_assert_eq(roce_frame_seal(&t, built, transport_bytes), expected_bytes);
        cr_assert_arr_eq(built, expected, expected_bytes, "tag %d", tci);
    }
}

/* covers: ROCE-FRM-51 */
Test(v1, ROCE_FRM_51_the_packet_is_taken_apart)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    struct roce_path path = path_v1();
    size_t len = vector_frame(V15, 0x6005, frame);
    cr_assert_eq(roce_pkt_parse(&pkt, frame, len, BASE), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.l3_kind, ROCE_L3_GRH);
    cr_expect_eq(pkt.l3, frame + 18);
    cr_expect(nornic_addr_equal(&pkt.src, &path.src));
    cr_expect(nornic_addr_equal(&pkt.dst, &path.dst));
    cr_expect_eq(pkt.tclass, 0x0a);
    cr_expect_eq(pkt.hop_limit, 64);
    cr_expect_eq(pkt.src_port, 0);
    cr_expect_eq(pkt.vlan_tci, 0x6005);
    cr_expect_eq(pkt.bth.psn, 10);
    cr_expect_eq(pkt.payload_bytes, 1);
    cr_expect_eq(pkt.payload, frame + 18 + 40 + 12);
    memset(frame + len, 0xee, 40); /* Ethernet padding: ROCE-FRM-5 */
    cr_expect_eq(roce_pkt_parse(&pkt, frame, len + 40, BASE), ROCE_RX_TAKEN);
    cr_expect_eq(pkt.payload_bytes, 1);
}

/* covers: ROCE-FRM-55 */
Test(v1, ROCE_FRM_55_is_dropped_where_it_is_not_spoken)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V15, -1, frame);
    cr_expect_eq(judge(&pkt, frame, len, 0), ROCE_RX_DROP_L2);
    cr_expect_eq(judge(&pkt, frame, len, ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_SKIP_ICRC), ROCE_RX_DROP_L2);
}

/* covers: ROCE-GEN-7 */
Test(v1, truncated_at_every_length)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t whole = vector_frame(V15, 7, frame);
    for (size_t len = 0; len < whole; len++)
        cr_expect_eq(judge(&pkt, frame, len, BASE), len < 18 ? ROCE_RX_NOT_ROCE : ROCE_RX_DROP_IP, "%zu",
                     len);
}

/* One rule broken at a time, the ICRC made right again.
 * covers: ROCE-FRM-51, ROCE-RX-2, CA17-27 */
Test(v1, ROCE_FRM_51_each_rule_broken_alone)
{
    static const struct {
        const char *rule;
        size_t offset;
        uint8_t value;
        enum roce_rx_verdict expected;
    } cases[] = {
        {"version 5", L3, 0x50, ROCE_RX_DROP_IP},
        {"version 4", L3, 0x40, ROCE_RX_DROP_IP},
        {"next header UDP", L3 + 6, 17, ROCE_RX_DROP_IP},
        {"next header 0", L3 + 6, 0, ROCE_RX_DROP_IP},
        {"length beyond the frame", L3 + 5, 0x18, ROCE_RX_DROP_IP},
        {"length beyond the frame by far", L3 + 4, 0xff, ROCE_RX_DROP_IP},
        {"length without a payload's worth", L3 + 5, 0x0c, ROCE_RX_DROP_IP},
        {"length 0", L3 + 5, 0, ROCE_RX_DROP_IP},
        {"length not of words", L3 + 5, 0x13, ROCE_RX_DROP_IP},
        {"transport version", BTH + 1, 0x71, ROCE_RX_DROP_TVER},
        {"an opcode with longer headers", BTH, 0x13, ROCE_RX_DROP_SHORT},
        {"hop limit 0", L3 + 7, 0, ROCE_RX_TAKEN},
        {"traffic class CE", L3 + 1, 0x3a, ROCE_RX_TAKEN},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        uint8_t frame[VECTOR_MAX_BYTES] = {0};
        struct roce_pkt pkt;
        size_t len = vector_frame(V15, -1, frame);
        frame[cases[i].offset] = cases[i].value;
        if (cases[i].offset != L3 + 4 && cases[i].offset != L3 + 5)
            frame_reseal(frame, L3, ROCE_L3_GRH);
        enum roce_rx_verdict verdict = judge(&pkt, frame, len, BASE);
        cr_expect_eq(verdict, cases[i].expected, "%s: %s", cases[i].rule, roce_rx_verdict_words(verdict));
    }
}

/* What a router may change in a GRH passes, all else is dropped, bit by bit.
 * covers: ROCE-ICRC-4, ROCE-ICRC-5, ROCE-ICRC-7, CA17-22 */
Test(v1, ROCE_ICRC_4_every_flipped_bit_is_judged)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V15, -1, frame);
    for (size_t bit = 12 * 8; bit < len * 8; bit++) {
        uint8_t flipped[VECTOR_MAX_BYTES];
        size_t at = bit / 8;
        bool masked =
            (at == L3 && bit % 8 >= 4) || (at > L3 && at <= L3 + 3) || at == L3 + 7 || at == BTH + 4;
        memcpy(flipped, frame, len);
        flipped[at] ^= (uint8_t)(0x80 >> bit % 8);
        cr_expect_eq(judge(&pkt, flipped, len, BASE) == ROCE_RX_TAKEN, masked, "byte %zu bit %zu", at,
                     7 - bit % 8);
    }
}

/* A GRH bears any GID, those that stand for IPv4 addresses too. */
Test(v1, mapped_addresses_are_gids_like_others)
{
    uint8_t frame[VECTOR_MAX_BYTES];
    struct roce_pkt pkt;
    size_t len = vector_frame(V15, -1, frame);
    memcpy(frame + L3 + 24, "\0\0\0\0\0\0\0\0\0\0\xff\xff\xc0\0\2\1", 16);
    frame_reseal(frame, L3, ROCE_L3_GRH);
    cr_expect_eq(judge(&pkt, frame, len, BASE), ROCE_RX_TAKEN);
}

/* covers: ROCE-FRM-51, ROCE-FRM-6 */
Test(v1, ROCE_FRM_51_payload_length_at_every_size)
{
    static uint8_t frame[4300];
    for (uint32_t transport = 12; transport <= 12 + 16 + 4 + 4096; transport += transport < 200 ? 4 : 388) {
        struct roce_path path = path_v1();
        struct roce_frame_template t;
        struct roce_pkt pkt;
        roce_frame_template_init(&t, &path);
        memset(roce_frame_begin(&t, frame, transport, 7), 0, transport);
        uint32_t len = roce_frame_seal(&t, frame, transport);
        cr_expect_eq(len, 14 + 40 + transport + 4);
        cr_expect_eq(get_be16(frame + L3 + 4), transport + 4);
        cr_expect_eq(judge(&pkt, frame, len, BASE), ROCE_RX_TAKEN);
        cr_expect_eq(pkt.payload_bytes, transport - 12);
    }
}

/* A second opinion on the layout; on the ICRC of RoCEv1 there is none (ROCE-OPEN-3).
 * covers: ROCE-FRM-51 */
Test(v1, tshark_reads_the_same, .timeout = 60)
{
    if (system("command -v tshark >/dev/null 2>&1") != 0)
        cr_skip("tshark is not installed");
    static const uint8_t pcap_header[] = {0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0,
                                          0,    0,    0,    0,    0, 0, 1, 0, 1, 0, 0, 0};
    uint8_t frame[VECTOR_MAX_BYTES], record[16] = {0};
    char command[600], line[300] = "", path[] = "/tmp/nornic-v1-XXXXXX";
    size_t len = vector_frame(V15, -1, frame);
    record[8] = record[12] = (uint8_t)len;
    int fd = mkstemp(path);
    cr_assert_geq(fd, 0);
    FILE *f = fdopen(fd, "w");
    fwrite(pcap_header, 1, sizeof pcap_header, f);
    fwrite(record, 1, sizeof record, f);
    fwrite(frame, 1, len, f);
    cr_assert_eq(fclose(f), 0);
    snprintf(command, sizeof command,
             "tshark -r %s -T fields -E separator=, -e infiniband.grh.ipver -e infiniband.grh.tclass"
             " -e infiniband.grh.flowlabel -e infiniband.grh.paylen -e infiniband.grh.nxthdr"
             " -e infiniband.grh.hoplmt -e infiniband.grh.sgid -e infiniband.grh.dgid"
             " -e infiniband.bth.opcode -e infiniband.bth.psn 2>/dev/null",
             path);
    FILE *pipe = popen(command, "r");
    cr_assert_not_null(pipe);
    char *read = fgets(line, sizeof line, pipe);
    cr_assert_eq(pclose(pipe), 0);
    unlink(path);
    cr_assert_not_null(read);
    cr_assert_str_eq(line, "6,10,703710,20,27,64,fe80::200:ff:fe00:1,fe80::200:ff:fe00:2,4,10\n",
                     "0xabcde is 703710");
}
