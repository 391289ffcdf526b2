/* SPDX-License-Identifier: BSD-2-Clause */
/* The times of a direction: round trips, and clocks that differ. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_CLOCK_H
#define NORNIC_EXPLAIN_FLOW_HALF_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/packet/packet.h"
#include "nornic/addr.h"

/* The clocks of the two directions between two hosts, as the records of all of their flows show them. A
 * capture that was put together of several may have some hosts by one clock, and others by two. */
struct explain_clocks {
    struct explain_network network;
    struct nornic_addr addr[2];
    uint64_t leads, timely;          /* answers that came before their request, and behind it */
    bool is_skew_told, is_swap_told; /* a finding says that clocks differ, or that records are out of order */
};

/* The times of one direction. All 0: nothing was measured. */
struct explain_half_clock {
    uint64_t skew_ns;  /* as that of the flow: times between its directions tell nothing; 0: they do */
    uint64_t rtt_ns;   /* the shortest time from a request to its answer; 0: none yet */
    uint64_t react_ns; /* the sender's, to the other end's requests: it never reacts sooner */
    uint32_t timely;   /* answers that came behind their request, and were measured */
    bool is_at_once;   /* an answer bears the time of its request */
    struct explain_clocks *hosts; /* of the whole capture */
};

#endif
