/* SPDX-License-Identifier: BSD-2-Clause */
/* What a transport, and the neutral half of a queue pair, need of the objects that programs hold: to complete
 * into a CQ, to reach memory by its keys, to take receives from an SRQ. Programs and those who drive an
 * engine have the rest, in the headers of the objects. Engines call all this inside progress or a control
 * call. Internal to them. */
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

/* The list of the QPs that complete into it, which rdma/queue/overrun.c keeps. */
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

/* Where [va, va + len_bytes) of a region, or of a bound window, lies; NULL if the key is unknown or not
 * valid, belongs to another PD, names a type 2 window of another QP than `qpn`, lacks one of the rights
 * `access`, or the range is not inside (computed without overflow: ROCE-MR-3, MW-5). `len_bytes` 0 is
 * checked too. */
uint8_t *rdma_mr_remote(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                        uint32_t rkey, uint64_t va, uint64_t len_bytes, uint32_t access);

/* Why rdma_mr_remote() gave NULL. */
enum rdma_remote_fault {
    RDMA_FAULT_KEY,    /* names nothing that is valid */
    RDMA_FAULT_STREAM, /* of another PD, or a window of another QP */
    RDMA_FAULT_ACCESS,
    RDMA_FAULT_WRAP, /* va + len_bytes is beyond 2^64 */
    RDMA_FAULT_BOUNDS,
};

/* Which of the checks fails, in this order, for transports that tell their peers. Only after a NULL for the
 * same arguments. */
enum rdma_remote_fault rdma_mr_remote_fault(const struct rdma_domain *domain, const struct rdma_pd *pd,
                                            uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len_bytes,
                                            uint32_t access);

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
    uint64_t addr;            /* where in the region the window begins: a remote address of the region */
    uint64_t len_bytes;
    uint32_t access; /* REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC; type 2 also ZERO_BASED */
};

/* Binds on QP `qpn`, whose windows `list` holds; a type 1 window with len_bytes 0 is unbound instead. 0, or
 * -EINVAL with nothing changed: ROCE-MW-1..3. */
int rdma_mw_bind(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                 struct rdma_mw_list *list, const struct rdma_mw_bind *bind);

/* The QP goes away, and its windows with it: all return to free state. */
void rdma_mw_unbind_all(struct rdma_mw_list *list);

/* One window returns to free state. No effect when it is not bound. */
void rdma_mw_unbind(struct rdma_mw *mw);

/* --- shared receive queues --- */

/* Whose keys its SGEs bear, and the most SGEs of a WQE. */
struct rdma_pd *rdma_srq_pd(const struct rdma_srq *srq);
uint32_t rdma_srq_max_sge(const struct rdma_srq *srq);
/* Of an XRC SRQ; else NULL. */
struct rdma_xrcd *rdma_srq_xrcd(const struct rdma_srq *srq);
struct rdma_cq *rdma_srq_cq(const struct rdma_srq *srq);
/* The SRQ of `xrcd` that has this number now, or NULL. */
struct rdma_srq *rdma_xrcd_find(const struct rdma_xrcd *xrcd, uint32_t srqn);

/* Takes the oldest WQE: copies it to `wqe` and its SGEs to `sges` (rdma_srq_max_sge() of them), after which
 * it belongs to the taker (ROCE-RS-70). False: there is none, or the SRQ is in error. */
bool rdma_srq_take(struct rdma_srq *srq, struct rdma_recv_wqe *wqe, struct nornic_sge *sges);

/* A QP counts itself as a user, so that the SRQ cannot go away under it. */
void rdma_srq_get(struct rdma_srq *srq);
void rdma_srq_put(struct rdma_srq *srq);

/* --- XRC domains --- */

struct rdma_domain *rdma_xrcd_domain(const struct rdma_xrcd *xrcd);
/* A target QP counts itself as a user, and so does an SRQ. */
void rdma_xrcd_get(struct rdma_xrcd *xrcd);
void rdma_xrcd_put(struct rdma_xrcd *xrcd);

/* Gives `srq` a number (24 bits, not 0), another one than those given last: 0, -ENOSPC or -ENOMEM. And takes
 * it back. */
int rdma_xrc_number_take(struct rdma_domain *domain, struct rdma_srq *srq, uint32_t *srqn);
void rdma_xrc_number_give(struct rdma_domain *domain, uint32_t srqn);

#endif
