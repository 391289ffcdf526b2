/* SPDX-License-Identifier: BSD-2-Clause */
/* The fixed IPv6 header (RFC 8200); a RoCE v1 GRH has the same layout (ROCE-FRM-51). */
#ifndef NORNIC_NET_IPV6_H
#define NORNIC_NET_IPV6_H

#include "net/ipv4.h" /* net_ip_proto_name, net_ecn_name */

/* RFC 8200, 3; the traffic class is split into DSCP and ECN (RFC 2474, RFC 3168). payload_len counts what
 * follows this header. */
#define NET_IPV6_FIELDS(F, B)                         \
    F(version, 0, 4, uint8_t, NULL)                   \
    F(dscp, 4, 6, uint8_t, NULL)                      \
    F(ecn, 10, 2, uint8_t, net_ecn_name)              \
    F(flow_label, 12, 20, uint32_t, NULL)             \
    F(payload_len, 32, 16, uint16_t, NULL)            \
    F(next_header, 48, 8, uint8_t, net_ip_proto_name) \
    F(hop_limit, 56, 8, uint8_t, NULL)                \
    B(src, 64, 128)                                   \
    B(dst, 192, 128)
#define NET_IPV6_BYTES 40
NET_HEADER(net_ipv6, NET_IPV6_BYTES, NET_IPV6_FIELDS);

#endif
