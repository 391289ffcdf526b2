/* SPDX-License-Identifier: BSD-2-Clause */
/* Recorded CLC messages, one by one. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_CLC_H
#define NORNIC_EXPLAIN_REPLAY_SMC_CLC_H

#include "explain/replay/smc/types.h"

void smcplay_clc(struct smcplay *s, size_t i, const struct explain_packet *p, struct smcplay_conn *c,
                 bool is_own);
/* The endpoint tells of a key: the connection whose buffer that is has its turn. */
void smcplay_clc_release(struct smcplay *s, uint32_t rkey);

#endif
