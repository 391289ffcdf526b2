/* SPDX-License-Identifier: BSD-2-Clause */
/* When to try again what does not go on: a transmit ring that the kernel would not empty, for an interface
 * that may be down for long. The wait doubles from 50 us to 10 ms, and begins anew with each thing that
 * moved. Internal to the library. */
#ifndef NORNIC_NET_BACKOFF_H
#define NORNIC_NET_BACKOFF_H

#include <stdbool.h>

#include "base/base.h"

#define NET_BACKOFF_MIN_NS (50 * NS_PER_US)
#define NET_BACKOFF_MAX_NS (10 * NS_PER_MS)

struct net_backoff {
    uint64_t at_ns, wait_ns;
};

/* Nothing is in the way, so far. */
static inline void net_backoff_reset(struct net_backoff *backoff)
{
    backoff->wait_ns = NET_BACKOFF_MIN_NS;
}

/* It was tried, at another's wish: the next look is a whole wait later. */
static inline void net_backoff_rest(struct net_backoff *backoff, uint64_t now_ns)
{
    backoff->at_ns = now_ns + backoff->wait_ns;
}

/* It did not go all the way. */
static inline void net_backoff_again(struct net_backoff *backoff, bool has_moved, uint64_t now_ns)
{
    backoff->wait_ns = has_moved ? NET_BACKOFF_MIN_NS : min_u64(2 * backoff->wait_ns, NET_BACKOFF_MAX_NS);
    net_backoff_rest(backoff, now_ns);
}

#endif
