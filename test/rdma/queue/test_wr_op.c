/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rdma/queue/wr_op.h"

static const enum nornic_wr_opcode known[] = {
    NORNIC_WR_RDMA_WRITE,
    NORNIC_WR_RDMA_WRITE_WITH_IMM,
    NORNIC_WR_SEND,
    NORNIC_WR_SEND_WITH_IMM,
    NORNIC_WR_RDMA_READ,
    NORNIC_WR_ATOMIC_CMP_AND_SWP,
    NORNIC_WR_ATOMIC_FETCH_AND_ADD,
    NORNIC_WR_LOCAL_INV,
    NORNIC_WR_BIND_MW,
    NORNIC_WR_SEND_WITH_INV,
    NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP,
    NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,
    NORNIC_WR_REG_MR,
    NORNIC_WR_IMM,
};

Test(wr_op, every_opcode_has_a_row_and_no_other_number_has)
{
    unsigned rows = 0;
    for (unsigned i = 0; i < RDMA_WR_OPCODES; i++)
        rows += rdma_wr_ops[i].name != NULL;
    cr_assert_eq(rows, sizeof known / sizeof known[0]);
    for (unsigned i = 0; i < rows; i++)
        cr_assert_not_null(rdma_wr_ops[known[i]].name);
}

/* One thing each: a request sends, writes, reads, is an atomic, stays here, or has no data at all. */
Test(wr_op, a_request_is_of_one_kind)
{
    const uint32_t kinds = RDMA_OP_SEND | RDMA_OP_WRITE | RDMA_OP_READ | RDMA_OP_ATOMIC | RDMA_OP_LOCAL;
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        uint32_t kind = rdma_wr_flags(known[i]) & kinds;
        if (known[i] == NORNIC_WR_IMM)
            kind = kind ? 0 : RDMA_OP_SEND;
        cr_assert(kind && !(kind & (kind - 1)), "%s", rdma_wr_ops[known[i]].name);
    }
}

/* The names say it, and the flags are no second opinion. */
Test(wr_op, flags_are_what_the_name_says)
{
    for (unsigned i = 0; i < sizeof known / sizeof known[0]; i++) {
        const struct rdma_wr_op *op = &rdma_wr_ops[known[i]];
        bool is_local =
            !strncmp(op->name, "LOCAL", 5) || !strncmp(op->name, "BIND", 4) || !strncmp(op->name, "REG", 3);
        cr_assert_eq(!!(op->flags & RDMA_OP_SEND), !strncmp(op->name, "SEND", 4));
        cr_assert_eq(!!(op->flags & RDMA_OP_WRITE), strstr(op->name, "WRITE") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_READ), strstr(op->name, "READ") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_ATOMIC), strstr(op->name, "ATOMIC") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_MASKED), strstr(op->name, "MASKED") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_IMM), strstr(op->name, "IMM") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_INVALIDATE), strstr(op->name, "_INV") != NULL);
        cr_assert_eq(!!(op->flags & RDMA_OP_LOCAL), is_local);
        cr_assert_eq(!!(op->flags & RDMA_OP_RKEY), op->flags & RDMA_OP_DATA && !(op->flags & RDMA_OP_SEND));
        cr_assert_eq(!!(op->flags & RDMA_OP_TAKES_RECV), (op->flags & (RDMA_OP_SEND | RDMA_OP_IMM)) != 0);
    }
}

/* ROCE section 11.3: the completion of a send queue's request. */
Test(wr_op, completions_bear_the_opcode_of_their_kind)
{
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_RDMA_WRITE_WITH_IMM].wc_opcode, NORNIC_WC_RDMA_WRITE);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_SEND_WITH_INV].wc_opcode, NORNIC_WC_SEND);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_RDMA_READ].wc_opcode, NORNIC_WC_RDMA_READ);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_ATOMIC_CMP_AND_SWP].wc_opcode, NORNIC_WC_COMP_SWAP);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD].wc_opcode, NORNIC_WC_MASKED_FETCH_ADD);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_LOCAL_INV].wc_opcode, NORNIC_WC_LOCAL_INV);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_REG_MR].wc_opcode, NORNIC_WC_REG_MR);
    cr_assert_eq(rdma_wr_ops[NORNIC_WR_IMM].wc_opcode, NORNIC_WC_SEND);
}
