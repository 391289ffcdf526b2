/* SPDX-License-Identifier: BSD-2-Clause */
/* LLDP (IEEE 802.1AB) and what DCBX says in it (IEEE 802.1Q, annex D; of 2011, not the older "CEE"):
 * which priorities are lossless, how traffic classes share the link, which application takes which priority.
 */
#ifndef NORNIC_NET_LLDP_H
#define NORNIC_NET_LLDP_H

#include "net/field.h"

enum net_lldp_type {
    NET_LLDP_END,
    NET_LLDP_CHASSIS_ID,
    NET_LLDP_PORT_ID,
    NET_LLDP_TTL,
    NET_LLDP_PORT_DESCRIPTION,
    NET_LLDP_SYSTEM_NAME,
    NET_LLDP_SYSTEM_DESCRIPTION,
    NET_LLDP_CAPABILITIES,
    NET_LLDP_MANAGEMENT_ADDRESS,
    NET_LLDP_ORGANIZATION = 127,
};

#define NET_LLDP_OUI_8021 0x0080c2
#define NET_LLDP_OUI_8023 0x00120f
enum net_dcbx_subtype { NET_DCBX_ETS_CONFIG = 9, NET_DCBX_ETS_RECOMMENDATION, NET_DCBX_PFC, NET_DCBX_APP };
enum net_dcbx_selector { NET_DCBX_ETHERTYPE = 1, NET_DCBX_TCP, NET_DCBX_UDP, NET_DCBX_PORT, NET_DCBX_DSCP };

net_value_name net_lldp_type_name;     /* "chassis id", ... */
net_value_name net_lldp_oui_name;      /* "802.1", "802.3" */
net_value_name net_dcbx_tsa_name;      /* "strict", "credit based", "ETS" */
net_value_name net_dcbx_selector_name; /* "EtherType", "UDP port", ... */

/* What every TLV begins with; `length` counts the bytes behind. */
#define NET_LLDP_TLV_FIELDS(F, B) F(type, 0, 7, uint8_t, net_lldp_type_name) F(length, 7, 9, uint16_t, NULL)
#define NET_LLDP_TLV_BYTES        2
NET_HEADER(net_lldp_tlv, NET_LLDP_TLV_BYTES, NET_LLDP_TLV_FIELDS);

/* Chassis and port id: the id follows. */
#define NET_LLDP_ID_FIELDS(F, B) F(subtype, 0, 8, uint8_t, NULL)
#define NET_LLDP_ID_BYTES        1
NET_HEADER(net_lldp_id, NET_LLDP_ID_BYTES, NET_LLDP_ID_FIELDS);

/* For how many seconds all of it holds. */
#define NET_LLDP_TTL_FIELDS(F, B) F(ttl, 0, 16, uint16_t, NULL)
#define NET_LLDP_TTL_BYTES        2
NET_HEADER(net_lldp_ttl, NET_LLDP_TTL_BYTES, NET_LLDP_TTL_FIELDS);

#define NET_LLDP_ORG_FIELDS(F, B) F(oui, 0, 24, uint32_t, net_lldp_oui_name) F(subtype, 24, 8, uint8_t, NULL)
#define NET_LLDP_ORG_BYTES        4
NET_HEADER(net_lldp_org, NET_LLDP_ORG_BYTES, NET_LLDP_ORG_FIELDS);

/* pN: the traffic class of priority N; bwN: the share of class N in percent; tsaN: how it is served. */
#define NET_DCBX_CLASSES_(F, at)                     \
    F(p0, at, 4, uint8_t, NULL)                      \
    F(p1, at + 4, 4, uint8_t, NULL)                  \
    F(p2, at + 8, 4, uint8_t, NULL)                  \
    F(p3, at + 12, 4, uint8_t, NULL)                 \
    F(p4, at + 16, 4, uint8_t, NULL)                 \
    F(p5, at + 20, 4, uint8_t, NULL)                 \
    F(p6, at + 24, 4, uint8_t, NULL)                 \
    F(p7, at + 28, 4, uint8_t, NULL)                 \
    F(bw0, at + 32, 8, uint8_t, NULL)                \
    F(bw1, at + 40, 8, uint8_t, NULL)                \
    F(bw2, at + 48, 8, uint8_t, NULL)                \
    F(bw3, at + 56, 8, uint8_t, NULL)                \
    F(bw4, at + 64, 8, uint8_t, NULL)                \
    F(bw5, at + 72, 8, uint8_t, NULL)                \
    F(bw6, at + 80, 8, uint8_t, NULL)                \
    F(bw7, at + 88, 8, uint8_t, NULL)                \
    F(tsa0, at + 96, 8, uint8_t, net_dcbx_tsa_name)  \
    F(tsa1, at + 104, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa2, at + 112, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa3, at + 120, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa4, at + 128, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa5, at + 136, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa6, at + 144, 8, uint8_t, net_dcbx_tsa_name) \
    F(tsa7, at + 152, 8, uint8_t, net_dcbx_tsa_name)

/* `willing` to take the peer's; `max_tcs` 0: eight. */
#define NET_DCBX_ETS_CONFIG_FIELDS(F, B) \
    F(willing, 0, 1, uint8_t, NULL)      \
    F(cbs, 1, 1, uint8_t, NULL)          \
    F(resv, 2, 3, uint8_t, NULL)         \
    F(max_tcs, 5, 3, uint8_t, NULL)      \
    NET_DCBX_CLASSES_(F, 8)
#define NET_DCBX_ETS_RECOMMENDATION_FIELDS(F, B) F(resv, 0, 8, uint8_t, NULL) NET_DCBX_CLASSES_(F, 8)
#define NET_DCBX_ETS_BYTES                       21
NET_HEADER(net_dcbx_ets_config, NET_DCBX_ETS_BYTES, NET_DCBX_ETS_CONFIG_FIELDS);
NET_HEADER(net_dcbx_ets_recommendation, NET_DCBX_ETS_BYTES, NET_DCBX_ETS_RECOMMENDATION_FIELDS);

/* eN: priority N is lossless. `mbc`: MACsec bypass; `capability`: how many classes can be. */
#define NET_DCBX_PFC_FIELDS(F, B)      \
    F(willing, 0, 1, uint8_t, NULL)    \
    F(mbc, 1, 1, uint8_t, NULL)        \
    F(resv, 2, 2, uint8_t, NULL)       \
    F(capability, 4, 4, uint8_t, NULL) \
    F(e7, 8, 1, uint8_t, NULL)         \
    F(e6, 9, 1, uint8_t, NULL)         \
    F(e5, 10, 1, uint8_t, NULL)        \
    F(e4, 11, 1, uint8_t, NULL)        \
    F(e3, 12, 1, uint8_t, NULL)        \
    F(e2, 13, 1, uint8_t, NULL)        \
    F(e1, 14, 1, uint8_t, NULL)        \
    F(e0, 15, 1, uint8_t, NULL)
#define NET_DCBX_PFC_BYTES 2
NET_HEADER(net_dcbx_pfc, NET_DCBX_PFC_BYTES, NET_DCBX_PFC_FIELDS);

/* The application priority table: this, then entries of 3 bytes. */
#define NET_DCBX_APP_FIELDS(F, B) F(resv, 0, 8, uint8_t, NULL)
#define NET_DCBX_APP_BYTES        1
NET_HEADER(net_dcbx_app, NET_DCBX_APP_BYTES, NET_DCBX_APP_FIELDS);

/* `protocol` is what `selector` says: an EtherType, a port, a DSCP. RoCEv2 is UDP port 4791. */
#define NET_DCBX_APP_ENTRY_FIELDS(F, B)                \
    F(priority, 0, 3, uint8_t, NULL)                   \
    F(resv, 3, 2, uint8_t, NULL)                       \
    F(selector, 5, 3, uint8_t, net_dcbx_selector_name) \
    F(protocol, 8, 16, uint16_t, NULL)
#define NET_DCBX_APP_ENTRY_BYTES 3
NET_HEADER(net_dcbx_app_entry, NET_DCBX_APP_ENTRY_BYTES, NET_DCBX_APP_ENTRY_FIELDS);

#endif
