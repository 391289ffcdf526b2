/* SPDX-License-Identifier: BSD-2-Clause */
/* The pace of datagrams to QP 1 of other devices. QP 1 has no flow control: a receiver's gate takes
 * NET_STEER_LIMIT datagrams in NET_STEER_WINDOW_NS from all senders together, and drops the rest. So a device
 * sends evenly. Requests beyond a few wait for answers to earlier requests: a receiver answers at its own
 * pace, and so slows its senders down. Without answers a request counts for a while only, since an
 * application may think for long. Internal to roce/cm/. */
#ifndef NORNIC_ROCE_CM_PACE_H
#define NORNIC_ROCE_CM_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define ROCE_CM_PACE_TICK_NS  (UINT64_C(1) << 20) /* 16 in a window of a receiver */
#define ROCE_CM_PACE_PER_TICK 6u                  /* datagrams that a tick adds */
#define ROCE_CM_PACE_BURST    32u                 /* datagrams at once after a pause */
#define ROCE_CM_PACE_AWAITED  32u                 /* requests without an answer */
#define ROCE_CM_PACE_FORGET   4u                  /* of which a tick forgets so many */

/* Begins as zeros. */
struct roce_cm_pace {
    uint64_t tick_ns; /* the last tick */
    unsigned spent;   /* datagrams of the burst that were sent, less those that ticks added */
    unsigned awaited; /* requests that wait for an answer and are not forgotten */
};

/* Returns whether a datagram may leave now. `is_request`: the peer answers it. */
bool roce_cm_pace_allows(struct roce_cm_pace *pace, bool is_request, uint64_t now_ns);

/* Counts a datagram that leaves. */
void roce_cm_pace_sent(struct roce_cm_pace *pace, bool is_request);

/* Counts an answer that came. */
void roce_cm_pace_answered(struct roce_cm_pace *pace);

/* Returns the time of the next tick, which may let a datagram leave that waits. */
uint64_t roce_cm_pace_next_ns(const struct roce_cm_pace *pace);

#endif
