/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors against the arithmetic of whole positions: byte n of a stream lies at 4 + n mod cap of the element,
 * n / cap times round. */
#include <criterion/criterion.h>

#include "smcr/cursor.h"
#include "test/support/random.h"

static struct smcr_cursor at(uint64_t position, uint32_t elem_bytes)
{
    uint64_t cap = elem_bytes - 4;
    return (struct smcr_cursor){.offset_bytes = (uint32_t)(4 + position % cap),
                                .wrap = (uint16_t)(position / cap)};
}

/* covers: SMCR-CDC-08, SMCR-CDC-09, SMCR-CDC-10, SMCR-CDC-11, SMCR-DAT-03 */
Test(smcr_cursor, SMCR_CDC_10_moves_as_positions_do)
{
    static const uint32_t sizes[] = {10000, 16384, 32768, 524288};
    for (uint64_t seed = 1; seed <= 2000; seed++) {
        struct test_random r = {.state = seed};
        uint32_t elem = sizes[seed % 4], cap = elem - 4;
        /* near the start, and near the place where 16 bits of wraps end */
        uint64_t produced = (uint64_t)cap * (seed % 3 == 0 ? 65534 : seed % 3 == 1 ? 0 : 131069);
        uint64_t consumed = produced;
        struct smcr_cursor p = at(produced, elem), c = at(consumed, elem);
        for (unsigned i = 0; i < 60; i++) {
            uint64_t used = produced - consumed;
            uint32_t n = (uint32_t)test_random_between(&r, 0, i % 5 == 0 ? cap - used : (cap - used) / 3);
            p = smcr_cursor_advance(SMCR_CURSOR_START, p, n, elem);
            produced += n;
            n = (uint32_t)test_random_between(&r, 0, i % 7 == 0 ? 0 : produced - consumed);
            c = smcr_cursor_advance(SMCR_CURSOR_START, c, n, elem);
            consumed += n;
            struct smcr_cursor want_p = at(produced, elem), want_c = at(consumed, elem);
            cr_assert(p.offset_bytes == want_p.offset_bytes && p.wrap == want_p.wrap, "seed %d", (int)seed);
            cr_assert(c.offset_bytes == want_c.offset_bytes && c.wrap == want_c.wrap, "seed %d", (int)seed);
            cr_assert(smcr_cursor_is_valid(SMCR_CURSOR_START, &p, elem));
            cr_assert_eq(smcr_cursor_distance(SMCR_CURSOR_START, &c, &p, elem),
                         (int64_t)(produced - consumed), "seed %d", (int)seed);
            cr_assert_eq(smcr_cursor_distance(SMCR_CURSOR_START, &p, &c, elem),
                         (int64_t)(consumed - produced));
        }
    }
}
