/* SPDX-License-Identifier: BSD-2-Clause */
/* Big-endian integers to and from bytes. Each put_ returns the position after what it wrote, so that an
 * encoder reads like the figure in the standard. No length is checked here: the caller has. */
#ifndef NORNIC_NET_BYTES_H
#define NORNIC_NET_BYTES_H

#include <stdint.h>
#include <string.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

static inline uint16_t get_be16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static inline uint32_t get_be24(const uint8_t *p)
{
    return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline uint32_t get_be32(const uint8_t *p)
{
    return (uint32_t)p[0] << 24 | get_be24(p + 1);
}

static inline uint64_t get_be64(const uint8_t *p)
{
    return (uint64_t)get_be32(p) << 32 | get_be32(p + 4);
}

/* The ICRC alone travels least significant byte first (ROCE-ICRC-3). */
static inline uint32_t get_le32(const uint8_t *p)
{
    return (uint32_t)p[3] << 24 | (uint32_t)p[2] << 16 | (uint32_t)p[1] << 8 | p[0];
}

static inline uint8_t *put_u8(uint8_t *p, uint8_t v)
{
    *p = v;
    return p + 1;
}

static inline uint8_t *put_be16(uint8_t *p, uint16_t v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
    return p + 2;
}

static inline uint8_t *put_be24(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 16);
    return put_be16(p + 1, (uint16_t)v);
}

static inline uint8_t *put_be32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)(v >> 24);
    return put_be24(p + 1, v);
}

static inline uint8_t *put_be64(uint8_t *p, uint64_t v)
{
    return put_be32(put_be32(p, (uint32_t)(v >> 32)), (uint32_t)v);
}

static inline uint8_t *put_le32(uint8_t *p, uint32_t v)
{
    p[0] = (uint8_t)v;
    p[1] = (uint8_t)(v >> 8);
    p[2] = (uint8_t)(v >> 16);
    p[3] = (uint8_t)(v >> 24);
    return p + 4;
}

static inline uint8_t *put_bytes(uint8_t *p, const void *src, size_t len_bytes)
{
    memcpy(p, src, len_bytes);
    return p + len_bytes;
}

NORNIC_END_DECLS

#endif
