/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a capture holds once more. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_TWICE_H
#define NORNIC_EXPLAIN_JOIN_KEEP_TWICE_H

#include "explain/join/types.h"

/* Leaves out what either capture holds once more; what is kept has to be grouped anew if anything was.
 * 0 or -ENOMEM. */
int join_drop_twice(struct explain_join *j, bool *has_dropped);

#endif
