/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a service shares with programs, and the RMBs and send buffers in it. */
#ifndef NORNIC_SERVICE_ARENA_H
#define NORNIC_SERVICE_ARENA_H

#include "net/error.h"
#include "rdma/mem.h"
#include "service/memory/shared.h"

/* A connection that a buffer is lent to: its block, NULL: none, and the generation of it. */
struct service_borrower {
    struct service_block *block;
    uint32_t generation;
};

struct service_arena {
    int fd;              /* a memfd, sparse */
    void *memory;        /* all of it: SERVICE_BYTES */
    struct rdma_mem mem; /* RMBs and send buffers, page-aligned; zeroed, but for a few that were lent: for
                              * smcr_config.buffers */
    uint64_t end;        /* of what was ever handed out */
    uint32_t *pages_of;  /* by the first page of a buffer: how many it has; 0: none begins there */
    struct service_borrower *borrowers; /* likewise: who may be writing into it */
    struct service_extent *free_by;     /* extents that were given back */
    unsigned num_free;
    size_t free_room;
    uint64_t used_bytes;
    uint64_t kept_bytes; /* of buffers that nobody has, with what was in them */
};

/* 0, or -errno with a sentence. */
int service_arena_open(struct service_arena *arena, struct nornic_error *why);
/* Unmaps it and forgets what was handed out; programs keep their mapping. Also after a failed open. */
void service_arena_close(struct service_arena *arena);

/* From now on programs may write into the buffer at `bytes`, under `block->send_lock`, as long as
 * `block->tx_lent_to` is `generation`. When it is freed that is taken back, and it is not handed out again
 * before nobody holds that lock any more. */
void service_arena_lend(struct service_arena *arena, const void *bytes, struct service_block *block,
                        uint32_t generation);
/* Where it lies, from the beginning of the memory. */
uint64_t service_arena_offset(const struct service_arena *arena, const void *bytes);

#endif
