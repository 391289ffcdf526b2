/* SPDX-License-Identifier: BSD-2-Clause */
/* Which networks a Proposal names and which of ours they are: SMCR-CLC-22, FC-02, SEC-02, SEC-08. */
#ifndef NORNIC_SMCR_NETWORKS_H
#define NORNIC_SMCR_NETWORKS_H

#include "smcr/clc/clc.h"

/* Whether `addr` lies in the network. */
bool smcr_network_has(const struct smcr_network *network, const struct nornic_addr *addr);

/* Fills in what a Proposal says of the networks of a connection from `local` (SMCR-CLC-22, CLC-23). False:
 * there is nothing to say. `literal_mask`: the subnet's field takes the mask (A1). */
bool smcr_networks_propose(const struct smcr_network *networks, unsigned count,
                           const struct nornic_addr *local, bool literal_mask, struct smcr_clc_proposal *out);

/* Whether one of the networks is one that the Proposal names: the same number and the same length
 * (SMCR-FC-02). `peer`: the client's address of the TCP connection. */
bool smcr_networks_match(const struct smcr_network *networks, unsigned count,
                         const struct smcr_clc_proposal *proposal, const struct nornic_addr *peer);

#endif
