/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows: revocable remote access to a part of a region, ROCE section 13.4. Calls here are control
 * calls: the caller serialises them with the device's progress. Binding is a work request of a QP. */
#ifndef NORNIC_RDMA_MW_H
#define NORNIC_RDMA_MW_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "rdma/mr.h"

NORNIC_BEGIN_DECLS

/* A window. Read-only for callers. */
struct rdma_mw {
    struct rdma_pd *pd;
    enum nornic_mw_type type;
    uint32_t rkey; /* type 1: of the newest bind; type 2: its upper 24 bits name the window for ever */
    /* --- the binding, written by the engine --- */
    struct rdma_mr *mr; /* NULL: not bound */
    uint8_t *addr;      /* of its first byte */
    uint64_t len_bytes;
    uint64_t base;   /* remote address of the first byte */
    uint32_t access; /* enum nornic_access: remote rights */
    uint32_t qpn;    /* type 2: the QP that it was bound on */
    struct rdma_mw_list *list;
    struct rdma_mw *prev, *next;
};

/* Allocates a window, not bound. 0, -EINVAL (type), -ENOSPC (max_mr reached) or -ENOMEM. */
int rdma_mw_alloc(struct rdma_pd *pd, enum nornic_mw_type type, struct rdma_mw **out);

/* Unbinds it if it is bound, and frees it. Work requests that still name its key fail. */
void rdma_mw_dealloc(struct rdma_mw *mw);

/* The key that the next bind of a type 1 window gets (ROCE-MW-1): not the one before. */
uint32_t rdma_mw_next_key(const struct rdma_mw *mw);

NORNIC_END_DECLS

#endif
