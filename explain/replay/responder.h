/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder of a replay. */
#ifndef NORNIC_EXPLAIN_REPLAY_RESPONDER_H
#define NORNIC_EXPLAIN_REPLAY_RESPONDER_H

#include "explain/replay/types.h"

int explain_replay_request_got(struct replay *r, struct replay_qp *q, size_t i,
                               const struct explain_packet *p);
void explain_replay_response_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
void explain_replay_responder_end(struct replay *r, struct replay_qp *q);

#endif
