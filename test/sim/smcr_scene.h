/* SPDX-License-Identifier: BSD-2-Clause */
/* One scene that holds every LLC exchange and every kind of CDC: two link groups (one a direction), a second
 * RMB size, data both ways, half close, abort, a port that goes and comes back, idle RMBs that are deleted,
 * links that are tested. A port may be cut at any message of it, and any allocation may fail. */
#ifndef NORNIC_TEST_SIM_SMCR_SCENE_H
#define NORNIC_TEST_SIM_SMCR_SCENE_H

#include "test/sim/smcr_watch.h"

#define SCENE_CONNS 8

/* Which message: the k-th (from 1) that `node` sent, or took if `on_rx`, of this kind. */
struct scene_moment {
    bool is_clc, on_rx, response;
    uint8_t type;
    unsigned node, k;
};

/* What is done at a moment. */
struct scene_harm {
    struct scene_moment when; /* k 0: never */
    unsigned node, port;      /* is cut */
    bool noticed;
    uint64_t restore_ns; /* so much later */
    unsigned no_memory;  /* the so-manieth allocation of `node` fails, from 1; 0: none */
    bool in_device;      /* of its device, not of the instance */
};

struct scene_conn {
    struct pair_conn *c;
    bool excused; /* may have ended abnormally, or in TCP */
    bool broken;  /* an application saw an error, or TCP */
};

struct scene {
    struct pair *pair;
    struct watch watch;
    struct scene_harm harm;
    bool done;
    unsigned calls[2][2]; /* allocations in it: [node][in_device] */
    uint64_t restore_at_ns;
    struct scene_conn conn[SCENE_CONNS];
    unsigned num_conns;
    unsigned seen[2][2][2][2][256]; /* [is_clc][on_rx][response][node][type]: how many there were */
    char failure[400];
};

/* Plays it. `topology` and the number of ports are those of the pair. */
void scene_play(struct scene *scene, const struct pair_config *config, const struct scene_harm *harm);

#endif
