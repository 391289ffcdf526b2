/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/term.h"

#include <criterion/criterion.h>

#include "base/base.h"

/* Every value of the registry, and none besides. covers: IWARP-RDMAP-29 */
Test(term, the_codes_are_those_of_the_registry)
{
    static const uint16_t defined[] = {0x0100, 0x0101, 0x0102, 0x0103, 0x0104, 0x0109, 0x01ff, 0x0205,
                                       0x0206, 0x0207, 0x0208, 0x0209, 0x02ff, 0x1000, 0x1100, 0x1101,
                                       0x1102, 0x1103, 0x1104, 0x1201, 0x1202, 0x1203, 0x1204, 0x1205,
                                       0x1206, 0x2001, 0x2002, 0x2003, 0x2004, 0x2005, 0x2006, 0x2007};
    size_t next = 0;
    for (uint32_t value = 0x0100; value <= UINT16_MAX; value++) {
        bool is_defined = next < array_len(defined) && defined[next] == value;
        next += is_defined;
        cr_expect_eq(iwarp_term_code_name((uint16_t)value) != NULL, is_defined, "%04x", value);
    }
    for (uint16_t value = 0; value < 0x0100; value++)
        cr_expect_str_eq(iwarp_term_code_name(value), "local catastrophic error", "%04x", value);
    cr_expect_str_eq(iwarp_term_code_name(IWARP_TERM_DDP_TOO_LONG), "message too long for the buffer");
}

Test(term, layers_and_types_have_words)
{
    cr_expect_str_eq(iwarp_term_layer_name(IWARP_LAYER_DDP), "DDP");
    cr_expect_null(iwarp_term_layer_name(3));
    cr_expect_str_eq(iwarp_term_type_name(IWARP_LAYER_RDMAP, 1), "remote protection error");
    cr_expect_str_eq(iwarp_term_type_name(IWARP_LAYER_DDP, 2), "untagged buffer error");
    cr_expect_str_eq(iwarp_term_type_name(IWARP_LAYER_MPA, 0), "MPA error");
    cr_expect_null(iwarp_term_type_name(IWARP_LAYER_MPA, 1));
    cr_expect_null(iwarp_term_type_name(0, 3));
    cr_expect_null(iwarp_term_type_name(3, 0));
}

/* As siw sends 1/2/02, 0/1/01, 0/1/00 and 2/0/06. The third is defined as the RFC reads it, too, but its
 * flags stand among the reserved bits; of the fourth nothing tells. covers: IWARP-AMB-02 */
Test(term, a_control_word_with_turned_nibbles_is_understood)
{
    static const struct {
        uint8_t wire[4];
        uint16_t value;
        uint8_t flags;
        bool is_turned;
    } rows[] = {{{0x21, 0x02, 0x03, 0}, IWARP_TERM_DDP_NO_BUFFER, 6, true},
                {{0x10, 0x01, 0x07, 0}, IWARP_TERM_RDMAP_BOUNDS, 7, true},
                {{0x10, 0x00, 0x07, 0}, IWARP_TERM_RDMAP_STAG, 7, true},
                {{0x02, 0x06, 0x00, 0}, IWARP_TERM_MPA_IRD, 0, false}};
    for (size_t i = 0; i < array_len(rows); i++) {
        struct iwarp_term h, meant;
        iwarp_term_get(&h, rows[i].wire);
        cr_expect_eq(iwarp_term_is_turned(&h, &meant), rows[i].is_turned, "row %zu", i);
        cr_expect_eq(iwarp_term_value(&meant), rows[i].value, "row %zu", i);
        cr_expect_eq(meant.m << 2 | meant.d << 1 | meant.r, rows[i].flags, "row %zu", i);
    }
}

/* covers: IWARP-AMB-02 */
Test(term, what_the_rfc_defines_is_not_read_the_other_way)
{
    static const uint8_t as_rfc[4] = {0x12, 0x02, 0xc0, 0};
    static const uint8_t as_nobody[4] = {0x37, 0x02, 0, 0};
    struct iwarp_term h, meant;
    iwarp_term_get(&h, as_rfc);
    cr_expect_not(iwarp_term_is_turned(&h, &meant));
    cr_expect_eq(iwarp_term_value(&h), IWARP_TERM_DDP_NO_BUFFER);
    iwarp_term_get(&h, as_nobody);
    cr_expect_not(iwarp_term_is_turned(&h, &meant));
}
