/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture kept in memory, each packet with the flow that it belongs to: what a replay is made from. */
#ifndef NORNIC_EXPLAIN_REPLAY_TAPE_H
#define NORNIC_EXPLAIN_REPLAY_TAPE_H

#include <stdbool.h>
#include <stddef.h>

#include "explain/analysis.h"

struct explain_taped {
    uint8_t *bytes; /* owned by the tape; of RoCE an Ethernet frame, without the tunnel that it came in */
    uint32_t len_bytes, wire_bytes;
    enum net_link link; /* Ethernet; of what is no RoCE, as it was captured */
    uint64_t number;    /* of the frame that it was captured in */
    struct explain_train train;
    uint64_t time_ns;
    uint32_t flow; /* of the analysis when it came; explain_tape_flow(). 0: datagrams, and what is no RoCE */
    uint8_t direction; /* of that flow */
};

/* All zero: empty. */
struct explain_tape {
    struct explain_taped *packets; /* in the order of the capture */
    size_t count, cap;
    uint64_t frames; /* records that were added: one that holds a train is more than one packet */
    struct explain_analysis *analysis;
};

/* Appends a copy of a record, of a train its packets. 0 or -ENOMEM. */
int explain_tape_add(struct explain_tape *tape, const struct net_capture_record *record);
void explain_tape_free(struct explain_tape *tape);

/* Takes packet `i` (from 0) apart; pointers lead into the tape. */
void explain_tape_packet(const struct explain_tape *tape, size_t i, struct explain_packet *packet);
/* The flow that packet `i` is of, as all of the capture tells it (0: none), and its direction. */
uint32_t explain_tape_flow(const struct explain_tape *tape, size_t i, unsigned *direction);

#endif
