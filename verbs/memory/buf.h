/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers of ibv_alloc_buf(), for the regions of them. Internal to verbs/. */
#ifndef NORNIC_VERBS_BUF_H
#define NORNIC_VERBS_BUF_H

#include <stddef.h>

struct ibv_pd;
struct verbs_buf;

/* Begins a region's use of `bytes` at `addr`, which have to lie within `buf`. `pd` is the buffer's domain.
 * Returns 0 or EINVAL. */
int verbs_buf_acquire(struct verbs_buf *buf, const struct ibv_pd *pd, const void *addr, size_t bytes);

/* Ends one use of `buf`, by a region or by the program's handle. The last one frees the memory. */
void verbs_buf_release(struct verbs_buf *buf);

#endif
