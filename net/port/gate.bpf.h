/* SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause) */
/* The gate, a part of two programs: xdp/steer.bpf.c in front of an AF_XDP socket, and net/port/filter.bpf.c
 * in front of a packet socket. The programs find the headers. The gate decides which packet passes.
 *
 * A ring has few places, and the fastest sender gets most of them. So the gate drops packets without a
 * queue pair, or from a stranger, before they take a place. Otherwise packets of the peer would be lost.
 * A loss costs a round trip and the retransmission of all later packets. */
#ifndef NORNIC_NET_GATE_BPF_H
#define NORNIC_NET_GATE_BPF_H

#include <linux/bpf.h>
#include <stdbool.h>

#include <bpf/bpf_endian.h>
#include <bpf/bpf_helpers.h>

#include "net/port/gate_map.h"

#define ROCE_UDP_PORT   4791
#define ROCE_V1_TYPE    0x8915
#define IPV4_NO_OPTIONS 5      /* header words */
#define IPV4_FRAGMENT   0x3fff /* more fragments, or an offset */
#define GRH_BYTES       40
#define GRH_SGID_OFFSET 8
#define BTH_BYTES       12
#define BTH_QPN_OFFSET  4 /* of 4 bytes of which the last 3 are the number */

/* Rules by QPN. No memory is taken in advance: most devices have few queue pairs. */
struct {
    __uint(type, BPF_MAP_TYPE_HASH);
    __uint(max_entries, NET_GATE_RULES_MAX);
    __uint(map_flags, BPF_F_NO_PREALLOC);
    __type(key, __u32);
    __type(value, struct net_gate_rule);
} nornic_rules SEC(".maps");

struct net_gate_state nornic_gate;

/* A source address in the form of rules. */
struct gate_source {
    __u32 b[4];
};

static __always_inline struct gate_source gate_source_v4(__u32 saddr)
{
    return (struct gate_source){{0, 0, bpf_htonl(0xffff), saddr}};
}

static __always_inline bool gate_drop(enum net_gate_drop reason)
{
    __sync_fetch_and_add(&nornic_gate.dropped[reason], 1);
    return false;
}

/* Returns whether the packet is within the limit of this window. Two CPUs that count at once may let one
 * more pass, which does no harm. */
static __always_inline bool gate_is_in_limit(struct net_gate_rule *rule)
{
    __u32 window = (__u32)(bpf_ktime_get_ns() >> NET_GATE_WINDOW_SHIFT);
    if (rule->window != window) {
        rule->window = window;
        rule->passed = 0;
    }
    return rule->passed++ < nornic_gate.limit;
}

/* Returns whether a packet may pass. `qpn_word` is the word of its BTH with the destination QP, in network
 * order. Counts a drop. */
static __always_inline bool gate_admits(__be32 qpn_word, const struct gate_source *source)
{
    __u32 qpn = bpf_ntohl(qpn_word) & 0xffffff;
    struct net_gate_rule *rule = bpf_map_lookup_elem(&nornic_rules, &qpn);
    if (!rule)
        return gate_drop(NET_GATE_NO_QP);
    if (rule->whose == NET_GATE_PEER && (rule->peer[0] != source->b[0] || rule->peer[1] != source->b[1] ||
                                         rule->peer[2] != source->b[2] || rule->peer[3] != source->b[3]))
        return gate_drop(NET_GATE_STRANGER);
    if (rule->whose == NET_GATE_LIMITED && !gate_is_in_limit(rule))
        return gate_drop(NET_GATE_TOO_MANY);
    return true;
}

#endif
