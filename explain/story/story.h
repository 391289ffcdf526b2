/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture in three sentences: what was sent, what went wrong and what was done about it, and what that
 * cost. */
#ifndef NORNIC_EXPLAIN_STORY_STORY_H
#define NORNIC_EXPLAIN_STORY_STORY_H

#include "explain/analysis.h"
#include "explain/show/text.h"
#include "explain/story/numbers.h"

#define EXPLAIN_STORY_SENTENCES 3

/* What is counted on the way. All zero: nothing yet. */
struct explain_story {
    uint64_t packets, first_ns, last_ns;
    uint64_t explained, explained_first_ns, explained_last_ns; /* those that are not of other protocols */
    uint64_t unread, unread_number; /* of RoCE, cut within their headers; and the first of these */
    struct explain_story_count {
        uint64_t count, likely; /* in all, and those of which the cause is likely, */
        uint64_t perhaps;       /* or, of packets that were lost or damaged, cannot be told */
        uint64_t number;        /* of the packet that shows the first */
    } found[EXPLAIN_FINDING_COUNT], restarts[EXPLAIN_CAUSE_COUNT];
    uint64_t sack_number; /* the newest selective acknowledgement for which something was sent again */
    uint64_t missing;     /* packets that left a gap in the PSNs, */
    uint64_t late;        /* and those that came later than others */
    uint64_t idle_ns;     /* silences of the whole capture before something was sent again */
};

/* Takes a packet in the order of the capture, and the findings of the end. */
void explain_story_take(struct explain_story *story, const struct explain_packet *packet,
                        const struct explain_meaning *meaning);
void explain_story_finding(struct explain_story *story, const struct explain_finding *finding);

/* Appends the i-th sentence, without a newline; false: there is no such one. */
bool explain_story_sentence(struct explain_text *out, const struct explain_story *story,
                            const struct explain_analysis *analysis, const struct explain_numbers *numbers,
                            unsigned i);

/* A line of numbers of a flow; nothing where it has none. JSON: the object {"flow":...}. */
void explain_numbers_line(struct explain_text *out, const struct explain_numbers *numbers,
                          const struct explain_flow *flow, uint32_t index);
void explain_numbers_json(struct explain_text *out, const struct explain_numbers *numbers,
                          const struct explain_flow *flow, uint32_t index);

/* What the program asked for: "SEND with immediate". */
const char *explain_operation_name(const struct explain_operation *operation);

/* CSV: the line of names, and a line for an operation or for both ends of a flow. */
void explain_operations_csv_head(struct explain_text *out);
/* What is not timed, as explain_is_timed() has it of its flow, or it itself says, has an empty latency. */
void explain_operations_csv(struct explain_text *out, const struct explain_operation *operation,
                            bool is_timed);
void explain_flows_csv_head(struct explain_text *out);
void explain_flows_csv(struct explain_text *out, const struct explain_numbers *numbers,
                       const struct explain_flow *flow, uint32_t index);

#endif
