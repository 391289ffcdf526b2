/* SPDX-License-Identifier: BSD-2-Clause */
/* The assets that an end must have had. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_LEARN_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_LEARN_H

#include "explain/replay/iwarp/types.h"

/* Learns the assets that the end must have had. 0 or -ENOMEM; explain_iwr_end_free() after either, when the
 * engine is gone. */
int explain_iwr_learn(struct iwr_end *e, struct iwr_conn *conn, uint8_t side);
void explain_iwr_end_free(struct iwr_end *e);
struct iwr_region *explain_iwr_region(struct iwr_end *e, uint32_t stag);

#endif
