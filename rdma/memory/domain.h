/* SPDX-License-Identifier: BSD-2-Clause */
/* The members of a domain and a PD. Inside rdma/ only. */
#ifndef NORNIC_RDMA_DOMAIN_H
#define NORNIC_RDMA_DOMAIN_H

#include "rdma/event.h"
#include "rdma/memory/key_table.h"
#include "rdma/numbers.h"
#include "rdma/transport.h"

/* The place of an XRC SRQ in its table: its number, and the uses of the place so far. */
struct rdma_xrc_place {
    struct rdma_srq *srq; /* NULL: free */
    uint32_t srqn, uses;
};

/* XRC SRQs by their number, which leads to a place. */
struct rdma_xrc_table {
    struct rdma_xrc_place *places;
    struct rdma_slot_numbers srqns;
    uint32_t size, used;
    uint32_t next; /* the search for a free place begins here */
};

struct rdma_domain {
    struct rdma_mem mem;
    struct rdma_key_table keys; /* of regions and windows */
    struct rdma_xrc_table xrc;
    uint32_t pd_count, xrcd_count;
    uint64_t fault_count;      /* accesses that ended in a fault: rdma/access.h */
    rdma_event_hook *on_event; /* may be NULL */
    void *event_ctx;
    struct rdma_qp *failing; /* QPs of overflowed CQs, which wait to be moved to ERR */
};

struct rdma_pd {
    struct rdma_domain *domain;
    uint32_t dependents; /* regions, windows, SRQs and QPs (ROCE-PD-2) */
};

/* Finds the place of `len_bytes` of a valid region from `offset` on, which are inside it. NULL: it is of all
 * memory, and there is none, or with `write` none that can be written to. */
uint8_t *rdma_mr_place(const struct rdma_mr *mr, uint64_t offset, uint64_t len_bytes, bool write);

static inline void *rdma_alloc(const struct rdma_domain *domain, size_t len_bytes)
{
    return domain->mem.alloc(domain->mem.ctx, len_bytes);
}

/* Nothing happens to NULL. */
static inline void rdma_free(const struct rdma_domain *domain, void *p)
{
    if (p)
        domain->mem.free(domain->mem.ctx, p);
}

/* ROCE-MR-3: [at, at + n) lies in [base, base + len_bytes), computed without overflow. */
static inline bool rdma_range_is_inside(uint64_t base, uint64_t len_bytes, uint64_t at, uint64_t n)
{
    return n <= len_bytes && at >= base && at - base <= len_bytes - n;
}

#endif
