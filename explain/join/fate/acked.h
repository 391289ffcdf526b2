/* SPDX-License-Identifier: BSD-2-Clause */
/* What acknowledgements of TCP tell. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_ACKED_H
#define NORNIC_EXPLAIN_JOIN_FATE_ACKED_H

#include "explain/join/types.h"

/* Says of the segments from the end of capture `from` that did not come what the acknowledgements tell. 0 or
 * -ENOMEM. */
int join_judge_segments(struct explain_join *j, unsigned from);

#endif
