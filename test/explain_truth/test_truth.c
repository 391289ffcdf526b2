/* SPDX-License-Identifier: BSD-2-Clause */
/* What explain says of thousands of simulated runs, held against what their engines and wires did. The table
 * of all causes is in docs/explain.md; `build/test/explain_truth/truth judge SEED` repeats a failure, `truth
 * dump` writes its capture and truth. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "test/explain_truth/score.h"

TestSuite(explain_truth, .timeout = 300);

#define WARNINGS_STILL 0  /* where nothing happened */
#define MESSAGES_STILL 0  /* numbers of messages that are wrong */
#define LIKELY_LEAST   95 /* percent, of what is not named below */
#define EITHER_LEAST   85 /* percent of what is unknown, with candidates: one of these is true */
#define EITHER_SEED_588 \
    70 /* of `sent_again`: of 871, 220 are of a run whose PSN was damaged, its ICRC cut off */
#define SHOWN_FALSE_STILL 0  /* findings told as shown of what did not happen, and wrong triggers: likewise */
#define COMPLAINTS_MAX    20 /* of those told as shown, that are printed */

struct printer {
    unsigned count;
};

static void print(void *ctx, const struct truth_scene *scene, uint64_t number, const char *words)
{
    struct printer *p = ctx;
    char text[200];
    bool is_grave = number == 0 || strncmp(words, "WRONG ", 6) == 0;
    if (!is_grave || p->count++ >= COMPLAINTS_MAX)
        return;
    fprintf(stderr,
            "seed %" PRIu64 " (%s) #%" PRIu64 " %s; rerun: build/test/explain_truth/truth judge %" PRIu64
            "\n",
            scene->seed, truth_scene_words(scene, text, sizeof text), number, words, scene->seed);
}

/* Of what is told as `shown` so much is wrong still, and of `likely` at least so much is right, in percent.
 * What is not named here is never shown wrongly. 0 and 100 are the aims: a
 * change of explain tightens limits. A new kind of run may loosen them: two of likely_right fell by two when
 * sockets joined, of which less can be told. */
static const struct limit {
    enum truth_aspect aspect;
    enum explain_cause cause;
    uint64_t shown_wrong_max;
    unsigned likely_right_percent;
} limits[] = {
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_TIMEOUT, 0, 97},
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_NAK_SEQUENCE, 0, 98},
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_SELECTIVE_ACK, 0, 99},
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_RNR, 0, 98},
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_IMPLIED_NAK, 0, 96},
    {TRUTH_SENT_AGAIN, EXPLAIN_CAUSE_RESTART, 0, 97},
    {TRUTH_WAY, EXPLAIN_CAUSE_LOST_BEFORE, 0, 95},
    {TRUTH_WAY, EXPLAIN_CAUSE_ANSWER_LOST, 0, 95},
    {TRUTH_WAY, EXPLAIN_CAUSE_NO_RECEIVE, 0, 97},
    {TRUTH_WAY, EXPLAIN_CAUSE_DAMAGED, 0, 97},
    {TRUTH_GAP, EXPLAIN_CAUSE_LOST_BEFORE, 0, 95},
    {TRUTH_GAP, EXPLAIN_CAUSE_DAMAGED, 0, 98},
    {TRUTH_ORDER, EXPLAIN_CAUSE_OVERTAKEN, 0, 95},
    {TRUTH_ORDER, EXPLAIN_CAUSE_COPIED, 0, 95},
    {TRUTH_ORDER, EXPLAIN_CAUSE_ASKED_AGAIN, 0, 96},
    {TRUTH_NAKED, EXPLAIN_CAUSE_LOST_BEFORE, 0, 95},
    {TRUTH_NAKED, EXPLAIN_CAUSE_NO_RECEIVE, 0, 100},
    {TRUTH_NAKED, EXPLAIN_CAUSE_DAMAGED, 0, 98},
    {TRUTH_NO_ANSWER, EXPLAIN_CAUSE_CAPTURE_DROPPED, 0, 95},
};

/* Findings of what did not happen at all: of kinds that are not named here, and above notes, there are
 * none. Where it is left open whether a packet was sent again at all, that is no such finding. Changes
 * of explain lower these, too; with the runs of sockets TIMEOUT rose by five, and SPLIT_STILL from 0,
 * and by two when what may be a copy was not called an implied NAK any more, where the other
 * two fell by 37; one more retransmission since the engine sends again what its peer had and gave up. */
static const struct {
    enum explain_finding_kind kind;
    uint64_t false_max;
} still_false[] = {
    {EXPLAIN_FIND_PSN_GAP, 3},      {EXPLAIN_FIND_RETRANSMISSION, 750}, {EXPLAIN_FIND_TIMEOUT, 52},
    {EXPLAIN_FIND_READ_REPLAY, 38}, {EXPLAIN_FIND_MISSING_ACK, 1},      {EXPLAIN_FIND_GHOST_ACK, 1},
};

#define JOINED_STILL 56 /* flows of several queue pairs: where a silent end begins the next connection */
#define SPLIT_STILL  44 /* queue pairs told as several flows: of a socket, where answers are lost or NAKs */

static uint64_t false_max(enum explain_finding_kind kind)
{
    for (size_t i = 0; i < sizeof still_false / sizeof *still_false; i++)
        if (still_false[i].kind == kind)
            return still_false[i].false_max;
    return 0;
}

static struct limit limit_of(enum truth_aspect aspect, enum explain_cause cause)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        if (limits[i].aspect == aspect && limits[i].cause == cause)
            return limits[i];
    return (struct limit){.aspect = aspect, .cause = cause, .likely_right_percent = LIKELY_LEAST};
}

static void check_tally(enum truth_aspect aspect, enum explain_cause cause, const struct truth_tally *t)
{
    struct limit limit = limit_of(aspect, cause);
    uint64_t right = t->right[EXPLAIN_SURE_LIKELY], wrong = t->wrong[EXPLAIN_SURE_LIKELY];
    uint64_t either_least = cause == EXPLAIN_CAUSE_SENT_AGAIN ? EITHER_SEED_588 : EITHER_LEAST;
    cr_expect_leq(t->wrong[EXPLAIN_SURE_SHOWN], limit.shown_wrong_max,
                  "%s is shown wrongly %" PRIu64 " times, %" PRIu64 " are known", explain_cause_key(cause),
                  t->wrong[EXPLAIN_SURE_SHOWN], limit.shown_wrong_max);
    cr_expect_geq(100 * right, limit.likely_right_percent * (right + wrong),
                  "%s is likely, and right in %" PRIu64 " of %" PRIu64, explain_cause_key(cause), right,
                  right + wrong);
    cr_expect_geq(100 * t->either_right, either_least * (t->either_right + t->either_wrong),
                  "%s or others, and one of them is right in %" PRIu64 " of %" PRIu64,
                  explain_cause_key(cause), t->either_right, t->either_right + t->either_wrong);
}

/* covers: ROCE-RC-41, ROCE-RC-42, ROCE-RC-44 */
Test(explain_truth, what_is_shown_is_true_and_what_is_likely_mostly)
{
    struct printer p = {0};
    struct truth_judge judge = {.complain = print, .ctx = &p};
    cr_assert_eq(truth_score_seeds(&judge, 1, TRUTH_RUNS), 0, "simulations went wrong");
    cr_expect_leq(judge.score.message_wrong, MESSAGES_STILL, "%" PRIu64 " numbers of messages are wrong",
                  judge.score.message_wrong);
    cr_expect_leq(judge.score.shown_false, SHOWN_FALSE_STILL,
                  "%" PRIu64 " findings are shown of what did not happen", judge.score.shown_false);
    cr_expect_leq(judge.score.warnings, WARNINGS_STILL, "%" PRIu64 " warnings where nothing happened",
                  judge.score.warnings);
    for (unsigned k = 0; k < EXPLAIN_FINDING_COUNT; k++)
        cr_expect_leq(judge.score.false_kind[k], false_max((enum explain_finding_kind)k),
                      "%" PRIu64 " findings %s of what did not happen", judge.score.false_kind[k],
                      explain_finding_key((enum explain_finding_kind)k));
    cr_expect_leq(judge.score.joined_flows, JOINED_STILL, "%" PRIu64, judge.score.joined_flows);
    cr_expect_leq(judge.score.split_flows, SPLIT_STILL, "%" PRIu64, judge.score.split_flows);
    cr_assert_geq(judge.score.again, 100000, "hardly anything was sent again: %" PRIu64, judge.score.again);
    for (unsigned a = 0; a < TRUTH_ASPECT_COUNT; a++)
        for (unsigned c = 0; c < EXPLAIN_CAUSE_COUNT; c++)
            check_tally((enum truth_aspect)a, (enum explain_cause)c, &judge.score.tally[a][c]);
}

/* Other seeds, of which something was told as `shown`, or flatly, that was not so. */
static const uint64_t told_wrongly[] = {
    402873, /* a NAK, though what was sent for it was lost, and its timer sent it again */
    601881, /* goes along behind another, though an answer that is missing here asked for it */
    612889, /* likewise, and the time between the two tells of that answer */
    505949,    609549,    610861, /* overtaken, by the identifications of the QPN's connection before */
    602669,                       /* a connection that begins with a last packet, taken for the one before */
    405498,    602954,            /* violations, compared with what came damaged, its ICRC cut off */
    407107,    502035,            /* violations by answers to another queue pair */
    501782,    503113,            /* answers to what was never asked: of another queue pair */
    502524,                       /* likewise: to a READ that is older than the capture */
    401271,                       /* answers that are missing: told as another queue pair's */
    402313,                       /* a gap: a READ's end moved the newest PSN back */
    251,                          /* numbers of messages behind packets that are cut within their headers */
    501028,    611132,            /* likewise: what waited for its answer was forgotten */
    700189,                       /* the wait of an RNR NAK, where the timer was as long */
    701682,    705958,            /* violations: counts of messages that were guessed */
    704911,                       /* what is said again after a failover, told as said after the end */
    2000221,                      /* overtaken, by the identifications of the QPN's connection before */
    2000292,              /* numbers of messages of what was sent again so late that it was forgotten */
    504510,               /* a warning in a clean run: two pairs that were taken for one */
    20001552,             /* likewise, of a socket: an answer that waits for two, told by its MSN */
    910000336,            /* likewise: two wait for the same PSN, and have sent as many messages */
    960011848, 960029139, /* violations: counts of messages by answers that were another requester's */
    20001917,  30002429,  /* a second port: of the connection before, which was no socket's */
    40000209,             /* goes along behind a return whose sender's timer had run out since */
    420007316,            /* a NAK, sooner than its sender can have had it */
    420003401,            /* goes along behind a return, where the capture lacks what asked for it */
    450000897,            /* a selective acknowledgement, though what it has was not passed over */
    40001401,             /* a NAK, ten round trips before */
    980005456,            /* an answer to a READ, with as many bytes as another one asked for */
};

Test(explain_truth, what_was_told_wrongly_is_not_any_more)
{
    for (size_t i = 0; i < sizeof told_wrongly / sizeof *told_wrongly; i++) {
        struct printer p = {0};
        struct truth_judge judge = {.complain = print, .ctx = &p};
        cr_assert_eq(truth_score_seeds(&judge, told_wrongly[i], 1), 0);
        const struct truth_score *s = &judge.score;
        uint64_t shown = s->shown_false + s->false_kind[EXPLAIN_FIND_VIOLATION] +
                         s->false_kind[EXPLAIN_FIND_SMC_AFTER_CLOSE] + s->false_kind[EXPLAIN_FIND_GHOST_ACK] +
                         s->false_kind[EXPLAIN_FIND_MISSING_ACK] + s->false_kind[EXPLAIN_FIND_PSN_GAP] +
                         s->message_wrong + s->warnings;
        for (unsigned a = 0; a < TRUTH_ASPECT_COUNT; a++)
            for (unsigned c = 0; c < EXPLAIN_CAUSE_COUNT; c++)
                shown += s->tally[a][c].wrong[EXPLAIN_SURE_SHOWN];
        cr_expect_eq(shown, 0, "seed %" PRIu64 ": %" PRIu64 " statements are wrong", told_wrongly[i], shown);
    }
}

#define SOCKET_BESIDE 420005389 /* queue pairs of a socket, beside others of the same host that count */

/* What a socket sends again has the identification of the first, in a train of one packet. */
Test(explain_truth, what_a_socket_sends_again_is_not_captured_twice)
{
    struct truth_judge judge = {0};
    cr_assert_eq(truth_score_seeds(&judge, SOCKET_BESIDE, 1), 0);
    for (unsigned a = 0; a < TRUTH_ASPECT_COUNT; a++)
        for (unsigned sure = 0; sure <= EXPLAIN_SURE_SHOWN; sure++)
            cr_expect_eq(judge.score.tally[a][EXPLAIN_CAUSE_CAPTURED_TWICE].wrong[sure], 0);
}

#define SHORTER \
    910001196 /* a return behind a silence of less than a millisecond, where no others agree on it */

Test(explain_truth, what_comes_sooner_each_time_no_timer_sent)
{
    struct truth_judge judge = {0};
    cr_assert_eq(truth_score_seeds(&judge, SHORTER, 1), 0);
    cr_expect_eq(judge.score.tally[TRUTH_SENT_AGAIN][EXPLAIN_CAUSE_TIMEOUT].wrong[EXPLAIN_SURE_LIKELY], 0);
}

/* Runs in which a packet was sent again, and changed on its way where the ICRC does not look: hop limit, tag,
 * MAC addresses. No capture of these runs holds a packet twice. */
static const uint64_t changed_on_the_way[] = {910008108, 910009164, 910011786, 910015516,
                                              910022813, 960009164, 960022829};

Test(explain_truth, what_is_changed_on_its_way_is_not_captured_twice)
{
    for (size_t i = 0; i < sizeof changed_on_the_way / sizeof *changed_on_the_way; i++) {
        struct truth_judge judge = {0};
        cr_assert_eq(truth_score_seeds(&judge, changed_on_the_way[i], 1), 0);
        const struct truth_tally *t = &judge.score.tally[TRUTH_ORDER][EXPLAIN_CAUSE_CAPTURED_TWICE];
        cr_expect_eq(t->wrong[EXPLAIN_SURE_LIKELY] + t->wrong[EXPLAIN_SURE_SHOWN], 0, "seed %" PRIu64,
                     changed_on_the_way[i]);
        cr_expect_eq(t->either_right, 1, "seed %" PRIu64, changed_on_the_way[i]);
        cr_expect_eq(t->either_wrong, 0, "seed %" PRIu64, changed_on_the_way[i]);
    }
}

/* Runs in which packets come late all the time. What came late was told to be sent again for a NAK 89, 54 and
 * 54 times, and for a selective acknowledgement 9 times. */
static const uint64_t late_all_the_time[] = {910018284, 910024477, 910008973, 940005644};

Test(explain_truth, what_comes_late_is_not_sent_again_for_a_nak)
{
    for (size_t i = 0; i < sizeof late_all_the_time / sizeof *late_all_the_time; i++) {
        struct truth_judge judge = {0};
        cr_assert_eq(truth_score_seeds(&judge, late_all_the_time[i], 1), 0);
        const struct truth_tally *t = judge.score.tally[TRUTH_SENT_AGAIN];
        cr_expect_leq(t[EXPLAIN_CAUSE_NAK_SEQUENCE].wrong[EXPLAIN_SURE_LIKELY], 4, "seed %" PRIu64,
                      late_all_the_time[i]);
        cr_expect_leq(t[EXPLAIN_CAUSE_SELECTIVE_ACK].wrong[EXPLAIN_SURE_LIKELY], 3, "seed %" PRIu64,
                      late_all_the_time[i]);
    }
}

/* Runs of which was told wrongly what happened to the copy before: it is here, and no other was sent
 * since, as identifications show (17 times); it was refused for want of a receive, or may have come and
 * been thrown away behind one that is missing (11 times). */
static const struct {
    uint64_t seed;
    enum explain_cause way;
} ways_told_wrongly[] = {{940001177, EXPLAIN_CAUSE_LOST_BEFORE}, {910011489, EXPLAIN_CAUSE_LOST_AFTER}};

Test(explain_truth, what_happened_to_the_copy_before)
{
    for (size_t i = 0; i < sizeof ways_told_wrongly / sizeof *ways_told_wrongly; i++) {
        struct truth_judge judge = {0};
        cr_assert_eq(truth_score_seeds(&judge, ways_told_wrongly[i].seed, 1), 0);
        const struct truth_tally *t = &judge.score.tally[TRUTH_WAY][ways_told_wrongly[i].way];
        cr_expect_eq(t->wrong[EXPLAIN_SURE_LIKELY], 0, "seed %" PRIu64 ": %" PRIu64,
                     ways_told_wrongly[i].seed, t->wrong[EXPLAIN_SURE_LIKELY]);
    }
}
