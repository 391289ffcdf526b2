/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command printed for scripts. */
#ifndef NORNIC_TEST_SUPPORT_JSON_H
#define NORNIC_TEST_SUPPORT_JSON_H

#include <json-c/json.h>
#include <stdint.h>

/* A member that must be there. */
struct json_object *json_member(struct json_object *o, const char *key);
/* And is a number that is never negative. */
uint64_t json_count(struct json_object *o, const char *key);

#endif
