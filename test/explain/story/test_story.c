/* SPDX-License-Identifier: BSD-2-Clause */
/* What single packets mean among those before them, in captures of a few packets that are made here. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "test/explain/story.h"

static void expect_words(const struct story *s, const char *words)
{
    cr_expect_str_eq(s->m.words, words);
}

/* --- sent again --- */

Test(story, what_is_sent_again_keeps_its_name_and_its_message)
{
    static const struct {
        uint8_t op;
        uint32_t bytes, dma_len;
        const char *name;
    } rows[] = {{ROCE_OP_SEND_ONLY, 8, 0, "SEND only"},
                {ROCE_OP_SEND_ONLY_IMM, 8, 0, "SEND with immediate only"},
                {ROCE_OP_SEND_ONLY_INV, 8, 0, "SEND with invalidate only"},
                {ROCE_OP_WRITE_ONLY_IMM, 8, 8, "RDMA WRITE with immediate only"},
                {ROCE_OP_READ_REQUEST, 0, 8, "RDMA READ request"},
                {ROCE_OP_CMP_SWAP, 0, 0, "RC CMP_SWAP"},
                {ROCE_OP_FETCH_ADD, 0, 0, "RC FETCH_ADD"}};
    for (unsigned i = 0; i < array_len(rows); i++) {
        struct story s;
        char words[120];
        story_begin(&s);
        story_request(&s, ROCE_OP_SEND_ONLY, 9, 8, 0);
        story_request(&s, rows[i].op, 10, rows[i].bytes, rows[i].dma_len);
        s.time_ns += 100 * NS_PER_MS;
        story_request(&s, rows[i].op, 10, rows[i].bytes, rows[i].dma_len);
        snprintf(words, sizeof words, "%s, message 2, ", rows[i].name);
        cr_expect_eq(strncmp(s.m.words, words, strlen(words)), 0, "%s", s.m.words);
        cr_expect_not_null(
            strstr(s.m.words, ", sent again (before: #2; probably its timer, after 100.0 ms of silence)"),
            "%s", s.m.words);
        story_end(&s);
    }
}

Test(story, a_piece_that_is_sent_again_says_which_it_is)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_WRITE_FIRST, 10, 1024, 2048);
    story_request(&s, ROCE_OP_WRITE_LAST_IMM, 11, 1024, 0);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 0, 0);
    s.has_id = true; /* the next after that of #2: nothing that was sent between is missing */
    s.ip_id = STORY_IP_ID(3);
    story_request(&s, ROCE_OP_WRITE_LAST_IMM, 11, 1024, 0);
    expect_words(&s, "RDMA WRITE with immediate last 2 of message 1, 2048 bytes, "
                     "sent again (before: #2; NAK #3 asks for it)");
    cr_expect_eq(s.m.message, 1);
    cr_expect_eq(s.m.bytes_done, 2048);
    story_end(&s);
}

Test(story, a_piece_of_nobody_knows_what_has_no_number)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_SEND_ONLY, 100, 8, 0);
    story_request(&s, ROCE_OP_SEND_ONLY, 110, 8, 0);
    story_request(&s, ROCE_OP_SEND_MIDDLE, 105, 1024, 0);
    cr_expect_eq(strncmp(s.m.words, "SEND middle of a message that is not known yet, 1024 bytes", 58), 0,
                 "%s", s.m.words);
    story_end(&s);
}

/* A packet that left before it is not in the capture: that may be the one with which the sender went back. */
Test(story, what_asks_for_it_is_likely_where_the_packet_before_is_missing)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_WRITE_FIRST, 10, 1024, 2048);
    story_request(&s, ROCE_OP_WRITE_LAST_IMM, 11, 1024, 0);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 0, 0);
    s.has_id = true;
    s.ip_id = STORY_IP_ID(4);
    story_request(&s, ROCE_OP_WRITE_LAST_IMM, 11, 1024, 0);
    expect_words(&s, "RDMA WRITE with immediate last 2 of message 1, 2048 bytes, "
                     "sent again (before: #2; probably NAK #3 asks for it)");
    story_end(&s);
}

/* --- answers --- */

/* The requester ignores it (ROCE-HDR-20), so it ends nothing: what follows is answered as before. */
Test(story, a_reserved_syndrome_is_no_nak)
{
    static const uint8_t reserved[] = {0x40, 0x5f, 0x64, 0x7f, 0x80, 0xff};
    for (unsigned i = 0; i < array_len(reserved); i++) {
        struct story s;
        struct explain_finding left[4];
        story_begin(&s);
        story_request(&s, ROCE_OP_SEND_ONLY, 10, 8, 0);
        story_answer(&s, ROCE_OP_ACK, 10, reserved[i], 1, 0);
        cr_expect_eq(s.m.remark_count, 0, "0x%02x: %s", reserved[i], s.m.remarks[0].words);
        cr_expect_not_null(strstr(s.m.words, "ignored"), "%s", s.m.words);
        cr_expect_eq(explain_analysis_flow(s.analysis, 1)->naks[1], 0);
        s.time_ns += NS_PER_S;
        story_answer(&s, ROCE_OP_ACK, 9, ROCE_SYNDROME_ACK_UNLIMITED, 1, 0);
        cr_expect_eq(explain_analysis_end(s.analysis, left, 4), 1, "the SEND has no answer yet");
        story_end(&s);
    }
}

/* --- captures with a snap length --- */

/* Tells of writes, reads and atomics, cut at `snap_bytes`, and collects the words and the notes that it was
 * cut. */
static void tell(uint32_t snap_bytes, char *all, size_t size, unsigned *cuts)
{
    struct story s;
    story_begin(&s);
    s.snap_bytes = snap_bytes;
    all[0] = '\0';
    *cuts = 0;
    for (unsigned i = 0; i < 8; i++) {
        switch (i) {
        case 0:
            story_request(&s, ROCE_OP_WRITE_FIRST, 10, 1024, 3000);
            break;
        case 1:
            story_request(&s, ROCE_OP_WRITE_MIDDLE, 11, 1024, 0);
            break;
        case 2:
            story_request(&s, ROCE_OP_WRITE_LAST, 12, 952, 0);
            break;
        case 3:
            story_answer(&s, ROCE_OP_ACK, 12, ROCE_SYNDROME_ACK_UNLIMITED, 1, 0);
            break;
        case 4:
            story_request(&s, ROCE_OP_READ_REQUEST, 13, 0, 1025);
            break;
        case 5:
            story_answer(&s, ROCE_OP_READ_RESP_FIRST, 13, ROCE_SYNDROME_ACK_UNLIMITED, 2, 1024);
            break;
        case 6:
            story_answer(&s, ROCE_OP_READ_RESP_LAST, 14, ROCE_SYNDROME_ACK_UNLIMITED, 2, 1);
            break;
        case 7:
            story_request(&s, ROCE_OP_SEND_ONLY, 15, 4096, 0);
            break;
        }
        *cuts += story_has(&s, EXPLAIN_FIND_CUT);
        cr_expect_eq(s.m.remark_count, story_has(&s, EXPLAIN_FIND_CUT), "%u: %s", i, s.m.words);
        cr_expect_eq(explain_has_icrc(&s.p), !story_has(&s, EXPLAIN_FIND_CUT));
        cr_expect_leq(s.p.payload_offset + s.p.payload_bytes, s.p.len_bytes);
        size_t used = strlen(all);
        snprintf(all + used, size - used, "%s\n", s.m.words);
    }
    story_end(&s);
}

Test(story, a_snap_length_behind_the_headers_changes_nothing_that_is_said)
{
    static const uint32_t snap_lengths[] = {74, 96, 128, 256, 1000};
    char whole[2000], cut[2000];
    unsigned cuts;
    tell(0, whole, sizeof whole, &cuts);
    cr_expect_eq(cuts, 0);
    for (unsigned i = 0; i < array_len(snap_lengths); i++) {
        tell(snap_lengths[i], cut, sizeof cut, &cuts);
        cr_expect_str_eq(cut, whole, "cut at %u", snap_lengths[i]);
        cr_expect_eq(cuts, 5, "cut at %u", snap_lengths[i]);
    }
}

Test(story, a_packet_that_is_cut_within_its_headers_is_not_guessed_at)
{
    struct story s;
    for (uint32_t snap_bytes = 14; snap_bytes < 70; snap_bytes++) {
        story_begin(&s);
        s.snap_bytes = snap_bytes;
        story_request(&s, ROCE_OP_WRITE_FIRST, 10, 1024, 3000);
        cr_expect(!s.p.cut.is_end, "%u", snap_bytes);
        if (s.p.kind == EXPLAIN_ROCE) {
            cr_expect(story_has(&s, EXPLAIN_FIND_CUT), "%u", snap_bytes);
            expect_words(&s, "cut within its headers");
        }
        story_end(&s);
    }
}

Test(story, a_broken_header_stays_broken_in_a_cut_packet)
{
    struct story s;
    story_begin(&s);
    s.snap_bytes = 96;
    story_request(&s, ROCE_OP_WRITE_FIRST, 10, 1024, 3000);
    cr_expect(s.p.cut.is_end);
    s.frame[14 + 8]++; /* TTL: the header checksum does not fit */
    explain_dissect(
        &s.p, &(struct net_capture_record){.data = s.frame, .len_bytes = 96, .wire_bytes = s.len_bytes}, 2);
    cr_expect(!s.p.cut.is_end);
    cr_expect_eq(s.p.verdict, ROCE_RX_DROP_IP);
    story_end(&s);
}

/* Offset of the checksum in the IPv4 header behind Ethernet. */
#define CHECKSUM (14 + 10)

static void take_again(struct story *s)
{
    explain_dissect(
        &s->p,
        &(struct net_capture_record){.data = s->frame, .len_bytes = s->len_bytes, .wire_bytes = s->len_bytes},
        2);
    explain_analysis_next(s->analysis, &s->p, &s->m);
}

Test(story, an_ip_checksum_of_zero_was_not_filled_in_yet)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_SEND_ONLY, 10, 8, 0);
    cr_assert_eq(s.p.verdict, ROCE_RX_TAKEN);
    s.frame[CHECKSUM] = s.frame[CHECKSUM + 1] = 0;
    take_again(&s);
    cr_expect_eq(s.p.verdict, ROCE_RX_TAKEN);
    cr_expect(s.p.checksum.is_ip_absent);
    cr_expect_eq(s.p.roce.payload, s.frame + 14 + 20 + 8 + 12);
    cr_expect_eq(s.p.roce.l3, s.frame + 14);
    cr_expect_eq(s.p.roce.icrc_found, s.p.roce.icrc_expected);
    story_end(&s);
}

Test(story, a_wrong_ip_checksum_is_called_that_and_the_rest_is_shown)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_SEND_ONLY, 10, 8, 0);
    s.frame[CHECKSUM] ^= 1;
    take_again(&s);
    cr_expect_eq(s.p.verdict, ROCE_RX_DROP_IP);
    cr_expect_eq(s.p.roce.bth.psn, 10);
    cr_expect_eq(s.p.roce.bth.dest_qpn, STORY_B_QPN);
    cr_expect(story_has(&s, EXPLAIN_FIND_MALFORMED));
    expect_words(&s, "wrong IPv4 header checksum");
    story_end(&s);
}
