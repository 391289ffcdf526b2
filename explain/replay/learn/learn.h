/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about one endpoint of a capture: its queue pairs, the work requests that it must have posted, the
 * memory that it must have registered, and its answers. */
#ifndef NORNIC_EXPLAIN_REPLAY_LEARN_LEARN_H
#define NORNIC_EXPLAIN_REPLAY_LEARN_LEARN_H

#include "explain/replay/learn/endpoint.h"

/* Learns all of it; borrows the tape, and the scenario, which adds to the packets (NULL: nothing). 0;
 * -ENOMEM; -ENOENT (no packet from or to that address, or no QP that the scenario names), -E2BIG (more
 * than EXPLAIN_QPS_MAX queue pairs, more flows than the analysis follows at once, a key names a range of
 * more than EXPLAIN_REGION_MAX_BYTES, a READ is longer than EXPLAIN_READ_MAX_BYTES), both with a sentence
 * in `why`. explain_endpoint_free() after any of them. */
int explain_learn(const struct explain_tape *tape, const struct nornic_addr *addr,
                  const struct explain_scenario *scenario, struct explain_endpoint *endpoint,
                  struct nornic_error *why);
void explain_endpoint_free(struct explain_endpoint *endpoint);

#endif
