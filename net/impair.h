/* SPDX-License-Identifier: BSD-2-Clause */
/* The impairment port wraps another port and treats frames as a bad network would, reproducibly from a seed.
 *
 * What happens to the k-th frame of a direction is a function of seed, direction, kind of trouble and k
 * alone: it depends neither on time, nor on bursts, nor on the other rates. In this order, a frame
 *   1. is lost: it vanishes and nothing else happens to it;
 *   2. gets ECN CE, if it is IPv4 or IPv6 (also one that said Not-ECT) and was not CE already;
 *   3. has one bit behind its Ethernet header flipped, any bit with the same probability;
 *   4. is duplicated: the copy is made of the marked, flipped frame, directly behind it; it is not held back;
 *   5. is held back until reorder_depth later frames of its direction (lost ones do not count) have gone by,
 *      or for 1 ms;
 *   6. is delayed by delay_ns + jitter (a copy draws its own), counted from where it left step 5.
 * Frames leave in the order in which they are due, equal ones in the order in which they came. They move on
 * only inside the calls rx_burst and tx_flush; the deadline says when one is due.
 *
 * A direction keeps at most NET_IMPAIR_QUEUE_FRAMES; a frame that finds the queue full is lost. When the port
 * below takes no more, nothing is lost: what is due waits, and tx_reserve lends nothing.
 * A direction that is not impaired is handed through untouched, in place. Received frames to which nothing
 * happens are handed through in place too; frames to send are copied once. A train in an impaired
 * direction is cut: each of its packets is a frame with a fate of its own, and leaves alone.
 *
 * limits, mac, name, mode and fd are those of the port below, counters too (what really crossed it). */
#ifndef NORNIC_NET_IMPAIR_H
#define NORNIC_NET_IMPAIR_H

#include "net/port.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define NET_IMPAIR_QUEUE_FRAMES 4096
#define NET_IMPAIR_DEPTH_MAX    1024
#define NET_IMPAIR_DELAY_MAX_NS 10000000000ull

/* Rates in parts per million, at most 1000000. All zero: a clean line. */
struct net_impair_config {
    uint64_t seed;
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint32_t reorder_ppm;
    uint32_t reorder_depth; /* 0: 3; at most NET_IMPAIR_DEPTH_MAX */
    uint32_t corrupt_ppm;
    uint32_t ecn_ppm;
    uint64_t delay_ns;  /* every frame; order is kept. At most NET_IMPAIR_DELAY_MAX_NS */
    uint64_t jitter_ns; /* 0 to so much more, drawn per frame; may reorder. The same limit */
    bool on_rx, on_tx;  /* which direction(s) */
};

/* Of both directions together. Frames that came + duplicated = passed + lost + those still inside. */
struct net_impair_counters {
    uint64_t passed; /* went on, whatever had happened to them; with copies */
    uint64_t lost;   /* by loss_ppm, or the queue was full, or the frame longer than the port's frames */
    uint64_t duplicated, reordered, corrupted, ecn_marked;
    uint64_t delayed; /* by delay or jitter; with copies */
};

/* Wraps `below` and owns it from now on, also on failure (it is closed then). 0, -EINVAL (a limit above is
 * exceeded) or -ENOMEM. */
int net_impair_wrap(struct net_port *below, const struct net_impair_config *config, struct net_port **out);

/* The counters of a port that net_impair_wrap() made; NULL for any other port. Borrowed: they live as long as
 * the port. */
const struct net_impair_counters *net_impair_counters(const struct net_port *port);

NORNIC_END_DECLS

#endif
