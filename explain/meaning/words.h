/* SPDX-License-Identifier: BSD-2-Clause */
/* The words of a meaning in the making. */
#ifndef NORNIC_EXPLAIN_MEANING_WORDS_H
#define NORNIC_EXPLAIN_MEANING_WORDS_H

#include "explain/meaning/meaning.h"

/* Appends to m->words. */
void explain_add_words(struct explain_meaning *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* m->words in the making, for the words of most packets: without printf(). */
struct explain_words {
    char *at, *end; /* the place of the next, and the last place for the NUL */
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

#endif
