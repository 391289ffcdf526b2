/* SPDX-License-Identifier: BSD-2-Clause */
/* The opcode table, ROCE-OPC-2: one row an operation, repeated for each service that has it. */
#include "roce/opcode.h"

#include "roce/wire.h"

/* F(operation, kind and place, headers): what a packet of it is and carries in every service. */
#define SEND_OPS(F)                                                   \
    F(SEND_FIRST, REQUEST | FIRST | SEND | TAKES_RECV | PAYLOAD, 0)   \
    F(SEND_MIDDLE, REQUEST | MIDDLE | SEND | PAYLOAD, 0)              \
    F(SEND_LAST, REQUEST | LAST | SEND | COMPLETES_RECV | PAYLOAD, 0) \
    F(SEND_LAST_IMM, REQUEST | LAST | SEND | COMPLETES_RECV | PAYLOAD, IMMDT)
#define SEND_ONLY_OPS(F)                                                           \
    F(SEND_ONLY, REQUEST | ONLY | SEND | TAKES_RECV | COMPLETES_RECV | PAYLOAD, 0) \
    F(SEND_ONLY_IMM, REQUEST | ONLY | SEND | TAKES_RECV | COMPLETES_RECV | PAYLOAD, IMMDT)
#define WRITE_OPS(F)                                                                         \
    F(WRITE_FIRST, REQUEST | FIRST | WRITE | PAYLOAD, RETH)                                  \
    F(WRITE_MIDDLE, REQUEST | MIDDLE | WRITE | PAYLOAD, 0)                                   \
    F(WRITE_LAST, REQUEST | LAST | WRITE | PAYLOAD, 0)                                       \
    F(WRITE_LAST_IMM, REQUEST | LAST | WRITE | TAKES_RECV | COMPLETES_RECV | PAYLOAD, IMMDT) \
    F(WRITE_ONLY, REQUEST | ONLY | WRITE | PAYLOAD, RETH)                                    \
    F(WRITE_ONLY_IMM, REQUEST | ONLY | WRITE | TAKES_RECV | COMPLETES_RECV | PAYLOAD, RETH | IMMDT)
#define READ_ATOMIC_OPS(F)                          \
    F(READ_REQUEST, REQUEST | ONLY | READ, RETH)    \
    F(CMP_SWAP, REQUEST | ONLY | ATOMIC, ATOMICETH) \
    F(FETCH_ADD, REQUEST | ONLY | ATOMIC, ATOMICETH)
#define INVALIDATE_OPS(F)                                                    \
    F(SEND_LAST_INV, REQUEST | LAST | SEND | COMPLETES_RECV | PAYLOAD, IETH) \
    F(SEND_ONLY_INV, REQUEST | ONLY | SEND | TAKES_RECV | COMPLETES_RECV | PAYLOAD, IETH)
#define RESPONSE_OPS(F)                                              \
    F(READ_RESP_FIRST, RESPONSE | FIRST | READ_RESP | PAYLOAD, AETH) \
    F(READ_RESP_MIDDLE, RESPONSE | MIDDLE | READ_RESP | PAYLOAD, 0)  \
    F(READ_RESP_LAST, RESPONSE | LAST | READ_RESP | PAYLOAD, AETH)   \
    F(READ_RESP_ONLY, RESPONSE | ONLY | READ_RESP | PAYLOAD, AETH)   \
    F(ACK, RESPONSE | ONLY, AETH)                                    \
    F(ATOMIC_ACK, RESPONSE | ONLY, AETH | ATOMICACKETH)

enum {
    REQUEST = ROCE_PKT_REQUEST,
    RESPONSE = ROCE_PKT_RESPONSE,
    FIRST = ROCE_PKT_FIRST,
    MIDDLE = ROCE_PKT_MIDDLE,
    LAST = ROCE_PKT_LAST,
    ONLY = ROCE_PKT_ONLY,
    SEND = ROCE_PKT_SEND,
    WRITE = ROCE_PKT_WRITE,
    READ = ROCE_PKT_READ,
    ATOMIC = ROCE_PKT_ATOMIC,
    READ_RESP = ROCE_PKT_READ_RESP,
    TAKES_RECV = ROCE_PKT_TAKES_RECV,
    COMPLETES_RECV = ROCE_PKT_COMPLETES_RECV,
    PAYLOAD = ROCE_PKT_PAYLOAD,
    RDETH = ROCE_PKT_RDETH,
    DETH = ROCE_PKT_DETH,
    XRCETH = ROCE_PKT_XRCETH,
    RETH = ROCE_PKT_RETH,
    ATOMICETH = ROCE_PKT_ATOMICETH,
    MASKETH = ROCE_PKT_MASKETH,
    SACKETH = ROCE_PKT_SACKETH,
    AETH = ROCE_PKT_AETH,
    ATOMICACKETH = ROCE_PKT_ATOMICACKETH,
    IMMDT = ROCE_PKT_IMMDT,
    IETH = ROCE_PKT_IETH,
};

/* Bytes of the extended headers that `flags` name; an integer constant expression. */
#define EXT_BYTES(flags)                                                                                   \
    (((flags)&ROCE_PKT_RDETH ? ROCE_RDETH_BYTES : 0) + ((flags)&ROCE_PKT_DETH ? ROCE_DETH_BYTES : 0) +     \
     ((flags)&ROCE_PKT_XRCETH ? ROCE_XRCETH_BYTES : 0) + ((flags)&ROCE_PKT_RETH ? ROCE_RETH_BYTES : 0) +   \
     ((flags)&ROCE_PKT_ATOMICETH ? ROCE_ATOMICETH_BYTES : 0) +                                             \
     ((flags)&ROCE_PKT_MASKETH ? ROCE_MASKETH_BYTES : 0) + ((flags)&ROCE_PKT_AETH ? ROCE_AETH_BYTES : 0) + \
     ((flags)&ROCE_PKT_SACKETH ? ROCE_SACKETH_BYTES : 0) +                                                 \
     ((flags)&ROCE_PKT_ATOMICACKETH ? ROCE_ATOMICACKETH_BYTES : 0) +                                       \
     ((flags)&ROCE_PKT_IMMDT ? ROCE_IMMDT_BYTES : 0) + ((flags)&ROCE_PKT_IETH ? ROCE_IETH_BYTES : 0))

#define ROW(service, op, kind, headers)                     \
    [ROCE_OPCODE(ROCE_SERVICE_##service, ROCE_OP_##op)] = { \
        #service " " #op, ROCE_PKT_DEFINED | (kind) | (headers), EXT_BYTES(headers)},

#define MASKED_ROW(op)                                                                      \
    [ROCE_OPCODE(ROCE_SERVICE_VENDOR, ROCE_OP_##op)] = {                                    \
        "RC MASKED_" #op, ROCE_PKT_DEFINED | REQUEST | ONLY | ATOMIC | ATOMICETH | MASKETH, \
        EXT_BYTES(ATOMICETH | MASKETH)},

/* What a service adds to every row: RDETH and DETH to RD requests, RDETH alone to RD responses, DETH to UD,
 * XRCETH to XRC requests (ROCE-OPC-2). */
#define RC_ROW(op, kind, headers)      ROW(RC, op, kind, headers)
#define UC_ROW(op, kind, headers)      ROW(UC, op, kind, headers)
#define RD_REQ_ROW(op, kind, headers)  ROW(RD, op, kind, (headers) | RDETH | DETH)
#define RD_RSP_ROW(op, kind, headers)  ROW(RD, op, kind, (headers) | RDETH)
#define UD_ROW(op, kind, headers)      ROW(UD, op, kind, (headers) | DETH)
#define XRC_REQ_ROW(op, kind, headers) ROW(XRC, op, kind, (headers) | XRCETH)
#define XRC_RSP_ROW(op, kind, headers) ROW(XRC, op, kind, headers)

/* clang-format off */
const struct roce_opcode roce_opcodes[256] = {
    SEND_OPS(RC_ROW)      SEND_ONLY_OPS(RC_ROW)      WRITE_OPS(RC_ROW)
    READ_ATOMIC_OPS(RC_ROW)      INVALIDATE_OPS(RC_ROW)      RESPONSE_OPS(RC_ROW)
    SEND_OPS(UC_ROW)      SEND_ONLY_OPS(UC_ROW)      WRITE_OPS(UC_ROW)
    SEND_OPS(RD_REQ_ROW)  SEND_ONLY_OPS(RD_REQ_ROW)  WRITE_OPS(RD_REQ_ROW)
    READ_ATOMIC_OPS(RD_REQ_ROW)                              RESPONSE_OPS(RD_RSP_ROW)
    RD_REQ_ROW(RESYNC, REQUEST | ONLY, 0)
    SEND_ONLY_OPS(UD_ROW)
    SEND_OPS(XRC_REQ_ROW) SEND_ONLY_OPS(XRC_REQ_ROW) WRITE_OPS(XRC_REQ_ROW)
    READ_ATOMIC_OPS(XRC_REQ_ROW) INVALIDATE_OPS(XRC_REQ_ROW) RESPONSE_OPS(XRC_RSP_ROW)
    MASKED_ROW(CMP_SWAP) MASKED_ROW(FETCH_ADD)
    [ROCE_OPCODE_SACK] = {"RC SELECTIVE_ACK", ROCE_PKT_DEFINED | RESPONSE | ONLY | PAYLOAD | AETH | SACKETH,
                          EXT_BYTES(AETH | SACKETH)},
    /* ROCE-HDR-12: the 16 reserved bytes stand where extended headers do. */
    [ROCE_OPCODE_CNP] = {"CNP", ROCE_PKT_DEFINED | ROCE_PKT_CNP, ROCE_CNP_BYTES},
};
/* clang-format on */
