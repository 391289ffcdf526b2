/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a capture holds once more. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_TWICE_H
#define NORNIC_EXPLAIN_JOIN_KEEP_TWICE_H

#include "explain/join/types.h"

/* Leaves out the packets that either capture holds once more; the others have to be grouped anew if any was.
 * 0 or -ENOMEM. */
int join_drop_twice(struct explain_join *j, bool *has_dropped);

#endif
