/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <string.h>

static const struct {
    const char *name;
    enum nornic_wr_opcode opcode;
    uint32_t access;
} ops[] = {
#define PERF_OP_ROW_(id, name, opcode, access) {name, opcode, access},
    PERF_OPS(PERF_OP_ROW_)
#undef PERF_OP_ROW_
};

const char *perf_op_name(enum perf_op op)
{
    return ops[op].name;
}

bool perf_op_parse(const char *name, enum perf_op *op)
{
    for (unsigned i = 0; i < PERF_OP_COUNT; i++) {
        if (strcmp(ops[i].name, name) == 0) {
            *op = (enum perf_op)i;
            return true;
        }
    }
    return false;
}

enum nornic_wr_opcode perf_op_opcode(enum perf_op op)
{
    return ops[op].opcode;
}

uint32_t perf_op_access(enum perf_op op)
{
    return ops[op].access;
}

bool perf_op_is_atomic(enum perf_op op)
{
    return op == PERF_OP_FETCH_ADD || op == PERF_OP_CMP_SWAP;
}

bool perf_op_takes_receive(enum perf_op op)
{
    return op == PERF_OP_SEND || op == PERF_OP_WRITE_IMM;
}

bool perf_op_is_answered(enum perf_op op)
{
    return op == PERF_OP_READ || perf_op_is_atomic(op);
}
