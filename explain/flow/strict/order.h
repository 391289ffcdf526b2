/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules about the order of packets. */
#ifndef NORNIC_EXPLAIN_FLOW_STRICT_ORDER_H
#define NORNIC_EXPLAIN_FLOW_STRICT_ORDER_H

#include "explain/flow/pair/types.h"

/* Judges a packet before the analysis takes it into the pair. */
void explain_strict_request(struct explain_pair *pair, unsigned direction,
                            const struct explain_packet *packet, struct explain_meaning *m);
void explain_strict_response(struct explain_pair *pair, unsigned direction,
                             const struct explain_packet *packet, struct explain_meaning *m);

#endif
