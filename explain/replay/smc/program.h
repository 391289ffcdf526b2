/* SPDX-License-Identifier: BSD-2-Clause */
/* What the endpoint's program did. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_PROGRAM_H
#define NORNIC_EXPLAIN_REPLAY_SMC_PROGRAM_H

#include "explain/replay/smc/types.h"

void smcplay_program_acts(struct smcplay *s, struct smcplay_conn *c, const struct smcplay_cdc *cdc);

#endif
