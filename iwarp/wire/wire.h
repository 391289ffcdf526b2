/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers of iWARP, one list each: MPA (RFC 5044, RFC 6581), DDP (RFC 5041), RDMAP (RFC 5040) and its
 * extensions (RFC 7306). An FPDU is ULPDU_Length, a ULPDU, its pad and a CRC; a ULPDU is iwarp_ctrl, then
 * iwarp_tagged or iwarp_untagged, then the header of the opcode (iwarp/wire/opcode.h) or payload. */
#ifndef NORNIC_IWARP_WIRE_H
#define NORNIC_IWARP_WIRE_H

#include <stdbool.h>

#include "net/field.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

net_value_name iwarp_opcode_name;     /* "Send with Invalidate", "reserved"; never NULL */
net_value_name iwarp_queue_name;      /* of a QN: "Send", "RDMA Read Request"; NULL above 3 */
net_value_name iwarp_atomic_name;     /* of an AOpCode: "FetchAdd"; NULL for a reserved one */
net_value_name iwarp_term_layer_name; /* "RDMAP", "DDP", "MPA"; NULL for a reserved one */

/* --- MPA --- */

/* The Key of the two frames, without a NUL. */
#define IWARP_MPA_KEY_REQUEST "MPA ID Req Frame"
#define IWARP_MPA_KEY_REPLY   "MPA ID Rep Frame"

/* MPA Request and Reply frame (IWARP-MPA-04..09): `m` markers wanted, `c` CRC, `r` rejected, `s` the four
 * octets of iwarp_mpa_enhanced begin the private data. `pd_len` counts those too. */
#define IWARP_MPA_FRAME_FIELDS(F, B) \
    B(key, 0, 128)                   \
    F(m, 128, 1, uint8_t, NULL)      \
    F(c, 129, 1, uint8_t, NULL)      \
    F(r, 130, 1, uint8_t, NULL)      \
    F(s, 131, 1, uint8_t, NULL)      \
    F(resv4, 132, 4, uint8_t, NULL) F(rev, 136, 8, uint8_t, NULL) F(pd_len, 144, 16, uint16_t, NULL)
#define IWARP_MPA_FRAME_BYTES   20
#define IWARP_MPA_PRIVATE_BYTES 512 /* the most that pd_len may say */
NET_HEADER(iwarp_mpa_frame, IWARP_MPA_FRAME_BYTES, IWARP_MPA_FRAME_FIELDS);

/* The enhanced set-up data of RFC 6581, before the private data (IWARP-ECE-01..06): `a` peer-to-peer model;
 * kinds of RTR `b` Send, `c` RDMA Write, `d` RDMA Read; depths of the sender, or IWARP_DEPTH_OPEN. */
#define IWARP_MPA_ENHANCED_FIELDS(F, B) \
    F(a, 0, 1, uint8_t, NULL)           \
    F(b, 1, 1, uint8_t, NULL)           \
    F(ird, 2, 14, uint16_t, NULL)       \
    F(c, 16, 1, uint8_t, NULL) F(d, 17, 1, uint8_t, NULL) F(ord, 18, 14, uint16_t, NULL)
#define IWARP_MPA_ENHANCED_BYTES 4
NET_HEADER(iwarp_mpa_enhanced, IWARP_MPA_ENHANCED_BYTES, IWARP_MPA_ENHANCED_FIELDS);
#define IWARP_DEPTH_OPEN 0x3fffu /* an IRD or ORD that is not negotiated here (IWARP-ECE-04) */

/* The head of an FPDU: octets of the ULPDU alone. */
#define IWARP_MPA_LENGTH_FIELDS(F, B) F(ulpdu_len, 0, 16, uint16_t, NULL)
#define IWARP_MPA_LENGTH_BYTES        2
NET_HEADER(iwarp_mpa_length, IWARP_MPA_LENGTH_BYTES, IWARP_MPA_LENGTH_FIELDS);

/* A marker, one each 512 octets of a direction that has them (IWARP-MARK-01..04). */
#define IWARP_MARKER_FIELDS(F, B) F(resv16, 0, 16, uint16_t, NULL) F(fpdu_ptr, 16, 16, uint16_t, NULL)
#define IWARP_MARKER_BYTES        4
NET_HEADER(iwarp_marker, IWARP_MARKER_BYTES, IWARP_MARKER_FIELDS);

/* The tail of an FPDU. The octets stand least significant first (IWARP-FPDU-08), so this is a byte string:
 * iwarp/wire/crc.h makes it. */
#define IWARP_MPA_CRC_FIELDS(F, B) B(crc, 0, 32)
#define IWARP_MPA_CRC_BYTES        4
NET_HEADER(iwarp_mpa_crc, IWARP_MPA_CRC_BYTES, IWARP_MPA_CRC_FIELDS);

/* --- DDP --- */

/* DDP control and RDMAP control, which every segment begins with (IWARP-DDP-01, -02, IWARP-RDMAP-01): `t`
 * tagged, `l` last segment of its message, `dv` and `rv` the versions. */
#define IWARP_CTRL_FIELDS(F, B)    \
    F(t, 0, 1, uint8_t, NULL)      \
    F(l, 1, 1, uint8_t, NULL)      \
    F(resv4, 2, 4, uint8_t, NULL)  \
    F(dv, 6, 2, uint8_t, NULL)     \
    F(rv, 8, 2, uint8_t, NULL)     \
    F(resv2, 10, 2, uint8_t, NULL) \
    F(opcode, 12, 4, uint8_t, iwarp_opcode_name)
#define IWARP_CTRL_BYTES 2
NET_HEADER(iwarp_ctrl, IWARP_CTRL_BYTES, IWARP_CTRL_FIELDS);
#define IWARP_DDP_VERSION   1
#define IWARP_RDMAP_VERSION 1 /* sent */
/* Tells whether `rv` is valid: 0 (RDMA Consortium) and 1 have the same formats (RFC 5040 4.1). */
static inline bool iwarp_is_rdmap_version(uint8_t rv)
{
    return rv <= IWARP_RDMAP_VERSION;
}

/* Tagged: where the payload goes, by the sink's name for it. */
#define IWARP_TAGGED_FIELDS(F, B) F(stag, 0, 32, uint32_t, NULL) F(to, 32, 64, uint64_t, NULL)
#define IWARP_TAGGED_BYTES        12
NET_HEADER(iwarp_tagged, IWARP_TAGGED_BYTES, IWARP_TAGGED_FIELDS);

/* Untagged: which queue of the sink, which of its messages, and how far into it. `inv_stag` is 0 but in a
 * Send with Invalidate. */
#define IWARP_UNTAGGED_FIELDS(F, B)           \
    F(inv_stag, 0, 32, uint32_t, NULL)        \
    F(qn, 32, 32, uint32_t, iwarp_queue_name) \
    F(msn, 64, 32, uint32_t, NULL) F(mo, 96, 32, uint32_t, NULL)
#define IWARP_UNTAGGED_BYTES 16
NET_HEADER(iwarp_untagged, IWARP_UNTAGGED_BYTES, IWARP_UNTAGGED_FIELDS);

/* The whole DDP header of a segment, its RDMAP control included (IWARP-GEN-02). */
#define IWARP_DDP_TAGGED_BYTES   (IWARP_CTRL_BYTES + IWARP_TAGGED_BYTES)
#define IWARP_DDP_UNTAGGED_BYTES (IWARP_CTRL_BYTES + IWARP_UNTAGGED_BYTES)

/* The queues of untagged messages (IWARP-RDMAP-04). */
enum iwarp_queue {
    IWARP_QN_SEND,       /* Sends and Immediate Data */
    IWARP_QN_REQUEST,    /* RDMA Read Requests and Atomic Requests */
    IWARP_QN_TERMINATE,  /* one message */
    IWARP_QN_ATOMIC_RSP, /* Atomic Responses */
    IWARP_QN_COUNT,
};

/* --- RDMAP --- */

/* RDMA Read Request (IWARP-RDMAP-09). */
#define IWARP_READ_REQ_FIELDS(F, B)     \
    F(sink_stag, 0, 32, uint32_t, NULL) \
    F(sink_to, 32, 64, uint64_t, NULL)  \
    F(size, 96, 32, uint32_t, NULL)     \
    F(src_stag, 128, 32, uint32_t, NULL) F(src_to, 160, 64, uint64_t, NULL)
#define IWARP_READ_REQ_BYTES 28
NET_HEADER(iwarp_read_req, IWARP_READ_REQ_BYTES, IWARP_READ_REQ_FIELDS);

/* Atomic Request, RFC 7306 5.2. `data` is the addend or the new value. */
#define IWARP_ATOMIC_REQ_FIELDS(F, B)             \
    F(resv28, 0, 28, uint32_t, NULL)              \
    F(aopcode, 28, 4, uint8_t, iwarp_atomic_name) \
    F(request_id, 32, 32, uint32_t, NULL)         \
    F(stag, 64, 32, uint32_t, NULL)               \
    F(to, 96, 64, uint64_t, NULL)                 \
    F(data, 160, 64, uint64_t, NULL)              \
    F(mask, 224, 64, uint64_t, NULL)              \
    F(compare, 288, 64, uint64_t, NULL) F(compare_mask, 352, 64, uint64_t, NULL)
#define IWARP_ATOMIC_REQ_BYTES 52
NET_HEADER(iwarp_atomic_req, IWARP_ATOMIC_REQ_BYTES, IWARP_ATOMIC_REQ_FIELDS);

enum iwarp_atomic { IWARP_FETCH_ADD, IWARP_SWAP, IWARP_CMP_SWAP, IWARP_ATOMIC_COUNT };

/* Atomic Response. `request_id` is that of the request, `original` the word in memory. */
#define IWARP_ATOMIC_RSP_FIELDS(F, B) F(request_id, 0, 32, uint32_t, NULL) F(original, 32, 64, uint64_t, NULL)
#define IWARP_ATOMIC_RSP_BYTES        12
NET_HEADER(iwarp_atomic_rsp, IWARP_ATOMIC_RSP_BYTES, IWARP_ATOMIC_RSP_FIELDS);

/* Immediate Data, RFC 7306 6: opaque, so a byte string. */
#define IWARP_IMM_FIELDS(F, B) B(imm_data, 0, 64)
#define IWARP_IMM_BYTES        8
NET_HEADER(iwarp_imm, IWARP_IMM_BYTES, IWARP_IMM_FIELDS);

/* Terminate control (IWARP-RDMAP-29): `m` a segment length follows, `d` behind it the DDP header of what was
 * refused, `r` behind that its RDMA Read Request. iwarp/wire/term.h has the codes. */
#define IWARP_TERM_FIELDS(F, B)                    \
    F(layer, 0, 4, uint8_t, iwarp_term_layer_name) \
    F(etype, 4, 4, uint8_t, NULL)                  \
    F(code, 8, 8, uint8_t, NULL)                   \
    F(m, 16, 1, uint8_t, NULL)                     \
    F(d, 17, 1, uint8_t, NULL)                     \
    F(r, 18, 1, uint8_t, NULL) F(resv13, 19, 13, uint16_t, NULL)
#define IWARP_TERM_BYTES 4
NET_HEADER(iwarp_term, IWARP_TERM_BYTES, IWARP_TERM_FIELDS);

/* DDP Segment Length, behind a Terminate control with `m` or `d`: header and payload of the refused segment
 * (IWARP-RDMAP-32). */
#define IWARP_TERM_LENGTH_FIELDS(F, B) F(segment_len, 0, 16, uint16_t, NULL)
#define IWARP_TERM_LENGTH_BYTES        2
NET_HEADER(iwarp_term_length, IWARP_TERM_LENGTH_BYTES, IWARP_TERM_LENGTH_FIELDS);
#define IWARP_TERM_MAX_BYTES 52 /* control, length, an untagged DDP header, a Read Request */

NORNIC_END_DECLS

#endif
