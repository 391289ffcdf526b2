/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a simulated wire in virtual time: what is sent comes out later, or twice, or damaged, or
 * not at all, as a seed decides. */
#ifndef NORNIC_TEST_SIM_LINK_H
#define NORNIC_TEST_SIM_LINK_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"

#define SIM_LINK_LOSE_MAX 2

/* All zero: every frame arrives at once, whole and in order. Rates in parts per million. */
struct sim_link_config {
    uint64_t delay_ns; /* of every frame */
    uint64_t
        jitter_ns; /* up to so much more, drawn per frame; reorders where it exceeds the frames' distance */
    uint64_t bits_per_s; /* frames wait for those before them; 0: no limit */
    uint64_t queue_ns;   /* a frame that would wait longer than this is lost; 0: no limit */
    uint32_t loss_ppm;
    uint32_t duplicate_ppm;
    uint64_t stale_ns; /* a duplicate comes up to so much after the first copy */
    uint32_t reorder_ppm;
    uint64_t hold_ns;                       /* a reordered frame comes so much later */
    uint32_t corrupt_ppm;                   /* 1 to 3 bits behind the Ethernet header flip */
    uint32_t ecn_ppm;                       /* the frame is marked "congestion experienced" */
    uint64_t dark_from_ns, dark_until_ns;   /* everything sent in between is lost */
    uint64_t lose_frame[SIM_LINK_LOSE_MAX]; /* these frames, counted from 1, are lost; 0: none */
    bool pad;                               /* short frames grow to 60 bytes as on Ethernet (ROCE-FRM-5) */
};

/* What became of a frame; several bits may be set. */
enum sim_fate {
    SIM_FATE_LOST = 1 << 0,
    SIM_FATE_DUPLICATED = 1 << 1,
    SIM_FATE_HELD = 1 << 2,
    SIM_FATE_CORRUPTED = 1 << 3,
    SIM_FATE_MARKED = 1 << 4,
};

struct sim_link_counters {
    uint64_t sent, lost, duplicated, held, corrupted, marked; /* by sim_link_send() */
    uint64_t delivered, delivered_corrupted;                  /* by sim_link_recv(), copies counted */
};

/* One copy of a frame that was handed to a wire: what becomes of it is decided at once. */
struct sim_link_pass {
    const uint8_t *sent; /* as it was handed over */
    uint32_t sent_bytes;
    const uint8_t *out; /* as it comes out: damaged, marked, padded; NULL: it is lost */
    uint32_t out_bytes;
    unsigned fate;            /* enum sim_fate */
    bool is_second;           /* of a frame that the wire duplicated */
    uint64_t sent_ns, due_ns; /* it comes out at due_ns; NET_TIME_NONE: never */
    uint64_t way_ns;          /* how long it is under way, or would have been */
};

/* Sees what a wire does. The pass and its bytes are valid for the call. */
struct sim_link_watch {
    uint64_t (*passes)(void *ctx, const struct sim_link_pass *pass); /* returns a name for it, */
    void (*arrives)(void *ctx, uint64_t name); /* by which it is told that it was taken out */
    void *ctx;
};

struct sim_link;

/* Never fails: out of memory ends the test. */
struct sim_link *sim_link_create(const struct sim_link_config *config, uint64_t seed);
void sim_link_destroy(struct sim_link *link);

/* From now on every frame arrives, once, whole and in order. */
void sim_link_calm(struct sim_link *link);

/* From now on all that passes is told. */
void sim_link_observe(struct sim_link *link, const struct sim_link_watch *watch);

/* Copies a frame into the wire. Returns enum sim_fate. */
unsigned sim_link_send(struct sim_link *link, const uint8_t *frame, uint32_t len_bytes, uint64_t now_ns);

/* A frame for a wire that is cut: it is lost, and nothing is drawn. */
void sim_link_lose(struct sim_link *link, const uint8_t *frame, uint32_t len_bytes, uint64_t now_ns);

/* When the next frame comes out; NET_TIME_NONE: the wire is empty. */
uint64_t sim_link_next_ns(const struct sim_link *link);

/* Takes out up to `n` frames that are due, in the order of their arrival. They are the caller's until it
 * hands them to sim_link_release(). Each lies in an allocation of exactly its length. */
unsigned sim_link_recv(struct sim_link *link, struct net_frame *frames, unsigned n, uint64_t now_ns);
void sim_link_release(const struct net_frame *frames, unsigned n);

/* Marks a frame that is ECN-capable "congestion experienced", as a router would; false: it is not. */
bool sim_link_mark(uint8_t *frame, uint32_t len_bytes);

const struct sim_link_counters *sim_link_counters(const struct sim_link *link);

#endif
