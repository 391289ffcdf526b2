/* SPDX-License-Identifier: BSD-2-Clause */
/* Link types of captures: their numbers in files, and the headers of those that are not Ethernet. */
#ifndef NORNIC_NET_LINK_H
#define NORNIC_NET_LINK_H

#include "net/wire/ether.h"
#include "net/field.h"
#include "net/pcap_file.h"

/* What a LINKTYPE_ or DLT_ number of tcpdump.org/linktypes stands for. */
enum net_link net_link_of(int number);

net_value_name net_sll_type_name; /* "to us", "broadcast", ...; NULL for one that we do not know */
net_value_name net_family_name;   /* "IPv4", "IPv6", as any BSD numbers them */

/* LINKTYPE_LINUX_SLL, of captures on "any": all integers in network byte order. `protocol` is an EtherType
 * where `arphrd` does not say otherwise. */
#define NET_SLL_FIELDS(F, B)                    \
    F(type, 0, 16, uint16_t, net_sll_type_name) \
    F(arphrd, 16, 16, uint16_t, NULL)           \
    F(addr_len, 32, 16, uint16_t, NULL)         \
    B(addr, 48, 64)                             \
    F(protocol, 112, 16, uint16_t, net_ethertype_name)
#define NET_SLL_BYTES 16
NET_HEADER(net_sll, NET_SLL_BYTES, NET_SLL_FIELDS);

/* LINKTYPE_LINUX_SLL2, which also names the interface. */
#define NET_SLL2_FIELDS(F, B)                        \
    F(protocol, 0, 16, uint16_t, net_ethertype_name) \
    F(resv, 16, 16, uint16_t, NULL)                  \
    F(if_index, 32, 32, uint32_t, NULL)              \
    F(arphrd, 64, 16, uint16_t, NULL)                \
    F(type, 80, 8, uint8_t, net_sll_type_name)       \
    F(addr_len, 88, 8, uint8_t, NULL)                \
    B(addr, 96, 64)
#define NET_SLL2_BYTES 20
NET_HEADER(net_sll2, NET_SLL2_BYTES, NET_SLL2_FIELDS);

/* LINKTYPE_NULL and LINKTYPE_LOOP. The former is in the byte order of the host that captured:
 * net_null_ethertype() reads both. */
#define NET_NULL_FIELDS(F, B) F(family, 0, 32, uint32_t, net_family_name)
#define NET_NULL_BYTES        4
NET_HEADER(net_null, NET_NULL_BYTES, NET_NULL_FIELDS);

/* The EtherType of what follows a net_null header with that `family`; 0: not IP. */
uint16_t net_null_ethertype(uint32_t family);

#endif
