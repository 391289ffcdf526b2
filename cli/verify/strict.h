/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic verify --strict: which packets of a capture break which rules. */
#ifndef NORNIC_CLI_VERIFY_STRICT_H
#define NORNIC_CLI_VERIFY_STRICT_H

#include <json-c/json.h>
#include <stdint.h>

#include "explain/analysis.h"

#define CLI_VIOLATIONS_MAX 1000 /* are named; those beyond are counted */

/* All zero: not used, and every call but _begin() does nothing. */
struct cli_strict {
    struct explain_analysis *analysis;
    struct explain_finding *violations; /* the first of them, CLI_VIOLATIONS_MAX at most */
    uint64_t count;
};

/* -ENOMEM: no memory. */
int cli_strict_begin(struct cli_strict *strict);
/* The next packet of the capture, of which the analysis may change the kind. */
void cli_strict_take(struct cli_strict *strict, struct explain_packet *packet);
/* A line each; then how many flows were forgotten for room, if any were, and the count. */
void cli_strict_print(const struct cli_strict *strict);
/* Adds `forgotten_flows`, `violation_count` and the list `violations` to the object. */
void cli_strict_to_json(const struct cli_strict *strict, json_object *object);
void cli_strict_end(struct cli_strict *strict);

#endif
