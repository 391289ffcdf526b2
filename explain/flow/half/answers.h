/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest answers to the requests of one end, by which their copies are known. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_ANSWERS_H
#define NORNIC_EXPLAIN_FLOW_HALF_ANSWERS_H

#include <stddef.h>
#include <stdint.h>

#define EXPLAIN_ANSWERS_MAX 32

/* An answer that was seen. */
struct explain_answer {
    uint64_t number; /* 0: the slot is free */
    uint64_t time_ns;
    uint32_t psn;
    uint16_t ip_id;
    uint8_t opcode;
};

/* A ring. All 0, it is empty. */
struct explain_answers {
    struct explain_answer *kept; /* NULL, or EXPLAIN_ANSWERS_MAX of them */
    uint32_t next;
};

/* Returns a new answer, all 0; the oldest of EXPLAIN_ANSWERS_MAX is forgotten for it. NULL: no memory. */
struct explain_answer *explain_answer_add(struct explain_answers *answers);
/* Returns the memory behind it, and releases that memory. */
size_t explain_answers_bytes(const struct explain_answers *answers);
void explain_answers_free(struct explain_answers *answers);

#endif
