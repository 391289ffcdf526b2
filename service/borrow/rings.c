/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the buffers of a borrowed connection lie. The service writes it into the block once, but
 * the block lies in memory that others can write, so it is judged and copied before its first
 * use. */
#include "service/borrow/inner.h"

#define SIZE_BITS 24

static uint64_t pack_ring(uint64_t at, uint32_t size)
{
    return at << SIZE_BITS | size;
}

/* The place and size of a buffer that lies where buffers are; 0: it does not. */
static uint64_t judge_ring(uint64_t at, uint32_t size)
{
    bool is_sound =
        size > 0 && size < 1u << SIZE_BITS && at >= SERVICE_BUFFERS_AT && at <= SERVICE_BYTES - size;
    return is_sound ? pack_ring(at, size) : 0;
}

/* Both threads that read it first write the same. */
static struct borrow_ring ring_of(const struct borrow *b, _Atomic uint64_t *copy, const uint64_t *at,
                                  const uint32_t *size)
{
    uint64_t packed = atomic_load_explicit(copy, memory_order_relaxed);
    if (packed == 0) {
        packed = judge_ring(__atomic_load_n(at, __ATOMIC_RELAXED), __atomic_load_n(size, __ATOMIC_RELAXED));
        atomic_store_explicit(copy, packed, memory_order_relaxed);
    }
    return (struct borrow_ring){.bytes = (char *)b->service->memory + (packed >> SIZE_BITS),
                                .size = (uint32_t)packed & ((1u << SIZE_BITS) - 1)};
}

struct borrow_ring borrow_tx(const struct borrow *b)
{
    return ring_of(b, &((struct borrow *)b)->tx_ring, &b->block->tx_at, &b->block->tx_size);
}

struct borrow_ring borrow_rx(const struct borrow *b)
{
    return ring_of(b, &((struct borrow *)b)->rx_ring, &b->block->rx_at, &b->block->rx_size);
}
