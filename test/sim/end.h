/* SPDX-License-Identifier: BSD-2-Clause */
/* One QP and the application on top of it: posts what its plan says and holds every completion against it. */
#ifndef NORNIC_TEST_SIM_END_H
#define NORNIC_TEST_SIM_END_H

#include "test/sim/plan.h"

struct sim_end {
    struct sim *sim;
    struct sim_plan *plan;
    const struct sim_end_plan *want;
    struct sim_end *peer;
    unsigned pair, node;
    struct roce_qp *qp;
    struct rdma_cq *send_cq, *recv_cq;
    struct rdma_xrcd *xrcd;            /* of the node, where any of its QPs is of XRC */
    struct rdma_srq *srq[SIM_SRQS];    /* XRC target */
    unsigned sends_posted, sends_done; /* done: completed, or known to be by a later completion */
    unsigned receives_posted, receives_done;
    unsigned receives_good;               /* completed with success */
    unsigned landed;                      /* messages whose arrival was looked at, in posting order */
    uint64_t originals[SIM_MESSAGES_MAX]; /* what atomics returned */
    bool failed;
    bool quiet;         /* the application has ended it: post nothing more */
    bool cq_lost;       /* a CQ of it overflowed: completions are missing */
    unsigned failed_at; /* the message of the first error */
    enum nornic_wc_status error;
    bool receive_failed;
    enum nornic_wc_status receive_error;
    uint64_t done_ns; /* of the newest completion */
    /* UC */
    bool arrived[SIM_MESSAGES_MAX]; /* messages of this end that the peer's completions have told of */
    unsigned next_arrival;          /* one past the newest of the peer's that this end was told of */
    bool probing;                   /* the message that was held may go */
};

/* Creates the QP on these CQs and moves it to INIT. The peer's QPN is not known yet. */
void sim_end_create(struct sim_end *end);
/* To RTR and RTS. */
void sim_end_connect(struct sim_end *end);
/* QP and SRQs go. */
void sim_end_destroy(struct sim_end *end);

/* Posts what is due. Returns whether anything was. */
bool sim_end_post(struct sim_end *end);
/* When the pace allows more; NET_TIME_NONE: never, or as soon as something completes. */
uint64_t sim_end_next_ns(const struct sim_end *end);

/* Checks one completion that names this QP. */
void sim_end_complete(struct sim_end *end, const struct nornic_wc *wc);

/* All is sent and received, or both queues are flushed. */
bool sim_end_is_done(const struct sim_end *end);

/* After the run: everything came that had to, and what a failure left undefined is accepted as it is. */
void sim_end_settle(struct sim_end *end);

#endif
