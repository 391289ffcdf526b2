/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text, held against printf(). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "base/digits.h"

Test(digits, decimal_is_as_printf_writes_it)
{
    uint64_t value = 0;
    for (unsigned i = 0; i < 2000; i++) {
        char ours[DIGITS_MAX + 1], theirs[DIGITS_MAX + 1];
        *digits_put(ours, value) = '\0';
        snprintf(theirs, sizeof theirs, "%" PRIu64, value);
        cr_assert_str_eq(ours, theirs);
        value = i < 1100 ? i : i == 1100 ? UINT64_MAX : value / 3 * 2 + 1;
    }
}

Test(digits, hex_has_all_the_digits_that_were_asked_for)
{
    static const uint64_t values[] = {0, 1, 0xf, 0x10, 0xbeef, 0xfedcba9876543210, UINT64_MAX};
    for (unsigned i = 0; i < array_len(values); i++)
        for (unsigned n = 1; n <= 16; n++) {
            char ours[17], theirs[17];
            *digits_put_hex(ours, values[i], n) = '\0';
            snprintf(theirs, sizeof theirs, "%0*" PRIx64, (int)n,
                     n < 16 ? values[i] & ((UINT64_C(1) << 4 * n) - 1) : values[i]);
            cr_assert_str_eq(ours, theirs);
        }
}
