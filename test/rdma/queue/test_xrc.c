/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC domains, and the numbers of their SRQs. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "rdma/transport.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

static struct test_random rnd = {.state = 1};
static struct test_alloc alloc;
static struct rdma_domain *domain;
static struct rdma_pd *pd;
static struct rdma_cq *cq;
static struct rdma_xrcd *xrcd;

static void setup(void)
{
    struct rdma_random source = test_random_source(&rnd);
    test_alloc_init(&alloc);
    cr_assert_eq(rdma_domain_create(&alloc.mem, &source, 16, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    cr_assert_eq(rdma_cq_create(&alloc.mem, &(struct rdma_cq_config){.capacity = 4}, &cq), 0);
    cr_assert_eq(rdma_xrcd_create(domain, &xrcd), 0);
}

static void teardown(void)
{
    cr_assert_eq(rdma_xrcd_destroy(xrcd), 0);
    cr_assert_eq(rdma_cq_destroy(cq), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
    cr_assert_eq(alloc.live, 0);
}

TestSuite(xrc_objects, .init = setup, .fini = teardown);

static int make(struct rdma_xrcd *of, struct rdma_srq **srq)
{
    return rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1, .xrcd = of, .cq = cq}, srq);
}

/* covers: ROCE-XRC-2 */
Test(xrc_objects, ROCE_XRC_2_an_srq_is_found_by_its_number_in_its_domain_only)
{
    struct rdma_xrcd *other;
    struct rdma_srq *srq[40], *foreign, *plain;
    cr_assert_eq(rdma_xrcd_create(domain, &other), 0);
    cr_assert_eq(make(other, &foreign), 0);
    for (unsigned i = 0; i < 40; i++) /* beyond one growth of the table */
        cr_assert_eq(make(xrcd, &srq[i]), 0);
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1}, &plain), 0);
    cr_assert_eq(rdma_srq_number(plain), 0);
    cr_assert_null(rdma_srq_xrcd(plain));
    for (unsigned i = 0; i < 40; i++) {
        uint32_t srqn = rdma_srq_number(srq[i]);
        cr_assert(srqn > 0 && srqn <= 0xffffff);
        cr_assert_eq(rdma_xrcd_find(xrcd, srqn), srq[i]);
        cr_assert_null(rdma_xrcd_find(other, srqn));
        cr_assert_eq(rdma_srq_cq(srq[i]), cq);
    }
    cr_assert_null(rdma_xrcd_find(xrcd, rdma_srq_number(foreign)));
    static const uint32_t none[] = {0, 42, 63, 65, 0xffffff, UINT32_MAX};
    for (unsigned i = 0; i < array_len(none); i++)
        cr_assert_null(rdma_xrcd_find(xrcd, none[i]));
    uint32_t gone = rdma_srq_number(srq[7]);
    cr_assert_eq(rdma_srq_destroy(srq[7]), 0);
    cr_assert_null(rdma_xrcd_find(xrcd, gone));
    cr_assert_eq(make(xrcd, &srq[7]), 0);
    cr_assert_neq(rdma_srq_number(srq[7]), gone); /* it rests */
    for (unsigned i = 0; i < 40; i++)
        cr_assert_eq(rdma_srq_destroy(srq[i]), 0);
    cr_assert_eq(rdma_srq_destroy(foreign), 0);
    cr_assert_eq(rdma_srq_destroy(plain), 0);
    cr_assert_eq(rdma_xrcd_destroy(other), 0);
}

/* A number is given again only when all the others have been. */
Test(xrc_objects, numbers_come_round)
{
    struct rdma_srq *keep, *srq;
    cr_assert_eq(make(xrcd, &keep), 0);
    uint32_t last = 0;
    for (unsigned i = 0; i < 15; i++) {
        cr_assert_eq(make(xrcd, &srq), 0);
        cr_assert_neq(rdma_srq_number(srq), last);
        cr_assert_neq(rdma_srq_number(srq), rdma_srq_number(keep));
        last = rdma_srq_number(srq);
        cr_assert_eq(rdma_srq_destroy(srq), 0);
    }
    cr_assert_eq(make(xrcd, &srq), 0);
    cr_assert_eq(rdma_xrcd_find(xrcd, rdma_srq_number(srq)), srq);
    cr_assert_null(rdma_xrcd_find(xrcd, last), "the number of an SRQ that is gone");
    cr_assert_null(rdma_xrcd_find(xrcd, 0));
    cr_assert_leq(rdma_srq_number(srq), 0xffffff);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
    cr_assert_eq(rdma_srq_destroy(keep), 0);
}

/* covers: ROCE-XRC-2 */
Test(xrc_objects, domain_and_cq_come_together_and_stay_while_used)
{
    struct rdma_srq *srq;
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1, .xrcd = xrcd}, &srq), -EINVAL);
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1, .cq = cq}, &srq), -EINVAL);
    cr_assert_eq(make(xrcd, &srq), 0);
    cr_assert_eq(rdma_xrcd_destroy(xrcd), -EBUSY);
    cr_assert_eq(rdma_cq_destroy(cq), -EBUSY);
    cr_assert_eq(rdma_pd_destroy(pd), -EBUSY);
    rdma_srq_get(srq);
    cr_assert_eq(rdma_srq_destroy(srq), -EBUSY);
    rdma_srq_put(srq);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
    cr_assert_eq(rdma_domain_destroy(domain), -EBUSY);
}

Test(xrc_objects, a_domain_of_another_device_is_refused)
{
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_domain *far;
    struct rdma_xrcd *foreign;
    struct rdma_srq *srq;
    cr_assert_eq(rdma_domain_create(&alloc.mem, &source, 16, &far), 0);
    cr_assert_eq(rdma_xrcd_create(far, &foreign), 0);
    cr_assert_eq(make(foreign, &srq), -EINVAL);
    cr_assert_eq(rdma_domain_destroy(far), -EBUSY);
    cr_assert_eq(rdma_xrcd_destroy(foreign), 0);
    cr_assert_eq(rdma_domain_destroy(far), 0);
}
