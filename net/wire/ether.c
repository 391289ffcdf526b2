/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/ether.h"

NET_HEADER_TABLE(net_ether, "Ethernet", NET_ETHER_BYTES, NET_ETHER_FIELDS);
NET_HEADER_TABLE(net_vlan, "802.1Q", NET_VLAN_BYTES, NET_VLAN_FIELDS);

const char *net_ethertype_name(uint64_t value)
{
    switch (value) {
    case NET_ETHERTYPE_IPV4:
        return "IPv4";
    case NET_ETHERTYPE_ARP:
        return "ARP";
    case NET_ETHERTYPE_VLAN:
        return "802.1Q";
    case NET_ETHERTYPE_IPV6:
        return "IPv6";
    case NET_ETHERTYPE_ROCE:
        return "RoCE v1";
    case NET_ETHERTYPE_QINQ:
        return "802.1ad";
    case NET_ETHERTYPE_TEB:
        return "Ethernet";
    case NET_ETHERTYPE_ERSPAN:
        return "ERSPAN";
    case NET_ETHERTYPE_ERSPAN3:
        return "ERSPAN type III";
    case NET_ETHERTYPE_MAC_CONTROL:
        return "MAC control";
    case NET_ETHERTYPE_LLDP:
        return "LLDP";
    }
    return NULL;
}
