/* SPDX-License-Identifier: BSD-2-Clause */
/* An allocator that counts what lives and fails on demand. */
#ifndef NORNIC_TEST_SUPPORT_ALLOC_H
#define NORNIC_TEST_SUPPORT_ALLOC_H

#include "rdma/mem.h"

struct test_alloc {
    struct rdma_mem mem; /* hand this in; points back here, so the struct stays where it is */
    unsigned calls;      /* allocations asked for */
    unsigned fail_at;    /* the call, from 1, that returns NULL; 0: none */
    unsigned live;       /* allocations not freed */
};

void test_alloc_init(struct test_alloc *a);

#endif
