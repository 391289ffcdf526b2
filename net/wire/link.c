/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/link.h"

#include "base/base.h"
#include "net/wire/ether.h"

NET_HEADER_TABLE(net_sll, "Linux cooked capture", NET_SLL_BYTES, NET_SLL_FIELDS);
NET_HEADER_TABLE(net_sll2, "Linux cooked capture, version 2", NET_SLL2_BYTES, NET_SLL2_FIELDS);
NET_HEADER_TABLE(net_null, "BSD loopback", NET_NULL_BYTES, NET_NULL_FIELDS);

enum net_link net_link_of(int number)
{
    static const struct {
        int number;
        enum net_link link;
    } rows[] = {{1, NET_LINK_ETHERNET}, {0, NET_LINK_NULL},  {108, NET_LINK_LOOP}, {12, NET_LINK_IP},
                {14, NET_LINK_IP},      {101, NET_LINK_IP},  {228, NET_LINK_IP},   {229, NET_LINK_IP},
                {113, NET_LINK_SLL},    {276, NET_LINK_SLL2}};
    for (unsigned i = 0; i < array_len(rows); i++)
        if (rows[i].number == number)
            return rows[i].link;
    return NET_LINK_OTHER;
}

const char *net_sll_type_name(uint64_t value)
{
    static const char *const names[] = {"to us", "broadcast", "multicast", "to somebody else", "from us"};
    return value < array_len(names) ? names[value] : NULL;
}

/* AF_INET is 2 everywhere; AF_INET6 is 24 (NetBSD, OpenBSD), 28 (FreeBSD), 30 (macOS) or 10 (Linux). */
uint16_t net_null_ethertype(uint32_t family)
{
    uint32_t f = family > 0xffff ? __builtin_bswap32(family) : family;
    if (f == 2)
        return NET_ETHERTYPE_IPV4;
    return f == 10 || f == 24 || f == 28 || f == 30 ? NET_ETHERTYPE_IPV6 : 0;
}

const char *net_family_name(uint64_t value)
{
    uint16_t ethertype = net_null_ethertype((uint32_t)value);
    return ethertype ? net_ethertype_name(ethertype) : NULL;
}
