/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/utf8.h"

#include <criterion/criterion.h>

static const char *clean(const char *text)
{
    static char out[64];
    return utf8_copy(text, out, sizeof out);
}

Test(utf8, valid_text_stays)
{
    cr_assert_str_eq(clean("plain ~"), "plain ~");
    cr_assert_str_eq(clean("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80"),
                     "\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80");
}

Test(utf8, bytes_that_are_no_utf8_are_replaced)
{
    cr_assert_str_eq(clean("a\xff\xfe"), "a??");
    cr_assert_str_eq(clean("\xc0\xaf"), "??");           /* overlong */
    cr_assert_str_eq(clean("\xed\xa0\x80"), "???");      /* a surrogate */
    cr_assert_str_eq(clean("\xf4\x90\x80\x80"), "????"); /* beyond U+10FFFF */
    cr_assert_str_eq(clean("\xe2\x82"), "??");           /* cut */
}

Test(utf8, control_characters_are_replaced)
{
    cr_assert_str_eq(clean("\x1b[2J\n\r\t\x7f"), "?[2J????");
    cr_assert_str_eq(clean("\xc2\x9b"), "??");      /* CSI, U+009B */
    cr_assert_str_eq(clean("\xe2\x80\xae"), "???"); /* from right to left */
}
