/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside roce/: the parser in its parts. */
#ifndef NORNIC_ROCE_DATAGRAM_H
#define NORNIC_ROCE_DATAGRAM_H

#include "roce/packet.h"

/* Judges Ethernet, IP and UDP (with ROCE_PARSE_V1: or GRH) of pkt->frame (ROCE-RX-1 to RX-3) and fills the
 * members of `pkt` up to src_port. ROCE_RX_TAKEN: `*transport` is the first byte of the BTH and
 * `*transport_bytes`, at least 16 and a multiple of 4, counts from there through the ICRC, all inside the
 * frame. Else as roce_pkt_parse(). */
enum roce_rx_verdict roce_datagram_parse(struct roce_pkt *pkt, unsigned flags, const uint8_t **transport,
                                         uint32_t *transport_bytes);

/* The same from the IP header or GRH on, which `ethertype` names and which begins `l3_offset` bytes behind
 * pkt->frame: the members of Ethernet stay as they are. */
enum roce_rx_verdict roce_l3_parse(struct roce_pkt *pkt, uint16_t ethertype, uint32_t l3_offset,
                                   unsigned flags, const uint8_t **transport, uint32_t *transport_bytes);

/* --- packet.c --- */
/* Takes headers, payload and ICRC of the `transport_bytes` at `transport` (16 or more) into the members of
 * `pkt` from the BTH on; extended headers that the opcode does not have are left alone. False: too short for
 * what opcode and pad count promise (ROCE-RX-4, ROCE-HDR-4). */
bool roce_transport_parse(struct roce_pkt *pkt, const uint8_t *transport, uint32_t transport_bytes);
/* The verdict on a packet that is taken apart, and whose icrc_expected is known. */
enum roce_rx_verdict roce_pkt_judge(const struct roce_pkt *pkt, unsigned flags);

#endif
