/* SPDX-License-Identifier: BSD-2-Clause */
/* Why something happened, how sure that is, and what it rests on. Values only; explain/flow/again/case.c
 * says how they are found, docs/explain.md what a reader may conclude from them. */
#ifndef NORNIC_EXPLAIN_MEANING_WHY_H
#define NORNIC_EXPLAIN_MEANING_WHY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Causes: id, name in JSON, words. The first group says what made a sender send a packet again (findings
 * retransmission, timeout, read_replay), the second what happened to a packet on its way (findings psn_gap,
 * reordered, duplicate, nak_sequence, rnr, missing_ack, ghost_ack, capture_gap; explain_why.way of the
 * first). */
#define EXPLAIN_CAUSES(X)                                                                      \
    X(NONE, "none", "")                                                                        \
    X(UNKNOWN, "unknown", "cannot be told from this capture")                                  \
    X(TIMEOUT, "timeout", "the sender's ack timer ran out")                                    \
    X(STALE_TIMER, "stale_timer", "a timer ran out that an answer should have stopped")        \
    X(NAK_SEQUENCE, "nak_sequence", "a NAK said that a packet is missing")                     \
    X(SELECTIVE_ACK, "selective_ack", "a selective acknowledgement said that it had not come") \
    X(RNR, "rnr", "the receiver was not ready, and the wait is over")                          \
    X(IMPLIED_NAK, "implied_nak", "an answer came that skips another")                         \
    X(RESTART, "restart", "it goes along behind a packet that was sent again")                 \
    X(LOST_BEFORE, "lost_before_capture", "lost before it came to the capture")                \
    X(LOST_AFTER, "lost_after_capture", "lost behind the capture")                             \
    X(ANSWER_LOST, "answer_lost", "the answer was lost")                                       \
    X(OVERTAKEN, "overtaken", "others overtook it")                                            \
    X(COPIED, "copied_by_network", "the network made a copy")                                  \
    X(CAPTURED_TWICE, "captured_twice", "the capture sees each packet twice")                  \
    X(ASKED_AGAIN, "asked_again", "answered again, as the request came again")                 \
    X(CAPTURE_DROPPED, "capture_dropped", "it arrived, and is not in the capture")             \
    X(BEFORE_CAPTURE, "before_capture", "it is older than the capture")                        \
    X(CAPTURE_ENDS, "capture_ends", "the capture ends before it could come")                   \
    X(NO_RECEIVE, "no_receive", "the receiver had posted no receive")                          \
    X(PEER_GONE, "peer_gone", "the other end does not answer any more")                        \
    X(DAMAGED, "damaged", "it came damaged, and the receiver threw it away")                   \
    X(SENT_AGAIN, "sent_again", "its sender sent it again")

enum explain_cause {
#define EXPLAIN_CAUSE_ENUM_(id, key, words) EXPLAIN_CAUSE_##id,
    EXPLAIN_CAUSES(EXPLAIN_CAUSE_ENUM_)
#undef EXPLAIN_CAUSE_ENUM_
        EXPLAIN_CAUSE_COUNT
};

/* SHOWN: the packets named as evidence leave no other cause that is known. LIKELY: it fits best, and is
 * true in at least 95 of 100 cases; `or_cause` names what fits too, if one other does. UNKNOWN: the
 * capture does not decide; the candidates, if there are two, are all that fits. */
enum explain_sure { EXPLAIN_SURE_UNKNOWN, EXPLAIN_SURE_LIKELY, EXPLAIN_SURE_SHOWN };

#define EXPLAIN_EVIDENCE_MAX 4
#define EXPLAIN_CANDIDATES   3

/* A packet, and what it tells. */
struct explain_evidence {
    uint64_t number;
    const char *what; /* a short phrase; static */
};

/* cause NONE: findings of this kind have none. */
struct explain_why {
    enum explain_cause cause;
    enum explain_cause or_cause; /* NONE: no other */
    enum explain_sure sure;
    /* of cause UNKNOWN: it is one of these; NONE: not known */
    enum explain_cause candidate[EXPLAIN_CANDIDATES];
    enum explain_cause root; /* of RESTART: the cause of the packet at `behind`, with which it began */
    uint64_t behind;
    /* the answer that made the sender go back, or the request whose timer did, which an answer should have
     * stopped; 0: none did, or which one is not known */
    uint64_t trigger;
    enum explain_cause way; /* of what is sent again: what happened to the copy before, or to its answer */
    enum explain_sure way_sure;
    enum explain_cause way_candidate[EXPLAIN_CANDIDATES]; /* of way UNKNOWN */
    struct explain_evidence evidence[EXPLAIN_EVIDENCE_MAX];
    unsigned evidence_count;
    uint64_t silence_ns; /* since the newest sign that the sender's timer counts from; 0: not looked at */
    uint64_t timeout_ns; /* of this sender, as measured in this flow; 0: not known */
    uint32_t timeout_samples;
    bool has_msn, has_ip_id;
    uint32_t msn;      /* of the answer that tells */
    uint16_t ip_id[2]; /* IPv4 identifications: of the packet itself, of the one it is compared with */
};

const char *explain_cause_key(enum explain_cause cause);
const char *explain_cause_words(enum explain_cause cause);
const char *explain_sure_key(enum explain_sure sure);

/* Adds a packet to what the cause rests on; beyond EXPLAIN_EVIDENCE_MAX, and number 0, are dropped. `what` is
 * kept. */
void explain_why_prove(struct explain_why *why, uint64_t number, const char *what);

#define EXPLAIN_WHY_WORDS_SIZE 160

/* The words of the cause; of an unknown one, its candidates: "A, or B: cannot be told". Returns `words`. */
const char *explain_why_words(const struct explain_why *why, char *words, size_t size);
/* The cause is unknown: one of these. `third` may be NONE. */
void explain_why_doubt(struct explain_why *why, enum explain_cause one, enum explain_cause other,
                       enum explain_cause third);
/* Likewise what happened to the copy before. */
void explain_why_doubt_way(struct explain_why *why, enum explain_cause one, enum explain_cause other,
                           enum explain_cause third);

#endif
