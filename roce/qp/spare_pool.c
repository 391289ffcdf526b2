/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/qp/spare.h"

#include <errno.h>
#include <string.h>

#include "roce/dev/device.h"

static bool init_numbers(struct roce_spare_numbers *n, const struct roce_dev *dev, uint32_t limit)
{
    *n = (struct roce_spare_numbers){.fresh = 1, .limit = limit};
    n->given_back = roce_alloc(dev, sizeof *n->given_back * limit);
    return n->given_back != NULL;
}

/* What was given back last is the most likely to be in a cache. */
static uint32_t take_number(struct roce_spare_numbers *n)
{
    if (n->count)
        return n->given_back[--n->count];
    return n->fresh <= n->limit ? n->fresh++ : 0;
}

int roce_spare_init(struct roce_spare *spare, const struct roce_dev *dev, uint32_t tables,
                    uint32_t table_words, uint32_t frames, uint32_t frame_bytes)
{
    *spare = (struct roce_spare){
        .table_words = table_words,
        .frame_bytes = (uint32_t)(sizeof(struct roce_spare_frame) + frame_bytes + 7) & ~7u,
    };
    spare->tables = roce_alloc(dev, sizeof *spare->tables * tables * table_words);
    spare->frames = roce_alloc(dev, (size_t)spare->frame_bytes * frames);
    bool has_tables = init_numbers(&spare->free_tables, dev, tables);
    bool has_frames = init_numbers(&spare->free_frames, dev, frames);
    if (spare->tables && spare->frames && has_tables && has_frames)
        return 0;
    roce_spare_deinit(spare, dev);
    return -ENOMEM;
}

void roce_spare_deinit(struct roce_spare *spare, const struct roce_dev *dev)
{
    roce_free(dev, spare->tables);
    roce_free(dev, spare->frames);
    roce_free(dev, spare->free_tables.given_back);
    roce_free(dev, spare->free_frames.given_back);
    *spare = (struct roce_spare){0};
}

uint32_t *roce_spare_take_table(struct roce_spare *spare)
{
    uint32_t number = take_number(&spare->free_tables);
    if (!number)
        return NULL;
    uint32_t *table = &spare->tables[(size_t)(number - 1) * spare->table_words];
    return memset(table, 0, sizeof *table * spare->table_words);
}

void roce_spare_give_table(struct roce_spare *spare, const uint32_t *table)
{
    uint32_t number = (uint32_t)((size_t)(table - spare->tables) / spare->table_words) + 1;
    spare->free_tables.given_back[spare->free_tables.count++] = number;
}

uint32_t roce_spare_frames_left(const struct roce_spare *spare)
{
    return spare->free_frames.count + spare->free_frames.limit + 1 - spare->free_frames.fresh;
}

uint32_t roce_spare_take_frame(struct roce_spare *spare, uint32_t len_bytes)
{
    if (sizeof(struct roce_spare_frame) + len_bytes > spare->frame_bytes)
        return 0;
    return take_number(&spare->free_frames);
}

void roce_spare_give_frame(struct roce_spare *spare, uint32_t number)
{
    spare->free_frames.given_back[spare->free_frames.count++] = number;
}

struct roce_spare_frame *roce_spare_frame(const struct roce_spare *spare, uint32_t number)
{
    return (struct roce_spare_frame *)(void *)&spare->frames[(size_t)(number - 1) * spare->frame_bytes];
}
