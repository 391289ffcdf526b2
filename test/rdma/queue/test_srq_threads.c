/* SPDX-License-Identifier: BSD-2-Clause */
/* An application posts to an SRQ while the engine takes from it. Under SAN=thread a missing ordering is a
 * report; without it, a torn or lost WQE fails. */
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>

#include "rdma/transport.h"
#include "rdma/queue/recv_ring.h"
#include "test/support/random.h"

#define COUNT 50000u

static void *poster(void *arg)
{
    struct rdma_srq *srq = arg;
    for (uint64_t i = 0; i < COUNT;) {
        struct nornic_sge sges[2] = {{i, 1, (uint32_t)i}, {~i, 2, (uint32_t)~i}};
        struct nornic_recv_wr wr = {.wr_id = i, .sg_list = sges, .num_sge = 2};
        if (rdma_srq_post(srq, &wr, NULL) == 0)
            i++;
        else
            sched_yield();
    }
    return NULL;
}

/* covers: ROCE-RS-70 */
Test(srq_threads, every_wqe_arrives_whole_and_in_order, .timeout = 60)
{
    struct test_random rnd = {.state = 1};
    struct rdma_random source = test_random_source(&rnd);
    struct rdma_domain *domain = NULL;
    struct rdma_pd *pd = NULL;
    struct rdma_srq *srq = NULL;
    cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 1, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 16, .max_sge = 2}, &srq), 0);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, poster, srq), 0);
    for (uint64_t next = 0; next < COUNT;) {
        struct rdma_recv_wqe wqe;
        struct nornic_sge sges[2];
        if (!rdma_srq_take(srq, &wqe, sges)) {
            sched_yield();
            continue;
        }
        cr_assert_eq(wqe.wr_id, next);
        cr_assert_eq(wqe.len_bytes, 3);
        cr_assert_eq(sges[0].addr, next);
        cr_assert_eq(sges[1].lkey, (uint32_t)~next);
        next++;
    }
    pthread_join(thread, NULL);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
}
