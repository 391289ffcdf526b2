/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of the impairment port: the frames that are inside, held back or delayed. Internal. */
#ifndef NORNIC_NET_IMPAIR_LANE_H
#define NORNIC_NET_IMPAIR_LANE_H

#include "net/port/impair_fate.h"

#define NET_LANE_NO_SLOT UINT32_MAX

/* A frame on its way out. */
struct net_lane_entry {
    uint64_t due_ns;
    uint64_t order; /* of entry: breaks ties */
    uint32_t slot;
};

/* A frame that is held back. */
struct net_lane_held {
    uint64_t leave_at;    /* when so many frames have gone by */
    uint64_t deadline_ns; /* or then, whichever is first */
    uint32_t slot;
    uint64_t jitter_ns;
};

struct net_lane {
    const struct net_impair_config *config;
    struct net_impair_counters *counters;
    struct net_impair_fates fates;
    uint32_t frame_bytes; /* room in a slot */
    uint8_t *bytes;
    uint32_t *len_bytes;  /* of the frame in each slot */
    uint32_t *free_slots; /* a stack: the slot used last is the one in the cache */
    uint32_t free_count;
    struct net_lane_entry *queue; /* binary heap, the first to leave at the top */
    uint32_t queue_count;
    uint64_t next_order;
    struct net_lane_held *held; /* ring, in order of arrival, which is also that of leaving */
    uint32_t held_first, held_count;
    uint64_t gone_by; /* frames that were not lost */
};

/* Allocates everything a lane will need. `config` and `counters` are kept. `frame_bytes`: longest frame.
 * 0 or -ENOMEM; call net_lane_deinit() in both cases. */
int net_lane_init(struct net_lane *lane, const struct net_impair_config *config,
                  struct net_impair_counters *counters, uint32_t frame_bytes, unsigned direction);
void net_lane_deinit(struct net_lane *lane);

/* Takes a free slot, or returns NET_LANE_NO_SLOT; net_lane_give() releases it. There are NET_BURST slots
 * more than the queue may hold. */
uint32_t net_lane_take(struct net_lane *lane);
void net_lane_give(struct net_lane *lane, uint32_t slot);
uint8_t *net_lane_data(const struct net_lane *lane, uint32_t slot);

/* Takes the frame in `slot`, which is not lost, into the lane with its fate. */
void net_lane_admit(struct net_lane *lane, uint32_t slot, const struct net_impair_fate *fate,
                    uint64_t now_ns);

/* Counts a frame that passed without entering the lane: frames that are held back wait for a number of
 * such. */
void net_lane_went_by(struct net_lane *lane, uint64_t now_ns);

/* Releases frames that were held back long enough. */
void net_lane_tick(struct net_lane *lane, uint64_t now_ns);

/* Takes out the next frame that is due and counts it as passed; NET_LANE_NO_SLOT: none is. The caller gives
 * releases the slot. */
uint32_t net_lane_next(struct net_lane *lane, uint64_t now_ns);

/* Returns whether a frame is due. */
bool net_lane_is_due(const struct net_lane *lane, uint64_t now_ns);

/* Returns the time of the lane's next work, or NET_TIME_NONE. */
uint64_t net_lane_deadline_ns(const struct net_lane *lane);

#endif
