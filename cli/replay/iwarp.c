/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/replay/iwarp.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "cli/replay/diffs.h"

void cli_replay_iwarp_text(const struct explain_iwarp_compared *c)
{
    printf("%s#%" PRIu64 "  connection %u  %s: %s\n", c->number ? "" : "after ",
           c->number ? c->number : c->cause, c->connection, c->message,
           explain_iwarp_replay_outcome_of(c->outcome)->words);
    cli_replay_print_diffs(c->diffs, c->diff_count);
}

void cli_replay_iwarp_json(const struct explain_iwarp_compared *c)
{
    struct json_object *o = json_object_new_object();
    if (c->number)
        cli_json_add_count(o, "n", c->number);
    cli_json_add_count(o, "after", c->cause);
    cli_json_add_text(o, "outcome", explain_iwarp_replay_outcome_of(c->outcome)->key);
    cli_json_add_text(o, "message", c->message);
    cli_json_add_count(o, "connection", c->connection);
    cli_replay_add_diffs(o, c->diffs, c->diff_count);
    cli_json_print(o);
}

uint64_t cli_replay_iwarp_failures(const struct explain_iwarp_replay_result *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT; i++)
        n += explain_iwarp_replay_outcome_of(i)->fails ? r->outcomes[i] : 0;
    return n;
}

void cli_replay_iwarp_sum_text(const struct explain_iwarp_replay_result *r)
{
    if (r->connections)
        printf("  iWARP: %u connection%s, %" PRIu64 " work request%s; %" PRIu64 " frames and FPDUs in; %s\n",
               r->connections, plural_s(r->connections), r->work_requests, plural_s(r->work_requests), r->fed,
               cli_replay_iwarp_failures(r) ? "DIFFERENT" : "equal");
    for (unsigned i = 0; i < EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT; i++)
        if (r->outcomes[i])
            printf("  %8" PRIu64 "  message%s of iWARP: %s\n", r->outcomes[i], plural_s(r->outcomes[i]),
                   explain_iwarp_replay_outcome_of(i)->words);
    if (r->left_out)
        printf("  %8u  connection%s of iWARP left out: with markers, or without an MPA frame of this end\n",
               r->left_out, plural_s(r->left_out));
}

void cli_replay_iwarp_sum_json(struct json_object *o, const struct explain_iwarp_replay_result *r)
{
    struct json_object *iwarp = json_object_new_object(), *counts = json_object_new_object();
    for (unsigned i = 0; i < EXPLAIN_IWARP_REPLAY_OUTCOME_COUNT; i++)
        cli_json_add_count(counts, explain_iwarp_replay_outcome_of(i)->key, r->outcomes[i]);
    json_object_object_add(iwarp, "outcomes", counts);
    cli_json_add_count(iwarp, "fed", r->fed);
    cli_json_add_count(iwarp, "work_requests", r->work_requests);
    cli_json_add_count(iwarp, "connections", r->connections);
    cli_json_add_count(iwarp, "left_out", r->left_out);
    json_object_object_add(o, "iwarp", iwarp);
}
