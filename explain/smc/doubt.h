/* SPDX-License-Identifier: BSD-2-Clause */
/* Findings that a message of the other side would explain. */
#ifndef NORNIC_EXPLAIN_SMC_DOUBT_H
#define NORNIC_EXPLAIN_SMC_DOUBT_H

#include "explain/smc/types.h"

/* Doubts the message of this side, unless one of the other side came before it that the capture lacks. It is
 * told of when the next request of the other side on that link shows that none is missing. `rule` is a
 * literal. */
void explain_smc_doubt(struct smc_view *v, enum explain_finding_kind kind, const char *rule, uint64_t related,
                       const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Takes a request with that PSN in its turn: tells of the doubts that it settles. */
void explain_smc_settle_doubts(struct smc_view *v, uint32_t psn);

#endif
