/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/crc.h"

#include <criterion/criterion.h>

#include "test/support/iwarp_frames.h"
#include "test/support/upper_halves.h"

/* covers: IWARP-FPDU-07, IWARP-FPDU-08 */
Test(crc, the_check_value_goes_out_least_significant_octet_first)
{
    uint8_t wire[4];
    uint32_t crc = iwarp_crc(0, (const uint8_t *)"123456789", 9);
    cr_expect_eq(crc, 0xe3069283);
    cr_expect_eq(iwarp_crc_put(wire, crc), wire + 4);
    cr_expect_arr_eq(wire, "\x83\x92\x06\xe3", 4);
    cr_expect_eq(iwarp_crc_get(wire), crc);
}

Test(crc, pieces_give_what_the_whole_gives)
{
    const uint8_t *bytes = (const uint8_t *)"123456789";
    for (size_t cut = 0; cut <= 9; cut++)
        cr_expect_eq(iwarp_crc(iwarp_crc(0, bytes, cut), bytes + cut, 9 - cut), 0xe3069283, "cut at %zu",
                     cut);
}

/* covers: IWARP-FPDU-07 */
/* covers: IWARP-CM-13 */
Test(crc, every_flipped_bit_of_every_example_shows)
{
    for (int name = IWARP_EX_FIRST_FPDU; name < IWARP_EX_COUNT; name++) {
        uint8_t bytes[IWARP_EXAMPLE_MAX_BYTES];
        size_t len = iwarp_example_bytes((enum iwarp_example_name)name, bytes) - 4;
        cr_expect_eq(iwarp_crc(0, bytes, len), iwarp_crc_get(bytes + len), "%s", iwarp_examples[name].title);
        for (size_t bit = 0; bit < 8 * (len + 4); bit++) {
            bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
            cr_expect_neq(iwarp_crc(0, bytes, len), iwarp_crc_get(bytes + len), "%s, bit %zu",
                          iwarp_examples[name].title, bit);
            bytes[bit / 8] ^= (uint8_t)(0x80 >> bit % 8);
        }
    }
}

Test(crc, leaves_no_upper_halves_in_use)
{
    static const uint8_t bytes[4096];
    for (size_t len = 0; len <= sizeof bytes; len = len * 2 + 1) {
        iwarp_crc(0, bytes, len);
        cr_expect_not(upper_halves_are_in_use(), "behind a CRC of %zu octets", len);
    }
}
