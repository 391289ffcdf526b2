/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of a replay of iWARP. */
#ifndef NORNIC_EXPLAIN_REPLAY_IWARP_VALUES_H
#define NORNIC_EXPLAIN_REPLAY_IWARP_VALUES_H

#include "explain/replay/values.h"

/* How a message compares. id, key in JSON, whether it makes the replay fail, words. */
#define EXPLAIN_IWARP_REPLAY_OUTCOMES(X)                                                             \
    X(EQUAL, "iwarp_equal", false, "equal")                                                          \
    X(CUT, "iwarp_cut", false, "equal, in other segments: free")                                     \
    X(CRC, "iwarp_crc", false, "equal, but its CRC is bad in the capture")                           \
    X(TERMINATE, "iwarp_terminate", false, "a Terminate as Linux siw writes it: IWARP-AMB-02")       \
    X(CODE, "iwarp_code", false, "a Terminate about the same segment, with another code")            \
    X(OWED, "iwarp_owed", false, "only the engine answers what it owed when the peer's FIN came")    \
    X(EARLY, "iwarp_early", false, "a Terminate of a responder that had no good FPDU: IWARP-MPA-03") \
    X(UNKNOWN, "iwarp_not_compared", false, "not whole in the capture")                              \
    X(DIFFERENT, "iwarp_different", true, "fields differ")                                           \
    X(ONLY_RECORD, "iwarp_only_recorded", true, "the engine does not send it")                       \
    X(ONLY_ENGINE, "iwarp_only_engine", true, "only the engine sends it")

enum explain_iwarp_replay_outcome {
#define EXPLAIN_IWARP_REPLAY_ENUM_(id, key, fails, words) EXPLAIN_IWARP_REPLAY_##id,
    EXPLAIN_IWARP_REPLAY_OUTCOMES(EXPLAIN_IWARP_REPLAY_ENUM_)
#undef EXPLAIN_IWARP_REPLAY_ENUM_
        EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT
};

/* One message, compared. */
struct explain_iwarp_compared {
    enum explain_iwarp_replay_outcome outcome;
    uint64_t number;     /* of the packet that completes it in the capture; 0: only the engine's */
    uint64_t cause;      /* number of the packet that the engine had got last; 0: none */
    const char *message; /* "MPA Reply", "RDMA Write", "reserved opcode" */
    uint32_t connection; /* from 1, in the order of their SYNs */
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
    unsigned diff_count;
};

struct explain_iwarp_replay_config {
    /* Called for every frame and message that either side sent. */
    void (*compared)(void *ctx, const struct explain_iwarp_compared *c);
    void *ctx;
};

struct explain_iwarp_replay_result {
    uint64_t outcomes[EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT];
    uint64_t fed;           /* frames and FPDUs that the engine got */
    uint64_t work_requests; /* posted for the end */
    uint32_t connections;   /* rebuilt */
    uint32_t left_out;      /* with markers, or without an MPA frame of the end */
};

#endif
