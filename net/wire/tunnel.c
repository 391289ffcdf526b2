/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/tunnel.h"

NET_HEADER_TABLE(net_vxlan, "VXLAN", NET_VXLAN_BYTES, NET_VXLAN_FIELDS);
NET_HEADER_TABLE(net_geneve, "Geneve", NET_GENEVE_BYTES, NET_GENEVE_FIELDS);
NET_HEADER_TABLE(net_gre, "GRE", NET_GRE_BYTES, NET_GRE_FIELDS);
NET_HEADER_TABLE(net_gre_checksum, "GRE checksum", NET_GRE_PART_BYTES, NET_GRE_CHECKSUM_FIELDS);
NET_HEADER_TABLE(net_gre_key, "GRE key", NET_GRE_PART_BYTES, NET_GRE_KEY_FIELDS);
NET_HEADER_TABLE(net_nvgre, "NVGRE", NET_GRE_PART_BYTES, NET_NVGRE_FIELDS);
NET_HEADER_TABLE(net_gre_seq, "GRE sequence number", NET_GRE_PART_BYTES, NET_GRE_SEQ_FIELDS);
NET_HEADER_TABLE(net_erspan2, "ERSPAN type II", NET_ERSPAN2_BYTES, NET_ERSPAN2_FIELDS);
NET_HEADER_TABLE(net_erspan3, "ERSPAN type III", NET_ERSPAN3_BYTES, NET_ERSPAN3_FIELDS);
NET_HEADER_TABLE(net_erspan_platform, "ERSPAN platform subheader", NET_ERSPAN_PLATFORM_BYTES,
                 NET_ERSPAN_PLATFORM_FIELDS);

const char *net_erspan_frame_name(uint64_t value)
{
    return value == 0 ? "Ethernet" : value == 2 ? "IP" : NULL;
}
