/* SPDX-License-Identifier: BSD-2-Clause */
/* One row an opcode: what follows the BTH and what the packet does. ROCE section 5. */
#ifndef NORNIC_ROCE_OPCODE_H
#define NORNIC_ROCE_OPCODE_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* Service in bits 7:5 (ROCE-OPC-1). */
enum roce_service {
    ROCE_SERVICE_RC = 0,
    ROCE_SERVICE_UC = 1,
    ROCE_SERVICE_RD = 2,
    ROCE_SERVICE_UD = 3,
    ROCE_SERVICE_CNP = 4,
    ROCE_SERVICE_XRC = 5,
    /* Manufacturer specific, over RC: docs/masked-atomics.md, docs/selective-retransmission.md. */
    ROCE_SERVICE_VENDOR = 7,
};

/* Operation in bits 4:0 (ROCE-OPC-2). */
enum roce_op {
    ROCE_OP_SEND_FIRST = 0x00,
    ROCE_OP_SEND_MIDDLE = 0x01,
    ROCE_OP_SEND_LAST = 0x02,
    ROCE_OP_SEND_LAST_IMM = 0x03,
    ROCE_OP_SEND_ONLY = 0x04,
    ROCE_OP_SEND_ONLY_IMM = 0x05,
    ROCE_OP_WRITE_FIRST = 0x06,
    ROCE_OP_WRITE_MIDDLE = 0x07,
    ROCE_OP_WRITE_LAST = 0x08,
    ROCE_OP_WRITE_LAST_IMM = 0x09,
    ROCE_OP_WRITE_ONLY = 0x0a,
    ROCE_OP_WRITE_ONLY_IMM = 0x0b,
    ROCE_OP_READ_REQUEST = 0x0c,
    ROCE_OP_READ_RESP_FIRST = 0x0d,
    ROCE_OP_READ_RESP_MIDDLE = 0x0e,
    ROCE_OP_READ_RESP_LAST = 0x0f,
    ROCE_OP_READ_RESP_ONLY = 0x10,
    ROCE_OP_ACK = 0x11,
    ROCE_OP_ATOMIC_ACK = 0x12,
    ROCE_OP_CMP_SWAP = 0x13,
    ROCE_OP_FETCH_ADD = 0x14,
    ROCE_OP_RESYNC = 0x15, /* RD only */
    ROCE_OP_SEND_LAST_INV = 0x16,
    ROCE_OP_SEND_ONLY_INV = 0x17,
};

#define ROCE_OPCODE(service, op) ((uint8_t)((service) << 5 | (op)))
#define ROCE_OPCODE_OP(opcode)   ((opcode)&0x1f)
#define ROCE_OPCODE_CNP          0x81
#define ROCE_OPCODE_SACK         ROCE_OPCODE(ROCE_SERVICE_VENDOR, ROCE_OP_ACK)

/* What a packet is. */
enum roce_opcode_flags {
    ROCE_PKT_DEFINED = 1 << 0,  /* clear: reserved, or manufacturer specific */
    ROCE_PKT_REQUEST = 1 << 1,  /* to the responder half */
    ROCE_PKT_RESPONSE = 1 << 2, /* to the requester half: opcodes 0x0d..0x12 (ROCE-RX-23) */
    ROCE_PKT_FIRST = 1 << 3,    /* begins a message of several packets */
    ROCE_PKT_MIDDLE = 1 << 4,
    ROCE_PKT_LAST = 1 << 5,
    ROCE_PKT_ONLY = 1 << 6, /* a message by itself; READ, atomics and ACKs too */
    ROCE_PKT_SEND = 1 << 7,
    ROCE_PKT_WRITE = 1 << 8,
    ROCE_PKT_READ = 1 << 9,    /* the request */
    ROCE_PKT_ATOMIC = 1 << 10, /* the request */
    ROCE_PKT_READ_RESP = 1 << 11,
    ROCE_PKT_TAKES_RECV = 1 << 12, /* takes a receive WQE: SEND first/only, WRITE last/only with immediate */
    ROCE_PKT_COMPLETES_RECV = 1 << 13, /* completes a receive WQE */
    ROCE_PKT_PAYLOAD = 1 << 14,        /* may carry payload */
    /* extended headers, in the order of ROCE-HDR-10 */
    ROCE_PKT_RDETH = 1 << 15,
    ROCE_PKT_DETH = 1 << 16,
    ROCE_PKT_XRCETH = 1 << 17,
    ROCE_PKT_RETH = 1 << 18,
    ROCE_PKT_ATOMICETH = 1 << 19,
    ROCE_PKT_AETH = 1 << 20,
    ROCE_PKT_ATOMICACKETH = 1 << 21,
    ROCE_PKT_IMMDT = 1 << 22,
    ROCE_PKT_IETH = 1 << 23,
    ROCE_PKT_CNP = 1 << 24,
    ROCE_PKT_MASKETH = 1 << 25, /* behind the AtomicETH: a masked atomic */
    ROCE_PKT_SACKETH = 1 << 26, /* behind the AETH: a selective acknowledgement */
};

struct roce_opcode {
    const char *name;  /* "RC SEND_FIRST"; NULL when undefined */
    uint32_t flags;    /* enum roce_opcode_flags */
    uint8_t ext_bytes; /* extended headers after the BTH */
};

/* All 256 (ROCE-OPC-6). RD rows are defined, for dissection; the engine drops them by service. */
extern const struct roce_opcode roce_opcodes[256];

NORNIC_END_DECLS

#endif
