/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded LLC and CDC messages and writes, one by one. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_MESSAGES_H
#define NORNIC_EXPLAIN_REPLAY_SMC_MESSAGES_H

#include "explain/replay/smc/types.h"

void smcplay_sent(struct smcplay *s, struct smcplay_link *l, const struct explain_packet *p);
void smcplay_got(struct smcplay *s, struct smcplay_link *l, size_t i, const struct explain_packet *p);

#endif
