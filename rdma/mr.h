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

/* Whether `len_bytes` (not 0) at `addr` are memory of the process that can be read, or with `write` written
 * to; makes it present. Memory of unknown state is not. */
typedef bool rdma_is_memory(const void *addr, uint64_t len_bytes, bool write);

/* A registered region. Read-only for callers; the memory it names stays the caller's and must outlive it. */
struct rdma_mr {
    struct rdma_pd *pd;
    uint8_t *addr;
    uint64_t len_bytes;
    uint64_t iova;   /* address of the first byte in SGEs and at peers: `addr` unless chosen (ROCE-MR-3) */
    uint32_t access; /* enum nornic_access */
    uint32_t lkey;
    uint32_t rkey;
    /* A fast region: `lkey` and `rkey` stay those of its allocation, whose upper 24 bits name it for ever;
     * the low byte in force is the one of the last REG_MR. */
    bool is_fast;
    bool is_valid;             /* false: a fast region in free state, which no key reaches */
    uint64_t max_bytes;        /* of a fast region: the most that a REG_MR covers */
    uint32_t windows;          /* bound to it now */
    rdma_is_memory *is_memory; /* of a region of all memory: asked before each access; else NULL */
    uint8_t *sink;             /* of a null region: the target of writes, as many bytes; else NULL */
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
/* Returns how many accesses to the memory of regions ended in a fault: the program had unmapped it, or taken
 * its rights away. */
uint64_t rdma_domain_faults(const struct rdma_domain *domain);

/* 0 or -ENOMEM. */
int rdma_pd_create(struct rdma_domain *domain, struct rdma_pd **out);
/* 0, or -EBUSY while something depends on it (ROCE-PD-2). */
int rdma_pd_destroy(struct rdma_pd *pd);
struct rdma_domain *rdma_pd_domain(const struct rdma_pd *pd);

/* Registers `len_bytes` at `addr`. SGEs and peers name it by the process address, or by offsets from 0 with
 * ZERO_BASED. The key is 24 bits of index and 8 bits more, drawn at random at every registration
 * (rdma/numbers.h); 0 is never given, and a key is reused as late as possible (ROCE-MR-2). 0, -EINVAL
 * (rights: ROCE-MR-1; unknown bits; a range that wraps; no address), -ENOSPC (max_mr reached) or -ENOMEM. */
int rdma_mr_reg(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint32_t access, struct rdma_mr **out);

/* The same with the address of the first byte given (ROCE-MR-3), by which SGEs and peers name it; with
 * ZERO_BASED it must be 0. */
int rdma_mr_reg_iova(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access,
                     struct rdma_mr **out);

/* Registers the whole address space of the process, but for its last byte, with whatever comes to lie in
 * it: each access asks `is_memory` about its range, and is an access outside the region if that
 * says no. Remote addresses are the process's. Windows cannot be bound to it. 0, -EINVAL (rights: ROCE-MR-1;
 * MW_BIND, ZERO_BASED), -ENOSPC or -ENOMEM. */
int rdma_mr_reg_all(struct rdma_pd *pd, uint32_t access, rdma_is_memory *is_memory, struct rdma_mr **out);

/* Registers a null region, for SGEs alone: one of at most `len_bytes`, at any address, reads from `zeros` and
 * writes to `sink`. Both have `len_bytes` and outlive the region. 0, -EINVAL (no address), -ENOSPC or
 * -ENOMEM. */
int rdma_mr_reg_null(struct rdma_pd *pd, void *zeros, void *sink, uint64_t len_bytes, struct rdma_mr **out);

/* Allocates a region for fast registration, in free state: its keys reach nothing until a REG_MR work
 * request makes it valid for at most `max_bytes` of memory (ROCE-MR-6). 0, -EINVAL (max_bytes 0), -ENOSPC,
 * -ENOMEM. */
int rdma_mr_alloc_fast(struct rdma_pd *pd, uint64_t max_bytes, struct rdma_mr **out);

/* Makes a region name other memory, with other rights, in another PD of its domain, under the keys that it
 * has. 0; -EINVAL (as rdma_mr_reg_iova(); a region for fast registration, of all memory, or a null region) or
 * -EBUSY: windows are bound to it. */
int rdma_mr_change(struct rdma_mr *mr, struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
                   uint32_t access);

/* After this returns the engine does not touch the memory; packets and work requests that still name the
 * keys fail with the error of a bad key. 0, or -EBUSY while windows are bound to it (ROCE-MR-5). */
int rdma_mr_dereg(struct rdma_mr *mr);

NORNIC_END_DECLS

#endif
