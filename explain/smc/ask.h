/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of LLC and their responses. */
#ifndef NORNIC_EXPLAIN_SMC_ASK_H
#define NORNIC_EXPLAIN_SMC_ASK_H

#include "explain/smc/types.h"

/* A request; the caller adds what depends on its type. `is_due`: it must be answered. */
struct smc_request *explain_smc_ask(struct smc_view *v, uint8_t type, bool is_due);
/* The request that a response is to, if it is the newest; NULL: it is to one before, or to none. */
struct smc_request *explain_smc_answer(struct smc_view *v, uint8_t type);

#endif
