/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that came before their questions. explain/flow/early.c judges them. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_EARLY_H
#define NORNIC_EXPLAIN_FLOW_HALF_EARLY_H

#include <stdbool.h>
#include <stdint.h>

#define EXPLAIN_EARLY_KEPT 64

/* An answer to a request that was not sent when the answer came. */
struct explain_early_answer {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint32_t psn;
    uint32_t next_psn; /* that the sender was about to use then */
    uint32_t bytes;    /* of payload */
    uint8_t opcode;
    bool is_nak;
    /* It answers this half, as far as ports and others tell. If the request never comes, it is reported. */
    bool is_ours;
};

struct explain_early {
    struct explain_early_answer kept[EXPLAIN_EARLY_KEPT]; /* a ring */
    uint32_t next;
    uint32_t leads;   /* that were met */
    uint64_t most_ns; /* the longest time between an early answer and its request */
};

#endif
