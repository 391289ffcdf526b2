/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/perf/perf.h"

#include <string.h>

#define ONE_IN_EACH_FIELD UINT64_C(0x1111111111111111)
#define UNHEEDED          UINT64_C(0xdeadbeef00000000)

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
    return op == PERF_OP_FETCH_ADD || op == PERF_OP_CMP_SWAP || perf_op_is_masked(op);
}

bool perf_op_is_masked(enum perf_op op)
{
    return op == PERF_OP_MASKED_FETCH_ADD || op == PERF_OP_MASKED_CMP_SWAP;
}

void perf_op_operands(enum perf_op op, uint64_t seq, struct nornic_send_wr *wr)
{
    wr->compare_add = op == PERF_OP_CMP_SWAP ? seq : 1;
    wr->swap = seq + 1;
    if (op == PERF_OP_MASKED_FETCH_ADD) {
        wr->compare_add = ONE_IN_EACH_FIELD;
        wr->compare_mask = ONE_IN_EACH_FIELD << 3; /* the highest bit of each */
    } else if (op == PERF_OP_MASKED_CMP_SWAP) {
        wr->compare_add = UNHEEDED | (uint32_t)seq;
        wr->swap = UNHEEDED | (uint32_t)(seq + 1);
        wr->compare_mask = wr->swap_mask = UINT32_MAX;
    }
}

uint64_t perf_op_word(enum perf_op op, uint64_t seq)
{
    if (op == PERF_OP_MASKED_FETCH_ADD)
        return ONE_IN_EACH_FIELD * (seq % 16);
    return op == PERF_OP_MASKED_CMP_SWAP ? (uint32_t)seq : seq;
}

bool perf_op_takes_receive(enum perf_op op)
{
    return op == PERF_OP_SEND || op == PERF_OP_WRITE_IMM;
}

bool perf_op_is_answered(enum perf_op op)
{
    return op == PERF_OP_READ || perf_op_is_atomic(op);
}
