/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID table follows the kernel's addresses (ROCE-AH-10): it holds what the interface, and the VLAN
 * interfaces on it, own now, and nothing else. Internal to host/. */
#ifndef NORNIC_HOST_GIDS_H
#define NORNIC_HOST_GIDS_H

#include <stdatomic.h>

#include "host/dev/sources.h"
#include "net/error.h"
#include "net/kernel/watch.h"
#include "roce/roce.h"

struct host_dev;

struct host_gids {
    struct host_source source;
    struct host_source retry; /* a timer that runs as long as addresses are refused */
    struct host_dev *dev;
    struct net_watch *watch;
    bool roce_v1;                /* each address gets a RoCEv1 entry too */
    bool is_full;                /* the interface has more addresses than the table has room */
    bool is_gone;                /* the interface is no more */
    bool is_refused;             /* the port does not listen to an address that it may have later */
    struct nornic_addr refused;  /* the last one that it did not listen to; zero: none */
    int refused_err;             /* why not: -errno, */
    struct nornic_error refusal; /* and a sentence */
    atomic_uint changes;         /* of the interface or its addresses, that were seen */
};

/* Fills the table of a device on an interface and keeps it up to date from now on. `only`: the one address
 * that it is to hold; zero: all. 0 or -errno with a sentence in `why`. */
int host_gids_open(struct host_dev *dev, const struct nornic_addr *only, struct host_gids **out, bool roce_v1,
                   struct nornic_error *why);
void host_gids_close(struct host_gids *gids);

/* Which interface owns the address that GID `index` names; 0: there is no such GID. Under the device's
 * lock. */
unsigned host_gids_ifindex(const struct host_gids *gids, unsigned index);
/* Writes each interface that has an address with an entry, `max` at most. Returns the number. Under the
 * device's lock. */
unsigned host_gids_ifindexes(const struct host_gids *gids, unsigned *out, unsigned max);

#endif
