/* SPDX-License-Identifier: BSD-2-Clause */
/* What each kind of work request is: one row an opcode. Posts, completions, local operations and every
 * transport ask this table, none of them has a list of opcodes of its own. Inside the engine only. */
#ifndef NORNIC_RDMA_WR_OP_H
#define NORNIC_RDMA_WR_OP_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/cq.h"
#include "nornic/wr.h"

enum rdma_op_flags {
    RDMA_OP_SEND = 1 << 0,       /* its data goes into a receive of the peer's */
    RDMA_OP_WRITE = 1 << 1,      /* its data goes to a remote address */
    RDMA_OP_READ = 1 << 2,       /* data comes back from a remote address */
    RDMA_OP_ATOMIC = 1 << 3,     /* the 8 bytes that were at a remote address come back */
    RDMA_OP_MASKED = 1 << 4,     /* an atomic with masks */
    RDMA_OP_LOCAL = 1 << 5,      /* sends nothing: this side executes it (rdma/queue/local_ops.h) */
    RDMA_OP_TAKES_RECV = 1 << 6, /* uses up a receive of the peer's, with data or without */
    RDMA_OP_IMM = 1 << 7,        /* carries imm_data */
    RDMA_OP_INVALIDATE = 1 << 8, /* names a key to invalidate: invalidate_rkey */
    RDMA_OP_BIND = 1 << 9,       /* `bind` says what a key is to name */
    RDMA_OP_RKEY = 1 << 10,      /* remote_addr and rkey say where */

    /* Without these a request has no SGEs. */
    RDMA_OP_DATA = RDMA_OP_SEND | RDMA_OP_WRITE | RDMA_OP_READ | RDMA_OP_ATOMIC,
    RDMA_OP_RD_ATOMIC = RDMA_OP_READ | RDMA_OP_ATOMIC, /* answered with data: counts against max_rd_atomic */
};

struct rdma_wr_op {
    const char *name; /* as the standard writes it; NULL: there is no such opcode */
    enum nornic_wc_opcode wc_opcode;
    uint32_t flags; /* enum rdma_op_flags */
};

#define RDMA_WR_OPCODES (NORNIC_WR_IMM + 1)

/* By enum nornic_wr_opcode. */
extern const struct rdma_wr_op rdma_wr_ops[RDMA_WR_OPCODES];

/* The flags of an opcode that a post has let through. */
static inline uint32_t rdma_wr_flags(enum nornic_wr_opcode opcode)
{
    return rdma_wr_ops[opcode].flags;
}

#endif
