/* SPDX-License-Identifier: BSD-2-Clause */
/* The CRC of an FPDU: CRC-32C over all of it that stands before the CRC (IWARP-FPDU-07, -08). */
#ifndef NORNIC_IWARP_CRC_H
#define NORNIC_IWARP_CRC_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* The CRC of what `crc` is of (0: of nothing), with `len_bytes` (below 2^31) behind it. */
uint32_t iwarp_crc(uint32_t crc, const uint8_t *bytes, size_t len_bytes);

/* The four octets of the CRC field, least significant first. Returns the position behind them. */
static inline uint8_t *iwarp_crc_put(uint8_t *p, uint32_t crc)
{
    for (unsigned i = 0; i < 4; i++)
        *p++ = (uint8_t)(crc >> 8 * i);
    return p;
}

static inline uint32_t iwarp_crc_get(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

NORNIC_END_DECLS

#endif
