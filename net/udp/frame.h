/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames as messages of a UDP socket (msghdr), with peer, payload and control messages, and back.
 * Internal to net/. */
#ifndef NORNIC_NET_UDP_FRAME_H
#define NORNIC_NET_UDP_FRAME_H

#include <linux/udp.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/socket.h>

#include "net/error.h"
#include "net/kernel/sockaddr.h"
#include "net/wire/ether.h"
#include "net/wire/ipv6.h"
#include "net/port.h"
#include "net/wire/udp.h"

/* Linux 4.18 and 5.0; older headers have none of them. */
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

/* Longest headers in front of a payload: Ethernet without a tag, IPv6, UDP. */
#define NET_UDP_HEAD_MAX_BYTES (NET_ETHER_BYTES + NET_IPV6_BYTES + NET_UDP_BYTES)

/* Room for the control messages of one message, either way. */
struct net_udp_control {
    _Alignas(struct cmsghdr) uint8_t bytes[128];
};

/* A frame or train in the form of sendmsg(). The payload is borrowed from the frame. */
struct net_udp_message {
    struct nornic_addr src;
    uint16_t src_port;
    struct iovec payload;
    union net_sockaddr to;
    socklen_t to_bytes;
    uint8_t tos, ttl; /* or traffic class and hop limit */
    bool is_to_group;
    struct net_udp_control control;
    size_t control_bytes;       /* of all, */
    size_t train_control_bytes; /* and of the first, which only a train needs */
};

/* Takes a frame to UDP port 4791 apart: addresses, payload, TOS (traffic class), TTL (hop limit; 0: the
 * socket's), the length of a train's packets. `ifindex` is the scope of link-local destinations. Returns
 * false for a frame of another kind. */
bool net_udp_message_of(struct net_udp_message *out, const struct net_frame *frame, unsigned ifindex);

/* The headers and control messages of a received payload. Lengths are in bytes. */
struct net_udp_arrival {
    struct nornic_addr src, dst;
    uint16_t src_port;
    uint8_t tos, ttl;
    uint32_t payload_bytes;
    uint32_t seg_bytes; /* of a train, else 0 */
};

/* Reads TOS, TTL and the length of a train's packets from the control messages of a received message. A
 * member without a control message keeps its value. */
void net_udp_arrival_read(struct net_udp_arrival *arrival, struct msghdr *message);

/* Writes the headers right in front of `payload`, into NET_UDP_HEAD_MAX_BYTES of spare room. Returns the
 * frame with no MAC addresses, don't-fragment, identification 0, a right IPv4 checksum, UDP checksum 0 (the
 * kernel has checked it). */
struct net_frame net_udp_arrival_frame(const struct net_udp_arrival *arrival, uint8_t *payload);

#endif
