/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective acknowledgements (docs/selective-retransmission.md): what they say, and what is sent for them. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/again/selective.h"
#include "test/explain/story.h"

#define KNOWN ((struct roce_sacketh){.known = 1})
#define PROBE ((struct roce_sacketh){.known = 1, .probe = 1, .stamp = 77})
#define ECHO  ((struct roce_sacketh){.known = 1, .echo = 77})

/* `count` packets behind those of a calm begin, from PSN 10 on. */
static void begin(struct story *s, uint32_t count)
{
    story_begin_calm(s);
    for (uint32_t i = 0; i < count; i++)
        story_send(s, 10 + i);
}

static const struct explain_why *why_again(const struct story *s)
{
    return &story_finding(s, EXPLAIN_FIND_RETRANSMISSION)->why;
}

static void expect_words(const struct story *s, const char *words)
{
    cr_expect(strstr(s->m.words, words), "'%s' is not in: %s", words, s->m.words);
}

/* 11 and 14 are missing of 10 to 15. */
Test(selective, what_a_bitmap_lacks_is_sent_again_for_it)
{
    struct story s;
    begin(&s, 6);
    story_sack(&s, 11, 0xd0000000, KNOWN);
    uint64_t sack = s.number;
    expect_words(&s, "expects 0x00000b, has 3 behind it, lacks 2");
    cr_expect(story_has(&s, EXPLAIN_FIND_SELECTIVE_ACK));
    cr_expect_not(story_has(&s, EXPLAIN_FIND_NAK_SEQUENCE));
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->naks[1], 0);
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->selective_acks[1], 1);
    s.ip_id = 200;
    s.has_id = true;
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->trigger, sack);
    s.ip_id++;
    story_send(&s, 14);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_SHOWN, "those between are there: nobody goes back here");
    cr_expect_str_eq(why_again(&s)->evidence[0].what, EXPLAIN_SACK_LACKS);
    cr_expect_eq(why_again(&s)->evidence[0].number, sack);
    expect_words(&s, "selective ACK #");
    story_end(&s);
}

/* The copy that is here was refused for want of a receive. What is lacking was sent since, and is not
 * here. */
Test(selective, the_copy_before_what_was_refused_is_another)
{
    struct story s;
    begin(&s, 6);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYN_RNR << 5 | 14, 4, 0);
    story_sack(&s, 11, 0xd0000000, KNOWN);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->way_candidate[0], EXPLAIN_CAUSE_LOST_BEFORE);
    story_end(&s);
}

/* A receiver that offers it to a sender which does not read it says so by a NAK as well. */
Test(selective, a_nak_behind_it_tells_of_a_sender_that_does_not_read_it)
{
    struct story s;
    begin(&s, 6);
    story_sack(&s, 11, 0xd0000000, KNOWN);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 5, 0);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_NAK_SEQUENCE, "%s", s.m.words);
    story_send(&s, 12);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_RESTART, "%s", s.m.words);
    story_end(&s);
}

/* Where the network copies packets, as one of another queue pair shows: PSN 11 is not here before, nothing
 * tells that it was sent again, and not how soon its sender does so. */
Test(selective, what_comes_for_the_first_time_may_be_late)
{
    struct story s;
    begin(&s, 16);
    s.has_id = true;
    s.ip_id = 200;
    story_send(&s, 26);
    story_send(&s, 26);
    cr_assert_eq(story_finding(&s, EXPLAIN_FIND_DUPLICATE)->why.cause, EXPLAIN_CAUSE_COPIED);
    s.more_qpn = 1;
    story_send(&s, 10);
    story_send(&s, 12);
    story_sack(&s, 11, 0x80000000, KNOWN);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_UNKNOWN, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->candidate[0], EXPLAIN_CAUSE_SELECTIVE_ACK);
    cr_expect_eq(why_again(&s)->candidate[1], EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

/* The second tells the same, and of one more. */
Test(selective, what_was_told_before_is_no_finding_again)
{
    struct story s;
    begin(&s, 6);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_SELECTIVE_ACK));
    expect_words(&s, "lacks 1");
    story_sack(&s, 11, 0xd0000000, KNOWN);
    cr_expect(story_has(&s, EXPLAIN_FIND_SELECTIVE_ACK));
    cr_expect(strstr(story_finding(&s, EXPLAIN_FIND_SELECTIVE_ACK)->words, "PSN 0x00000e"), "%s",
              story_finding(&s, EXPLAIN_FIND_SELECTIVE_ACK)->words);
    story_end(&s);
}

/* Nothing comes behind the last packets: a probe asks. What was sent before it and is not there is lost. */
Test(selective, the_answer_to_a_probe_lacks_what_was_sent_before_it)
{
    struct story s;
    begin(&s, 3);
    story_sack(&s, 50, 0, PROBE);
    uint64_t probe = s.number;
    cr_expect(story_has(&s, EXPLAIN_FIND_PROBE));
    story_send(&s, 13);
    story_sack(&s, 11, 0, ECHO);
    uint64_t answer = s.number;
    expect_words(&s, "lacks 2; answers probe #");
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->trigger, answer);
    cr_expect_eq(why_again(&s)->evidence[1].number, probe);
    cr_expect_eq(why_again(&s)->way_candidate[0], EXPLAIN_CAUSE_LOST_AFTER);
    story_send(&s, 12);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->way_candidate[0], EXPLAIN_CAUSE_NONE, "of this one it says nothing");
    story_send(&s, 13);
    cr_expect_neq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "it was sent behind the probe: %s",
                  s.m.words);
    story_end(&s);
}

/* The same echo comes with all that follow: only the first is the answer. */
Test(selective, a_probe_is_answered_once)
{
    struct story s;
    begin(&s, 3);
    story_sack(&s, 50, 0, PROBE);
    story_sack(&s, 11, 0, ECHO);
    story_sack(&s, 12, 0, ECHO);
    cr_expect_null(strstr(s.m.words, "answers probe"), "%s", s.m.words);
    story_end(&s);
}

/* Sent again, and lost once more: what lacks it before the probe is older news than the probe's answer. */
Test(selective, what_is_lost_twice_is_found_by_a_probe)
{
    struct story s;
    begin(&s, 4);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    story_send(&s, 11);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    story_sack(&s, 50, 0, PROBE);
    story_sack(&s, 11, 0xc0000000, ECHO);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->trigger, s.number - 1, "%s", s.m.words);
    story_end(&s);
}

/* Long after the acknowledgement, after a silence as long as those of this sender's timer are. */
Test(selective, ROCE_RC_41_a_timer_may_run_out_all_the_same)
{
    struct story s;
    begin(&s, 0);
    for (uint32_t psn = 10; psn < 13; psn++) {
        story_send(&s, psn);
        s.time_ns += STORY_TIMEOUT_NS;
        story_send(&s, psn);
        story_answer(&s, ROCE_OP_ACK, psn, ROCE_SYNDROME_ACK_UNLIMITED, psn - 5, 0);
    }
    story_send(&s, 13);
    story_send(&s, 14);
    story_sack(&s, 13, 0x80000000, KNOWN);
    s.time_ns += STORY_TIMEOUT_NS;
    story_send(&s, 13);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_TIMEOUT, "%s", s.m.words);
    story_end(&s);
}

/* A sender that goes back would send it next all the same. */
Test(selective, ROCE_RC_42_what_goes_along_goes_along)
{
    struct story s;
    begin(&s, 4);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYNDROME_NAK_PSN_SEQ, 4, 0);
    story_send(&s, 10);
    story_sack(&s, 11, 0x40000000, KNOWN);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_RESTART, "%s", s.m.words);
    story_end(&s);
}

/* Of the four bytes of the bitmap two were captured, and of another none. */
Test(selective, a_bitmap_that_was_cut_is_read_as_far_as_it_goes)
{
    struct story s;
    begin(&s, 6);
    s.snap_bytes = 14 + 20 + 8 + ROCE_BTH_BYTES + ROCE_AETH_BYTES + ROCE_SACKETH_BYTES + 2;
    story_sack(&s, 11, 0xd000ffff, KNOWN);
    expect_words(&s, "has 3 behind it, lacks 2");
    s.snap_bytes -= 2;
    story_sack(&s, 11, 0xd000ffff, KNOWN);
    expect_words(&s, "has 0 behind it");
    story_end(&s);
}

Test(selective, another_version_is_dropped)
{
    struct story s;
    begin(&s, 6);
    story_sack(&s, 11, 0xd0000000, (struct roce_sacketh){.known = 1, .version = 1});
    expect_words(&s, "version 1");
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->selective_acks[1], 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_SELECTIVE_ACK));
    story_end(&s);
}

/* Overtaken by one that tells more, an acknowledgement lacks what has come since. */
Test(selective, an_older_answer_takes_nothing_back)
{
    struct story s;
    begin(&s, 6);
    story_answer(&s, ROCE_OP_ACK, 13, ROCE_SYNDROME_ACK_UNLIMITED, 8, 0);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    cr_expect_null(strstr(s.m.words, "lacks"), "%s", s.m.words);
    story_sack(&s, 14, 0x80000000, KNOWN);
    expect_words(&s, "lacks 1");
    story_end(&s);
}

/* It was sent again for the first; the second left before that copy came, and the third copy is none's. */
Test(selective, the_copy_before_is_newer_than_what_lacks_it)
{
    struct story s;
    begin(&s, 4);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    story_send(&s, 11);
    cr_expect_neq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    story_end(&s);
}

/* What was missing comes late, and meanwhile it was sent again. */
Test(selective, what_was_late_comes_again_all_the_same)
{
    struct story s;
    begin(&s, 4);
    story_sack(&s, 11, 0xc0000000, KNOWN);
    uint64_t sack = s.number;
    story_sack(&s, 14, 0, KNOWN);
    story_send(&s, 11);
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_SELECTIVE_ACK, "%s", s.m.words);
    cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_LIKELY);
    cr_expect_eq(why_again(&s)->evidence[0].number, sack);
    story_end(&s);
}

/* The first part of a READ is asked for again alone: its answer ends that, not the READ, though nothing else
 * shows that the ends are selective. */
Test(selective, a_part_of_a_read_ends_before_it_does)
{
    struct story s;
    story_begin_strict(&s);
    story_send(&s, 9);
    story_answer(&s, ROCE_OP_ACK, 9, ROCE_SYNDROME_ACK_UNLIMITED, 1, 0);
    story_request(&s, ROCE_OP_READ_REQUEST, 10, 0, 600);
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 10, ROCE_SYNDROME_ACK_UNLIMITED, 2, 256);
    story_answer(&s, ROCE_OP_READ_RESP_MIDDLE, 11, 0, 0, 256);
    story_answer(&s, ROCE_OP_READ_RESP_LAST, 12, ROCE_SYNDROME_ACK_UNLIMITED, 2, 88);
    story_request(&s, ROCE_OP_READ_REQUEST, 10, 0, 256);
    story_answer(&s, ROCE_OP_READ_RESP_ONLY, 10, ROCE_SYNDROME_ACK_UNLIMITED, 2, 256);
    expect_words(&s, "256 of 600 bytes");
    cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION), "%s", s.m.remarks[0].words);
    story_end(&s);
}

/* The capture ends before 11 comes again: 12 waits for it at the receiver, and was not lost. */
Test(selective, what_is_kept_was_not_lost)
{
    struct story s;
    struct explain_finding found[4];
    unsigned with_loss = 0, without = 0;
    begin(&s, 3);
    story_sack(&s, 11, 0x80000000, KNOWN);
    s.time_ns += NS_PER_S;
    story_send(&s, 13);
    unsigned n = explain_analysis_end(s.analysis, found, 4);
    for (unsigned i = 0; i < n; i++) {
        bool is_loss = found[i].why.candidate[0] == EXPLAIN_CAUSE_LOST_AFTER;
        with_loss += is_loss;
        without += !is_loss && found[i].kind == EXPLAIN_FIND_MISSING_ACK;
    }
    cr_expect_eq(with_loss, 1, "11: %u", with_loss);
    cr_expect_eq(without, 1, "12: %u", without);
    story_end(&s);
}

/* The capture begins behind the READ of 28480 bytes: its first request here asks for a part, and the next for
 * all that is left. */
Test(selective, a_read_is_longer_than_the_part_that_is_asked_for_first)
{
    struct story s;
    story_begin_strict(&s);
    story_request(&s, ROCE_OP_WRITE_FIRST, 8, 512, 513);
    story_request(&s, ROCE_OP_WRITE_LAST, 9, 1, 0);
    story_answer(&s, ROCE_OP_ACK, 9, ROCE_SYNDROME_ACK_UNLIMITED, 7, 0);
    story_request(&s, ROCE_OP_READ_REQUEST, 10, 0, 512);
    story_answer(&s, ROCE_OP_READ_RESP_ONLY, 10, ROCE_SYNDROME_ACK_UNLIMITED, 8, 512);
    story_request(&s, ROCE_OP_READ_REQUEST, 10, 0, 28480);
    story_send(&s, 66);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_PSN_GAP), "PSN 10 to 65 are those of the READ");
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 10, ROCE_SYNDROME_ACK_UNLIMITED, 8, 512);
    expect_words(&s, "512 of 28480 bytes");
    cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION), "%s", s.m.remarks[0].words);
    story_answer(&s, ROCE_OP_READ_RESP_MIDDLE, 12, 0, 0, 512);
    expect_words(&s, "response 3/56");
    story_request(&s, ROCE_OP_READ_REQUEST, 12, 0, 27968); /* 512 bytes more than were known of */
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 12, ROCE_SYNDROME_ACK_UNLIMITED, 8, 512);
    expect_words(&s, "of 28992 bytes");
    story_end(&s);
}
