/* SPDX-License-Identifier: BSD-2-Clause */
/* Outcomes of comparisons. */
#ifndef NORNIC_EXPLAIN_REPLAY_OUTCOME_H
#define NORNIC_EXPLAIN_REPLAY_OUTCOME_H

#include "explain/replay/types.h"

/* Tells and counts one comparison; either frame may be NULL. */
void explain_replay_tell(struct replay *r, const struct replay_qp *q, enum explain_replay_outcome outcome,
                         const struct explain_packet *recorded, const struct replay_frame *engine,
                         const struct explain_compared *diffs);
void explain_replay_frame_packet(const struct replay_frame *f, struct explain_packet *p);

#endif
