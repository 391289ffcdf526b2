/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic replay: the fields that differ, in text and JSON. */
#ifndef NORNIC_CLI_REPLAY_DIFFS_H
#define NORNIC_CLI_REPLAY_DIFFS_H

#include "cli/report/json.h"
#include "explain/replay/replay.h"

/* Adds the member "diffs" to `o`, which owns it. Of more than EXPLAIN_DIFFS_MAX the first stand in it. */
void cli_replay_add_diffs(struct json_object *o, const struct explain_field_diff *diffs, unsigned count);

/* To standard output, a line for each field. */
void cli_replay_print_diffs(const struct explain_field_diff *diffs, unsigned count);

#endif
