/* SPDX-License-Identifier: BSD-2-Clause */
/* The places of the peer's memory, as its CLC and LLC messages tell. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_RMBS_H
#define NORNIC_EXPLAIN_REPLAY_SMC_RMBS_H

#include "explain/replay/smc/types.h"

/* The RMB with that key on the link, known or new. 0 or -ENOMEM. */
int smcplay_rmb_of(struct smcplay *s, const struct smcplay_link *link, uint32_t rkey, uint64_t va,
                   unsigned *id);
/* A message of LLC of the peer's that came on `via`, after what it tells of links is known. 0 or -ENOMEM. */
int smcplay_rmbs_learn(struct smcplay *s, const struct smcplay_link *via, const uint8_t *message);
/* The peer's element on the link; false: it is not known there. */
bool smcplay_place_of(const struct smcplay *s, const struct smcplay_conn *c, const struct smcplay_link *link,
                      struct smcplay_place *out);

#endif
