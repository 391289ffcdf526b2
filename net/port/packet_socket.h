/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the AF_PACKET socket with its two rings. Internal to net/; the data path is in net/port/packet.c. */
#ifndef NORNIC_NET_PACKET_SOCKET_H
#define NORNIC_NET_PACKET_SOCKET_H

#include <stddef.h>
#include <stdint.h>

#include "net/error.h"
#include "net/port/gate.h"
#include "net/port/guard.h"
#include "net/kernel/kernel.h"

/* A ring of equal slots within blocks; each slot begins with a struct tpacket2_hdr. */
struct net_packet_ring {
    uint8_t *base;
    uint32_t slot_bytes, slots_per_block, block_bytes, slot_count;
    uint32_t head; /* the slot that comes next */
};

struct net_packet_socket {
    int fd;
    struct net_guard guard;
    uint8_t *map;
    size_t map_bytes;
    struct net_packet_ring rx, tx;
    struct net_gate gate; /* of the filter; none where the kernel lets this process load no program */
};

/* Opens the socket on an interface, with rings of at least `ring_frames` frames of its MTU each. 0 or -errno
 * with a sentence. */
int net_packet_socket_open(struct net_packet_socket *socket, const struct net_interface *interface,
                           uint32_t ring_frames, bool roce_v1, struct nornic_error *why);
void net_packet_socket_close(struct net_packet_socket *socket);

#endif
