/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about a sender once something has gone wrong. explain/flow/again/ fills it and judges by it. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_RECOVERY_H
#define NORNIC_EXPLAIN_FLOW_HALF_RECOVERY_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/meaning/why.h"

#define EXPLAIN_TROUBLES_MAX  4
#define EXPLAIN_SILENCES_MAX  4
#define EXPLAIN_SILENCES_SHOW 2 /* so many alike show a timeout */

enum explain_trouble_kind { EXPLAIN_TROUBLE_NAK, EXPLAIN_TROUBLE_RNR, EXPLAIN_TROUBLE_SKIPPED };

/* An answer that makes the sender send again. */
struct explain_trouble {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint64_t wait_ns; /* RNR: before this is over nothing is sent */
    uint32_t psn;     /* from here on */
    enum explain_trouble_kind kind;
    bool is_fresh;    /* it acknowledged all before `psn`, as no answer before it did */
    bool is_doubtful; /* the packets that were sent for it may have come already, the first of them missing */
    bool is_over;     /* the packet that was sent for it has come, */
    uint64_t over_ns; /* at this time */
    bool is_judged;   /* whether the packet had come too late, or was lost */
};

/* Silences before something was sent again without another reason, by length. */
struct explain_silence {
    uint64_t ns;
    uint32_t count;
};

struct explain_silences {
    struct explain_silence kept[EXPLAIN_SILENCES_MAX];
    uint32_t in_row; /* timeouts without progress in between */
    /* after so long a timer may have run out that an answer should have stopped; 0: none did */
    uint64_t stale_ns;
};

/* The PSN behind which nothing was sent again before new requests, as identifications show. */
struct explain_run_end {
    bool is_there;
    uint32_t psn;
};

/* The newest time that the sender went back. */
struct explain_run {
    uint64_t number; /* of its first packet; 0: it never did */
    uint32_t psn;
    uint16_t ip_id;           /* of that packet */
    enum explain_cause cause; /* sure UNKNOWN: the first candidate, if it has any */
    enum explain_sure sure;
    bool is_going;       /* the next packets of the sender still go along behind that packet */
    bool is_broken;      /* some of these are missing */
    bool is_head_unseen; /* that packet was not in the capture before, and nothing behind it has come yet */
    uint64_t newest_ns;  /* of the newest packet that was sent again */
    uint32_t cursor;     /* PSN behind the newest packet in the order of sending */
    struct explain_run_end end;
};

struct explain_recovery {
    struct explain_trouble troubles[EXPLAIN_TROUBLES_MAX];
    unsigned next_trouble;
    struct explain_silences silences;
    struct explain_run run;
    bool is_numbered; /* its sender counts in the identifications */
    bool is_mangled;  /* the network was seen to reorder or copy packets of this sender */
};

/* Returns the silence that was seen most often; its count is 0: none was. */
const struct explain_silence *explain_silences_usual(const struct explain_silences *silences);
/* Notes that a silence of `ns` was a timeout. */
void explain_silences_learn(struct explain_silences *silences, uint64_t ns);

#endif
