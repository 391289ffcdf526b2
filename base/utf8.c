/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

static bool is_control(uint32_t code)
{
    return code < 0x20 || (code >= 0x7f && code < 0xa0) || (code >= 0x202a && code <= 0x202e) ||
           (code >= 0x2066 && code <= 0x2069) || code == 0x2028 || code == 0x2029;
}

size_t utf8_length(const char *text)
{
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const uint8_t *at = (const uint8_t *)text;
    size_t bytes = at[0] < 0x80 ? 1 : at[0] >> 5 == 6 ? 2 : at[0] >> 4 == 14 ? 3 : at[0] >> 3 == 30 ? 4 : 0;
    if (!bytes)
        return 0;
    uint32_t code = bytes == 1 ? at[0] : at[0] & (0x7fu >> bytes);
    for (size_t i = 1; i < bytes; i++) {
        if (at[i] >> 6 != 2) /* also a NUL */
            return 0;
        code = code << 6 | (at[i] & 0x3fu);
    }
    bool is_valid = code >= least[bytes] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
    return is_valid && !is_control(code) ? bytes : 0;
}

char *utf8_clean(char *text)
{
    for (char *at = text; *at;) {
        size_t bytes = utf8_length(at);
        if (!bytes)
            *at = '?';
        at += bytes ? bytes : 1;
    }
    return text;
}

const char *utf8_copy(const char *text, char *out, size_t out_bytes)
{
    snprintf(out, out_bytes, "%s", text);
    return utf8_clean(out);
}
