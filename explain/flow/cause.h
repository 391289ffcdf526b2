/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a request packet comes whose PSN is not new. Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_CAUSE_H
#define NORNIC_EXPLAIN_FLOW_CAUSE_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/flow/timer.h"
#include "explain/flow/weather.h"
#include "explain/flow/why.h"

#define EXPLAIN_TROUBLES_MAX  4
#define EXPLAIN_PROGRESS_KEPT 4

enum explain_trouble_kind { EXPLAIN_TROUBLE_NAK, EXPLAIN_TROUBLE_RNR, EXPLAIN_TROUBLE_SKIPPED };

/* An answer that makes the sender send again. */
struct explain_trouble {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint64_t wait_ns; /* RNR: before this is over nothing is sent */
    uint32_t psn;     /* from here on */
    enum explain_trouble_kind kind;
    bool is_fresh;    /* it acknowledged all before `psn`, which no answer before it had */
    bool is_doubtful; /* what was sent for it may have come already, its first packet missing */
    bool is_over;     /* what was sent for it has come, */
    uint64_t over_ns; /* at this time */
    bool is_judged;   /* whether the packet had come too late, or was lost */
};

struct explain_silences {
    struct explain_silence kept[EXPLAIN_SILENCES_MAX];
    uint32_t in_row;
    uint64_t stale_ns;
};
struct explain_run_end {
    bool is_there;
    uint32_t psn;
};
struct explain_run {
    uint64_t number;
    uint32_t psn;
    uint16_t ip_id;
    enum explain_cause cause;
    enum explain_sure sure;
    bool is_going, is_broken, is_head_unseen;
    uint64_t newest_ns;
    uint32_t cursor;
    struct explain_run_end cut;
};
/* What is known of a sender once something has gone wrong; made when it does. */
struct explain_recovery {
    struct explain_trouble troubles[EXPLAIN_TROUBLES_MAX];
    unsigned next_trouble;
    struct explain_silences silences;
    struct explain_run run;
    bool is_numbered; /* its sender counts in the identifications */
    bool is_mangled;  /* the network was seen to reorder or copy packets of this sender */
};

/* An acknowledgement that went further than those before it. */
struct explain_progress {
    uint64_t number, time_ns;
    uint32_t end_psn;
};

/* What a packet is whose PSN is not new. */
enum explain_again {
    EXPLAIN_AGAIN_SENT,      /* the sender sent it again */
    EXPLAIN_AGAIN_COPY,      /* the network made a copy */
    EXPLAIN_AGAIN_OVERTAKEN, /* sent once, and comes late */
};

struct explain_half;
struct explain_ids;
struct explain_packet;
struct explain_sent;

/* The recovery of a half, made when there is none; NULL: no memory. */
struct explain_recovery *explain_recovery_of(struct explain_half *half);
/* Everything before `end_psn` is acknowledged, by that packet. */
void explain_note_progress(struct explain_half *half, const struct explain_packet *packet, uint32_t end_psn);
/* An answer asks for all from trouble->psn on; `is_over` and the packet's number and time are filled in. */
void explain_note_trouble(struct explain_half *half, const struct explain_packet *packet,
                          struct explain_trouble trouble);
/* Whether the sender has gone back since the newest packet at that PSN that the capture has, `s` (NULL: it
 * has none), and come past it without its being here. */
bool explain_is_passed_unseen(const struct explain_half *half, uint32_t psn, const struct explain_sent *s);
/* Whether the newest packet at that PSN is `s`: it is here, and was not passed unseen since. */
bool explain_is_newest_here(const struct explain_half *half, uint32_t psn, const struct explain_sent *s);
/* Whether nothing tells a request that is not here before (`before` is NULL) from the first copy, which comes
 * late: it was not proved to be sent again (`is_sent`), and no copy came damaged. */
bool explain_may_be_first(const struct explain_half *half, const struct roce_pkt *pkt,
                          const struct explain_sent *before, bool is_sent);
/* Whether such a packet may be late although a cause fits. What the NAK `t` asks for by its PSN is not, where
 * it comes as soon behind it as its sender answers one, or where packets are lost and never late; nor is,
 * where nothing was late so far, what another cause fits. `t` is NULL only with another cause than a NAK. */
bool explain_may_be_late(const struct explain_half *half, const struct explain_trouble *t,
                         const struct explain_packet *packet, enum explain_cause cause);
/* Everything before `end_psn` is acknowledged now: what NAKs before that had asked for was late, or lost. */
void explain_judge_troubles(struct explain_half *half, uint64_t now_ns, uint32_t end_psn);
/* A READ or an atomic that was answered at `psn`, and something behind it too. */
bool explain_was_answered_beyond(const struct explain_half *half, uint32_t psn);
/* Whether an RNR NAK behind packet `number`, a copy of that PSN, refused it: its sender had to send
 * another. */
bool explain_was_refused(const struct explain_half *half, uint32_t psn, uint64_t number);
/* One of the newest answers was a NAK that asks for that very PSN. */
bool explain_is_named(const struct explain_half *half, uint32_t psn);
/* Whether another answer than `t` may be the reason for a packet just as well, where the network shuffles
 * what is sent for them. */
bool explain_has_rival(const struct explain_half *half, const struct explain_trouble *t, uint32_t psn);
/* An ACK comes for a PSN before others that are acknowledged already. */
void explain_note_ack_again(struct explain_half *half);
/* The RNR NAK that refused that PSN, if nothing has been sent for it yet; NULL: none did. */
const struct explain_trouble *explain_waits_for_receive(const struct explain_half *half, uint32_t psn);
/* A packet with a new PSN came: what was sent again is at its end. */
void explain_note_new(struct explain_half *half, const struct explain_ids *ids,
                      const struct explain_packet *packet);

/* What a request packet with PSN `psn` is, whose PSN is not new, and why it came. `before`: its newest copy,
 * or the request of the READ that it asks for the rest of; NULL: none is in the capture. `end_psn` is one
 * past the PSNs that it takes. The half takes notice of it. */
enum explain_again explain_tell_again(struct explain_half *half, const struct explain_ids *ids,
                                      const struct explain_packet *packet, const struct explain_sent *before,
                                      uint32_t end_psn, struct explain_why *why);

#endif
