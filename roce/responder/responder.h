/* SPDX-License-Identifier: BSD-2-Clause */
/* What the responders of the connected services have in common: the checks of a request and its execution.
 * What comes of a fault is the service's own affair. Inside roce/ only. */
#ifndef NORNIC_ROCE_RESPONDER_H
#define NORNIC_ROCE_RESPONDER_H

#include "roce/qp/inner.h"

/* Why a request cannot be executed: what the peer is told, if the service tells it, and what a held receive
 * WQE completes with (ROCE-RS-15). syndrome 0: nothing is wrong. */
struct roce_fault {
    uint8_t syndrome;
    enum nornic_wc_status recv_status;
};

#define ROCE_FINE             ((struct roce_fault){0})
#define ROCE_BAD_REQUEST      ((struct roce_fault){ROCE_SYNDROME_NAK_INV_REQ, NORNIC_WC_LOC_QP_OP_ERR})
#define ROCE_BAD_ACCESS       ((struct roce_fault){ROCE_SYNDROME_NAK_REM_ACC, NORNIC_WC_LOC_ACCESS_ERR})
#define ROCE_BUFFER_TOO_SMALL ((struct roce_fault){ROCE_SYNDROME_NAK_INV_REQ, NORNIC_WC_LOC_LEN_ERR})
#define ROCE_BAD_SCATTER      ((struct roce_fault){ROCE_SYNDROME_NAK_REM_OP, NORNIC_WC_LOC_PROT_ERR})
#define ROCE_CQ_FULL          ((struct roce_fault){ROCE_SYNDROME_NAK_REM_OP, NORNIC_WC_LOC_QP_OP_ERR})
#define ROCE_BAD_INVALIDATE   ((struct roce_fault){ROCE_SYNDROME_NAK_REM_ACC, NORNIC_WC_LOC_QP_OP_ERR})

/* The packet with these `flags` may follow what came before: ROCE-RS-2. */
bool roce_responder_check_sequence(const struct roce_responder *resp, uint32_t flags);
/* The opcode is not reserved, and the QP's access flags allow the operation: ROCE-RS-3. */
bool roce_responder_check_enabled(const struct roce_qp *qp, uint32_t flags);
/* What a request reaches, found once for each packet: between the check and the use nothing else happens. */
struct roce_target {
    const struct rdma_pd *pd; /* that its keys are checked against: roce_xrc_select() */
    /* Where the WRITE's or atomic's first byte lies, once its key is found good. NULL: it names no memory. */
    uint8_t *at;
};

/* R_Key, PD, rights and range: ROCE-RS-5, RS-8, RS-48. Fills target->at. */
bool roce_responder_check_keys(const struct roce_qp *qp, const struct roce_pkt *pkt,
                               struct roce_target *target);
/* The packet's own length, the message's total, the room in the held receive WQE: ROCE-RS-6. */
struct roce_fault roce_responder_check_length(const struct roce_qp *qp, const struct roce_pkt *pkt);

/* Executes a SEND or WRITE packet that passed the checks: places its data, moves ePSN on, and ends the
 * message with its last packet (ROCE-RS-41..43). */
struct roce_fault roce_responder_execute(struct roce_qp *qp, const struct roce_pkt *pkt,
                                         const struct roce_target *target);

#endif
