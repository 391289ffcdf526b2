/* SPDX-License-Identifier: BSD-2-Clause */
/* RC over a wire with every kind of trouble, one operation at a time and in pairs that depend on each other.
 */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define SEEDS 120

static void run_opcodes(uint32_t opcodes)
{
    struct sim_profile profile = {
        .loss_ppm = 40000, .duplicate_ppm = 50000, .reorder_ppm = 9000, .opcodes = opcodes};
    sim_seeds_run(&profile, SEEDS);
}

Test(rc_operation, send)
{
    run_opcodes(1 << NORNIC_WR_SEND);
}

Test(rc_operation, send_with_imm)
{
    run_opcodes(1 << NORNIC_WR_SEND_WITH_IMM);
}

Test(rc_operation, write)
{
    run_opcodes(1 << NORNIC_WR_RDMA_WRITE);
}

Test(rc_operation, write_with_imm)
{
    run_opcodes(1 << NORNIC_WR_RDMA_WRITE_WITH_IMM);
}

Test(rc_operation, read)
{
    run_opcodes(1 << NORNIC_WR_RDMA_READ);
}

Test(rc_operation, cmp_swap)
{
    run_opcodes(1 << NORNIC_WR_ATOMIC_CMP_AND_SWP);
}

Test(rc_operation, fetch_add)
{
    run_opcodes(1 << NORNIC_WR_ATOMIC_FETCH_AND_ADD);
}

Test(rc_operation, write_then_read)
{
    run_opcodes(1 << NORNIC_WR_RDMA_WRITE | 1 << NORNIC_WR_RDMA_READ);
}

Test(rc_operation, read_then_send)
{
    run_opcodes(1 << NORNIC_WR_RDMA_READ | 1 << NORNIC_WR_SEND);
}

/* The transport of chapter 9, whatever the wire does: each message arrives once and whole, in order, or
 * fails.
 * covers: CA17-25, ROCE-GEN-4 */
Test(rc_operation, atomics_between_writes)
{
    run_opcodes(1 << NORNIC_WR_ATOMIC_CMP_AND_SWP | 1 << NORNIC_WR_ATOMIC_FETCH_AND_ADD |
                1 << NORNIC_WR_RDMA_WRITE);
}
