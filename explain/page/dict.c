/* SPDX-License-Identifier: BSD-2-Clause */
/* How the page's data are made small, and safe inside a <script>. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "explain/page/inside.h"

int explain_html_dict_number(struct explain_html_dict *dict, const char *text, bool *is_new)
{
    uint32_t at = (uint32_t)(hash_keyed_bytes(0, (const uint8_t *)text, strlen(text)) % HTML_DICT_SLOTS);
    *is_new = false;
    for (; dict->slots[at]; at = (at + 1) % HTML_DICT_SLOTS)
        if (strcmp(dict->texts[dict->slots[at] - 1], text) == 0)
            return dict->slots[at] - 1;
    if (dict->count == HTML_DICT_MAX)
        return -1;
    char *copy = strdup(text);
    if (!copy)
        return -1;
    dict->texts[dict->count] = copy;
    dict->slots[at] = (uint16_t)++dict->count;
    *is_new = true;
    return (int)dict->count - 1;
}

void explain_html_dict_free(struct explain_html_dict *dict)
{
    for (unsigned i = 0; i < dict->count; i++)
        free(dict->texts[i]);
    *dict = (struct explain_html_dict){0};
}

void explain_html_put_safe(struct explain_text *out, const char *text)
{
    static const char special[] = "\\<\n\t\r", letters[] = "\\lntr";
    for (;;) {
        size_t plain = strcspn(text, special);
        explain_put_n(out, text, plain);
        text += plain;
        if (!*text)
            return;
        explain_put_n(out, "\\", 1);
        explain_put_n(out, letters + (strchr(special, *text++) - special), 1);
    }
}

void explain_html_put_base64(struct explain_text *out, const uint8_t *bytes, size_t n)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    for (size_t i = 0; i < n; i += 3) {
        size_t left = n - i < 3 ? n - i : 3;
        uint32_t v = (uint32_t)bytes[i] << 16;
        v |= left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0;
        v |= left > 2 ? bytes[i + 2] : 0;
        char four[4] = {digits[v >> 18], digits[v >> 12 & 63], digits[v >> 6 & 63], digits[v & 63]};
        explain_put_n(out, four, left + 1);
    }
}

void explain_html_split_words(const char *words, struct explain_text *frame, struct explain_text *numbers)
{
    bool in_word = false;
    while (*words) {
        size_t n = 0;
        while (!in_word && isdigit((unsigned char)*words) && isalnum((unsigned char)words[n]))
            n++;
        if (n > 0) {
            explain_put_n(numbers, " ", 1);
            explain_put_n(numbers, words, n);
            explain_put_n(frame, "\\#", 2);
            words += n;
            continue;
        }
        char one[2] = {*words++, '\0'};
        in_word = isalnum((unsigned char)*one);
        explain_html_put_safe(frame, one);
    }
}
