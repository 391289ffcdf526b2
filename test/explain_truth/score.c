/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/score.h"

#include <inttypes.h>
#include <stdlib.h>

unsigned truth_score_seeds(struct truth_judge *judge, uint64_t first, uint64_t runs)
{
    struct truth_scene *scene = malloc(sizeof *scene);
    unsigned failures = 0;
    if (!scene)
        abort();
    for (uint64_t seed = first; seed < first + runs; seed++) {
        truth_scene_play(scene, seed);
        if (scene->failure[0]) {
            failures++;
            if (judge->complain)
                judge->complain(judge->ctx, scene, 0, scene->failure);
        }
        truth_judge_scene(judge, scene);
        truth_scene_deinit(scene);
    }
    free(scene);
    return failures;
}

static void print_share(FILE *out, uint64_t right, uint64_t all)
{
    if (all == 0)
        fprintf(out, " - |");
    else
        fprintf(out, " %.1f %% of %" PRIu64 " |", 100.0 * (double)right / (double)all, all);
}

static void print_row(const struct truth_tally *t, const char *aspect, const char *cause, FILE *out)
{
    uint64_t shown = t->right[EXPLAIN_SURE_SHOWN] + t->wrong[EXPLAIN_SURE_SHOWN];
    uint64_t likely = t->right[EXPLAIN_SURE_LIKELY] + t->wrong[EXPLAIN_SURE_LIKELY];
    if (shown + likely + t->happened + t->either_right + t->either_wrong == 0)
        return;
    fprintf(out, "| %s | `%s` |", aspect, cause);
    print_share(out, t->right[EXPLAIN_SURE_SHOWN], shown);
    print_share(out, t->right[EXPLAIN_SURE_LIKELY], likely);
    print_share(out, t->right[EXPLAIN_SURE_LIKELY] + t->other_right, likely);
    print_share(out, t->either_right, t->either_right + t->either_wrong);
    print_share(out, t->told, t->happened);
    fputc('\n', out);
}

static void print_line(FILE *out, const char *words, uint64_t right, uint64_t wrong)
{
    fprintf(out, "- %s: ", words);
    if (right + wrong)
        fprintf(out, "%.1f %% of %" PRIu64 " are right.\n", 100.0 * (double)right / (double)(right + wrong),
                right + wrong);
    else
        fprintf(out, "none.\n");
}

void truth_score_print(const struct truth_score *s, FILE *out)
{
    static const char *const aspects[TRUTH_ASPECT_COUNT] = {
        "why it is sent again", "the copy before",     "why PSNs are missing",
        "reordered, duplicate", "what a NAK asks for", "why answers are missing"};
    fprintf(out,
            "%" PRIu64 " runs, %" PRIu64 " packets, of which %" PRIu64 " were sent again.\n\n"
            "| told of | cause | `shown`, true | `likely`, true | it or the other named | "
            "`unknown`: one of those named is true | happened, told |\n"
            "|---|---|---|---|---|---|---|\n",
            s->runs, s->records, s->again);
    for (unsigned a = 0; a < TRUTH_ASPECT_COUNT; a++)
        for (unsigned c = 0; c < EXPLAIN_CAUSE_COUNT; c++)
            print_row(&s->tally[a][c], aspects[a], explain_cause_key((enum explain_cause)c), out);
    fputc('\n', out);
    print_line(out, "The packet that made a sender go back", s->trigger_right, s->trigger_wrong);
    print_line(out, "Numbers of messages, where the capture has all that was sent", s->message_right,
               s->message_wrong);
    print_line(out, "Positions in messages", s->bytes_right, s->bytes_wrong);
    fprintf(out, "- Warnings in the %" PRIu64 " runs in which nothing happened: %" PRIu64 ".\n",
            s->clean_runs, s->warnings);
    fprintf(out,
            "- Queue pairs told as several flows: %" PRIu64 "; flows of several queue pairs: %" PRIu64 ".\n",
            s->split_flows, s->joined_flows);
    for (unsigned k = 0; k < EXPLAIN_FINDING_COUNT; k++)
        if (s->false_kind[k])
            fprintf(out, "- Findings `%s` of what did not happen: %" PRIu64 " of %" PRIu64 ".\n",
                    explain_finding_key((enum explain_finding_kind)k), s->false_kind[k], s->kind[k]);
}
