/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "rdma/memory/domain.h"
#include "rdma/transport.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define ALL_RIGHTS                                                                        \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | \
     NORNIC_ACCESS_REMOTE_ATOMIC)

#define QPN 17u /* plain regions do not care */

static struct test_random rnd = {.state = 1};
static struct rdma_domain *domain;
static struct rdma_pd *pd;
static uint8_t memory[4096];

static void setup(void)
{
    struct rdma_random source = test_random_source(&rnd);
    cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 16, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
}

static void teardown(void)
{
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
}

TestSuite(mr, .init = setup, .fini = teardown);

static struct rdma_mr *reg(uint32_t access)
{
    struct rdma_mr *mr = NULL;
    cr_assert_eq(rdma_mr_reg(pd, memory, sizeof memory, access, &mr), 0);
    return mr;
}

Test(mr, a_region_says_what_it_is)
{
    struct rdma_mr *mr = reg(ALL_RIGHTS);
    cr_assert_eq(mr->pd, pd);
    cr_assert_eq(mr->addr, memory);
    cr_assert_eq(mr->len_bytes, sizeof memory);
    cr_assert_eq(mr->iova, (uintptr_t)memory);
    cr_assert_eq(mr->access, ALL_RIGHTS);
    cr_assert_eq(rdma_mr_find(domain, mr->rkey), mr);
    cr_assert_eq(rdma_mr_find(domain, mr->lkey), mr);
    rdma_mr_dereg(mr);
}

Test(mr, ROCE_MR_1_rights_are_judged)
{
    for (uint32_t access = 0; access < 128; access++) {
        bool changes = access & (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC);
        bool valid = !(access & 64) && (!changes || (access & NORNIC_ACCESS_LOCAL_WRITE));
        struct rdma_mr *mr = NULL;
        cr_assert_eq(rdma_mr_reg(pd, memory, sizeof memory, access, &mr), valid ? 0 : -EINVAL, "access %u",
                     access);
        if (mr)
            rdma_mr_dereg(mr);
    }
}

Test(mr, a_range_that_wraps_is_refused)
{
    struct rdma_mr *mr = NULL;
    cr_assert_eq(rdma_mr_reg(pd, memory, UINT64_MAX, 0, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg(pd, memory, UINT64_MAX - (uintptr_t)memory + 1, 0, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg(pd, NULL, 1, 0, &mr), -EINVAL);
}

Test(mr, ROCE_MR_2_zero_is_no_key_and_unknown_keys_name_nothing)
{
    cr_assert_null(rdma_mr_find(domain, 0));
    struct rdma_mr *mr = reg(0);
    cr_assert_neq(mr->rkey, 0);
    cr_assert_neq(mr->rkey >> 8, 0);
    cr_assert_null(rdma_mr_find(domain, 0));
    cr_assert_null(rdma_mr_find(domain, UINT32_MAX));
    for (uint32_t variant = 0; variant < 256; variant++)
        cr_assert_eq(rdma_mr_find(domain, (mr->rkey & ~0xffu) | variant),
                     variant == (mr->rkey & 0xff) ? mr : NULL);
    cr_assert_null(rdma_mr_find(domain, mr->rkey + 256));
    cr_assert_null(rdma_mr_find(domain, 17 << 8), "one past the table");
    rdma_mr_dereg(mr);
}

Test(mr, ROCE_MR_2_a_slot_returns_as_late_as_possible_with_another_key)
{
    struct rdma_mr *mrs[16], *extra = NULL;
    uint32_t keys[16];
    for (int i = 0; i < 16; i++) {
        mrs[i] = reg(0);
        keys[i] = mrs[i]->rkey;
        for (int j = 0; j < i; j++)
            cr_assert_neq(keys[i] >> 8, keys[j] >> 8);
    }
    cr_assert_eq(rdma_mr_reg(pd, memory, 1, 0, &extra), -ENOSPC);
    /* freed in some order, the slots come back in that order, each with another index */
    static const int order[] = {3, 0, 15, 7};
    for (int i = 0; i < 4; i++)
        rdma_mr_dereg(mrs[order[i]]);
    for (int i = 0; i < 4; i++) {
        uint32_t old = keys[order[i]];
        mrs[order[i]] = reg(0);
        uint32_t key = mrs[order[i]]->rkey;
        cr_assert_eq(rdma_number_slot(&domain->keys.indexes, key >> 8),
                     rdma_number_slot(&domain->keys.indexes, old >> 8));
        cr_assert_neq(key >> 8, old >> 8);
        cr_assert_null(rdma_mr_find(domain, old));
        cr_assert_null(rdma_mr_find(domain, old + 1));
    }
    for (int i = 0; i < 16; i++)
        rdma_mr_dereg(mrs[i]);
}

Test(mr, ROCE_MR_2_a_full_table_of_keys_has_each_key_once_in_256_rounds)
{
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_key_table keys;
    uint32_t key, given[256];
    cr_assert_eq(rdma_key_table_init(&keys, &rdma_mem_libc, &source, RDMA_KEY_MAX_ENTRIES), 0);
    keys.fresh_used = RDMA_KEY_MAX_ENTRIES - 1; /* one slot is left, which is given again and again */
    for (int i = 0; i < 256; i++) {
        cr_assert_eq(rdma_key_add(&keys, RDMA_KEY_MR, &keys, &key), 0);
        given[i] = key;
        for (int j = 0; j < i; j++)
            cr_assert_neq(given[j], key);
        rdma_key_remove(&keys, key);
    }
    rdma_key_table_deinit(&keys, &rdma_mem_libc);
}

Test(mr, ROCE_MR_2_a_key_value_comes_back_only_after_256_rounds_of_the_table)
{
    struct rdma_mr *mr = reg(0);
    uint32_t first = mr->rkey;
    for (int i = 1; i < 16 * 256; i++) {
        rdma_mr_dereg(mr);
        mr = reg(0);
        cr_assert_neq(mr->rkey, first, "after %d registrations", i);
        cr_assert_neq(mr->rkey, 0);
    }
    rdma_mr_dereg(mr);
}

Test(mr, ROCE_MR_2_keys_begin_at_random)
{
    uint32_t keys[8];
    for (int i = 0; i < 8; i++) {
        struct rdma_random source = test_random_source(&rnd);
        struct rdma_domain *d = NULL;
        struct rdma_pd *p = NULL;
        struct rdma_mr *mr = NULL;
        cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 0xffffff, &d), 0);
        cr_assert_eq(rdma_pd_create(d, &p), 0);
        cr_assert_eq(rdma_mr_reg(p, memory, 1, 0, &mr), 0);
        keys[i] = mr->rkey;
        cr_assert_eq(rdma_mr_find(d, mr->rkey), mr);
        for (int j = 0; j < i; j++)
            cr_assert_neq(keys[i] >> 8, keys[j] >> 8);
        rdma_mr_dereg(mr);
        rdma_pd_destroy(p);
        rdma_domain_destroy(d);
    }
}

/* One range test against a region [base, base + 4096). */
static void check_bounds(const struct rdma_mr *mr)
{
    const uint64_t base = mr->iova, len = sizeof memory;
    const struct {
        uint64_t va, n;
        bool inside;
    } rows[] = {
        {base, len, true},
        {base, 1, true},
        {base, 0, true},
        {base + len - 1, 1, true},
        {base + len, 0, true},
        {base + len, 1, false},
        {base + len + 1, 0, false},
        {base - 1, 1, false},
        {base - 1, 0, false},
        {base - 1, 2, false},
        {base, len + 1, false},
        {base + 1, len, false},
        {base, UINT64_MAX, false},
        {base + 1, UINT64_MAX, false},
        {UINT64_MAX, 1, false},
        {UINT64_MAX, 2, false},
        {base + 8, (uint64_t)-8, false},         /* va + n wraps to base */
        {base + len - 1, (uint64_t)-len, false}, /* wraps to before base */
        {UINT64_MAX - 1, base + 3, false},       /* wraps into the region */
    };
    for (unsigned i = 0; i < array_len(rows); i++) {
        uint8_t *p =
            rdma_mr_remote(domain, pd, QPN, mr->rkey, rows[i].va, rows[i].n, NORNIC_ACCESS_REMOTE_READ);
        cr_assert_eq(p, rows[i].inside ? memory + (rows[i].va - base) : NULL, "row %u", i);
    }
}

Test(mr, ROCE_MR_3_bounds_by_virtual_address)
{
    struct rdma_mr *mr = reg(NORNIC_ACCESS_REMOTE_READ);
    check_bounds(mr);
    rdma_mr_dereg(mr);
}

Test(mr, ROCE_MR_3_bounds_zero_based)
{
    struct rdma_mr *mr = reg(NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_ZERO_BASED);
    cr_assert_eq(mr->iova, 0);
    check_bounds(mr);
    cr_assert_null(
        rdma_mr_remote(domain, pd, QPN, mr->rkey, (uintptr_t)memory, 1, NORNIC_ACCESS_REMOTE_READ));
    struct nornic_sge sge = {.addr = 3, .len_bytes = 1, .lkey = mr->lkey};
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, false), memory + 3);
    sge.addr = (uintptr_t)memory;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false), "not by the process's address");
    rdma_mr_dereg(mr);
}

Test(mr, a_region_of_no_bytes_holds_no_byte)
{
    struct rdma_mr *mr = NULL;
    cr_assert_eq(rdma_mr_reg(pd, memory, 0, NORNIC_ACCESS_REMOTE_READ, &mr), 0);
    cr_assert_not_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, mr->iova, 0, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, mr->iova, 1, NORNIC_ACCESS_REMOTE_READ));
    rdma_mr_dereg(mr);
}

/* covers: ROCE-RS-5 */
Test(mr, remote_access_needs_each_right)
{
    static const uint32_t rights[] = {NORNIC_ACCESS_REMOTE_READ, NORNIC_ACCESS_REMOTE_WRITE,
                                      NORNIC_ACCESS_REMOTE_ATOMIC};
    for (uint32_t given = 0; given < 8; given++) {
        uint32_t access = NORNIC_ACCESS_LOCAL_WRITE;
        for (int i = 0; i < 3; i++)
            access |= given >> i & 1 ? rights[i] : 0;
        struct rdma_mr *mr = reg(access);
        for (int i = 0; i < 3; i++)
            cr_assert_eq(rdma_mr_remote(domain, pd, QPN, mr->rkey, mr->iova, 8, rights[i]),
                         given >> i & 1 ? memory : NULL, "given %u asked %d", given, i);
        rdma_mr_dereg(mr);
    }
}

Test(mr, ROCE_MR_4_local_write_is_needed_to_store)
{
    struct rdma_mr *readable = reg(0), *writable = reg(NORNIC_ACCESS_LOCAL_WRITE);
    struct nornic_sge sge = {.addr = (uintptr_t)memory + 5, .len_bytes = 7, .lkey = readable->lkey};
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, false), memory + 5);
    cr_assert_null(rdma_sge_local(domain, pd, &sge, true));
    sge.lkey = writable->lkey;
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, true), memory + 5);
    rdma_mr_dereg(readable);
    rdma_mr_dereg(writable);
}

Test(mr, an_sge_is_bounded_and_an_empty_one_is_not_looked_at)
{
    struct rdma_mr *mr = reg(0);
    struct nornic_sge sge = {.addr = (uintptr_t)memory + sizeof memory - 4, .len_bytes = 4, .lkey = mr->lkey};
    cr_assert_not_null(rdma_sge_local(domain, pd, &sge, false));
    sge.len_bytes = 5;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    sge.addr = (uintptr_t)memory - 1;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    sge.addr = UINT64_MAX;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    sge = (struct nornic_sge){.addr = 0, .len_bytes = 0, .lkey = 0xdeadbeef};
    cr_assert_not_null(rdma_sge_local(domain, pd, &sge, true));
    rdma_mr_dereg(mr);
}

Test(mr, ROCE_MR_5_a_dead_key_names_nothing)
{
    struct rdma_mr *mr = reg(ALL_RIGHTS);
    uint32_t key = mr->rkey;
    rdma_mr_dereg(mr);
    struct nornic_sge sge = {.addr = (uintptr_t)memory, .len_bytes = 1, .lkey = key};
    cr_assert_null(rdma_mr_find(domain, key));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, key, (uintptr_t)memory, 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
}

Test(mr, ROCE_PD_1_keys_work_in_their_domain_of_protection_only)
{
    struct rdma_pd *other = NULL;
    cr_assert_eq(rdma_pd_create(domain, &other), 0);
    struct rdma_mr *mr = reg(ALL_RIGHTS);
    struct nornic_sge sge = {.addr = (uintptr_t)memory, .len_bytes = 1, .lkey = mr->lkey};
    cr_assert_not_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, mr->iova, 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_mr_remote(domain, other, QPN, mr->rkey, mr->iova, 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_sge_local(domain, other, &sge, false));
    rdma_mr_dereg(mr);
    cr_assert_eq(rdma_pd_destroy(other), 0);
}

Test(mr, ROCE_PD_2_what_has_dependents_stays)
{
    struct rdma_mr *mr = reg(0);
    cr_assert_eq(rdma_pd_domain(pd), domain);
    cr_assert_eq(rdma_pd_destroy(pd), -EBUSY);
    cr_assert_eq(rdma_domain_destroy(domain), -EBUSY);
    rdma_pd_get(pd);
    rdma_mr_dereg(mr);
    cr_assert_eq(rdma_pd_destroy(pd), -EBUSY, "a QP still counts");
    rdma_pd_put(pd);
}

/* A domain, a PD and a region, or the first error; all undone. */
static int make_all(struct test_alloc *a)
{
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_domain *d = NULL;
    struct rdma_pd *p = NULL;
    struct rdma_mr *mr = NULL;
    int err = rdma_domain_create(&a->mem, &source, 1, &d);
    if (err != 0)
        return err;
    err = rdma_pd_create(d, &p);
    if (err == 0) {
        err = rdma_mr_reg(p, memory, 1, 0, &mr);
        if (err == 0)
            rdma_mr_dereg(mr);
        cr_assert_eq(rdma_mr_reg(p, memory, 1, 0, &mr), 0, "a failed registration takes no index");
        rdma_mr_dereg(mr);
        cr_assert_eq(rdma_pd_destroy(p), 0);
    }
    cr_assert_eq(rdma_domain_destroy(d), 0);
    return err;
}

Test(mr, every_failing_allocation_is_enomem_and_leaks_nothing)
{
    struct test_alloc a;
    test_alloc_init(&a);
    cr_assert_eq(make_all(&a), 0);
    cr_assert_eq(a.live, 0);
    for (unsigned fail_at = 1; fail_at <= 4; fail_at++) { /* domain, key table, PD, region */
        test_alloc_init(&a);
        a.fail_at = fail_at;
        cr_assert_eq(make_all(&a), -ENOMEM, "allocation %u", fail_at);
        cr_assert_eq(a.live, 0);
    }
}

Test(mr, the_size_of_the_table_is_judged)
{
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_domain *d = NULL;
    cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 0, &d), -EINVAL);
    cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 1u << 24, &d), -EINVAL);
}

/* Random registrations against a plain list. */
Test(mr, a_key_names_its_region_and_nothing_else)
{
    struct rdma_mr *mrs[16] = {NULL};
    uint32_t dead[64] = {0};
    for (int step = 0; step < 3000; step++) {
        int i = (int)test_random_below(&rnd, 16);
        if (mrs[i]) {
            dead[step % 64] = mrs[i]->rkey;
            rdma_mr_dereg(mrs[i]);
            mrs[i] = NULL;
        } else {
            mrs[i] = reg(0);
            for (int j = 0; j < 64; j++)
                if (dead[j] == mrs[i]->rkey)
                    cr_assert_fail("key %08x came back within 64 steps", dead[j]);
        }
        for (int j = 0; j < 16; j++)
            if (mrs[j])
                cr_assert_eq(rdma_mr_find(domain, mrs[j]->rkey), mrs[j]);
        for (int j = 0; j < 64; j++)
            cr_assert_null(rdma_mr_find(domain, dead[j]));
    }
    for (int i = 0; i < 16; i++)
        if (mrs[i])
            rdma_mr_dereg(mrs[i]);
}

/* --- a region of all memory --- */

/* The mapped range is `memory`. Its second half can only be read. */
static bool is_memory(const void *addr, uint64_t len_bytes, bool write)
{
    uint64_t size = write ? sizeof memory / 2 : sizeof memory;
    uintptr_t offset = (uintptr_t)addr - (uintptr_t)memory;
    return offset < size && len_bytes <= size - offset;
}

Test(mr, a_region_of_all_memory_asks_at_each_access)
{
    struct rdma_mr *mr = NULL;
    uintptr_t start = (uintptr_t)memory, half = start + sizeof memory / 2;
    cr_assert_eq(rdma_mr_reg_all(pd, ALL_RIGHTS, is_memory, &mr), 0);
    struct nornic_sge sge = {.addr = start + 8, .len_bytes = 16, .lkey = mr->lkey};
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, true), memory + 8);
    sge.addr = half;
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, false), memory + sizeof memory / 2);
    cr_assert_null(rdma_sge_local(domain, pd, &sge, true), "it can only be read");
    sge.addr = 0;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false), "nothing is there");

    cr_assert_eq(rdma_mr_remote(domain, pd, QPN, mr->rkey, start, 64, NORNIC_ACCESS_REMOTE_WRITE), memory);
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, half, 64, NORNIC_ACCESS_REMOTE_WRITE));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, half, 64, NORNIC_ACCESS_REMOTE_ATOMIC));
    cr_assert_not_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, half, 64, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, 4096, 64, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, UINT64_MAX - 7, 8, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_not_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, 4096, 0, NORNIC_ACCESS_REMOTE_READ),
                       "0 bytes need no memory");
    cr_assert_eq(rdma_mr_remote_fault(domain, pd, QPN, mr->rkey, 4096, 64, NORNIC_ACCESS_REMOTE_READ),
                 RDMA_FAULT_BOUNDS);
    rdma_mr_dereg(mr);
}

Test(mr, a_region_of_all_memory_keeps_its_rights_and_stays_what_it_is)
{
    struct rdma_mr *mr = NULL;
    cr_assert_eq(rdma_mr_reg_all(pd, NORNIC_ACCESS_REMOTE_WRITE, is_memory, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg_all(pd, NORNIC_ACCESS_MW_BIND, is_memory, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg_all(pd, NORNIC_ACCESS_ZERO_BASED, is_memory, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg_all(pd, 0, is_memory, &mr), 0);
    struct nornic_sge sge = {.addr = (uintptr_t)memory, .len_bytes = 16, .lkey = mr->lkey};
    cr_assert_not_null(rdma_sge_local(domain, pd, &sge, false));
    cr_assert_null(rdma_sge_local(domain, pd, &sge, true));
    cr_assert_null(
        rdma_mr_remote(domain, pd, QPN, mr->rkey, (uintptr_t)memory, 8, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_eq(rdma_mr_change(mr, pd, memory, sizeof memory, (uintptr_t)memory, 0), -EINVAL);
    rdma_mr_dereg(mr);
}

Test(mr, a_null_region_takes_any_address)
{
    struct rdma_mr *mr = NULL;
    const uint32_t half = sizeof memory / 2;
    cr_assert_eq(rdma_mr_reg_null(pd, memory, NULL, half, &mr), -EINVAL);
    cr_assert_eq(rdma_mr_reg_null(pd, memory, memory + half, half, &mr), 0);
    struct nornic_sge sge = {.addr = UINT64_MAX - 3, .len_bytes = half, .lkey = mr->lkey};
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, false), memory);
    cr_assert_eq(rdma_sge_local(domain, pd, &sge, true), memory + half);
    sge.len_bytes++;
    cr_assert_null(rdma_sge_local(domain, pd, &sge, false));
    cr_assert_null(rdma_mr_remote(domain, pd, QPN, mr->rkey, 0, 1, NORNIC_ACCESS_REMOTE_READ));
    cr_assert_eq(rdma_mr_change(mr, pd, memory, half, 0, 0), -EINVAL);
    rdma_mr_dereg(mr);
}
