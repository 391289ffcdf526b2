/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/tiling.h"

#include <criterion/criterion.h>

void test_header_tiles(const struct net_header *header)
{
    unsigned next_bit = 0;
    for (unsigned i = 0; i < header->field_count; i++) {
        const struct net_field *field = &header->fields[i];
        cr_assert_eq(field->first_bit, next_bit, "%s.%s starts at bit %u, the field before it ends at bit %u",
                     header->name, field->name, field->first_bit, next_bit);
        if (field->is_bytes)
            cr_assert(field->first_bit % 8 == 0 && field->width_bits % 8 == 0 && field->width_bits > 0,
                      "%s.%s is a byte string but not of whole bytes", header->name, field->name);
        else
            cr_assert(field->width_bits >= 1 && field->width_bits <= 64, "%s.%s has %u bits", header->name,
                      field->name, field->width_bits);
        next_bit += field->width_bits;
    }
    cr_assert_eq(next_bit, header->len_bytes * 8u, "the fields of %s have %u bits, the header %u",
                 header->name, next_bit, header->len_bytes * 8u);
}
