/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses: from the ABI's form to nornic's, and back. Internal to verbs/. */
#ifndef NORNIC_VERBS_AV_H
#define NORNIC_VERBS_AV_H

#include "verbs/verbs.h"

/* How long the network is asked for a neighbour's MAC, where a port has to know it. */
#define VERBS_RESOLVE_NS (2 * NS_PER_S)

/* The address vector of `attr`, with the next hop's MAC. 0; -EINVAL (no GRH, which RoCE cannot do without; a
 * port other than 1; an SL above 7; no such GID) or what nornic_dev_resolve() says. */
int verbs_av_of(struct verbs_context_own *own, const struct ibv_ah_attr *attr, struct nornic_av *out);

/* The way back. */
void verbs_ah_attr_of(const struct nornic_av *av, struct ibv_ah_attr *out);

#endif
