/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of a capture: how long operations took, how much was under way, what was sent again, when nothing
 * moved. They are reckoned from what the analysis says of each packet. */
#ifndef NORNIC_EXPLAIN_STORY_NUMBERS_H
#define NORNIC_EXPLAIN_STORY_NUMBERS_H

#include "explain/analysis.h"
#include "explain/story/latency.h"

/* Flows that have numbers: the first so many; 115 KiB each, so that all are bounded. */
#define EXPLAIN_NUMBERS_FLOWS 128

/* An operation that was answered: from its first packet to the answer that completes it (the ACK that covers
 * its last packet, the last READ response, the atomic's answer). */
struct explain_operation {
    uint32_t flow;
    unsigned direction;
    uint64_t message;            /* number in its direction; 0: the capture cuts off what tells it */
    uint8_t opcode, last_opcode; /* of its first packet and its last */
    uint64_t bytes;
    uint32_t packets, again; /* that its sender sent, and those among them that it sent again */
    uint64_t first_number, end_number;
    uint64_t begin_ns, latency_ns;
    /* a later answer told of it as well; where the capture misses answers, it ended sooner */
    bool is_with_later;
    /* its answer stands before its packets in the capture, out of order: latency_ns is 0, and no latency */
    bool is_untimed;
};

/* Of what one end asked in a flow. */
struct explain_way_numbers {
    struct explain_latency latency; /* of operations that were answered */
    uint64_t untimed;               /* others that were, whose records are out of order */
    uint64_t requests, again;       /* packets in all, and those sent again */
    uint64_t selected;              /* of the latter: for a selective acknowledgement */
    uint64_t bytes;                 /* of messages and READ answers, once each */
    uint32_t most_psns;             /* outstanding at once */
    uint64_t pauses, paused_ns;     /* silences that a timeout or the wait after an RNR NAK ended */
    uint64_t first_ns,
        last_ns; /* when the first packet that the end sent was seen, and the latest; 0: none was */
};

struct explain_flow_numbers {
    struct explain_way_numbers way[2];
    bool is_holey; /* the capture misses packets of it */
};

struct explain_numbers;

/* NULL: no memory. */
struct explain_numbers *explain_numbers_create(void);
void explain_numbers_destroy(struct explain_numbers *numbers);

/* Takes a packet as the analysis does, with what that said of it. Fills at most `max` operations that it
 * completed, and returns how many. */
unsigned explain_numbers_take(struct explain_numbers *numbers, const struct explain_packet *packet,
                              const struct explain_meaning *meaning, struct explain_operation *done,
                              unsigned max);

/* Of a flow by its index; NULL: it has none. */
const struct explain_flow_numbers *explain_numbers_of(const struct explain_numbers *numbers, uint32_t flow);

/* What the packet was sent again for, where with it a sender began to send again after a silence:
 * EXPLAIN_CAUSE_TIMEOUT or _RNR, and *silence_ns; else _NONE. */
enum explain_cause explain_pause_of(const struct explain_meaning *meaning, uint64_t *silence_ns);

/* Whether the capture tells how long operations of a flow took: the clocks of its directions are one, as far
 * as that is known by then (NULL: nothing is). Whatever shows a latency asks this, and is_untimed. */
bool explain_is_timed(const struct explain_flow *flow);

/* Bits a second of what was carried once, over the time of the flow, from the first packet of either end to
 * the last; 0: it has no length. */
double explain_goodput(const struct explain_flow_numbers *numbers, unsigned direction);

#endif
