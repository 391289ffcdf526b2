/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/text.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/digits.h"
#include "base/utf8.h"

bool explain_text_grow(struct explain_text *text, size_t n)
{
    char *bytes = array_room(text->bytes, &text->cap, text->len + n + 1, 1);
    if (bytes)
        text->bytes = bytes;
    else
        text->has_failed = true;
    return bytes;
}

void explain_text_free(struct explain_text *text)
{
    free(text->bytes);
    *text = (struct explain_text){0};
}

void explain_text_clear(struct explain_text *text)
{
    text->len = 0;
    if (text->bytes)
        text->bytes[0] = '\0';
}

void explain_printf(struct explain_text *text, const char *format, ...)
{
    va_list args, again;
    va_start(args, format);
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    va_end(args);
    if (n > 0 && explain_text_grow(text, (size_t)n)) {
        vsnprintf(text->bytes + text->len, (size_t)n + 1, format, again);
        text->len += (size_t)n;
    }
    va_end(again);
}

void explain_put_u64(struct explain_text *text, uint64_t value)
{
    char digits[DIGITS_MAX];
    const char *end = digits_put(digits, value);
    explain_put_n(text, digits, (size_t)(end - digits));
}

void explain_put_u64_padded(struct explain_text *text, uint64_t value, unsigned width, char pad)
{
    char padded[2 * DIGITS_MAX], *digits = padded + DIGITS_MAX;
    memset(padded, pad, DIGITS_MAX);
    unsigned n = (unsigned)(digits_put(digits, value) - digits), pads = n < width ? width - n : 0;
    explain_put_n(text, digits - pads, pads + n);
}

void explain_put_hex(struct explain_text *text, uint64_t value, unsigned digits)
{
    char out[16];
    digits_put_hex(out, value, digits);
    explain_put_n(text, out, digits);
}

static bool is_escaped(char c)
{
    return c == '"' || c == '\\' || (unsigned char)c < 0x20 || c == 0x7f;
}

void explain_put_quoted(struct explain_text *text, const char *string)
{
    explain_put_n(text, "\"", 1);
    while (*string) {
        const char *end = string;
        size_t bytes = 1;
        while (!is_escaped(*end) &&
               (bytes = (unsigned char)*end < 0x7f ? 1 : utf8_length(end))) /* a NUL is */
            end += bytes;
        explain_put_n(text, string, (size_t)(end - string));
        if (!bytes)
            explain_put_n(text, "?", 1);
        else if (*end == '"' || *end == '\\')
            explain_printf(text, "\\%c", *end);
        else if (*end)
            explain_printf(text, "\\u%04x", (unsigned)*end);
        string = *end ? end + 1 : end;
    }
    explain_put_n(text, "\"", 1);
}

void explain_put_wrapped(struct explain_text *out, const char *indent, const char *words, unsigned columns)
{
    size_t at = strlen(indent);
    explain_put(out, indent);
    for (bool is_first = true; *words; is_first = false) {
        size_t n = strcspn(words, " ");
        if (!is_first && at + 1 + n > columns) {
            explain_put(out, "\n");
            explain_put(out, indent);
            at = strlen(indent);
        } else if (!is_first) {
            explain_put(out, " ");
            at++;
        }
        explain_put_n(out, words, n);
        at += n;
        words += n + strspn(words + n, " ");
    }
    explain_put(out, "\n");
}

void explain_put_counted(struct explain_text *text, const char *before, uint64_t count, const char *noun)
{
    explain_put_value(text, before, count);
    explain_put(text, " ");
    explain_put(text, noun);
    explain_put(text, plural_s(count));
}
