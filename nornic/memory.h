/* SPDX-License-Identifier: BSD-2-Clause */
/* Protection domains, memory regions and memory windows: ROCE section 13. All calls may be made from any
 * thread. */
#ifndef NORNIC_MEMORY_H
#define NORNIC_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wr.h"

NORNIC_BEGIN_DECLS

struct nornic_dev;
struct nornic_mr;
struct nornic_mw;
struct nornic_pd;

/* --- protection domains --- */

/* Creates a domain: a queue pair reaches only the memory and the address handles of its own domain.
 * 0 or -ENOMEM. */
int nornic_pd_create(struct nornic_dev *dev, struct nornic_pd **out);

/* 0, or -EBUSY while something depends on it (ROCE-PD-2). */
int nornic_pd_destroy(struct nornic_pd *pd);

/* --- memory regions --- */

/* Registers `len_bytes` at `addr` with the rights `access` (enum nornic_access; local read is implicit).
 * SGEs and peers name its first byte by nornic_mr_remote_addr(), which is `addr` as a number, or 0 with
 * ZERO_BASED. The memory stays the caller's and should outlive the region. Its pages are made present, as an
 * adapter's driver pins them, unless ON_DEMAND says that it may come and go. An access to memory that is
 * gone, or has lost its rights, is an error of the work request (LOC_PROT_ERR, or REM_ACCESS_ERR at the peer)
 * and never a signal. 0; -EFAULT (memory that is not mapped, or not for that access); -EINVAL (rights:
 * ROCE-MR-1; a range that wraps; no address); -ENOSPC (as many as the device has); -ENOMEM. */
int nornic_mr_reg(struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint32_t access,
                  struct nornic_mr **out);

/* The same, with the address of the first byte chosen by which SGEs and peers name it (ROCE-MR-3); with
 * ZERO_BASED it is 0. */
int nornic_mr_reg_iova(struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access,
                       struct nornic_mr **out);

/* Whether memory of this process is mapped, for reading or, with `write`, for writing; makes its pages
 * present, as if that had been done. 0; -EFAULT: it is not, or is a device's; -EOPNOTSUPP: the kernel cannot
 * say, before Linux 5.14. */
int nornic_memory_check(const void *addr, uint64_t len_bytes, bool write);

/* Registers the whole address space of the process, with the mappings of the time when a work request or a
 * peer names it (implicit on-demand paging in libibverbs). Its remote addresses are the process's. An access
 * to memory that is not mapped then, or not for that, fails as one outside a region does. Each access costs a
 * system call, and windows cannot be bound to it. 0; -EINVAL (rights: ROCE-MR-1; MW_BIND, ZERO_BASED);
 * -EOPNOTSUPP: the kernel (before Linux 5.14) knows no MADV_POPULATE; -ENOSPC; -ENOMEM. */
int nornic_mr_reg_all(struct nornic_pd *pd, uint32_t access, struct nornic_mr **out);

/* Registers a null region, for SGEs alone: one of at most `len_bytes`, at any address, reads from `zeros` and
 * writes to `sink`. Both have `len_bytes`, stay the caller's and outlive the region. 0, -EINVAL (no address),
 * -ENOSPC or -ENOMEM. */
int nornic_mr_reg_null(struct nornic_pd *pd, void *zeros, void *sink, uint64_t len_bytes,
                       struct nornic_mr **out);

/* Registers it anew under the keys that it has: for other memory, by another remote address, with other
 * rights, in another domain of the device; all of them as they are to be from now on. 0; -EFAULT; -EINVAL (as
 * nornic_mr_reg_iova(); a region for fast registration, of all memory, or a null region) or -EBUSY: windows
 * are bound to it. */
int nornic_mr_rereg(struct nornic_mr *mr, struct nornic_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
                    uint32_t access);

/* A region for fast registration: its keys reach nothing until a NORNIC_WR_REG_MR makes it name at most
 * `max_bytes` of memory (ROCE-MR-6). 0, -EINVAL (0 bytes), -ENOSPC or -ENOMEM. */
int nornic_mr_alloc_fast(struct nornic_pd *pd, uint64_t max_bytes, struct nornic_mr **out);

/* After this returns the device does not touch the memory any more. 0, or -EBUSY while windows are bound
 * to it (ROCE-MR-5). */
int nornic_mr_dereg(struct nornic_mr *mr);

/* The keys: for SGEs of this device, and for work requests of peers. Of a fast region: those of its
 * allocation, whose upper 24 bits name it for ever. */
uint32_t nornic_mr_lkey(const struct nornic_mr *mr);
uint32_t nornic_mr_rkey(const struct nornic_mr *mr);

/* How peers name its first byte; how long it is; both as they were given at its registration. */
uint64_t nornic_mr_remote_addr(const struct nornic_mr *mr);
uint64_t nornic_mr_len_bytes(const struct nornic_mr *mr);

/* --- memory windows: revocable remote access to a part of a region --- */

/* A window (enum nornic_mw_type), not bound: type 1 is bound by nornic_qp_bind_mw(), type 2 by
 * NORNIC_WR_BIND_MW. 0, -EINVAL (type), -ENOSPC (as many regions and windows as the device has) or
 * -ENOMEM. */
int nornic_mw_alloc(struct nornic_pd *pd, enum nornic_mw_type type, struct nornic_mw **out);

/* Unbinds it if it is bound, and frees it; work requests that still name its key fail. */
void nornic_mw_dealloc(struct nornic_mw *mw);

/* Type 1: the key of the newest binding. Type 2: its upper 24 bits name the window for ever. */
uint32_t nornic_mw_rkey(struct nornic_mw *mw);

NORNIC_END_DECLS

#endif
