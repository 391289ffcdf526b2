/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory that a program takes away again: an access is an error of the work request. */
#include <criterion/criterion.h>
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>

#include "test/api/ends.h"

#define PAGE_BYTES   4096u
#define REGION_BYTES (16u * PAGE_BYTES)
#define GONE_FROM    (8u * PAGE_BYTES)

static struct end ends[2];
static uint8_t *regions[2];

/* Both ends, each with a region that is mapped for it alone. */
static void open_ends(void)
{
    ends_open(ends, NULL);
    for (int i = 0; i < 2; i++) {
        regions[i] = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        cr_assert_neq(regions[i], MAP_FAILED);
        cr_assert_eq(nornic_mr_rereg(ends[i].mr, ends[i].pd, regions[i], REGION_BYTES, (uintptr_t)regions[i],
                                     ENDS_RIGHTS),
                     0);
    }
}

static void close_ends(void)
{
    ends_close(ends);
    for (int i = 0; i < 2; i++)
        munmap(regions[i], REGION_BYTES);
}

/* Takes the rights of one page amid the region. */
static void take_rights(int end, int prot)
{
    cr_assert_eq(mprotect(regions[end] + GONE_FROM, PAGE_BYTES, prot), 0);
}

/* Posts an operation on `len_bytes` of both regions from `mine` and `theirs` on; returns its status. */
static enum nornic_wc_status status_of(enum nornic_wr_opcode opcode, uint64_t mine, uint64_t theirs,
                                       uint32_t len_bytes)
{
    const struct nornic_sge sge = {(uintptr_t)regions[0] + mine, len_bytes, nornic_mr_lkey(ends[0].mr)};
    const struct nornic_send_wr wr = {.sg_list = &sge,
                                      .num_sge = 1,
                                      .opcode = opcode,
                                      .send_flags = NORNIC_SEND_SIGNALED,
                                      .remote_addr = (uintptr_t)regions[1] + theirs,
                                      .rkey = nornic_mr_rkey(ends[1].mr)};
    cr_assert_eq(nornic_qp_post_send(ends[0].qp, &wr, NULL), 0);
    return ends_wait(&ends[0]).status;
}

static void count(void *ctx, const char *name, uint64_t value)
{
    if (strcmp(name, "memory_faults") == 0)
        *(uint64_t *)ctx = value;
}

static uint64_t faults_of(const struct end *e)
{
    uint64_t faults = UINT64_MAX;
    nornic_dev_counters(e->dev, count, &faults);
    return faults;
}

static void expect_remote(enum nornic_wr_opcode opcode, uint32_t len_bytes)
{
    open_ends();
    take_rights(1, PROT_NONE);
    cr_expect_eq(faults_of(&ends[1]), 0u);
    uint64_t theirs = len_bytes == REGION_BYTES ? 0 : GONE_FROM;
    cr_expect_eq(status_of(opcode, 0, theirs, len_bytes), NORNIC_WC_REM_ACCESS_ERR);
    cr_expect_geq(faults_of(&ends[1]), 1u);
    cr_expect_eq(faults_of(&ends[0]), 0u);
    close_ends();
}

Test(memory, a_write_to_memory_that_is_gone)
{
    expect_remote(NORNIC_WR_RDMA_WRITE, 100);
}

Test(memory, a_long_write_that_comes_to_memory_that_is_gone)
{
    expect_remote(NORNIC_WR_RDMA_WRITE, REGION_BYTES);
}

Test(memory, a_read_of_memory_that_is_gone)
{
    expect_remote(NORNIC_WR_RDMA_READ, 100);
}

Test(memory, a_long_read_that_comes_to_memory_that_is_gone)
{
    expect_remote(NORNIC_WR_RDMA_READ, REGION_BYTES);
}

Test(memory, an_atomic_on_memory_that_is_gone)
{
    expect_remote(NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8);
}

static void expect_local(enum nornic_wr_opcode opcode, uint32_t len_bytes)
{
    open_ends();
    take_rights(0, PROT_NONE);
    uint64_t mine = len_bytes == REGION_BYTES ? 0 : GONE_FROM;
    cr_expect_eq(status_of(opcode, mine, 0, len_bytes), NORNIC_WC_LOC_PROT_ERR);
    cr_expect_geq(faults_of(&ends[0]), 1u);
    cr_expect_eq(faults_of(&ends[1]), 0u);
    close_ends();
}

Test(memory, a_write_from_memory_that_is_gone)
{
    expect_local(NORNIC_WR_RDMA_WRITE, 100);
}

Test(memory, a_long_write_out_of_memory_that_is_gone)
{
    expect_local(NORNIC_WR_RDMA_WRITE, REGION_BYTES);
}

Test(memory, a_read_into_memory_that_is_gone)
{
    expect_local(NORNIC_WR_RDMA_READ, 100);
}

Test(memory, a_long_read_into_memory_that_is_gone)
{
    expect_local(NORNIC_WR_RDMA_READ, REGION_BYTES);
}

/* Memory that may only be read is read, and not written to. */
Test(memory, memory_that_has_lost_the_right_to_write)
{
    open_ends();
    take_rights(1, PROT_READ);
    cr_expect_eq(status_of(NORNIC_WR_RDMA_READ, 0, GONE_FROM, 100), NORNIC_WC_SUCCESS);
    cr_expect_eq(status_of(NORNIC_WR_RDMA_WRITE, 0, GONE_FROM, 100), NORNIC_WC_REM_ACCESS_ERR);
    close_ends();
}

Test(memory, a_region_needs_memory_with_its_rights)
{
    struct nornic_mr *mr;
    open_ends();
    take_rights(0, PROT_READ);
    cr_expect_eq(nornic_mr_reg(ends[0].pd, regions[0], REGION_BYTES, ENDS_RIGHTS, &mr), -EFAULT);
    cr_assert_eq(nornic_mr_reg(ends[0].pd, regions[0], REGION_BYTES, NORNIC_ACCESS_REMOTE_READ, &mr), 0);
    cr_expect_eq(nornic_mr_rereg(mr, ends[0].pd, regions[0], REGION_BYTES, 0, NORNIC_ACCESS_LOCAL_WRITE),
                 -EFAULT);
    cr_expect_eq(nornic_mr_dereg(mr), 0);
    take_rights(0, PROT_NONE);
    cr_expect_eq(nornic_mr_reg(ends[0].pd, regions[0], REGION_BYTES, NORNIC_ACCESS_REMOTE_READ, &mr),
                 -EFAULT);
    cr_assert_eq(
        nornic_mr_reg(ends[0].pd, regions[0], REGION_BYTES, ENDS_RIGHTS | NORNIC_ACCESS_ON_DEMAND, &mr), 0);
    cr_expect_eq(nornic_mr_dereg(mr), 0);
    close_ends();
}

/* The program's handler gets the faults of the program. */
static volatile sig_atomic_t caught;

static void let_write(int number)
{
    caught = number;
    mprotect(regions[1], REGION_BYTES, PROT_READ | PROT_WRITE);
}

Test(memory, faults_of_the_program_go_to_its_handler)
{
    struct sigaction own = {.sa_handler = let_write};
    sigaction(SIGSEGV, &own, NULL);
    open_ends();
    take_rights(1, PROT_NONE);
    cr_expect_eq(status_of(NORNIC_WR_RDMA_WRITE, 0, GONE_FROM, 100), NORNIC_WC_REM_ACCESS_ERR);
    cr_expect_eq(caught, 0);
    *(volatile uint8_t *)(regions[1] + GONE_FROM) = 1;
    cr_expect_eq(caught, SIGSEGV);
    cr_expect_eq(regions[1][GONE_FROM], 1);
    close_ends();
}
