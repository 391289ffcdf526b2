/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion management of a QP: ROCE section 15. Inside roce/ only; exists where the device has it on.
 *
 * Reaction point (cc.c): CNPs slow the QP down; requests and READ responses then leave one by one. The rate
 * is roce/cc/dcqcn.h's, a timer wakes the QP when its next packet may go.
 * Notification point (cnp.c): marked packets are answered with CNPs. */
#ifndef NORNIC_ROCE_CC_H
#define NORNIC_ROCE_CC_H

#include "roce/cc/dcqcn.h"
#include "roce/qp/inner.h"

/* CNPs to one source. An unconnected QP has many sources; those that share a slot share its CNPs. */
struct roce_cnp_slot {
    uint64_t next_ns; /* none before: ROCE-CC-3 */
    struct nornic_av av;
    uint16_t pkey;
    uint32_t flow_label;
    uint32_t dest_qpn;
};

struct roce_cc {
    struct roce_qp *qp;
    struct roce_dcqcn flow;
    uint64_t next_ns;       /* the next paced packet may leave */
    uint64_t gap_ns;        /* how long the last one occupied the flow */
    struct rdma_timer pace; /* armed while a packet waits */
    uint32_t cnps_due;      /* bit i: slots[i] waits to be sent */
    uint32_t num_slots;     /* 1 or 32 */
    struct roce_cnp_slot slots[];
};

/* --- cc.c --- */
/* Gives `qp` its share of congestion management, if the device has it on: 0 or -ENOMEM. And takes it away. */
int roce_cc_init(struct roce_qp *qp);
void roce_cc_deinit(struct roce_qp *qp);
/* As new: line rate, nothing waits. */
void roce_cc_reset(struct roce_qp *qp);

/* A CNP for the QP came (ROCE-CC-5). */
void roce_cc_take_cnp(struct roce_qp *qp, uint64_t now_ns);

/* Whether the QP has a request or a READ response to hold back now; its timer then says when it may go. To be
 * asked by whoever has such a packet ready to build, and only then. */
bool roce_cc_must_wait(struct roce_qp *qp, uint64_t now_ns);
/* Such a packet was built. */
void roce_cc_sent(struct roce_qp *qp, uint32_t frame_bytes, uint64_t now_ns);

/* A packet waits for the pacing timer. */
static inline bool roce_cc_waits(const struct roce_qp *qp)
{
    return qp->cc && rdma_timer_armed(&qp->cc->pace);
}

/* About how long `pkts` packets take at the rate of now; 0: at line rate. */
static inline uint64_t roce_cc_pacing_ns(const struct roce_qp *qp, uint32_t pkts)
{
    return qp->cc && qp->cc->flow.is_limited ? pkts * qp->cc->gap_ns : 0;
}

/* --- cnp.c --- */
/* A packet came that is valid and marked: a CNP will leave (ROCE-CC-2), unless one did just now. */
void roce_cnp_note(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);
/* Builds a CNP that is due. False: none is. */
bool roce_cnp_tx(struct roce_qp *qp, struct roce_run *run);

#endif
