/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/flows.h"

#include "explain/show/flow_line.h"
#include "explain/show/json.h"

void cli_flows(struct cli_output *to, struct explain_text *out, const struct explain_analysis *analysis,
               bool is_json)
{
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++) {
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        uint32_t is = explain_analysis_flow_is(analysis, i).flow;
        if (is != i && is_json) {
            explain_printf(out, "{\"same_flow\":{\"index\":%u,\"is\":%u}}\n", i, is);
        } else if (is != i) {
            explain_printf(out, "flow %u is flow %u, as answers show\n", i, is);
        } else if (f && is_json) {
            explain_put(out, "{\"flow\":");
            explain_json_flow(out, f, i);
            explain_put(out, "}\n");
        } else if (f) {
            explain_flow_line(out, f, i);
        }
        cli_output_pass(to, out);
    }
}

void cli_flows_forgotten(struct explain_text *out, const struct explain_analysis *analysis, bool is_json)
{
    const struct explain_forgotten *g = explain_analysis_forgotten(analysis);
    if (g->count && is_json)
        explain_printf(out, "{\"forgotten\":{\"flows\":%u,\"first\":%u,\"last\":%u}}\n", g->count, g->first,
                       g->last);
    else if (g->count)
        explain_printf(
            out,
            "%u of the flows %u to %u were forgotten for room, those first that were silent longest: what "
            "came of them later counts as new flows\n",
            g->count, g->first, g->last);
}

void cli_flows_count(struct explain_text *out, uint64_t packets, const struct explain_analysis *analysis,
                     const uint64_t findings[3], bool is_strict)
{
    explain_put_counted(out, "", packets, "packet");
    explain_put_counted(out, ", ", explain_analysis_flow_total(analysis), "flow");
    explain_put_counted(out, "; ", findings[2], is_strict ? "violation" : "error");
    explain_put_counted(out, ", ", findings[1], "warning");
    explain_put_counted(out, ", ", findings[0], "note");
    explain_put(out, "\n");
}
