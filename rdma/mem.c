/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/mem.h"

#include <stdlib.h>

static void *libc_alloc(void *ctx, size_t len_bytes)
{
    (void)ctx;
    return calloc(1, len_bytes);
}

static void libc_free(void *ctx, void *p)
{
    (void)ctx;
    free(p);
}

const struct rdma_mem rdma_mem_libc = {.alloc = libc_alloc, .free = libc_free};
