/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R of a capture, replayed: one peer of its conversations is rebuilt with the engine of smcr/ and
 * devices of roce/ under virtual time, gets the packets of the other peer (CLC messages, RDMA writes, LLC
 * and CDC messages, RC acknowledgements), and each CLC, LLC and CDC message that it sends is compared with
 * the recorded one.
 *
 * Of both versions; only link groups with their first contact in the capture. The others are counted.
 * Packets below these messages are explain_replay()'s. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_REPLAY_H
#define NORNIC_EXPLAIN_REPLAY_SMC_REPLAY_H

#include "explain/replay/smc/values.h"
#include "explain/replay/tape.h"
#include "net/error.h"

const struct explain_outcome *explain_smc_replay_outcome_of(enum explain_smc_replay_outcome outcome);
/* The conversations of the peer with address `addr` (of its TCP connections, or a GID of its). 0, whatever
 * the comparison says, and when there is none (all of `result` is 0); or -errno with a sentence in `why`. */
int explain_smc_replay(const struct explain_tape *tape, const struct nornic_addr *addr,
                       const struct explain_smc_replay_config *config,
                       struct explain_smc_replay_result *result, struct nornic_error *why);

#endif
