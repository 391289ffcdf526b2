/* SPDX-License-Identifier: BSD-2-Clause */
/* The fates of packets. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_FATE_H
#define NORNIC_EXPLAIN_JOIN_FATE_FATE_H

#include "explain/join/types.h"

/* Tells the fate of the packets that one capture has. 0 or -ENOMEM. */
int join_judge(struct explain_join *j);

#endif
