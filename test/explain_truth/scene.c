/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawing a capture: its runs are test/explain_truth/play.h's. */
#include "test/explain_truth/scene.h"

#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "test/explain_truth/play.h"

static const char *const kind_words[TRUTH_SCENE_COUNT] = {
#define ROW(id, words) [TRUTH_SCENE_##id] = words,
    TRUTH_SCENES(ROW)
#undef ROW
};

static bool is_one_of_smc(enum truth_scene_kind kind)
{
    return kind == TRUTH_SCENE_SMC || kind == TRUTH_SCENE_SMC_CLEAN;
}

static void draw_tap(struct truth_tap *tap, struct test_random *r)
{
    static const uint32_t snaps[] = {96, 128, 200};
    *tap = (struct truth_tap){.place = (enum truth_place)test_random_below(r, 3),
                              .seed = test_random_next(r),
                              .way_ppm = (uint32_t)test_random_between(r, 100000, 900000)};
    if (test_random_below(r, 7) == 0)
        tap->snap_bytes = snaps[test_random_below(r, 3)];
    if (test_random_below(r, 4) == 0)
        tap->resolution_ns = NS_PER_US;
}

/* A capture is seldom the whole of what happened. */
static void draw_what_is_missing(struct truth_tap *tap, struct test_random *r)
{
    if (test_random_below(r, 6) == 0)
        tap->skip_ppm = (uint32_t)test_random_between(r, 1000, 700000);
    if (test_random_below(r, 8) == 0)
        tap->end_ppm = (uint32_t)test_random_between(r, 1000, 700000);
    if (test_random_below(r, 12) == 0)
        tap->drop_ppm = (uint32_t)test_random_between(r, 1000, 30000);
}

static struct truth_setup draw_setup(struct test_random *r, bool is_merged)
{
    struct truth_setup setup = {.ipv6 = test_random_below(r, 2)};
    setup.vlan = test_random_below(r, 6) == 0;
    setup.random_psns = is_merged;
    return setup;
}

/* Of every six runs of a kind one is of devices with selective retransmission; of four of these, one has it
 * at one end only. The kind that keeps packets without saying so has a way of its own. */
static void choose_selective(struct truth_scene *s, struct truth_setup *setup)
{
    uint64_t turn = s->seed / TRUTH_SCENE_COUNT;
    s->is_selective = turn % 6 == 2 && s->kind != TRUTH_SCENE_SELECTIVE && !is_one_of_smc(s->kind);
    setup->selective[0] = s->is_selective && turn % 24 != 2;
    setup->selective[1] = s->is_selective;
}

static void play_merged(struct truth_scene *s, struct test_random *r)
{
    static const enum truth_scene_kind kinds[] = {TRUTH_SCENE_CLEAN, TRUTH_SCENE_LOSS, TRUTH_SCENE_ALL};
    enum truth_scene_kind kind = kinds[test_random_below(r, 3)];
    s->is_clean = kind == TRUTH_SCENE_CLEAN;
    s->runs = 2 + test_random_below(r, TRUTH_RUNS_MAX - 1);
    struct truth_setup setup = draw_setup(r, true);
    for (unsigned i = 0; i < s->runs; i++) {
        uint64_t after_ns = test_random_between(r, 1, test_random_below(r, 2) ? NS_PER_MS : 5 * NS_PER_S);
        truth_play_rc(&s->tape[i], kind, &setup, test_random_next(r), s->failure, sizeof s->failure);
        truth_capture_add(&s->capture, &s->tape[i], &s->tap, after_ns);
    }
}

void truth_scene_play(struct truth_scene *s, uint64_t seed)
{
    struct test_random r = {.state = seed};
    *s = (struct truth_scene){
        .seed = seed, .kind = (enum truth_scene_kind)(seed % TRUTH_SCENE_COUNT), .runs = 1};
    for (unsigned i = 0; i < TRUTH_RUNS_MAX; i++)
        truth_tape_init(&s->tape[i]);
    draw_tap(&s->tap, &r);
    s->is_clean = s->kind == TRUTH_SCENE_CLEAN || s->kind == TRUTH_SCENE_SMC_CLEAN;
    if (!s->is_clean && s->kind != TRUTH_SCENE_MERGED)
        draw_what_is_missing(&s->tap, &r);
    if (s->kind == TRUTH_SCENE_MERGED) {
        play_merged(s, &r);
        return;
    }
    struct truth_setup setup = draw_setup(&r, false);
    choose_selective(s, &setup);
    uint64_t run = test_random_next(&r);
    if (is_one_of_smc(s->kind))
        truth_play_smc(&s->tape[0], s->kind, run, s->failure, sizeof s->failure);
    else
        truth_play_rc(&s->tape[0], s->kind, &setup, run, s->failure, sizeof s->failure);
    truth_capture_add(&s->capture, &s->tape[0], &s->tap, 0);
}

void truth_scene_deinit(struct truth_scene *s)
{
    for (unsigned i = 0; i < TRUTH_RUNS_MAX; i++)
        truth_tape_deinit(&s->tape[i]);
    truth_capture_deinit(&s->capture);
}

const char *truth_scene_words(const struct truth_scene *s, char *text, size_t size)
{
    static const char *const places[] = {"at node 0", "at node 1", "between"};
    int n = snprintf(text, size, "%s, taken %s", kind_words[s->kind], places[s->tap.place]);
    if (s->is_selective)
        n += snprintf(text + n, size - (size_t)n, ", with selective acknowledgements");
    if (s->tap.snap_bytes)
        n += snprintf(text + n, size - (size_t)n, ", %u bytes of each", s->tap.snap_bytes);
    if (s->tap.skip_ppm)
        n += snprintf(text + n, size - (size_t)n, ", begins late");
    if (s->tap.end_ppm)
        n += snprintf(text + n, size - (size_t)n, ", ends early");
    if (s->tap.drop_ppm)
        snprintf(text + n, size - (size_t)n, ", not all that passed");
    return text;
}
