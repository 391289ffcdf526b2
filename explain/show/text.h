/* SPDX-License-Identifier: BSD-2-Clause */
/* A text that grows: what the writers of lines, boxes and JSON append to. */
#ifndef NORNIC_EXPLAIN_SHOW_TEXT_H
#define NORNIC_EXPLAIN_SHOW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* All zero: empty. `bytes` is NUL-terminated once something was appended; explain_text_free() gives it back.
 */
struct explain_text {
    char *bytes;
    size_t len, cap;
    bool has_failed; /* no memory: what was appended since is missing */
};

void explain_text_free(struct explain_text *text);
/* Empties it and keeps the memory. */
void explain_text_clear(struct explain_text *text);

/* Makes room for `n` more bytes and a NUL. False: no memory, and `failed` is set. */
bool explain_text_grow(struct explain_text *text, size_t n);

/* Appends `n` bytes. Inline, for JSON is made of pieces of one or two. */
static inline void explain_put_n(struct explain_text *text, const char *bytes, size_t n)
{
    if (text->len + n >= text->cap && !explain_text_grow(text, n))
        return;
    memcpy(text->bytes + text->len, bytes, n);
    text->len += n;
    text->bytes[text->len] = '\0';
}

static inline void explain_put(struct explain_text *text, const char *string)
{
    explain_put_n(text, string, strlen(string));
}

void explain_printf(struct explain_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decimal, and hex with exactly `digits` (at most 16), without printf(): these are what JSON is made of. */
void explain_put_u64(struct explain_text *text, uint64_t value);
void explain_put_hex(struct explain_text *text, uint64_t value, unsigned digits);
/* Appends words, and a number behind them. */
static inline void explain_put_value(struct explain_text *text, const char *words, uint64_t value)
{
    explain_put(text, words);
    explain_put_u64(text, value);
}

/* Appends `before`, `count` and `noun`, which is in the plural unless `count` is 1. */
void explain_put_counted(struct explain_text *text, const char *before, uint64_t count, const char *noun);

/* Decimal, behind so many of `pad` that it has `width` characters (at most 20). */
void explain_put_u64_padded(struct explain_text *text, uint64_t value, unsigned width, char pad);
/* A paragraph: words in lines of at most `columns` characters, each behind `indent`. */
void explain_put_wrapped(struct explain_text *text, const char *indent, const char *words, unsigned columns);
/* A JSON string, quotes included. */
void explain_put_quoted(struct explain_text *text, const char *string);

#endif
