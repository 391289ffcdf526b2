/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/alloc.h"

#include <stdlib.h>

static void *counting_alloc(void *ctx, size_t len_bytes)
{
    struct test_alloc *a = ctx;
    if (++a->calls == a->fail_at)
        return NULL;
    void *p = calloc(1, len_bytes);
    if (p)
        a->live++;
    return p;
}

static void counting_free(void *ctx, void *p)
{
    struct test_alloc *a = ctx;
    if (p)
        a->live--;
    free(p);
}

void test_alloc_init(struct test_alloc *a)
{
    *a = (struct test_alloc){.mem = {.alloc = counting_alloc, .free = counting_free, .ctx = a}};
}
