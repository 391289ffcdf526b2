/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a connected QP. */
#ifndef NORNIC_EXPLAIN_FLOW_REQUEST_H
#define NORNIC_EXPLAIN_FLOW_REQUEST_H

#include "explain/flow/pair/types.h"

/* Fills the meaning of a request. */
void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m);

#endif
