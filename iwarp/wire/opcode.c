/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/wire/opcode.h"

#include "iwarp/wire/wire.h"

#define SEND (IWARP_MSG_PAYLOAD | IWARP_MSG_TAKES_RECV)

/* IWARP-RDMAP-04; RFC 5040 figures 3 and 4, RFC 7306 4.1. */
const struct iwarp_opcode iwarp_opcodes[IWARP_OP_DEFINED] = {
    [IWARP_OP_WRITE] = {"RDMA Write", IWARP_MSG_TAGGED | IWARP_MSG_PAYLOAD, 0, 0},
    [IWARP_OP_READ_REQUEST] = {"RDMA Read Request", 0, IWARP_QN_REQUEST, IWARP_READ_REQ_BYTES},
    [IWARP_OP_READ_RESPONSE] = {"RDMA Read Response", IWARP_MSG_TAGGED | IWARP_MSG_PAYLOAD, 0, 0},
    [IWARP_OP_SEND] = {"Send", SEND, IWARP_QN_SEND, 0},
    [IWARP_OP_SEND_INV] = {"Send with Invalidate", SEND | IWARP_MSG_INVALIDATE, IWARP_QN_SEND, 0},
    [IWARP_OP_SEND_SE] = {"Send with SE", SEND | IWARP_MSG_SOLICITED, IWARP_QN_SEND, 0},
    [IWARP_OP_SEND_SE_INV] = {"Send with SE and Invalidate",
                              SEND | IWARP_MSG_SOLICITED | IWARP_MSG_INVALIDATE, IWARP_QN_SEND, 0},
    [IWARP_OP_TERMINATE] = {"Terminate", 0, IWARP_QN_TERMINATE, IWARP_TERM_BYTES},
    [IWARP_OP_IMM] = {"Immediate Data", IWARP_MSG_TAKES_RECV | IWARP_MSG_EXTENSION, IWARP_QN_SEND,
                      IWARP_IMM_BYTES},
    [IWARP_OP_IMM_SE] = {"Immediate Data with SE",
                         IWARP_MSG_TAKES_RECV | IWARP_MSG_SOLICITED | IWARP_MSG_EXTENSION, IWARP_QN_SEND,
                         IWARP_IMM_BYTES},
    [IWARP_OP_ATOMIC_REQUEST] = {"Atomic Request", IWARP_MSG_EXTENSION, IWARP_QN_REQUEST,
                                 IWARP_ATOMIC_REQ_BYTES},
    [IWARP_OP_ATOMIC_RESPONSE] = {"Atomic Response", IWARP_MSG_EXTENSION, IWARP_QN_ATOMIC_RSP,
                                  IWARP_ATOMIC_RSP_BYTES},
};

const char *iwarp_opcode_name(uint64_t value)
{
    return value < IWARP_OP_DEFINED ? iwarp_opcodes[value].name : "reserved";
}
