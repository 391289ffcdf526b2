/* SPDX-License-Identifier: BSD-2-Clause */
/* The lines of nornic explain for the connections and link groups of SMC-R; the page has them in its
 * tables. */
#ifndef NORNIC_CLI_EXPLAIN_SMC_H
#define NORNIC_CLI_EXPLAIN_SMC_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* Appends a line for each, or an object. */
void cli_smc_sums(struct explain_text *out, const struct explain_analysis *analysis, bool is_json);

#endif
