/* SPDX-License-Identifier: BSD-2-Clause */
/* Building and printing JSON objects with json-c. */
#ifndef NORNIC_CLI_REPORT_JSON_H
#define NORNIC_CLI_REPORT_JSON_H

#include <json-c/json.h>
#include <stdint.h>

#include "base/histogram.h"

/* Adds a member. `object` keeps it; `text` (may be NULL: "") is copied. */
void cli_json_add_text(struct json_object *object, const char *key, const char *text);
void cli_json_add_count(struct json_object *object, const char *key, uint64_t value);
void cli_json_add_real(struct json_object *object, const char *key, double value); /* 3 decimals */

/* Adds a histogram of nanoseconds as microseconds: {"min","median","p99","p99_9","max"}. */
void cli_json_add_usec(struct json_object *object, const char *key, const struct histogram *h);

/* Prints `object` as one line on standard output and lets it go. */
void cli_json_print(struct json_object *object);

#endif
