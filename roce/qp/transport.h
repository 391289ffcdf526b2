/* SPDX-License-Identifier: BSD-2-Clause */
/* What the services do differently: one table a service. Inside roce/ only. */
#ifndef NORNIC_ROCE_TRANSPORT_H
#define NORNIC_ROCE_TRANSPORT_H

#include "roce/qp/inner.h"

struct roce_transport {
    uint8_t service;        /* bits 7:5 of its opcodes: ROCE-OPC-1 */
    bool is_connected;      /* it has one peer, whose addresses every packet bears: ROCE-RX-15 */
    bool has_sqe;           /* a failed send stops the send queue only, the responder goes on: ROCE-RC-64 */
    uint64_t sends;         /* RDMA_SENDS(): which requests its send queue takes, ROCE section 11.3 */
    struct rdma_qp_ops ops; /* for the neutral half of the QP */
    /* Takes a packet that passed ROCE sections 6.1 and 6.2. */
    enum roce_rx_verdict (*rx)(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);
    /* Adds the next packet to the run. False: nothing may be sent now, or nothing that continues the run,
     * which an empty one tells apart. */
    bool (*tx)(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns);
};

/* What both reliable and unreliable connections take. */
#define ROCE_SENDS_CONNECTED                                                                              \
    (RDMA_SENDS(NORNIC_WR_RDMA_WRITE) | RDMA_SENDS(NORNIC_WR_RDMA_WRITE_WITH_IMM) |                       \
     RDMA_SENDS(NORNIC_WR_SEND) | RDMA_SENDS(NORNIC_WR_SEND_WITH_IMM) | RDMA_SENDS(NORNIC_WR_LOCAL_INV) | \
     RDMA_SENDS(NORNIC_WR_BIND_MW) | RDMA_SENDS(NORNIC_WR_REG_MR))

/* NULL: a service that is not offered. */
const struct roce_transport *roce_transport_of(enum nornic_qp_type type);

extern const struct roce_transport roce_rc, roce_xrc_ini, roce_xrc_tgt, roce_uc, roce_ud, roce_gsi;

#endif
