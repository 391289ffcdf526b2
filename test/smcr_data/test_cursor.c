/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "smcr/cursor.h"

#define ELEM 10000

static void expect(struct smcr_cursor from, uint32_t n, uint32_t offset, uint16_t wrap)
{
    struct smcr_cursor to = smcr_cursor_advance(SMCR_CURSOR_START, from, n, ELEM);
    cr_assert_eq(to.offset_bytes, offset);
    cr_assert_eq(to.wrap, wrap);
    cr_assert_eq(smcr_cursor_distance(SMCR_CURSOR_START, &from, &to, ELEM), n);
}

/* covers: SMCR-CDC-08 */
Test(cursor, SMCR_CDC_08_the_eye_catcher_is_no_place_for_a_cursor)
{
    cr_assert_eq(SMCR_CURSOR_START, 4);
    cr_assert_eq(smcr_cap_bytes(SMCR_CURSOR_START, ELEM), 9996);
    for (uint32_t offset = 0; offset < 4; offset++)
        cr_assert_not(smcr_cursor_is_valid(SMCR_CURSOR_START, &(struct smcr_cursor){offset, 0}, ELEM));
    cr_assert(smcr_cursor_is_valid(SMCR_CURSOR_START, &(struct smcr_cursor){4, 0}, ELEM));
    cr_assert(smcr_cursor_is_valid(SMCR_CURSOR_START, &(struct smcr_cursor){9999, 9}, ELEM));
    cr_assert_not(smcr_cursor_is_valid(SMCR_CURSOR_START, &(struct smcr_cursor){10000, 0}, ELEM));
    cr_assert_not(smcr_cursor_is_valid(SMCR_CURSOR_START, &(struct smcr_cursor){UINT32_MAX, 0}, ELEM));
}

/* SMCR section 22, the check vectors behind the examples. */
/* covers: SMCR-CDC-08, SMCR-CDC-10 */
Test(cursor, SMCR_CDC_10_the_numbers_of_4_7)
{
    expect((struct smcr_cursor){4, 0}, 1000, 1004, 0);
    expect((struct smcr_cursor){3004, 0}, 4000, 7004, 0);
    expect((struct smcr_cursor){1004, 1}, 9996, 1004, 2);
    expect((struct smcr_cursor){1004, 2}, 9996, 1004, 3);
    expect((struct smcr_cursor){1004, 3}, 8, 1012, 3);
    expect((struct smcr_cursor){9999, 0}, 1, 4, 1);
    expect((struct smcr_cursor){4, 0}, 9995, 9999, 0);
}

/* covers: SMCR-CDC-09 */
Test(cursor, SMCR_CDC_09_wraps_are_counted_modulo_2_to_16)
{
    expect((struct smcr_cursor){9000, 65535}, 1000, 4, 0);
    expect((struct smcr_cursor){9000, 65535}, 9996, 9000, 0);
}

/* covers: SMCR-CDC-11 */
Test(cursor, SMCR_CDC_11_equal_offsets_are_empty_or_full_by_the_wraps)
{
    struct smcr_cursor consumer = {1004, 1}, empty = {1004, 1}, full = {1004, 2};
    cr_assert_eq(smcr_cursor_distance(SMCR_CURSOR_START, &consumer, &empty, ELEM), 0);
    cr_assert_eq(smcr_cursor_distance(SMCR_CURSOR_START, &consumer, &full, ELEM), 9996);
}

/* covers: SMCR-CDC-10, SMCR-CDC-12 */
Test(cursor, SMCR_CDC_12_what_is_behind_or_too_far_shows)
{
    struct smcr_cursor at = {1004, 5};
    cr_assert_lt(smcr_cursor_distance(SMCR_CURSOR_START, &at, &(struct smcr_cursor){1003, 5}, ELEM), 0);
    cr_assert_lt(smcr_cursor_distance(SMCR_CURSOR_START, &at, &(struct smcr_cursor){1005, 4}, ELEM), 0);
    cr_assert_gt(smcr_cursor_distance(SMCR_CURSOR_START, &at, &(struct smcr_cursor){1005, 6}, ELEM), 9996);
    cr_assert_lt(smcr_cursor_distance(SMCR_CURSOR_START, &at, &(struct smcr_cursor){1004, 5 + 0x8000}, ELEM),
                 0);
}

/* covers: SMCR-CDC-04 */
Test(cursor, SMCR_CDC_04_sequence_numbers_are_serial_numbers)
{
    cr_assert_gt(smcr_seq_ahead(0, 65535), 0, "0 is newer than 65535");
    cr_assert_gt(smcr_seq_ahead(1, 0), 0);
    cr_assert_eq(smcr_seq_ahead(7, 7), 0);
    cr_assert_lt(smcr_seq_ahead(65535, 0), 0);
    cr_assert_lt(smcr_seq_ahead(0, 0x8000), 0);
    for (uint16_t n = 1; n < 0x8000; n++) {
        cr_assert_eq(smcr_seq_ahead((uint16_t)(0xc000 + n), 0xc000), n, "so many may be lost");
        cr_assert_eq(smcr_seq_ahead(0xc000, (uint16_t)(0xc000 + n)), -n);
    }
}
