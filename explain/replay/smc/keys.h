/* SPDX-License-Identifier: BSD-2-Clause */
/* The endpoint's own values: the recorded ones and the engine's. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_KEYS_H
#define NORNIC_EXPLAIN_REPLAY_SMC_KEYS_H

#include "explain/replay/smc/types.h"

/* Those of a message of that type; `*count` of them. NULL: it has none. */
const struct smcplay_key_place *smcplay_key_places(const uint8_t *message, unsigned *count);
/* RTokens of an ADD LINK of version 2, as far as they are in the message: how many. */
unsigned smcplay_rtokens(const uint8_t *message);
struct smcr_rtoken2 smcplay_rtoken(const uint8_t *message, unsigned i);
void smcplay_keys_pair(struct smcplay *s, unsigned link, const uint32_t rkey[2], const uint64_t va[2]);
const struct smcplay_key *smcplay_key_of(const struct smcplay *s, unsigned link, uint32_t rkey);
/* What the two messages say of the endpoint's own values, once they were compared. */
void smcplay_keys_learn(struct smcplay *s, struct smcplay_link *l, const uint8_t *recorded,
                        const uint8_t *engine);
/* The endpoint's end of a link was told: the link of the recorded QPN has that one in the engine, unless it
 * has one already. NULL: there is no such link. */
struct smcplay_link *smcplay_link_made(struct smcplay *s, const struct nornic_addr *gid,
                                       uint32_t recorded_qpn, uint32_t engine_qpn);
/* A link of the group of `via` that the engine has; NULL: none. */
struct smcplay_link *smcplay_link_by_number(struct smcplay *s, const struct smcplay_link *via,
                                            uint8_t number);
/* Puts the engine's values into a message of the peer's. */
void smcplay_keys_translate(struct smcplay *s, const struct smcplay_link *l, uint8_t *message);

#endif
