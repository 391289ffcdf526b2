/* SPDX-License-Identifier: BSD-2-Clause */
/* Acknowledgements of TCP as evidence. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_ACKED_H
#define NORNIC_EXPLAIN_JOIN_FATE_ACKED_H

#include "explain/join/types.h"

/* Judges the segments from the end of capture `from` that did not come by the acknowledgements. 0 or
 * -ENOMEM. */
int join_judge_segments(struct explain_join *j, unsigned from);

#endif
