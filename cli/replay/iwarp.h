/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic replay, the messages of iWARP: told one by one, and summed up. */
#ifndef NORNIC_CLI_REPLAY_IWARP_H
#define NORNIC_CLI_REPLAY_IWARP_H

#include "cli/report/json.h"
#include "explain/replay/iwarp/replay.h"

void cli_replay_iwarp_text(const struct explain_iwarp_compared *c);
void cli_replay_iwarp_json(const struct explain_iwarp_compared *c);
/* Nothing is said of a capture without iWARP. */
void cli_replay_iwarp_sum_text(const struct explain_iwarp_replay_result *r);
/* Adds the member "iwarp" to the last object. */
void cli_replay_iwarp_sum_json(struct json_object *o, const struct explain_iwarp_replay_result *r);
/* How many messages make the replay fail. */
uint64_t cli_replay_iwarp_failures(const struct explain_iwarp_replay_result *r);

#endif
