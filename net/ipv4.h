/* SPDX-License-Identifier: BSD-2-Clause */
/* The IPv4 header without options (RFC 791), and the words for what it shares with IPv6. */
#ifndef NORNIC_NET_IPV4_H
#define NORNIC_NET_IPV4_H

#include "net/field.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define NET_IP_PROTO_ICMP   1
#define NET_IP_PROTO_IPV4   4 /* IP in IP (RFC 2003) */
#define NET_IP_PROTO_TCP    6
#define NET_IP_PROTO_UDP    17
#define NET_IP_PROTO_IB_GRH 0x1b /* next header of a RoCE v1 GRH: the BTH follows (ROCE-FRM-51) */
#define NET_IP_PROTO_IPV6   41   /* IPv6 in IP (RFC 2473, 4213) */
#define NET_IP_PROTO_GRE    47
#define NET_IP_PROTO_ICMPV6 58

#define NET_ECN_NOT_ECT 0 /* RFC 3168, 5 */
#define NET_ECN_ECT1    1
#define NET_ECN_ECT0    2
#define NET_ECN_CE      3

net_value_name net_ip_proto_name; /* "UDP", ...; NULL for one that we do not know */
net_value_name net_ecn_name;      /* "Not-ECT", "ECT(1)", "ECT(0)", "CE" */

/* RFC 791, 3.1; DSCP from RFC 2474, ECN from RFC 3168. frag_offset counts in 8 bytes, total_len and ihl (in 4
 * bytes) include this header. */
#define NET_IPV4_FIELDS(F, B)                      \
    F(version, 0, 4, uint8_t, NULL)                \
    F(ihl, 4, 4, uint8_t, NULL)                    \
    F(dscp, 8, 6, uint8_t, NULL)                   \
    F(ecn, 14, 2, uint8_t, net_ecn_name)           \
    F(total_len, 16, 16, uint16_t, NULL)           \
    F(id, 32, 16, uint16_t, NULL)                  \
    F(resv1, 48, 1, uint8_t, NULL)                 \
    F(df, 49, 1, uint8_t, NULL)                    \
    F(mf, 50, 1, uint8_t, NULL)                    \
    F(frag_offset, 51, 13, uint16_t, NULL)         \
    F(ttl, 64, 8, uint8_t, NULL)                   \
    F(protocol, 72, 8, uint8_t, net_ip_proto_name) \
    F(checksum, 80, 16, uint16_t, NULL)            \
    B(src, 96, 32)                                 \
    B(dst, 128, 32)
#define NET_IPV4_BYTES       20
#define NET_IPV4_ID_AT       4 /* where the identification is, and the checksum */
#define NET_IPV4_CHECKSUM_AT 10
NET_HEADER(net_ipv4, NET_IPV4_BYTES, NET_IPV4_FIELDS);

NORNIC_END_DECLS

#endif
