/* SPDX-License-Identifier: BSD-2-Clause */
/* The deeds of a network, over a whole capture: a packet that did not come may have been lost or overtaken,
 * and one that comes again may be a copy. The usual deeds here tell which of these it was. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_WEATHER_H
#define NORNIC_EXPLAIN_FLOW_HALF_WEATHER_H

#include <stdbool.h>
#include <stdint.h>

#include "explain/meaning/why.h"
#include "explain/packet/packet.h"

#define EXPLAIN_DAMAGED_KEPT 8

struct roce_pkt;

/* A packet that came damaged, as far as its header can be believed. */
struct explain_damaged {
    uint64_t number; /* 0: the slot is free */
    uint32_t psn, qpn;
    bool is_answer;
};

/* Packets that did not come in time. */
struct explain_missing {
    uint32_t qpn, psn, count; /* to that QP, from that PSN on */
    bool is_answer;
    bool is_here; /* the capture has them: they were lost or overtaken behind it */
};

/* Packets; all 0: nothing was seen to happen. */
struct explain_weather {
    /* Set by the owner: a packet that repeats a PSN was sent again, if its identification does not say
     * otherwise, however soon it comes. */
    bool counts_each;
    uint32_t lost; /* were sent again on a NAK, and nothing says that the first copy came after all */
    /* came behind others that were sent later, or came twice though a NAK had asked for them */
    uint32_t late;
    uint32_t maybe_late; /* came behind others, or into a gap, and may have been overtaken */
    uint32_t copied;     /* are in the capture twice, and were sent once */
    struct explain_damaged damaged[EXPLAIN_DAMAGED_KEPT]; /* a ring */
    uint32_t next_damaged;
};

/* The conclusions from it so far, from the least to the most that is asked for: nothing came late or
 * twice; */
bool explain_weather_is_calm(const struct explain_weather *weather);
/* ... nothing may have come late either, so that a packet that did not come was lost; */
bool explain_weather_is_orderly(const struct explain_weather *weather);
/* ... and so many packets were lost that the next one most likely is; */
bool explain_weather_is_lossy(const struct explain_weather *weather);
/* ... calm, and nothing was lost either. */
bool explain_weather_is_quiet(const struct explain_weather *weather);
/* Notes a packet that came damaged: if its QPN and PSN are not the damaged part, it is why they are
 * missing. */
void explain_weather_damaged(struct explain_weather *weather, uint64_t number, const struct roce_pkt *pkt);
/* Tells why packets did not come in time: cause with another that fits, or candidates, and the evidence. */
void explain_weather_tell(const struct explain_weather *weather, const struct explain_missing *missing,
                          struct explain_why *why);

#endif
