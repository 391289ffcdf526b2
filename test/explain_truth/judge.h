/* SPDX-License-Identifier: BSD-2-Clause */
/* Holds what explain says of a capture against what happened. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_JUDGE_H
#define NORNIC_TEST_EXPLAIN_TRUTH_JUDGE_H

#include "explain/analysis.h"
#include "test/explain_truth/scene.h"

/* What a cause is told of. */
enum truth_aspect {
    TRUTH_SENT_AGAIN, /* why a request was sent again */
    TRUTH_WAY,        /* what happened to the copy before it */
    TRUTH_GAP,        /* why PSNs are missing */
    TRUTH_ORDER,      /* reordered, duplicate */
    TRUTH_NAKED,      /* what a NAK asks for, and why a receiver was not ready */
    TRUTH_NO_ANSWER,  /* missing_ack, ghost_ack */
    TRUTH_ASPECT_COUNT
};

struct truth_tally {
    uint64_t right[3], wrong[3]; /* by enum explain_sure */
    uint64_t either_right,
        either_wrong;     /* cause unknown, and this the first of two candidates: one of them is true */
    uint64_t other_right; /* of the wrong likely ones: the other cause that was named fits */
    uint64_t happened,
        told; /* it did, where the capture has a packet that a finding may stand at; was told */
};

struct truth_score {
    uint64_t runs, records, again, clean_runs;
    struct truth_tally tally[TRUTH_ASPECT_COUNT][EXPLAIN_CAUSE_COUNT];
    uint64_t false_kind[EXPLAIN_FINDING_COUNT]; /* findings of what did not happen at all */
    uint64_t kind[EXPLAIN_FINDING_COUNT];       /* findings */
    uint64_t shown_false;                       /* of false_kind: those that were told as shown */
    uint64_t message_right, message_wrong;      /* packets of requests whose message has a number */
    uint64_t bytes_right, bytes_wrong;          /* and a position */
    uint64_t split_flows, joined_flows;         /* queue pairs told as several, several told as one */
    uint64_t trigger_right, trigger_wrong;      /* the packet that is named as the reason */
    uint64_t warnings;                          /* findings above notes in runs where nothing happened */
};

/* A wrong statement, told in one line; called for each. */
typedef void truth_complaint(void *ctx, const struct truth_scene *scene, uint64_t number, const char *words);

struct truth_judge {
    struct truth_score score;
    truth_complaint *complain;
    void *ctx;
};

/* Explains the scene's capture and adds to the score. */
void truth_judge_scene(struct truth_judge *judge, const struct truth_scene *scene);

#endif
