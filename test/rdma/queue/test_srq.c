/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "rdma/event.h"
#include "rdma/transport.h"
#include "rdma/queue/recv_ring.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

static struct test_random rnd = {.state = 1};
static struct test_alloc alloc;
static struct rdma_domain *domain;
static struct rdma_pd *pd;
static unsigned limits, errors;

static void on_event(void *ctx, const struct rdma_event *event)
{
    cr_assert_eq(ctx, &rnd);
    cr_assert_eq(rdma_srq_pd(event->srq), pd);
    *(event->type == NORNIC_EVENT_SRQ_ERR ? &errors : &limits) += 1;
}

static void setup(void)
{
    struct rdma_random source = test_random_source(&rnd);
    test_alloc_init(&alloc);
    cr_assert_eq(rdma_domain_create(&alloc.mem, &source, 16, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    rdma_domain_on_event(domain, on_event, &rnd);
}

static void teardown(void)
{
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
    cr_assert_eq(alloc.live, 0);
}

TestSuite(srq, .init = setup, .fini = teardown);

static struct rdma_srq *make(uint32_t max_wr)
{
    struct rdma_srq *srq = NULL;
    cr_assert_eq(
        rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = max_wr, .max_sge = 3, .ctx = &pd}, &srq), 0);
    return srq;
}

/* Posts WQE `id` with id mod 4 SGEs, each of `id` bytes. */
static int post(struct rdma_srq *srq, uint64_t id)
{
    struct nornic_sge sges[3];
    for (uint32_t i = 0; i < 3; i++)
        sges[i] = (struct nornic_sge){.addr = id * 10 + i, .len_bytes = (uint32_t)id, .lkey = i};
    struct nornic_recv_wr wr = {.wr_id = id, .sg_list = sges, .num_sge = id % 4};
    return rdma_srq_post(srq, &wr, NULL);
}

static void expect_taken(struct rdma_srq *srq, uint64_t id)
{
    struct rdma_recv_wqe wqe;
    struct nornic_sge sges[3];
    cr_assert(rdma_srq_take(srq, &wqe, sges), "WQE %u is not there", (unsigned)id);
    cr_assert_eq(wqe.wr_id, id);
    cr_assert_eq(wqe.num_sge, id % 4);
    cr_assert_eq(wqe.len_bytes, id % 4 * id);
    for (uint32_t i = 0; i < wqe.num_sge; i++) {
        cr_assert_eq(sges[i].addr, id * 10 + i);
        cr_assert_eq(sges[i].lkey, i);
    }
}

static void expect_empty(struct rdma_srq *srq)
{
    struct rdma_recv_wqe wqe;
    struct nornic_sge sges[3];
    cr_assert_not(rdma_srq_take(srq, &wqe, sges));
}

Test(srq, ROCE_RS_70_wqes_leave_in_the_order_of_their_posting)
{
    struct rdma_srq *srq = make(5);
    uint64_t in = 0, out = 0;
    cr_assert_eq(rdma_srq_capacity(srq), 8);
    cr_assert_eq(rdma_srq_ctx(srq), &pd);
    expect_empty(srq);
    for (int round = 0; round < 20; round++) { /* goes round the ring several times */
        while (in < out + 7)
            cr_assert_eq(post(srq, in++), 0);
        cr_assert_eq(rdma_srq_count(srq), 7);
        for (int i = 0; i < 5; i++)
            expect_taken(srq, out++);
    }
    while (out < in)
        expect_taken(srq, out++);
    expect_empty(srq);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, what_does_not_fit_is_refused_and_nothing_is_lost)
{
    struct rdma_srq *srq = make(4);
    struct nornic_sge sges[4] = {{.len_bytes = 1u << 31}, {.len_bytes = 1}};
    struct nornic_recv_wr good = {.wr_id = 8}, wr[3] = {{.wr_id = 4, .next = &wr[1]},
                                                        {.next = &wr[2], .sg_list = sges, .num_sge = 4},
                                                        {.wr_id = 12}};
    const struct nornic_recv_wr *bad = NULL;
    cr_assert_eq(rdma_srq_post(srq, wr, &bad), -EINVAL, "too many SGEs");
    cr_assert_eq(bad, &wr[1]);
    wr[1].num_sge = 2;
    cr_assert_eq(rdma_srq_post(srq, &wr[1], &bad), -EINVAL, "more than 2^31 bytes");
    cr_assert_eq(rdma_srq_post(srq, &good, NULL), 0);
    cr_assert_eq(post(srq, 12), 0);
    cr_assert_eq(post(srq, 16), 0);
    cr_assert_eq(post(srq, 20), -ENOMEM);
    cr_assert_eq(rdma_srq_post(srq, &good, &bad), -ENOMEM);
    cr_assert_eq(bad, &good);
    for (uint64_t id = 4; id <= 16; id += 4)
        expect_taken(srq, id);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, ROCE_RS_71_the_limit_is_reported_once_when_fewer_remain)
{
    struct rdma_srq *srq = make(8);
    for (uint64_t id = 0; id < 6; id++)
        post(srq, id);
    cr_assert_eq(rdma_srq_set_limit(srq, 4), 0);
    cr_assert_eq(rdma_srq_limit(srq), 4);
    expect_taken(srq, 0);
    expect_taken(srq, 1);
    cr_assert_eq(limits, 0, "4 are not fewer than 4");
    expect_taken(srq, 2);
    cr_assert_eq(limits, 1);
    cr_assert_eq(rdma_srq_limit(srq), 0);
    expect_taken(srq, 3);
    cr_assert_eq(limits, 1, "one shot");
    cr_assert_eq(rdma_srq_set_limit(srq, 2), 0);
    expect_taken(srq, 4);
    cr_assert_eq(limits, 2, "armed anew");
    expect_taken(srq, 5);
    cr_assert_eq(limits + errors, 2);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, ROCE_RS_71_arming_below_the_limit_fires_at_once)
{
    struct rdma_srq *srq = make(8);
    cr_assert_eq(rdma_srq_set_limit(srq, 9), -EINVAL, "it can never hold that many");
    cr_assert_eq(rdma_srq_set_limit(srq, 0), 0);
    cr_assert_eq(limits, 0);
    post(srq, 0);
    cr_assert_eq(rdma_srq_set_limit(srq, 1), 0);
    cr_assert_eq(limits, 0);
    cr_assert_eq(rdma_srq_set_limit(srq, 2), 0);
    cr_assert_eq(limits, 1);
    cr_assert_eq(rdma_srq_limit(srq), 0);
    cr_assert_eq(rdma_srq_set_limit(srq, 1), 0);
    cr_assert_eq(rdma_srq_set_limit(srq, 0), 0);
    expect_taken(srq, 0);
    cr_assert_eq(limits, 1, "disarmed");
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, ROCE_RS_73_resizing_keeps_what_is_queued)
{
    struct rdma_srq *srq = make(4);
    uint64_t in = 0, out = 0;
    for (int i = 0; i < 3; i++) { /* not at the beginning of the ring */
        post(srq, in++);
        expect_taken(srq, out++);
    }
    for (int i = 0; i < 4; i++)
        cr_assert_eq(post(srq, in++), 0);
    cr_assert_eq(rdma_srq_resize(srq, 16), 0);
    cr_assert_eq(rdma_srq_capacity(srq), 16);
    for (int i = 0; i < 12; i++)
        cr_assert_eq(post(srq, in++), 0);
    cr_assert_eq(post(srq, 99), -ENOMEM);
    while (out < 10)
        expect_taken(srq, out++);
    cr_assert_eq(rdma_srq_count(srq), 9);
    cr_assert_eq(rdma_srq_resize(srq, 8), -EINVAL, "fewer than are queued");
    cr_assert_eq(rdma_srq_resize(srq, 0), -EINVAL);
    cr_assert_eq(rdma_srq_resize(srq, RDMA_SRQ_MAX_WR + 1), -EINVAL);
    expect_taken(srq, out++);
    cr_assert_eq(rdma_srq_set_limit(srq, 7), 0);
    cr_assert_eq(rdma_srq_resize(srq, 8), 0);
    cr_assert_eq(rdma_srq_limit(srq), 7, "it stays armed");
    alloc.fail_at = alloc.calls + 2;
    cr_assert_eq(rdma_srq_resize(srq, 64), -ENOMEM);
    cr_assert_eq(rdma_srq_capacity(srq), 8);
    while (out < in)
        expect_taken(srq, out++);
    cr_assert_eq(limits, 1);
    cr_assert_eq(rdma_srq_resize(srq, 1), 0);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, a_limit_that_no_longer_fits_holds_a_resize_up)
{
    struct rdma_srq *srq = make(8);
    for (uint64_t id = 0; id < 8; id++)
        post(srq, id);
    rdma_srq_set_limit(srq, 6);
    expect_taken(srq, 0);
    expect_taken(srq, 1);
    cr_assert_eq(rdma_srq_resize(srq, 5), -EINVAL);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, ROCE_RS_73_in_error_it_answers_as_empty)
{
    struct rdma_srq *srq = make(4);
    post(srq, 1);
    rdma_srq_fail(srq);
    rdma_srq_fail(srq);
    cr_assert_eq(errors, 1, "said once");
    expect_empty(srq);
    cr_assert_eq(post(srq, 2), -EINVAL);
    cr_assert_eq(limits, 0);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

/* covers: ROCE-PD-2 */
Test(srq, what_is_used_stays)
{
    struct rdma_srq *srq = make(4);
    cr_assert_eq(rdma_pd_destroy(pd), -EBUSY);
    rdma_srq_get(srq);
    cr_assert_eq(rdma_srq_destroy(srq), -EBUSY);
    rdma_srq_put(srq);
    cr_assert_eq(rdma_srq_max_sge(srq), 3);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}

Test(srq, sizes_are_judged_and_failing_allocations_leak_nothing)
{
    struct rdma_srq *srq = NULL;
    static const struct rdma_srq_config wrong[] = {
        {.max_wr = 0}, {.max_wr = RDMA_SRQ_MAX_WR + 1}, {.max_wr = 1, .max_sge = RDMA_SRQ_MAX_SGE + 1}};
    for (unsigned i = 0; i < 3; i++)
        cr_assert_eq(rdma_srq_create(pd, &wrong[i], &srq), -EINVAL);
    unsigned live = alloc.live;
    for (unsigned nth = 1; nth <= 3; nth++) { /* the SRQ, its WQEs, their SGEs */
        alloc.fail_at = alloc.calls + nth;
        cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1}, &srq), -ENOMEM);
        cr_assert_eq(alloc.live, live);
    }
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1}, &srq), 0);
    cr_assert_eq(post(srq, 4), 0, "no SGE needs no room");
    expect_taken(srq, 4);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
}
