/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/tale.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/explain/reading.h"
#include "cli/stop.h"
#include "explain/packet/train.h"
#include "net/pcap_file.h"

#define FINDINGS_MAX 64
#define LEAD_BYTES   (INT64_C(256) << 20) /* of files: nobody waits long for the first line then */

bool cli_tale_init(struct cli_tale *tale)
{
    *tale = (struct cli_tale){.numbers = explain_numbers_create()};
    return tale->numbers;
}

void cli_tale_deinit(struct cli_tale *tale)
{
    explain_numbers_destroy(tale->numbers);
    explain_iwarp_numbers_deinit(&tale->iwarp);
}

void cli_tale_take(struct cli_tale *tale, const struct explain_packet *packet,
                   const struct explain_meaning *meaning)
{
    tale->done_count = explain_numbers_take(tale->numbers, packet, meaning, tale->done, CLI_TALE_DONE_MAX);
    explain_iwarp_numbers_take(&tale->iwarp, packet, meaning);
    explain_story_take(&tale->story, packet, meaning);
}

void cli_tale_text(struct explain_text *out, const struct cli_tale *tale,
                   const struct explain_analysis *analysis, unsigned columns)
{
    struct explain_text sentences = {0};
    for (unsigned i = 0; explain_story_sentence(&sentences, &tale->story, analysis, tale->numbers, i); i++)
        explain_put(&sentences, " ");
    if (sentences.len)
        explain_put_wrapped(out, "", sentences.bytes, columns);
    explain_text_free(&sentences);
}

void cli_tale_lines(struct explain_text *out, const struct cli_tale *tale,
                    const struct explain_analysis *analysis)
{
    explain_put(out, "");
    for (unsigned i = 0; explain_story_sentence(out, &tale->story, analysis, tale->numbers, i); i++)
        explain_put(out, "\n");
}

void cli_tale_json(struct explain_text *out, const struct cli_tale *tale,
                   const struct explain_analysis *analysis)
{
    struct explain_text sentence = {0};
    explain_put(out, "{\"story\":[");
    for (unsigned i = 0; explain_story_sentence(&sentence, &tale->story, analysis, tale->numbers, i); i++) {
        explain_put(out, i ? "," : "");
        explain_put_quoted(out, sentence.bytes);
        explain_text_clear(&sentence);
    }
    explain_put(out, "]}\n");
    explain_text_free(&sentence);
}

static void put_flows(struct explain_text *out, const struct cli_tale *tale,
                      const struct explain_analysis *analysis, enum cli_tale_form form)
{
    uint32_t count = min_u32(explain_analysis_flow_count(analysis), EXPLAIN_NUMBERS_FLOWS);
    for (uint32_t i = 1; i <= count; i++) {
        const struct explain_flow *flow = explain_analysis_flow(analysis, i);
        if (!flow)
            continue;
        if (form == CLI_TALE_JSON)
            explain_numbers_json(out, tale->numbers, flow, i);
        else if (form == CLI_TALE_CSV)
            explain_flows_csv(out, tale->numbers, flow, i);
        else
            explain_numbers_line(out, tale->numbers, flow, i);
    }
}

static void put_iwarp(struct explain_text *out, const struct cli_tale *tale,
                      const struct explain_analysis *analysis, enum cli_tale_form form)
{
    uint32_t count = min_u32(explain_analysis_iwarp_conn_count(analysis), EXPLAIN_IWARP_NUMBERS_MAX);
    for (uint32_t i = 1; i <= count; i++) {
        const struct explain_iwarp_conn *conn = explain_analysis_iwarp_conn(analysis, i);
        if (!conn)
            continue;
        if (form == CLI_TALE_JSON)
            explain_iwarp_numbers_json(out, &tale->iwarp, conn);
        else if (form == CLI_TALE_CSV_IWARP)
            explain_iwarp_csv(out, &tale->iwarp, conn);
        else
            explain_iwarp_numbers_line(out, &tale->iwarp, conn);
    }
}

void cli_tale_numbers(struct explain_text *out, const struct cli_tale *tale,
                      const struct explain_analysis *analysis, enum cli_tale_form form)
{
    if (form != CLI_TALE_CSV_IWARP)
        put_flows(out, tale, analysis, form);
    if (form != CLI_TALE_CSV)
        put_iwarp(out, tale, analysis, form);
}

void cli_tale_twice(struct explain_text *out, const struct explain_analysis *analysis, bool json)
{
    const struct explain_seen_twice *s = explain_analysis_twice(analysis);
    const char *how = s->elsewhere == s->packets  ? ", seen at another place"
                      : s->repeated == s->packets ? ", as a part of it comes again"
                                                  : "";
    if (s->packets && json)
        explain_printf(out,
                       "{\"captured_twice\":{\"packets\":%" PRIu64 ",\"elsewhere\":%" PRIu64
                       ",\"repeated\":%" PRIu64 ",\"first\":%" PRIu64 ",\"of\":%" PRIu64 "}}\n",
                       s->packets, s->elsewhere, s->repeated, s->first, s->of);
    else if (s->packets)
        explain_printf(out,
                       "%" PRIu64 " of the packets %s others once more%s, first #%" PRIu64
                       ": each is counted once\n",
                       s->packets, s->packets == 1 ? "is" : "are", how, s->first);
}

/* --- ahead --- */

#define STDIN_PATH "/dev/stdin" /* opened anew, a file begins at its beginning */

static bool look_at(const char *path, struct stat *s)
{
    return (strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, s) : stat(path, s)) == 0;
}

bool cli_tale_is_live(const char *path)
{
    struct stat s;
    return look_at(path, &s) && !S_ISREG(s.st_mode);
}

/* A file that is there as a whole. What was read of standard input before would be read again. */
static bool is_regular(const char *path, struct stat *s)
{
    bool is_file = look_at(path, s) && S_ISREG(s->st_mode);
    return is_file && (strcmp(path, "-") != 0 || lseek(STDIN_FILENO, 0, SEEK_CUR) == 0);
}

bool cli_tale_may_lead(const struct cli_words *files)
{
    struct stat s;
    int64_t bytes = 0;
    for (unsigned i = 0; i < files->count; i++) {
        if (!is_regular(files->at[i], &s))
            return false;
        bytes += s.st_size;
    }
    return bytes <= LEAD_BYTES;
}

/* `tale`: NULL, or what takes the packets as well. */
static void read_ahead(struct cli_tale *tale, struct explain_analysis *analysis, const char *path,
                       uint64_t *number)
{
    struct net_capture *capture;
    struct net_capture_record record;
    struct nornic_error why;
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    if (net_capture_open(strcmp(path, "-") == 0 ? STDIN_PATH : path, &capture, &why))
        return;
    while (!cli_stopped() && net_capture_next(capture, &record, &why) > 0) {
        explain_cutter_begin(&cutter, &record, ++*number);
        cli_reading(path, *number);
        while (explain_cutter_next(&cutter, &packet)) {
            explain_analysis_next(analysis, &packet, &meaning);
            if (tale)
                cli_tale_take(tale, &packet, &meaning);
        }
    }
    cli_reading_end();
    net_capture_close(capture);
}

static struct explain_analysis *foresee(const struct cli_words *files, bool strict, struct cli_tale *tale)
{
    struct explain_analysis *analysis =
        cli_tale_may_lead(files)
            ? explain_analysis_create(&(struct explain_analysis_config){.strict = strict})
            : NULL;
    uint64_t number = 0;
    for (unsigned i = 0; analysis && i < files->count; i++)
        read_ahead(tale, analysis, files->at[i], &number);
    return analysis;
}

/* Of a flow, in cli_foreseen. */
enum { FORGOTTEN, UNTIMED, TIMED };

void cli_tale_foresee(struct cli_foreseen *foreseen, const struct cli_words *files, bool strict)
{
    struct explain_analysis *analysis = foresee(files, strict, NULL);
    *foreseen = (struct cli_foreseen){0};
    if (!analysis)
        return;
    uint32_t count = explain_analysis_flow_count(analysis);
    foreseen->flows = calloc(max_u32(count, 1), 1);
    foreseen->count = foreseen->flows ? count : 0;
    for (uint32_t i = 1; i <= foreseen->count; i++) {
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        foreseen->flows[i - 1] = !f ? FORGOTTEN : explain_is_timed(f) ? TIMED : UNTIMED;
    }
    explain_analysis_destroy(analysis);
}

void cli_foreseen_deinit(struct cli_foreseen *foreseen)
{
    free(foreseen->flows);
    *foreseen = (struct cli_foreseen){0};
}

void cli_tale_ahead(struct explain_text *out, const struct cli_words *files, bool strict, unsigned columns)
{
    struct explain_finding findings[FINDINGS_MAX];
    struct cli_tale tale;
    struct explain_analysis *analysis = cli_tale_init(&tale) ? foresee(files, strict, &tale) : NULL;
    unsigned n;
    if (analysis && !cli_stopped()) {
        while ((n = explain_analysis_end(analysis, findings, FINDINGS_MAX)) > 0)
            for (unsigned i = 0; i < n; i++)
                explain_story_finding(&tale.story, &findings[i]);
        cli_tale_text(out, &tale, analysis, columns);
        explain_put(out, out->len ? "\n" : "");
    }
    if (analysis)
        explain_analysis_destroy(analysis);
    cli_tale_deinit(&tale);
}

void cli_tale_operation(struct explain_text *out, const struct explain_operation *op,
                        const struct explain_analysis *analysis, const struct cli_foreseen *foreseen)
{
    bool is_known = op->flow && op->flow <= foreseen->count && foreseen->flows[op->flow - 1] != FORGOTTEN;
    explain_operations_csv(out, op,
                           is_known ? foreseen->flows[op->flow - 1] == TIMED
                                    : explain_is_timed(explain_analysis_flow(analysis, op->flow)));
}

static uint32_t count_without_numbers(const struct explain_analysis *analysis)
{
    uint32_t count = 0;
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++)
        count += explain_analysis_flow_is(analysis, i).flow == i &&
                 (i > EXPLAIN_NUMBERS_FLOWS || !explain_analysis_flow(analysis, i));
    return count;
}

void cli_tale_flows(struct explain_text *out, const struct cli_tale *tale,
                    const struct explain_analysis *analysis)
{
    uint32_t missing = count_without_numbers(analysis);
    cli_tale_numbers(out, tale, analysis, CLI_TALE_CSV);
    if (missing)
        fprintf(
            stderr,
            "nornic explain: %u of %u flows have no rows: the numbers are kept of the first %u, and of none "
            "that was forgotten for room\n",
            missing, explain_analysis_flow_count(analysis), (unsigned)EXPLAIN_NUMBERS_FLOWS);
}
