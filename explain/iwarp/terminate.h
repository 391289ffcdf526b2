/* SPDX-License-Identifier: BSD-2-Clause */
/* Terminates. */
#ifndef NORNIC_EXPLAIN_IWARP_TERMINATE_H
#define NORNIC_EXPLAIN_IWARP_TERMINATE_H

#include "explain/iwarp/types.h"

void explain_iwarp_terminate(struct iwarp_view *v, struct iwarp_fpdu *f);

#endif
