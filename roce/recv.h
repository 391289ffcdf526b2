/* SPDX-License-Identifier: BSD-2-Clause */
/* The receive WQE that a QP's message in progress uses: one at a time, from the QP's own queue or from its
 * SRQ. Every service takes and completes receives through here, and so needs not know which it is. A WQE of
 * the QP's own queue stays in its slot until it is completed; one of an SRQ is copied to the QP, which owns
 * it from then on (ROCE-RS-70). Inside roce/ only. */
#ifndef NORNIC_ROCE_RECV_H
#define NORNIC_ROCE_RECV_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/cq.h"
#include "rdma/recv_ring.h"

struct roce_qp;
struct rdma_srq;

/* Part of struct roce_qp. */
struct roce_recv {
    struct rdma_recv_ring rq; /* not used with an SRQ */
    struct rdma_srq *srq;     /* or NULL; of an XRC target: that of the held WQE */
    bool is_xrc;              /* of an XRC target: each WQE from the SRQ that roce_recv_select() names */
    bool held;
    struct rdma_recv_wqe wqe;      /* the held one */
    const struct nornic_sge *sges; /* of it: in its slot, or in `copy` */
    struct nornic_sge *copy;       /* room for an SRQ's SGEs */
};

/* Makes the queue of caps.max_recv_wr, which is rounded up, or room for a WQE of `srq` (may be NULL; kept
 * until deinit). 0, -EINVAL (the SRQ is another device's) or -ENOMEM. */
int roce_recv_init(struct roce_qp *qp, struct rdma_srq *srq);
/* Also after a failed init. */
void roce_recv_deinit(struct roce_qp *qp);
/* Forgets every WQE of the QP, the held one too: ROCE-QP-8. */
void roce_recv_reset(struct roce_qp *qp);

/* XRC target: the next WQE is taken from `srq`, right after this. None is held. */
void roce_recv_select(struct roce_recv *recv, struct rdma_srq *srq);
/* Where the held WQE completes: the QP's receive CQ, or the XRC SRQ's. */
struct rdma_cq *roce_recv_cq(const struct roce_qp *qp);

/* Takes the next WQE and holds it; none is held. False: there is none (ROCE-RS-4). */
bool roce_recv_take(struct roce_qp *qp);
static inline bool roce_recv_is_held(const struct roce_recv *recv)
{
    return recv->held;
}
/* Bytes that the held WQE has room for. */
static inline uint32_t roce_recv_bytes(const struct roce_recv *recv)
{
    return recv->wqe.len_bytes;
}
/* Copies into the held WQE's SGEs, whose keys are those of the QP's PD, or of the SRQ's. False: a fault, or
 * no room. */
bool roce_recv_scatter(struct roce_qp *qp, uint32_t offset, const uint8_t *src, uint32_t len_bytes);

/* Completes the held WQE with `wc`: wr_id and qp_num are filled here. `solicited`: the message had SE = 1. */
void roce_recv_complete(struct roce_qp *qp, struct nornic_wc *wc, bool solicited);
/* The message came to nothing. If a WQE is held, it is the next message's again; an SRQ takes none back, so
 * there it completes with `srq_status` (ROCE-UC-4, UD-7). */
void roce_recv_give_back(struct roce_qp *qp, enum nornic_wc_status srq_status);

/* The QP is in ERR: completes the held WQE, and all of its own queue, with WR_FLUSH_ERR (ROCE-RC-63). The
 * SRQ's stay there (ROCE-RS-72). */
void roce_recv_flush(struct roce_qp *qp);

/* WQEs that a peer may count on: posted in the QP's own queue and not held. */
uint32_t roce_recv_unused(const struct roce_recv *recv);

#endif
