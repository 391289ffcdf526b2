/* SPDX-License-Identifier: BSD-2-Clause */
/* CDC messages and RDMA writes. */
#ifndef NORNIC_EXPLAIN_SMC_DATA_H
#define NORNIC_EXPLAIN_SMC_DATA_H

#include "explain/smc/types.h"

void explain_smc_cdc(struct smc_view *v, const struct explain_layer *layer);
void explain_smc_rdma_write(struct smc_view *v);

#endif
