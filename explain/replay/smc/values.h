/* SPDX-License-Identifier: BSD-2-Clause */
/* What is said of a replay of SMC-R. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_VALUES_H
#define NORNIC_EXPLAIN_REPLAY_SMC_VALUES_H

#include "explain/replay/values.h"

/* How a message compares. id, key in JSON, whether it makes the replay fail, words. */
#define EXPLAIN_SMC_REPLAY_OUTCOMES(X)                                                                       \
    X(EQUAL, "smc_equal", false, "equal")                                                                    \
    X(UPDATE_RECORD, "smc_update_only_recorded", false,                                                      \
      "a consumer cursor told before the engine would: when to tell is free")                                \
    X(UPDATE_ENGINE, "smc_update_only_engine", false,                                                        \
      "a CDC whose news the recorded end told with a later one: merging is free")                            \
    X(CUT, "smc_cut", false, "the stream is cut in other places, or a cursor told at another time: free")    \
    X(CROSSED, "smc_crossed", false, "sent while the peer's of the same kind was on its way")                \
    X(ENDED, "smc_end_again", false, "a DELETE LINK of all links, which the peer has deleted before")        \
    X(TEST, "smc_test", false, "a TEST LINK: when a link is tested is free")                                 \
    X(DECLINED, "smc_declined", false, "a Decline: why the recorded end gave up, the capture does not tell") \
    X(UNKNOWN, "smc_not_compared", false, "what it tells of is not in the capture")                          \
    X(AFTER_END, "smc_after_end", false, "the engine's, to the last that the capture has from the peer")     \
    X(DIFFERENT, "smc_different", true, "fields differ")                                                     \
    X(ONLY_RECORD, "smc_only_recorded", true, "the engine does not send it")                                 \
    X(ONLY_ENGINE, "smc_only_engine", true, "only the engine sends it")

enum explain_smc_replay_outcome {
#define EXPLAIN_SMC_REPLAY_ENUM_(id, key, fails, words) EXPLAIN_SMC_REPLAY_##id,
    EXPLAIN_SMC_REPLAY_OUTCOMES(EXPLAIN_SMC_REPLAY_ENUM_)
#undef EXPLAIN_SMC_REPLAY_ENUM_
        EXPLAIN_SMC_REPLAY_OUTCOME_COUNT
};

/* One message, compared. */
struct explain_smc_compared {
    enum explain_smc_replay_outcome outcome;
    uint64_t number;     /* of the recorded packet; 0: only the engine's */
    uint64_t cause;      /* number of the packet that the engine had got last; 0: none */
    const char *message; /* "CLC Accept", "LLC ADD LINK response", "CDC" */
    uint32_t connection; /* from 1, in the order of Proposals; 0: a message of a link */
    uint8_t link;        /* from 1, in the order in which links appear; 0: TCP */
    struct explain_field_diff diffs[EXPLAIN_DIFFS_MAX];
    unsigned diff_count;
};

struct explain_smc_replay_config {
    /* Called for every message that either side sent. May be NULL. */
    void (*compared)(void *ctx, const struct explain_smc_compared *c);
    void *ctx;
};

struct explain_smc_replay_result {
    uint64_t outcomes[EXPLAIN_SMC_REPLAY_OUTCOME_COUNT];
    uint64_t fed;           /* messages, writes and acknowledgements that the engine got */
    uint64_t written, read; /* bytes that the program of the endpoint wrote and read */
    uint32_t connections;   /* rebuilt */
    uint32_t version_2;     /* of these, by version 2 */
    uint32_t older;         /* connections left out: their group is older than the capture */
    uint32_t links, ports;  /* rebuilt */
};

#endif
