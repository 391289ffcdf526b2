/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/mac_control.h"

NET_HEADER_TABLE(net_mac_control, "MAC control", NET_MAC_CONTROL_BYTES, NET_MAC_CONTROL_FIELDS);
NET_HEADER_TABLE(net_pause, "PAUSE", NET_PAUSE_BYTES, NET_PAUSE_FIELDS);
NET_HEADER_TABLE(net_pfc, "PFC", NET_PFC_BYTES, NET_PFC_FIELDS);

const char *net_mac_control_name(uint64_t value)
{
    return value == NET_MAC_CONTROL_PAUSE ? "PAUSE" : value == NET_MAC_CONTROL_PFC ? "PFC" : NULL;
}
