/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/wire/ip_id_restore.h"

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/udp.h"
#include "roce/wire/ip_id.h"
#include "roce/packet.h"

void roce_ip_id_restore(uint8_t *frame, uint32_t len_bytes)
{
    struct roce_pkt pkt;
    struct roce_ip_ids ids = {.lengths = {{0}}};
    uint16_t difference;
    if (roce_pkt_parse(&pkt, frame, len_bytes, ROCE_PARSE_SKIP_ICRC) != ROCE_RX_TAKEN ||
        pkt.l3_kind != ROCE_L3_IPV4 || pkt.icrc_found == pkt.icrc_expected)
        return;
    uint8_t *l3 = frame + (pkt.l3 - pkt.frame);
    uint32_t covered_bytes = get_be16(l3 + 2) - NET_IPV4_BYTES - NET_UDP_BYTES - ROCE_ICRC_BYTES;
    if (roce_ip_id_find(&ids, pkt.icrc_found ^ pkt.icrc_expected, covered_bytes, &difference))
        net_checksum_ipv4_set_id(l3, get_be16(l3 + NET_IPV4_ID_AT) ^ difference);
}
