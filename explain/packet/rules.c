/* SPDX-License-Identifier: BSD-2-Clause */
/* Which requirement governs a field. Ids are those of docs/rules.txt; of SMC-R version 2 there are none. */
#include "base/base.h"
#include "explain/packet/packet.h"

static const struct field_rule {
    const char *layer, *field, *rule;
} field_rules[] = {
    {"eth", "dst", "ROCE-FRM-1"},
    {"eth", "src", "ROCE-FRM-1"},
    {"eth", "ethertype", "ROCE-FRM-2"},
    {"vlan", NULL, "ROCE-FRM-3"},
    {"ip", "version", "ROCE-FRM-10"},
    {"ip", "ihl", "ROCE-FRM-11"},
    {"ip", "dscp", "ROCE-FRM-12"},
    {"ip", "ecn", "ROCE-FRM-13"},
    {"ip", "total_len", "ROCE-FRM-14"},
    {"ip", "id", "ROCE-FRM-15"},
    {"ip", "resv1", "ROCE-FRM-16"},
    {"ip", "df", "ROCE-FRM-16"},
    {"ip", "mf", "ROCE-FRM-16"},
    {"ip", "frag_offset", "ROCE-FRM-17"},
    {"ip", "ttl", "ROCE-FRM-18"},
    {"ip", "protocol", "ROCE-FRM-19"},
    {"ip", "checksum", "ROCE-FRM-20"},
    {"ip", "src", "ROCE-FRM-21"},
    {"ip", "dst", "ROCE-FRM-22"},
    {"ip6", "version", "ROCE-FRM-30"},
    {"ip6", "dscp", "ROCE-FRM-31"},
    {"ip6", "ecn", "ROCE-FRM-32"},
    {"ip6", "flow_label", "ROCE-FRM-33"},
    {"ip6", "payload_len", "ROCE-FRM-34"},
    {"ip6", "next_header", "ROCE-FRM-35"},
    {"ip6", "hop_limit", "ROCE-FRM-36"},
    {"ip6", "src", "ROCE-FRM-37"},
    {"ip6", "dst", "ROCE-FRM-38"},
    {"udp", "src_port", "ROCE-FRM-44"},
    {"udp", "dst_port", "ROCE-FRM-41"},
    {"udp", "len", "ROCE-FRM-42"},
    {"udp", "checksum", "ROCE-FRM-43"},
    {"grh", NULL, "ROCE-FRM-51"},
    {"bth", "opcode", "ROCE-OPC-2"},
    {"bth", "se", "ROCE-RC-11"},
    {"bth", "mig_req", "ROCE-HDR-2"},
    {"bth", "pad_count", "ROCE-HDR-3"},
    {"bth", "tver", "ROCE-HDR-1"},
    {"bth", "pkey", "ROCE-HDR-5"},
    {"bth", "fecn", "ROCE-HDR-6"},
    {"bth", "becn", "ROCE-HDR-6"},
    {"bth", "dest_qpn", "ROCE-RX-12"},
    {"bth", "ack_req", "ROCE-RC-12"},
    {"bth", "psn", "ROCE-RC-4"},
    {"deth", "qkey", "ROCE-RX-18"},
    {"deth", "src_qpn", "ROCE-UD-1"},
    {"xrceth", NULL, "ROCE-XRC-2"},
    {"reth", "va", "ROCE-RS-5"},
    {"reth", "rkey", "ROCE-RS-5"},
    {"reth", "dma_len", "ROCE-OPC-4"},
    {"atomiceth", "swap_add", "ROCE-HDR-11"},
    {"atomiceth", "compare", "ROCE-HDR-11"},
    {"atomiceth", NULL, "ROCE-RS-46"},
    {"aeth", "syndrome", "ROCE-HDR-20"},
    {"aeth", "msn", "ROCE-RS-50"},
    {"atomicacketh", NULL, "ROCE-RS-46"},
    {"immdt", NULL, "ROCE-RS-42"},
    {"ieth", NULL, "ROCE-RS-44"},
    {"cnp", NULL, "ROCE-HDR-12"},
    {"mad", "attr_id", "ROCE-CM-1"},
    {"cm_req", NULL, "ROCE-CM-10"},
    {"cm_path", NULL, "ROCE-CM-11"},
    {"cm_alt_path", NULL, "ROCE-CM-11"},
    {"cm_ip", NULL, "ROCE-CM-61"},
    {"cm_mra", NULL, "ROCE-CM-12"},
    {"cm_rej", NULL, "ROCE-CM-13"},
    {"cm_rep", NULL, "ROCE-CM-14"},
    {"cm_rtu", NULL, "ROCE-CM-15"},
    {"cm_dreq", NULL, "ROCE-CM-16"},
    {"cm_drep", NULL, "ROCE-CM-17"},
    {"cm_lap", NULL, "ROCE-CM-18"},
    {"cm_apr", NULL, "ROCE-CM-19"},
    {"cm_sidr_req", NULL, "ROCE-CM-20"},
    {"cm_sidr_rep", NULL, "ROCE-CM-21"},
    {"smc_option", NULL, "SMCR-REN-01"},
    {"clc_*", "eye_catcher", "SMCR-CLC-02"},
    {"clc_*", "trailer", "SMCR-CLC-02"},
    {"clc_*", "type", "SMCR-CLC-01"},
    {"clc_*", "length", "SMCR-CLC-13"},
    {"clc_*", "version", "SMCR-CLC-04"},
    {"clc_*", "peer_id", "SMCR-CLC-14"},
    {"clc_proposal", "flag", "SMCR-CLC-03"},
    {"clc_proposal", "gid", "SMCR-CLC-24"},
    {"clc_proposal", "mac", "SMCR-CLC-24"},
    {"clc_proposal", "offset", "SMCR-CLC-21"},
    {"clc_subnet", "prefix_count", "SMCR-CLC-23"},
    {"clc_subnet", "subnet", "SMCR-CLC-22"},
    {"clc_subnet", "mask_len", "SMCR-CLC-22"},
    {"clc_prefix", NULL, "SMCR-CLC-22"},
    {"clc_accept", "flag", "SMCR-FC-05"},
    {"clc_confirm", "flag", "SMCR-CLC-30"},
    {"clc_decline", "flag", "SMCR-CLC-40"},
    {"clc_decline", "diagnosis", "SMCR-CLC-41"},
    {"clc_*", "gid", "SMCR-QP-01"},
    {"clc_*", "mac", "SMCR-QP-01"},
    {"clc_*", "qpn", "SMCR-QP-01"},
    {"clc_*", "rkey", "SMCR-DAT-04"},
    {"clc_*", "va", "SMCR-CLC-34"},
    {"clc_*", "rmbe_index", "SMCR-CLC-34"},
    {"clc_*", "alert_token", "SMCR-CLC-37"},
    {"clc_*", "bsize", "SMCR-CLC-31"},
    {"clc_*", "mtu", "SMCR-CLC-33"},
    {"clc_*", "psn", "SMCR-CLC-35"},
    {"clc_*", "resv*", "SMCR-CLC-03"},
    {"llc_*", "type", "SMCR-LLC-02"},
    {"llc_*", "length", "SMCR-LLC-01"},
    {"llc_*", "response", "SMCR-LLC-03"},
    {"llc_confirm_link", "max_links", "SMCR-LLC-22"},
    {"llc_confirm_link", NULL, "SMCR-LLC-21"},
    {"llc_add_link*", "reason", "SMCR-LLC-30"},
    {"llc_add_link*", "rejected", "SMCR-LLC-30"},
    {"llc_add_link*", "mtu", "SMCR-LLC-31"},
    {"llc_add_link_cont", "rtokens_left", "SMCR-LLC-34"},
    {"llc_add_link_cont", NULL, "SMCR-LLC-33"},
    {"llc_add_link*", NULL, "SMCR-QP-01"},
    {"llc_delete_link", "reason", "SMCR-LLC-40"},
    {"llc_delete_link", NULL, "SMCR-DLK-03"},
    {"llc_confirm_rkey*", "negative", "SMCR-RKY-05"},
    {"llc_confirm_rkey*", "retry", "SMCR-RKY-05"},
    {"llc_confirm_rkey*", NULL, "SMCR-RKY-02"},
    {"llc_test_link", NULL, "SMCR-LLC-62"},
    {"llc_delete_rkey", "error_mask", "SMCR-LLC-61"},
    {"llc_delete_rkey", "negative", "SMCR-LLC-61"},
    {"llc_delete_rkey", NULL, "SMCR-LLC-60"},
    {"cdc", "type", "SMCR-LLC-02"},
    {"cdc", "length", "SMCR-CDC-13"},
    {"cdc", "seq", "SMCR-CDC-03"},
    {"cdc", "alert_token", "SMCR-CDC-06"},
    {"cdc", "producer_wrap", "SMCR-CDC-09"},
    {"cdc", "consumer_wrap", "SMCR-CDC-09"},
    {"cdc", "producer_cursor", "SMCR-CDC-08"},
    {"cdc", "consumer_cursor", "SMCR-CDC-08"},
    {"cdc", "writer_blocked", "SMCR-DAT-09"},
    {"cdc", "urgent_pending", "SMCR-URG-01"},
    {"cdc", "urgent_present", "SMCR-URG-01"},
    {"cdc", "update_requested", "SMCR-WIN-05"},
    {"cdc", "failover_validation", "SMCR-FOV-07"},
    {"cdc", "sending_done", "SMCR-CLS-04"},
    {"cdc", "connection_closed", "SMCR-CLS-08"},
    {"cdc", "abnormal_close", "SMCR-ABT-01"},
    {"cdc", NULL, "SMCR-CDC-02"},
};

/* A name that ends in * stands for all that begin so. */
static bool is_named(const char *pattern, const char *name)
{
    size_t n = strlen(pattern);
    return n && pattern[n - 1] == '*' ? strncmp(pattern, name, n - 1) == 0 : strcmp(pattern, name) == 0;
}

const char *explain_field_rule(enum explain_layer_id layer, const struct net_field *field)
{
    const char *layer_key = explain_layer_kinds[layer].key;
    /* A row without a field stands for those of the layer that have none of their own, and comes after. */
    for (unsigned i = 0; i < array_len(field_rules); i++) {
        const struct field_rule *r = &field_rules[i];
        if (is_named(r->layer, layer_key) && (!r->field || is_named(r->field, field->name)))
            return r->rule;
    }
    if (layer == EXPLAIN_LAYER_TCP || explain_layer_is_below_ip(layer) || explain_layer_is_clc(layer) ||
        explain_layer_is_llc(layer))
        return NULL;
    return strncmp(field->name, "resv", 4) == 0 ? "ROCE-GEN-5" : NULL;
}

const char *explain_packet_rule(const struct explain_packet *packet, unsigned layer,
                                const struct net_field *field)
{
    enum explain_layer_id id = packet->layers[layer].kind->id;
    bool is_roce = packet->kind == EXPLAIN_ROCE || packet->kind == EXPLAIN_CM;
    bool is_common = explain_layer_is_below_ip(id) || id == EXPLAIN_LAYER_IP || id == EXPLAIN_LAYER_IP6 ||
                     id == EXPLAIN_LAYER_UDP;
    if (is_common && (!is_roce || layer < packet->inner_layer))
        return NULL;
    return explain_field_rule(id, field);
}
