/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/replay/diffs.h"

#include <stdio.h>

void cli_replay_add_diffs(struct json_object *o, const struct explain_field_diff *diffs, unsigned count)
{
    struct json_object *list = json_object_new_array();
    for (unsigned i = 0; i < count && i < EXPLAIN_DIFFS_MAX; i++) {
        struct json_object *d = json_object_new_object();
        cli_json_add_text(d, "layer", diffs[i].layer);
        cli_json_add_text(d, "field", diffs[i].field);
        cli_json_add_text(d, "recorded", diffs[i].recorded);
        cli_json_add_text(d, "engine", diffs[i].engine);
        json_object_array_add(list, d);
    }
    json_object_object_add(o, "diffs", list);
}

void cli_replay_print_diffs(const struct explain_field_diff *diffs, unsigned count)
{
    for (unsigned i = 0; i < count && i < EXPLAIN_DIFFS_MAX; i++)
        printf("      %s.%s: recorded %s, engine %s\n", diffs[i].layer, diffs[i].field, diffs[i].recorded,
               diffs[i].engine);
}
