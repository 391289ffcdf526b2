/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/json.h"

#include <criterion/criterion.h>

struct json_object *json_member(struct json_object *o, const char *key)
{
    struct json_object *found;
    cr_assert(json_object_object_get_ex(o, key, &found), "there is no %s in %s", key,
              json_object_to_json_string(o));
    return found;
}

uint64_t json_count(struct json_object *o, const char *key)
{
    return json_object_get_uint64(json_member(o, key));
}
