/* SPDX-License-Identifier: BSD-2-Clause */
/* The tables that the page decodes by, as JSON: they are made from the lists of fields themselves. No text in
 * them comes from a capture. */
#include <inttypes.h>
#include <string.h>

#include "base/base.h"
#include "explain/packet/registry.h"
#include "explain/page/inside.h"
#include "explain/show/advice.h"
#include "explain/show/json.h"
#include "explain/show/json_iwarp.h"
#include "roce/counters.h"
#include "roce/opcode.h"

#define NAMES_MAX_BITS 16 /* fields with names for their values are not wider */

static void put_name(struct explain_text *out, const char *name)
{
    if (name)
        explain_put_quoted(out, name);
    else
        explain_put(out, "null");
}

/* The name of the last value stands under "*" for all that are not listed; null: no name. */
static void put_names(struct explain_text *out, const struct net_field *field)
{
    uint64_t last = field->width_bits <= NAMES_MAX_BITS ? (UINT64_C(1) << field->width_bits) - 1 : 0;
    const char *rest = field->value_name(last);
    explain_put(out, "{\"*\":");
    put_name(out, rest);
    for (uint64_t value = 0; value < last; value++) {
        const char *name = field->value_name(value);
        if (name == rest || (name && rest && strcmp(name, rest) == 0))
            continue;
        explain_put_value(out, ",\"", value);
        explain_put(out, "\":");
        put_name(out, name);
    }
    explain_put(out, "}");
}

/* [name, first bit, width, form, rule, names]: what is missing at the end is not written. */
static void put_field(struct explain_text *out, enum explain_layer_id layer, const struct net_field *field)
{
    const char *rule = explain_field_rule(layer, field);
    explain_put(out, "[");
    explain_put_quoted(out, field->name);
    explain_put_value(out, ",", field->first_bit);
    explain_put_value(out, ",", field->width_bits);
    explain_put_value(out, ",", explain_field_form(layer, field));
    explain_put(out, ",");
    explain_put_quoted(out, rule ? rule : "");
    if (field->value_name) {
        explain_put(out, ",");
        put_names(out, field);
    }
    explain_put(out, "]");
}

static void put_headers(struct explain_text *out)
{
    explain_put(out, "\"headers\":{");
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++) {
        explain_put(out, k == explain_layer_kinds ? "" : ",\n");
        explain_put_quoted(out, k->key);
        explain_put(out, ":{\"words\":");
        explain_put_quoted(out, k->words);
        explain_printf(out, ",\"bytes\":%u,\"fields\":[", k->header->len_bytes);
        for (unsigned i = 0; i < k->header->field_count; i++) {
            explain_put(out, i ? "," : "");
            put_field(out, k->id, &k->header->fields[i]);
        }
        explain_put(out, "]}");
    }
    explain_put(out, "}");
}

void explain_html_put_tables(struct explain_text *out)
{
    put_headers(out);
    explain_put(out, ",\n\"findings\":[");
    for (unsigned i = 0; i < EXPLAIN_FINDING_COUNT; i++) {
        enum explain_finding_kind kind = (enum explain_finding_kind)i;
        const char *advice = explain_advice(kind, EXPLAIN_CAUSE_NONE);
        explain_printf(out, "%s[\"%s\",%d,\"%s\",\"%s\"]", i ? "," : "", explain_finding_key(kind),
                       explain_finding_severity(kind), explain_finding_words(kind), advice ? advice : "");
    }
    explain_put(out, "],\n\"causes\":[");
    for (unsigned i = 0; i < EXPLAIN_CAUSE_COUNT; i++) {
        enum explain_cause cause = (enum explain_cause)i;
        const char *advice = explain_advice(EXPLAIN_FIND_CUT, cause);
        explain_printf(out, "%s[\"%s\",\"%s\",\"%s\"]", i ? "," : "", explain_cause_key(cause),
                       explain_cause_words(cause), advice ? advice : "");
    }
    explain_put(out, "],\n\"verdicts\":[");
    for (unsigned i = 0; i < ROCE_RX_VERDICT_COUNT; i++)
        explain_printf(out, "%s\"%s\"", i ? "," : "", roce_verdict_counter_name((enum roce_rx_verdict)i));
    explain_put(out, "]");
}

/* {"ROCE-RS-11":["RNR NAK","Where no receive ...","IBA 9.7.5.2.8"],...} */
void explain_html_put_rules(struct explain_text *out, const struct explain_glossary *named)
{
    struct explain_glossary all = *named;
    const char *comma = "";
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        for (unsigned i = 0; i < k->header->field_count; i++) {
            const char *rule = explain_field_rule(k->id, &k->header->fields[i]);
            explain_glossary_add(&all, rule ? rule : "");
        }
    explain_glossary_add(&all, "ROCE-ICRC-7"); /* which the page names by itself */
    explain_put(out, "\"rules\":{");
    for (unsigned i = 0; i < all.count; i++) {
        struct explain_rule rule;
        if (!explain_rule_find(all.ids[i], &rule))
            continue;
        const char *const parts[] = {rule.id, rule.name, rule.text, rule.source};
        static const char *const marks[] = {":[", ",", ",", "]"};
        explain_put(out, comma);
        for (unsigned p = 0; p < array_len(parts); p++) {
            explain_put_quoted(out, parts[p]);
            explain_put(out, marks[p]);
        }
        comma = ",\n";
    }
    explain_put(out, "}");
}

static void put_pair(struct explain_text *out, const char *key, const uint64_t pair[2])
{
    explain_printf(out, ",\"%s\":[", key);
    explain_put_u64(out, pair[0]);
    explain_put_value(out, ",", pair[1]);
    explain_put(out, "]");
}

static const char *service_name(uint8_t service)
{
    switch ((enum roce_service)service) {
    case ROCE_SERVICE_RC:
        return "RC";
    case ROCE_SERVICE_UC:
        return "UC";
    case ROCE_SERVICE_RD:
        return "RD";
    case ROCE_SERVICE_UD:
        return "UD";
    case ROCE_SERVICE_CNP:
        return "CNP";
    case ROCE_SERVICE_XRC:
        return "XRC";
    case ROCE_SERVICE_VENDOR:
        return "RC";
    }
    return "?";
}

/* Flows that showed to be others: [index, index of the other, 1 where its direction 0 is the other's 1]. */
static void put_same(struct explain_text *out, const struct explain_analysis *analysis)
{
    const char *comma = "";
    explain_put(out, "],\n\"same\":[");
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++) {
        struct explain_same same = explain_analysis_flow_is(analysis, i);
        if (same.flow == i)
            continue;
        explain_printf(out, "%s[%u,%u,%d]", comma, i, same.flow, same.is_turned);
        comma = ",";
    }
}

void explain_html_put_flows(struct explain_text *out, const struct explain_analysis *analysis)
{
    const char *comma = "";
    explain_put(out, "\"flows\":[");
    for (uint32_t i = 1; i <= explain_analysis_flow_count(analysis); i++) {
        const struct explain_flow *f = explain_analysis_flow(analysis, i);
        char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
        if (!f)
            continue;
        explain_printf(out, "%s{\"flow\":%u,\"addr\":[\"%s\",\"%s\"],\"qpn\":[%u,%u]", comma, i,
                       nornic_addr_str(&f->addr[0], a), nornic_addr_str(&f->addr[1], b), f->qpn[0],
                       f->qpn[1]);
        if (f->network.tunnel != EXPLAIN_TUNNEL_NONE)
            explain_printf(out, ",\"network\":\"%s\"", explain_network_text(&f->network, a, sizeof a));
        explain_printf(out, ",\"service\":\"%s\",\"pmtu\":%u", service_name(f->service), f->pmtu_bytes);
        if (f->skew_ns)
            explain_printf(out, ",\"skew_ns\":%" PRIu64, f->skew_ns);
        put_pair(out, "packets", f->packets);
        put_pair(out, "bytes", f->bytes);
        put_pair(out, "messages", f->messages);
        put_pair(out, "retransmissions", f->retransmissions);
        put_pair(out, "naks", f->naks);
        put_pair(out, "rnr_naks", f->rnr_naks);
        if (f->selective_acks[0] + f->selective_acks[1])
            put_pair(out, "selective_acks", f->selective_acks);
        put_pair(out, "cnps", f->cnps);
        put_pair(out, "marks", f->marks);
        put_pair(out, "pauses", f->pauses);
        put_pair(out, "paused_ns", f->paused_ns);
        explain_put(out, "}");
        comma = ",\n";
    }
    put_same(out, analysis);
    const struct explain_forgotten *g = explain_analysis_forgotten(analysis);
    explain_printf(out, "],\n\"forgotten\":{\"flows\":%u,\"first\":%u,\"last\":%u}", g->count, g->first,
                   g->last);
}

void explain_html_put_smc(struct explain_text *out, const struct explain_analysis *analysis)
{
    const char *comma = "";
    explain_put(out, "\"groups\":[");
    for (uint32_t i = 1; i <= explain_analysis_smc_group_count(analysis); i++) {
        const struct explain_smc_group *g = explain_analysis_smc_group(analysis, i);
        if (!g)
            continue;
        explain_put(out, comma);
        explain_json_smc_group(out, g);
        comma = ",\n";
    }
    comma = "";
    explain_put(out, "],\n\"connections\":[");
    for (uint32_t i = 1; i <= explain_analysis_smc_conn_count(analysis); i++) {
        const struct explain_smc_conn *c = explain_analysis_smc_conn(analysis, i);
        if (!c)
            continue;
        explain_put(out, comma);
        explain_json_smc_conn(out, c);
        comma = ",\n";
    }
    explain_put(out, "]");
}

void explain_html_put_iwarp(struct explain_text *out, const struct explain_analysis *analysis)
{
    const char *comma = "";
    explain_put(out, "\"iwarp\":[");
    for (uint32_t i = 1; i <= explain_analysis_iwarp_conn_count(analysis); i++) {
        const struct explain_iwarp_conn *c = explain_analysis_iwarp_conn(analysis, i);
        if (!c)
            continue;
        explain_put(out, comma);
        explain_json_iwarp_conn(out, c);
        comma = ",\n";
    }
    explain_put(out, "]");
}
