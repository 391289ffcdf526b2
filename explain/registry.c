/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/registry.h"

#include "net/ether.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/udp.h"
#include "roce/cm/mad.h"
#include "roce/wire.h"

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
