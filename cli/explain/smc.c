/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/smc.h"

#include <inttypes.h>

#include "base/base.h"
#include "explain/show/json.h"
#include "nornic/addr.h"

/* Each side chooses the link that it writes over (SMCR-ARC-25); mostly both go the same way. */
static void put_moves(struct explain_text *out, const struct explain_smc_conn *c)
{
    uint64_t again = c->replayed_bytes[0] + c->replayed_bytes[1];
    bool is_one = c->moves[0] == 1 && c->moves[1] == 1 && c->moved_from[0] == c->moved_from[1] &&
                  c->moved_to[0] == c->moved_to[1];
    for (unsigned side = is_one; side < 2; side++) {
        if (!c->moves[side])
            continue;
        explain_printf(out, "; %smoved ", is_one ? "" : side ? "the server's side " : "the client's side ");
        if (c->moves[side] > 1)
            explain_printf(out, "%" PRIu64 " times, at last ", c->moves[side]);
        explain_printf(out, "from link %u to %u", c->moved_from[side], c->moved_to[side]);
    }
    if (again)
        explain_printf(out, ", %" PRIu64 " byte%s written again", again, plural_s(again));
}

static void put_conn(struct explain_text *out, const struct explain_smc_conn *c)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "SMC-R connection %u of group %u: %s port %u > %s port %u", c->id, c->group,
                   nornic_addr_str(&c->addr[0], a), c->port[0], nornic_addr_str(&c->addr[1], b), c->port[1]);
    for (unsigned side = 0; side < 2; side++)
        explain_printf(out, "%s %" PRIu64 " byte%s, %" PRIu64 " CDC, %" PRIu64 " wrap%s, %s",
                       side ? "; back" : "; there", c->bytes[side], plural_s(c->bytes[side]),
                       c->messages[side], c->wraps[side], plural_s(c->wraps[side]),
                       c->is_aborted[side]  ? "aborted"
                       : c->is_closed[side] ? "closed"
                       : c->is_done[side]   ? "done sending"
                                            : "open");
    put_moves(out, c);
    explain_put(out, "\n");
}

static void put_group(struct explain_text *out, const struct explain_smc_group *g)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "SMC-R group %u, version %u: %s with %s; %u link%s, %u active, %u gone; ", g->id,
                   g->version, nornic_addr_str(&g->gid[0], a), nornic_addr_str(&g->gid[1], b), g->links,
                   plural_s(g->links), g->links_active, g->links_gone);
    if (g->rmbs[0] == g->rmbs[1])
        explain_printf(out, "%u RMB%s each; ", g->rmbs[0], plural_s(g->rmbs[0]));
    else
        explain_printf(out, "%u RMB%s of the client, %u of the server; ", g->rmbs[0], plural_s(g->rmbs[0]),
                       g->rmbs[1]);
    explain_printf(out, "%u connection%s%s\n", g->conns, plural_s(g->conns), g->has_ended ? "; ended" : "");
}

void cli_smc_sums(struct explain_text *out, const struct explain_analysis *analysis, bool is_json)
{
    for (uint32_t i = 1; i <= explain_analysis_smc_group_count(analysis); i++) {
        const struct explain_smc_group *g = explain_analysis_smc_group(analysis, i);
        if (g && is_json) {
            explain_put(out, "{\"smc_group\":");
            explain_json_smc_group(out, g);
            explain_put(out, "}\n");
        } else if (g) {
            put_group(out, g);
        }
    }
    for (uint32_t i = 1; i <= explain_analysis_smc_conn_count(analysis); i++) {
        const struct explain_smc_conn *c = explain_analysis_smc_conn(analysis, i);
        if (c && is_json) {
            explain_put(out, "{\"smc_connection\":");
            explain_json_smc_conn(out, c);
            explain_put(out, "}\n");
        } else if (c) {
            put_conn(out, c);
        }
    }
}
