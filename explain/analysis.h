/* SPDX-License-Identifier: BSD-2-Clause */
/* What a packet means among those before it: flows in both directions, messages, retransmissions and their
 * causes, and what breaks a rule. Streams: memory is bounded whatever the capture holds. */
#ifndef NORNIC_EXPLAIN_ANALYSIS_H
#define NORNIC_EXPLAIN_ANALYSIS_H

#include "explain/packet.h"

/* Kinds of findings: id in JSON, severity (0 note, 1 warning, 2 violation), words. One place names them all;
 * each has a capture that shows it and one that must not. */
#define EXPLAIN_FINDINGS(X)                                                     \
    X(PSN_GAP, "psn_gap", 1, "PSNs are missing")                                \
    X(RETRANSMISSION, "retransmission", 1, "a request was sent again")          \
    X(DUPLICATE, "duplicate", 0, "the same packet twice on the wire")           \
    X(REORDERED, "reordered", 0, "packets overtook each other")                 \
    X(NAK_SEQUENCE, "nak_sequence", 1, "NAK: PSN sequence error")               \
    X(NAK_FATAL, "nak_fatal", 2, "NAK that ends the connection")                \
    X(RNR, "rnr", 1, "the receiver was not ready")                              \
    X(TIMEOUT, "timeout", 1, "sent again after an ack timeout")                 \
    X(READ_REPLAY, "read_replay", 1, "a READ was asked for again")              \
    X(MISSING_ACK, "missing_ack", 1, "an answer that was asked for never came") \
    X(GHOST_ACK, "ghost_ack", 1, "an answer to something that was not asked")   \
    X(ICRC, "icrc", 2, "bad ICRC")                                              \
    X(MALFORMED, "malformed", 2, "malformed packet")                            \
    X(VIOLATION, "violation", 2, "breaks a rule of the standard")               \
    X(ECN_MARK, "ecn_mark", 0, "congestion experienced")                        \
    X(CNP, "cnp", 0, "congestion notification")                                 \
    X(CM_REJECT, "cm_reject", 1, "a connection was rejected")                   \
    X(CM_RETRY, "cm_retry", 1, "a connection message was sent again")           \
    X(CUT, "cut", 0, "the capture does not hold the whole packet")

enum explain_finding_kind {
#define EXPLAIN_FINDING_ENUM_(id, key, severity, words) EXPLAIN_FIND_##id,
    EXPLAIN_FINDINGS(EXPLAIN_FINDING_ENUM_)
#undef EXPLAIN_FINDING_ENUM_
        EXPLAIN_FINDING_COUNT
};

struct explain_finding {
    enum explain_finding_kind kind;
    char rule[24];    /* requirement id ("ROCE-RS-10"), or empty */
    uint64_t number;  /* of the packet that shows it */
    uint64_t related; /* of the packet that it is about (the lost one's first copy, ...); 0: none */
    char words[160];  /* a sentence */
};

#define EXPLAIN_REMARKS_MAX 6

/* What is known of one packet. */
struct explain_meaning {
    uint32_t flow;                    /* index of the QP pair from 1; 0: none */
    unsigned direction;               /* 0: from the end that spoke first, 1: to it */
    uint64_t message;                 /* number of the message in its direction, from 1; 0: belongs to none */
    uint32_t piece;                   /* which packet of the message, from 1 */
    uint32_t pieces;                  /* packets of the message; 0: not known yet */
    uint64_t bytes_done, bytes_total; /* of the message with this packet; total 0: not known yet */
    uint64_t answers;                 /* number of the packet that this one answers, or repeats; 0: none */
    char words[240]; /* the line: "RDMA WRITE middle 3/16 of message 7, 4096 of 65536 bytes" */
    struct explain_finding remarks[EXPLAIN_REMARKS_MAX];
    unsigned remark_count;
};

/* A QP pair, both directions. [d]: of the end that sends in direction d. */
struct explain_flow {
    struct net_addr addr[2];
    uint32_t qpn[2];     /* 0: not known (it has not been answered) */
    uint8_t service;     /* enum roce_service */
    uint32_t pmtu_bytes; /* the largest piece seen, as a path MTU; 0: unknown */
    uint64_t first_number, last_number, first_ns, last_ns;
    uint64_t packets[2], bytes[2], messages[2], retransmissions[2], naks[2], rnr_naks[2], cnps[2], marks[2];
};

struct explain_analysis;

struct explain_analysis_config {
    uint32_t max_flows; /* default 65536; the flow that was silent longest goes first */
    bool strict;        /* judge by every rule of the standard, not only by what disturbs traffic */
};

/* NULL: no memory. */
struct explain_analysis *explain_analysis_create(const struct explain_analysis_config *config);
void explain_analysis_destroy(struct explain_analysis *analysis);

/* Takes packets in the order of the capture. `meaning` is filled; what becomes known only later (a missing
 * answer) is told by a later packet, or by the end. */
void explain_analysis_next(struct explain_analysis *analysis, const struct explain_packet *packet,
                           struct explain_meaning *meaning);
/* The capture ends: hands over what is still open, oldest first, at most `max`; call until it returns 0. */
unsigned explain_analysis_end(struct explain_analysis *analysis, struct explain_finding *findings,
                              unsigned max);

/* Flows by index 1..count; those that were dropped for room are NULL. */
uint32_t explain_analysis_flow_count(const struct explain_analysis *analysis);
const struct explain_flow *explain_analysis_flow(const struct explain_analysis *analysis, uint32_t index);

const char *explain_finding_key(enum explain_finding_kind kind);
const char *explain_finding_words(enum explain_finding_kind kind);
int explain_finding_severity(enum explain_finding_kind kind);

#endif
