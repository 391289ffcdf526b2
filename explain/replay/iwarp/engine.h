/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine in the place of an end. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_ENGINE_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_ENGINE_H

#include "explain/replay/iwarp/types.h"

/* Plays all events. 0 or -errno. */
int explain_iwr_play(struct iwr_end *e);
void explain_iwr_engine_free(struct iwr_end *e);

#endif
