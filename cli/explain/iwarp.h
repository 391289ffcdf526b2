/* SPDX-License-Identifier: BSD-2-Clause */
/* What connections of iWARP add up to, for `nornic explain`. */
#ifndef NORNIC_CLI_EXPLAIN_IWARP_H
#define NORNIC_CLI_EXPLAIN_IWARP_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* Appends a line for each connection, in words or as JSON, and one if some were forgotten. */
void cli_iwarp_sums(struct explain_text *out, const struct explain_analysis *analysis, bool is_json);

#endif
