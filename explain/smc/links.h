/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages. */
#ifndef NORNIC_EXPLAIN_SMC_LINKS_H
#define NORNIC_EXPLAIN_SMC_LINKS_H

#include "explain/smc/types.h"

void explain_smc_llc(struct smc_view *v, const struct explain_layer *layer);

#endif
