/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests in words. Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_DESCRIBE_H
#define NORNIC_EXPLAIN_FLOW_DESCRIBE_H

#include "explain/flow/flow.h"

/* Appends to m->words. */
void explain_add_words(struct explain_meaning *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* The same without printf(), for what is said of most packets: words, a number, "0x00beef". */
void explain_add(struct explain_meaning *m, const char *words);
void explain_add_u64(struct explain_meaning *m, uint64_t value);
void explain_add_psn(struct explain_meaning *m, uint32_t psn);
/* Sets m->words: operation, message, piece and bytes, as far as `m` knows them. */
void explain_describe(const struct explain_packet *packet, struct explain_meaning *m);
/* Appends why the packet was sent again. `before`: the copy before it, 0: none is in this capture. */
void explain_describe_again(struct explain_meaning *m, const struct explain_why *why, uint64_t before);

#endif
