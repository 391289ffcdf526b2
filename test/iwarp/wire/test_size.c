/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/size.h"

#include <criterion/criterion.h>

/* covers: IWARP-GEN-03 */
Test(size, an_fpdu_is_length_ulpdu_pad_and_crc)
{
    static const struct {
        uint32_t ulpdu, fpdu;
    } rows[] = {{46, 52}, {70, 76}, {30, 36}, {26, 32}, {22, 28}, {38, 44}, {42, 48},
                {14, 20}, {18, 24}, {19, 28}, {20, 28}, {21, 28}, {23, 32}};
    for (size_t i = 0; i < array_len(rows); i++)
        cr_expect_eq(iwarp_fpdu_bytes(rows[i].ulpdu), rows[i].fpdu, "ULPDU %u", rows[i].ulpdu);
}

/* The table of RFC 5044 4.5 as the requirement has it. covers: IWARP-FPDU-04 */
/* covers: IWARP-CM-12 */
Test(size, the_mulpdu_of_an_emss)
{
    static const struct {
        uint32_t emss, plain, marked;
    } rows[] = {{536, 530, 522},       {1448, 1442, 1430},      {1460, 1454, 1442}, {8948, 8942, 8870},
                {65483, 64766, 64766}, {9000000, 64766, 64766}, {100, 130, 130},    {0, 130, 130}};
    for (size_t i = 0; i < array_len(rows); i++) {
        cr_expect_eq(iwarp_mulpdu_bytes(rows[i].emss, false), rows[i].plain, "EMSS %u", rows[i].emss);
        cr_expect_eq(iwarp_mulpdu_bytes(rows[i].emss, true), rows[i].marked, "EMSS %u, markers",
                     rows[i].emss);
    }
}

/* covers: IWARP-FPDU-03, IWARP-FPDU-04 */
Test(size, the_largest_fpdu_fits_its_segment_wherever_the_markers_fall)
{
    for (uint32_t emss = 144; emss <= 9000; emss++) {
        uint32_t plain = iwarp_mulpdu_bytes(emss, false), marked = iwarp_mulpdu_bytes(emss, true);
        cr_assert_leq(iwarp_fpdu_bytes(plain), emss, "EMSS %u", emss);
        /* as many as can fall into so many octets: one more than whole intervals, rounded down */
        uint32_t fpdu = iwarp_fpdu_bytes(marked);
        for (uint32_t first = 0; first < IWARP_MARKER_INTERVAL; first += 4) {
            uint32_t len = fpdu;
            for (uint32_t at = first; at < len; at += IWARP_MARKER_INTERVAL)
                len += IWARP_MARKER_BYTES;
            cr_assert_leq(len, emss, "EMSS %u, first marker at %u", emss, first);
        }
        cr_assert(plain % 4 == 2 && marked % 4 == 2, "the segments of a message are filled by words");
        cr_assert_geq(marked, 128, "EMSS %u", emss);
    }
    cr_expect_leq(IWARP_MULPDU_MAX, 64768);
}
