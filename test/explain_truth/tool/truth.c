/* SPDX-License-Identifier: BSD-2-Clause */
/* truth dump SEED FILE.pcap FILE.json   one seed of the judged runs: the capture, and what is true of each
 *                                       packet in it
 * truth judge SEED [RUNS]               what explain says wrongly of these
 * truth join SEED [RUNS]                what `explain --join` says wrongly of captures at both ends, and its
 *                                       table
 * truth doubled SEED [RUNS]             the same, and what else it says of them once a capture holds its
 *                                       packets twice
 * truth ends SEED A.pcap B.pcap         the captures of such a seed
 * truth doubled SEED A.pcap B.pcap      the same with packets twice
 * truth table FILE.md                   writes the table between its marks in FILE (make explain-truth) */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/explain_truth/joined.h"
#include "test/explain_truth/score.h"

static void print(void *ctx, const struct truth_scene *scene, uint64_t number, const char *words)
{
    char text[200];
    (void)ctx;
    printf("seed %" PRIu64 " (%s) #%" PRIu64 " %s\n", scene->seed,
           truth_scene_words(scene, text, sizeof text), number, words);
}

static int judge(uint64_t first, uint64_t runs)
{
    struct truth_judge j = {.complain = print};
    unsigned failures = truth_score_seeds(&j, first, runs);
    truth_score_print(&j.score, stdout);
    return failures != 0;
}

#define TABLE_BEGIN "<!-- made by make explain-truth: begin -->\n"
#define TABLE_END   "<!-- made by make explain-truth: end -->\n"

/* The whole file; the caller frees it. NULL: it cannot be read. */
static char *read_all(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    if (!f)
        return NULL;
    ssize_t n = getdelim(&text, &size, '\0', f);
    fclose(f);
    if (n >= 0)
        return text;
    free(text);
    return NULL;
}

static int write_between(const char *path, const char *text, const struct truth_score *score)
{
    const char *begin = strstr(text, TABLE_BEGIN), *end = strstr(text, TABLE_END);
    FILE *f = begin && end > begin ? fopen(path, "w") : NULL;
    if (!f) {
        fprintf(stderr, "%s: cannot be written, or lacks the marks of the table\n", path);
        return 1;
    }
    begin += strlen(TABLE_BEGIN);
    fwrite(text, 1, (size_t)(begin - text), f);
    truth_score_print(score, f);
    fputs(end, f);
    return fclose(f) != 0;
}

static int table(const char *path)
{
    struct truth_judge j = {0};
    char *text = read_all(path);
    if (!text) {
        perror(path);
        return 1;
    }
    int failed = truth_score_seeds(&j, 1, TRUTH_RUNS) != 0 || write_between(path, text, &j.score);
    free(text);
    return failed;
}

static void print_joined(void *ctx, uint64_t seed, const char *words)
{
    (void)ctx;
    printf("seed %" PRIu64 " %s\n", seed, words);
}

static int join(uint64_t first, uint64_t runs, bool doubles)
{
    struct truth_joined_judge j = {.complain = print_joined, .doubles = doubles};
    truth_joined_seeds(&j, first, runs);
    truth_joined_print(&j.score, stdout);
    return 0;
}

/* --- the truth as JSON --- */

static const char *const whys[TRUTH_WHY_COUNT] = {
    [TRUTH_FIRST_TIME] = "first_time",   [TRUTH_TIMEOUT] = "timeout", [TRUTH_NAK] = "nak_sequence",
    [TRUTH_IMPLIED_NAK] = "implied_nak", [TRUTH_RNR] = "rnr",         [TRUTH_SELECTIVE] = "selective_ack",
    [TRUTH_GO_BACK] = "go_back"};
static const char *const kinds[] = {"other", "request", "answer", "cnp"};

static uint64_t number_of(const struct truth_scene *scene, const struct truth_tape *tape, uint32_t pass)
{
    for (uint32_t i = 0; i < scene->capture.count && pass != TRUTH_NONE; i++)
        if (scene->capture.records[i].tape == tape && scene->capture.records[i].pass == pass)
            return i + 1;
    return 0;
}

static void put_record(const struct truth_scene *scene, uint32_t i, FILE *f)
{
    const struct truth_record *r = &scene->capture.records[i];
    const struct truth_pass *p = truth_pass_of(r);
    bool is_whole = p->arrived_order && !(p->fate & SIM_FATE_CORRUPTED && !p->is_second);
    fprintf(
        f,
        "%s\n  {\"n\":%u,\"run\":%u,\"node\":%u,\"end\":%d,\"kind\":\"%s\",\"frame\":%u,\"second_copy\":%s,"
        "\"arrived\":%s,\"sent_ns\":%" PRIu64 ",\"psn\":%u",
        i ? "," : "", i + 1, (unsigned)(r->tape - scene->tape), p->node, (int)p->end, kinds[p->kind],
        p->frame, p->is_second ? "true" : "false", is_whole ? "true" : "false", p->sent_ns, p->psn);
    if (p->kind == TRUTH_REQUEST)
        fprintf(f,
                ",\"again\":%s,\"why\":\"%s\",\"trigger\":%" PRIu64 ",\"batch\":%u,\"before\":%" PRIu64
                ",\"executed\":%s,\"message\":%" PRIu64 ",\"piece\":%u,\"bytes_before\":%" PRIu64,
                p->is_again ? "true" : "false", whys[p->why], number_of(scene, r->tape, p->trigger), p->batch,
                number_of(scene, r->tape, p->before), p->is_executed ? "true" : "false", p->message, p->piece,
                p->bytes_before);
    fputc('}', f);
}

static int dump(uint64_t seed, const char *pcap, const char *json)
{
    struct truth_scene *scene = malloc(sizeof *scene);
    FILE *f = fopen(json, "w");
    char text[200];
    if (!f || !scene) {
        perror(json);
        return 1;
    }
    truth_scene_play(scene, seed);
    int err = truth_capture_write(&scene->capture, pcap);
    if (err)
        fprintf(stderr, "%s: %s\n", pcap, strerror(-err));
    fprintf(f, "{\"seed\":%" PRIu64 ",\"scene\":\"%s\",\"packets\":[", seed,
            truth_scene_words(scene, text, sizeof text));
    for (uint32_t i = 0; i < scene->capture.count; i++)
        put_record(scene, i, f);
    fputs("\n]}\n", f);
    truth_scene_deinit(scene);
    free(scene);
    return fclose(f) != 0 || err;
}

int main(int argc, char **argv)
{
    if (argc == 3 && strcmp(argv[1], "table") == 0)
        return table(argv[2]);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "judge") == 0)
        return judge(strtoull(argv[2], NULL, 0), argc == 4 ? strtoull(argv[3], NULL, 0) : 1);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "join") == 0)
        return join(strtoull(argv[2], NULL, 0), argc == 4 ? strtoull(argv[3], NULL, 0) : 1, false);
    if ((argc == 3 || argc == 4) && strcmp(argv[1], "doubled") == 0)
        return join(strtoull(argv[2], NULL, 0), argc == 4 ? strtoull(argv[3], NULL, 0) : 1, true);
    bool doubles = argc == 5 && strcmp(argv[1], "doubled") == 0;
    if (doubles || (argc == 5 && strcmp(argv[1], "ends") == 0))
        return truth_joined_write(strtoull(argv[2], NULL, 0), doubles,
                                  (const char *const[]){argv[3], argv[4]}) != 0;
    if (argc == 5 && strcmp(argv[1], "dump") == 0)
        return dump(strtoull(argv[2], NULL, 0), argv[3], argv[4]);
    fputs("usage: truth dump SEED FILE.pcap FILE.json | judge SEED [RUNS] | join SEED [RUNS] | "
          "doubled SEED [RUNS] | ends|doubled SEED A.pcap B.pcap | table FILE.md\n",
          stderr);
    return 2;
}
