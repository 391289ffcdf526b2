/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/gate.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "net/bytes.h"
#include "net/share/who.h"

#define NARROW_NS      (100 * NS_PER_MS) /* between filters that only let in less */
#define EXACT_RULES    64                /* of more numbers than that, those that follow are let in at once */
#define THIN_SHIFT_MAX 16
#define MAD_QPN        1

void net_udp_gate_deinit(struct net_udp_gate *gate)
{
    free(gate->rules);
    *gate = (struct net_udp_gate){.is_closed = false};
}

/* --- rules --- */

/* Returns the place of a number's rule, or the place to insert one. */
static uint32_t find(const struct net_udp_gate *gate, uint32_t qpn)
{
    uint32_t low = 0, high = gate->count;
    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        if (gate->rules[mid].qpn < qpn)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

static bool has_rule(const struct net_udp_gate *gate, uint32_t at, uint32_t qpn)
{
    return at < gate->count && gate->rules[at].qpn == qpn;
}

/* Room for one more at `at`. False: no memory. */
static bool insert(struct net_udp_gate *gate, uint32_t at)
{
    struct net_udp_rule *rules = array_room(gate->rules, &gate->room, gate->count + 1, sizeof *rules);
    if (!rules)
        return false;
    gate->rules = rules;
    memmove(&gate->rules[at + 1], &gate->rules[at], (gate->count - at) * sizeof *gate->rules);
    gate->count++;
    return true;
}

static void make_stale(struct net_udp_gate *gate, uint64_t at_ns)
{
    gate->stale_at_ns = gate->is_stale ? min_u64(gate->stale_at_ns, at_ns) : at_ns;
    gate->is_stale = true;
}

static bool is_within(const struct net_udp_ranges *ranges, uint32_t qpn)
{
    for (unsigned i = 0; i < ranges->count; i++)
        if (qpn >= ranges->at[i].first && qpn <= ranges->at[i].last)
            return true;
    return false;
}

static bool has_peer(const struct net_udp_wanted *wanted, const struct nornic_addr *peer)
{
    for (unsigned i = wanted->peer_count; i > 0; i--)
        if (nornic_addr_equal(&wanted->peers[i - 1], peer))
            return true;
    return wanted->has_all_peers;
}

static bool is_limited(const struct net_udp_wanted *wanted, uint32_t qpn)
{
    for (unsigned i = 0; i < wanted->limited_count; i++)
        if (wanted->limited[i] == qpn)
            return true;
    return false;
}

/* Returns whether the filters let in the rule's packets already. */
static bool is_covered(const struct net_udp_wanted *wanted, const struct net_udp_rule *rule)
{
    if (rule->whose == NET_STEER_NOBODY || is_within(&wanted->open, rule->qpn))
        return true;
    if (rule->whose == NET_STEER_PEER)
        return is_within(&wanted->paired, rule->qpn) && has_peer(wanted, &rule->peer);
    return rule->whose == NET_STEER_LIMITED && is_limited(wanted, rule->qpn);
}

bool net_udp_gate_steer(struct net_udp_gate *gate, uint32_t dest_qpn, enum net_steer whose,
                        const struct nornic_addr *peer)
{
    const struct net_udp_rule rule = {
        .qpn = dest_qpn, .whose = whose, .peer = peer ? *peer : (struct nornic_addr){{0}}};
    uint32_t at = find(gate, dest_qpn);
    bool is_first = !gate->is_closed, is_there = has_rule(gate, at, dest_qpn);
    gate->is_closed = true;
    if (whose == NET_STEER_NOBODY) {
        if (is_there)
            memmove(&gate->rules[at], &gate->rules[at + 1], (--gate->count - at) * sizeof *gate->rules);
    } else if (is_there || insert(gate, at)) {
        gate->rules[at] = rule;
    } else {
        gate->has_forgotten = true;
    }
    if (is_there)
        make_stale(gate, gate->stale_at_ns);
    return is_first || gate->has_forgotten || !is_covered(&gate->wanted, &rule);
}

void net_udp_gate_set_slots(struct net_udp_gate *gate, const uint8_t *slots, unsigned count)
{
    if (count == gate->wanted.slot_count && memcmp(slots, gate->wanted.slots, count) == 0)
        return;
    memcpy(gate->wanted.slots, slots, count);
    gate->wanted.slot_count = count;
    make_stale(gate, 0);
}

/* --- the short form --- */

/* False: there is no room, with so many numbers at the most between two that are put together. */
static bool add_number(struct net_udp_ranges *ranges, uint32_t qpn, uint32_t gap)
{
    struct net_udp_range *last = ranges->count ? &ranges->at[ranges->count - 1] : NULL;
    if (last && qpn - last->last <= gap) {
        last->last = qpn;
        return true;
    }
    if (ranges->count == NET_UDP_RANGES_MAX)
        return false;
    ranges->at[ranges->count++] = (struct net_udp_range){qpn, qpn};
    return true;
}

/* A number that is to be limited, and finds no room among those, is open. */
static bool is_open(const struct net_udp_wanted *wanted, const struct net_udp_rule *rule)
{
    return rule->whose == NET_STEER_ANYBODY ||
           (rule->whose == NET_STEER_LIMITED && !is_limited(wanted, rule->qpn));
}

/* Puts numbers together until the ranges are few enough. */
static void sum_ranges(const struct net_udp_gate *gate, struct net_udp_wanted *wanted)
{
    bool has_room = false;
    for (uint32_t gap = 1; !has_room; gap *= 8) {
        has_room = true;
        wanted->open.count = wanted->paired.count = 0;
        for (uint32_t i = 0; i < gate->count && has_room; i++) {
            const struct net_udp_rule *rule = &gate->rules[i];
            if (rule->whose == NET_STEER_PEER)
                has_room = add_number(&wanted->paired, rule->qpn, gap);
            else if (is_open(wanted, rule))
                has_room = add_number(&wanted->open, rule->qpn, gap);
        }
    }
}

/* Widens the ranges of many numbers: the next queue pairs are likely to have the numbers after them. */
static void make_room(struct net_udp_ranges *ranges, uint32_t rules)
{
    if (ranges->count && rules > EXACT_RULES)
        ranges->at[ranges->count - 1].last += rules / 2;
}

static void sum_limited(const struct net_udp_gate *gate, struct net_udp_wanted *wanted)
{
    wanted->limited_count = 0;
    if (wanted->slot_count) /* a message for another process may come here */
        wanted->limited[wanted->limited_count++] = MAD_QPN;
    for (uint32_t i = 0; i < gate->count && wanted->limited_count < NET_UDP_LIMITED_MAX; i++) {
        const struct net_udp_rule *rule = &gate->rules[i];
        if (rule->whose == NET_STEER_LIMITED && !is_limited(wanted, rule->qpn))
            wanted->limited[wanted->limited_count++] = rule->qpn;
    }
}

static void sum_peers(const struct net_udp_gate *gate, struct net_udp_wanted *wanted)
{
    wanted->peer_count = 0;
    wanted->has_all_peers = false;
    for (uint32_t i = 0; i < gate->count && !wanted->has_all_peers; i++) {
        const struct net_udp_rule *rule = &gate->rules[i];
        if (rule->whose != NET_STEER_PEER || has_peer(wanted, &rule->peer))
            continue;
        if (wanted->peer_count == NET_UDP_PEERS_MAX)
            wanted->has_all_peers = true;
        else
            wanted->peers[wanted->peer_count++] = rule->peer;
    }
}

bool net_udp_gate_sum(struct net_udp_gate *gate, uint64_t now_ns)
{
    gate->is_stale = false;
    gate->stale_at_ns = now_ns + NARROW_NS;
    sum_limited(gate, &gate->wanted);
    sum_ranges(gate, &gate->wanted);
    make_room(&gate->wanted.open, gate->count);
    make_room(&gate->wanted.paired, gate->count);
    sum_peers(gate, &gate->wanted);
    return gate->is_closed && !gate->has_forgotten;
}

/* --- limited packets --- */

/* Adds the unused part of the window's share, and that of windows without a round. */
static void save_spare(struct net_udp_gate *gate, uint64_t now_ns)
{
    const uint64_t windows = (now_ns - gate->window_ns) / NET_STEER_WINDOW_NS;
    const uint64_t may_pkts = gate->spare_pkts + min_u64(windows, 1 + NET_UDP_SPARE_MAX) * NET_STEER_LIMIT;
    const uint64_t unused_pkts = may_pkts - min_u64(may_pkts, gate->window_pkts);
    gate->spare_pkts = (uint32_t)min_u64(unused_pkts, NET_UDP_SPARE_MAX);
}

static void begin_window(struct net_udp_gate *gate, uint64_t now_ns)
{
    gate->window_ns = now_ns;
    gate->window_pkts = 0;
}

void net_udp_gate_note(struct net_udp_gate *gate, const uint8_t *payload, uint32_t bytes, uint32_t pkts)
{
    if (bytes >= NET_SHARE_PSN_AT && is_limited(&gate->wanted, get_be24(payload + NET_SHARE_QPN_AT)))
        gate->window_pkts += pkts;
}

bool net_udp_gate_round(struct net_udp_gate *gate, uint64_t now_ns)
{
    unsigned shift = gate->wanted.thin_shift;
    bool is_over = now_ns - gate->window_ns >= NET_STEER_WINDOW_NS;
    if (gate->window_pkts > NET_STEER_LIMIT + gate->spare_pkts && shift < THIN_SHIFT_MAX && !is_over)
        shift++;
    else if (is_over && gate->window_pkts < NET_STEER_LIMIT / 4 && shift > 0)
        shift--;
    if (is_over)
        save_spare(gate, now_ns);
    else if (shift != gate->wanted.thin_shift)
        gate->spare_pkts = 0;
    if (is_over || shift != gate->wanted.thin_shift)
        begin_window(gate, now_ns);
    bool is_due = gate->is_closed && gate->is_stale && now_ns >= gate->stale_at_ns;
    bool has_changed = shift != gate->wanted.thin_shift;
    gate->wanted.thin_shift = shift;
    return is_due || has_changed;
}

uint64_t net_udp_gate_deadline_ns(const struct net_udp_gate *gate)
{
    uint64_t window_ns = gate->wanted.thin_shift ? gate->window_ns + NET_STEER_WINDOW_NS : NET_TIME_NONE;
    return min_u64(window_ns, gate->is_stale && gate->is_closed ? gate->stale_at_ns : NET_TIME_NONE);
}
