/* SPDX-License-Identifier: BSD-2-Clause */
/* For the tests of verbs/: a device of this machine's own address, and two queue pairs of it that are
 * connected. Whatever fails fails the test. */
#ifndef TEST_VERBS_PAIR_H
#define TEST_VERBS_PAIR_H

#include "verbs/verbs.h"

#define PAIR_WAIT_MS 10000

/* Between pair_open_device() and pair_close_device(). */
extern struct ibv_context *pair_ctx;
extern struct ibv_pd *pair_pd;

/* Both complete into one queue; each holds 8 sends of 2 pieces and 8 receives, all signaled. */
struct pair {
    struct ibv_cq_ex *cq;
    struct ibv_qp *qp[2];
};

void pair_open_device(void);
void pair_close_device(void);

/* What `call` has said on stderr, NUL-terminated; free() it. `has_failed`: what it returned. */
char *pair_said_by(bool (*call)(void), bool *has_failed);

struct pair pair_make(void);
/* The same with a completion channel, or NULL. */
struct pair pair_make_on(struct ibv_comp_channel *channel);
void pair_free(struct pair *pair);

/* RESET, INIT, RTR, RTS, with a queue pair of the same device as its peer. */
void pair_connect(struct ibv_qp *qp, uint32_t peer);

/* Takes `n` completions by the extended calls; all are good. Returns the sum of their wr_ids. */
uint64_t pair_complete(struct pair *pair, unsigned n);

/* Takes one completion by the plain call, whatever its status. */
struct ibv_wc pair_next(struct pair *pair);

#endif
