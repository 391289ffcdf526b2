/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets that selective acknowledgements say are missing. explain/flow/again/selective.c judges them. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_HOLES_H
#define NORNIC_EXPLAIN_FLOW_HALF_HOLES_H

#include <stdbool.h>
#include <stdint.h>

#define EXPLAIN_HOLES_MAX  128
#define EXPLAIN_FILLED_MAX 32

/* PSNs in a row that had not come when a selective acknowledgement was sent. */
struct explain_hole {
    uint32_t psn, end_psn; /* the first, and one past the last */
    bool is_head;          /* the receiver expects it: nothing before it is missing, */
    bool is_fresh;         /* which the first that lacks it was the first to say */
    /* the selective acknowledgements that lack it: the first, the second (0: there is none), the newest */
    uint64_t first_number, first_ns, second_ns, newest_number, newest_ns;
    /* of the probe that the newest answers: packets that were sent behind the probe are not meant. 0: the
     * newest has packets behind the hole */
    uint64_t probe_number;
    uint64_t echo_number, asked_number; /* the one that answered a probe while it was open, and the probe */
    uint64_t filled_ns;                 /* the time of an answer that said that it is there */
};

/* The acknowledgements of the receiver of a half's requests; made when the first comes. */
struct explain_selective {
    struct explain_hole holes[EXPLAIN_HOLES_MAX]; /* in the order of their PSNs */
    unsigned count;
    /* a ring: packets that were sent for them may be on their way */
    struct explain_hole filled[EXPLAIN_FILLED_MAX];
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

#endif
