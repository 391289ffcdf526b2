/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/quiz.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/explain/reading.h"
#include "explain/packet/train.h"
#include "explain/show/exercise.h"
#include "explain/show/glossary.h"
#include "net/pcap_file.h"

#define TRIES_MAX  3
#define TYPED_SIZE 256

struct session {
    const struct cli_quiz *quiz;
    const char *directory;
    bool as_json;
    unsigned columns;
    unsigned met, asked, right; /* exercises of the topic; questions that were put; answered rightly */
    bool has_ended;             /* there is nobody who answers */
    struct explain_text out;
};

static bool is_wanted(const struct explain_exercise *exercise, const char *topic)
{
    size_t n = strlen(topic);
    return strcmp(topic, "all") == 0 || strcmp(exercise->name, topic) == 0 ||
           (strncmp(exercise->name, topic, n) == 0 && exercise->name[n] == '-');
}

/* Writes out what was gathered, at once: somebody may be waiting for it. */
static int flush(struct session *s)
{
    bool is_written = !s->out.len || fwrite(s->out.bytes, 1, s->out.len, stdout) == s->out.len;
    explain_text_clear(&s->out);
    if (is_written && fflush(stdout) == 0)
        return CLI_OK;
    return cli_fail("cannot write the output: %s", strerror(errno));
}

/* Reads the open capture to its end: 0, or -errno with `why`. */
static int read_all(struct net_capture *capture, struct explain_analysis *analysis,
                    struct explain_answer *answer, struct nornic_error *why)
{
    struct net_capture_record record;
    struct explain_cutter cutter;
    struct explain_packet packet;
    struct explain_meaning meaning;
    uint64_t number = 0;
    int err;
    while ((err = net_capture_next(capture, &record, why)) > 0) {
        explain_cutter_begin(&cutter, &record, ++number);
        while (explain_cutter_next(&cutter, &packet)) {
            explain_analysis_next(analysis, &packet, &meaning);
            explain_answer_packet(answer, &packet, &meaning);
        }
    }
    return err;
}

static int find(struct explain_answer *answer, const char *path)
{
    struct net_capture *capture;
    struct nornic_error why;
    int err = net_capture_open(path, &capture, &why);
    if (err)
        return cli_fail(
            "%s; the exercises are about the captures in pcaps/ of the project: name that directory",
            why.text);
    struct explain_analysis *analysis = explain_analysis_create(&(struct explain_analysis_config){0});
    if (!analysis)
        net_error_set(&why, ENOMEM, "out of memory");
    err = analysis ? read_all(capture, analysis, answer, &why) : -ENOMEM;
    if (analysis)
        explain_analysis_destroy(analysis);
    net_capture_close(capture);
    return err ? cli_fail("%s", why.text) : CLI_OK;
}

static void put_question(struct session *s, const struct explain_exercise *exercise, const char *path)
{
    explain_printf(&s->out, "%s%s, about %s\n", s->met > 1 ? "\n" : "", exercise->name, cli_plain(path));
    explain_put_wrapped(&s->out, "  ", exercise->ask, s->columns);
}

static void put_answer(struct session *s, const struct explain_exercise *exercise,
                       const struct explain_answer *answer, const char *before)
{
    explain_printf(&s->out, "%s", before);
    explain_answer_text(answer, &s->out);
    explain_put(&s->out, "\n");
    explain_put_wrapped(&s->out, "  ", exercise->because, s->columns);
}

static void put_member(struct explain_text *out, const char *before, const char *key, const char *value)
{
    explain_printf(out, "%s\"%s\":", before, key);
    explain_put_quoted(out, value);
}

static void put_json(struct session *s, const struct explain_exercise *exercise,
                     const struct explain_answer *answer)
{
    struct explain_text text = {0};
    explain_answer_text(answer, &text);
    put_member(&s->out, "{", "name", exercise->name);
    put_member(&s->out, ",", "capture", exercise->capture);
    put_member(&s->out, ",", "ask", exercise->ask);
    put_member(&s->out, ",", "how", exercise->answer);
    put_member(&s->out, ",", "answer", text.bytes ? text.bytes : "");
    put_member(&s->out, ",", "hint", exercise->hint);
    put_member(&s->out, ",", "because", exercise->because);
    explain_put(&s->out, "}\n");
    explain_text_free(&text);
}

/* Asks until it is right, or given up. */
static int ask(struct session *s, const struct explain_exercise *exercise,
               const struct explain_answer *answer)
{
    char typed[TYPED_SIZE];
    s->asked++;
    for (unsigned tries = 0; tries < TRIES_MAX; tries++) {
        explain_put(&s->out, "> ");
        if (flush(s) != CLI_OK)
            return CLI_ERROR;
        s->has_ended = !fgets(typed, sizeof typed, stdin);
        typed[s->has_ended ? 0 : strcspn(typed, "\n")] = '\0';
        if (s->has_ended || strcmp(typed, "skip") == 0)
            break;
        if (explain_answer_is_right(answer, typed)) {
            s->right++;
            put_answer(s, exercise, answer, "  Right: ");
            return CLI_OK;
        }
        if (tries + 1 < TRIES_MAX)
            explain_printf(&s->out, "  %s%s\n", *typed ? "Not yet. " : "", exercise->hint);
    }
    put_answer(s, exercise, answer, s->has_ended ? "\n  It is: " : "  It is: ");
    return CLI_OK;
}

static int do_one(struct session *s, const struct explain_exercise *exercise)
{
    char path[512];
    struct nornic_error why;
    struct explain_answer *answer = explain_answer_parse(exercise->answer, &why);
    if (!answer)
        return cli_fail("exercise %s: %s", exercise->name, why.text);
    snprintf(path, sizeof path, "%s/%s", s->directory, exercise->capture);
    int status = find(answer, path);
    if (status == CLI_OK && !explain_answer_is_found(answer))
        status = cli_fail("exercise %s: %s has no answer to it", exercise->name, path);
    if (status == CLI_OK && s->as_json) {
        put_json(s, exercise, answer);
    } else if (status == CLI_OK) {
        put_question(s, exercise, path);
        if (s->quiz->answers)
            put_answer(s, exercise, answer, "  It is: ");
        else
            status = ask(s, exercise, answer);
    }
    explain_answer_free(answer);
    return status == CLI_OK ? flush(s) : status;
}

static int list(void)
{
    struct explain_exercise exercise;
    for (const char *place = NULL; explain_exercise_next(&place, &exercise);)
        printf("%-12s %-22s %s\n", exercise.name, exercise.capture, exercise.ask);
    return fflush(stdout) == 0 ? CLI_OK : cli_fail("cannot write the output: %s", strerror(errno));
}

int cli_explain_quiz(const struct cli_quiz *quiz, const struct cli_sandbox_options *sandbox,
                     const char *directory, bool as_json, unsigned columns)
{
    struct session s = {
        .quiz = quiz, .directory = directory ? directory : "pcaps", .as_json = as_json, .columns = columns};
    struct explain_exercise exercise;
    int status = CLI_OK;
    if (strcmp(quiz->topic, "list") == 0)
        return list();
    cli_reading_confine(sandbox, (char *[]){(char *)s.directory}, 1);
    for (const char *place = NULL;
         status == CLI_OK && !s.has_ended && explain_exercise_next(&place, &exercise);)
        if (is_wanted(&exercise, quiz->topic)) {
            s.met++;
            status = do_one(&s, &exercise);
        }
    if (status == CLI_OK && !s.met)
        status =
            cli_fail("--quiz %s: there is no such exercise; --quiz list says which there are", quiz->topic);
    if (status == CLI_OK && s.asked) {
        explain_printf(&s.out, "\n%u of %u right\n", s.right, s.asked);
        status = flush(&s);
    }
    explain_text_free(&s.out);
    return status == CLI_OK && s.right < s.asked ? CLI_NEGATIVE : status;
}
