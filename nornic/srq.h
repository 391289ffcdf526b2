/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues (one pool of receives for many queue pairs, ROCE section 8.8) and XRC domains.
 * All calls may be made from any thread. */
#ifndef NORNIC_SRQ_H
#define NORNIC_SRQ_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wr.h"

NORNIC_BEGIN_DECLS

struct nornic_cq;
struct nornic_dev;
struct nornic_pd;
struct nornic_srq;
struct nornic_xrcd;

/* How to create a shared receive queue. */
struct nornic_srq_config {
    size_t struct_bytes; /* NORNIC_INIT() */
    uint32_t max_wr;     /* receives that it holds at least, 1..2^20 */
    uint32_t max_sge;    /* of a receive, at most NORNIC_MAX_SGE */
    void *ctx;           /* the caller's: nornic_srq_ctx() */
    /* An XRC SRQ (ROCE-XRC-2): its domain, and where its receives complete. Both, or NULL. */
    struct nornic_xrcd *xrcd;
    struct nornic_cq *cq;
};

/* Creates an SRQ whose SGE keys are those of `pd` (ROCE-RS-70). 0, -EINVAL, -E2BIG or -ENOMEM. */
int nornic_srq_create(struct nornic_pd *pd, const struct nornic_srq_config *config, struct nornic_srq **out);

/* Destroys it when the events taken about it are acknowledged; receives that wait in it are forgotten. 0, or
 * -EBUSY while a queue pair uses it, or a message is half-way in one of its receives. */
int nornic_srq_destroy(struct nornic_srq *srq);

/* Posts a list of receives; several threads may at once. 0; or -EINVAL (SGEs, bytes: ROCE-QP-40; the SRQ
 * is in error) or -ENOMEM (full), with *bad (may be NULL) at the first that was not taken; those before
 * it are. */
int nornic_srq_post_recv(struct nornic_srq *srq, const struct nornic_recv_wr *wr,
                         const struct nornic_recv_wr **bad);

/* Arms NORNIC_EVENT_SRQ_LIMIT_REACHED: raised once, when fewer than `limit` receives remain; 0 disarms.
 * 0, or -EINVAL (more than it holds): ROCE-RS-71. */
int nornic_srq_set_limit(struct nornic_srq *srq, uint32_t limit);

/* Makes it hold `max_wr` receives at least; those queued stay (ROCE-RS-73). 0, -EINVAL (out of range,
 * below the armed limit or the number queued) or -ENOMEM; nothing is changed then. */
int nornic_srq_resize(struct nornic_srq *srq, uint32_t max_wr);

/* What it holds at the most, the limit that is armed (0: none), how many receives wait now. Any of them
 * may be NULL. */
void nornic_srq_query(struct nornic_srq *srq, uint32_t *max_wr, uint32_t *limit, uint32_t *waiting);

/* The number that peers name an XRC SRQ by (24 bits); 0: it is none. And the caller's `ctx`. */
uint32_t nornic_srq_number(const struct nornic_srq *srq);
void *nornic_srq_ctx(const struct nornic_srq *srq);

/* --- XRC domains: the SRQs that a target queue pair may deliver to --- */

/* 0 or -ENOMEM. */
int nornic_xrcd_create(struct nornic_dev *dev, struct nornic_xrcd **out);

/* 0, or -EBUSY while it has an SRQ or a target queue pair. */
int nornic_xrcd_destroy(struct nornic_xrcd *xrcd);

NORNIC_END_DECLS

#endif
