/* SPDX-License-Identifier: BSD-2-Clause */
/* An array that grows. */
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>

#include "base/array.h"

Test(array, appending_keeps_what_is_there_and_moves_seldom)
{
    uint32_t *array = NULL;
    size_t room = 0, moves = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        size_t before = room;
        uint32_t *grown = array_room(array, &room, i + 1, sizeof *grown);
        cr_assert_not_null(grown);
        cr_assert_gt(room, i);
        moves += room != before;
        array = grown;
        array[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        cr_assert_eq(array[i], i);
    cr_assert_leq(moves, 9, "%zu", moves);
    free(array);
}

Test(array, room_for_none_is_no_failure)
{
    size_t room = 0;
    void *array = array_room(NULL, &room, 0, 1);
    cr_assert_not_null(array);
    free(array);
}

/* Doubling would pass it by. */
Test(array, room_for_more_than_there_can_be_is_none, .timeout = 10)
{
    size_t room = 4;
    uint32_t *array = calloc(room, sizeof *array);
    cr_expect_null(array_room(array, &room, SIZE_MAX / 2 + 2, 1));
    cr_expect_null(array_room(array, &room, SIZE_MAX, sizeof *array));
    cr_expect_eq(room, 4, "it is as it was");
    free(array);
}
