/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/lldp.h"

#include <stddef.h>

NET_HEADER_TABLE(net_lldp_tlv, "LLDP TLV", NET_LLDP_TLV_BYTES, NET_LLDP_TLV_FIELDS);
NET_HEADER_TABLE(net_lldp_id, "LLDP id", NET_LLDP_ID_BYTES, NET_LLDP_ID_FIELDS);
NET_HEADER_TABLE(net_lldp_ttl, "LLDP time to live", NET_LLDP_TTL_BYTES, NET_LLDP_TTL_FIELDS);
NET_HEADER_TABLE(net_lldp_org, "LLDP organization", NET_LLDP_ORG_BYTES, NET_LLDP_ORG_FIELDS);
NET_HEADER_TABLE(net_dcbx_ets_config, "ETS configuration", NET_DCBX_ETS_BYTES, NET_DCBX_ETS_CONFIG_FIELDS);
NET_HEADER_TABLE(net_dcbx_ets_recommendation, "ETS recommendation", NET_DCBX_ETS_BYTES,
                 NET_DCBX_ETS_RECOMMENDATION_FIELDS);
NET_HEADER_TABLE(net_dcbx_pfc, "PFC configuration", NET_DCBX_PFC_BYTES, NET_DCBX_PFC_FIELDS);
NET_HEADER_TABLE(net_dcbx_app, "application priorities", NET_DCBX_APP_BYTES, NET_DCBX_APP_FIELDS);
NET_HEADER_TABLE(net_dcbx_app_entry, "application priority", NET_DCBX_APP_ENTRY_BYTES,
                 NET_DCBX_APP_ENTRY_FIELDS);

const char *net_lldp_type_name(uint64_t value)
{
    static const char *const names[] = {
        "end",         "chassis id",         "port id",      "time to live",      "port description",
        "system name", "system description", "capabilities", "management address"};
    if (value < sizeof names / sizeof *names)
        return names[value];
    return value == NET_LLDP_ORGANIZATION ? "of an organization" : NULL;
}

const char *net_lldp_oui_name(uint64_t value)
{
    return value == NET_LLDP_OUI_8021 ? "802.1" : value == NET_LLDP_OUI_8023 ? "802.3" : NULL;
}

const char *net_dcbx_tsa_name(uint64_t value)
{
    static const char *const names[] = {"strict", "credit based", "ETS"};
    if (value < sizeof names / sizeof *names)
        return names[value];
    return value == 255 ? "vendor's" : NULL;
}

const char *net_dcbx_selector_name(uint64_t value)
{
    static const char *const names[] = {NULL, "EtherType", "TCP port", "UDP port", "TCP or UDP port", "DSCP"};
    return value < sizeof names / sizeof *names ? names[value] : NULL;
}
