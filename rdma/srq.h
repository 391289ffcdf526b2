/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queue: one pool of receive WQEs for many QPs, ROCE section 8.8. rdma_srq_post() may run
 * beside the engine, one poster at a time; everything else is a control call, which the caller serialises
 * with the device's progress. */
#ifndef NORNIC_RDMA_SRQ_H
#define NORNIC_RDMA_SRQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wr.h"

NORNIC_BEGIN_DECLS

struct rdma_pd;
struct rdma_srq;
struct rdma_xrcd;
struct rdma_cq;

#define RDMA_SRQ_MAX_WR  (1u << 20)
#define RDMA_SRQ_MAX_SGE 16

struct rdma_srq_config {
    uint32_t max_wr;  /* WQEs that it holds at least, 1..RDMA_SRQ_MAX_WR */
    uint32_t max_sge; /* of a WQE, at most RDMA_SRQ_MAX_SGE */
    void *ctx;        /* the caller's: rdma_srq_ctx() */
    /* An XRC SRQ (ROCE-XRC-2): its domain, and where its receives complete. Both, or NULL. */
    struct rdma_xrcd *xrcd;
    struct rdma_cq *cq;
};

/* Creates an SRQ whose SGE keys are those of `pd` (ROCE-RS-70). 0, -EINVAL or -ENOMEM. */
int rdma_srq_create(struct rdma_pd *pd, const struct rdma_srq_config *config, struct rdma_srq **out);
/* 0, or -EBUSY while a QP uses it; of an XRC SRQ: while a message is half-way in one of its WQEs. Its WQEs
 * are forgotten. */
int rdma_srq_destroy(struct rdma_srq *srq);
/* The number that peers name an XRC SRQ by (24 bits); 0: it is none. */
uint32_t rdma_srq_number(const struct rdma_srq *srq);
void *rdma_srq_ctx(const struct rdma_srq *srq);

/* Posts a list. 0; or -EINVAL (SGEs, bytes: ROCE-QP-40; the SRQ is in error) or -ENOMEM (full), with *bad
 * (may be NULL) at the first request that was not taken; those before it are. */
int rdma_srq_post(struct rdma_srq *srq, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad);

/* Arms the limit event: raised once, when fewer than `limit` WQEs remain, at once when they do already. 0
 * disarms. 0, or -EINVAL (more than the SRQ holds): ROCE-RS-71. */
int rdma_srq_set_limit(struct rdma_srq *srq, uint32_t limit);

/* Makes it hold `max_wr` WQEs at least; those queued stay (ROCE-RS-73). No post may run meanwhile. 0,
 * -EINVAL (max_wr out of range, below the armed limit, or below the number of queued WQEs) or -ENOMEM;
 * nothing is changed then. */
int rdma_srq_resize(struct rdma_srq *srq, uint32_t max_wr);

/* What it holds at the most; the limit that is armed, 0: none; WQEs that wait now. */
uint32_t rdma_srq_capacity(const struct rdma_srq *srq);
uint32_t rdma_srq_limit(const struct rdma_srq *srq);
uint32_t rdma_srq_count(const struct rdma_srq *srq);

/* Puts it in error state for good, and says so with SRQ_ERR: its WQEs are not given out any more, so
 * that its QPs answer RNR, and posts fail (ROCE-RS-73). */
void rdma_srq_fail(struct rdma_srq *srq);

NORNIC_END_DECLS

#endif
