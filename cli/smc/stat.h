/* SPDX-License-Identifier: BSD-2-Clause */
/* What `nornic smc stat` got from the processes, and how it is printed. */
#ifndef NORNIC_CLI_SMC_STAT_H
#define NORNIC_CLI_SMC_STAT_H

#include <json-c/json.h>
#include <stdint.h>
#include <stdio.h>

/* The object of one process, as sock/stat/json.h has it; json_object_put() it. NULL: `*why` says in a
 * sentence's end. */
struct json_object *smc_stat_ask(unsigned pid, const char **why);

/* Array of the objects of all processes that answer, or of process `pid` (0: all), in order of their ids.
 * `*hidden`: how many belong to other users. Removes the sockets of processes that are gone. */
struct json_object *smc_stat_collect(unsigned pid, unsigned *hidden);

/* Prints one process. `before` is the same some `seconds` ago, for rates; or NULL. */
void smc_stat_print(FILE *out, struct json_object *process, struct json_object *before, double seconds);

#endif
