/* SPDX-License-Identifier: BSD-2-Clause */
/* Registered memory with a shadow that says what it must hold. Pieces are laid out with guard bytes between
 * them, so that comparing the whole with its shadow finds every byte that was written where none belongs. */
#ifndef NORNIC_TEST_SIM_REGION_H
#define NORNIC_TEST_SIM_REGION_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/mr.h"
#include "test/support/random.h"

struct sim_area {
    uint32_t offset;
    uint32_t len_bytes;
};

struct sim_region {
    uint32_t access; /* enum nornic_access */
    uint32_t used_bytes;
    uint8_t *bytes;  /* an allocation of exactly used_bytes */
    uint8_t *shadow; /* what `bytes` must hold */
    struct rdma_mr *mr;
    uint64_t iova; /* of mr, kept when that is gone */
    uint32_t lkey, rkey;
};

/* Lays out one more piece, guard bytes around it, at a random offset or (align8) a multiple of 8. Before
 * sim_region_register() only. */
struct sim_area sim_region_take(struct sim_region *region, struct test_random *random, uint32_t len_bytes,
                                bool align8);

/* Allocates the region, fills it with guard bytes and registers it. 0 or what rdma_mr_reg() returned. */
int sim_region_register(struct sim_region *region, struct rdma_pd *pd);
/* The application takes its memory back: deregisters it and fills it with something else, which must stay. */
void sim_region_deregister(struct sim_region *region);
void sim_region_free(struct sim_region *region);

uint8_t *sim_region_at(const struct sim_region *region, struct sim_area area);

/* Byte i of the content that `key` names. */
uint8_t sim_pattern(uint64_t key, uint32_t i);

/* Stores bytes [from, from + area.len_bytes) of a content in memory and shadow: the application writes. */
void sim_region_fill(struct sim_region *region, struct sim_area area, uint64_t key, uint32_t from);
/* From now on the area must hold these bytes; returns whether it does. */
bool sim_region_expect(struct sim_region *region, struct sim_area area, uint64_t key, uint32_t from);
/* Whatever the area holds is right: its content is undefined. */
void sim_region_accept(struct sim_region *region, struct sim_area area);

/* The offset of the first byte that differs from the shadow, or -1. */
int64_t sim_region_check(const struct sim_region *region);

#endif
