/* SPDX-License-Identifier: BSD-2-Clause */
/* Which requirement governs a field. Ids are those of docs/roce-requirements.txt. */
#include "explain/packet.h"

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
};

const char *explain_field_rule(const char *layer_key, const struct net_field *field)
{
    /* A row without a field stands for those of the layer that have none of their own, and comes after. */
    for (unsigned i = 0; i < sizeof field_rules / sizeof field_rules[0]; i++) {
        const struct field_rule *r = &field_rules[i];
        if (strcmp(r->layer, layer_key) == 0 && (!r->field || strcmp(r->field, field->name) == 0))
            return r->rule;
    }
    static const char *const of_smc[] = {"tcp", "smc_", "clc", "llc_", "cdc"};
    for (unsigned i = 0; i < sizeof of_smc / sizeof of_smc[0]; i++)
        if (strncmp(layer_key, of_smc[i], strlen(of_smc[i])) == 0)
            return NULL;
    return strncmp(field->name, "resv", 4) == 0 ? "ROCE-GEN-5" : NULL;
}
