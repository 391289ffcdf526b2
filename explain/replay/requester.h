/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester of a replay. */
#ifndef NORNIC_EXPLAIN_REPLAY_REQUESTER_H
#define NORNIC_EXPLAIN_REPLAY_REQUESTER_H

#include "explain/replay/types.h"

int explain_replay_request_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p);
void explain_replay_response_got(struct replay *r, struct replay_qp *q, const struct explain_packet *p);

#endif
