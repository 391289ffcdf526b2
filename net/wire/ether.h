/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet (IEEE 802.3) and the 802.1Q tag. */
#ifndef NORNIC_NET_ETHER_H
#define NORNIC_NET_ETHER_H

#include "net/field.h"

#define NET_ETHERTYPE_IPV4 0x0800
#define NET_ETHERTYPE_ARP  0x0806
#define NET_ETHERTYPE_VLAN 0x8100 /* TPID of an 802.1Q tag */
#define NET_ETHERTYPE_IPV6 0x86dd
#define NET_ETHERTYPE_ROCE 0x8915 /* RoCE v1 */
/* What only captures hold: the engine takes none of these. */
#define NET_ETHERTYPE_QINQ        0x88a8 /* TPID of an 802.1ad tag */
#define NET_ETHERTYPE_QINQ_OLD    0x9100 /* and what was used for it before */
#define NET_ETHERTYPE_TEB         0x6558 /* an Ethernet frame follows (transparent Ethernet bridging) */
#define NET_ETHERTYPE_ERSPAN      0x88be /* types I and II */
#define NET_ETHERTYPE_ERSPAN3     0x22eb
#define NET_ETHERTYPE_MAC_CONTROL 0x8808
#define NET_ETHERTYPE_LLDP        0x88cc

net_value_name net_ethertype_name; /* "IPv4", "802.1Q", ...; NULL for one that we do not know */

/* The MAC header, without preamble and FCS. */
#define NET_ETHER_FIELDS(F, B) B(dst, 0, 48) B(src, 48, 48) F(ethertype, 96, 16, uint16_t, net_ethertype_name)
#define NET_ETHER_BYTES        14
NET_HEADER(net_ether, NET_ETHER_BYTES, NET_ETHER_FIELDS);

/* What follows a TPID, 0x8100 or 0x88a8 (which is net_ether.ethertype): the tag control information and the
 * EtherType of the payload (IEEE 802.1Q, 9.6; ROCE-FRM-3). */
#define NET_VLAN_FIELDS(F, B)     \
    F(pcp, 0, 3, uint8_t, NULL)   \
    F(dei, 3, 1, uint8_t, NULL)   \
    F(vid, 4, 12, uint16_t, NULL) \
    F(ethertype, 16, 16, uint16_t, net_ethertype_name)
#define NET_VLAN_BYTES 4
NET_HEADER(net_vlan, NET_VLAN_BYTES, NET_VLAN_FIELDS);

#endif
