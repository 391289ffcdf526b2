/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/registry.h"

#include "net/ether.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/tcp.h"
#include "net/udp.h"
#include "roce/cm/mad.h"
#include "roce/wire.h"
#include "smcr/cdc_wire.h"
#include "smcr/clc2_wire.h"
#include "smcr/llc2_wire.h"

const struct explain_layer_kind explain_layer_kinds[] = {
    {"eth", &net_ether_header, "Ethernet"},
    {"vlan", &net_vlan_header, "802.1Q tag"},
    {"ip", &net_ipv4_header, "IPv4"},
    {"ip6", &net_ipv6_header, "IPv6"},
    {"udp", &net_udp_header, "UDP"},
    {"grh", &roce_grh_header, "Global Routing Header of RoCEv1"},
    {"bth", &roce_bth_header, "Base Transport Header"},
    {"rdeth", &roce_rdeth_header, "Reliable Datagram Extended Transport Header"},
    {"deth", &roce_deth_header, "Datagram Extended Transport Header"},
    {"xrceth", &roce_xrceth_header, "XRC Extended Transport Header"},
    {"reth", &roce_reth_header, "RDMA Extended Transport Header"},
    {"atomiceth", &roce_atomiceth_header, "Atomic Extended Transport Header"},
    {"masketh", &roce_masketh_header, "masks of a masked atomic"},
    {"aeth", &roce_aeth_header, "ACK Extended Transport Header"},
    {"atomicacketh", &roce_atomicacketh_header, "Atomic ACK Extended Transport Header"},
    {"immdt", &roce_immdt_header, "immediate data"},
    {"ieth", &roce_ieth_header, "Invalidate Extended Transport Header"},
    {"cnp", &roce_cnp_header, "body of a Congestion Notification Packet"},
    {"mad", &roce_mad_header, "envelope of a management datagram"},
    {"cm_req", &roce_cm_req_header, "connection request"},
    {"cm_path", &roce_cm_path_block_header, "primary path of a connection request"},
    {"cm_alt_path", &roce_cm_path_block_header, "alternate path of a connection request"},
    {"cm_ip", &roce_cm_ip_header, "IP addresses in the private data of a request"},
    {"cm_mra", &roce_cm_mra_header, "message receipt acknowledgement"},
    {"cm_rej", &roce_cm_rej_header, "reject"},
    {"cm_rep", &roce_cm_rep_header, "reply"},
    {"cm_rtu", &roce_cm_rtu_header, "ready to use"},
    {"cm_dreq", &roce_cm_dreq_header, "disconnect request"},
    {"cm_drep", &roce_cm_drep_header, "disconnect reply"},
    {"cm_sidr_req", &roce_cm_sidr_req_header, "service id resolution request"},
    {"cm_sidr_rep", &roce_cm_sidr_rep_header, "service id resolution reply"},
    {"cm_lap", &roce_cm_lap_header, "load alternate path"},
    {"cm_apr", &roce_cm_apr_header, "alternate path response"},
    {"tcp", &net_tcp_header, "TCP"},
    {"smc_option", &net_tcp_exid_header, "TCP option that offers SMC-R"},
    {"clc", &smcr_clc_header, "header of a CLC message"},
    {"clc_proposal", &smcr_proposal_header, "CLC Proposal"},
    {"clc_subnet", &smcr_subnet_header, "subnet of a CLC Proposal"},
    {"clc_prefix", &smcr_prefix_header, "IPv6 prefix of a CLC Proposal"},
    {"clc_accept", &smcr_accept_header, "CLC Accept"},
    {"clc_confirm", &smcr_accept_header, "CLC Confirm"},
    {"clc_decline", &smcr_decline_header, "CLC Decline"},
    {"clc_trailer", &smcr_trailer_header, "eye catcher at the end of a CLC message"},
    {"clc2_proposal", &smcr_proposal2_header, "CLC Proposal, version 2"},
    {"clc2_extension", &smcr_proposal2_ext_header, "what version 2 adds to a CLC Proposal"},
    {"clc2_eid", &smcr_eid_header, "enterprise id"},
    {"clc2_smcd", &smcr_smcd_ext_header, "what a CLC Proposal offers for SMC-D"},
    {"clc2_ism", &smcr_ism_header, "ISM device of a CLC Proposal"},
    {"clc2_accept", &smcr_accept2_header, "CLC Accept, version 2"},
    {"clc2_confirm", &smcr_accept2_header, "CLC Confirm, version 2"},
    {"clc2_first_contact", &smcr_fce_header, "first contact extension of an Accept or Confirm"},
    {"clc2_gids", &smcr_gid_list_header, "how many GIDs a CLC Confirm lists"},
    {"clc2_gid", &smcr_gid_header, "GID of a CLC Confirm, for further links"},
    {"clc2_decline", &smcr_decline2_header, "CLC Decline, version 2"},
    {"llc_confirm_link", &smcr_confirm_link_header, "LLC CONFIRM LINK"},
    {"llc_add_link", &smcr_add_link_header, "LLC ADD LINK"},
    {"llc_add_link_shifted", &smcr_add_link_shifted_header, "LLC ADD LINK as Linux lays it out"},
    {"llc_add_link_cont", &smcr_add_link_cont_header, "LLC ADD LINK CONTINUATION"},
    {"llc_delete_link", &smcr_delete_link_header, "LLC DELETE LINK"},
    {"llc_confirm_rkey", &smcr_confirm_rkey_header, "LLC CONFIRM RKEY"},
    {"llc_confirm_rkey_cont", &smcr_confirm_rkey_cont_header, "LLC CONFIRM RKEY CONTINUATION"},
    {"llc_test_link", &smcr_test_link_header, "LLC TEST LINK"},
    {"llc_delete_rkey", &smcr_delete_rkey_header, "LLC DELETE RKEY"},
    {"llc2_confirm_link", &smcr_confirm_link2_header, "LLC CONFIRM LINK, version 2"},
    {"llc2_add_link", &smcr_add_link2_header, "LLC ADD LINK, version 2"},
    {"llc2_add_link_ext", &smcr_add_link2_ext_header, "what follows in an LLC ADD LINK of version 2"},
    {"llc2_rtoken", &smcr_rtoken2_header, "RToken of an LLC ADD LINK of version 2"},
    {"llc2_delete_link", &smcr_delete_link2_header, "LLC DELETE LINK, version 2"},
    {"llc2_request_add_link", &smcr_request_add_link2_header, "LLC REQUEST ADD LINK"},
    {"llc2_gid", &smcr_gid_header, "GID of an LLC REQUEST ADD LINK"},
    {"llc2_confirm_rkey", &smcr_confirm_rkey2_header, "LLC CONFIRM RKEY, version 2"},
    {"llc2_test_link", &smcr_test_link2_header, "LLC TEST LINK, version 2"},
    {"llc2_delete_rkey", &smcr_delete_rkey2_header, "LLC DELETE RKEY, version 2"},
    {"cdc", &smcr_cdc_header, "CDC message"},
    {NULL, NULL, NULL},
};

const struct explain_layer_kind *explain_layer_kind(const char *key, size_t n)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        if (strlen(k->key) == n && memcmp(k->key, key, n) == 0)
            return k;
    return NULL;
}

const struct net_field *explain_header_field(const struct net_header *header, const char *name, size_t n)
{
    for (unsigned i = 0; i < header->field_count; i++)
        if (strlen(header->fields[i].name) == n && memcmp(header->fields[i].name, name, n) == 0)
            return &header->fields[i];
    return NULL;
}
