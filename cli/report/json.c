/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/report/json.h"

#include <stdio.h>

void cli_json_add_text(struct json_object *object, const char *key, const char *text)
{
    json_object_object_add(object, key, json_object_new_string(text ? text : ""));
}

void cli_json_add_count(struct json_object *object, const char *key, uint64_t value)
{
    json_object_object_add(object, key, json_object_new_uint64(value));
}

void cli_json_add_real(struct json_object *object, const char *key, double value)
{
    char text[64];
    snprintf(text, sizeof text, "%.3f", value);
    json_object_object_add(object, key, json_object_new_double_s(value, text));
}

void cli_json_add_usec(struct json_object *object, const char *key, const struct histogram *h)
{
    struct json_object *o = json_object_new_object();
    cli_json_add_real(o, "min", (double)h->min / 1e3);
    cli_json_add_real(o, "median", (double)histogram_quantile(h, 0.5) / 1e3);
    cli_json_add_real(o, "p99", (double)histogram_quantile(h, 0.99) / 1e3);
    cli_json_add_real(o, "p99_9", (double)histogram_quantile(h, 0.999) / 1e3);
    cli_json_add_real(o, "max", (double)h->max / 1e3);
    json_object_object_add(object, key, o);
}

void cli_json_print(struct json_object *object)
{
    puts(json_object_to_json_string_ext(object, JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
    json_object_put(object);
}
