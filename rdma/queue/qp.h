/* SPDX-License-Identifier: BSD-2-Clause */
/* The half of a queue pair that is the same on every transport: its queues and where their data lies, posts,
 * completions, what it does without a peer, its CQs and their overflow, its events. A transport embeds struct
 * rdma_qp in its own queue pair, fills in an ops table, and takes from the send queue what it is to send.
 * What goes over the wire, and what comes from there, is the transport's affair. For the engines, and for
 * host/, which posts. */
#ifndef NORNIC_RDMA_QP_H
#define NORNIC_RDMA_QP_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdma/event.h"
#include "rdma/queue/recv.h"
#include "rdma/queue/sq.h"
#include "rdma/transport.h"

struct rdma_domain;
struct rdma_qp;
struct rdma_srq;
struct rdma_xrcd;

/* What a transport is told, and asked. One table a service; a table may be shared. */
struct rdma_qp_ops {
    /* Any thread: there are fresh posts. Whoever makes progress is to look at the queues. */
    void (*posted)(struct rdma_qp *qp);
    /* Any thread: what else a post must not ask for (ROCE-QP-40): 0 or -EINVAL. NULL: nothing. */
    int (*check_send)(const struct rdma_qp *qp, const struct nornic_send_wr *wr, uint32_t len_bytes);
};

/* What a QP is made of; borrowed for the call, the objects are kept until the QP is gone. */
struct rdma_qp_parts {
    const struct rdma_qp_ops *ops;
    struct rdma_domain *domain;
    uint64_t sends;   /* RDMA_SENDS(): which requests its send queue takes, ROCE section 11.3 */
    bool is_datagram; /* its sends name an address handle */
    bool sq_sig_all;
    enum rdma_recv_source recv_source; /* RDMA_RECV_SRQ where `srq` is given */
    struct rdma_pd *pd;                /* or NULL */
    struct rdma_cq *send_cq, *recv_cq; /* or NULL; may be one */
    struct rdma_srq *srq;              /* or NULL */
    struct rdma_xrcd *xrcd;            /* XRC: whose SRQs it delivers to; else NULL */
    struct nornic_qp_caps caps;
    void *ctx; /* the application's */
};

/* The bit of an enum nornic_wr_opcode in `sends`. */
#define RDMA_SENDS(opcode) (UINT64_C(1) << (opcode))

/* A QP on the list that its CQ keeps of its users. */
struct rdma_cq_user {
    struct rdma_qp *qp;
    struct rdma_cq_user *prev, *next;
};

struct rdma_qp {
    const struct rdma_qp_ops *ops;
    struct rdma_domain *domain;
    uint32_t qpn;      /* 24 bits; the transport gives it */
    _Atomic int state; /* enum nornic_qp_state; written by the engine, read by posts */
    uint64_t sends;
    bool is_datagram;
    bool sq_sig_all;
    bool is_failing; /* on the domain's list of QPs whose CQ overflowed */
    struct rdma_pd *pd;
    struct rdma_cq *send_cq, *recv_cq;
    struct rdma_xrcd *xrcd;
    struct nornic_qp_caps caps;
    void *ctx;
    struct rdma_sq sq;
    struct rdma_recv recv;
    struct rdma_mw_list windows;     /* type 2, bound on this QP */
    struct rdma_cq_user cq_users[2]; /* of send_cq and recv_cq */
    struct rdma_qp *failing_prev, *failing_next;
};

static inline enum nornic_qp_state rdma_qp_state_now(const struct rdma_qp *qp)
{
    return (enum nornic_qp_state)atomic_load_explicit(&qp->state, memory_order_relaxed);
}

/* --- qp.c --- */
/* Makes the queues, rounding caps up, and counts the QP as a user of its objects. The QP is zeroed memory
 * before, and in RESET after. 0, -EINVAL (an SRQ or XRC domain of another domain) or -ENOMEM, with nothing
 * kept. */
int rdma_qp_init(struct rdma_qp *qp, const struct rdma_qp_parts *parts);
/* Gives everything back. Its type 2 windows are unbound (ROCE-MW-2). */
void rdma_qp_deinit(struct rdma_qp *qp);
/* RESET: forgets both queues without a completion, and unbinds the type 2 windows: what connects here next is
 * another peer (ROCE-QP-8, MW-2). */
void rdma_qp_reset(struct rdma_qp *qp);

/* How many requests it holds, for who looks at it: sends that are posted and not complete, receives that are
 * posted in its own queue and not complete. Called where the engine is. */
void rdma_qp_outstanding(const struct rdma_qp *qp, uint32_t *sends, uint32_t *recvs);

/* --- post.c: any thread, one poster a queue --- */
/* A list. 0; or -EINVAL (state, opcode, SGEs, lengths: ROCE-QP-40) or -ENOMEM (queue full), with *bad (may be
 * NULL) at the first request that was not taken; those before it are. */
int rdma_qp_post_send(struct rdma_qp *qp, const struct nornic_send_wr *wr, const struct nornic_send_wr **bad);
/* The same, but where one cannot be taken, none is. */
int rdma_qp_post_send_all(struct rdma_qp *qp, const struct nornic_send_wr *wr);
int rdma_qp_post_recv(struct rdma_qp *qp, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad);
/* Posts a BIND_MW of a type 1 window with its next key, which mw->rkey then is (ROCE-MW-1). */
int rdma_qp_bind_mw(struct rdma_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                    const struct nornic_bind *bind);

/* --- send_ring.c --- */
int rdma_sq_init(struct rdma_qp *qp);
void rdma_sq_deinit(struct rdma_qp *qp);
void rdma_sq_reset(struct rdma_qp *qp);
/* Completes the oldest send WQE and moves on: a CQE if it failed, or is signalled (ROCE-RC-60). */
void rdma_sq_complete(struct rdma_qp *qp, enum nornic_wc_status status);
/* Completes all that is posted with WR_FLUSH_ERR: the send queue has stopped (ROCE-RC-63). */
void rdma_sq_flush(struct rdma_qp *qp);
/* Copies `len_bytes` of a send WQE's data from `offset` on. False: a key, PD or bounds fault (ROCE-RC-17). */
bool rdma_sq_gather(const struct rdma_qp *qp, uint32_t index, uint32_t offset, uint8_t *dst,
                    uint32_t len_bytes);
/* Copies what came back for a READ or atomic to where its WQE wants it. False: a fault, or no room. */
bool rdma_sq_scatter(const struct rdma_qp *qp, uint32_t index, uint32_t offset, const uint8_t *src,
                     uint32_t len_bytes);
/* The memory itself at `offset` of a send WQE's data, or, with `write`, of where its answer goes; `*n_bytes`,
 * at most what is left of it, is cut to what lies there in one piece. NULL: a fault. */
uint8_t *rdma_sq_piece(const struct rdma_qp *qp, uint32_t index, uint32_t offset, uint32_t *n_bytes,
                       bool write);

/* --- cq.c: completions, and overflow (ROCE-CQ-2) --- */
/* A QP is known to its CQs from its creation to its end, and they cannot go away under it. */
void rdma_qp_join_cqs(struct rdma_qp *qp);
void rdma_qp_leave_cqs(struct rdma_qp *qp);
/* Adds a completion of this QP to one of its CQs. If it does not fit, CQ_ERR is raised and every QP of that
 * CQ is marked; the transport moves them to ERR at the end of its step: rdma_domain_take_failing(). */
void rdma_qp_push_wc(struct rdma_qp *qp, struct rdma_cq *cq, const struct nornic_wc *wc, bool is_solicited);
/* Takes a QP of an overflowed CQ off the list of those, or NULL. */
struct rdma_qp *rdma_domain_take_failing(struct rdma_domain *domain);

#endif
