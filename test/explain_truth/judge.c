/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/judge.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/flow/again/selective.h"
#include "test/explain_truth/facts.h"

/* One capture while it is judged. */
struct session {
    struct truth_judge *judge;
    const struct truth_scene *scene;
    struct truth_facts facts;
    struct explain_analysis *analysis;
    bool *told; /* by record: a finding said rightly why it was sent again */
};

static const char *const why_words[TRUTH_WHY_COUNT] = {
    [TRUTH_FIRST_TIME] = "first time",   [TRUTH_TIMEOUT] = "timeout", [TRUTH_NAK] = "nak_sequence",
    [TRUTH_IMPLIED_NAK] = "implied_nak", [TRUTH_RNR] = "rnr",         [TRUTH_SELECTIVE] = "selective_ack",
    [TRUTH_GO_BACK] = "go back"};

/* "[first of those sent again for: implied_nak, by #4; before: #1]" */
static void put_truth(struct session *s, uint64_t number, char *text, size_t size)
{
    const struct truth_record *r = truth_record_of(&s->facts, number);
    const struct truth_pass *p = truth_pass_of(r);
    const uint32_t *seen = s->facts.seen[r->tape - s->scene->tape];
    const char *copy = truth_is_copy(&s->facts, number) ? "; a copy" : "";
    text[0] = '\0';
    if (p->kind == TRUTH_REQUEST && p->is_again)
        snprintf(text, size, " [%s of those sent again for: %s, by #%u; before: #%u%s]",
                 p->is_first_of_batch ? "first" : "one", why_words[p->why],
                 p->trigger == TRUTH_NONE ? 0 : seen[p->trigger],
                 p->before == TRUTH_NONE ? 0 : seen[p->before], copy);
    else if (p->kind == TRUTH_REQUEST)
        snprintf(text, size, " [sent for the first time%s]", copy);
}

/* `why`: the cause that is wrong; NULL: what the finding tells did not happen at all. */
static void complain(struct session *s, uint64_t number, const struct explain_finding *finding,
                     const struct explain_why *why)
{
    char line[600], truth[200];
    bool is_shown = (why ? why : &finding->why)->sure == EXPLAIN_SURE_SHOWN;
    if (!s->judge->complain)
        return;
    put_truth(s, number, truth, sizeof truth);
    if (why)
        snprintf(line, sizeof line, "%s %s of %s: %s%s", is_shown ? "WRONG" : "wrong",
                 why->cause ? explain_cause_key(why->cause) : "trigger", explain_finding_key(finding->kind),
                 finding->words, truth);
    else
        snprintf(line, sizeof line, "%s %s: %s%s",
                 is_shown ? "NEVER HAPPENED:" : "never happened:", explain_finding_key(finding->kind),
                 finding->words, truth);
    s->judge->complain(s->judge->ctx, s->scene, number, line);
}

/* --- causes --- */

typedef enum truth_verdict truth_ask(const struct truth_facts *facts, uint64_t number,
                                     enum explain_cause cause);

/* The capture does not decide, they say, and it is one of two. */
static void tally_candidates(struct session *s, enum truth_aspect aspect,
                             const struct explain_finding *finding, truth_ask *ask,
                             const struct explain_why *why)
{
    struct truth_tally *t = &s->judge->score.tally[aspect][why->candidate[0]];
    if (why->candidate[0] == EXPLAIN_CAUSE_NONE)
        return;
    bool is_one = false, is_known = false;
    for (unsigned i = 0; i < EXPLAIN_CANDIDATES && why->candidate[i] != EXPLAIN_CAUSE_NONE; i++) {
        enum truth_verdict verdict = ask(&s->facts, finding->number, why->candidate[i]);
        is_one |= verdict == TRUTH_RIGHT;
        is_known |= verdict != TRUTH_OPEN;
    }
    if (!is_known)
        return;
    t->either_right += is_one;
    t->either_wrong += !is_one;
    if (!is_one)
        complain(s, finding->number, finding, why);
}

static void tally(struct session *s, enum truth_aspect aspect, const struct explain_finding *finding,
                  truth_ask *ask, const struct explain_why *why)
{
    struct truth_tally *t = &s->judge->score.tally[aspect][why->cause];
    if (why->cause == EXPLAIN_CAUSE_UNKNOWN)
        tally_candidates(s, aspect, finding, ask, why);
    if (why->cause == EXPLAIN_CAUSE_NONE || why->cause == EXPLAIN_CAUSE_UNKNOWN)
        return;
    enum truth_verdict verdict = ask(&s->facts, finding->number, why->cause);
    if (verdict == TRUTH_OPEN)
        return;
    if (verdict == TRUTH_RIGHT) {
        t->right[why->sure]++;
        return;
    }
    t->wrong[why->sure]++;
    if (why->or_cause != EXPLAIN_CAUSE_NONE && ask(&s->facts, finding->number, why->or_cause) == TRUTH_RIGHT)
        t->other_right += why->sure == EXPLAIN_SURE_LIKELY;
    else
        complain(s, finding->number, finding, why);
}

static void tally_way(struct session *s, const struct explain_finding *finding)
{
    const struct explain_why *why = &finding->why;
    tally(s, TRUTH_WAY, finding, truth_way_of_before,
          &(struct explain_why){
              .cause = why->way,
              .sure = why->way_sure,
              .candidate = {why->way_candidate[0], why->way_candidate[1], why->way_candidate[2]}});
}

/* The packet with which it began is of the same batch, and its cause is the batch's. */
static void judge_root(struct session *s, const struct explain_finding *f)
{
    const struct truth_record *r = truth_record_of(&s->facts, f->number);
    const struct truth_pass *p = truth_pass_of(r);
    if (f->why.cause != EXPLAIN_CAUSE_RESTART || !f->why.behind || f->why.behind > s->scene->capture.count)
        return;
    const struct truth_record *b = truth_record_of(&s->facts, f->why.behind);
    const struct truth_pass *q = truth_pass_of(b);
    uint32_t since = p->batch - q->batch;
    bool is_of_batch = p->why == TRUTH_SELECTIVE ? q->batch == p->along_batch
                                                 : since == 0 || (since == 1 && p->why == TRUTH_GO_BACK);
    bool is_true = b->tape == r->tape && q->asker == p->asker && is_of_batch;
    struct truth_tally *t = &s->judge->score.tally[TRUTH_SENT_AGAIN][EXPLAIN_CAUSE_RESTART];
    if (!is_true) {
        t->wrong[f->why.sure]++;
        complain(s, f->number, f, &f->why);
    }
}

static bool is_trigger(const struct truth_record *r, const struct truth_record *e)
{
    const struct truth_pass *p = truth_pass_of(r), *q = truth_pass_of(e);
    if (e->tape != r->tape || p->trigger == TRUTH_NONE)
        return false;
    const struct truth_pass *trigger = &r->tape->passes[p->trigger];
    return q->frame == trigger->frame || (q->kind == TRUTH_ANSWER && q->asker == trigger->asker &&
                                          q->psn == trigger->psn && q->syndrome == trigger->syndrome);
}

/* Where an answer made it send again, is in the capture and is named, it is among the evidence. */
static void judge_trigger(struct session *s, const struct explain_finding *f)
{
    const struct truth_record *r = truth_record_of(&s->facts, f->number);
    const struct truth_pass *p = truth_pass_of(r);
    bool names_one = f->why.cause == EXPLAIN_CAUSE_NAK_SEQUENCE || f->why.cause == EXPLAIN_CAUSE_RNR ||
                     f->why.cause == EXPLAIN_CAUSE_IMPLIED_NAK || f->why.cause == EXPLAIN_CAUSE_SELECTIVE_ACK;
    if (!names_one || !f->why.trigger || p->trigger == TRUTH_NONE ||
        truth_why_again(&s->facts, f->number, f->why.cause) != TRUTH_RIGHT)
        return;
    if (!s->facts.seen[r->tape - s->scene->tape][p->trigger])
        return;
    for (unsigned i = 0; i < f->why.evidence_count; i++)
        if (is_trigger(r, truth_record_of(&s->facts, f->why.evidence[i].number))) {
            s->judge->score.trigger_right++;
            return;
        }
    s->judge->score.trigger_wrong++;
    s->judge->score.shown_false += f->why.sure == EXPLAIN_SURE_SHOWN;
    complain(s, f->number, f, &(struct explain_why){.cause = EXPLAIN_CAUSE_NONE, .sure = f->why.sure});
}

/* What is named as the one that says so, says so. */
static void judge_sayer(struct session *s, const struct explain_finding *f)
{
    for (unsigned i = 0; i < f->why.evidence_count; i++) {
        const struct explain_evidence *e = &f->why.evidence[i];
        if (strcmp(e->what, EXPLAIN_SACK_LACKS) != 0 || truth_says_missing(&s->facts, e->number, f->number))
            continue;
        s->judge->score.shown_false++;
        complain(s, f->number, f, &(struct explain_why){.sure = EXPLAIN_SURE_SHOWN});
    }
}

static void never_happened(struct session *s, const struct explain_finding *f)
{
    s->judge->score.false_kind[f->kind]++;
    s->judge->score.shown_false += f->why.cause != EXPLAIN_CAUSE_NONE && f->why.sure == EXPLAIN_SURE_SHOWN;
    complain(s, f->number, f, NULL);
}

/* Its cause is unknown, and that it was not sent again at all is among what may have been. */
static bool is_left_open(const struct session *s, const struct explain_finding *f)
{
    for (unsigned i = 0; f->why.cause == EXPLAIN_CAUSE_UNKNOWN && i < EXPLAIN_CANDIDATES; i++)
        if (truth_why_again(&s->facts, f->number, f->why.candidate[i]) == TRUTH_RIGHT)
            return true;
    return false;
}

static void take_again(struct session *s, const struct explain_finding *f)
{
    tally(s, TRUTH_SENT_AGAIN, f, truth_why_again, &f->why);
    if (!truth_is_again(&s->facts, f->number)) {
        if (!is_left_open(s, f))
            never_happened(s, f);
        return;
    }
    judge_root(s, f);
    judge_trigger(s, f);
    judge_sayer(s, f);
    tally_way(s, f);
    s->told[f->number] = truth_why_again(&s->facts, f->number, f->why.cause) == TRUTH_RIGHT;
}

static enum truth_verdict why_order(const struct truth_facts *facts, uint64_t number,
                                    enum explain_cause cause)
{
    switch (cause) {
    case EXPLAIN_CAUSE_OVERTAKEN:
        return truth_is_overtaken(facts, number);
    case EXPLAIN_CAUSE_COPIED:
        return truth_is_copy(facts, number);
    case EXPLAIN_CAUSE_SENT_AGAIN:
        return truth_is_again(facts, number);
    case EXPLAIN_CAUSE_ASKED_AGAIN:
        return truth_is_answered_again(facts, number) && !truth_is_copy(facts, number);
    default:
        return TRUTH_WRONG;
    }
}

static bool is_damaged(const struct truth_record *r)
{
    return r->is_out && truth_pass_of(r)->fate & SIM_FATE_CORRUPTED && !truth_pass_of(r)->is_second;
}

/* Every finding with a cause, and those of which the truth is known without one. */
static void take_finding(struct session *s, const struct explain_finding *f)
{
    s->judge->score.kind[f->kind]++;
    if (f->number == 0 || f->number > s->scene->capture.count)
        return;
    switch (f->kind) {
    case EXPLAIN_FIND_RETRANSMISSION:
    case EXPLAIN_FIND_READ_REPLAY:
        return take_again(s, f);
    case EXPLAIN_FIND_TIMEOUT: /* beside one of these */
        if (truth_why_again(&s->facts, f->number, EXPLAIN_CAUSE_TIMEOUT) != TRUTH_RIGHT &&
            f->why.or_cause == EXPLAIN_CAUSE_NONE)
            never_happened(s, f);
        return;
    case EXPLAIN_FIND_PSN_GAP:
        if (truth_pass_of(truth_record_of(&s->facts, f->number))->kind == TRUTH_REQUEST &&
            truth_missing_before(&s->facts, f->number) == 0)
            return never_happened(s, f);
        return tally(s, TRUTH_GAP, f, truth_why_missing, &f->why);
    case EXPLAIN_FIND_REORDERED:
    case EXPLAIN_FIND_DUPLICATE:
        return tally(s, TRUTH_ORDER, f, why_order, &f->why);
    case EXPLAIN_FIND_NAK_SEQUENCE:
    case EXPLAIN_FIND_SELECTIVE_ACK:
    case EXPLAIN_FIND_RNR:
        return tally(s, TRUTH_NAKED, f, truth_why_naked, &f->why);
    case EXPLAIN_FIND_MISSING_ACK:
        if (is_damaged(truth_record_of(&s->facts, f->number)))
            return; /* another PSN or queue pair than it was sent with: cut off, no ICRC says so */
        if (truth_has_answer(&s->facts, f->number))
            return never_happened(s, f);
        return tally(s, TRUTH_NO_ANSWER, f, truth_why_unanswered, &f->why);
    case EXPLAIN_FIND_GHOST_ACK:
        if (is_damaged(truth_record_of(&s->facts, f->number)))
            return;
        if (truth_has_request(&s->facts, f->number))
            return never_happened(s, f);
        return tally(s, TRUTH_NO_ANSWER, f, truth_why_ghost, &f->why);
    default: /* what has no cause: damage that the ICRC does not show, as it was cut off, is damage */
        if (explain_finding_severity(f->kind) == 2 && f->kind != EXPLAIN_FIND_ICRC &&
            f->kind != EXPLAIN_FIND_MALFORMED && !is_damaged(truth_record_of(&s->facts, f->number)))
            never_happened(s, f);
    }
}

/* Nothing happened: nothing may be found but what is normal. */
static void take_clean(struct session *s, const struct explain_finding *f)
{
    bool is_normal = f->kind == EXPLAIN_FIND_CUT || f->kind == EXPLAIN_FIND_SMC_LINK_GONE ||
                     f->kind == EXPLAIN_FIND_SMC_REFUSED || f->kind == EXPLAIN_FIND_SMC_BLOCKED;
    bool is_again = f->kind == EXPLAIN_FIND_RETRANSMISSION || f->kind == EXPLAIN_FIND_TIMEOUT ||
                    f->kind == EXPLAIN_FIND_READ_REPLAY;
    bool is_unanswered = f->kind == EXPLAIN_FIND_MISSING_ACK && !truth_has_answer(&s->facts, f->number);
    if (is_normal || is_unanswered || (is_again && truth_is_again(&s->facts, f->number)))
        return;
    s->judge->score.warnings++;
    if (s->judge->complain) {
        char line[200];
        snprintf(line, sizeof line, "warned where nothing happened: %s: %.100s", explain_finding_key(f->kind),
                 f->words);
        s->judge->complain(s->judge->ctx, s->scene, f->number, line);
    }
}

static void take_any(struct session *s, const struct explain_finding *f)
{
    take_finding(s, f);
    if (s->scene->is_clean)
        take_clean(s, f);
}

/* --- messages and flows --- */

/* Numbers are the work requests' where the capture has the beginning and every first copy: at the sender. */
static bool sees_all_sent(const struct truth_scene *s, const struct truth_pass *p)
{
    return !s->tap.skip_ppm && !s->tap.drop_ppm && s->runs == 1 &&
           s->tap.place == (p->node ? TRUTH_AT_1 : TRUTH_AT_0) && s->kind != TRUTH_SCENE_SMC &&
           s->kind != TRUTH_SCENE_SMC_CLEAN;
}

static void judge_message(struct session *s, uint64_t number, const struct explain_meaning *m)
{
    const struct truth_pass *p = truth_pass_of(truth_record_of(&s->facts, number));
    struct truth_score *score = &s->judge->score;
    if (p->kind != TRUTH_REQUEST || !m->message)
        return;
    bool is_right = m->message == p->message;
    if (sees_all_sent(s->scene, p)) {
        score->message_right += is_right;
        score->message_wrong += !is_right;
        if (!is_right && s->judge->complain) {
            char line[200];
            snprintf(line, sizeof line, "WRONG message %" PRIu64 ", it is %" PRIu64 ": %.100s", m->message,
                     p->message, m->words);
            s->judge->complain(s->judge->ctx, s->scene, number, line);
        }
    }
    if (m->bytes_done && is_right && p->payload_bytes) {
        bool fits = m->bytes_done == p->bytes_before + p->payload_bytes;
        score->bytes_right += fits;
        score->bytes_wrong += !fits;
        if (!fits && s->judge->complain) {
            char line[200];
            snprintf(line, sizeof line, "wrong position %" PRIu64 ", it is %" PRIu64 ": %.100s",
                     m->bytes_done, p->bytes_before + p->payload_bytes, m->words);
            s->judge->complain(s->judge->ctx, s->scene, number, line);
        }
    }
}

/* The number of a queue pair: that of the end which stands first. */
static uint32_t pair_of(const struct truth_tape *t, const struct truth_pass *p)
{
    uint32_t partner = t->ends[p->end].partner;
    return partner != TRUTH_NONE && partner < p->end ? partner : p->end;
}

/* Which queue pair each flow is, as the end tells it: a flow of two is told wrongly. */
static void judge_flows(struct session *s, uint32_t *flows)
{
    uint32_t count = explain_analysis_flow_count(s->analysis);
    uint64_t *owner = calloc(count + 1, sizeof *owner);
    bool *is_joined = calloc(count + 1, sizeof *is_joined);
    if (!owner || !is_joined)
        abort();
    for (uint32_t n = 1; n <= s->scene->capture.count; n++) {
        const struct truth_record *r = truth_record_of(&s->facts, n);
        const struct truth_pass *p = truth_pass_of(r);
        flows[n] = explain_analysis_flow_is(s->analysis, flows[n]).flow;
        if (!flows[n] || p->end == TRUTH_NONE || (r->is_out && p->fate & SIM_FATE_CORRUPTED))
            continue;
        uint64_t pair = 1 + ((uint64_t)(r->tape - s->scene->tape) << 32 | pair_of(r->tape, p));
        if (!owner[flows[n]])
            owner[flows[n]] = pair;
        else if (owner[flows[n]] != pair && !is_joined[flows[n]]) {
            is_joined[flows[n]] = true;
            s->judge->score.joined_flows++;
            if (s->judge->complain)
                s->judge->complain(s->judge->ctx, s->scene, n, "one flow of two queue pairs");
        }
    }
    for (uint32_t a = 1; a <= count; a++)
        for (uint32_t b = 1; b < a; b++)
            if (owner[a] && owner[a] == owner[b]) {
                s->judge->score.split_flows++;
                break;
            }
    free(owner);
    free(is_joined);
}

/* --- the whole --- */

/* How a cause that happened is called. */
static enum explain_cause cause_of(enum truth_why why)
{
    static const enum explain_cause causes[TRUTH_WHY_COUNT] = {
        [TRUTH_TIMEOUT] = EXPLAIN_CAUSE_TIMEOUT,         [TRUTH_NAK] = EXPLAIN_CAUSE_NAK_SEQUENCE,
        [TRUTH_IMPLIED_NAK] = EXPLAIN_CAUSE_IMPLIED_NAK, [TRUTH_RNR] = EXPLAIN_CAUSE_RNR,
        [TRUTH_SELECTIVE] = EXPLAIN_CAUSE_SELECTIVE_ACK, [TRUTH_GO_BACK] = EXPLAIN_CAUSE_NAK_SEQUENCE,
    };
    return causes[why];
}

/* What happened that a finding should tell of. */
static void count_happened(struct session *s)
{
    for (uint32_t n = 1; n <= s->scene->capture.count; n++) {
        const struct truth_record *r = truth_record_of(&s->facts, n);
        const struct truth_pass *p = truth_pass_of(r);
        if (!truth_is_again(&s->facts, n) || (r->is_out && p->fate & SIM_FATE_CORRUPTED))
            continue;
        struct truth_tally *t = &s->judge->score.tally[TRUTH_SENT_AGAIN][cause_of(p->why)];
        t->happened++;
        t->told += s->told[n];
        s->judge->score.again++;
    }
}

void truth_judge_scene(struct truth_judge *judge, const struct truth_scene *scene)
{
    struct session s = {.judge = judge, .scene = scene};
    struct explain_analysis_config config = {.strict = true};
    uint32_t count = scene->capture.count;
    uint32_t *flows = calloc(count + 1, sizeof *flows);
    s.told = calloc(count + 1, sizeof *s.told);
    s.analysis = explain_analysis_create(&config);
    if (!s.told || !s.analysis || !flows)
        abort();
    truth_facts_init(&s.facts, scene);
    for (uint32_t n = 1; n <= count; n++) {
        struct net_capture_record record = truth_record_read(truth_record_of(&s.facts, n));
        struct explain_packet packet;
        struct explain_meaning m;
        explain_dissect(&packet, &record, n);
        explain_analysis_next(s.analysis, &packet, &m);
        flows[n] = m.flow;
        for (unsigned i = 0; i < m.remark_count; i++)
            take_any(&s, &m.remarks[i]);
        judge_message(&s, n, &m);
    }
    struct explain_finding found[16];
    for (unsigned n; (n = explain_analysis_end(s.analysis, found, 16)) > 0;)
        for (unsigned i = 0; i < n; i++)
            take_any(&s, &found[i]);
    judge_flows(&s, flows);
    count_happened(&s);
    judge->score.runs++;
    judge->score.clean_runs += scene->is_clean;
    judge->score.records += count;
    explain_analysis_destroy(s.analysis);
    truth_facts_deinit(&s.facts);
    free(s.told);
    free(flows);
}
