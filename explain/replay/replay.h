/* SPDX-License-Identifier: BSD-2-Clause */
/* A replay: the endpoint of a capture is rebuilt with the engine and gets the packets of the other side, in
 * the recorded order and at the recorded times. Its own packets are compared with those of the recorded
 * endpoint. */
#ifndef NORNIC_EXPLAIN_REPLAY_REPLAY_H
#define NORNIC_EXPLAIN_REPLAY_REPLAY_H

#include "explain/replay/learn/endpoint.h"
#include "explain/replay/values.h"

/* Returns the words and the weight of an outcome. */
const struct explain_outcome *explain_replay_outcome_of(enum explain_replay_outcome outcome);

/* 0, whatever the comparison says; or -errno with a sentence in `why`. */
int explain_replay(const struct explain_tape *tape, const struct explain_endpoint *endpoint,
                   const struct explain_replay_config *config, struct explain_replay_result *result,
                   struct nornic_error *why);

#endif
