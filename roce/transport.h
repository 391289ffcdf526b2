/* SPDX-License-Identifier: BSD-2-Clause */
/* What the services do differently: one table a service. Inside roce/ only. */
#ifndef NORNIC_ROCE_TRANSPORT_H
#define NORNIC_ROCE_TRANSPORT_H

#include "roce/qp.h"

struct roce_transport {
    uint8_t service; /* bits 7:5 of its opcodes: ROCE-OPC-1 */
    bool connected;  /* it has one peer, whose addresses every packet bears: ROCE-RX-15 */
    /* Takes a packet that passed ROCE sections 6.1 and 6.2. */
    enum roce_rx_verdict (*rx)(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns);
    /* Builds the next packet. False: nothing may be sent now. */
    bool (*tx)(struct roce_qp *qp, struct net_frame *frame, uint64_t now_ns);
};

/* NULL: a service that is not offered. */
const struct roce_transport *roce_transport_of(enum roce_qp_type type);

extern const struct roce_transport roce_rc;

#endif
