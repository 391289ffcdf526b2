/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: UD, and the messages of the connection manager. */
#ifndef NORNIC_EXPLAIN_FLOW_DATAGRAM_H
#define NORNIC_EXPLAIN_FLOW_DATAGRAM_H

#include "explain/flow/pair/types.h"

/* Fills the meaning of a datagram. */
void explain_datagram(struct explain_flows *flows, const struct explain_packet *packet,
                      struct explain_meaning *m);

#endif
