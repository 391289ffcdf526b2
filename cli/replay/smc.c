/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/replay/smc.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "cli/replay/diffs.h"

void cli_replay_smc_text(const struct explain_smc_compared *c)
{
    printf("%s#%" PRIu64 "  ", c->number ? "" : "after ", c->number ? c->number : c->cause);
    if (c->link)
        printf("link %u  ", c->link);
    if (c->connection)
        printf("connection %u  ", c->connection);
    printf("%s: %s\n", c->message, explain_smc_replay_outcome_of(c->outcome)->words);
    cli_replay_print_diffs(c->diffs, c->diff_count);
}

void cli_replay_smc_json(const struct explain_smc_compared *c)
{
    struct json_object *o = json_object_new_object();
    if (c->number)
        cli_json_add_count(o, "n", c->number);
    cli_json_add_count(o, "after", c->cause);
    cli_json_add_text(o, "outcome", explain_smc_replay_outcome_of(c->outcome)->key);
    cli_json_add_text(o, "message", c->message);
    if (c->link)
        cli_json_add_count(o, "link", c->link);
    if (c->connection)
        cli_json_add_count(o, "connection", c->connection);
    cli_replay_add_diffs(o, c->diffs, c->diff_count);
    cli_json_print(o);
}

uint64_t cli_replay_smc_failures(const struct explain_smc_replay_result *r)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT; i++)
        n += explain_smc_replay_outcome_of(i)->fails ? r->outcomes[i] : 0;
    return n;
}

void cli_replay_smc_sum_text(const struct explain_smc_replay_result *r)
{
    if (r->connections)
        printf("  SMC-R: %u connection%s, %u link%s, %u port%s; %" PRIu64 " byte%s written, %" PRIu64
               " read; %s\n",
               r->connections, plural_s(r->connections), r->links, plural_s(r->links), r->ports,
               plural_s(r->ports), r->written, plural_s(r->written), r->read,
               cli_replay_smc_failures(r) ? "DIFFERENT" : "equal");
    for (unsigned i = 0; i < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT; i++)
        if (r->outcomes[i])
            printf("  %8" PRIu64 "  message%s of SMC-R: %s\n", r->outcomes[i], plural_s(r->outcomes[i]),
                   explain_smc_replay_outcome_of(i)->words);
    if (r->version_2)
        printf("  %8u  of these connections by SMC-R version 2\n", r->version_2);
    if (r->older)
        printf("  %8u  connection%s of SMC-R whose link group is older than the capture: left out, but for "
               "the packets\n",
               r->older, plural_s(r->older));
}

void cli_replay_smc_sum_json(struct json_object *o, const struct explain_smc_replay_result *r)
{
    struct json_object *smc = json_object_new_object(), *counts = json_object_new_object();
    for (unsigned i = 0; i < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT; i++)
        cli_json_add_count(counts, explain_smc_replay_outcome_of(i)->key, r->outcomes[i]);
    json_object_object_add(smc, "outcomes", counts);
    cli_json_add_count(smc, "fed", r->fed);
    cli_json_add_count(smc, "connections", r->connections);
    cli_json_add_count(smc, "links", r->links);
    cli_json_add_count(smc, "ports", r->ports);
    cli_json_add_count(smc, "written_bytes", r->written);
    cli_json_add_count(smc, "read_bytes", r->read);
    cli_json_add_count(smc, "version_2_connections", r->version_2);
    cli_json_add_count(smc, "older_connections", r->older);
    json_object_object_add(o, "smc", smc);
}
