/* SPDX-License-Identifier: BSD-2-Clause */
/* Two threads on one CQ: the engine adds, the application polls and sleeps on notifications. Under
 * SAN=thread a missing ordering is a report; without it, a lost wake-up or a torn completion fails. */
#include <criterion/criterion.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <time.h>

#include "rdma/transport.h"

#define COUNT    50000u
#define CAPACITY 16u

struct shared {
    struct rdma_cq *cq;
    sem_t wake;
    uint64_t
        data[CAPACITY]; /* what a completion reports: written before the push, with no ordering of its own */
    bool solicited_only;
};

static void on_notify(void *ctx, struct rdma_cq *cq, bool overflow)
{
    (void)cq;
    struct shared *s = ctx;
    cr_assert_not(overflow);
    sem_post(&s->wake);
}

/* Adds completions, every third one solicited and the last one too. */
static void *producer(void *arg)
{
    struct shared *s = arg;
    for (uint64_t i = 0; i < COUNT; i++) {
        while (!rdma_cq_has_room(s->cq, 1))
            sched_yield();
        s->data[i % CAPACITY] = i * 3;
        struct nornic_wc wc = {.wr_id = i, .byte_len = (uint32_t)~i, .qp_num = (uint32_t)i};
        cr_assert(rdma_cq_push(s->cq, &wc, i % 3 == 0 || i == COUNT - 1));
    }
    return NULL;
}

static uint64_t take(struct shared *s, uint64_t next)
{
    struct nornic_wc wcs[5];
    int got;
    while ((got = rdma_cq_poll(s->cq, wcs, 1)) > 0) {
        cr_assert_eq(wcs[0].wr_id, next);
        cr_assert_eq(wcs[0].byte_len, (uint32_t)~next);
        cr_assert_eq(wcs[0].qp_num, (uint32_t)next);
        next++;
    }
    cr_assert_eq(got, 0);
    return next;
}

static void consume(struct shared *s)
{
    uint64_t next = 0;
    while ((next = take(s, next)) < COUNT) {
        rdma_cq_req_notify(s->cq, s->solicited_only);
        next = take(s, next); /* ROCE-CQ-4: once more after arming */
        if (next == COUNT)
            break;
        struct timespec deadline;
        clock_gettime(CLOCK_REALTIME, &deadline);
        deadline.tv_sec += 20;
        cr_assert_eq(sem_timedwait(&s->wake, &deadline), 0, "a wake-up was lost at %u", (unsigned)next);
    }
}

static void run(bool solicited_only)
{
    struct shared s = {.solicited_only = solicited_only};
    struct rdma_cq_config config = {.capacity = CAPACITY, .notify = on_notify, .ctx = &s};
    cr_assert_eq(sem_init(&s.wake, 0, 0), 0);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &config, &s.cq), 0);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, producer, &s), 0);
    consume(&s);
    pthread_join(thread, NULL);
    rdma_cq_destroy(s.cq);
    sem_destroy(&s.wake);
}

/* covers: ROCE-CQ-1, ROCE-CQ-3, ROCE-CQ-4 */
Test(cq_threads, no_wake_up_is_lost_when_any_is_armed, .timeout = 60)
{
    run(false);
}

/* covers: ROCE-CQ-3, ROCE-CQ-4 */
Test(cq_threads, no_wake_up_is_lost_when_solicited_is_armed, .timeout = 60)
{
    run(true);
}

static void *reader(void *arg)
{
    struct shared *s = arg;
    struct nornic_wc wc;
    for (uint64_t next = 0; next < COUNT;) {
        if (rdma_cq_poll(s->cq, &wc, 1) == 0) {
            sched_yield();
            continue;
        }
        if (s->data[wc.wr_id % CAPACITY] < next * 3)
            return (void *)1;
        next++;
    }
    return NULL;
}

/* The data that a completion reports is read with plain loads: only the CQ orders them. The slot is written
 * again no earlier than CAPACITY completions later, and not before this one was polled. */
Test(cq_threads, ROCE_CQ_1_data_is_visible_before_its_completion, .timeout = 60)
{
    struct shared s = {0};
    struct rdma_cq_config config = {.capacity = CAPACITY};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &config, &s.cq), 0);
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, reader, &s), 0);
    for (uint64_t i = 0; i < COUNT; i++) {
        while (!rdma_cq_has_room(s.cq, CAPACITY)) /* empty: the reader is done with every slot but one */
            sched_yield();
        struct nornic_wc wc = {.wr_id = i};
        s.data[i % CAPACITY] = i * 3;
        cr_assert(rdma_cq_push(s.cq, &wc, false));
    }
    void *torn;
    pthread_join(thread, &torn);
    cr_assert_null(torn, "a completion came before its data");
    rdma_cq_destroy(s.cq);
}
