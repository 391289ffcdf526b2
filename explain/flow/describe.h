/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests in words. Inside explain/flow/ and for explain/analysis.c. */
#ifndef NORNIC_EXPLAIN_FLOW_DESCRIBE_H
#define NORNIC_EXPLAIN_FLOW_DESCRIBE_H

#include "explain/flow/flow.h"

/* Appends to m->words. */
void explain_add_words(struct explain_meaning *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
/* m->words in the making, for what is said of most packets: without printf(). */
struct explain_words {
    char *at, *end; /* where the next goes, and where the NUL must be at the latest */
};

/* Begins them anew. */
static inline struct explain_words explain_words_begin(struct explain_meaning *m)
{
    return (struct explain_words){m->words, m->words + sizeof m->words - 1};
}

/* Each appends as much as there is room for, and a NUL: words, a number, "0x00beef". */
void explain_words_put(struct explain_words *w, const char *words);
void explain_words_u64(struct explain_words *w, uint64_t value);
void explain_words_psn(struct explain_words *w, uint32_t psn);
/* Sets m->words: operation, message, piece and bytes, as far as `m` knows them. */
void explain_describe(const struct explain_packet *packet, struct explain_meaning *m);
/* Appends why the packet was sent again. `before`: the copy before it, 0: none is in this capture. */
void explain_describe_again(struct explain_meaning *m, const struct explain_why *why, uint64_t before);

#endif
