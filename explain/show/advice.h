/* SPDX-License-Identifier: BSD-2-Clause */
/* What somebody may do about a finding. */
#ifndef NORNIC_EXPLAIN_SHOW_ADVICE_H
#define NORNIC_EXPLAIN_SHOW_ADVICE_H

#include "explain/analysis.h"

/* A sentence or two; NULL: nothing is to be done, or nothing is known. `cause` is what made it happen, or
 * what happened on the way (struct explain_why); NONE: the advice for the kind. */
const char *explain_advice(enum explain_finding_kind kind, enum explain_cause cause);

#endif
