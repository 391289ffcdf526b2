/* SPDX-License-Identifier: BSD-2-Clause */
/* What a queue pair needs only while packets are missing: tables that say what has arrived, and room for
 * packets that came too early. A device has one store of it for all its queue pairs, made when the device is
 * made, so that the data path allocates nothing and a lossy network costs a bounded amount of memory; what
 * was never used was never touched. When the store is empty a queue pair goes back N, as the standard has it.
 * Inside roce/ only. */
#ifndef NORNIC_ROCE_SPARE_H
#define NORNIC_ROCE_SPARE_H

#include <stdbool.h>
#include <stdint.h>

struct roce_dev;

/* A packet that was kept. */
struct roce_spare_frame {
    uint32_t psn;
    uint32_t len_bytes;
    uint8_t bytes[];
};

/* Numbers that can be taken and given back, from 1 on. */
struct roce_spare_numbers {
    uint32_t *given_back; /* a stack */
    uint32_t count;       /* on it */
    uint32_t fresh;       /* never taken: this one and all above, up to `limit` */
    uint32_t limit;
};

struct roce_spare {
    uint32_t table_words; /* of one table; a power of two */
    uint32_t *tables;
    struct roce_spare_numbers free_tables;
    uint32_t frame_bytes; /* of one frame with its head */
    uint8_t *frames;
    struct roce_spare_numbers free_frames;
};

/* Room for `tables` tables of `table_words` words (a power of two) and for `frames` frames of at most
 * `frame_bytes`. 0 or -ENOMEM, with nothing allocated. Its owner frees it by roce_spare_deinit(). */
int roce_spare_init(struct roce_spare *spare, const struct roce_dev *dev, uint32_t tables,
                    uint32_t table_words, uint32_t frames, uint32_t frame_bytes);
/* Fine for one that is all zero. */
void roce_spare_deinit(struct roce_spare *spare, const struct roce_dev *dev);

/* A table of zeros, or NULL: none is left. And gives it back. */
uint32_t *roce_spare_take_table(struct roce_spare *spare);
void roce_spare_give_table(struct roce_spare *spare, const uint32_t *table);

/* How many frames can be taken. */
uint32_t roce_spare_frames_left(const struct roce_spare *spare);
/* The number of a frame for a packet of `len_bytes`, at least 1; 0: none is left, or it is too long. And
 * gives it back: its bytes stay as they are until the next one is taken. */
uint32_t roce_spare_take_frame(struct roce_spare *spare, uint32_t len_bytes);
void roce_spare_give_frame(struct roce_spare *spare, uint32_t number);
struct roce_spare_frame *roce_spare_frame(const struct roce_spare *spare, uint32_t number);

#endif
