/* SPDX-License-Identifier: BSD-2-Clause */
/* The processes that have devices of the verbs libraries open. */
#ifndef NORNIC_CLI_STAT_VERBS_H
#define NORNIC_CLI_STAT_VERBS_H

#include <json-c/json.h>

/* Those of this network namespace that answer: an array of objects with pid, program, user and what
 * verbs/show/show.h says, in the order of their pids; json_object_put() it. `*hidden`: how many belong to users
 * whom this one may not look at; `*silent`: how many gave no answer. */
struct json_object *stat_verbs_collect(unsigned *hidden, unsigned *silent);

/* Prints one of them. */
void stat_verbs_print(struct json_object *process);

#endif
