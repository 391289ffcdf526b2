/* SPDX-License-Identifier: BSD-2-Clause */
/* Building and printing JSON objects with json-c. */
#ifndef NORNIC_CLI_REPORT_JSON_H
#define NORNIC_CLI_REPORT_JSON_H

#include <json-c/json.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/histogram.h"

/* Adds a member. `object` keeps it; `text` (may be NULL: "") is copied. */
void cli_json_add_text(struct json_object *object, const char *key, const char *text);
void cli_json_add_count(struct json_object *object, const char *key, uint64_t value);
void cli_json_add_real(struct json_object *object, const char *key, double value); /* 3 decimals */

/* Adds a histogram of nanoseconds as microseconds: {"min","median","p99","p99_9","max"}. */
void cli_json_add_usec(struct json_object *object, const char *key, const struct histogram *h);

/* Reads one object from a stream, for at most `limit_ns` and `max_bytes` in all. json_object_put() it. NULL:
 * none came, or what came is none. */
struct json_object *cli_json_read(int fd, size_t max_bytes, uint64_t limit_ns);

/* Member `key` where it is a string, else "": also of null or of what is no object. `object` owns it. */
const char *cli_json_text(struct json_object *object, const char *key);

/* Member `key` as a number, 0 where there is none. */
uint64_t cli_json_count(struct json_object *object, const char *key);

/* How many elements `array` has; 0 where it is none. */
size_t cli_json_length(struct json_object *array);

/* What another process said is made fit for a terminal: what is not printable ASCII becomes `?`. As
 * cli_json_text(), and in the object, too; and a text of any origin, on standard output. */
const char *cli_json_plain(struct json_object *object, const char *key);
void cli_json_put_plain(const char *text);

/* Writes the object, with json-c's `flags`, as one line of valid UTF-8, whatever its strings hold. False: no
 * memory. */
bool cli_json_write(FILE *to, struct json_object *object, int flags);
/* Prints `object` as one line on standard output and lets it go. */
void cli_json_print(struct json_object *object);

#endif
