/* SPDX-License-Identifier: BSD-2-Clause */
/* What queue pairs add up to, for `nornic explain`. */
#ifndef NORNIC_CLI_EXPLAIN_FLOWS_H
#define NORNIC_CLI_EXPLAIN_FLOWS_H

#include "cli/explain/output.h"
#include "explain/analysis.h"

/* Appends a line for each flow that there is something to say of, or as JSON an object for each; there may be
 * many, and `out` goes on to `to` between them. */
void cli_flows(struct cli_output *to, struct explain_text *out, const struct explain_analysis *analysis,
               bool is_json);
/* Appends a line if some were forgotten for room. */
void cli_flows_forgotten(struct explain_text *out, const struct explain_analysis *analysis, bool is_json);

/* Appends the last line: packets, flows, and findings by severity. With --strict the gravest findings are
 * broken rules. */
void cli_flows_count(struct explain_text *out, uint64_t packets, const struct explain_analysis *analysis,
                     const uint64_t findings[3], bool is_strict);

#endif
