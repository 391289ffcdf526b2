/* SPDX-License-Identifier: BSD-2-Clause */
/* The wait before the next attempt to send from a transmit ring that the kernel does not empty: the
 * interface may be down for long. It doubles from 50 us to 10 ms, and is 50 us again after progress.
 * Internal to the library. */
#ifndef NORNIC_NET_BACKOFF_H
#define NORNIC_NET_BACKOFF_H

#include <stdbool.h>

#include "base/base.h"

#define NET_BACKOFF_MIN_NS (50 * NS_PER_US)
#define NET_BACKOFF_MAX_NS (10 * NS_PER_MS)

struct net_backoff {
    uint64_t at_ns, wait_ns;
};

/* Sets the wait to the minimum. */
static inline void net_backoff_reset(struct net_backoff *backoff)
{
    backoff->wait_ns = NET_BACKOFF_MIN_NS;
}

/* Notes an attempt at `now_ns`: the next one is a whole wait later. */
static inline void net_backoff_rest(struct net_backoff *backoff, uint64_t now_ns)
{
    backoff->at_ns = now_ns + backoff->wait_ns;
}

/* Notes an attempt at `now_ns` that left frames unsent. `has_moved`: others were sent. */
static inline void net_backoff_again(struct net_backoff *backoff, bool has_moved, uint64_t now_ns)
{
    backoff->wait_ns = has_moved ? NET_BACKOFF_MIN_NS : min_u64(2 * backoff->wait_ns, NET_BACKOFF_MAX_NS);
    net_backoff_rest(backoff, now_ns);
}

#endif
