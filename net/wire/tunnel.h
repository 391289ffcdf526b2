/* SPDX-License-Identifier: BSD-2-Clause */
/* Headers that put one network's packets into another's: VXLAN (RFC 7348), Geneve (RFC 8926), GRE (RFC 2784,
 * 2890) with NVGRE (RFC 7637), and the mirrored frames of ERSPAN (draft-foschiano-erspan). */
#ifndef NORNIC_NET_TUNNEL_H
#define NORNIC_NET_TUNNEL_H

#include "net/wire/ether.h"
#include "net/field.h"

#define NET_PORT_VXLAN       4789
#define NET_PORT_VXLAN_LINUX 8472 /* where Linux listened before there was a number */
#define NET_PORT_GENEVE      6081

/* `i`: the VNI is there. g, d, a and the policy: draft-smith-vxlan-group-policy. */
#define NET_VXLAN_FIELDS(F, B)              \
    F(g, 0, 1, uint8_t, NULL)               \
    F(resv1, 1, 3, uint8_t, NULL)           \
    F(i, 4, 1, uint8_t, NULL)               \
    F(resv2, 5, 4, uint8_t, NULL)           \
    F(d, 9, 1, uint8_t, NULL)               \
    F(resv3, 10, 2, uint8_t, NULL)          \
    F(a, 12, 1, uint8_t, NULL)              \
    F(resv4, 13, 3, uint8_t, NULL)          \
    F(group_policy, 16, 16, uint16_t, NULL) \
    F(vni, 32, 24, uint32_t, NULL)          \
    F(resv5, 56, 8, uint8_t, NULL)
#define NET_VXLAN_BYTES 8
NET_HEADER(net_vxlan, NET_VXLAN_BYTES, NET_VXLAN_FIELDS);

/* `opt_len` counts the options behind it in 4 bytes; `o`: control packet; `c`: there are critical options. */
#define NET_GENEVE_FIELDS(F, B)                       \
    F(version, 0, 2, uint8_t, NULL)                   \
    F(opt_len, 2, 6, uint8_t, NULL)                   \
    F(o, 8, 1, uint8_t, NULL)                         \
    F(c, 9, 1, uint8_t, NULL)                         \
    F(resv1, 10, 6, uint8_t, NULL)                    \
    F(protocol, 16, 16, uint16_t, net_ethertype_name) \
    F(vni, 32, 24, uint32_t, NULL)                    \
    F(resv2, 56, 8, uint8_t, NULL)
#define NET_GENEVE_BYTES 8
NET_HEADER(net_geneve, NET_GENEVE_BYTES, NET_GENEVE_FIELDS);

/* `c`, `k`, `s`: checksum, key and sequence number follow, in this order, 4 bytes each. */
#define NET_GRE_FIELDS(F, B)         \
    F(c, 0, 1, uint8_t, NULL)        \
    F(routing, 1, 1, uint8_t, NULL)  \
    F(k, 2, 1, uint8_t, NULL)        \
    F(s, 3, 1, uint8_t, NULL)        \
    F(resv, 4, 9, uint16_t, NULL)    \
    F(version, 13, 3, uint8_t, NULL) \
    F(protocol, 16, 16, uint16_t, net_ethertype_name)
#define NET_GRE_BYTES 4
NET_HEADER(net_gre, NET_GRE_BYTES, NET_GRE_FIELDS);

#define NET_GRE_CHECKSUM_FIELDS(F, B) F(checksum, 0, 16, uint16_t, NULL) F(resv, 16, 16, uint16_t, NULL)
#define NET_GRE_KEY_FIELDS(F, B)      F(key, 0, 32, uint32_t, NULL)
#define NET_NVGRE_FIELDS(F, B)        F(vsid, 0, 24, uint32_t, NULL) F(flow_id, 24, 8, uint8_t, NULL)
#define NET_GRE_SEQ_FIELDS(F, B)      F(seq, 0, 32, uint32_t, NULL)
#define NET_GRE_PART_BYTES            4
NET_HEADER(net_gre_checksum, NET_GRE_PART_BYTES, NET_GRE_CHECKSUM_FIELDS);
NET_HEADER(net_gre_key, NET_GRE_PART_BYTES, NET_GRE_KEY_FIELDS);
NET_HEADER(net_nvgre, NET_GRE_PART_BYTES, NET_NVGRE_FIELDS);
NET_HEADER(net_gre_seq, NET_GRE_PART_BYTES, NET_GRE_SEQ_FIELDS);

/* The VSIDs that RFC 7637 gives to virtual subnets; another value of those bits is no NVGRE. */
#define NET_NVGRE_VSID_FIRST 0x001000
#define NET_NVGRE_VSID_LAST  0xfffffe

/* Type II (GRE protocol 0x88be with a sequence number; without one it is type I, which has no header). */
#define NET_ERSPAN2_FIELDS(F, B)           \
    F(version, 0, 4, uint8_t, NULL)        \
    F(vlan, 4, 12, uint16_t, NULL)         \
    F(cos, 16, 3, uint8_t, NULL)           \
    F(encapsulation, 19, 2, uint8_t, NULL) \
    F(truncated, 21, 1, uint8_t, NULL)     \
    F(session_id, 22, 10, uint16_t, NULL)  \
    F(resv, 32, 12, uint16_t, NULL)        \
    F(index, 44, 20, uint32_t, NULL)
#define NET_ERSPAN2_BYTES 8
NET_HEADER(net_erspan2, NET_ERSPAN2_BYTES, NET_ERSPAN2_FIELDS);

net_value_name net_erspan_frame_name; /* "Ethernet", "IP" */

/* Type III (GRE protocol 0x22eb). `o`: a platform specific subheader of 8 bytes follows. */
#define NET_ERSPAN3_FIELDS(F, B)                         \
    F(version, 0, 4, uint8_t, NULL)                      \
    F(vlan, 4, 12, uint16_t, NULL)                       \
    F(cos, 16, 3, uint8_t, NULL)                         \
    F(bso, 19, 2, uint8_t, NULL)                         \
    F(truncated, 21, 1, uint8_t, NULL)                   \
    F(session_id, 22, 10, uint16_t, NULL)                \
    F(timestamp, 32, 32, uint32_t, NULL)                 \
    F(sgt, 64, 16, uint16_t, NULL)                       \
    F(p, 80, 1, uint8_t, NULL)                           \
    F(frame_type, 81, 5, uint8_t, net_erspan_frame_name) \
    F(hw_id, 86, 6, uint8_t, NULL)                       \
    F(direction, 92, 1, uint8_t, NULL)                   \
    F(granularity, 93, 2, uint8_t, NULL)                 \
    F(o, 95, 1, uint8_t, NULL)
#define NET_ERSPAN3_BYTES 12
NET_HEADER(net_erspan3, NET_ERSPAN3_BYTES, NET_ERSPAN3_FIELDS);

#define NET_ERSPAN_PLATFORM_FIELDS(F, B) F(platform_id, 0, 6, uint8_t, NULL) F(info, 6, 58, uint64_t, NULL)
#define NET_ERSPAN_PLATFORM_BYTES        8
NET_HEADER(net_erspan_platform, NET_ERSPAN_PLATFORM_BYTES, NET_ERSPAN_PLATFORM_FIELDS);

#endif
