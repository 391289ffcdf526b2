/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages that an endpoint sent and got. */
#ifndef NORNIC_EXPLAIN_REPLAY_LEARN_MESSAGES_H
#define NORNIC_EXPLAIN_REPLAY_LEARN_MESSAGES_H

#include "explain/replay/learn/endpoint.h"

/* The PSNs that a READ of so many bytes takes (ROCE-RC-3). */
uint32_t explain_read_psns(uint32_t len_bytes, uint32_t pmtu_bytes);
int explain_learn_messages(const struct explain_tape *tape, const struct explain_endpoint *endpoint,
                           uint32_t qp, struct nornic_error *why);

#endif
