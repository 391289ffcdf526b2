/* SPDX-License-Identifier: BSD-2-Clause */
/* What a RoCE packet tells of its sender. */
#ifndef NORNIC_EXPLAIN_PACKET_SENDER_H
#define NORNIC_EXPLAIN_PACKET_SENDER_H

#include "explain/packet/packet.h"
#include "roce/packet.h"

/* Returns whether a sender chose that UDP source port for a queue pair (ROCE-FRM-44): an ordinary socket
 * sends all from the port of RoCE. */
static inline bool explain_is_own_port(uint16_t port)
{
    return port != ROCE_UDP_PORT;
}

/* Returns enum roce_service of a packet; the masked atomics are RC's (docs/masked-atomics.md). */
static inline uint8_t explain_service(const struct roce_pkt *pkt)
{
    uint8_t service = pkt->bth.opcode >> 5;
    return service == ROCE_SERVICE_VENDOR ? ROCE_SERVICE_RC : service;
}

/* Returns the identification of an IPv4 packet; 0 of any other. */
static inline uint16_t explain_ip_id(const struct explain_packet *packet)
{
    return packet->roce.l3_kind == ROCE_L3_IPV4 ? (uint16_t)(packet->roce.l3[4] << 8 | packet->roce.l3[5])
                                                : 0;
}

#endif
