/* SPDX-License-Identifier: BSD-2-Clause */
/* The ICRC of a packet whose payload is still elsewhere. Inside roce/ only. */
#ifndef NORNIC_ROCE_ICRC_COPY_H
#define NORNIC_ROCE_ICRC_COPY_H

#include <stddef.h>
#include <stdint.h>

/* Copies the `len_bytes` from `from` on behind the BTH at `bth`, where there is room for them, and returns
 * roce_icrc_above() of the packet that they make: the ICRC where `below` is the CRC of its headers. Where the
 * processor has wide registers and multiplies polynomials in them, one pass does both for a payload of whole
 * 256 bytes, as every path MTU is. */
uint32_t roce_icrc_copy(uint32_t below, uint8_t *bth, const uint8_t *from, size_t len_bytes);

#endif
