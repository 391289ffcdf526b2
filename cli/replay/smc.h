/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic replay, the messages of SMC-R: told one by one, and summed up. */
#ifndef NORNIC_CLI_REPLAY_SMC_H
#define NORNIC_CLI_REPLAY_SMC_H

#include "cli/report/json.h"
#include "explain/replay/smc/replay.h"

void cli_replay_smc_text(const struct explain_smc_compared *c);
void cli_replay_smc_json(const struct explain_smc_compared *c);
/* Nothing is said of a capture without SMC-R. */
void cli_replay_smc_sum_text(const struct explain_smc_replay_result *r);
/* Adds the member "smc" to the last object. */
void cli_replay_smc_sum_json(struct json_object *o, const struct explain_smc_replay_result *r);
/* How many messages make the replay fail. */
uint64_t cli_replay_smc_failures(const struct explain_smc_replay_result *r);

#endif
