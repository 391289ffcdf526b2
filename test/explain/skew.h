/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture in pcaps/ with its records in another order: as two NICs would write it whose clocks differ, or a
 * capture whose queues are not merged by time. What is in it stays the same, and is known. */
#ifndef NORNIC_TEST_EXPLAIN_SKEW_H
#define NORNIC_TEST_EXPLAIN_SKEW_H

#include "explain/analysis.h"

struct skew_result {
    unsigned findings[EXPLAIN_FINDING_COUNT]; /* those at the end among them */
    struct explain_flow flow;                 /* the first one */
    uint64_t clocks_related;                  /* number of the packet that the finding `clocks` is about */
};

/* What is said of a capture of at most 512 packets when the clock of those that the sender of the first one
 * sent is set ahead by `ahead_ns`. */
struct skew_result skew_explain(const char *capture, uint64_t ahead_ns);
/* ... when record `number`, from 1, stands before the one in front of it, 0.6 ms later by their clocks. */
struct skew_result skew_swap(const char *capture, uint64_t number);

#endif
