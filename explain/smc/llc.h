/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages. */
#ifndef NORNIC_EXPLAIN_SMC_LLC_H
#define NORNIC_EXPLAIN_SMC_LLC_H

#include "explain/smc/types.h"

void explain_smc_llc(struct smc_view *v, const struct explain_layer *layer);

#endif
