/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixture of suites about work requests that send nothing: a window, a region for fast registration, and
 * the requests that name them. TestSuite(name, .init = make_objects, .fini = free_objects). */
#ifndef NORNIC_TEST_ROCE_LOCAL_OPS_H
#define NORNIC_TEST_ROCE_LOCAL_OPS_H

#include <criterion/criterion.h>
#include <string.h>

#include "rdma/mw.h"
#include "test/support/script_suite.h"

#define ALL_REMOTE   (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define WINDOW_AT    8192u
#define WINDOW_BYTES 4096u
#define FAST_IOVA    UINT64_C(0x40000000)

static struct rdma_mw *mw;   /* type 2 */
static struct rdma_mr *fast; /* up to WINDOW_BYTES */

static inline void make_objects(void)
{
    setup();
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_2, &mw), 0);
    cr_assert_eq(rdma_mr_alloc_fast(s->pd, WINDOW_BYTES, &fast), 0);
}

static inline void free_objects(void)
{
    rdma_mw_dealloc(mw);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
    teardown();
}

/* The suite's objects belong to the script, so they go and come with it. */
static inline void renew_all(void)
{
    rdma_mw_dealloc(mw);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
    renew();
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_2, &mw), 0);
    cr_assert_eq(rdma_mr_alloc_fast(s->pd, WINDOW_BYTES, &fast), 0);
}

static inline uint32_t window_key(void)
{
    return mw->rkey ^ 0x5a;
}

static inline uint32_t fast_key(void)
{
    return fast->rkey ^ 0x21;
}

static inline struct nornic_send_wr bind_wr(uint64_t wr_id)
{
    return (struct nornic_send_wr){.wr_id = wr_id,
                                   .opcode = NORNIC_WR_BIND_MW,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .rkey = window_key(),
                                   .bind = {.lkey = s->mr->lkey,
                                            .addr = s->mr->iova + WINDOW_AT,
                                            .len_bytes = WINDOW_BYTES,
                                            .access = ALL_REMOTE}};
}

static inline struct nornic_send_wr reg_wr(uint64_t wr_id)
{
    return (struct nornic_send_wr){.wr_id = wr_id,
                                   .opcode = NORNIC_WR_REG_MR,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .rkey = fast_key(),
                                   .bind = {.addr = (uintptr_t)s->mem + WINDOW_AT,
                                            .len_bytes = WINDOW_BYTES,
                                            .iova = FAST_IOVA,
                                            .access = NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE}};
}

static inline struct nornic_send_wr inv_wr(uint64_t wr_id, uint32_t key)
{
    return (struct nornic_send_wr){.wr_id = wr_id,
                                   .opcode = NORNIC_WR_LOCAL_INV,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .invalidate_rkey = key};
}

static inline void post(struct nornic_send_wr wr)
{
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* The peer writes 4 bytes through a key. */
static inline void peer_writes(uint32_t i, uint32_t key, uint64_t va)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 0, 4, script_data(), 4);
    p.reth.rkey = key;
    p.reth.va = va;
    p.bth.ack_req = 1;
    script_send(s, &p);
}

#endif
