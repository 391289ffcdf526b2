/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages that a snap length cut: what is there is told, what is not is not guessed, and nothing behind the
 * captured bytes is read. Every frame lies in memory of its own length, so that a sanitizer would tell. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "explain/analysis.h"
#include "explain/show/boxes.h"
#include "explain/show/filter.h"
#include "explain/show/json.h"
#include "explain/show/line.h"
#include "test/explain/json_packet.h"
#include "test/explain/smc_film.h"
#include "test/explain/story.h"

/* A frame of a capture, the first `snap_bytes` of it. */
struct cut {
    uint8_t *bytes;
    struct explain_packet p;
    struct explain_meaning m;
};

static void cut_begin(struct cut *c, const char *path, uint64_t n, uint32_t snap_bytes)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    cr_assert_eq(net_capture_open(path, &capture, &why), 0, "%s", why.text);
    for (uint64_t i = 0; i < n; i++)
        cr_assert_eq(net_capture_next(capture, &record, &why), 1);
    record.wire_bytes = record.len_bytes;
    record.len_bytes = snap_bytes < record.len_bytes ? snap_bytes : record.len_bytes;
    c->bytes = malloc(record.len_bytes);
    cr_assert_not_null(c->bytes);
    memcpy(c->bytes, record.data, record.len_bytes);
    net_capture_close(capture);
    record.data = c->bytes;
    struct explain_analysis *a = explain_analysis_create(&(struct explain_analysis_config){.strict = true});
    cr_assert_not_null(a);
    explain_dissect(&c->p, &record, 1);
    explain_analysis_next(a, &c->p, &c->m);
    explain_analysis_destroy(a);
}

static void cut_end(struct cut *c)
{
    free(c->bytes);
}

static bool matches(const struct cut *c, const char *expression)
{
    struct nornic_error why;
    struct explain_filter *filter = explain_filter_parse(expression, &why);
    cr_assert_not_null(filter, "%s", why.text);
    bool is = explain_filter_matches(filter, &c->p, &c->m);
    explain_filter_free(filter);
    return is;
}

static void expect_words(const char *path, uint64_t n, uint32_t snap_bytes, const char *words)
{
    struct cut c;
    cut_begin(&c, path, n, snap_bytes);
    cr_expect_str_eq(c.m.words, words, "%s at %u: %s", path, snap_bytes, c.m.words);
    cut_end(&c);
}

#define REQ_PATH "pcaps/cm_rping.pcap"

Test(cut, a_request_of_the_cm_tells_what_is_there)
{
    static const char whole[] = "CM REQ for TCP port 7174: QP 0x000011, RC, wants PSNs to it from 0xf0a097, "
                                "path MTU 1024, connection 1";
    expect_words(REQ_PATH, 1, 70, "management datagram (cut)");
    expect_words(REQ_PATH, 1, 86 + 3, "CM REQ (cut)");
    expect_words(REQ_PATH, 1, 86 + 16, "CM REQ for TCP port 7174, connection 1 (cut)");
    expect_words(REQ_PATH, 1, 86 + 35, "CM REQ for TCP port 7174: QP 0x000011, connection 1 (cut)");
    expect_words(REQ_PATH, 1, 86 + 51, whole);
    expect_words(REQ_PATH, 1, 256, whole);
}

Test(cut, fields_that_are_cut_off_are_absent)
{
    struct cut c;
    struct explain_text json = {0}, boxes = {0};
    cut_begin(&c, REQ_PATH, 1, 128); /* 42 bytes of the REQ */
    json_packet(&json, &c.p, &c.m);
    explain_boxes_packet(&boxes, &c.p);
    cr_expect_not_null(strstr(json.bytes, "\"qpn\":17,"));
    cr_expect_null(strstr(json.bytes, "\"starting_psn\""), "it is not 0");
    cr_expect_not_null(strstr(boxes.bytes, "232 bytes at 86, 42 of them captured"));
    cr_expect_null(strstr(boxes.bytes, "    starting_psn"));
    cr_expect(matches(&c, "cm_req.qpn == 0x11"));
    cr_expect_not(matches(&c, "cm_req.starting_psn == 0"));
    cr_expect_not(matches(&c, "cm_req.starting_psn != 0"));
    explain_text_free(&json);
    explain_text_free(&boxes);
    cut_end(&c);
}

Test(cut, a_cut_datagram_of_the_cm_is_no_message_of_a_flow)
{
    for (uint32_t snap_bytes = 62; snap_bytes <= 322; snap_bytes++) {
        struct cut c;
        cut_begin(&c, REQ_PATH, 1, snap_bytes);
        cr_expect_eq(c.p.kind, EXPLAIN_CM, "%u", snap_bytes);
        cr_expect_eq(c.m.message, 0, "%u", snap_bytes);
        cr_expect(snap_bytes == 322 || c.m.remarks[0].kind == EXPLAIN_FIND_CUT, "%u", snap_bytes);
        cut_end(&c);
    }
}

/* --- SMC-R --- */

/* Two links, data both ways, keys that come and go, and the end. */
static void play(struct film *f)
{
    film_two_links(f);
    film_write(f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 1000);
    film_cdc(f, 1, 0, (struct smcr_cdc){.seq = 1, .producer_cursor = 1004, .consumer_cursor = 4});
    film_cdc(f, 1, 1, (struct smcr_cdc){.seq = 1, .producer_cursor = 4, .consumer_cursor = 1004});
    film_write(f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 1004, 500);
    film_cdc(f, 1, 0, (struct smcr_cdc){.seq = 2, .producer_cursor = 1504, .consumer_cursor = 4});
}

static void end(struct film *f)
{
    film_cdc(
        f, 1, 0,
        (struct smcr_cdc){.seq = 3, .producer_cursor = 1504, .consumer_cursor = 4, .connection_closed = 1});
    film_end(f);
}

Test(cut, no_snap_length_makes_a_violation_of_smcr)
{
    for (uint32_t snap_bytes = 54; snap_bytes < 140; snap_bytes++) {
        struct film f;
        film_begin(&f);
        f.snap_bytes = snap_bytes;
        play(&f);
        end(&f);
        cr_expect_eq(film_violations(&f), 0, "at %u", snap_bytes);
        cr_expect_eq(f.counts[EXPLAIN_FIND_PSN_GAP] + f.counts[EXPLAIN_FIND_GHOST_ACK], 0, "at %u",
                     snap_bytes);
    }
}

static void expect_cdc(uint32_t snap_bytes, const char *words)
{
    struct film f;
    film_begin(&f);
    film_two_links(&f); /* whole */
    f.snap_bytes = snap_bytes;
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .producer_cursor = 1004, .consumer_cursor = 4});
    cr_expect_str_eq(f.m.words, words, "at %u: %s", snap_bytes, f.m.words);
    cr_expect_eq(film_violations(&f), 0);
    film_end(&f);
}

/* covers: SMCR-CDC-06 */
Test(cut, a_cdc_message_moves_the_cursors_that_are_there)
{
    expect_cdc(58, "SMC CDC 1 (cut)");
    expect_cdc(54 + 8, "SMC CDC 1, token 0xa1b20001 (cut): connection 1");
    expect_cdc(54 + 16, "SMC CDC 1, token 0xa1b20001, producer 0/1004 (cut): connection 1; bytes 0..999");
    expect_cdc(54 + 24, "SMC CDC 1, token 0xa1b20001, producer 0/1004, consumer 0/4 (cut): connection 1; "
                        "bytes 0..999");
    expect_cdc(96, "SMC CDC 1, token 0xa1b20001, producer 0/1004, consumer 0/4: connection 1; bytes 0..999; "
                   "1000 of 65532 bytes filled");
}

Test(cut, where_the_producer_cursor_was_cut_nothing_is_said_of_the_bytes_of_writes)
{
    struct film f;
    film_begin(&f);
    film_two_links(&f);
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 4, 1000);
    cr_expect(f.m.smc.is_data);
    f.snap_bytes = 54 + 8;
    film_cdc(&f, 1, 0, (struct smcr_cdc){.seq = 1, .producer_cursor = 1004, .consumer_cursor = 4});
    f.snap_bytes = 0;
    film_write(&f, 1, 0, FILM_SERVER_RKEY, FILM_SERVER_VA + 1004, 500);
    cr_expect_not(f.m.smc.is_data);
    cr_expect_eq(film_violations(&f), 0);
    film_end(&f);
}

static uint32_t conns_of(uint32_t snap_bytes, uint32_t *groups)
{
    struct film f;
    film_begin(&f);
    f.snap_bytes = snap_bytes;
    film_first_contact(&f);
    uint32_t conns = explain_analysis_smc_conn_count(f.analysis);
    *groups = explain_analysis_smc_group_count(f.analysis);
    film_end(&f);
    return conns;
}

#define CLC_AT 54 /* in a frame of the film */

Test(cut, a_group_is_known_by_its_queue_pairs_and_a_connection_by_its_tokens)
{
    uint32_t groups;
    cr_expect_eq(conns_of(CLC_AT + 40, &groups), 0);
    cr_expect_eq(groups, 0);
    cr_expect_eq(conns_of(CLC_AT + 41, &groups), 0); /* up to the QPN */
    cr_expect_eq(groups, 1);
    cr_expect_eq(conns_of(CLC_AT + 50, &groups), 0);
    cr_expect_eq(conns_of(CLC_AT + 51, &groups), 1); /* up to the size of the element */
    cr_expect_eq(conns_of(128, &groups), 1);
    cr_expect_eq(groups, 1);
}

static void expect_llc(const char *example, uint32_t snap_bytes, const char *words)
{
    struct film f;
    film_begin(&f);
    film_first_contact(&f);
    f.snap_bytes = snap_bytes;
    film_llc(&f, 1, 1, example);
    cr_expect_str_eq(f.m.words, words, "%s at %u: %s", example, snap_bytes, f.m.words);
    film_end(&f);
}

Test(cut, an_llc_message_says_what_it_is)
{
    expect_llc("CR_REQ", 54 + 4, "SMC LLC CONFIRM RKEY request (cut)");
    expect_llc("CR_REQ", 54 + 16, "SMC LLC CONFIRM RKEY request (cut)");
    expect_llc("CR_REQ", 54 + 17,
               "SMC LLC CONFIRM RKEY request: R_Key 0x000004f1 at 0x7f5c6d600000, and on 1 other link");
    expect_llc("AL_REQ", 54 + 35, "SMC LLC ADD LINK request (cut)");
    expect_llc("AL_REQ", 54 + 36,
               "SMC LLC ADD LINK request: link 2, QP 0x000013 at 192.0.2.3, MTU 1024, wants PSNs to "
               "it from 0xbc9255");
    expect_llc("DR_REQ", 54 + 11, "SMC LLC DELETE RKEY request (cut)");
    expect_llc("DR_REQ", 54 + 12, "SMC LLC DELETE RKEY request: 2 keys, 0x000004f0, ...");
    expect_llc("DL_REQ", 54 + 9, "SMC LLC DELETE LINK request: link 1, at once, lost path");
    expect_llc("TL_REQ", 54 + 4, "SMC LLC TEST LINK request: link 1");
}

/* --- packets that are cut within their headers --- */

#define V6_PATH "pcaps/rc_ipv6_send_1024.pcap"

Test(cut, what_lacks_its_bth_has_no_queue_pair)
{
    struct explain_line_style style = {.colour = false};
    for (uint32_t snap_bytes = 58; snap_bytes < 74; snap_bytes++) { /* the BTH is 62..73 */
        struct cut c;
        struct explain_text line = {0};
        cut_begin(&c, V6_PATH, 5, snap_bytes);
        explain_line_rest(&line, &c.p, &c.m, &style);
        cr_expect_eq(c.p.kind, EXPLAIN_ROCE, "%u", snap_bytes);
        cr_expect_str_eq(line.bytes, "fd77::1 > fd77::2  cut within its headers\n", "%u: %s", snap_bytes,
                         line.bytes);
        cr_expect_eq(c.m.remarks[0].kind, EXPLAIN_FIND_CUT);
        explain_text_free(&line);
        cut_end(&c);
    }
}

Test(cut, what_has_its_bth_keeps_its_psn)
{
    struct story s;
    struct explain_line_style style = {.colour = false};
    struct explain_text line = {0};
    story_begin(&s);
    s.snap_bytes = 60;
    story_request(&s, ROCE_OP_WRITE_ONLY, 11, 64, 64);
    explain_line_rest(&line, &s.p, &s.m, &style);
    cr_expect_str_eq(line.bytes, "10.0.0.1 > 10.0.0.2  qp 0x000011 psn 0x00000b  cut within its headers\n");
    explain_text_free(&line);
    story_end(&s);
}

Test(cut, what_is_cut_within_its_headers_is_no_loss)
{
    struct story s;
    story_begin_strict(&s);
    story_request(&s, ROCE_OP_SEND_ONLY, 10, 64, 0);
    s.snap_bytes = 60; /* the RETH is cut */
    story_request(&s, ROCE_OP_WRITE_ONLY, 11, 64, 64);
    cr_expect_str_eq(s.m.words, "cut within its headers");
    story_request(&s, ROCE_OP_SEND_ONLY, 12, 64, 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    story_answer(&s, ROCE_OP_ACK, 12, 0x1f, 3, 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_CAPTURE_GAP));
    story_request(&s, ROCE_OP_WRITE_ONLY, 13, 64, 64);
    story_answer(&s, ROCE_OP_ACK, 13, 0x1f, 4, 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_GHOST_ACK));
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_MISSING_ACK), 0);
    story_end(&s);
}
