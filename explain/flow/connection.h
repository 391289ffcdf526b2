/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of the CM. */
#ifndef NORNIC_EXPLAIN_FLOW_CONNECTION_H
#define NORNIC_EXPLAIN_FLOW_CONNECTION_H

#include "explain/flow/pair/types.h"

/* A MAD. The part that the capture cut off is 0 in `bytes`: only the fields that `message` holds are to be
 * used. */
struct explain_mad {
    uint8_t bytes[ROCE_MAD_BYTES];
    /* of the CM, as far as it is there; NULL: of none, or nothing is there */
    const struct explain_layer *message;
    bool is_head_whole; /* the envelope is */
};

/* Returns a pair of two ends that said so, with the PSN that each begins with. NULL: no memory. */
struct explain_pair *explain_pair_begin(struct explain_flows *flows, const struct explain_network *network,
                                        const struct nornic_addr addr[2], const uint32_t qpn[2],
                                        const uint32_t starting_psn[2], uint8_t service);
/* Returns the connection that a CM message belongs to, with the message counted in; a message that was sent
 * before is remarked. NULL: its REQ was not seen. `mad` is the envelope, the message follows it. */
struct explain_cm *explain_connection(struct explain_flows *flows, const struct explain_packet *packet,
                                      const struct explain_mad *mad, struct explain_meaning *m);

#endif
