/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/json.h"

#include "roce/counters.h"

static void put_key(struct explain_text *out, const char *key)
{
    explain_put_n(out, "\"", 1);
    explain_put(out, key);
    explain_put_n(out, "\":", 2);
}

static void put_field(struct explain_text *out, const struct explain_packet *p, unsigned layer,
                      const struct net_field *field)
{
    char text[600];
    put_key(out, field->name);
    if (field->is_bytes) {
        explain_put_quoted(out, explain_field_text(p, layer, field, text, sizeof text));
        return;
    }
    uint64_t value = explain_field_value(p, layer, field);
    if (field->width_bits <= 32) {
        explain_put_u64(out, value);
        return;
    }
    explain_put(out, "\"0x");
    explain_put_hex(out, value, (field->width_bits + 3u) / 4);
    explain_put_n(out, "\"", 1);
}

static void put_layers(struct explain_text *out, const struct explain_packet *p)
{
    explain_put(out, ",\"layers\":{");
    for (unsigned l = 0; l < p->layer_count; l++) {
        const struct net_header *h = p->layers[l].header;
        if (l)
            explain_put_n(out, ",", 1);
        put_key(out, p->layers[l].key);
        explain_put_n(out, "{", 1);
        for (unsigned f = 0; f < h->field_count; f++) {
            if (f)
                explain_put_n(out, ",", 1);
            put_field(out, p, l, &h->fields[f]);
        }
        explain_put_n(out, "}", 1);
    }
    explain_put_n(out, "}", 1);
}

static void put_icrc(struct explain_text *out, const struct roce_pkt *pkt)
{
    explain_put(out, pkt->icrc_found == pkt->icrc_expected ? ",\"icrc\":{\"ok\":true,\"expected\":\"0x"
                                                           : ",\"icrc\":{\"ok\":false,\"expected\":\"0x");
    explain_put_hex(out, pkt->icrc_expected, 8);
    explain_put(out, "\",\"found\":\"0x");
    explain_put_hex(out, pkt->icrc_found, 8);
    explain_put(out, "\"}");
}

void explain_json_finding(struct explain_text *out, const struct explain_finding *f)
{
    explain_put(out, "{\"kind\":");
    explain_put_quoted(out, explain_finding_key(f->kind));
    explain_put(out, ",\"severity\":");
    explain_put_u64(out, (uint64_t)explain_finding_severity(f->kind));
    explain_put(out, ",\"n\":");
    explain_put_u64(out, f->number);
    if (f->related) {
        explain_put(out, ",\"related\":");
        explain_put_u64(out, f->related);
    }
    if (f->rule[0]) {
        explain_put(out, ",\"rule\":");
        explain_put_quoted(out, f->rule);
    }
    explain_put(out, ",\"words\":");
    explain_put_quoted(out, f->words);
    explain_put_n(out, "}", 1);
}

static void put_meaning(struct explain_text *out, const struct explain_meaning *m)
{
    if (m->flow) {
        explain_put(out, ",\"qp\":{\"flow\":");
        explain_put_u64(out, m->flow);
        explain_put(out, ",\"direction\":");
        explain_put_u64(out, m->direction);
        explain_put_n(out, "}", 1);
    }
    if (m->message) {
        explain_put(out, ",\"message\":{\"number\":");
        explain_put_u64(out, m->message);
        explain_put(out, ",\"piece\":");
        explain_put_u64(out, m->piece);
        explain_put(out, ",\"pieces\":");
        explain_put_u64(out, m->pieces);
        explain_put(out, ",\"bytes_done\":");
        explain_put_u64(out, m->bytes_done);
        explain_put(out, ",\"bytes_total\":");
        explain_put_u64(out, m->bytes_total);
        explain_put_n(out, "}", 1);
    }
    if (m->answers) {
        explain_put(out, ",\"answers\":");
        explain_put_u64(out, m->answers);
    }
    explain_put(out, ",\"words\":");
    explain_put_quoted(out, m->words);
    explain_put(out, ",\"remarks\":[");
    for (unsigned i = 0; i < m->remark_count; i++) {
        if (i)
            explain_put_n(out, ",", 1);
        explain_json_finding(out, &m->remarks[i]);
    }
    explain_put_n(out, "]", 1);
}

void explain_json_packet(struct explain_text *out, const struct explain_packet *p,
                         const struct explain_meaning *meaning)
{
    static const char *const kinds[] = {"other", "roce", "cm", "smc_tcp"};
    explain_put(out, "{\"n\":");
    explain_put_u64(out, p->number);
    explain_put(out, ",\"time_ns\":");
    explain_put_u64(out, p->time_ns);
    explain_put(out, ",\"len\":");
    explain_put_u64(out, p->wire_bytes);
    explain_put(out, ",\"kind\":\"");
    explain_put(out, kinds[p->kind]);
    explain_put_n(out, "\"", 1);
    put_layers(out, p);
    if (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) {
        explain_put(out, ",\"payload\":");
        explain_put_u64(out, p->payload_bytes);
        if (explain_has_icrc(p))
            put_icrc(out, &p->roce);
        explain_put(out, ",\"verdict\":");
        explain_put_quoted(out, roce_verdict_counter_name(p->verdict));
    }
    if (meaning)
        put_meaning(out, meaning);
    explain_put(out, "}\n");
}
