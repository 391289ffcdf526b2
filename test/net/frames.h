/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP frames for the tests of net/: numbered, sound down to the checksums. */
#ifndef NORNIC_TEST_NET_FRAMES_H
#define NORNIC_TEST_NET_FRAMES_H

#include <stdint.h>

#define TEST_FRAME_MIN_BYTES 66 /* the longest headers below and the number */

enum test_frame_kind { TEST_FRAME_IPV4, TEST_FRAME_IPV4_VLAN, TEST_FRAME_IPV6 };

/* Builds a frame of `len_bytes` whose last four bytes are `number`, and whose payload before is a pattern
 * made of it. ECN is ECT(0). */
void test_frame_build(uint8_t *frame, uint32_t len_bytes, enum test_frame_kind kind, uint32_t number);

/* The number of a frame. */
uint32_t test_frame_number(const uint8_t *frame, uint32_t len_bytes);

#endif
