/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/ipv4.h"

NET_HEADER_TABLE(net_ipv4, "IPv4", NET_IPV4_BYTES, NET_IPV4_FIELDS);

const char *net_ip_proto_name(uint64_t value)
{
    switch (value) {
    case NET_IP_PROTO_ICMP:
        return "ICMP";
    case NET_IP_PROTO_IPV4:
        return "IPv4";
    case NET_IP_PROTO_IPV6:
        return "IPv6";
    case NET_IP_PROTO_GRE:
        return "GRE";
    case NET_IP_PROTO_TCP:
        return "TCP";
    case NET_IP_PROTO_UDP:
        return "UDP";
    case NET_IP_PROTO_IB_GRH:
        return "IB BTH";
    case NET_IP_PROTO_ICMPV6:
        return "ICMPv6";
    }
    return NULL;
}

const char *net_ecn_name(uint64_t value)
{
    static const char *const names[] = {[NET_ECN_NOT_ECT] = "Not-ECT",
                                        [NET_ECN_ECT1] = "ECT(1)",
                                        [NET_ECN_ECT0] = "ECT(0)",
                                        [NET_ECN_CE] = "CE"};
    return value < array_len(names) ? names[value] : NULL;
}
