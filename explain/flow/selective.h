/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective acknowledgements, an extension of nornic's (docs/selective-retransmission.md): what they say is
 * missing, and whether a packet that comes again was sent for one of them. Inside explain/flow/, and for the
 * judges of its causes. */
#ifndef NORNIC_EXPLAIN_FLOW_SELECTIVE_H
#define NORNIC_EXPLAIN_FLOW_SELECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "explain/flow/why.h"

#define EXPLAIN_HOLES_MAX  128
#define EXPLAIN_FILLED_MAX 32

/* The evidence that a packet with a bitmap is: the PSN is before its end, and not marked as there. */
#define EXPLAIN_SACK_LACKS "the selective acknowledgement that lacks it"

/* PSNs in a row that had not come when a selective acknowledgement was sent. */
struct explain_hole {
    uint32_t psn, end_psn; /* the first, and one past the last */
    bool is_head;          /* it is what the receiver expects: nothing before it is missing, */
    bool is_fresh;         /* which the first that lacks it was the first to say */
    /* the selective acknowledgements that lack it: the first, the second (0: there is none), the newest */
    uint64_t first_number, first_ns, second_ns, newest_number, newest_ns;
    uint64_t probe_number; /* the newest answers that probe: what was sent behind it is not meant; 0: it has
                            * packets behind the hole */
    uint64_t echo_number, asked_number; /* the one that answered a probe while it was open, and the probe */
    uint64_t filled_ns;                 /* when an answer said that it is there */
};

/* What the receiver of a half's requests told by them; made when the first comes. */
struct explain_selective {
    struct explain_hole holes[EXPLAIN_HOLES_MAX]; /* in the order of their PSNs */
    unsigned count;
    struct explain_hole filled[EXPLAIN_FILLED_MAX]; /* a ring: what was sent for them may be on its way */
    unsigned next_filled;
    uint64_t number;       /* of the newest, */
    uint32_t psn, end_psn; /* the PSN that it expects, and one past the last that it has */
    /* the newest probe of the sender: its stamp, and one past the newest PSN then */
    uint64_t probe_number;
    uint32_t probe_stamp, probe_end_psn;
    bool is_probe_answered;
    uint32_t chosen_psn; /* one past the newest packet that was shown to be sent for one, */
    bool has_chosen;     /* if there was one */
};

/* What one of them says. */
struct explain_sack {
    uint32_t kept, lacking; /* packets behind the expected one that are there, and PSNs that are not */
    uint32_t psn, end_psn;  /* the first hole that none told of before; equal: there is none */
    uint64_t probe_number;  /* of the probe that it answers; 0: none, or it is not in the capture */
};

struct explain_half;
struct explain_ids;
struct explain_packet;
struct explain_sent;

/* A probe went out from the end whose requests `half` are. */
void explain_selective_probe(struct explain_half *half, const struct explain_packet *packet);
/* One came to that end: remembers what it lacks. What it acknowledges is acknowledged already; `is_further`:
 * by it alone. */
struct explain_sack explain_selective_take(struct explain_half *half, const struct explain_packet *packet,
                                           bool is_further);
/* Whether the newest selective acknowledgement says of that very PSN that it did not come: it is expected, or
 * something behind it came. Of what was sent behind all that came a receiver may have got some and thrown it
 * away, as what is before it is missing. */
bool explain_selective_names(const struct explain_half *half, uint32_t psn);
/* The newest says that the packet at that PSN is there, behind one that is not. */
bool explain_selective_has(const struct explain_half *half, uint32_t psn);
/* Everything before `end_psn` is acknowledged: what was missing there was late, or lost. */
void explain_selective_passed(struct explain_half *half, uint64_t now_ns, uint32_t end_psn);

/* What is known of a packet that comes again. */
struct explain_comeback {
    const struct explain_sent *before; /* the copy before; NULL: none is here */
    uint64_t nak_number;               /* the NAK that asks for its PSN; 0: none does */
    bool is_turn;                      /* its sender goes back, and it would be next all the same */
    bool is_proved;                    /* no copy that the network made: it was sent again */
    bool is_behind; /* besides, nothing of this sender is missing between the packet before it and this one */
};

/* Says why it came if that is a selective acknowledgement: true. */
bool explain_selective_tell(struct explain_half *half, const struct explain_packet *packet,
                            const struct explain_comeback *comeback, struct explain_why *why);

#endif
