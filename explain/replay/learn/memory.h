/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that an endpoint must have had. */
#ifndef NORNIC_EXPLAIN_REPLAY_LEARN_MEMORY_H
#define NORNIC_EXPLAIN_REPLAY_LEARN_MEMORY_H

#include "explain/replay/learn/endpoint.h"

int explain_learn_memory(const struct explain_tape *tape, const struct explain_scenario *scenario,
                         struct explain_endpoint *endpoint, struct nornic_error *why);
/* The region of a key, or NULL. */
struct explain_region *explain_region_find(const struct explain_endpoint *endpoint, uint32_t rkey);

#endif
