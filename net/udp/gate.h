/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets that the sockets of a udp port take (net_port_steer()): the rules, and their short form that
 * net/udp/filter.h makes programs of. A filter is made anew at once when it would keep out wanted packets,
 * and a little later when it lets in others, so that a thousand queue pairs that come or go cost a few.
 *
 * Packets that everybody may send, to QP 1 and to groups, get a share of the way up (NET_STEER_LIMIT). A
 * classic program cannot count, so chance decides: when more than the share has come, half of it is let in,
 * then half of that, and twice as much in each window that stays well below. The share that earlier windows
 * left unused counts, up to NET_UDP_SPARE_MAX: after a late round the packets of several windows come at
 * once. Internal to net/. */
#ifndef NORNIC_NET_UDP_GATE_H
#define NORNIC_NET_UDP_GATE_H

#include "net/port.h"
#include "net/udp/filter.h"

#define NET_UDP_SPARE_MAX (3 * NET_STEER_LIMIT)

/* Of a number (BTH destination QP). */
struct net_udp_rule {
    uint32_t qpn;
    enum net_steer whose; /* never NET_STEER_NOBODY */
    struct nornic_addr peer;
};

/* Begins as zeros: open, all may come. */
struct net_udp_gate {
    bool is_closed;             /* there was a rule */
    bool has_forgotten;         /* no memory for a rule: the gate stands open for good */
    bool is_stale;              /* filters are to be made anew */
    uint64_t stale_at_ns;       /* but not before */
    struct net_udp_rule *rules; /* ascending by number */
    uint32_t count;
    size_t room;
    struct net_udp_wanted wanted; /* as of the last net_udp_gate_sum() */
    uint64_t window_ns;           /* of limited packets: when it began, */
    uint32_t window_pkts;         /* and the packets that came in it */
    uint32_t spare_pkts;          /* that may come beyond the share: unused by the windows before */
};

void net_udp_gate_deinit(struct net_udp_gate *gate);

/* net_port_steer(). Returns whether the filters must be made anew before the call to the port returns. */
bool net_udp_gate_steer(struct net_udp_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                        const struct nornic_addr *peer);

/* Other processes have these slots of the number range. */
void net_udp_gate_set_slots(struct net_udp_gate *gate, const uint8_t *slots, unsigned count);

/* Counts packets that came, if they are limited: `payload` from the BTH on, of `pkts` packets. */
void net_udp_gate_note(struct net_udp_gate *gate, const uint8_t *payload, uint32_t bytes, uint32_t pkts);

/* Once a round: ends a window that is over. Returns whether the filters are to be made anew now. */
bool net_udp_gate_round(struct net_udp_gate *gate, uint64_t now_ns);

/* When a round is due, though nothing comes; NET_TIME_NONE: never. */
uint64_t net_udp_gate_deadline_ns(const struct net_udp_gate *gate);

/* Brings `wanted` up to date. `now_ns`: of the last round will do. False: all may come. */
bool net_udp_gate_sum(struct net_udp_gate *gate, uint64_t now_ns);

#endif
