/* SPDX-License-Identifier: BSD-2-Clause */
/* Buffers of ibv_alloc_buf(), for the regions of them. Internal to verbs/. */
#ifndef NORNIC_VERBS_BUF_H
#define NORNIC_VERBS_BUF_H

struct verbs_buf;

/* Ends one use of `buf`, by a region or by the program's handle. The last one frees the memory. */
void verbs_buf_release(struct verbs_buf *buf);

#endif
