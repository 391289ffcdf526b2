/* SPDX-License-Identifier: BSD-2-Clause */
/* A Terminate that came. Inside the engine only. */
#ifndef NORNIC_IWARP_TERM_RX_H
#define NORNIC_IWARP_TERM_RX_H

#include "iwarp/fail.h"

/* Ends the stream as the peer says: the work that it names fails, the rest is flushed, nothing is answered
 * (IWARP-RDMAP-35). `bytes` is what follows the DDP header; fewer than IWARP_TERM_BYTES: it says nothing but
 * that the stream is over. */
void iwarp_take_terminate(struct iwarp_qp *qp, const uint8_t *bytes, uint32_t len_bytes);

#endif
