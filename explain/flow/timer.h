/* SPDX-License-Identifier: BSD-2-Clause */
/* The ack timer of a sender: how long it is, as far as that is known, and whether a silence is one of its
 * timeouts. Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_TIMER_H
#define NORNIC_EXPLAIN_FLOW_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/flow/why.h"
#include "nornic/addr.h"

#define EXPLAIN_SILENCES_MAX    4
#define EXPLAIN_SILENCES_SHOW   2 /* so many alike show a timeout */
#define EXPLAIN_TIMER_HOSTS_MAX 64
#define EXPLAIN_SILENCE_NS      NS_PER_MS /* shorter ones are no timeouts (ROCE-RC-41: 2^8 * 4.096 us) */

/* Silences before something was sent again without another reason, by length. */
struct explain_silence {
    uint64_t ns;
    uint32_t count;
};

/* A timeout that was seen: `ns` is 0 where none was. */
struct explain_host_timer {
    struct nornic_addr addr;
    uint64_t ns, number; /* and the packet that showed it */
    uint32_t flow;       /* its index */
};

/* The timeouts of hosts, each of a flow whose silences showed it; a ring. */
struct explain_timers {
    struct explain_host_timer hosts[EXPLAIN_TIMER_HOSTS_MAX];
    unsigned next;
};

/* What is known of a sender's timer from elsewhere: its connection's REQ (ROCE-CM-33), other flows of its
 * host. Each 0: nothing. */
struct explain_timer_terms {
    uint64_t agreed_ns, agreed_number; /* the shortest that the REQ allows, and the REQ */
    uint64_t host_ns, host_number;
};

/* How well a silence is the timer's. */
enum explain_fit {
    EXPLAIN_FIT_NOT,
    EXPLAIN_FIT_DOUBT, /* it is long enough, and nothing but itself says that it is a timeout */
    EXPLAIN_FIT_MAY,   /* so it is, and nothing else can have prompted the sender */
    EXPLAIN_FIT_WELL,  /* it is as long as another that was, or as the terms say */
};

struct explain_half;

/* Of a code 1 to 31 (ROCE-RC-41). */
uint64_t explain_timeout_of_code(unsigned code);
/* About the same, as timeouts of one length are. */
bool explain_is_alike(uint64_t a_ns, uint64_t b_ns);
/* The silence that was seen most often; its count is 0: none was. */
const struct explain_silence *explain_usual_silence(const struct explain_half *half);
/* The length of the timer, however it is known; 0: it is not. */
uint64_t explain_known_timeout(const struct explain_half *half);
/* How well a silence of `ns` fits before a packet at `now_ns`. */
enum explain_fit explain_fit_of_timer(const struct explain_half *half, uint64_t ns, uint64_t now_ns);
/* Adds what the length rests on besides silences of this flow. */
void explain_prove_timer(const struct explain_half *half, uint64_t ns, struct explain_why *why);
/* That silence was a timeout. */
void explain_learn_silence(struct explain_half *half, uint64_t ns);
/* Whether the timer was started by the request before that at `psn`, and not stopped by its answer: since
 * then as much time has passed at `now_ns` as it takes, as far as that is known, or as has passed before
 * where nothing else was to be seen. Returns the number of that request; 0: not, or nothing tells so far. */
uint64_t explain_stale_timer(struct explain_half *half, uint32_t psn, uint64_t now_ns);

/* What a flow of that host other than `flow` showed; NULL: nothing. */
const struct explain_host_timer *explain_timers_find(const struct explain_timers *timers,
                                                     const struct nornic_addr *addr, uint32_t flow);
/* A flow showed a timeout of its host. What another one showed before stands, if it is alike: this one may
 * rest on it. */
void explain_timers_note(struct explain_timers *timers, const struct explain_host_timer *timer);

#endif
