/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of a received train (net/port.h), each with headers, ICRC and verdict of its own. Ethernet, IP
 * and UDP are taken apart and hashed once for all packets that are equally long. A frame that is no train is
 * seen as one of one packet; roce_pkt_parse() has less to do for it. Inside roce/ only. */
#ifndef NORNIC_ROCE_ARRIVAL_H
#define NORNIC_ROCE_ARRIVAL_H

#include "net/wire/train.h"
#include "roce/wire/ip_id.h"
#include "roce/packet.h"

struct roce_arrival {
    struct net_train train; /* train.count packets */
    struct roce_pkt pkt;    /* the newest; each is whole, headers and all, as long as it is that */
    bool is_foreign;        /* it was taken with an identification that is not nornic's: roce/wire/ip_id.h */
    /* --- */
    unsigned flags;
    struct roce_ip_ids *ids;
    enum roce_rx_verdict verdict; /* on Ethernet, IP and UDP of the packets so long as the first */
    uint32_t icrc_below;          /* of the first: roce/wire/icrc_parts.h */
    uint16_t icrc_id;             /* the identification that it covers */
    uint32_t transport_offset, transport_bytes;
    uint32_t frame_bytes;
};

/* `frame` is borrowed until roce_arrival_end(), and written to in between. `flags`: enum roce_parse_flags.
 * `ids`: the IPv4 identifications are not known, and what stands in the headers is a guess: that of a packet
 * is found by its ICRC, as far as `ids` admits it, and written into its header. NULL: the headers are as they
 * came. */
void roce_arrival_begin(struct roce_arrival *arrival, const struct net_frame *frame, unsigned flags,
                        struct roce_ip_ids *ids);

/* Takes packet `i` apart, the next one, from 0 on: arrival->pkt and the verdict are those of
 * roce_pkt_parse(). */
enum roce_rx_verdict roce_arrival_packet(struct roce_arrival *arrival, uint32_t i);

/* The payload of packet `i`, if it is a MIDDLE like packet i - 1, the newest, or the newest but those that
 * this has shown since: as long, with the same BTH but for a PSN one higher, and AckReq, which `*asks` says;
 * and its ICRC is right. arrival->pkt stays as it is. NULL: roce_arrival_packet() has to see it. */
const uint8_t *roce_arrival_next_middle(struct roce_arrival *arrival, uint32_t i, bool *asks);

void roce_arrival_end(struct roce_arrival *arrival);

#endif
