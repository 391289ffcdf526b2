/* SPDX-License-Identifier: BSD-2-Clause */
/* Why a stream is terminated: layer, error type and error code of a Terminate, and their words (IANA registry
 * "rddp"; RFC 5040 figures 9 and 10, RFC 5041 7.2, RFC 5044 8, RFC 6581 8). */
#ifndef NORNIC_IWARP_TERM_H
#define NORNIC_IWARP_TERM_H

#include <stdbool.h>
#include <stdint.h>

#include "iwarp/wire/wire.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

enum iwarp_term_layer { IWARP_LAYER_RDMAP, IWARP_LAYER_DDP, IWARP_LAYER_MPA, IWARP_LAYER_COUNT };

/* Layer in bits 15..12, error type in 11..8, error code in 7..0: X(name, value, words). */
#define IWARP_TERM_CODES(X)                                            \
    X(RDMAP_LOCAL, 0x0000, "local catastrophic error")                 \
    X(RDMAP_STAG, 0x0100, "invalid STag")                              \
    X(RDMAP_BOUNDS, 0x0101, "base or bounds violation")                \
    X(RDMAP_ACCESS, 0x0102, "access rights violation")                 \
    X(RDMAP_STREAM, 0x0103, "STag not associated with this stream")    \
    X(RDMAP_WRAP, 0x0104, "TO wrap")                                   \
    X(RDMAP_INVALIDATE, 0x0109, "STag cannot be invalidated")          \
    X(RDMAP_PROTECTION, 0x01ff, "unspecified remote protection error") \
    X(RDMAP_VERSION, 0x0205, "invalid RDMAP version")                  \
    X(RDMAP_OPCODE, 0x0206, "unexpected opcode")                       \
    X(RDMAP_CATASTROPHIC, 0x0207, "catastrophic error, this stream")   \
    X(RDMAP_GLOBAL, 0x0208, "catastrophic error, global")              \
    X(RDMAP_NO_INVALIDATE, 0x0209, "STag cannot be invalidated")       \
    X(RDMAP_OPERATION, 0x02ff, "unspecified remote operation error")   \
    X(DDP_LOCAL, 0x1000, "local catastrophic error")                   \
    X(DDP_STAG, 0x1100, "invalid STag")                                \
    X(DDP_BOUNDS, 0x1101, "base or bounds violation")                  \
    X(DDP_STREAM, 0x1102, "STag not associated with this stream")      \
    X(DDP_WRAP, 0x1103, "TO wrap")                                     \
    X(DDP_TAGGED_VERSION, 0x1104, "invalid DDP version")               \
    X(DDP_QN, 0x1201, "invalid QN")                                    \
    X(DDP_NO_BUFFER, 0x1202, "invalid MSN: no buffer available")       \
    X(DDP_MSN, 0x1203, "invalid MSN: out of range")                    \
    X(DDP_MO, 0x1204, "invalid MO")                                    \
    X(DDP_TOO_LONG, 0x1205, "message too long for the buffer")         \
    X(DDP_VERSION, 0x1206, "invalid DDP version")                      \
    X(MPA_LOST, 0x2001, "TCP connection closed, terminated or lost")   \
    X(MPA_CRC, 0x2002, "MPA CRC error")                                \
    X(MPA_MARKER, 0x2003, "MPA marker and ULPDU_Length disagree")      \
    X(MPA_FRAME, 0x2004, "invalid MPA Request or Reply frame")         \
    X(MPA_LOCAL, 0x2005, "local catastrophic error")                   \
    X(MPA_IRD, 0x2006, "insufficient IRD resources")                   \
    X(MPA_RTR, 0x2007, "no matching RTR option")

enum iwarp_term_code {
#define IWARP_TERM_MEMBER_(name, value, words) IWARP_TERM_##name = value,
    IWARP_TERM_CODES(IWARP_TERM_MEMBER_)
#undef IWARP_TERM_MEMBER_
};

/* The three parts as one value of the above. */
static inline uint16_t iwarp_term_value(const struct iwarp_term *h)
{
    return (uint16_t)(h->layer << 12 | h->etype << 8 | h->code);
}

/* "remote protection error"; NULL where the registry has no such type. */
const char *iwarp_term_type_name(uint8_t layer, uint8_t etype);
/* "invalid STag"; NULL where the registry has no such value. Each code of 0/0 is the local error of RDMAP. */
const char *iwarp_term_code_name(uint16_t value);

/* IWARP-AMB-02: Linux siw writes the control word with its nibbles and its flag bits turned round. Whether
 * `h` is such a word: read as RFC 5040 has it, it says nothing that is defined, or has its flags among the
 * reserved bits; read the other way it is sound. `*meant` (kept by the caller) is the other way. */
bool iwarp_term_is_turned(const struct iwarp_term *h, struct iwarp_term *meant);

NORNIC_END_DECLS

#endif
