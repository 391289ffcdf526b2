/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/meaning/words.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/digits.h"

void explain_add_words(struct explain_meaning *m, const char *format, ...)
{
    size_t used = strlen(m->words);
    va_list args;
    va_start(args, format);
    vsnprintf(m->words + used, sizeof m->words - used, format, args);
    va_end(args);
}

static void put_n(struct explain_words *w, const char *bytes, size_t n)
{
    size_t room = (size_t)(w->end - w->at);
    n = n < room ? n : room;
    memcpy(w->at, bytes, n);
    w->at += n;
    *w->at = '\0';
}

void explain_words_put(struct explain_words *w, const char *words)
{
    put_n(w, words, strlen(words));
}

void explain_words_u64(struct explain_words *w, uint64_t value)
{
    char digits[DIGITS_MAX];
    const char *end = digits_put(digits, value);
    put_n(w, digits, (size_t)(end - digits));
}

void explain_words_psn(struct explain_words *w, uint32_t psn)
{
    char digits[8] = "0x";
    digits_put_hex(digits + 2, psn, 6);
    put_n(w, digits, sizeof digits);
}
