/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/iwarp.h"

#include <inttypes.h>

#include "base/base.h"
#include "explain/show/json_iwarp.h"
#include "nornic/addr.h"

static void put_crcs(struct explain_text *out, const uint64_t crcs[4])
{
    const char *part = " (CRC ";
    for (unsigned crc = 0; crc <= EXPLAIN_CRC_UNSEEN; crc++) {
        if (!crcs[crc])
            continue;
        explain_printf(out, "%s%s %" PRIu64, part, explain_crc_key(crc), crcs[crc]);
        part = ", ";
    }
    explain_put(out, *part == ',' ? ")" : "");
}

static void put_kinds(struct explain_text *out, const struct explain_iwarp_conn *c, unsigned side)
{
    const struct {
        uint64_t count;
        const char *word;
    } kinds[] = {{c->sends[side], "Send"},
                 {c->writes[side], "Write"},
                 {c->reads[side], "Read"},
                 {c->atomics[side], "atomic"},
                 {c->immediates[side], "Immediate"}};
    for (unsigned i = 0; i < array_len(kinds); i++)
        if (kinds[i].count)
            explain_printf(out, ", %" PRIu64 " %s%s", kinds[i].count, kinds[i].word,
                           plural_s(kinds[i].count));
}

static const char *end_of(const struct explain_iwarp_conn *c, unsigned side)
{
    return c->end[side].has_terminate ? "terminated"
           : c->end[side].has_rst     ? "aborted"
           : c->end[side].has_fin     ? "closed"
                                      : "open";
}

static void put_side(struct explain_text *out, const struct explain_iwarp_conn *c, unsigned side)
{
    explain_printf(out, "%s %" PRIu64 " FPDU%s", side ? "; back" : "; there", c->fpdus[side],
                   plural_s(c->fpdus[side]));
    put_crcs(out, c->crcs[side]);
    put_kinds(out, c, side);
    explain_printf(out, ", %" PRIu64 " byte%s, %s", c->bytes[side], plural_s(c->bytes[side]),
                   end_of(c, side));
    if (c->again_bytes[side])
        explain_printf(out, ", %" PRIu64 " byte%s sent again by TCP", c->again_bytes[side],
                       plural_s(c->again_bytes[side]));
    if (c->lost_bytes[side])
        explain_printf(out, ", %" PRIu64 " byte%s not in this capture", c->lost_bytes[side],
                       plural_s(c->lost_bytes[side]));
}

static void put_conn(struct explain_text *out, const struct explain_iwarp_conn *c)
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, "iWARP connection %" PRIu32 ": %s port %u > %s port %u", c->id,
                   nornic_addr_str(&c->addr[0], a), c->port[0], nornic_addr_str(&c->addr[1], b), c->port[1]);
    if (c->frame[0].is_there && c->frame[1].is_there && !c->is_refused)
        explain_printf(out, ", MPA revision %u, %s%s", c->frame[1].rev,
                       c->crc_use == EXPLAIN_CRCS_USED ? "CRC" : "no CRC",
                       c->frame[0].wants_markers || c->frame[1].wants_markers ? ", markers" : "");
    explain_put(out, c->is_refused ? ", refused" : c->is_older ? ", older than this capture" : "");
    for (unsigned side = 0; side < 2; side++)
        put_side(out, c, side);
    explain_put(out, "\n");
}

void cli_iwarp_sums(struct explain_text *out, const struct explain_analysis *analysis, bool is_json)
{
    uint32_t forgotten = explain_analysis_iwarp_forgotten(analysis);
    for (uint32_t i = 1; i <= explain_analysis_iwarp_conn_count(analysis); i++) {
        const struct explain_iwarp_conn *c = explain_analysis_iwarp_conn(analysis, i);
        if (c && is_json) {
            explain_put(out, "{\"iwarp_connection\":");
            explain_json_iwarp_conn(out, c);
            explain_put(out, "}\n");
        } else if (c) {
            put_conn(out, c);
        }
    }
    if (forgotten && is_json)
        explain_printf(out, "{\"iwarp_forgotten\":%" PRIu32 "}\n", forgotten);
    else if (forgotten)
        explain_printf(out,
                       "%" PRIu32 " iWARP connection%s forgotten for room, those first that were silent "
                       "longest\n",
                       forgotten, forgotten == 1 ? " was" : "s were");
}
