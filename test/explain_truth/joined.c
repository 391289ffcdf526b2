/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/joined.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "test/support/random.h"

#define RESOLUTION_NS 1000 /* allowed beside the bound: rounding of clocks */

/* A run, its captures at both ends, and what the join says of them. */
struct table {
    struct truth_joined_judge *judge;
    struct truth_scene *scene;
    struct truth_tap tap[2];
    struct truth_capture capture[2];
    uint32_t *seen[2]; /* by frame: number of the first record with it; 0: it is not there */
    int64_t offset_ns; /* clock 1 is ahead by this, */
    double drift;      /* and gains */
    uint64_t epoch_ns;
    struct explain_join *join;
    struct explain_join_place *places; /* by number - 1 */
    uint32_t place_count;
};

/* One of the captures has only a part of the run, of which a packet that was sent again may have the
 * first copy outside. */
static bool is_partial(const struct table *t)
{
    return t->tap[0].skip_ppm || t->tap[0].end_ppm || t->tap[1].skip_ppm || t->tap[1].end_ppm;
}

static void complain(const struct table *t, const struct explain_join_place *place, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void complain(const struct table *t, const struct explain_join_place *place, const char *format, ...)
{
    char words[400], scene[300];
    va_list args;
    va_start(args, format);
    vsnprintf(words, sizeof words, format, args);
    va_end(args);
    if (!t->judge->complain)
        return;
    char text[900];
    truth_scene_words(t->scene, scene, sizeof scene);
    for (unsigned side = 0; side < 2; side++) {
        size_t len = strlen(scene);
        snprintf(scene + len, sizeof scene - len, "; %c: skip %u end %u drop %u snap %u", side ? 'B' : 'A',
                 t->tap[side].skip_ppm, t->tap[side].end_ppm, t->tap[side].drop_ppm, t->tap[side].snap_bytes);
    }
    if (place)
        snprintf(text, sizeof text, "(%s) #%" PRIu64 " (records %" PRIu64 ", %" PRIu64 ") %s, %s: %s", scene,
                 place->number, place->record[0], place->record[1], explain_fate_key(place->fate),
                 explain_sure_key(place->sure), words);
    else
        snprintf(text, sizeof text, "(%s) %s", scene, words);
    t->judge->complain(t->judge->ctx, t->scene->seed, text);
}

/* --- two captures --- */

static void draw_taps(struct table *t, struct test_random *r)
{
    for (unsigned side = 0; side < 2; side++) {
        t->tap[side] =
            (struct truth_tap){.place = side ? TRUTH_AT_1 : TRUTH_AT_0, .seed = test_random_next(r)};
        if (test_random_below(r, 4) == 0)
            t->tap[side].drop_ppm = (uint32_t)test_random_between(r, 1000, 30000);
        if (test_random_below(r, 6) == 0)
            t->tap[side].skip_ppm = (uint32_t)test_random_between(r, 1000, 400000);
        if (test_random_below(r, 6) == 0)
            t->tap[side].end_ppm = (uint32_t)test_random_between(r, 1000, 400000);
    }
    if (test_random_below(r, 7) == 0)
        t->tap[test_random_below(r, 2)].snap_bytes = 128;
    t->offset_ns = (int64_t)test_random_between(r, 0, 20 * NS_PER_S) - (int64_t)(10 * NS_PER_S);
    t->drift = test_random_below(r, 3) ? ((double)test_random_below(r, 200000) - 100000) * 1e-9 : 0;
}

/* TCP takes no time in the simulation, which no clocks explain. */
static void leave_out_tcp(struct truth_capture *c)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct truth_pass *p = truth_pass_of(&c->records[i]);
        if (p->kind == TRUTH_OTHER && p->due_ns == p->sent_ns)
            continue;
        c->records[n] = c->records[i];
        c->records[n].origin = n;
        n++;
    }
    c->count = n;
}

/* Clock 1 goes its own way. */
static void set_clock(struct table *t)
{
    struct truth_capture *c = &t->capture[1];
    for (uint32_t i = 0; i < c->count; i++) {
        int64_t x = (int64_t)(c->records[i].time_ns - t->epoch_ns);
        c->records[i].time_ns += (uint64_t)(t->offset_ns + (int64_t)((double)x * t->drift));
    }
}

static void take_captures(struct table *t)
{
    const struct truth_tape *tape = &t->scene->tape[0];
    for (unsigned side = 0; side < 2; side++) {
        truth_capture_add(&t->capture[side], tape, &t->tap[side], 0);
        leave_out_tcp(&t->capture[side]);
        t->seen[side] = calloc((size_t)tape->frames + 1, sizeof **t->seen);
        if (!t->seen[side])
            abort();
        for (uint32_t i = t->capture[side].count; i-- > 0;)
            t->seen[side][truth_pass_of(&t->capture[side].records[i])->frame] = i + 1;
    }
    t->epoch_ns = t->capture[0].count ? t->capture[0].records[0].time_ns : 0;
    set_clock(t);
}

/* False: they are said to have nothing in common. */
static bool join(struct table *t)
{
    struct nornic_error why;
    t->join = explain_join_create(0);
    if (!t->join)
        abort();
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < t->capture[side].count; i++) {
            struct net_capture_record record = truth_record_read(&t->capture[side].records[i]);
            struct explain_packet packet;
            explain_dissect(&packet, &record, i + 1);
            if (explain_join_take(t->join, side, &packet) != 0)
                abort();
        }
    if (explain_join_finish(t->join, &why) != 0)
        return false;
    t->places = calloc((size_t)t->capture[0].count + t->capture[1].count + 1, sizeof *t->places);
    if (!t->places)
        abort();
    while (explain_join_step(t->join, &t->places[t->place_count]))
        t->place_count++;
    return true;
}

/* --- what is true --- */

static const struct truth_pass *pass_of(const struct table *t, unsigned side, uint64_t record)
{
    return truth_pass_of(&t->capture[side].records[record - 1]);
}

/* Its receiver will not have it. Bits that nothing protects, such as those of the hop limit, may flip. */
static bool is_damaged(const struct truth_pass *p)
{
    struct net_capture_record record = {
        .data = p->out, .len_bytes = p->out_bytes, .wire_bytes = p->out_bytes};
    struct explain_packet packet;
    if (!(p->fate & SIM_FATE_CORRUPTED) || p->is_second)
        return false;
    explain_dissect(&packet, &record, 1);
    return packet.verdict != ROCE_RX_TAKEN;
}

/* It came, so that the receiver could use it. */
static bool has_come(const struct truth_pass *p)
{
    return p->arrived_order && !is_damaged(p);
}

/* Any copy of the frame came to the other end. */
static bool has_arrived(const struct table *t, const struct truth_pass *p)
{
    const struct truth_tape *tape = &t->scene->tape[0];
    const struct truth_pass *next = p + 1, *end = tape->passes + tape->pass_count;
    return has_come(p) || (next < end && next->frame == p->frame && has_come(next)) ||
           (p > tape->passes && p[-1].frame == p->frame && has_come(p - 1));
}

/* Two records, and what is said to have become of the one on the way to be the other. */
static bool is_match_true(const struct table *t, const struct explain_join_place *place)
{
    const struct truth_pass *a = pass_of(t, 0, place->record[0]), *b = pass_of(t, 1, place->record[1]);
    const struct truth_pass *came = place->from ? a : b;
    const struct truth_record *record = &t->capture[!place->from].records[place->record[!place->from] - 1];
    bool is_cut = record->len_bytes < record->wire_bytes; /* damage to what is missing does not show */
    return a->frame == b->frame && a->node == place->from &&
           (is_cut || (place->fate == EXPLAIN_FATE_DAMAGED) == is_damaged(came));
}

static bool is_true(const struct table *t, const struct explain_join_place *place)
{
    const struct truth_pass *p = pass_of(t, place->side, place->record[place->side]);
    bool is_there = t->seen[!place->side][p->frame];
    switch (place->fate) {
    case EXPLAIN_FATE_ARRIVED:
        return place->record[0] && place->record[1] && is_match_true(t, place);
    case EXPLAIN_FATE_DAMAGED:
        return place->record[0] && place->record[1] ? is_match_true(t, place) : is_damaged(p);
    case EXPLAIN_FATE_LOST:
        /* so damaged that it is no RoCE packet any more is lost, too */
        return p->node == place->side && (!is_there || is_damaged(p)) && !has_arrived(t, p);
    case EXPLAIN_FATE_COPY: {
        const struct explain_join_place *of = &t->places[place->related - 1];
        return place->related && of->record[!place->side] &&
               pass_of(t, !place->side, of->record[!place->side])->frame == p->frame;
    }
    case EXPLAIN_FATE_MISSED_THERE:
        return p->node == place->side && !is_there && has_arrived(t, p);
    case EXPLAIN_FATE_MISSED_HERE:
        return p->node != place->side && !is_there;
    case EXPLAIN_FATE_OUTSIDE:
    case EXPLAIN_FATE_UNRELATED:
        return !is_there;
    case EXPLAIN_FATE_COUNT:
        break;
    }
    return false;
}

/* A packet of the same queue pair that left later and came before it is in both captures. */
static bool is_overtaken(const struct table *t, const struct truth_pass *p)
{
    const struct truth_tape *tape = &t->scene->tape[0];
    for (const struct truth_pass *q = p + 1; q < tape->passes + tape->pass_count; q++)
        if (q->end == p->end && q->end != TRUTH_NONE && q->kind != TRUTH_OTHER &&
            q->sent_order > p->sent_order && q->frame != p->frame && q->arrived_order &&
            q->arrived_order < p->arrived_order && t->seen[p->node][q->frame] && t->seen[!p->node][q->frame])
            return true;
    return false;
}

/* --- the judgement --- */

static void judge_delay(struct table *t, const struct explain_join_place *place)
{
    const struct explain_clock *c = &explain_join_summary(t->join)->clock;
    const struct truth_pass *came = pass_of(t, !place->from, place->record[!place->from]);
    int64_t error = place->delay_ns - (int64_t)(came->due_ns - came->sent_ns);
    t->judge->score.delays++;
    if (c->is_one_way || (double)llabs(error) <= c->error_ns + RESOLUTION_NS)
        return;
    t->judge->score.delay_wrong += !is_partial(t);
    if (!is_partial(t))
        complain(t, place, "took %" PRId64 " ns more than it did; the bound is %.0f", error, c->error_ns);
}

static void judge_overtaken(struct table *t, const struct explain_join_place *place)
{
    const struct truth_pass *came = pass_of(t, !place->from, place->record[!place->from]);
    bool is_so = is_overtaken(t, came);
    t->judge->score.overtaken_right += place->is_overtaken && is_so;
    t->judge->score.overtaken_wrong += place->is_overtaken && !is_so;
    t->judge->score.overtaken_missed += !place->is_overtaken && is_so;
    if (place->is_overtaken && !is_so && !is_partial(t))
        complain(t, place, "nothing overtook it");
}

/* What became of the packet itself, whichever record is its. */
static bool is_fate_true(const struct table *t, const struct explain_join_place *place,
                         enum explain_fate fate)
{
    const struct truth_pass *p = pass_of(t, place->side, place->record[place->side]);
    struct explain_join_place it = *place;
    it.fate = fate;
    if (fate == EXPLAIN_FATE_ARRIVED)
        return p->node == place->side ? has_arrived(t, p) : t->seen[!place->side][p->frame];
    if (fate == EXPLAIN_FATE_LOST)
        return p->node == place->side && !has_arrived(t, p);
    if (fate == EXPLAIN_FATE_COPY)
        return p->is_second ||
               (p + 1 < t->scene->tape[0].passes + t->scene->tape[0].pass_count && p[1].frame == p->frame);
    return is_true(t, &it);
}

/* The captures do not decide, they say, and it is one of two. */
static void judge_unknown(struct table *t, const struct explain_join_place *place)
{
    bool is_one = is_fate_true(t, place, place->fate) || is_fate_true(t, place, place->or_fate) ||
                  (place->may_have_arrived && is_fate_true(t, place, EXPLAIN_FATE_ARRIVED));
    (is_one ? t->judge->score.either_right : t->judge->score.either_wrong)[is_partial(t)][place->fate]++;
}

static void judge_place(struct table *t, const struct explain_join_place *place)
{
    struct truth_joined_score *s = &t->judge->score;
    s->packets++;
    if (place->sure == EXPLAIN_SURE_UNKNOWN) {
        judge_unknown(t, place);
        return;
    }
    bool is_right = is_true(t, place);
    (is_right ? s->right : s->wrong)[is_partial(t)][place->fate][place->sure]++;
    if (!is_right && place->sure == EXPLAIN_SURE_SHOWN)
        complain(t, place, "is not true");
    if (!is_right || place->fate != EXPLAIN_FATE_ARRIVED || place->sure != EXPLAIN_SURE_SHOWN)
        return;
    judge_delay(t, place);
    judge_overtaken(t, place);
}

/* --- captures that hold their packets twice --- */

/* What is told of a record. */
struct told {
    bool is_told;
    uint8_t fate, sure;
    uint32_t other; /* the record of the other capture that it is, + 1; 0: none */
};

static uint32_t origin_of(const struct table *t, unsigned side, uint64_t record)
{
    return t->capture[side].records[record - 1].origin;
}

/* By capture and record; the caller frees both. */
static void list_told(const struct table *t, struct told *told[2])
{
    for (unsigned side = 0; side < 2; side++) {
        told[side] = calloc((size_t)t->capture[side].count + 1, sizeof **told);
        if (!told[side])
            abort();
    }
    for (uint32_t i = 0; i < t->place_count; i++) {
        const struct explain_join_place *p = &t->places[i];
        for (unsigned side = 0; side < 2; side++)
            if (p->record[side])
                told[side][origin_of(t, side, p->record[side])] =
                    (struct told){.is_told = true,
                                  .fate = (uint8_t)p->fate,
                                  .sure = (uint8_t)p->sure,
                                  .other = p->record[!side] ? origin_of(t, !side, p->record[!side]) + 1 : 0};
    }
}

/* A tap sees each packet again so long behind the first time, plus up to so much. */
struct again {
    bool is_so;
    uint64_t least_ns, jitter_ns;
};

/* Doubles one capture or both, with a delay that is always the same, or that is not. */
static void double_captures(struct table *t, struct again again[2])
{
    static const uint64_t most_ns[] = {2 * NS_PER_US, 20 * NS_PER_US, 200 * NS_PER_US};
    struct test_random r = {.state = t->scene->seed * 13 + 5};
    unsigned which = (unsigned)test_random_between(&r, 1, 3);
    for (unsigned side = 0; side < 2; side++) {
        again[side].is_so = which & 1U << side;
        again[side].least_ns = test_random_below(&r, most_ns[test_random_below(&r, 3)]);
        again[side].jitter_ns =
            test_random_below(&r, 2) ? test_random_below(&r, most_ns[test_random_below(&r, 3)]) : 0;
        if (again[side].is_so)
            truth_capture_double(&t->capture[side], again[side].least_ns, again[side].jitter_ns,
                                 test_random_next(&r));
    }
}

/* Of how many records another fate is told; the first of them in `words`. */
static uint32_t compare(struct table *t, unsigned side, const struct told *before, const struct told *now,
                        uint32_t count, char *words, size_t size)
{
    struct truth_joined_score *s = &t->judge->score;
    uint32_t otherwise = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct told *a = &before[i], *b = &now[i];
        bool is_same = a->is_told == b->is_told && a->fate == b->fate && a->other == b->other;
        s->less_sure += is_same && a->sure != b->sure;
        if (is_same || otherwise++)
            continue;
        snprintf(words, size, "record %u of %c was %s, %s, and is %s, %s", i + 1, side ? 'B' : 'A',
                 explain_fate_key((enum explain_fate)a->fate), explain_sure_key((enum explain_sure)a->sure),
                 b->is_told ? explain_fate_key((enum explain_fate)b->fate) : "not there",
                 explain_sure_key((enum explain_sure)b->sure));
    }
    s->compared += count;
    s->otherwise += otherwise;
    return otherwise;
}

static void judge_doubled(struct table *t)
{
    struct told *before[2], *now[2];
    struct again again[2];
    uint32_t count[2] = {t->capture[0].count, t->capture[1].count};
    list_told(t, before);
    double_captures(t, again);
    explain_join_destroy(t->join);
    free(t->places);
    t->places = NULL;
    t->place_count = 0;
    t->judge->score.doubled++;
    bool is_joined = join(t);
    if (!is_joined)
        complain(t, NULL, "has nothing in common once packets are there twice");
    if (is_joined)
        list_told(t, now);
    for (uint32_t i = 0; i < t->place_count; i++)
        if (t->places[i].sure == EXPLAIN_SURE_SHOWN && !is_true(t, &t->places[i])) {
            t->judge->score.doubled_wrong++;
            complain(t, &t->places[i], "is not true, with packets twice");
        }
    for (unsigned side = 0; side < 2 && is_joined; side++) {
        char words[160];
        uint32_t otherwise = compare(t, side, before[side], now[side], count[side], words, sizeof words);
        if (otherwise)
            complain(t, NULL,
                     "doubled (A %d: %" PRIu64 "+%" PRIu64 " ns, B %d: %" PRIu64 "+%" PRIu64
                     " ns): %u of %u are told otherwise; %s",
                     again[0].is_so, again[0].least_ns, again[0].jitter_ns, again[1].is_so, again[1].least_ns,
                     again[1].jitter_ns, otherwise, count[side], words);
        free(now[side]);
    }
    free(before[0]);
    free(before[1]);
}

/* A frame of which both captures have a whole RoCE packet: then they have something in common. */
static bool has_common(const struct table *t)
{
    for (uint32_t i = 0; i < t->scene->tape[0].frames; i++)
        if (t->seen[0][i] && t->seen[1][i] && pass_of(t, 0, t->seen[0][i])->kind != TRUTH_OTHER)
            return true;
    return false;
}

static void judge_scene(struct table *t)
{
    if (!join(t)) {
        if (!has_common(t))
            return;
        t->judge->score.unjoined++;
        complain(t, NULL, "is said to have nothing in common");
        return;
    }
    const struct explain_join_summary *sums = explain_join_summary(t->join);
    t->judge->score.runs++;
    t->judge->score.left_out += sums->twice[0] + sums->twice[1];
    if (sums->twice[0] + sums->twice[1])
        complain(t, NULL, "holds %" PRIu64 " and %" PRIu64 " packets twice, it is said", sums->twice[0],
                 sums->twice[1]);
    for (uint32_t i = 0; i < t->place_count; i++)
        judge_place(t, &t->places[i]);
    if (t->judge->doubles)
        judge_doubled(t);
}

static void begin(struct table *t, struct truth_joined_judge *judge, uint64_t seed)
{
    struct test_random r = {.state = seed * 7 + 3};
    *t = (struct table){.judge = judge, .scene = malloc(sizeof *t->scene)};
    if (!t->scene)
        abort();
    truth_scene_play(t->scene, seed);
    draw_taps(t, &r);
    take_captures(t);
}

static void end(struct table *t)
{
    if (t->join)
        explain_join_destroy(t->join);
    for (unsigned side = 0; side < 2; side++) {
        truth_capture_deinit(&t->capture[side]);
        free(t->seen[side]);
    }
    free(t->places);
    truth_scene_deinit(t->scene);
    free(t->scene);
}

void truth_joined_seeds(struct truth_joined_judge *judge, uint64_t first, uint64_t runs)
{
    for (uint64_t seed = first; seed < first + runs; seed++) {
        struct table t;
        begin(&t, judge, seed);
        judge_scene(&t);
        end(&t);
    }
}

int truth_joined_write(uint64_t seed, bool doubles, const char *const paths[2])
{
    struct table t;
    struct again again[2];
    int err = 0;
    begin(&t, NULL, seed);
    if (doubles)
        double_captures(&t, again);
    for (unsigned side = 0; side < 2 && !err; side++)
        err = truth_capture_write(&t.capture[side], paths[side]);
    end(&t);
    return err;
}

static void print_share(FILE *out, uint64_t right, uint64_t wrong)
{
    if (right + wrong == 0)
        fprintf(out, " - |");
    else
        fprintf(out, " %.2f %% of %" PRIu64 " |", 100.0 * (double)right / (double)(right + wrong),
                right + wrong);
}

void truth_joined_print(const struct truth_joined_score *s, FILE *out)
{
    fprintf(out,
            "%" PRIu64 " runs, %" PRIu64 " packets.\n\n"
            "| fate | `shown`, true | `likely`, true | `unknown`: one of those named is true "
            "| in parts: `shown`, true | `likely`, true | `unknown` |\n"
            "|---|---|---|---|---|---|---|\n",
            s->runs, s->packets);
    for (unsigned i = 0; i < EXPLAIN_FATE_COUNT; i++) {
        fprintf(out, "| `%s` |", explain_fate_key((enum explain_fate)i));
        for (unsigned part = 0; part < 2; part++) {
            print_share(out, s->right[part][i][EXPLAIN_SURE_SHOWN], s->wrong[part][i][EXPLAIN_SURE_SHOWN]);
            print_share(out, s->right[part][i][EXPLAIN_SURE_LIKELY], s->wrong[part][i][EXPLAIN_SURE_LIKELY]);
            print_share(out, s->either_right[part][i], s->either_wrong[part][i]);
        }
        fputc('\n', out);
    }
    fprintf(out,
            "\nOvertaken: %" PRIu64 " rightly told, %" PRIu64 " wrongly, %" PRIu64
            " not told. Delays beyond the stated "
            "bound: %" PRIu64 " of %" PRIu64
            ". Captures with packets in common that were not joined: %" PRIu64 ".\n",
            s->overtaken_right, s->overtaken_wrong, s->overtaken_missed, s->delay_wrong, s->delays,
            s->unjoined);
    if (s->doubled)
        fprintf(out,
                "\nOf %" PRIu64 " runs with packets twice: %" PRIu64 " of %" PRIu64
                " packets told otherwise than without, %" PRIu64 " more or less surely; %" PRIu64
                " wrongly as shown; %" PRIu64 " left out of captures that hold none twice.\n",
                s->doubled, s->otherwise, s->compared, s->less_sure, s->doubled_wrong, s->left_out);
}
