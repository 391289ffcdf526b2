/* SPDX-License-Identifier: BSD-2-Clause */
/* Whose packets the sockets of a udp port take (net_port_steer()): the rules, and their short form that
 * net/udp/filter.h makes programs of. A filter is made anew at once when it would keep out what is wanted,
 * and a little later when it lets in what is not, so that a thousand queue pairs that come or go cost a few.
 *
 * What everybody may send, to QP 1 and to groups, gets its share of the way up (NET_STEER_LIMIT) by chance,
 * as a classic program cannot count: when more than the share has come, half of it is let in, then half of
 * that, and twice as much in each window that stays well below. Internal to net/. */
#ifndef NORNIC_NET_UDP_GATE_H
#define NORNIC_NET_UDP_GATE_H

#include "net/port.h"
#include "net/udp/filter.h"

/* Of a number (BTH destination QP). */
struct net_udp_rule {
    uint32_t qpn;
    enum net_steer whose; /* never NET_STEER_NOBODY */
    struct nornic_addr peer;
};

/* Begins as zeros: open, all may come. */
struct net_udp_gate {
    bool is_closed;             /* somebody has said what is wanted */
    bool has_forgotten;         /* no memory for a rule: the gate stands open for good */
    bool is_stale;              /* filters are to be made anew */
    uint64_t stale_at_ns;       /* but not before */
    struct net_udp_rule *rules; /* ascending by number */
    uint32_t count;
    size_t room;
    struct net_udp_wanted wanted; /* as of the last net_udp_gate_sum() */
    uint64_t window_ns;           /* of what is limited: when it began, */
    uint32_t window_pkts;         /* and what has come in it */
};

void net_udp_gate_deinit(struct net_udp_gate *gate);

/* net_port_steer(). Returns whether the filters must be made anew before the call to the port returns. */
bool net_udp_gate_steer(struct net_udp_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                        const struct nornic_addr *peer);

/* Other processes have these slots of the number range. */
void net_udp_gate_set_slots(struct net_udp_gate *gate, const uint8_t *slots, unsigned count);

/* Counts what came, if it is limited: `payload` from the BTH on, of `pkts` packets. */
void net_udp_gate_note(struct net_udp_gate *gate, const uint8_t *payload, uint32_t bytes, uint32_t pkts);

/* Once a round: ends a window that is over. Returns whether the filters are to be made anew now. */
bool net_udp_gate_round(struct net_udp_gate *gate, uint64_t now_ns);

/* When a round is due, though nothing comes; NET_TIME_NONE: never. */
uint64_t net_udp_gate_deadline_ns(const struct net_udp_gate *gate);

/* Brings `wanted` up to date. `now_ns`: of the last round will do. False: all may come. */
bool net_udp_gate_sum(struct net_udp_gate *gate, uint64_t now_ns);

#endif
