/* SPDX-License-Identifier: BSD-2-Clause */
/* What is true of the packets of a capture: the questions that a cause answers, asked of those who did it. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_FACTS_H
#define NORNIC_TEST_EXPLAIN_TRUTH_FACTS_H

#include "explain/meaning/why.h"
#include "test/explain_truth/scene.h"

/* Where the passes of a scene stand in its capture. */
struct truth_facts {
    const struct truth_scene *scene;
    uint32_t *seen[TRUTH_RUNS_MAX];       /* by pass: number of its record, from 1; 0: it is not there */
    uint32_t *frame_seen[TRUTH_RUNS_MAX]; /* by frame: of the first record with it */
};

void truth_facts_init(struct truth_facts *facts, const struct truth_scene *scene);
void truth_facts_deinit(struct truth_facts *facts);

/* Record `number`, from 1. */
static inline const struct truth_record *truth_record_of(const struct truth_facts *facts, uint64_t number)
{
    return &facts->scene->capture.records[number - 1];
}

/* The same frame stands earlier in the capture. */
bool truth_is_copy(const struct truth_facts *facts, uint64_t number);
/* A request that its sender had sent before, and no copy that the wire made. */
bool truth_is_again(const struct truth_facts *facts, uint64_t number);
/* It came behind a packet of the same queue pair that was sent after it. */
bool truth_is_overtaken(const struct truth_facts *facts, uint64_t number);
/* An answer to something that was answered by another packet before. */
bool truth_is_answered_again(const struct truth_facts *facts, uint64_t number);
/* So many PSNs of its requester between the newest before it and its own were never seen before it. */
uint32_t truth_missing_before(const struct truth_facts *facts, uint64_t number);
/* The capture has an answer behind it that answers this request or a later one. */
bool truth_has_answer(const struct truth_facts *facts, uint64_t number);
/* The capture has that PSN of the requester before it. */
bool truth_has_request(const struct truth_facts *facts, uint64_t number);

/* Record `number` is a selective acknowledgement to the sender of request `about`, and says that this one is
 * not there. */
bool truth_says_missing(const struct truth_facts *facts, uint64_t number, uint64_t about);

/* Whether a cause is true; FITS_NOT: this cannot be a cause of such a packet. */
enum truth_verdict { TRUTH_WRONG, TRUTH_RIGHT, TRUTH_OPEN };

/* ... why it was sent again. */
enum truth_verdict truth_why_again(const struct truth_facts *facts, uint64_t number,
                                   enum explain_cause cause);
/* ... what happened to the copy before it. */
enum truth_verdict truth_way_of_before(const struct truth_facts *facts, uint64_t number,
                                       enum explain_cause way);
/* ... why PSNs before it, or answers before it, are missing. */
enum truth_verdict truth_why_missing(const struct truth_facts *facts, uint64_t number,
                                     enum explain_cause cause);
/* ... what happened to the PSN that a NAK asks for. */
enum truth_verdict truth_why_naked(const struct truth_facts *facts, uint64_t number,
                                   enum explain_cause cause);
/* ... why a request has no answer here. */
enum truth_verdict truth_why_unanswered(const struct truth_facts *facts, uint64_t number,
                                        enum explain_cause cause);
/* ... why an answer has no request here. */
enum truth_verdict truth_why_ghost(const struct truth_facts *facts, uint64_t number,
                                   enum explain_cause cause);

#endif
