/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/crc.h"

#include <isa-l/crc.h>

uint32_t iwarp_crc(uint32_t crc, const uint8_t *bytes, size_t len_bytes)
{
    /* The library wants the register, and takes bytes that it only reads as not const. */
    return ~crc32_iscsi((unsigned char *)bytes, (int)len_bytes, ~crc);
}
