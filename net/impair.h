/* SPDX-License-Identifier: BSD-2-Clause */
/* The impairment port wraps another port and treats frames as a bad network would, reproducibly from a seed.
 */
#ifndef NORNIC_NET_IMPAIR_H
#define NORNIC_NET_IMPAIR_H

#include "net/port.h"

/* Rates in parts per million. All zero: a clean line. */
struct net_impair_config {
    uint64_t seed;
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint32_t
        reorder_ppm; /* a frame is held back and leaves after reorder_depth later frames, or after 1 ms */
    uint32_t reorder_depth; /* default 3 */
    uint32_t corrupt_ppm;   /* one bit of the frame behind the Ethernet header flips */
    uint32_t ecn_ppm;       /* ECN becomes CE; the IPv4 header checksum is corrected */
    uint64_t delay_ns;      /* every frame; order is kept */
    uint64_t jitter_ns;     /* up to so much more, drawn per frame; may reorder */
    bool on_rx, on_tx;      /* which direction(s) */
};

struct net_impair_counters {
    uint64_t passed, lost, duplicated, reordered, corrupted, ecn_marked, delayed;
};

/* Wraps `below` and owns it from now on, also on failure (it is closed then). 0, -EINVAL or -ENOMEM. */
int net_impair_wrap(struct net_port *below, const struct net_impair_config *config, struct net_port **out);

const struct net_impair_counters *net_impair_counters(const struct net_port *port);

#endif
