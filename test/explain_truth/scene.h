/* SPDX-License-Identifier: BSD-2-Clause */
/* From a seed to a run, its truth, and a capture of it. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_SCENE_H
#define NORNIC_TEST_EXPLAIN_TRUTH_SCENE_H

#include "test/explain_truth/capture.h"

#define TRUTH_RUNS_MAX 3 /* that one capture holds, one after the other */

/* What happens in it. */
#define TRUTH_SCENES(X)                              \
    X(CLEAN, "clean") /* nothing, and it is whole */ \
    X(LOSS, "loss")                                  \
    X(ACK_LOSS, "answers lost") /* one way only */   \
    X(DUPLICATION, "duplication")                    \
    X(REORDERING, "reordering")                      \
    X(RNR, "receiver not ready")                     \
    X(READS, "READs and atomics, loss")              \
    X(DARK, "silence of the wire")                   \
    X(DEATH, "death of the wire")                    \
    X(SELECTIVE, "selective retransmission")         \
    X(DAMAGE, "damage, marks, CNPs")                 \
    X(UC_XRC, "UC and XRC")                          \
    X(ALL, "everything at once")                     \
    X(MERGED, "runs merged, QPNs used again")        \
    X(SMC_CLEAN, "SMC-R, clean")                     \
    X(SMC, "SMC-R, loss and failover")

enum truth_scene_kind {
#define TRUTH_SCENE_ENUM_(id, words) TRUTH_SCENE_##id,
    TRUTH_SCENES(TRUTH_SCENE_ENUM_)
#undef TRUTH_SCENE_ENUM_
        TRUTH_SCENE_COUNT
};

struct truth_scene {
    uint64_t seed;
    enum truth_scene_kind kind;
    struct truth_tap tap;
    bool is_selective; /* its devices retransmit selectively, one or both */
    bool is_clean;     /* nothing happened to any frame, and the capture has them all */
    struct truth_tape tape[TRUTH_RUNS_MAX];
    unsigned runs;
    struct truth_capture capture;
    char failure[400]; /* the run itself went wrong */
};

/* Plays it: the kind follows from the seed. Never fails: out of memory ends the program. */
void truth_scene_play(struct truth_scene *scene, uint64_t seed);
void truth_scene_deinit(struct truth_scene *scene);
/* "loss, IPv4, taken between the ends": for people. */
const char *truth_scene_words(const struct truth_scene *scene, char *text, size_t size);

#endif
