/* SPDX-License-Identifier: BSD-2-Clause */
/* Registration, for all that makes regions. Internal to verbs/. */
#ifndef NORNIC_VERBS_MR_H
#define NORNIC_VERBS_MR_H

#include "verbs/verbs.h"

/* A region to register: memory, the address of its first byte (with ZERO_BASED: 0), and the rights. */
struct verbs_mr_range {
    void *addr;
    void *sink; /* of a null region: the target of its writes; else NULL */
    size_t len_bytes;
    uint64_t iova;
    uint32_t access; /* enum ibv_access_flags */
};

/* A region of `pd`. NULL with errno: EINVAL (rights), EFAULT (memory), ENOSPC or ENOMEM. */
struct verbs_mr *verbs_reg(struct ibv_pd *pd, const struct verbs_mr_range *range);

#endif
