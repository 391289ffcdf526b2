/* SPDX-License-Identifier: BSD-2-Clause */
/* A check on a header's field table: every bit belongs to exactly one field. */
#ifndef NORNIC_TEST_SUPPORT_TILING_H
#define NORNIC_TEST_SUPPORT_TILING_H

#include "net/field.h"

/* Fails the running Criterion test, naming header and field, unless the fields follow each other from bit 0
 * to the header's last bit with no gap and no overlap, integers have 1 to 64 bits, and byte strings are whole
 * bytes at a byte boundary. */
void test_header_tiles(const struct net_header *header);

#endif
