/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive WQE that a QP's message in progress uses: one at a time, from the QP's own queue or from an
 * SRQ. Every transport takes and completes receives through here, and so needs not know which it is. A WQE of
 * the QP's own queue stays in its slot until it is completed; one of an SRQ is copied to the QP, which owns
 * it from then on (ROCE-RS-70). Inside the engine only. */
#ifndef NORNIC_RDMA_RECV_H
#define NORNIC_RDMA_RECV_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/cq.h"
#include "rdma/queue/recv_ring.h"

struct rdma_pd;
struct rdma_qp;
struct rdma_srq;

/* Where a QP's receives come from. */
enum rdma_recv_source {
    RDMA_RECV_OWN,  /* its own queue */
    RDMA_RECV_SRQ,  /* one SRQ */
    RDMA_RECV_XRC,  /* each from the XRC SRQ that a request names: rdma_recv_select() */
    RDMA_RECV_NONE, /* it only sends */
};

/* Part of struct rdma_qp. */
struct rdma_recv {
    enum rdma_recv_source source;
    bool is_held;
    struct rdma_recv_ring rq;      /* OWN */
    struct rdma_srq *srq;          /* SRQ; XRC: that of the held WQE; or NULL */
    struct rdma_recv_wqe wqe;      /* the held one */
    const struct nornic_sge *sges; /* of it: in its slot, or in `copy` */
    struct nornic_sge *copy;       /* room for an SRQ's SGEs */
};

/* Makes the queue of caps.max_recv_wr, which is rounded up, or room for a WQE of `srq` (kept until deinit;
 * else NULL). 0, -EINVAL (the SRQ, or the QP's XRC domain, is another domain's) or -ENOMEM. */
int rdma_recv_init(struct rdma_qp *qp, enum rdma_recv_source source, struct rdma_srq *srq);
/* Also after a failed init. */
void rdma_recv_deinit(struct rdma_qp *qp);
/* Forgets every WQE of the QP, the held one too: ROCE-QP-8. */
void rdma_recv_reset(struct rdma_qp *qp);

/* XRC: the next WQE is taken from `srq`, right after this. None is held. */
void rdma_recv_select(struct rdma_recv *recv, struct rdma_srq *srq);
/* Where the held WQE completes: the QP's receive CQ, or the XRC SRQ's. */
struct rdma_cq *rdma_recv_cq(const struct rdma_qp *qp);

/* Takes the next WQE and holds it; none is held. False: there is none (ROCE-RS-4). */
bool rdma_recv_take(struct rdma_qp *qp);
/* Bytes that the held WQE has room for. */
static inline uint32_t rdma_recv_bytes(const struct rdma_recv *recv)
{
    return recv->wqe.len_bytes;
}
/* Copies into the held WQE's SGEs, whose keys are those of the QP's PD, or of the SRQ's. False: a fault, or
 * no room. */
bool rdma_recv_scatter(struct rdma_qp *qp, uint32_t offset, const uint8_t *src, uint32_t len_bytes);
/* The memory itself at `offset` of the held WQE; `*n_bytes` is cut to what lies there in one piece. NULL: a
 * fault, or no room. */
uint8_t *rdma_recv_piece(struct rdma_qp *qp, uint32_t offset, uint32_t *n_bytes);

/* Completes the held WQE with `wc`: wr_id and qp_num are filled here. `is_solicited`: the message had SE = 1.
 */
void rdma_recv_complete(struct rdma_qp *qp, struct nornic_wc *wc, bool is_solicited);
/* The message came to nothing. If a WQE is held, it is the next message's again; an SRQ takes none back, so
 * there it completes with `srq_status` (ROCE-UC-4, UD-7). */
void rdma_recv_give_back(struct rdma_qp *qp, enum nornic_wc_status srq_status);

/* The QP is in ERR: completes the held WQE, and all of its own queue, with WR_FLUSH_ERR (ROCE-RC-63). The
 * SRQ's stay there (ROCE-RS-72). */
void rdma_recv_flush(struct rdma_qp *qp);

/* WQEs that a peer may count on: posted in the QP's own queue and not held. */
uint32_t rdma_recv_unused(const struct rdma_recv *recv);

#endif
