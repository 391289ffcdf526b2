/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways out of RTS. What fails calls these, and they lean on none of it. Inside the engine only. */
#ifndef NORNIC_IWARP_FAIL_H
#define NORNIC_IWARP_FAIL_H

#include "iwarp/qp.h"

/* No error: what the steps of the sink return where none is. */
#define IWARP_TERM_NONE 0xffffu

/* Return the code of the Terminate for an access that rdma_mr_remote() refused: in a tagged segment
 * (IWARP-DDP-23..27), or in an RDMA Read or Atomic Request (IWARP-RDMAP-12). */
uint16_t iwarp_fault_of_tagged(enum rdma_remote_fault fault);
uint16_t iwarp_fault_of_request(enum rdma_remote_fault fault);

/* Both queues are flushed, and posts from now on (IWARP-CONN-03, -04). */
void iwarp_stop_work(struct iwarp_qp *qp);

/* This side ends the stream by a Terminate; the first one counts. `segment` is what caused it, with its
 * DDP header and for a Read Request its header, or NULL; it gives the Terminate its headers where the
 * code has any (IWARP-RDMAP-29..32, IWARP-ATOM-11). */
void iwarp_terminate(struct iwarp_qp *qp, uint16_t code, const struct iwarp_ulpdu *segment);

/* The same for the work request at index `wqe`, which fails with `status`. Those before it are complete,
 * unless they wait for an answer (IWARP-RDMAP-34). */
void iwarp_fail_request(struct iwarp_qp *qp, uint32_t wqe, enum nornic_wc_status status, uint16_t code,
                        const struct iwarp_ulpdu *segment);

/* Completes the oldest request of which TCP has not taken all with `status`, and those before it as
 * iwarp_fail_request() does. There is such a request. */
void iwarp_fail_untaken(struct iwarp_qp *qp, enum nornic_wc_status status);

/* The stream is over, without a word to the peer. */
void iwarp_drop(struct iwarp_qp *qp, enum iwarp_tcp tcp);

/* Completes what has become complete, in order (IWARP-ORD-03). */
void iwarp_complete_ready(struct iwarp_qp *qp);

#endif
