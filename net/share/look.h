/* SPDX-License-Identifier: BSD-2-Clause */
/* Who shares addresses here, for who only wants to know. */
#ifndef NORNIC_NET_SHARE_LOOK_H
#define NORNIC_NET_SHARE_LOOK_H

#include "net/error.h"
#include "net/port.h"
#include "net/share/table.h"

typedef void net_share_visit(void *ctx, unsigned slot, const struct net_share_record *record);

/* Calls `visit` for each udp port of this network namespace that shares its addresses where this user would,
 * in the order of their slots. Nothing is changed. 0, or -errno with a sentence: nobody could tell. */
int net_share_look(net_share_visit *visit, void *ctx, struct nornic_error *why);

/* Asks the holder of a slot for its port's counters, and waits for `wait_ns` at the most. False: it did not
 * answer. */
bool net_share_ask(unsigned slot, uint64_t wait_ns, struct net_port_counters *out);

#endif
