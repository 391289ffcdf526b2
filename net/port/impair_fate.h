/* SPDX-License-Identifier: BSD-2-Clause */
/* What happens to one frame: the draws and the changes to its bytes. Internal to the impairment port. */
#ifndef NORNIC_NET_IMPAIR_FATE_H
#define NORNIC_NET_IMPAIR_FATE_H

#include "net/impair.h"

enum net_impair_draw {
    NET_DRAW_LOSS,
    NET_DRAW_DUPLICATE,
    NET_DRAW_REORDER,
    NET_DRAW_CORRUPT,
    NET_DRAW_CORRUPT_BIT,
    NET_DRAW_ECN,
    NET_DRAW_JITTER,
    NET_DRAW_JITTER_COPY,
    NET_DRAW_COUNT
};

/* The fates of one direction's frames: one independent stream of numbers a kind of draw. */
struct net_impair_fates {
    uint64_t key[NET_DRAW_COUNT];
    uint64_t next; /* index of the next frame */
};

struct net_impair_fate {
    bool lost, duplicated, held, corrupted, ecn_marked;
    uint64_t corrupt_draw; /* chooses the bit */
    uint64_t jitter_ns, copy_jitter_ns;
};

/* `direction` 0 (receive) or 1 (send) makes the two directions of one seed independent. */
void net_impair_fates_init(struct net_impair_fates *fates, uint64_t seed, unsigned direction);

/* The fate of the next frame. */
struct net_impair_fate net_impair_fate_next(struct net_impair_fates *fates,
                                            const struct net_impair_config *config);

/* Whether nothing at all happens to the frame but the delay that all frames have. */
bool net_impair_fate_is_clean(const struct net_impair_fate *fate);

/* Does to the frame's bytes what its fate says, and counts it. Frames without a byte behind the Ethernet
 * header are not corrupted. */
void net_impair_fate_apply(const struct net_impair_fate *fate, uint8_t *frame, uint32_t len_bytes,
                           struct net_impair_counters *counters);

#endif
