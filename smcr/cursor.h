/* SPDX-License-Identifier: BSD-2-Clause */
/* Cursors into an RMBE and sequence numbers: SMCR-CDC-04, CDC-08 to CDC-11. */
#ifndef NORNIC_SMCR_CURSOR_H
#define NORNIC_SMCR_CURSOR_H

#include <stdbool.h>
#include <stdint.h>

/* Where the data of an element begins, the `start` of all that follows: behind the eye catcher. In a group of
 * version 2 there is none, and it is 0 (smcr_cursor_start()). */
#define SMCR_CURSOR_START 4
static inline uint32_t smcr_cursor_start(uint8_t version)
{
    return version == 1 ? SMCR_CURSOR_START : 0;
}

/* An offset into an element of `elem_bytes`, start..elem_bytes - 1, and how often it came round, modulo 2^16.
 */
struct smcr_cursor {
    uint32_t offset_bytes;
    uint16_t wrap;
};

/* Data bytes that an element holds (SMCR-CLC-32). */
static inline uint32_t smcr_cap_bytes(uint32_t start, uint32_t elem_bytes)
{
    return elem_bytes - start;
}

static inline bool smcr_cursor_is_valid(uint32_t start, const struct smcr_cursor *c, uint32_t elem_bytes)
{
    return c->offset_bytes >= start && c->offset_bytes < elem_bytes;
}

/* `n` bytes on, at most the capacity. */
static inline struct smcr_cursor smcr_cursor_advance(uint32_t start, struct smcr_cursor c, uint32_t n,
                                                     uint32_t elem_bytes)
{
    c.offset_bytes += n;
    if (c.offset_bytes >= elem_bytes) {
        c.offset_bytes -= smcr_cap_bytes(start, elem_bytes);
        c.wrap++;
    }
    return c;
}

/* Bytes from `from` to `to`, both valid; negative or above the capacity: not such a pair. */
static inline int64_t smcr_cursor_distance(uint32_t start, const struct smcr_cursor *from,
                                           const struct smcr_cursor *to, uint32_t elem_bytes)
{
    int64_t wraps = (int16_t)(uint16_t)(to->wrap - from->wrap);
    return wraps * smcr_cap_bytes(start, elem_bytes) + (int64_t)to->offset_bytes -
           (int64_t)from->offset_bytes;
}

/* How far `a` is ahead of `b`, as serial numbers of 16 bits. */
static inline int16_t smcr_seq_ahead(uint16_t a, uint16_t b)
{
    return (int16_t)(uint16_t)(a - b);
}

#endif
