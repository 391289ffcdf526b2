/* SPDX-License-Identifier: BSD-2-Clause */
/* What the capture tells of the endpoint. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_LEARN_H
#define NORNIC_EXPLAIN_REPLAY_SMC_LEARN_H

#include "explain/replay/smc/types.h"

/* The networks that a Proposal names, seen from `local`. Returns how many of them, at most `max`. */
unsigned smcplay_networks(const struct explain_packet *p, const struct nornic_addr *local,
                          struct smcr_network *out, unsigned max);
/* The endpoint with that address. 0, -ENOMEM or -E2BIG with a sentence; `is_found` says whether it is
 * there. */
int smcplay_learn(struct smcplay *s, const struct nornic_addr *addr, struct nornic_error *why);

#endif
