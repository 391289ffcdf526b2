/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a connected QP. */
#ifndef NORNIC_EXPLAIN_FLOW_RESPONSE_H
#define NORNIC_EXPLAIN_FLOW_RESPONSE_H

#include "explain/flow/pair/types.h"

/* Fills the meaning of an answer. */
void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m);

#endif
