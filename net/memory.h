/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory port: two ports joined by a pair of rings, for tests and the in-process demo. */
#ifndef NORNIC_NET_MEMORY_H
#define NORNIC_NET_MEMORY_H

#include "net/port.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* Makes two ports; what one sends the other receives, in order. `ring_frames` (a power of two, 2..65536)
 * frames a direction of at most `mtu_bytes` (68..65535) + 18; a full ring lends no transmit buffers. The two
 * ends may be used by two threads. Each has a descriptor to sleep on: it is readable while frames wait, until
 * a burst finds none, and also once when a ring that was too full for a reserve has room again. What is sent
 * to an end that was closed is lost, and never finds the ring full. Rings and descriptors are freed with the
 * second close. 0, -EINVAL or -ENOMEM (or no descriptor). */
int net_memory_pair(uint32_t mtu_bytes, uint32_t ring_frames, struct net_port *ends[2]);

/* A pair that moves trains, both ways. */
struct net_memory_trains {
    uint32_t mtu_bytes, ring_frames; /* as above; a slot of the ring takes a train */
    uint32_t train_bytes;            /* longest train, Ethernet header included: at most 65553 */
    uint32_t train_pkts;             /* and its packets, at least 2 */
    uint64_t seed; /* 0: every buffer takes the longest train. Else each takes one of 1 (a single frame) to
                      train_pkts packets, drawn from the seed, so that trains of every length are seen */
};

/* Trains arrive as they were sent. 0, -EINVAL or -ENOMEM as above. */
int net_memory_pair_trains(const struct net_memory_trains *trains, struct net_port *ends[2]);

NORNIC_END_DECLS

#endif
