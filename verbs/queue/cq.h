/* SPDX-License-Identifier: BSD-2-Clause */
/* Making completion queues, plain and extended. Internal to verbs/. */
#ifndef NORNIC_VERBS_CQ_H
#define NORNIC_VERBS_CQ_H

#include "verbs/verbs.h"

/* What a program asks for. */
struct verbs_cq_wanted {
    int64_t cqe; /* entries at least */
    void *cq_context;
    struct ibv_comp_channel *channel; /* or NULL */
    int comp_vector;
};

/* NULL with errno: EINVAL (entries, vector) or ENOMEM. */
struct verbs_cq *verbs_new_cq(struct ibv_context *context, const struct verbs_cq_wanted *wanted);

/* Takes up to `n` completions and, where there are none, makes a round of the device first. How many, or
 * -EIO: the queue has overflowed. */
int verbs_take(struct verbs_cq *cq, struct nornic_wc *wcs, unsigned n);

#endif
