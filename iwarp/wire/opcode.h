/* SPDX-License-Identifier: BSD-2-Clause */
/* One row an opcode of RDMAP: how DDP carries it and what follows the DDP header (RFC 5040 4.1 and figure 3,
 * RFC 7306 4.1). */
#ifndef NORNIC_IWARP_OPCODE_H
#define NORNIC_IWARP_OPCODE_H

#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

enum iwarp_op {
    IWARP_OP_WRITE,
    IWARP_OP_READ_REQUEST,
    IWARP_OP_READ_RESPONSE,
    IWARP_OP_SEND,
    IWARP_OP_SEND_INV,
    IWARP_OP_SEND_SE,
    IWARP_OP_SEND_SE_INV,
    IWARP_OP_TERMINATE,
    IWARP_OP_IMM,
    IWARP_OP_IMM_SE,
    IWARP_OP_ATOMIC_REQUEST,
    IWARP_OP_ATOMIC_RESPONSE,
    IWARP_OP_DEFINED, /* the first that is reserved */
};

enum iwarp_opcode_flags {
    IWARP_MSG_TAGGED = 1 << 0,     /* T = 1; else untagged, on `qn` */
    IWARP_MSG_PAYLOAD = 1 << 1,    /* payload of the ULP, in as many segments as it takes */
    IWARP_MSG_TAKES_RECV = 1 << 2, /* completes a receive at the sink */
    IWARP_MSG_SOLICITED = 1 << 3,  /* and raises its event */
    IWARP_MSG_INVALIDATE = 1 << 4, /* names an STag to invalidate in the DDP header */
    IWARP_MSG_EXTENSION = 1 << 5,  /* of RFC 7306 */
};

struct iwarp_opcode {
    const char *name;
    uint32_t flags;       /* enum iwarp_opcode_flags */
    uint8_t qn;           /* enum iwarp_queue, of untagged messages */
    uint8_t header_bytes; /* of RDMAP, behind the DDP header; a Terminate goes on behind its control */
};

/* Those below IWARP_OP_DEFINED. */
extern const struct iwarp_opcode iwarp_opcodes[IWARP_OP_DEFINED];

NORNIC_END_DECLS

#endif
