/* SPDX-License-Identifier: BSD-2-Clause */
/* A text that grows: what the writers of lines, boxes and JSON append to. */
#ifndef NORNIC_EXPLAIN_SHOW_TEXT_H
#define NORNIC_EXPLAIN_SHOW_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

void explain_put(struct explain_text *text, const char *string);
void explain_put_n(struct explain_text *text, const char *bytes, size_t n);
void explain_printf(struct explain_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Decimal, and hex with exactly `digits`, without printf(): these are what JSON is made of. */
void explain_put_u64(struct explain_text *text, uint64_t value);
void explain_put_hex(struct explain_text *text, uint64_t value, unsigned digits);
/* A paragraph: words in lines of at most `columns` characters, each behind `indent`. */
void explain_put_wrapped(struct explain_text *text, const char *indent, const char *words, unsigned columns);
/* A JSON string, quotes included. */
void explain_put_quoted(struct explain_text *text, const char *string);

#endif
