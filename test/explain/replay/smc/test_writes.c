/* SPDX-License-Identifier: BSD-2-Clause */
/* What RDMA writes leave in an element. */
#include <criterion/criterion.h>

#include "explain/replay/smc/writes.h"

/* The last bytes of a write are no data where it was filled up: smcr/group/link_states.c. */
Test(smc_writes, what_a_write_is_filled_up_with_is_not_written)
{
    struct smcplay_image image;
    struct smcplay_piece piece = {.va = 104, .rkey = 7, .len_bytes = SMCR_SHORT_BYTES};
    uint8_t bytes[SMCR_SHORT_BYTES] = {1, 2, 3}, byte;
    struct smcplay_writes w = {.pieces = &piece, .count = 1, .bytes = bytes, .used = sizeof bytes};
    cr_assert_eq(smcplay_image_init(&image, 16384, 4), 0);
    smcplay_image_place(&image, &(struct smcplay_place){7, 100}, &w, &(struct smcr_cursor){7, 0});
    cr_expect_eq(w.count, 0);
    for (unsigned i = 0; i < 3; i++)
        cr_expect(smcplay_image_next(&image, &byte) && byte == i + 1);
    cr_expect_not(smcplay_image_next(&image, &byte));
    smcplay_image_free(&image);
}
