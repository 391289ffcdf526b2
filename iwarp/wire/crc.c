/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/crc.h"

#include <isa-l/crc.h>

#include "base/upper_halves.h"

uint32_t iwarp_crc(uint32_t crc, const uint8_t *bytes, size_t len_bytes)
{
    /* The library wants the register, and takes bytes that it only reads as not const. */
    crc = ~crc32_iscsi((unsigned char *)bytes, (int)len_bytes, ~crc);
    base_give_up_upper_halves();
    return crc;
}
