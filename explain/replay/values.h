/* SPDX-License-Identifier: BSD-2-Clause */
/* The statements about a replay. */
#ifndef NORNIC_EXPLAIN_REPLAY_VALUES_H
#define NORNIC_EXPLAIN_REPLAY_VALUES_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/packet/packet.h"

/* How a packet compares. id, key in JSON, whether it makes the replay fail, words. The middle group are
 * freedoms that the standard leaves, or deeds of a network; the last of it, other rules of peers (spec
 * section 17). */
#define EXPLAIN_REPLAY_OUTCOMES(X)                                                                           \
    X(EQUAL, "equal", false, "equal")                                                                        \
    X(ACK_RECORD, "ack_only_recorded", false, "an ACK of what other answers acknowledge: coalescing")        \
    X(ACK_ENGINE, "ack_only_engine", false, "an ACK that the recorded endpoint left to a later answer")      \
    X(NETWORK_COPY, "network_copy", false, "the network doubled it: the same identification")                \
    X(CROSSED, "crossed", false, "sent while an answer was on its way that made it unneeded")                \
    X(NAK_BEHIND_RNR, "nak_behind_rnr", false, "a NAK behind the RNR NAK of the same PSN: ROCE-INT-12")      \
    X(NAK_CODE, "nak_code", false, "another NAK code for a SEND longer than its receive: ROCE-INT-15")       \
    X(READ_SUFFIX, "read_suffix", false, "a READ answered again from within keeps its opcodes: ROCE-INT-19") \
    X(UNKNOWN, "not_compared", false, "of a message of which the capture lacks a part")                      \
    X(DIFFERENT, "different", true, "fields differ")                                                         \
    X(ONLY_RECORD, "only_recorded", true, "the engine does not send it")                                     \
    X(ONLY_ENGINE, "only_engine", true, "only the engine sends it")

enum explain_replay_outcome {
#define EXPLAIN_REPLAY_ENUM_(id, key, fails, words) EXPLAIN_REPLAY_##id,
    EXPLAIN_REPLAY_OUTCOMES(EXPLAIN_REPLAY_ENUM_)
#undef EXPLAIN_REPLAY_ENUM_
        EXPLAIN_REPLAY_OUTCOME_COUNT
};

/* The outcome of a comparison: its name in JSON, words for people, and whether the two differ by it. */
struct explain_outcome {
    const char *key, *words;
    bool fails;
};

/* A field that differs. */
struct explain_field_diff {
    const char *layer, *field; /* "bth", "psn"; "payload": its first byte that differs, or its length */
    char recorded[80], engine[80];
};

#define EXPLAIN_DIFFS_MAX 16

/* One packet, compared. */
struct explain_compared {
    enum explain_replay_outcome outcome;
    uint32_t qpn;                          /* of the endpoint */
    const struct explain_packet *recorded; /* NULL: ONLY_ENGINE, ACK_ENGINE */
    const struct explain_packet *engine;   /* NULL if the engine sent nothing */
    uint64_t cause;                        /* number of the packet that the engine had got last; 0: none */
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
    unsigned diff_count;
};

struct explain_replay_config {
    /* Called for every packet that either side sent. */
    void (*compared)(void *ctx, const struct explain_compared *c);
    void *ctx;
};

struct explain_replay_result {
    uint64_t outcomes[EXPLAIN_REPLAY_OUTCOME_COUNT];
    uint64_t fed;           /* packets that the engine got */
    uint64_t work_requests; /* posted for the endpoint */
    uint64_t receives;      /* posted */
    /* READs and atomics that found bytes which nothing in the capture had put there */
    uint64_t changed_memory;
    uint32_t late_qps;        /* responders with a connection older than the capture: their MSN was learned */
    uint32_t qps, silent_qps; /* rebuilt; left out, as they answer nothing in the capture */
};

#endif
