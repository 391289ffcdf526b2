/* SPDX-License-Identifier: BSD-2-Clause */
/* The events of TCP connections. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_STREAMS_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_STREAMS_H

#include "explain/replay/iwarp/types.h"

/* All TCP connections of the tape that begin in it and show an MPA frame. 0 or -ENOMEM; free it after
 * either. */
int explain_iwr_read(const struct explain_tape *tape, struct iwr_conns *conns);
void explain_iwr_conns_free(struct iwr_conns *conns);
/* The octets of the MPA frame of a side; NULL: there is none. */
const struct iwr_event *explain_iwr_frame_of(const struct iwr_conn *conn, uint8_t side);

#endif
