/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of DDP. */
#ifndef NORNIC_EXPLAIN_IWARP_DDP_H
#define NORNIC_EXPLAIN_IWARP_DDP_H

#include "explain/iwarp/types.h"

/* A segment that came whole and undamaged. */
void explain_iwarp_segment(struct iwarp_view *v, struct iwarp_fpdu *f);

#endif
