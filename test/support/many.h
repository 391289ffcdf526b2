/* SPDX-License-Identifier: BSD-2-Clause */
/* Many RC queue pairs on one device, joined two by two (0 with 1, 2 with 3, ...) over the device's own
 * address, so that every packet stays inside the engine. */
#ifndef NORNIC_TEST_SUPPORT_MANY_H
#define NORNIC_TEST_SUPPORT_MANY_H

#include "roce/roce.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define MANY_BYTES 64u /* of s->mem for each QP */

struct many {
    struct test_alloc alloc;
    struct test_random rnd;
    uint64_t now_ns;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq; /* of all QPs, room for two completions each */
    struct rdma_mr *mr;
    struct roce_qp **qps;
    uint32_t count;
    uint8_t *mem;
    uint32_t events[NORNIC_EVENT_COUNT];
};

/* `count` QPs in RTS, an even number. Ends the test when anything fails. */
struct many *many_new(uint32_t count);
/* Also checks that every allocation was given back. */
void many_free(struct many *m);

/* Lets the device do what it has to do now; frames must not leave it. */
void many_run(struct many *m);
/* QP i: a receive into, or a SEND of, its own piece of memory, with wr_id i. */
int many_post_recv(struct many *m, uint32_t i);
int many_post_send(struct many *m, uint32_t i);
/* How many completions came, all of them successful. */
uint32_t many_poll(struct many *m);

#endif
