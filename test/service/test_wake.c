/* SPDX-License-Identifier: BSD-2-Clause */
/* Programs are woken at the end of a pass over the news, and once. */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "service/inner.h"

TestSuite(wake, .timeout = 60);

enum { WAITER = 7 };

static struct service *service;
static struct service_client client;
static int ends[2];                    /* of the waiter's pair: the service's, its program's */
static struct service_loan loans[300]; /* more than SERVICE_TO_WAKE */

static void set_up(void)
{
    void *memory = mmap(NULL, SERVICE_BUFFERS_AT, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(memory, MAP_FAILED);
    service = calloc(1, sizeof *service);
    cr_assert_not_null(service);
    service->arena.memory = memory;
    cr_assert_eq(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    service->ears[WAITER] = (struct service_ear){.owner = &client, .fd = ends[0]};
    for (size_t i = 0; i < array_len(loans); i++)
        loans[i] = (struct service_loan){
            .service = service, .slot = (uint32_t)i, .block = service_block_at(memory, i)};
}

static void tear_down(void)
{
    close(ends[0]);
    close(ends[1]);
    munmap(service->arena.memory, SERVICE_BUFFERS_AT);
    free(service);
}

static struct service_waiter *waiter(void)
{
    return service_waiter_at(service->arena.memory, WAITER);
}

/* How often it was rung for since the last look. */
static ssize_t times_rung(void)
{
    char bytes[16];
    ssize_t times = recv(ends[1], bytes, sizeof bytes, MSG_DONTWAIT);
    return times > 0 ? times : 0;
}

static void watch(struct service_loan *loan)
{
    atomic_store(&loan->block->watch[0], service_watch(WAITER, 1));
}

Test(wake, one_ring_for_many_connections, .init = set_up, .fini = tear_down)
{
    uint32_t slots[64];
    atomic_store(&waiter()->asleep, 1);
    for (unsigned i = 0; i < 3; i++) {
        watch(&loans[i]);
        service_wake(&loans[i]);
    }
    cr_assert_eq(times_rung(), 0, "before all the news are there");
    cr_assert_eq(service_bits_take(&waiter()->news, slots, 64), 3);
    service_wake_all(service);
    cr_assert_eq(times_rung(), 1);
    service_wake_all(service);
    cr_assert_eq(times_rung(), 0, "it was told");
    atomic_store(&waiter()->asleep, 1);
    service_wake(&loans[1]);
    service_wake_all(service);
    cr_assert_eq(times_rung(), 1, "and is told of what comes later");
}

/* Its program never reads, and both ends block. */
Test(wake, the_service_never_waits_for_a_program, .init = set_up, .fini = tear_down, .timeout = 10)
{
    char byte;
    for (unsigned i = 0; i < 1u << 20; i++)
        service_ring_ear(&service->ears[WAITER]);
    cr_assert_eq(recv(ends[1], &byte, 1, MSG_DONTWAIT), 1, "it is rung for all the same");
}

Test(wake, a_program_that_is_gone_costs_nothing, .init = set_up, .fini = tear_down)
{
    close(ends[1]);
    service_ring_ear(&service->ears[WAITER]);
    ends[1] = -1;
}

/* A program has made it one that blocks, and another has emptied it. */
Test(wake, the_doorbell_never_makes_the_service_wait, .timeout = 5)
{
    int blocks = eventfd(0, 0);
    service_empty(blocks);
    close(blocks);
}

Test(wake, who_is_awake_is_not_rung_for, .init = set_up, .fini = tear_down)
{
    watch(&loans[0]);
    service_wake(&loans[0]);
    service_wake_all(service);
    cr_assert_eq(times_rung(), 0);
    cr_assert(service_bits_any(&waiter()->news));
}

Test(wake, a_waiter_that_is_gone_is_left_alone, .init = set_up, .fini = tear_down)
{
    atomic_store(&waiter()->asleep, 1);
    watch(&loans[0]);
    service_wake(&loans[0]);
    service->ears[WAITER].owner = NULL;
    service_wake_all(service);
    cr_assert_eq(times_rung(), 0);
}

/* --- threads that wait for one connection --- */

static void *sleep_on(void *arg)
{
    struct service_block *b = arg;
    struct timespec limit = {.tv_sec = 30};
    uint32_t seen = atomic_load(&b->seq);
    atomic_store(&b->is_waited_for, 1);
    while (atomic_load(&b->seq) == seen)
        cr_assert(syscall(SYS_futex, &b->seq, FUTEX_WAIT, seen, &limit, NULL, 0) == 0 || errno == EAGAIN,
                  "nobody woke it");
    return NULL;
}

/* Each sleeps on a futex of its own; more than are listed at a time. */
Test(wake, all_that_sleep_are_woken, .init = set_up, .fini = tear_down)
{
    pthread_t threads[array_len(loans)];
    for (size_t i = 0; i < array_len(loans); i++) {
        cr_assert_eq(pthread_create(&threads[i], NULL, sleep_on, loans[i].block), 0);
        while (!atomic_load(&loans[i].block->is_waited_for))
            sched_yield();
    }
    for (size_t i = 0; i < array_len(loans); i++)
        service_wake(&loans[i]);
    cr_assert_leq(service->num_to_wake, SERVICE_TO_WAKE);
    cr_assert_gt(service->num_to_wake, 0);
    service_wake_all(service);
    cr_assert_eq(service->num_to_wake, 0);
    for (size_t i = 0; i < array_len(loans); i++)
        pthread_join(threads[i], NULL);
}
