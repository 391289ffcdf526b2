/* SPDX-License-Identifier: BSD-2-Clause */
/* The READs and atomics of one end. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_READS_H
#define NORNIC_EXPLAIN_FLOW_HALF_READS_H

#include "explain/flow/half/history.h"

/* A READ or an atomic, which takes the PSNs of its answers. */
struct explain_read {
    uint64_t number; /* 0: the slot is free */
    uint64_t message;
    uint32_t psn, span;
    uint32_t bytes;
    uint8_t opcode;
    bool is_answered;
    uint32_t next;      /* index of the answer that is expected, from 0 */
    uint64_t seen_mask; /* bit i: the answer `next` - 1 - i was seen */
};

/* A ring. All 0, it is empty. */
struct explain_reads {
    struct explain_read *list;
    uint32_t size, next;
    bool is_in_parts; /* a part of a READ was asked for again: neither its beginning nor its end */
    struct explain_horizon horizon;
};

/* Returns a new READ or atomic, all 0; the oldest of 64 is forgotten for it. NULL: no memory. */
struct explain_read *explain_read_add(struct explain_reads *reads);
/* Returns the READ or atomic that takes that PSN, the newest first; NULL: none does. */
struct explain_read *explain_read_find(const struct explain_reads *reads, uint32_t psn);
/* Returns one by its age: 1 is the newest; NULL: none is so old. */
struct explain_read *explain_read_aged(const struct explain_reads *reads, uint32_t age);
/* Returns the READ or atomic right before `next_psn`; NULL: that is another request, or forgotten. */
struct explain_read *explain_read_last(const struct explain_reads *reads, uint32_t next_psn);
/* Returns the memory behind it, and releases that memory. */
size_t explain_reads_bytes(const struct explain_reads *reads);
void explain_reads_free(struct explain_reads *reads);

#endif
