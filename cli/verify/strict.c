/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/verify/strict.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

int cli_strict_begin(struct cli_strict *strict)
{
    const struct explain_analysis_config config = {.strict = true, .copies = EXPLAIN_COPIES_BY_BYTES};
    *strict = (struct cli_strict){.analysis = explain_analysis_create(&config),
                                  .violations = calloc(CLI_VIOLATIONS_MAX, sizeof *strict->violations)};
    if (strict->analysis && strict->violations)
        return 0;
    cli_strict_end(strict);
    return -ENOMEM;
}

void cli_strict_end(struct cli_strict *strict)
{
    if (strict->analysis)
        explain_analysis_destroy(strict->analysis);
    free(strict->violations);
    *strict = (struct cli_strict){0};
}

/* What breaks a rule of the standards: of SMC-R the gravest findings. */
static bool is_violation(enum explain_finding_kind kind)
{
    return kind == EXPLAIN_FIND_VIOLATION ||
           (kind >= EXPLAIN_FIND_SMC_DECLINE && explain_finding_severity(kind) == 2);
}

void cli_strict_take(struct cli_strict *strict, struct explain_packet *packet)
{
    struct explain_meaning meaning;
    if (!strict->analysis)
        return;
    explain_analysis_next(strict->analysis, packet, &meaning);
    for (unsigned i = 0; i < meaning.remark_count; i++) {
        if (!is_violation(meaning.remarks[i].kind))
            continue;
        if (strict->count < CLI_VIOLATIONS_MAX)
            strict->violations[strict->count] = meaning.remarks[i];
        strict->count++;
    }
}

static uint64_t named(const struct cli_strict *strict)
{
    return strict->count < CLI_VIOLATIONS_MAX ? strict->count : CLI_VIOLATIONS_MAX;
}

void cli_strict_print(const struct cli_strict *strict)
{
    if (!strict->analysis)
        return;
    for (uint64_t i = 0; i < named(strict); i++)
        printf("  frame %" PRIu64 ": %s (%s)\n", strict->violations[i].number, strict->violations[i].words,
               strict->violations[i].rule);
    if (strict->count > named(strict))
        printf("  ... and %" PRIu64 " more\n", strict->count - named(strict));
    const struct explain_forgotten *g = explain_analysis_forgotten(strict->analysis);
    if (g->count)
        printf(
            "  %u of %u flows were forgotten for room: what came of them later was judged as of new ones\n",
            g->count, explain_analysis_flow_count(strict->analysis));
    printf("  %" PRIu64 " violation%s of the standard\n", strict->count, strict->count == 1 ? "" : "s");
}

void cli_strict_to_json(const struct cli_strict *strict, json_object *object)
{
    if (!strict->analysis)
        return;
    json_object *list = json_object_new_array();
    for (uint64_t i = 0; i < named(strict); i++) {
        json_object *o = json_object_new_object();
        json_object_object_add(o, "n", json_object_new_uint64(strict->violations[i].number));
        json_object_object_add(o, "rule", json_object_new_string(strict->violations[i].rule));
        json_object_object_add(o, "words", json_object_new_string(strict->violations[i].words));
        json_object_array_add(list, o);
    }
    json_object_object_add(object, "forgotten_flows",
                           json_object_new_uint64(explain_analysis_forgotten(strict->analysis)->count));
    json_object_object_add(object, "violation_count", json_object_new_uint64(strict->count));
    json_object_object_add(object, "violations", list);
}
