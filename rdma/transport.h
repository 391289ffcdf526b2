/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of transports, and of the part of a queue pair that all transports share (rdma/queue/), on
 * objects of programs. They complete into a CQ, reach memory by its keys, and take receives from an SRQ.
 * The headers of the objects have the calls of programs. Engines make these calls inside progress or a
 * control call. Internal to the engines. */
#ifndef NORNIC_RDMA_TRANSPORT_H
#define NORNIC_RDMA_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/cq.h"
#include "rdma/mr.h"
#include "rdma/mw.h"
#include "rdma/srq.h"
#include "rdma/xrc.h"

struct rdma_cq_user;
struct rdma_recv_wqe;

/* --- protection domains --- */

/* A dependent (a QP, a region) counts itself. */
void rdma_pd_get(struct rdma_pd *pd);
void rdma_pd_put(struct rdma_pd *pd);

/* --- completion queues --- */

/* Adds a completion, published with release order after the data it reports (ROCE-CQ-1). `solicited`: the
 * message had SE = 1 (errors count as solicited by themselves). False: it did not fit; the CQ is in error
 * from now on and the transport moves the QPs that use it to ERR. */
bool rdma_cq_push(struct rdma_cq *cq, const struct nornic_wc *wc, bool solicited);

/* Whether `count` more would fit now; false once the CQ is in error. For the writer only. */
bool rdma_cq_has_room(const struct rdma_cq *cq, uint32_t count);
/* It has overflowed and takes nothing any more (ROCE-CQ-2). */
bool rdma_cq_in_error(const struct rdma_cq *cq);

/* The list of the QPs that complete into it, kept by rdma/queue/overrun.c. */
struct rdma_cq_user **rdma_cq_users(struct rdma_cq *cq);

/* A QP counts itself as a user, so that the CQ cannot go away under it. */
void rdma_cq_get(struct rdma_cq *cq);
void rdma_cq_put(struct rdma_cq *cq);

/* --- memory regions --- */

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

/* Returns the address of `va` in the region, or the bound window, of `rkey`. NULL: the key is unknown or
 * not valid, or belongs to another PD or, for a type 2 window, another QP. Also NULL: a right of
 * `access` is missing, or the range of `len_bytes` is not inside (computed without overflow: ROCE-MR-3,
 * MW-5). 0 bytes are checked, too. */
uint8_t *rdma_mr_remote(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                        uint32_t rkey, uint64_t va, uint64_t len_bytes, uint32_t access);

/* The reason of rdma_mr_remote() for NULL. */
enum rdma_remote_fault {
    RDMA_FAULT_KEY,    /* names nothing that is valid */
    RDMA_FAULT_STREAM, /* of another PD, or a window of another QP */
    RDMA_FAULT_ACCESS,
    RDMA_FAULT_WRAP, /* va + len_bytes is beyond 2^64 */
    RDMA_FAULT_BOUNDS,
};

/* Returns the first check that fails, in this order, for transports that tell their peers. Only after a
 * NULL for the same arguments. */
enum rdma_remote_fault rdma_mr_remote_fault(const struct rdma_domain *domain, const struct rdma_pd *pd,
                                            uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len_bytes,
                                            uint32_t access);

/* Returns the address of an SGE, or NULL as above. `write`: the engine will store there (ROCE-MR-4). An
 * SGE of 0 bytes is fine whatever its key and returns a non-NULL pointer that must not be used. */
uint8_t *rdma_sge_local(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct nornic_sge *sge, bool write);

/* LOCAL_INV: returns a fast region, or a type 2 window bound on QP `qpn`, to free state. 0 or -EINVAL:
 * nothing valid by that key in `pd`, a plain region, a type 1 window, a region with windows bound
 * (ROCE-MR-7). */
int rdma_invalidate_local(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t key);

/* The same at a peer's request: a region must give some remote right besides (ROCE-RS-44). */
int rdma_invalidate_remote(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t rkey);

/* --- memory windows --- */

/* The type 2 windows that are bound on one QP. Zero-initialised; belongs to the QP. */
struct rdma_mw_list {
    struct rdma_mw *first;
};

/* A bind as a work request asks for it. */
struct rdma_mw_bind {
    enum nornic_mw_type type; /* that the window must have */
    uint32_t key;             /* the new R_Key: the window's but for the low 8 bits */
    uint32_t lkey;            /* of the region */
    uint64_t addr;            /* the beginning of the window: a remote address of the region */
    uint64_t len_bytes;
    uint32_t access; /* REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC; type 2 also ZERO_BASED */
};

/* Binds a window on QP `qpn`; `list` holds the windows of the QP. A type 1 window with len_bytes 0 is
 * unbound. Returns 0, or -EINVAL with nothing changed: ROCE-MW-1..3. */
int rdma_mw_bind(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                 struct rdma_mw_list *list, const struct rdma_mw_bind *bind);

/* Unbinds all windows of a QP that is destroyed. */
void rdma_mw_unbind_all(struct rdma_mw_list *list);

/* Unbinds a window. Has no effect on a window that is not bound. */
void rdma_mw_unbind(struct rdma_mw *mw);

/* --- shared receive queues --- */

/* Returns the PD of the keys in its SGEs, and the most SGEs of a WQE. */
struct rdma_pd *rdma_srq_pd(const struct rdma_srq *srq);
uint32_t rdma_srq_max_sge(const struct rdma_srq *srq);
/* Return the XRC domain and the CQ of an XRC SRQ; else NULL. */
struct rdma_xrcd *rdma_srq_xrcd(const struct rdma_srq *srq);
struct rdma_cq *rdma_srq_cq(const struct rdma_srq *srq);
/* Returns the SRQ of `xrcd` with this number, or NULL. */
struct rdma_srq *rdma_xrcd_find(const struct rdma_xrcd *xrcd, uint32_t srqn);

/* Takes the oldest WQE: copies it to `wqe` and its SGEs to `sges` (rdma_srq_max_sge() of them). The WQE
 * then belongs to the caller (ROCE-RS-70). Returns false if there is none, or the SRQ is in error. */
bool rdma_srq_take(struct rdma_srq *srq, struct rdma_recv_wqe *wqe, struct nornic_sge *sges);

/* Counts a QP as a user, and no more: an SRQ with users cannot be destroyed. */
void rdma_srq_get(struct rdma_srq *srq);
void rdma_srq_put(struct rdma_srq *srq);

/* --- XRC domains --- */

struct rdma_domain *rdma_xrcd_domain(const struct rdma_xrcd *xrcd);
/* A target QP counts itself as a user, and so does an SRQ. */
void rdma_xrcd_get(struct rdma_xrcd *xrcd);
void rdma_xrcd_put(struct rdma_xrcd *xrcd);

/* Gives `srq` a number (24 bits, not 0), another one than those given last: 0, -ENOSPC or -ENOMEM. And
 * takes it back. */
int rdma_xrc_number_take(struct rdma_domain *domain, struct rdma_srq *srq, uint32_t *srqn);
void rdma_xrc_number_give(struct rdma_domain *domain, uint32_t srqn);

#endif
