/* SPDX-License-Identifier: BSD-2-Clause */
/* The ack timers of senders, as far as anything but silences tells of them. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_TIMERS_H
#define NORNIC_EXPLAIN_FLOW_HALF_TIMERS_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"

#define EXPLAIN_TIMER_HOSTS_MAX 64

/* A timeout that was seen: `ns` is 0 in a free slot. */
struct explain_host_timer {
    struct nornic_addr addr;
    uint64_t ns, number; /* and the packet that showed it */
    uint32_t flow;       /* its index */
};

/* The timeouts of hosts, each shown by the silences of a flow; a ring. */
struct explain_timers {
    struct explain_host_timer hosts[EXPLAIN_TIMER_HOSTS_MAX];
    unsigned next;
};

/* The terms of a sender's timer from its connection's REQ (ROCE-CM-33) and other flows of its host. Each 0:
 * nothing. */
struct explain_timer_terms {
    uint64_t agreed_ns, agreed_number; /* the shortest that the REQ allows, and the REQ */
    uint64_t host_ns, host_number;
};

/* Returns the time of a code 1 to 31 (ROCE-RC-41). */
uint64_t explain_timeout_of_code(unsigned code);
/* Returns whether two times are about the same, as timeouts of one length are. */
bool explain_is_alike(uint64_t a_ns, uint64_t b_ns);
/* Returns the timeout that a flow of that host other than `flow` showed; NULL: none did. */
const struct explain_host_timer *explain_timers_find(const struct explain_timers *timers,
                                                     const struct nornic_addr *addr, uint32_t flow);
/* Notes that a flow showed a timeout of its host. The timeout of another flow stands, if it is alike: this
 * one may rest on it. */
void explain_timers_note(struct explain_timers *timers, const struct explain_host_timer *timer);

#endif
