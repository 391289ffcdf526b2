/* SPDX-License-Identifier: BSD-2-Clause */
/* Text from outside (names of processes, files and interfaces) in sentences and JSON: valid UTF-8 (RFC 3629)
 * without control characters, so that neither a terminal nor a reader of JSON is misled. */
#ifndef NORNIC_BASE_UTF8_H
#define NORNIC_BASE_UTF8_H

#include <stddef.h>

/* Returns how many bytes the character at `text` has. 0: it is no valid UTF-8, or a control character: U+0000
 * to U+001F, U+007F to U+009F, those that turn the direction of text, and separators of lines. */
size_t utf8_length(const char *text);
/* Puts '?' into the place of each byte that utf8_length() refuses. Returns `text`. */
char *utf8_clean(char *text);
/* Copies as much of `text` as `out` has room for, with a NUL, and cleans it. Returns `out`. */
const char *utf8_copy(const char *text, char *out, size_t out_bytes);

#endif
