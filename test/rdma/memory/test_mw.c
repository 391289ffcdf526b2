/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows, fast registration, invalidation: ROCE sections 13.3 and 13.4. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "rdma/transport.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define ALL_REMOTE (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC)
#define QPN        17u
#define BYTES      4096u

static struct test_random rnd = {.state = 1};
static struct test_alloc alloc;
static struct rdma_domain *domain;
static struct rdma_pd *pd, *other_pd;
static struct rdma_mr *mr;
static struct rdma_mw_list windows; /* of QPN */
static uint8_t memory[BYTES];

static void setup(void)
{
    struct rdma_random source = test_random_source(&rnd);
    test_alloc_init(&alloc);
    cr_assert_eq(rdma_domain_create(&alloc.mem, &source, 16, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    cr_assert_eq(rdma_pd_create(domain, &other_pd), 0);
    cr_assert_eq(rdma_mr_reg(pd, memory, BYTES, NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND, &mr), 0);
}

static void teardown(void)
{
    cr_assert_null(windows.first);
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    cr_assert_eq(rdma_pd_destroy(other_pd), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
    cr_assert_eq(alloc.live, 0);
}

TestSuite(mw, .init = setup, .fini = teardown);

static struct rdma_mw *make(enum nornic_mw_type type)
{
    struct rdma_mw *mw = NULL;
    cr_assert_eq(rdma_mw_alloc(pd, type, &mw), 0);
    return mw;
}

static uint64_t va(uint64_t offset)
{
    return (uintptr_t)memory + offset;
}

/* A bind of [1024, 2048) of the region with all rights. */
static struct rdma_mw_bind usual(const struct rdma_mw *mw)
{
    return (struct rdma_mw_bind){.type = mw->type,
                                 .key = mw->type == NORNIC_MW_TYPE_1 ? rdma_mw_next_key(mw) : mw->rkey ^ 0x5a,
                                 .lkey = mr->lkey,
                                 .addr = va(1024),
                                 .len_bytes = 1024,
                                 .access = ALL_REMOTE};
}

static int bind(const struct rdma_mw_bind *b)
{
    return rdma_mw_bind(domain, pd, QPN, &windows, b);
}

static uint8_t *reach(uint32_t key, uint64_t at, uint64_t n)
{
    return rdma_mr_remote(domain, pd, QPN, key, at, n, NORNIC_ACCESS_REMOTE_READ);
}

Test(mw, ROCE_MW_1_a_type_1_bind_replaces_the_one_before_and_its_key)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_1);
    uint32_t keys[300] = {mw->rkey};
    cr_assert_null(reach(mw->rkey, va(1024), 1), "not bound");
    for (int i = 1; i < 300; i++) {
        struct rdma_mw_bind b = usual(mw);
        cr_assert_neq(b.key, keys[i - 1]);
        cr_assert_eq(b.key >> 8, keys[0] >> 8);
        b.addr = va((uint64_t)i);
        cr_assert_eq(bind(&b), 0);
        mw->rkey = keys[i] = b.key;
        cr_assert_null(reach(keys[i - 1], va((uint64_t)i), 1), "the old key is dead");
        cr_assert_eq(reach(keys[i], va((uint64_t)i), 1024), memory + i);
        cr_assert_eq(rdma_mr_remote(domain, pd, 99, keys[i], va((uint64_t)i), 1, NORNIC_ACCESS_REMOTE_READ),
                     memory + i, "any QP of the PD");
        cr_assert_eq(mr->windows, 1);
    }
    rdma_mw_dealloc(mw);
    cr_assert_eq(mr->windows, 0);
}

Test(mw, ROCE_MW_1_length_0_unbinds)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_1);
    struct rdma_mw_bind b = usual(mw);
    cr_assert_eq(bind(&b), 0);
    mw->rkey = b.key;
    struct rdma_mw_bind none = {.type = NORNIC_MW_TYPE_1, .key = rdma_mw_next_key(mw)};
    cr_assert_eq(bind(&none), 0);
    cr_assert_eq(mr->windows, 0);
    cr_assert_null(reach(b.key, va(1024), 1));
    cr_assert_null(reach(none.key, va(1024), 1));
    cr_assert_null(reach(none.key, 0, 0));
    rdma_mw_dealloc(mw);
}

/* covers: ROCE-MR-7 */
Test(mw, ROCE_MW_1_a_type_1_window_is_never_invalidated_and_never_zero_based)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_1);
    struct rdma_mw_bind b = usual(mw);
    b.access |= NORNIC_ACCESS_ZERO_BASED;
    cr_assert_eq(bind(&b), -EINVAL);
    b.access = ALL_REMOTE;
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, b.key), -EINVAL);
    cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN, b.key), -EINVAL);
    cr_assert_not_null(reach(b.key, va(1024), 1));
    rdma_mw_dealloc(mw);
}

Test(mw, ROCE_MW_2_a_type_2_window_is_bound_from_free_state_with_the_consumers_low_byte)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(mw), again = b;
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(reach(b.key, va(1024), 1024), memory + 1024);
    again.key = b.key ^ 1;
    cr_assert_eq(bind(&again), -EINVAL, "bound already");
    cr_assert_not_null(reach(b.key, va(1024), 1));
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, b.key), 0);
    cr_assert_null(reach(b.key, va(1024), 1));
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, b.key), -EINVAL, "free already");
    cr_assert_eq(bind(&again), 0);
    cr_assert_null(reach(b.key, va(1024), 1));
    cr_assert_not_null(reach(again.key, va(1024), 1));
    cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN, again.key), 0);
    cr_assert_null(reach(again.key, va(1024), 1));
    rdma_mw_dealloc(mw);
}

Test(mw, ROCE_MW_2_only_the_qp_of_the_bind_may_use_or_invalidate_it)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(mw);
    cr_assert_eq(bind(&b), 0);
    cr_assert_null(rdma_mr_remote(domain, pd, QPN + 1, b.key, va(1024), 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN + 1, b.key), -EINVAL);
    cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN + 1, b.key), -EINVAL);
    cr_assert_not_null(reach(b.key, va(1024), 1));
    rdma_mw_dealloc(mw);
}

Test(mw, ROCE_MW_2_its_windows_end_with_the_qp)
{
    struct rdma_mw *mws[3];
    struct rdma_mw_bind b[3];
    for (int i = 0; i < 3; i++) {
        mws[i] = make(NORNIC_MW_TYPE_2);
        b[i] = usual(mws[i]);
        cr_assert_eq(bind(&b[i]), 0);
    }
    rdma_mw_dealloc(mws[1]); /* out of the middle of the list */
    cr_assert_eq(mr->windows, 2);
    rdma_mw_unbind_all(&windows);
    cr_assert_eq(mr->windows, 0);
    cr_assert_null(reach(b[0].key, va(1024), 1), "a new QP of the same number must not have it");
    cr_assert_null(reach(b[2].key, va(1024), 1));
    rdma_mw_dealloc(mws[0]);
    rdma_mw_dealloc(mws[2]);
}

Test(mw, ROCE_MW_2_a_bind_without_length_or_region_fails)
{
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(mw);
    b.len_bytes = 0;
    cr_assert_eq(bind(&b), -EINVAL);
    b = usual(mw);
    b.lkey = 0;
    cr_assert_eq(bind(&b), -EINVAL);
    b.lkey = mr->lkey ^ 1;
    cr_assert_eq(bind(&b), -EINVAL);
    cr_assert_null(reach(b.key, va(1024), 1));
    rdma_mw_dealloc(mw);
}

Test(mw, ROCE_MW_2_the_key_must_name_the_window_and_the_type_must_be_its_own)
{
    struct rdma_mw *one = make(NORNIC_MW_TYPE_1), *two = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(two);
    b.key = mr->rkey;
    cr_assert_eq(bind(&b), -EINVAL, "a region's key");
    b.key = 5 << 8;
    cr_assert_eq(bind(&b), -EINVAL, "nobody's key");
    b = usual(two);
    b.type = NORNIC_MW_TYPE_1;
    cr_assert_eq(bind(&b), -EINVAL);
    b = usual(one);
    b.type = NORNIC_MW_TYPE_2;
    cr_assert_eq(bind(&b), -EINVAL);
    rdma_mw_dealloc(one);
    rdma_mw_dealloc(two);
    struct rdma_mw *none = NULL;
    cr_assert_eq(rdma_mw_alloc(pd, (enum nornic_mw_type)3, &none), -EINVAL);
}

/* covers: ROCE-PD-1 */
Test(mw, ROCE_MW_3_window_region_and_qp_are_of_one_pd)
{
    struct rdma_mw *mine = make(NORNIC_MW_TYPE_2), *theirs = NULL;
    struct rdma_mw_bind b = usual(mine);
    cr_assert_eq(rdma_mw_bind(domain, other_pd, QPN, &windows, &b), -EINVAL);
    cr_assert_eq(rdma_mw_alloc(other_pd, NORNIC_MW_TYPE_2, &theirs), 0);
    b = usual(theirs);
    cr_assert_eq(bind(&b), -EINVAL, "the window's");
    cr_assert_eq(rdma_mw_bind(domain, other_pd, QPN, &windows, &b), -EINVAL, "the region's");
    b = usual(mine);
    cr_assert_eq(bind(&b), 0);
    cr_assert_null(rdma_mr_remote(domain, other_pd, QPN, b.key, va(1024), 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_eq(rdma_invalidate_local(domain, other_pd, QPN, b.key), -EINVAL);
    rdma_mw_dealloc(mine);
    rdma_mw_dealloc(theirs);
}

Test(mw, ROCE_MW_3_the_region_must_allow_it)
{
    static const struct {
        uint32_t region, window;
        int result;
    } rows[] = {
        {NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE, NORNIC_ACCESS_REMOTE_READ, -EINVAL}, /* no MW_BIND */
        {NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_ZERO_BASED, NORNIC_ACCESS_REMOTE_READ, -EINVAL},
        {NORNIC_ACCESS_MW_BIND, NORNIC_ACCESS_REMOTE_READ, 0}, /* the region itself need not be readable */
        {NORNIC_ACCESS_MW_BIND, NORNIC_ACCESS_REMOTE_WRITE, -EINVAL},
        {NORNIC_ACCESS_MW_BIND, NORNIC_ACCESS_REMOTE_ATOMIC, -EINVAL},
        {NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_LOCAL_WRITE, NORNIC_ACCESS_REMOTE_WRITE, 0},
        {NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_LOCAL_WRITE, NORNIC_ACCESS_REMOTE_ATOMIC, 0},
        {NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_LOCAL_WRITE, NORNIC_ACCESS_LOCAL_WRITE, -EINVAL},
        {NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_LOCAL_WRITE, NORNIC_ACCESS_MW_BIND, -EINVAL},
    };
    for (unsigned i = 0; i < array_len(rows); i++)
        for (int type = 1; type <= 2; type++) {
            struct rdma_mr *region = NULL;
            cr_assert_eq(rdma_mr_reg_iova(pd, memory, BYTES, 0, rows[i].region, &region), 0);
            struct rdma_mw *mw = make((enum nornic_mw_type)type);
            struct rdma_mw_bind b = usual(mw);
            b.lkey = region->lkey;
            b.addr = 0;
            b.access = rows[i].window;
            cr_assert_eq(bind(&b), rows[i].result, "row %u type %d", i, type);
            rdma_mw_dealloc(mw);
            cr_assert_eq(rdma_mr_dereg(region), 0);
        }
}

Test(mw, ROCE_MW_3_the_window_lies_inside_the_region)
{
    const struct {
        uint64_t addr, len;
        int result;
    } rows[] = {
        {va(0), BYTES, 0},
        {va(0), 1, 0},
        {va(BYTES - 1), 1, 0},
        {va(BYTES), 1, -EINVAL},
        {va(0), BYTES + 1, -EINVAL},
        {va(1), BYTES, -EINVAL},
        {va(0) - 1, 2, -EINVAL},
        {va(8), (uint64_t)-8, -EINVAL},
        {0, 1, -EINVAL},
        {UINT64_MAX, 2, -EINVAL},
    };
    for (unsigned i = 0; i < array_len(rows); i++) {
        struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
        struct rdma_mw_bind b = usual(mw);
        b.addr = rows[i].addr;
        b.len_bytes = rows[i].len;
        cr_assert_eq(bind(&b), rows[i].result, "row %u", i);
        rdma_mw_dealloc(mw);
    }
}

Test(mw, ROCE_MW_5_access_is_bounded_by_the_window_and_its_rights)
{
    static const uint32_t rights[] = {NORNIC_ACCESS_REMOTE_READ, NORNIC_ACCESS_REMOTE_WRITE,
                                      NORNIC_ACCESS_REMOTE_ATOMIC};
    for (int given = 0; given < 3; given++) {
        struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
        struct rdma_mw_bind b = usual(mw);
        b.access = rights[given];
        cr_assert_eq(bind(&b), 0);
        for (int asked = 0; asked < 3; asked++)
            cr_assert_eq(rdma_mr_remote(domain, pd, QPN, b.key, va(1024), 8, rights[asked]),
                         asked == given ? memory + 1024 : NULL);
        rdma_mw_dealloc(mw);
    }
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(mw);
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(reach(b.key, va(2047), 1), memory + 2047);
    cr_assert_null(reach(b.key, va(2047), 2));
    cr_assert_null(reach(b.key, va(1023), 1));
    cr_assert_null(reach(b.key, va(1024), UINT64_MAX));
    struct nornic_sge sge = {.addr = va(1024), .len_bytes = 1, .lkey = b.key};
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false), "a window is for remote access only");
    rdma_mw_dealloc(mw);
}

/* covers: ROCE-MR-3 */
Test(mw, ROCE_MW_5_a_zero_based_window_counts_from_its_own_first_byte)
{
    struct rdma_mr *region = NULL;
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    cr_assert_eq(rdma_mr_reg_iova(pd, memory, BYTES, 1 << 20, NORNIC_ACCESS_MW_BIND, &region), 0);
    struct rdma_mw_bind b = usual(mw);
    b.lkey = region->lkey;
    b.addr = (1 << 20) + 100;
    b.access = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_ZERO_BASED;
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(reach(b.key, 0, 1024), memory + 100);
    cr_assert_eq(reach(b.key, 1023, 1), memory + 1123);
    cr_assert_null(reach(b.key, 1024, 1));
    cr_assert_null(reach(b.key, (1 << 20) + 100, 1));
    rdma_mw_dealloc(mw);
    cr_assert_eq(rdma_mr_dereg(region), 0);
}

/* covers: ROCE-MR-7 */
Test(mw, ROCE_MR_5_a_region_with_bound_windows_stays)
{
    struct rdma_mw *one = make(NORNIC_MW_TYPE_1), *two = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(one), c = usual(two);
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(bind(&c), 0);
    cr_assert_eq(rdma_mr_dereg(mr), -EBUSY);
    rdma_mw_dealloc(one);
    cr_assert_eq(rdma_mr_dereg(mr), -EBUSY);
    cr_assert_not_null(reach(c.key, va(1024), 1));
    rdma_mw_dealloc(two);
    cr_assert_eq(mr->windows, 0);
}

/* covers: ROCE-PD-2 */
Test(mw, a_window_counts_for_its_pd_and_the_key_table)
{
    struct rdma_mw *mw = NULL, *all[15];
    cr_assert_eq(rdma_mw_alloc(other_pd, NORNIC_MW_TYPE_1, &mw), 0);
    cr_assert_eq(rdma_pd_destroy(other_pd), -EBUSY);
    rdma_mw_dealloc(mw);
    for (int i = 0; i < 15; i++) /* and the region: 16 */
        all[i] = make(NORNIC_MW_TYPE_2);
    cr_assert_eq(rdma_mw_alloc(pd, NORNIC_MW_TYPE_2, &mw), -ENOSPC);
    for (int i = 0; i < 15; i++)
        rdma_mw_dealloc(all[i]);
    alloc.fail_at = alloc.calls + 1;
    cr_assert_eq(rdma_mw_alloc(pd, NORNIC_MW_TYPE_2, &mw), -ENOMEM);
}

/* --- regions with an iova, and fast registration --- */

Test(mw, ROCE_MR_3_an_iova_is_where_the_peer_sees_the_region)
{
    struct rdma_mr *region = NULL;
    cr_assert_eq(rdma_mr_reg_iova(pd, memory, BYTES, 0xabc000, NORNIC_ACCESS_REMOTE_READ, &region), 0);
    cr_assert_eq(reach(region->rkey, 0xabc000, BYTES), memory);
    cr_assert_eq(reach(region->rkey, 0xabc000 + 4095, 1), memory + 4095);
    cr_assert_null(reach(region->rkey, 0xabc000 + 4095, 2));
    cr_assert_null(reach(region->rkey, 0xabc000 - 1, 1));
    cr_assert_null(reach(region->rkey, va(0), 1));
    struct nornic_sge sge = {.addr = 0xabc000 + 5, .len_bytes = 7, .lkey = region->lkey};
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, false), memory + 5, "and where an SGE sees it");
    sge.addr = 0xabc000 - 1;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    sge.addr = va(5);
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false), "not by the process's address");
    cr_assert_eq(rdma_mr_dereg(region), 0);
    cr_assert_eq(rdma_mr_reg_iova(pd, memory, BYTES, UINT64_MAX - BYTES + 1, 0, &region), -EINVAL,
                 "it wraps");
    cr_assert_eq(rdma_mr_reg_iova(pd, memory, BYTES, 1, NORNIC_ACCESS_ZERO_BASED, &region), -EINVAL);
}

static struct rdma_mr *make_fast(void)
{
    struct rdma_mr *fast = NULL;
    cr_assert_eq(rdma_mr_alloc_fast(pd, 2048, &fast), 0);
    return fast;
}

static struct rdma_fast_reg usual_reg(const struct rdma_mr *fast)
{
    return (struct rdma_fast_reg){.key = fast->rkey ^ 0x33,
                                  .addr = memory + 512,
                                  .len_bytes = 2048,
                                  .iova = 0x7000,
                                  .access = NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE};
}

Test(mw, ROCE_MR_6_a_fast_region_is_valid_from_its_registration_to_its_invalidation)
{
    struct rdma_mr *fast = make_fast();
    struct nornic_sge sge = {.addr = 0x7000, .len_bytes = 2048, .lkey = fast->lkey};
    cr_assert_null(rdma_mr_find(domain, fast->lkey), "free");
    cr_assert_null(reach(fast->rkey, 0, 0));
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    struct rdma_fast_reg reg = usual_reg(fast);
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), 0);
    cr_assert_eq(reach(reg.key, 0x7000, 2048), memory + 512);
    cr_assert_null(reach(fast->rkey, 0x7000, 1), "the key of the allocation is no more");
    cr_assert_null(rdma_sge_local(domain, pd, &sge, true));
    sge.lkey = reg.key;
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, true), memory + 512);
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL, "not free");
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN + 5, reg.key), 0, "by any QP of the PD");
    cr_assert_null(reach(reg.key, 0x7000, 1));
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, reg.key), -EINVAL, "free already");
    reg.key ^= 1;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), 0);
    cr_assert_not_null(reach(reg.key, 0x7000, 1));
    cr_assert_eq(rdma_mr_dereg(fast), 0);
    cr_assert_null(reach(reg.key, 0x7000, 1));
}

Test(mw, ROCE_MR_6_what_a_registration_must_not_ask)
{
    struct rdma_mr *fast = make_fast(), *none = NULL;
    const struct rdma_fast_reg good = usual_reg(fast);
    struct rdma_fast_reg reg = good;
    cr_assert_eq(rdma_mr_fast_reg(domain, other_pd, &reg), -EINVAL, "another PD");
    reg.key = mr->rkey;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL, "a plain region");
    reg.key = good.key ^ 0x100;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL, "more than the low byte");
    reg = good;
    reg.len_bytes++;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL, "too long");
    reg = good;
    reg.access = NORNIC_ACCESS_REMOTE_WRITE;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL, "ROCE-MR-1");
    reg = good;
    reg.addr = NULL;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL);
    reg = good;
    reg.iova = UINT64_MAX;
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), -EINVAL);
    cr_assert_eq(reach(good.key, 0x7000, 1), NULL);
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &good), 0);
    cr_assert_eq(rdma_mr_alloc_fast(pd, 0, &none), -EINVAL);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}

Test(mw, ROCE_MR_7_what_cannot_be_invalidated)
{
    struct rdma_mr *fast = make_fast();
    struct rdma_fast_reg reg = usual_reg(fast);
    reg.access |= NORNIC_ACCESS_MW_BIND;
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, mr->lkey), -EINVAL, "a plain region");
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, 0), -EINVAL);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, fast->lkey), -EINVAL, "free");
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), 0);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, reg.key ^ 1), -EINVAL, "a wrong key");
    cr_assert_eq(rdma_invalidate_local(domain, other_pd, QPN, reg.key), -EINVAL, "another PD");
    struct rdma_mw *mw = make(NORNIC_MW_TYPE_2);
    struct rdma_mw_bind b = usual(mw);
    b.lkey = reg.key;
    b.addr = 0x7000;
    cr_assert_eq(bind(&b), 0);
    cr_assert_eq(reach(b.key, 0x7000, 8), memory + 512);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, reg.key), -EINVAL, "a window is bound");
    cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN, reg.key), -EINVAL, "a window is bound");
    cr_assert_eq(rdma_mr_dereg(fast), -EBUSY);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, b.key), 0);
    cr_assert_eq(rdma_invalidate_local(domain, pd, QPN, reg.key), 0);
    rdma_mw_dealloc(mw);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}

/* covers: ROCE-RS-44 */
Test(mw, a_peer_invalidates_only_what_gives_it_some_right)
{
    static const struct {
        uint32_t access;
        int result;
    } rows[] = {{NORNIC_ACCESS_LOCAL_WRITE, -EINVAL},
                {NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND, -EINVAL},
                {NORNIC_ACCESS_REMOTE_READ, 0},
                {NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, 0},
                {NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC, 0}};
    for (unsigned i = 0; i < 5; i++) {
        struct rdma_mr *fast = make_fast();
        struct rdma_fast_reg reg = usual_reg(fast);
        reg.access = rows[i].access;
        cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), 0);
        cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN, reg.key), rows[i].result, "row %u", i);
        cr_assert_eq(rdma_mr_find(domain, reg.key), rows[i].result ? fast : NULL);
        cr_assert_eq(rdma_mr_dereg(fast), 0);
    }
    cr_assert_eq(rdma_invalidate_remote(domain, pd, QPN, mr->rkey), -EINVAL);
}

Test(mw, ROCE_MR_2_a_consumers_key_stays_dead_when_its_slot_comes_back)
{
    struct rdma_mr *fast = make_fast();
    struct rdma_fast_reg reg = usual_reg(fast);
    cr_assert_eq(rdma_mr_fast_reg(domain, pd, &reg), 0);
    rdma_mr_dereg(fast);
    struct rdma_mr *again = NULL;
    for (int i = 0; i < 40; i++) { /* round the table, more than twice */
        cr_assert_eq(rdma_mr_alloc_fast(pd, 1, &again), 0);
        cr_assert_neq(again->rkey >> 8, reg.key >> 8, "another index");
        cr_assert_null(rdma_mr_find(domain, reg.key));
        rdma_mr_dereg(again);
    }
}
