/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains and memory regions: ROCE sections 13.1 and 13.3. A domain is the key space of one
 * device. Calls here are control calls: the caller serialises them with the device's progress. Lookups are
 * O(1). */
#ifndef NORNIC_RDMA_MR_H
#define NORNIC_RDMA_MR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wr.h"
#include "rdma/mem.h"

NORNIC_BEGIN_DECLS

struct rdma_domain;
struct rdma_pd;

/* A registered region. Read-only for callers; the memory it names stays the caller's and must outlive it. */
struct rdma_mr {
    struct rdma_pd *pd;
    uint8_t *addr;
    uint64_t len_bytes;
    uint64_t iova;   /* remote address of the first byte: `addr` as a number unless chosen (ROCE-MR-3) */
    uint32_t access; /* enum nornic_access */
    uint32_t lkey;
    uint32_t rkey;
    /* A fast region: `lkey` and `rkey` stay those of its allocation, whose upper 24 bits name it for ever;
     * the low byte in force is the one of the last REG_MR. */
    bool is_fast;
    bool is_valid;      /* false: a fast region in free state, which no key reaches */
    uint64_t max_bytes; /* of a fast region: what a REG_MR may cover */
    uint32_t windows;   /* bound to it now */
};

/* `max_mr` regions and windows at the most (1..2^24 - 1). 0, -EINVAL or -ENOMEM. Keeps copies of `mem` and
 * `random`. */
int rdma_domain_create(const struct rdma_mem *mem, const struct rdma_random *random, uint32_t max_mr,
                       struct rdma_domain **out);
/* 0, or -EBUSY while it has a PD or an XRC domain. */
int rdma_domain_destroy(struct rdma_domain *domain);
/* How many of either it has. */
uint32_t rdma_domain_pds(const struct rdma_domain *domain);
uint32_t rdma_domain_xrcds(const struct rdma_domain *domain);

/* 0 or -ENOMEM. */
int rdma_pd_create(struct rdma_domain *domain, struct rdma_pd **out);
/* 0, or -EBUSY while something depends on it (ROCE-PD-2). */
int rdma_pd_destroy(struct rdma_pd *pd);
struct rdma_domain *rdma_pd_domain(const struct rdma_pd *pd);

/* A dependent (a QP, a region) counts itself. */
void rdma_pd_get(struct rdma_pd *pd);
void rdma_pd_put(struct rdma_pd *pd);

/* Registers `len_bytes` at `addr`. The remote address is the process address, or offsets from 0 with
 * ZERO_BASED. The key is 24 bits of index and 8 bits that change with every registration of that index, the
 * first at random; 0 is never given, and an index is reused as late as possible (ROCE-MR-2). 0, -EINVAL
 * (rights: ROCE-MR-1; unknown bits; a range that wraps; no address), -ENOSPC (max_mr reached) or -ENOMEM. */
int rdma_mr_reg(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint32_t access, struct rdma_mr **out);

/* The same with the remote address of the first byte given (ROCE-MR-3); with ZERO_BASED it must be 0. Local
 * addresses of SGEs stay those of the process. */
int rdma_mr_reg_iova(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access,
                     struct rdma_mr **out);

/* Allocates a region for fast registration, in free state: its keys reach nothing until a REG_MR work
 * request makes it valid for at most `max_bytes` of memory (ROCE-MR-6). 0, -EINVAL (max_bytes 0), -ENOSPC,
 * -ENOMEM. */
int rdma_mr_alloc_fast(struct rdma_pd *pd, uint64_t max_bytes, struct rdma_mr **out);

/* After this returns the engine does not touch the memory; packets and work requests that still name the
 * keys fail with the error of a bad key. 0, or -EBUSY while windows are bound to it (ROCE-MR-5). */
int rdma_mr_dereg(struct rdma_mr *mr);

/* --- for transports --- */

/* The valid region that `key` names now, or NULL. */
struct rdma_mr *rdma_mr_find(const struct rdma_domain *domain, uint32_t key);

/* A fast registration as a REG_MR work request asks for it. */
struct rdma_fast_reg {
    uint32_t key; /* the new L_Key and R_Key: the region's but for the low 8 bits */
    void *addr;
    uint64_t len_bytes;
    uint64_t iova;
    uint32_t access; /* enum nornic_access */
};

/* Makes a fast region in free state valid (ROCE-MR-6). 0 or -EINVAL: no fast region by that key, not free,
 * another PD than `pd`, too long, or what rdma_mr_reg_iova() would refuse. */
int rdma_mr_fast_reg(struct rdma_domain *domain, const struct rdma_pd *pd, const struct rdma_fast_reg *reg);

/* Where [va, va + len_bytes) of a region, or of a bound window, lies; NULL if the key is unknown or not
 * valid, belongs to another PD, names a type 2 window of another QP than `qpn`, lacks one of the rights
 * `access`, or the range is not inside (computed without overflow: ROCE-MR-3, MW-5). `len_bytes` 0 is
 * checked too. */
uint8_t *rdma_mr_remote(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                        uint32_t rkey, uint64_t va, uint64_t len_bytes, uint32_t access);

/* Where one SGE lies, or NULL as above. `write`: the engine will store there (ROCE-MR-4). An SGE of 0 bytes
 * is fine whatever its key and returns a non-NULL pointer that must not be used. */
uint8_t *rdma_sge_local(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct nornic_sge *sge, bool write);

/* LOCAL_INV: returns a fast region, or a type 2 window bound on QP `qpn`, to free state. 0 or -EINVAL:
 * nothing valid by that key in `pd`, a plain region, a type 1 window, a region with windows bound
 * (ROCE-MR-7). */
int rdma_invalidate_local(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t key);

/* The same at a peer's request: a region must give some remote right besides (ROCE-RS-44). */
int rdma_invalidate_remote(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t rkey);

NORNIC_END_DECLS

#endif
