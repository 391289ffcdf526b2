/* SPDX-License-Identifier: BSD-2-Clause */
/* The text that all writers append to, and the values that they write. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/packet/packet.h"
#include "explain/show/text.h"

static void expect(struct explain_text *text, const char *wanted)
{
    cr_assert_not(text->has_failed);
    cr_expect_str_eq(text->bytes, wanted);
    cr_expect_eq(text->len, strlen(wanted));
    explain_text_free(text);
}

Test(text, grows_with_what_is_put_into_it)
{
    struct explain_text text = {0};
    char wanted[3001] = "";
    for (unsigned i = 0; i < 1000; i++) {
        explain_put_n(&text, "abcd", 2);
        explain_put(&text, "c");
        memcpy(wanted + 3 * (size_t)i, "abc", 4);
    }
    expect(&text, wanted);
}

Test(text, numbers_are_padded_to_their_width_and_never_cut)
{
    struct explain_text text = {0};
    explain_put_u64_padded(&text, 7, 4, ' ');
    explain_put_u64_padded(&text, 12345, 4, '0');
    explain_put_u64_padded(&text, 42, 6, '0');
    expect(&text, "   712345000042");
}

Test(text, a_json_string_escapes_what_it_must)
{
    struct explain_text text = {0};
    explain_put_quoted(&text, "");
    explain_put_quoted(&text, "a\"b\\c\n\x01 \x1f"
                              "d\xc3\xa9");
    explain_put_quoted(&text, "\"");
    expect(&text, "\"\"\"a\\\"b\\\\c\\u000a\\u0001 \\u001fd\xc3\xa9\"\"\\\"\"");
}

/* Each width at each bit, as net/field.h reads it. */
Test(text, fields_of_a_table_are_read_as_constant_ones_are)
{
    static const uint8_t bytes[] = {0x9d, 0x3c, 0xff, 0x00, 0x81, 0x7e, 0xa5, 0x5a, 0xc3, 0x18, 0x66};
    const struct explain_packet packet = {.frame = bytes};
    for (unsigned first = 0; first < 16; first++)
        for (unsigned width = 1; width <= 64; width++) {
            struct net_field field = {"", (uint16_t)first, (uint16_t)width, 0, NULL};
            cr_expect_eq(explain_field_value(&packet, 0, &field), net_bits_get(bytes, first, width),
                         "bit %u, width %u", first, width);
        }
}
