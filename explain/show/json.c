/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/json.h"

#include "explain/show/json_iwarp.h"
#include "nornic/addr.h"
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

/* How often the layer's key was there before. */
static unsigned times_before(const struct explain_packet *p, unsigned layer)
{
    unsigned n = 0;
    for (unsigned i = 0; i < layer; i++)
        n += p->layers[i].kind == p->layers[layer].kind;
    return n;
}

static void put_layer_key(struct explain_text *out, const struct explain_packet *p, unsigned layer)
{
    unsigned before = times_before(p, layer);
    explain_put_n(out, "\"", 1);
    explain_put(out, p->layers[layer].kind->key);
    if (before) {
        explain_put_n(out, "_", 1);
        explain_put_u64(out, before + 1);
    }
    explain_put_n(out, "\":", 2);
}

static void put_layers(struct explain_text *out, const struct explain_packet *p)
{
    explain_put(out, ",\"layers\":{");
    for (unsigned l = 0; l < p->layer_count; l++) {
        const struct net_header *h = p->layers[l].kind->header;
        if (l)
            explain_put_n(out, ",", 1);
        put_layer_key(out, p, l);
        explain_put_n(out, "{", 1);
        bool is_first = true;
        for (unsigned f = 0; f < h->field_count; f++) {
            if (!explain_layer_holds(&p->layers[l], &h->fields[f]))
                continue;
            if (!is_first)
                explain_put_n(out, ",", 1);
            is_first = false;
            put_field(out, p, l, &h->fields[f]);
        }
        explain_put_n(out, "}", 1);
    }
    explain_put_n(out, "}", 1);
}

/* ,"network":"VXLAN 42" where the packet came in a tunnel. */
static void put_network(struct explain_text *out, const struct explain_network *network)
{
    char text[EXPLAIN_NETWORK_STR_SIZE];
    if (network->tunnel != EXPLAIN_TUNNEL_NONE)
        explain_printf(out, ",\"network\":\"%s\"", explain_network_text(network, text, sizeof text));
}

static void put_icrc(struct explain_text *out, const struct roce_pkt *pkt)
{
    explain_put(out, pkt->icrc_found == pkt->icrc_expected ? ",\"icrc\":{\"ok\":true,\"expected\":\"0x"
                                                           : ",\"icrc\":{\"ok\":false,\"expected\":\"0x");
    explain_put_hex(out, explain_icrc_on_wire(pkt->icrc_expected), 8);
    explain_put(out, "\",\"found\":\"0x");
    explain_put_hex(out, explain_icrc_on_wire(pkt->icrc_found), 8);
    explain_put(out, "\"}");
}

static void put_number(struct explain_text *out, const char *key, uint64_t value)
{
    explain_put_n(out, ",", 1);
    put_key(out, key);
    explain_put_u64(out, value);
}

static void put_cause(struct explain_text *out, const char *key, enum explain_cause cause)
{
    explain_put_n(out, ",", 1);
    put_key(out, key);
    explain_put_quoted(out, explain_cause_key(cause));
}

static void put_sure(struct explain_text *out, const char *key, enum explain_sure sure)
{
    explain_put_n(out, ",", 1);
    put_key(out, key);
    explain_put_quoted(out, explain_sure_key(sure));
}

static void put_candidates(struct explain_text *out, const char *key,
                           const enum explain_cause candidate[EXPLAIN_CANDIDATES])
{
    if (candidate[0] == EXPLAIN_CAUSE_NONE)
        return;
    explain_put_n(out, ",", 1);
    put_key(out, key);
    for (unsigned i = 0; i < EXPLAIN_CANDIDATES && candidate[i] != EXPLAIN_CAUSE_NONE; i++) {
        explain_put(out, i ? "," : "[");
        explain_put_quoted(out, explain_cause_key(candidate[i]));
    }
    explain_put_n(out, "]", 1);
}

static void put_evidence(struct explain_text *out, const struct explain_why *why)
{
    explain_put(out, ",\"evidence\":[");
    for (unsigned i = 0; i < why->evidence_count; i++) {
        explain_put(out, i ? ",{\"n\":" : "{\"n\":");
        explain_put_u64(out, why->evidence[i].number);
        explain_put(out, ",\"what\":");
        explain_put_quoted(out, why->evidence[i].what);
        explain_put_n(out, "}", 1);
    }
    explain_put_n(out, "]", 1);
    if (why->silence_ns)
        put_number(out, "silence_ns", why->silence_ns);
    if (why->timeout_ns)
        put_number(out, "timeout_ns", why->timeout_ns);
    if (why->timeout_samples)
        put_number(out, "timeout_samples", why->timeout_samples);
    if (why->has_msn)
        put_number(out, "msn", why->msn);
    if (why->has_ip_id)
        explain_printf(out, ",\"ip_id\":[%u,%u]", why->ip_id[0], why->ip_id[1]);
}

static void put_why(struct explain_text *out, const struct explain_why *why)
{
    if (why->cause == EXPLAIN_CAUSE_NONE)
        return;
    put_cause(out, "cause", why->cause);
    put_sure(out, "sure", why->sure);
    put_candidates(out, "candidates", why->candidate);
    if (why->or_cause != EXPLAIN_CAUSE_NONE)
        put_cause(out, "or_cause", why->or_cause);
    if (why->behind) {
        put_number(out, "behind", why->behind);
        put_cause(out, "root", why->root);
    }
    if (why->way != EXPLAIN_CAUSE_NONE) {
        put_cause(out, "way", why->way);
        put_sure(out, "way_sure", why->way_sure);
        put_candidates(out, "way_candidates", why->way_candidate);
    }
    put_evidence(out, why);
}

void explain_json_finding(struct explain_text *out, const struct explain_finding *f)
{
    explain_put(out, "{\"kind\":");
    explain_put_quoted(out, explain_finding_key(f->kind));
    explain_put_value(out, ",\"severity\":", (uint64_t)explain_finding_severity(f->kind));
    explain_put_value(out, ",\"n\":", f->number);
    if (f->related) {
        explain_put_value(out, ",\"related\":", f->related);
    }
    if (f->rule[0]) {
        explain_put(out, ",\"rule\":");
        explain_put_quoted(out, f->rule);
    }
    explain_put(out, ",\"words\":");
    explain_put_quoted(out, f->words);
    put_why(out, &f->why);
    explain_put_n(out, "}", 1);
}

static void put_pair(struct explain_text *out, const char *key, const uint64_t values[2])
{
    explain_put_n(out, ",", 1);
    put_key(out, key);
    explain_put_n(out, "[", 1);
    explain_put_u64(out, values[0]);
    explain_put_n(out, ",", 1);
    explain_put_u64(out, values[1]);
    explain_put_n(out, "]", 1);
}

static void put_address_pair(struct explain_text *out, const char *key, const struct nornic_addr addr[2])
{
    char a[NORNIC_ADDR_STR_SIZE], b[NORNIC_ADDR_STR_SIZE];
    explain_printf(out, ",\"%s\":[\"%s\",\"%s\"]", key, nornic_addr_str(&addr[0], a),
                   nornic_addr_str(&addr[1], b));
}

static void put_pair32(struct explain_text *out, const char *key, const uint32_t values[2])
{
    put_pair(out, key, (const uint64_t[2]){values[0], values[1]});
}

static void put_flags(struct explain_text *out, const char *key, const bool values[2])
{
    explain_printf(out, ",\"%s\":[%s,%s]", key, values[0] ? "true" : "false", values[1] ? "true" : "false");
}

void explain_json_flow(struct explain_text *out, const struct explain_flow *f, uint32_t index)
{
    explain_printf(out, "{\"index\":%u", index);
    put_address_pair(out, "addr", f->addr);
    put_pair32(out, "qpn", f->qpn);
    put_number(out, "service", f->service);
    put_number(out, "pmtu_bytes", f->pmtu_bytes);
    if (f->earlier)
        put_number(out, "uses_again", f->earlier);
    put_number(out, "first", f->first_number);
    put_number(out, "last", f->last_number);
    put_pair(out, "packets", f->packets);
    put_pair(out, "bytes", f->bytes);
    put_pair(out, "messages", f->messages);
    put_pair(out, "retransmissions", f->retransmissions);
    put_pair(out, "naks", f->naks);
    put_pair(out, "rnr_naks", f->rnr_naks);
    if (f->selective_acks[0] + f->selective_acks[1]) {
        put_pair(out, "selective_acks", f->selective_acks);
        put_pair(out, "probes", f->probes);
    }
    explain_printf(out, ",\"place\":\"%s\",\"begins_before\":%s", explain_place_key(f->place),
                   f->is_begun_before ? "true" : "false");
    put_pair32(out, "messages_before", f->messages_before);
    put_pair(out, "rtt_ns", f->rtt_ns);
    if (f->skew_ns)
        put_number(out, "skew_ns", f->skew_ns);
    put_pair(out, "timeout_ns", f->timeout_ns);
    put_pair32(out, "timeout_samples", f->timeout_samples);
    explain_put_n(out, "}", 1);
}

void explain_json_smc_conn(struct explain_text *out, const struct explain_smc_conn *c)
{
    explain_printf(out, "{\"connection\":%u", c->id);
    put_number(out, "group", c->group);
    put_address_pair(out, "addr", c->addr);
    put_pair(out, "port", (const uint64_t[2]){c->port[0], c->port[1]});
    put_pair32(out, "token", c->token);
    put_pair32(out, "buffer_bytes", c->buffer_bytes);
    put_pair(out, "bytes", c->bytes);
    put_pair(out, "cdc_messages", c->messages);
    put_pair(out, "writes", c->writes);
    put_pair(out, "wraps", c->wraps);
    put_pair(out, "blocked", c->blocked);
    put_pair(out, "urgent", c->urgent);
    put_pair(out, "moves", c->moves);
    put_pair(out, "replayed_bytes", c->replayed_bytes);
    put_flags(out, "done", c->is_done);
    put_flags(out, "closed", c->is_closed);
    put_flags(out, "aborted", c->is_aborted);
    put_number(out, "first", c->first_number);
    put_number(out, "last", c->last_number);
    explain_put_n(out, "}", 1);
}

void explain_json_smc_group(struct explain_text *out, const struct explain_smc_group *g)
{
    explain_printf(out, "{\"group\":%u", g->id);
    put_number(out, "version", g->version);
    explain_put(out, ",\"peer_id\":[\"");
    for (unsigned side = 0; side < 2; side++) {
        for (unsigned i = 0; i < sizeof g->peer_id[side]; i++)
            explain_put_hex(out, g->peer_id[side][i], 2);
        explain_put(out, side ? "\"]" : "\",\"");
    }
    put_address_pair(out, "gid", g->gid);
    put_number(out, "max_links", g->max_links);
    put_number(out, "links", g->links);
    put_number(out, "links_active", g->links_active);
    put_number(out, "links_gone", g->links_gone);
    put_pair32(out, "rmbs", g->rmbs);
    put_number(out, "connections", g->conns);
    put_number(out, "moves", g->moves);
    explain_put(out, g->has_ended ? ",\"ended\":true" : ",\"ended\":false");
    put_number(out, "first", g->first_number);
    put_number(out, "last", g->last_number);
    explain_put_n(out, "}", 1);
}

static void put_smc(struct explain_text *out, const struct explain_smc_meaning *smc)
{
    explain_put_value(out, ",\"smc\":{\"group\":", smc->group);
    if (smc->link)
        put_number(out, "link", smc->link);
    if (smc->conn)
        put_number(out, "connection", smc->conn);
    explain_put(out, smc->side ? ",\"sender\":\"server\"" : ",\"sender\":\"client\"");
    if (smc->is_data || smc->is_cdc) {
        put_number(out, smc->is_data ? "from" : "consumed", smc->from);
        put_number(out, smc->is_data ? "to" : "produced", smc->to);
    }
    explain_put_n(out, "}", 1);
}

static void put_meaning(struct explain_text *out, const struct explain_meaning *m)
{
    if (m->flow) {
        explain_put_value(out, ",\"qp\":{\"flow\":", m->flow);
        explain_put_value(out, ",\"direction\":", m->direction);
        explain_put_n(out, "}", 1);
    }
    if (m->smc.group)
        put_smc(out, &m->smc);
    if (m->iwarp.conn)
        explain_json_iwarp(out, m);
    if (m->message) {
        explain_put_value(out, ",\"message\":{\"number\":", m->message);
        explain_put_value(out, ",\"piece\":", m->piece);
        explain_put_value(out, ",\"pieces\":", m->pieces);
        explain_put_value(out, ",\"bytes_done\":", m->bytes_done);
        explain_put_value(out, ",\"bytes_total\":", m->bytes_total);
        explain_put_n(out, "}", 1);
    }
    if (m->answers) {
        explain_put_value(out, ",\"answers\":", m->answers);
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

void explain_json_packet_open(struct explain_text *out, const struct explain_packet *p,
                              const struct explain_meaning *meaning)
{
    static const char *const kinds[] = {"other", "roce", "cm", "smc_tcp", "pause", "lldp", "iwarp"};
    explain_put_value(out, "{\"n\":", p->number);
    explain_put_value(out, ",\"time_ns\":", p->time_ns);
    explain_put_value(out, ",\"len\":", p->wire_bytes);
    explain_put(out, ",\"kind\":\"");
    explain_put(out, kinds[p->kind]);
    explain_put_n(out, "\"", 1);
    if (p->train.of)
        explain_printf(out, ",\"train\":{\"packet\":%u,\"of\":%u}", p->train.packet, p->train.of);
    put_network(out, &p->network);
    put_layers(out, p);
    if (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) {
        explain_put_value(out, ",\"payload\":", p->payload_bytes);
        if (explain_has_icrc(p))
            put_icrc(out, &p->roce);
        explain_put(out, ",\"verdict\":");
        explain_put_quoted(out, roce_verdict_counter_name(p->verdict));
    }
    if (meaning)
        put_meaning(out, meaning);
}
