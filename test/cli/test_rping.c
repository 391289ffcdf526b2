/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "cli/peer/rping.h"

/* As rping of rdma-core 44 said it: frame 4 of pcaps/cm_rping.pcap. */
Test(rping, an_advertisement_is_that_of_the_stock_program)
{
    static const uint8_t stock[RPING_ADVERT_BYTES] = {0,    0,    0x55, 0x91, 0xd5, 0x7b, 0x88, 0xb0,
                                                      0x00, 0x00, 0x05, 0x66, 0x00, 0x00, 0x00, 0x5b};
    struct rping_advert advert = rping_advert_get(stock);
    cr_assert_eq(advert.addr, 0x5591d57b88b0u);
    cr_assert_eq(advert.rkey, 0x566);
    cr_assert_eq(advert.len_bytes, 91);
    uint8_t back[RPING_ADVERT_BYTES];
    rping_advert_put(&advert, back);
    cr_assert_arr_eq(back, stock, sizeof stock);
}

/* The text of rounds 0 and 2 in that capture. */
Test(rping, the_text_is_that_of_the_stock_program)
{
    char text[91];
    rping_text(0, text, sizeof text);
    cr_assert_str_eq(text,
                     "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNO"
                     "PQRS");
    rping_text(2, text, sizeof text);
    cr_assert_str_eq(text,
                     "rdma-ping-2: CDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQ"
                     "RSTU");
}

/* Whatever the round and the size, the text fills its room and no more, and ends with its only NUL. */
Test(rping, the_text_fits_its_room)
{
    char text[200];
    for (uint32_t size = 1; size < sizeof text; size++) {
        for (uint32_t round = 0; round < 4000000000u; round += 399999999u) {
            memset(text, 0x55, sizeof text);
            rping_text(round, text, size);
            cr_assert_eq(strlen(text), size - 1, "round %u, %u bytes", round, size);
            cr_assert_eq(text[size], 0x55);
        }
    }
}
