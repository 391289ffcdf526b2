/* SPDX-License-Identifier: BSD-2-Clause */
/* How long FPDUs are (IWARP-GEN-02, -03, IWARP-FPDU-03, -04). Octets throughout. */
#ifndef NORNIC_IWARP_SIZE_H
#define NORNIC_IWARP_SIZE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/base.h"
#include "iwarp/wire/wire.h"

#define IWARP_MARKER_INTERVAL 512
/* What an FPDU has besides its ULPDU and pad. */
#define IWARP_FPDU_EXTRA_BYTES (IWARP_MPA_LENGTH_BYTES + IWARP_MPA_CRC_BYTES)
/* Bounds of a MULPDU: the least of RFC 5044 (128) and the most that may be sent (64768), each as the next
 * that keeps MULPDU + 2 a multiple of 4. */
#define IWARP_MULPDU_MIN 130u
#define IWARP_MULPDU_MAX 64766u

/* The pad behind a ULPDU: up to the next multiple of 4, counted from ULPDU_Length. */
static inline uint32_t iwarp_pad_bytes(uint32_t ulpdu_bytes)
{
    return -(IWARP_MPA_LENGTH_BYTES + ulpdu_bytes) & 3;
}

/* The FPDU of a ULPDU, without markers. */
static inline uint32_t iwarp_fpdu_bytes(uint32_t ulpdu_bytes)
{
    return IWARP_FPDU_EXTRA_BYTES + ulpdu_bytes + iwarp_pad_bytes(ulpdu_bytes);
}

/* The greatest ULPDU whose FPDU fits a TCP segment of `emss_bytes`, with as many markers as can fall into it
 * (RFC 5044 4.5); not below the least that DDP may count on, nor above what may be sent. */
static inline uint32_t iwarp_mulpdu_bytes(uint32_t emss_bytes, bool has_markers)
{
    uint32_t markers = has_markers ? (emss_bytes + IWARP_MARKER_INTERVAL - 1) / IWARP_MARKER_INTERVAL : 0;
    uint32_t extra = IWARP_FPDU_EXTRA_BYTES + IWARP_MARKER_BYTES * markers + emss_bytes % 4;
    if (emss_bytes < extra + IWARP_MULPDU_MIN)
        return IWARP_MULPDU_MIN;
    return min_u32(emss_bytes - extra, IWARP_MULPDU_MAX);
}

#endif
