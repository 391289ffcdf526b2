/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages of both, compared. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_MATCH_H
#define NORNIC_EXPLAIN_REPLAY_SMC_MATCH_H

#include "explain/replay/smc/types.h"

/* Compares the message in the recorded packet, `at` bytes into it, with the engine's. */
void smcplay_compare(const struct explain_packet *p, uint32_t at, const uint8_t *engine, size_t engine_bytes,
                     struct explain_smc_compared *c);
void smcplay_tell(struct smcplay *s, struct explain_smc_compared *c, enum explain_smc_replay_outcome outcome);
/* "LLC ADD LINK request" of a message's bytes. */
const char *smcplay_message_name(const uint8_t *message);
uint8_t smcplay_link_number(const struct smcplay *s, const struct smcplay_link *l);

#endif
