/* SPDX-License-Identifier: BSD-2-Clause */
/* What changes at an interface while a program runs: its addresses, those of the VLAN interfaces on top of
 * it, its link, MAC and MTU (rtnetlink). Internal to the library. */
#ifndef NORNIC_NET_KERNEL_WATCH_H
#define NORNIC_NET_KERNEL_WATCH_H

#include "net/kernel/kernel.h"

/* An address that frames of the interface may come from. */
struct net_watch_addr {
    struct nornic_addr addr;
    struct nornic_mac mac; /* of the interface that has the address */
    uint16_t vlan_id;      /* 0: the watched interface itself; else of the VLAN interface */
    unsigned ifindex;      /* which of them */
};

enum net_watch_kind {
    NET_WATCH_ADDR_ADDED,   /* `addr`; a tentative one only once it is valid */
    NET_WATCH_ADDR_REMOVED, /* `addr` */
    NET_WATCH_ADDR_MAC,     /* `addr`, now with another MAC */
    NET_WATCH_LINK_UP,      /* frames can pass (IFF_RUNNING) */
    NET_WATCH_LINK_DOWN,
    NET_WATCH_MAC,  /* `interface.mac` is another */
    NET_WATCH_MTU,  /* `interface.mtu_bytes` is another */
    NET_WATCH_GONE, /* the interface is no more; nothing follows */
};

struct net_watch_change {
    enum net_watch_kind kind;
    struct net_watch_addr addr;     /* ADDR_... only */
    struct net_interface interface; /* the watched one as it is now; GONE: as it last was */
};

/* Called with each change; may not close the watch. */
typedef void net_watch_hook(void *ctx, const struct net_watch_change *change);

struct net_watch;

/* Watches an interface of the caller's network namespace, wherever the caller goes later. 0 or -errno with a
 * sentence in `why`. */
int net_watch_open(unsigned ifindex, struct net_watch **out, struct nornic_error *why);
void net_watch_close(struct net_watch *watch);

/* Polls readable (POLLIN) when something may have changed. */
int net_watch_fd(const struct net_watch *watch);

/* Reports the changes since the last call, without waiting; the first call reports the link's state, the MTU
 * and all addresses (link-local, then IPv4, then other IPv6; of the interface, then of each VLAN interface).
 * Removals come before additions. The kernel's notifications only say that something happened: what
 * changed is found by comparing what there is with what there was, so a lost one (ENOBUFS) loses nothing.
 * 0 or -errno (memory, the socket): then nothing was reported and the next call tries again. */
int net_watch_read(struct net_watch *watch, net_watch_hook *hook, void *ctx);

/* The interface as of the last read; NULL: it is not there. Valid until the next. */
const struct net_interface *net_watch_interface(const struct net_watch *watch);

/* All addresses as of the last read, in the order of the first; valid until the next. */
const struct net_watch_addr *net_watch_addrs(const struct net_watch *watch, unsigned *count);

#endif
