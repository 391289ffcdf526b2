/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection that is lent by a service which is not there: the memory that a program and its service share,
 * with one block, in which the test plays the service. */
#ifndef NORNIC_TEST_SERVICE_LENT_H
#define NORNIC_TEST_SERVICE_LENT_H

#include <criterion/criterion.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <unistd.h>

#include "service/borrow/inner.h"

enum { LENT_SLOT = 5, LENT_GENERATION = 7, LENT_RING_BYTES = 8192 };

static inline void lent_init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    cr_assert_eq(pthread_mutex_init(lock, &attr), 0);
}

/* A connection of two buffers of LENT_RING_BYTES with nothing in them. */
static inline void lent_begin(struct borrow_service *service, struct borrow *lent)
{
    service->memory = mmap(NULL, SERVICE_BUFFERS_AT + 2 * LENT_RING_BYTES, PROT_READ | PROT_WRITE,
                           MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cr_assert_neq(service->memory, MAP_FAILED);
    service->doorbell = eventfd(0, EFD_NONBLOCK);
    service->life = service_life(service->memory, getpid());
    atomic_store(&service->life->word, (uint32_t)gettid());
    struct service_block *block = service_block_at(service->memory, LENT_SLOT);
    lent_init_lock(&block->send_lock);
    lent_init_lock(&block->recv_lock);
    block->tx_at = SERVICE_BUFFERS_AT;
    block->rx_at = SERVICE_BUFFERS_AT + LENT_RING_BYTES;
    block->tx_size = block->rx_size = LENT_RING_BYTES;
    block->mark = SERVICE_NO_MARK;
    block->tell_at = UINT64_MAX;
    block->rcvlowat = 1;
    block->state = BORROW_SMCR;
    block->tx_lent_to = block->generation = LENT_GENERATION;
    *lent = (struct borrow){
        .service = service, .block = block, .slot = LENT_SLOT, .generation = LENT_GENERATION, .refs = 1};
}

static inline void lent_end(const struct borrow_service *service)
{
    close(service->doorbell);
    munmap(service->memory, SERVICE_BUFFERS_AT + 2 * LENT_RING_BYTES);
}

#endif
