/* SPDX-License-Identifier: BSD-2-Clause */
/* The clocks of two captures, laid together. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_ALIGN_H
#define NORNIC_EXPLAIN_JOIN_MATCH_ALIGN_H

#include "explain/join/types.h"

/* Finds the clock, and at which end each lane begins. 0; -ENOMEM; -ENODATA: of no packet is it certain. */
int join_align(struct explain_join *j);

#endif
