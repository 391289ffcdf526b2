/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/random.h"

#include <assert.h>
#include <stddef.h>
#include <sys/random.h>

static uint64_t kernel_random(void *ctx)
{
    (void)ctx;
    uint64_t value = 0;
    /* Reads of at most 256 bytes are never cut short (getrandom(2)). */
    ssize_t got = getrandom(&value, sizeof value, 0);
    assert(got == sizeof value);
    (void)got;
    return value;
}

const struct rdma_random host_random = {.next = kernel_random};
