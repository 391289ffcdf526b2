/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/region.h"

#include <stdlib.h>
#include <string.h>

#define GUARD_BYTES_MAX 40
#define GUARD_KEY       UINT64_C(0x67756172640a)

struct sim_area sim_region_take(struct sim_region *region, struct test_random *random, uint32_t len_bytes,
                                bool align8)
{
    uint32_t offset = region->used_bytes + 1 + test_random_below(random, GUARD_BYTES_MAX);
    if (align8)
        offset = (offset + 7) & ~7u;
    region->used_bytes = offset + len_bytes + 1 + test_random_below(random, 8);
    return (struct sim_area){.offset = offset, .len_bytes = len_bytes};
}

int sim_region_register(struct sim_region *region, struct rdma_pd *pd)
{
    if (region->used_bytes == 0)
        region->used_bytes = 1;
    region->bytes = malloc(region->used_bytes);
    region->shadow = malloc(region->used_bytes);
    if (!region->bytes || !region->shadow)
        abort();
    sim_region_fill(region, (struct sim_area){0, region->used_bytes}, GUARD_KEY, 0);
    int err = rdma_mr_reg(pd, region->bytes, region->used_bytes, region->access, &region->mr);
    if (err)
        return err;
    region->iova = region->mr->iova;
    region->lkey = region->mr->lkey;
    region->rkey = region->mr->rkey;
    return 0;
}

void sim_region_deregister(struct sim_region *region)
{
    rdma_mr_dereg(region->mr);
    region->mr = NULL;
    sim_region_fill(region, (struct sim_area){0, region->used_bytes}, ~GUARD_KEY, 0);
}

void sim_region_free(struct sim_region *region)
{
    if (region->mr)
        rdma_mr_dereg(region->mr);
    free(region->bytes);
    free(region->shadow);
}

uint8_t *sim_region_at(const struct sim_region *region, struct sim_area area)
{
    return region->bytes + area.offset;
}

static uint64_t pattern_word(uint64_t key, uint32_t i)
{
    return test_random_next(&(struct test_random){.state = key + i / 8 * UINT64_C(0xd1342543de82ef95)});
}

uint8_t sim_pattern(uint64_t key, uint32_t i)
{
    return (uint8_t)(pattern_word(key, i) >> i % 8 * 8);
}

static void write_pattern(uint8_t *to, uint32_t len_bytes, uint64_t key, uint32_t from)
{
    uint64_t word = pattern_word(key, from);
    for (uint32_t i = 0; i < len_bytes; i++) {
        if ((from + i) % 8 == 0)
            word = pattern_word(key, from + i);
        to[i] = (uint8_t)(word >> (from + i) % 8 * 8);
    }
}

void sim_region_fill(struct sim_region *region, struct sim_area area, uint64_t key, uint32_t from)
{
    write_pattern(region->shadow + area.offset, area.len_bytes, key, from);
    memcpy(region->bytes + area.offset, region->shadow + area.offset, area.len_bytes);
}

bool sim_region_expect(struct sim_region *region, struct sim_area area, uint64_t key, uint32_t from)
{
    write_pattern(region->shadow + area.offset, area.len_bytes, key, from);
    return memcmp(region->bytes + area.offset, region->shadow + area.offset, area.len_bytes) == 0;
}

void sim_region_accept(struct sim_region *region, struct sim_area area)
{
    memcpy(region->shadow + area.offset, region->bytes + area.offset, area.len_bytes);
}

int64_t sim_region_check(const struct sim_region *region)
{
    if (memcmp(region->bytes, region->shadow, region->used_bytes) == 0)
        return -1;
    for (uint32_t i = 0; i < region->used_bytes; i++)
        if (region->bytes[i] != region->shadow[i])
            return i;
    return -1;
}
