/* SPDX-License-Identifier: BSD-2-Clause */
/* One table describes each header. A header is a list of fields, F(name, first bit, width, C type, value
 * names) for integers of at most 64 bits and B(name, first bit, width) for byte strings (addresses). From
 * that one list NET_HEADER() makes the struct, the decoder, the encoder, and the table that dumps, JSON and
 * the wire guide walk. Bit 0 is the most significant bit of byte 0, as the standards draw it. */
#ifndef NORNIC_NET_FIELD_H
#define NORNIC_NET_FIELD_H

#include <stdint.h>
#include <string.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* The word for a value of a field, or NULL if it has none. */
typedef const char *net_value_name(uint64_t value);

struct net_field {
    const char *name;
    uint16_t first_bit;
    uint16_t width_bits;
    uint8_t is_bytes; /* a byte string: whole bytes, no integer value */
    net_value_name *value_name;
};

struct net_header {
    const char *name;
    uint16_t len_bytes;
    uint16_t field_count;
    const struct net_field *fields;
};

/* Reads `width_bits` (1..64) from bit `first_bit` of `p`. With constant arguments it folds to byte loads. */
static inline __attribute__((always_inline)) uint64_t net_bits_get(const uint8_t *p, unsigned first_bit,
                                                                   unsigned width_bits)
{
    uint64_t v = 0;
    unsigned last = first_bit + width_bits; /* one past */
    for (unsigned byte = first_bit / 8; byte <= (last - 1) / 8; byte++) {
        unsigned lo = byte * 8 < first_bit ? first_bit - byte * 8 : 0;
        unsigned hi = last - byte * 8 < 8 ? last - byte * 8 : 8;
        uint64_t bits = ((unsigned)p[byte] >> (8 - hi)) & ((1u << (hi - lo)) - 1);
        v = v << (hi - lo) | bits;
    }
    return v;
}

/* Writes the low `width_bits` of `v` at bit `first_bit` of `p`; other bits keep their value. */
static inline __attribute__((always_inline)) void net_bits_put(uint8_t *p, unsigned first_bit,
                                                               unsigned width_bits, uint64_t v)
{
    unsigned last = first_bit + width_bits;
    unsigned left = width_bits;
    for (unsigned byte = first_bit / 8; byte <= (last - 1) / 8; byte++) {
        unsigned lo = byte * 8 < first_bit ? first_bit - byte * 8 : 0;
        unsigned hi = last - byte * 8 < 8 ? last - byte * 8 : 8;
        unsigned mask = ((1u << (hi - lo)) - 1) << (8 - hi);
        left -= hi - lo;
        unsigned kept = mask == 0xff ? 0 : p[byte] & ~mask; /* a whole byte may have been never written */
        p[byte] = (uint8_t)(kept | (((unsigned)(v >> left) << (8 - hi)) & mask));
    }
}

#define NET_FIELD_MEMBER_(name, bit, width, type, names) type name;
#define NET_BYTES_MEMBER_(name, bit, width)              uint8_t name[(width) / 8];
#define NET_FIELD_GET_(name, bit, width, type, names)    h->name = (type)net_bits_get(p, bit, width);
#define NET_BYTES_GET_(name, bit, width)                 memcpy(h->name, p + (bit) / 8, (width) / 8);
#define NET_FIELD_PUT_(name, bit, width, type, names)    net_bits_put(p, bit, width, h->name);
#define NET_BYTES_PUT_(name, bit, width)                 memcpy(p + (bit) / 8, h->name, (width) / 8);
#define NET_FIELD_ROW_(name, bit, width, type, names)    {#name, bit, width, 0, names},
#define NET_BYTES_ROW_(name, bit, width)                 {#name, bit, width, 1, NULL},

/* Declares struct `prefix`, prefix_get(h, p) and prefix_put(p, h), which both return the position after the
 * header, and the table prefix_header. The caller has checked that `len_bytes` are there. */
#define NET_HEADER(prefix, len, LIST)                                             \
    struct prefix {                                                               \
        LIST(NET_FIELD_MEMBER_, NET_BYTES_MEMBER_)                                \
    };                                                                            \
    static inline const uint8_t *prefix##_get(struct prefix *h, const uint8_t *p) \
    {                                                                             \
        LIST(NET_FIELD_GET_, NET_BYTES_GET_)                                      \
        return p + (len);                                                         \
    }                                                                             \
    static inline uint8_t *prefix##_put(uint8_t *p, const struct prefix *h)       \
    {                                                                             \
        LIST(NET_FIELD_PUT_, NET_BYTES_PUT_)                                      \
        return p + (len);                                                         \
    }                                                                             \
    extern const struct net_header prefix##_header

/* Defines the table that NET_HEADER(prefix, ...) declared; once, in a .c file. */
#define NET_HEADER_TABLE(prefix, title, len, LIST)                                            \
    static const struct net_field prefix##_fields[] = {LIST(NET_FIELD_ROW_, NET_BYTES_ROW_)}; \
    const struct net_header prefix##_header = {                                               \
        title, len, (uint16_t)(sizeof prefix##_fields / sizeof prefix##_fields[0]), prefix##_fields}

NORNIC_END_DECLS

#endif
