/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of a train (net/port.h), one after the other.
 *
 * Behind one set of headers, those of the first packet, lie the UDP payloads of all: nowhere but at the very
 * beginning do a packet's own headers stand in front of its payload. Whoever wants to see packet i whole gets
 * it in place: its headers are written over the last bytes of packet i - 1, and what lay there is put back
 * before the walk goes on. So nothing is copied but a header, and after the walk the train is what it was. */
#ifndef NORNIC_NET_TRAIN_H
#define NORNIC_NET_TRAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "net/port.h"

/* Packets of which Linux makes a train at the most: UDP_MAX_SEGMENTS of linux/udp.h; before 6.9 it was 64. */
#define NET_TRAIN_MAX_PKTS 128

/* Ethernet with a tag, IPv4 with all options, UDP. */
#define NET_TRAIN_HEAD_MAX_BYTES (18 + 60 + 8)

/* A walk over the packets of a frame. Members are the walk's own, but for the first two. */
struct net_train {
    uint32_t count;      /* packets; of a frame that is no train: 1 */
    uint32_t head_bytes; /* in front of a UDP payload; of a frame that is no train: 0 */
    uint8_t *data;
    uint32_t len_bytes, seg_bytes;
    uint32_t l3_offset;
    bool is_v4;
    uint16_t checksum, ip_id, l3_bytes; /* IPv4: of the first packet */
    uint32_t at;                        /* the packet that is whole now; 0: none needed to be made so */
    uint8_t head[NET_TRAIN_HEAD_MAX_BYTES];
    uint8_t under[NET_TRAIN_HEAD_MAX_BYTES]; /* what lay where the headers of packet `at` are */
};

/* Looks at the headers of `frame`, whose bytes are borrowed until net_train_end(). A frame with seg_bytes = 0
 * is one packet; so is a train whose headers are not those of a UDP packet with seg_bytes of payload, or that
 * is no longer than that. */
void net_train_begin(struct net_train *train, const struct net_frame *frame);

/* Makes packet `i` (below train->count) whole and returns it as a frame of its own: Ethernet, IP and UDP
 * header with its lengths, its identification (of the first + i) and an IPv4 checksum that is right if the
 * first one's is. It is valid until the next call for the same walk. */
struct net_frame net_train_packet(struct net_train *train, uint32_t i);

/* From the next packet on the walk numbers as if the first had the IPv4 identification `ip_id`: for who has
 * found that the packets bear others than those that were assumed. The first packet's own bytes are left. */
void net_train_renumber(struct net_train *train, uint16_t ip_id);

/* Gives the bytes back as they were. */
void net_train_end(struct net_train *train);

/* How many packets a frame is, and how many bytes they have on the wire, from their Ethernet headers on. */
struct net_train_size {
    uint32_t pkts;
    uint64_t bytes;
};
struct net_train_size net_train_size(const struct net_frame *frame);

#endif
