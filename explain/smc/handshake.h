/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages. */
#ifndef NORNIC_EXPLAIN_SMC_HANDSHAKE_H
#define NORNIC_EXPLAIN_SMC_HANDSHAKE_H

#include "explain/smc/types.h"

void explain_smc_clc(struct smc_view *v, const struct explain_layer *layer);
/* A SYN with the option of SMC-R. */
void explain_smc_offer(struct smc_view *v);
/* A SYN-ACK without it: if its SYN had it, TCP goes on alone. */
void explain_smc_no_answer(struct smc_view *v);

#endif
