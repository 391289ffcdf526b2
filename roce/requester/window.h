/* SPDX-License-Identifier: BSD-2-Clause */
/* How many request packets of a QP may be unacknowledged (ROCE-RC-4), and what an ack timeout does to that.
 *
 * A peer, or a queue on the way to it, may be alive but slower than the ack timer. Whole windows sent again
 * would only grow the queue before it, until the retries are used up. So a timeout leaves a quarter of the
 * window. It grows again at most once in a round trip: by all of itself up to half of what was too much, then
 * by one packet. ACKs of what was sent before the timeout prove nothing: they come out of the queue that was
 * too long. */
#ifndef NORNIC_ROCE_WINDOW_H
#define NORNIC_ROCE_WINDOW_H

#include <stdint.h>

#include "roce/psn.h"

struct roce_window {
    uint32_t pkts;
    uint32_t limit_pkts;     /* the device's */
    uint32_t threshold_pkts; /* it doubles up to here */
    uint32_t round_psn;      /* the round trip ends when this is acknowledged */
};

static inline void roce_window_init(struct roce_window *w, uint32_t limit_pkts, uint32_t psn)
{
    *w = (struct roce_window){limit_pkts, limit_pkts, limit_pkts, psn};
}

/* The ack timer fired; everything before `hi_psn` has been sent. */
static inline void roce_window_timeout(struct roce_window *w, uint32_t hi_psn)
{
    w->threshold_pkts = w->pkts > 2 ? w->pkts / 2 : 1;
    w->pkts = w->pkts > 4 ? w->pkts / 4 : 1;
    w->round_psn = hi_psn;
}

/* Everything before `una_psn` is acknowledged. */
static inline void roce_window_progress(struct roce_window *w, uint32_t una_psn, uint32_t hi_psn)
{
    if (w->pkts == w->limit_pkts || roce_psn_diff(una_psn, w->round_psn) <= 0)
        return;
    w->pkts += w->pkts < w->threshold_pkts ? w->pkts : 1;
    if (w->pkts > w->limit_pkts)
        w->pkts = w->limit_pkts;
    w->round_psn = hi_psn;
}

#endif
