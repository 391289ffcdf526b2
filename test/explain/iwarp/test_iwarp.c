/* SPDX-License-Identifier: BSD-2-Clause */
/* What explain says of iWARP: messages in words, cuts of the stream. What breaks a rule is in
 * test_rules.c. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <malloc.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/json.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/wire/wire.h"
#include "test/explain/iwarp_reel.h"
#include "test/explain/json_packet.h"
#include "test/support/random.h"

#define TCP_ACK 0x10

static struct iwarp_reel reel;

/* --- words --- */

Test(iwarp, each_frame_in_words)
{
    static const struct {
        unsigned side;
        enum iwarp_example_name name;
        const char *words;
    } scenes[] = {
        {0, IWARP_EX_REQUEST_2,
         "MPA Request, revision 2: CRC, no markers, IRD 16, ORD 8, peer-to-peer with RTR by Write "
         "or Read, 4 bytes of"},
        {1, IWARP_EX_REPLY_2,
         "MPA Reply, revision 2: CRC, no markers, IRD 8, ORD 16, peer-to-peer with RTR by Write"},
        {0, IWARP_EX_RTR_WRITE, "RTR: an empty RDMA Write"},
        {0, IWARP_EX_SEND, "Send only, message 2 (MSN 1): 5 bytes"},
        {0, IWARP_EX_SEND_INV,
         "Send with Invalidate only, message 3 (MSN 2): 4 bytes; STag 0x00012301 is to be inv"},
        {0, IWARP_EX_SEND_SE, "Send with SE only, message 4 (MSN 3): 1 bytes"},
        {0, IWARP_EX_SEND_SE_INV, "Send with SE and Invalidate only, message 5 (MSN 4): 0 bytes"},
        {0, IWARP_EX_IMM, "Immediate Data, message 6 (MSN 5): 0x0102030405060708"},
        {0, IWARP_EX_IMM_SE, "Immediate Data with SE, message 7 (MSN 6): 0x1122334400000000"},
        {0, IWARP_EX_WRITE, "RDMA Write only, message 8: 5 bytes to STag 0x00abcd01, TO 0x1000"},
        {0, IWARP_EX_READ_REQUEST,
         "RDMA Read Request, message 9 (MSN 1): 8 bytes from STag 0x00abcd01, TO 0x1000 to STag "
         "0x00112201, TO 0x7f"},
        {1, IWARP_EX_READ_RESPONSE,
         "RDMA Read Response only, message 1: 8 bytes, for #13 (MSN 1) 1.000 ms before"},
        {0, IWARP_EX_FETCH_ADD, "FetchAdd, message 10 (MSN 2): 0x1 at STag 0x00abcd01, TO 0x1008"},
        {1, IWARP_EX_ATOMIC_RESPONSE, "Atomic Response, message 2 (MSN 1): it was 0x29, for #15 (MSN 2)"},
        {0, IWARP_EX_CMP_SWAP,
         "CmpSwap, message 11 (MSN 3): 0x64 at STag 0x00abcd01, TO 0x1008 if it is 0x2a"},
        {0, IWARP_EX_SWAP, "Swap, message 12 (MSN 4): 0x7 at STag"},
        {1, IWARP_EX_TERM_UNTAGGED,
         "Terminate: 1/2/02 DDP, untagged buffer error, invalid MSN: no buffer available; refused: "
         "Send, MSN 1"},
    };
    reel_begin(&reel);
    reel_open(&reel);
    for (unsigned i = 0; i < array_len(scenes); i++) {
        reel_example(&reel, scenes[i].side, scenes[i].name);
        cr_assert_eq(reel.p.kind, EXPLAIN_IWARP, "%s", scenes[i].words);
        reel_expect_words(&reel, scenes[i].words);
    }
    cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], array_len(scenes) - 2);
    cr_assert_eq(reel_errors(&reel), 0);
    reel_end(&reel);
}

Test(iwarp, headers_are_layers_and_json_names_them)
{
    struct explain_text out = {0};
    reel_begin(&reel);
    reel_open(&reel);
    reel_example(&reel, 0, IWARP_EX_REQUEST_1);
    reel_example(&reel, 1, IWARP_EX_REPLY_1);
    reel_example(&reel, 0, IWARP_EX_SEND);
    json_packet(&out, &reel.p, &reel.m);
    static const char *const parts[] = {
        "\"kind\":\"iwarp\"",
        "\"mpa\":{\"ulpdu_len\":23}",
        "\"ddp\":{\"t\":0,\"l\":1,\"resv4\":0,\"dv\":1,\"rv\":1,\"resv2\":0,\"opcode\":3}",
        "\"ddp_untagged\":{\"inv_stag\":0,\"qn\":0,\"msn\":1,\"mo\":0}",
        "\"mpa_crc\":{\"crc\":\"b990b10c\"}",
        "\"iwarp\":{\"connection\":1,\"sender\":\"initiator\",\"from\":24,\"fpdu_count\":1,",
        "\"fpdus\":[{\"at\":24,\"ulpdu_len\":23,",
        "\"crc\":\"good\",\"opcode\":3,\"tagged\":false,\"last\":true,\"msn\":1,\"message\":1}]}",
    };
    for (unsigned i = 0; i < array_len(parts); i++)
        cr_expect(strstr(out.bytes, parts[i]), "%s is not in %s", parts[i], out.bytes);
    cr_expect_eq(reel.p.payload_bytes, 5);
    cr_expect_eq(memcmp(reel.p.frame + reel.p.payload_offset, "hello", 5), 0);
    explain_text_free(&out);
    reel_end(&reel);
}

Test(iwarp, terminate_is_read_both_ways)
{
    static const uint8_t read_wrong[] = {0x10, 0x00, 0x07,
                                         0x00}; /* what siw writes for 0/1/00 with M, D and R */
    uint8_t term[IWARP_TERM_MAX_BYTES], ulpdu[128];
    reel_begin_full(&reel);
    reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, 1, 100));
    memcpy(term, read_wrong, sizeof read_wrong);
    term[4] = term[5] = 0;
    memcpy(term + 6, ulpdu, IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES);
    reel_ulpdu(&reel, 1, ulpdu, reel_untagged(ulpdu, IWARP_OP_TERMINATE, true, 2, 1, 0, term, sizeof term));
    reel_expect_words(&reel,
                      "Terminate: 0/1/00 RDMAP, remote protection error, invalid STag, as siw means it");
    reel_expect_finding(&reel, EXPLAIN_FIND_IWARP_TERMINATE, "IWARP-RDMAP-29");
    const struct explain_finding *found = reel_finding(&reel, EXPLAIN_FIND_IWARP_TERMINATE);
    cr_assert(strstr(found->words, "as RFC 5040 reads it 1/0/00 DDP, local catastrophic error"), "%s",
              found->words);
    cr_assert_eq(found->related, 5, "the Read that is brought back");
    reel_end(&reel);
}

/* --- the stream, in any pieces --- */

/* Both sides of a conversation with markers, as bytes: Sends, Writes of many sizes, Reads with their
 * Responses. */
struct talk {
    uint8_t bytes[2][40000];
    uint32_t len[2];
    uint32_t begins[2][50]; /* of FPDUs, in `bytes` */
    unsigned count[2], fpdus;
};

static void add(struct talk *t, unsigned side, const uint8_t *ulpdu, uint32_t n)
{
    t->begins[side][t->count[side]++] = t->len[side];
    t->len[side] += reel_put_fpdu(&reel, side, ulpdu, n, t->bytes[side] + t->len[side]);
    t->begins[side][t->count[side]] = t->len[side];
    t->fpdus++;
    cr_assert_leq(t->len[side] + 4000, sizeof t->bytes[side]);
}

static void write_talk(struct talk *t)
{
    static uint8_t ulpdu[4000];
    uint64_t to = 0x1000;
    *t = (struct talk){0};
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < 14; i++) {
            uint32_t n = 97 * i;
            add(t, side, ulpdu, reel_tagged(ulpdu, IWARP_OP_WRITE, false, 5, to, n));
            add(t, side, ulpdu, reel_tagged(ulpdu, IWARP_OP_WRITE, true, 5, to + n, 3 * i));
            add(t, side, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, i + 1, 0, ulpdu, i));
        }
}

Test(iwarp, any_cut_of_a_stream_gives_the_same)
{
    static struct talk talk;
    for (uint32_t cut = 1; cut < 1400; cut += 3) {
        reel_begin(&reel);
        reel.has_markers[0] = reel.has_markers[1] = true;
        reel_open(&reel);
        reel_set_up(&reel);
        write_talk(&talk);
        for (unsigned side = 0; side < 2; side++)
            for (uint32_t at = 0; at < talk.len[side]; at += cut)
                reel_send(&reel, side, talk.bytes[side] + at, min_u32(cut, talk.len[side] - at));
        cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], talk.fpdus, "cut every %u bytes: %u of %u", cut,
                     reel.crcs[EXPLAIN_CRC_GOOD], talk.fpdus);
        cr_assert_eq(reel_errors(&reel), 0, "cut every %u bytes: %s", cut, reel.m.words);
        reel_end(&reel);
    }
}

/* Segments lost, sent again in other pieces, and out of order: TCP's doing, and no message of RDMAP is
 * twice. */
Test(iwarp, what_tcp_repairs_is_no_violation)
{
    static struct talk talk;
    unsigned again = 0, ahead = 0;
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct test_random rnd = {.state = seed};
        reel_begin(&reel);
        reel.has_markers[0] = seed & 1;
        reel_open(&reel);
        reel_set_up(&reel);
        write_talk(&talk);
        uint32_t first = reel.seq[0], order[200], count = 0;
        for (uint32_t at = 0; at < talk.len[0]; at += 400)
            order[count++] = at;
        for (uint32_t i = 0; i < count; i++) {
            uint32_t with = i + test_random_below(&rnd, min_u32(4, count - i)), at = order[with];
            order[with] = order[i];
            for (unsigned times = test_random_below(&rnd, 5) ? 1 : 2; times; times--)
                reel_segment(&reel, 0, first + at, TCP_ACK, talk.bytes[0] + at,
                             min_u32(400 + test_random_below(&rnd, 300), talk.len[0] - at));
        }
        cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], talk.fpdus / 2, "seed %" PRIu64, seed);
        cr_assert_eq(reel_errors(&reel), 0, "seed %" PRIu64, seed);
        again += reel.found[EXPLAIN_FIND_TCP_AGAIN];
        ahead += reel.found[EXPLAIN_FIND_TCP_AHEAD];
        cr_assert_eq(explain_analysis_iwarp_conn(reel.analysis, 1)->messages[0], talk.fpdus / 2 - 14);
        reel_end(&reel);
    }
    cr_assert(again && ahead);
}

Test(iwarp, sent_again_is_told_apart)
{
    uint8_t ulpdu[64], fpdu[100];
    reel_begin_full(&reel);
    uint32_t n =
        reel_put_fpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 1, 0, ulpdu, 20), fpdu);
    uint32_t seq = reel.seq[0];
    reel_send(&reel, 0, fpdu, n);
    reel_segment(&reel, 0, seq, TCP_ACK, fpdu, n);
    reel_expect_words(&reel, "TCP sends 44 bytes that #5 brought once more: RDMAP sees nothing of it");
    reel_expect_finding(&reel, EXPLAIN_FIND_TCP_AGAIN, "");
    cr_assert_eq(reel.fpdus, 1);
    reel_end(&reel);
}

/* What the other end has, and the capture lacks, breaks no rule; the next FPDUs are found by their places. */
Test(iwarp, hole_of_the_capture)
{
    uint8_t ulpdu[1200];
    reel_begin_full(&reel);
    for (uint32_t msn = 1; msn <= 9; msn++) {
        reel.is_off_air = msn == 4 || msn == 5;
        reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 1000));
        reel.is_off_air = false;
        reel_ack(&reel, 1);
    }
    cr_assert_eq(reel.found[EXPLAIN_FIND_IWARP_GAP], 1);
    cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], 7);
    cr_assert_eq(reel_errors(&reel), 0);
    cr_assert_eq(explain_analysis_iwarp_conn(reel.analysis, 1)->lost_bytes[0], 2 * 1024);
    reel_end(&reel);
}

/* A hole within an FPDU of several segments; what came behind it waits for it, and is read once the other end
 * has said that it is no loss. */
Test(iwarp, hole_within_an_fpdu)
{
    static uint8_t ulpdu[3100], fpdu[3200];
    reel_begin_full(&reel);
    for (uint32_t msn = 1; msn <= 6; msn++) {
        uint32_t n = reel_put_fpdu(&reel, 0, ulpdu,
                                   reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 3000), fpdu);
        for (uint32_t at = 0; at < n; at += 1000) {
            reel.is_off_air = msn == 2 && at == 1000;
            reel_send(&reel, 0, fpdu + at, min_u32(1000, n - at));
            reel.is_off_air = false;
        }
        if (msn == 5) /* three whole ones wait */
            reel_ack(&reel, 1);
    }
    cr_assert_eq(reel.found[EXPLAIN_FIND_IWARP_GAP], 1);
    cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], 5, "%u", reel.crcs[EXPLAIN_CRC_GOOD]);
    cr_assert_eq(reel_errors(&reel), 0);
    cr_assert_eq(explain_analysis_iwarp_conn(reel.analysis, 1)->lost_bytes[0], 1000);
    reel_end(&reel);
}

/* Of a stream with markers these say where the next FPDU begins, wherever segments do. */
Test(iwarp, IWARP_MARK_03_markers_lead_out_of_a_hole)
{
    static struct talk talk;
    for (uint32_t cut = 100; cut < 1400; cut += 7) {
        reel_begin(&reel);
        reel.has_markers[0] = true;
        reel_open(&reel);
        reel_set_up(&reel);
        write_talk(&talk);
        for (uint32_t at = 0, i = 0; at < talk.len[0]; at += cut, i++) {
            reel.is_off_air = i == 3;
            reel_send(&reel, 0, talk.bytes[0] + at, min_u32(cut, talk.len[0] - at));
            reel.is_off_air = false;
            reel_ack(&reel, 1);
        }
        unsigned least =
            0; /* those before the hole, and those behind it from the first one with a marker on */
        bool is_found = false;
        for (unsigned i = 0; i < talk.count[0]; i++) {
            uint32_t begin = talk.begins[0][i], end = talk.begins[0][i + 1];
            is_found |= begin >= 4 * cut && (begin + 511) / 512 < (end + 511) / 512;
            least += is_found || end <= 3 * cut;
        }
        cr_assert_eq(reel.crcs[EXPLAIN_CRC_GOOD], least, "cut every %u bytes: %u of %u", cut,
                     reel.crcs[EXPLAIN_CRC_GOOD], least);
        cr_assert_eq(reel_errors(&reel), 0, "cut every %u bytes: %s", cut, reel.m.words);
        reel_end(&reel);
    }
}

/* A frame that never becomes whole keeps no memory, whatever comes behind it. */
Test(iwarp, frame_with_a_hole)
{
    for (uint32_t n = 1; n < 20; n += 6) {
        uint8_t frame[IWARP_EXAMPLE_MAX_BYTES], ulpdu[64];
        reel_begin(&reel);
        size_t before = mallinfo2().uordblks;
        reel_open(&reel);
        iwarp_example_bytes(IWARP_EX_REQUEST_1, frame);
        reel_send(&reel, 0, frame, n);
        for (unsigned i = 0; i < 50000; i++) {
            reel.seq[0]++;
            reel_send(&reel, 0, &(uint8_t){1}, 1);
        }
        cr_assert_eq(reel.fpdus, 0);
        reel_ack(&reel, 1);
        reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 1, 0, ulpdu, 20));
        cr_assert_eq(reel.fpdus, 1, "%u bytes of the frame: what comes long behind it is found", n);
        cr_assert_lt(mallinfo2().uordblks - before, 1 << 20, "%u bytes of the frame", n);
        reel_end(&reel);
    }
}

/* A frame whose end the capture cut: what follows is found all the same. */
Test(iwarp, frame_that_is_cut)
{
    uint8_t ulpdu[64];
    for (uint32_t cut = 54; cut < 82; cut++) {
        reel_begin(&reel);
        reel_open(&reel);
        reel.snap_bytes = cut;
        reel_set_up(&reel);
        reel.snap_bytes = 0;
        for (uint32_t msn = 1; msn < 4; msn++)
            reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 20));
        cr_assert_eq(reel.fpdus, 3, "cut behind %u bytes: %u", cut, reel.fpdus);
        cr_assert_eq(reel_errors(&reel), 0);
        reel_end(&reel);
    }
}

Test(iwarp, older_than_the_capture)
{
    uint8_t ulpdu[64];
    for (unsigned has_crc = 0; has_crc < 2; has_crc++) {
        reel_begin(&reel);
        reel.has_no_crc = !has_crc;
        reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, 77, 0, ulpdu, 20));
        reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 30));
        cr_assert_eq(reel.p.kind, has_crc ? EXPLAIN_IWARP : EXPLAIN_OTHER,
                     "a good CRC proves it, nothing else");
        cr_assert_eq(reel.fpdus, has_crc ? 2 : 0);
        cr_assert_eq(reel_errors(&reel), 0);
        cr_assert_eq(reel.found[EXPLAIN_FIND_IWARP_OLDER], has_crc);
        if (has_crc)
            cr_assert(explain_analysis_iwarp_conn(reel.analysis, 1)->is_older);
        reel_end(&reel);
    }
}

Test(iwarp, cut_by_a_snap_length)
{
    uint8_t ulpdu[1200];
    reel_begin_full(&reel);
    reel.snap_bytes = 96;
    for (uint32_t msn = 1; msn <= 4; msn++)
        reel_ulpdu(&reel, 0, ulpdu, reel_untagged(ulpdu, IWARP_OP_SEND, true, 0, msn, 0, ulpdu, 1000));
    reel_expect_words(&reel, "Send only, message 4 (MSN 4): 1000 bytes");
    cr_assert_eq(reel.crcs[EXPLAIN_CRC_UNSEEN], 4);
    cr_assert_eq(reel_errors(&reel), 0);
    reel_end(&reel);
}

/* What is asked for stands behind the cut: nothing is said of what answers it. */
Test(iwarp, a_request_that_a_snap_length_cuts_has_its_answer)
{
    uint8_t ulpdu[100];
    reel_begin_full(&reel);
    reel.snap_bytes = 96;
    reel_ulpdu(&reel, 0, ulpdu, reel_read(ulpdu, 1, 8));
    reel_expect_words(&reel, "RDMA Read Request without its header");
    reel_ulpdu(&reel, 1, ulpdu, reel_tagged(ulpdu, IWARP_OP_READ_RESPONSE, true, 9, 0x900, 8));
    cr_assert_eq(reel_errors(&reel), 0);
    cr_assert(strstr(reel.m.words, "for a request that this capture does not show"), "%s", reel.m.words);
    reel_end(&reel);
}

Test(iwarp, other_tcp_is_left_alone)
{
    reel_begin(&reel);
    reel_open(&reel);
    reel_send(&reel, 0, (const uint8_t *)"GET / HTTP/1.1\r\nHost: a\r\n", 25);
    cr_assert_eq(reel.p.kind, EXPLAIN_OTHER);
    reel_example(&reel, 0, IWARP_EX_REQUEST_1); /* not at the beginning */
    cr_assert_eq(reel.p.kind, EXPLAIN_IWARP, "a connection that nothing is known of may begin here");
    reel_end(&reel);
}

Test(iwarp, the_longest_silent_is_forgotten)
{
    reel_begin(&reel);
    explain_analysis_destroy(reel.analysis);
    reel.analysis = explain_analysis_create(&(struct explain_analysis_config){.max_flow_bytes = 100000});
    for (unsigned i = 0; i < 100; i++) {
        reel.port++;
        reel_open(&reel);
        reel_set_up(&reel);
    }
    cr_assert_eq(explain_analysis_iwarp_conn_count(reel.analysis), 100);
    cr_assert_gt(explain_analysis_iwarp_forgotten(reel.analysis), 0);
    cr_assert_null(explain_analysis_iwarp_conn(reel.analysis, 1));
    cr_assert(explain_analysis_iwarp_conn(reel.analysis, 100));
    reel_end(&reel);
}
