/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R of a capture, replayed: one peer of its conversations is rebuilt with the engine of smcr/ and devices
 * of roce/ under virtual time, gets what the other peer sent (CLC messages, RDMA writes, LLC and CDC
 * messages, RC acknowledgements), and each CLC, LLC and CDC message that it sends is compared with the
 * recorded one.
 *
 * Of both versions; only link groups whose first contact is in the capture. What is left out is counted.
 * Packets below these messages are explain_replay()'s. */
#ifndef NORNIC_EXPLAIN_REPLAY_SMC_SMC_REPLAY_H
#define NORNIC_EXPLAIN_REPLAY_SMC_SMC_REPLAY_H

#include "explain/replay/replay.h"

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

const struct explain_outcome *explain_smc_replay_outcome_of(enum explain_smc_replay_outcome outcome);

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

/* The conversations of the peer with address `addr` (of its TCP connections, or a GID of its). 0, whatever
 * the comparison says, and when there is none (all of `result` is 0); or -errno with a sentence in `why`. */
int explain_smc_replay(const struct explain_tape *tape, const struct nornic_addr *addr,
                       const struct explain_smc_replay_config *config,
                       struct explain_smc_replay_result *result, struct nornic_error *why);

#endif
