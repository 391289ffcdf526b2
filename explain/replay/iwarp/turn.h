/* SPDX-License-Identifier: BSD-2-Clause */
/* Names of memory, turned to those of the engine and back. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_TURN_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_TURN_H

#include "explain/replay/iwarp/types.h"

/* An FPDU of the peer, `bytes` a copy of its own, as the engine is to get it: STags are the engine's. */
void explain_iwr_turn(struct iwr_end *e, const struct iwr_event *event, uint8_t *bytes);
/* What the engine's Terminate copies, as the peer would know it. */
void explain_iwr_turn_back(const struct iwr_end *e, struct iwr_message *terminate);

#endif
