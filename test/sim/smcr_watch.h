/* SPDX-License-Identifier: BSD-2-Clause */
/* What the two instances of a pair say to each other, held against a model that was written from the rules
 * alone: the stream as 64-bit positions (SMCR sections 14 and 15) and the states of section 16.1. */
#ifndef NORNIC_TEST_SIM_SMCR_WATCH_H
#define NORNIC_TEST_SIM_SMCR_WATCH_H

#include "smcr/conn/conn.h"
#include "test/smcr_pair/pair.h"

#define WATCH_CONNS 256

/* One end of a connection, as the other end and the wire may know it. */
struct watch_end {
    struct pair_end *end;
    /* what it sent */
    uint16_t seq;
    uint64_t produced, consumed; /* of its last CDC, as positions */
    unsigned told_urgent;
    bool any, sent_done, sent_close, is_final, moved;
    /* what it took */
    uint64_t peer_produced, peer_consumed;
    bool was_blocked; /* B came since our last CDC: an update may be its late answer */
    bool peer_blocked, peer_done, peer_closed, peer_aborted;
    bool has_early; /* one came before the handshake was over: the newest (SMCR-DAT-12) */
    uint8_t early[SMCR_MSG_BYTES];
    /* what its application did */
    bool urgent;                /* ever */
    enum smcr_conn_state state; /* that the model expects */
    bool is_free;               /* any state is right: an abnormal end began */
};

struct watch {
    struct pair *pair;
    struct watch_end end[WATCH_CONNS][2]; /* by connection and node */
    uint64_t cdcs, updates, validations;
    /* Sees every trace as well. May be NULL. */
    void (*also)(void *ctx, struct pair_node *node, const struct smcr_trace *trace);
    void *also_ctx;
};

/* From now on every CDC is looked at; a breach is pair_fail(). Takes pair->on_trace. */
void watch_init(struct watch *watch, struct pair *pair);
/* The application sent urgent data; or ends the connection abnormally. */
struct watch_end *watch_of(struct watch *watch, const struct pair_end *end);
/* The states of all connections are what the model says: call it when nothing is half done. */
void watch_states(struct watch *watch);

/* Whether the connection has an active link at this end that the other end holds for active too, and whose
 * wires are whole. */
bool watch_has_link(const struct pair_end *end);

#endif
