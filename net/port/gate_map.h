/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The maps that the BPF programs in front of a port's ring share with this library: rules and counters. */
#ifndef NORNIC_NET_GATE_MAP_H
#define NORNIC_NET_GATE_MAP_H

#include <linux/types.h>

#define NET_GATE_RULES_MAP "nornic_rules"
#define NET_GATE_STATE_MAP ".bss" /* where the programs keep their struct net_gate_state, and nothing else */
#define NET_GATE_RULES_MAX 32768  /* numbers that take packets: the queue pairs of a device, and two */

/* enum net_steer and its window, as net/port.h has them: net/port/gate.c asserts it. */
#define NET_GATE_PEER         1
#define NET_GATE_LIMITED      3
#define NET_GATE_WINDOW_SHIFT 24 /* of nanoseconds */

/* The rule of a destination QPN (the key, in host order). A QPN without a rule takes no packets. */
struct net_gate_rule {
    __u32 whose;   /* enum net_steer, never NET_STEER_NOBODY */
    __u32 peer[4]; /* NET_STEER_PEER: the source address, IPv4 as ::ffff:a.b.c.d, in network order */
    /* NET_STEER_LIMITED, written by the program: the last window, and the packets that passed in it */
    __u32 window, passed;
};

enum net_gate_drop { NET_GATE_NO_QP, NET_GATE_STRANGER, NET_GATE_TOO_MANY, NET_GATE_DROPS };

/* Mapped into the process: counters are read, and the gate is opened and closed, without a call. */
struct net_gate_state {
    __u64 dropped[NET_GATE_DROPS];
    __u32 is_closed; /* 0: all pass, before the first rule */
    __u32 limit;     /* NET_STEER_LIMITED: so many in a window */
};

#endif
