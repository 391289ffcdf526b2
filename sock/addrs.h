/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of the machine's interfaces. Internal to sock/ and service/; under the runtime's lock. */
#ifndef NORNIC_SOCK_ADDRS_H
#define NORNIC_SOCK_ADDRS_H

#include "smcr/smcr.h"

/* Asks the kernel anew; what was known stays known where that fails. And lets go of it. */
void smcr_addrs_read(void);
void smcr_addrs_forget(void);
/* All networks that interface `ifname` is attached to. Returns how many. */
unsigned smcr_addrs_networks(const char *ifname, struct smcr_network out[SMCR_MAX_NETWORKS]);
/* The interface that owns an address, until the next smcr_addrs_read(); NULL: none. */
const char *smcr_addrs_owner(const struct nornic_addr *addr);

#endif
