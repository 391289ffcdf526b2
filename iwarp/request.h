/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue on the wire, and the answers to it. Inside the engine only. */
#ifndef NORNIC_IWARP_REQUEST_H
#define NORNIC_IWARP_REQUEST_H

#include "iwarp/fail.h"

/* Makes at most one segment of what is posted. False: there is nothing, it has to wait (for a credit, or a
 * fence: IWARP-FLOW-01, IWARP-ORD-07), or it has failed and the stream is being terminated. */
bool iwarp_request_emit(struct iwarp_qp *qp);

/* The initiator's first message, where the set-up agreed on one (IWARP-ECE-06..08). */
void iwarp_rtr_emit(struct iwarp_qp *qp);

/* An empty Write to a peer that may not have seen what came first: IWARP_NUDGE_NS. */
void iwarp_nudge_emit(struct iwarp_qp *qp);

/* A segment of an RDMA Read Response or an Atomic Response, whose headers were checked so far that they are
 * there. IWARP_TERM_NONE or the error. */
uint16_t iwarp_take_read_response(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu);
uint16_t iwarp_take_atomic_response(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu);

#endif
