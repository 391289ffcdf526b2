/* SPDX-License-Identifier: BSD-2-Clause */
/* A replay: the endpoint of a capture is rebuilt with the engine, gets what the other side sent, in the
 * recorded order and at the recorded times, and what it sends is compared with what the recorded
 * endpoint sent. */
#ifndef NORNIC_EXPLAIN_REPLAY_REPLAY_H
#define NORNIC_EXPLAIN_REPLAY_REPLAY_H

#include "explain/replay/learn.h"

/* How a packet compares. id, key in JSON, whether it makes the replay fail, words. The middle group are
 * freedoms: what the standard leaves open, or a network does; the last of it, what the rules of peers do
 * differently (spec section 17). */
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

/* What a comparison comes out as: its name in JSON, words for people, and whether the two differ by it. */
struct explain_outcome {
    const char *key, *words;
    bool fails;
};

const struct explain_outcome *explain_replay_outcome_of(enum explain_replay_outcome outcome);

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
    const struct explain_packet *engine;   /* NULL where the engine sent nothing */
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
    uint64_t
        changed_memory; /* READs and atomics that found bytes which nothing in the capture had put there */
    uint32_t late_qps;  /* responders whose connection is older than the capture: their MSN was learned */
    uint32_t qps, silent_qps; /* rebuilt; left out, as they answer nothing in the capture */
};

/* 0, whatever the comparison says; or -errno with a sentence in `why`. */
int explain_replay(const struct explain_tape *tape, const struct explain_endpoint *endpoint,
                   const struct explain_replay_config *config, struct explain_replay_result *result,
                   struct nornic_error *why);

/* Compares the layers `la` and `lb` of two packets, of one kind, field by field, but for those of which
 * `is_free` (asked of the recorded one) says so: appends to `diffs`, of which `*n` are told already. */
typedef bool explain_field_is_free(const struct explain_packet *p, unsigned layer, const struct net_field *f);
void explain_replay_diff_layer(const struct explain_packet *recorded, unsigned la,
                               const struct explain_packet *engine, unsigned lb,
                               explain_field_is_free *is_free, struct explain_field_diff *diffs, unsigned *n);

/* Compares two packets field by field, but for what is free: IPv4 identification and checksum, TTL, UDP
 * source port and checksum, the M bit, ICRC. AckReq is free in a request that is not the last of its
 * message, as a requester may ask when it likes. Returns how many fields differ; at most
 * EXPLAIN_DIFFS_MAX are told. */
unsigned explain_replay_diff(const struct explain_packet *recorded, const struct explain_packet *engine,
                             struct explain_field_diff *diffs);

#endif
