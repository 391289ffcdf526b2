/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a responder in a replay. */
#ifndef NORNIC_EXPLAIN_REPLAY_MEMORY_H
#define NORNIC_EXPLAIN_REPLAY_MEMORY_H

#include "explain/replay/types.h"

/* Before a READ or an atomic is fed: gives memory the content that the recorded answer has. After a WRITE:
 * notes the bytes that it wrote. */
void explain_replay_memory_prepare(struct replay *r, struct replay_qp *q, size_t i,
                                   const struct explain_packet *p);
void explain_replay_memory_written(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
/* The key by which the responder's engine knows a recorded R_Key; 0: none. */
uint32_t explain_replay_own_key(const struct replay *r, const struct replay_half *h, uint32_t rkey);

#endif
