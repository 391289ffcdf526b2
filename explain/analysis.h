/* SPDX-License-Identifier: BSD-2-Clause */
/* What a packet means among those before it: flows in both directions, messages, retransmissions and their
 * causes, and what breaks a rule. Streams: memory is bounded whatever the capture holds. */
#ifndef NORNIC_EXPLAIN_ANALYSIS_H
#define NORNIC_EXPLAIN_ANALYSIS_H

#include "explain/flow/twice/twice.h"
#include "explain/meaning/meaning.h"
#include "explain/packet/packet.h"

struct explain_analysis;

struct explain_analysis_config {
    size_t max_flow_bytes; /* of memory for flows; 0: 48 MiB. The flow that was silent longest goes first */
    uint64_t link_bps;     /* the link's speed, by which pauses are timed; 0: not known */
    bool strict;           /* judge by every rule of the standard, not only by what disturbs traffic */
    enum explain_copies copies; /* BY_BYTES and strict: rules about one packet judge copies, too */
};

/* NULL: no memory. */
struct explain_analysis *explain_analysis_create(const struct explain_analysis_config *config);
void explain_analysis_destroy(struct explain_analysis *analysis);

/* Takes packets in the order of the capture. `meaning` is filled; what becomes known only later (a missing
 * answer) is told by a later packet, or by the end. Of the packet `kind` may change: a SYN-ACK without the
 * option of SMC-R shows only behind its SYN that it is of SMC-R (EXPLAIN_SMC_TCP), as it refuses. */
void explain_analysis_next(struct explain_analysis *analysis, struct explain_packet *packet,
                           struct explain_meaning *meaning);
/* The capture ends: hands over what is still open, oldest first, at most `max`; call until it returns 0. */
unsigned explain_analysis_end(struct explain_analysis *analysis, struct explain_finding *findings,
                              unsigned max);

/* Flows by index 1..count; those that were forgotten for room, or showed to be another, are NULL. */
uint32_t explain_analysis_flow_count(const struct explain_analysis *analysis);
const struct explain_forgotten *explain_analysis_forgotten(const struct explain_analysis *analysis);
/* Packets that the capture holds more than once, and that are counted once. */
const struct explain_seen_twice *explain_analysis_twice(const struct explain_analysis *analysis);
const struct explain_flow *explain_analysis_flow(const struct explain_analysis *analysis, uint32_t index);
/* The flow that it showed to be, or itself: before answers came, the requests of the two ends of a queue pair
 * may have counted as two. */
struct explain_same {
    uint32_t flow;
    bool is_turned; /* its direction 0 is direction 1 of that */
};
struct explain_same explain_analysis_flow_is(const struct explain_analysis *analysis, uint32_t index);
/* How many flows there are or were: of the count those that are no others. */
uint32_t explain_analysis_flow_total(const struct explain_analysis *analysis);

/* Connections and link groups of SMC-R by id 1..count; those that were dropped for room are NULL. */
uint32_t explain_analysis_smc_conn_count(const struct explain_analysis *analysis);
const struct explain_smc_conn *explain_analysis_smc_conn(const struct explain_analysis *analysis,
                                                         uint32_t id);
uint32_t explain_analysis_smc_group_count(const struct explain_analysis *analysis);
const struct explain_smc_group *explain_analysis_smc_group(const struct explain_analysis *analysis,
                                                           uint32_t id);

/* The same of iWARP connections, and how many were dropped. */
uint32_t explain_analysis_iwarp_conn_count(const struct explain_analysis *analysis);
const struct explain_iwarp_conn *explain_analysis_iwarp_conn(const struct explain_analysis *analysis,
                                                             uint32_t id);
uint32_t explain_analysis_iwarp_forgotten(const struct explain_analysis *analysis);

#endif
