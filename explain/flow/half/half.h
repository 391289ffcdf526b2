/* SPDX-License-Identifier: BSD-2-Clause */
/* One direction of a flow: the requests that one end sends, and all that is remembered of them. It grows with
 * the number of things to remember, since most of many flows are small. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_HALF_H
#define NORNIC_EXPLAIN_FLOW_HALF_HALF_H

#include "explain/flow/half/acks.h"
#include "explain/flow/half/answers.h"
#include "explain/flow/half/asks.h"
#include "explain/flow/half/capture.h"
#include "explain/flow/half/carried.h"
#include "explain/flow/half/clock.h"
#include "explain/flow/half/early.h"
#include "explain/flow/half/history.h"
#include "explain/flow/half/holes.h"
#include "explain/flow/half/reads.h"
#include "explain/flow/half/recovery.h"
#include "explain/flow/half/timers.h"
#include "explain/flow/half/weather.h"

struct explain_half {
    struct explain_asks asks;
    struct explain_acks acks;
    struct explain_open message;
    struct explain_history history;
    struct explain_reads reads;
    struct explain_answers answers; /* to these requests */
    struct explain_half_clock clock;
    struct explain_capture capture;
    struct explain_msn msn;
    struct explain_strict_msn strict;
    struct explain_carried carried;      /* of requests, and of the answers to READs */
    struct explain_early *early;         /* NULL: no answer came before its request */
    struct explain_recovery *recovery;   /* NULL until something goes wrong */
    struct explain_selective *selective; /* NULL: no selective acknowledgement came */
    struct explain_timer_terms timer;
    struct explain_timers *timers;   /* of the whole capture: explain_flows has it */
    struct explain_weather *weather; /* of the whole capture: explain_flows has it */
    uint32_t seen_pmtu_bytes; /* of a first or middle packet, or of an answer like that; 0: none was seen */
};

/* Returns whether a request for that PSN is remembered. */
bool explain_is_asked(const struct explain_half *half, uint32_t psn);
/* Returns whether a request for that PSN was not seen: none is remembered, and it would be. */
bool explain_was_not_asked(const struct explain_half *half, uint32_t psn);
/* Returns the recovery of a half, made if there is none; NULL: no memory. */
struct explain_recovery *explain_half_recovery(struct explain_half *half);
/* Returns whether the sender has gone back since the newest packet at that PSN that the capture has, `s`
 * (NULL: it has none), and come past it without its being here. */
bool explain_is_passed_unseen(const struct explain_half *half, uint32_t psn, const struct explain_sent *s);
/* Returns whether the newest packet at that PSN is `s`: it is here, and was not passed unseen since. */
bool explain_is_newest_here(const struct explain_half *half, uint32_t psn, const struct explain_sent *s);
/* Returns the memory that the half holds besides itself, and releases it. */
size_t explain_half_bytes(const struct explain_half *half);
void explain_half_free(struct explain_half *half);

#endif
