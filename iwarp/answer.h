/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer's READs and atomics, from the request to the answer. Inside the engine only. */
#ifndef NORNIC_IWARP_ANSWER_H
#define NORNIC_IWARP_ANSWER_H

#include "iwarp/fail.h"

/* A whole RDMA Read Request or Atomic Request, in its turn. IWARP_TERM_NONE or the error. */
uint16_t iwarp_take_read_request(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu);
uint16_t iwarp_take_atomic_request(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu);

/* Makes at most one segment of what is owed. False: nothing is, or the stream is being terminated. */
bool iwarp_answer_emit(struct iwarp_qp *qp);

#endif
