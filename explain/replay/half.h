/* SPDX-License-Identifier: BSD-2-Clause */
/* One half of a queue pair in a replay. */
#ifndef NORNIC_EXPLAIN_REPLAY_HALF_H
#define NORNIC_EXPLAIN_REPLAY_HALF_H

#include "explain/replay/types.h"

/* Makes a half, in RTS; its last region is its scratch. 0 or -errno; explain_replay_half_close() after
 * either. */
int explain_replay_half_open(struct replay *r, struct replay_qp *q, struct replay_half *h, bool responds);
void explain_replay_half_close(struct replay_half *h);
/* A frame that the half has to send, or NULL; the caller frees it. */
struct replay_frame *explain_replay_half_pull(struct replay *r, struct replay_half *h);
void explain_replay_half_feed(struct replay *r, struct replay_half *h, uint8_t *bytes, uint32_t len_bytes);

#endif
