/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_XDP socket with its memory, and the frames it has lent. Internal to xdp/.
 *
 * The memory (umem) is cut into chunks of one page. The first `ring_frames` chunks are for receiving: each is
 * in the fill ring, at the kernel, in the receive ring, or lent to the caller, so the fill ring always has
 * room for one that comes back. Behind them lie the transmit slots, each as many chunks in a row as the
 * longest frame needs: a frame is contiguous for who builds it, and leaves as one descriptor a chunk. A slot
 * is free (on the stack), lent, or in flight until all its descriptors have come back in the completion ring.
 * A port has a socket for each receive queue, each with memory of its own; frames leave by the first. */
#ifndef NORNIC_XDP_SOCKET_H
#define NORNIC_XDP_SOCKET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <xdp/xsk.h>

#include "net/error.h"
#include "net/kernel/kernel.h"
#include "net/port.h"
#include "xdp/xdp.h"

#define XDP_CHUNK_BYTES   4096u
#define XDP_HEADROOM      256u /* the kernel's XDP_PACKET_HEADROOM at the front of a received chunk */
#define XDP_ETHER_MAX     18u  /* Ethernet and VLAN header */
#define XDP_RING_DEFAULT  2048u
#define XDP_ASSEMBLIES    (NET_BURST + 1) /* a burst, and one frame whose rest has not come yet */
#define XDP_HANDLE_COPIED UINT64_MAX      /* a frame that was put together from several chunks */
#define XDP_HANDLE_SHIFT  48              /* in a handle the number of the socket is above the address */

struct xdp_socket_config {
    uint32_t queue;
    uint32_t ring_frames; /* of each ring, a power of two */
    bool is_sender;       /* else it receives only */
    bool multi_buffer;    /* frames may span chunks */
    uint16_t number;      /* of this socket among those of the port */
};

/* A frame of several chunks that is put together. */
struct xdp_assembly {
    uint8_t *buffers; /* XDP_ASSEMBLIES of `bytes`; NULL without multi_buffer */
    uint32_t bytes;
    uint32_t next;           /* buffer of the present frame */
    uint32_t len;            /* so much of it is there */
    bool in_frame, too_long; /* the last descriptor said that more comes; more came than fits */
};

struct xdp_socket {
    struct xsk_socket *xsk;
    struct xsk_umem *umem;
    struct xsk_ring_prod fill, tx;
    struct xsk_ring_cons completion, rx;
    int fd;
    bool multi_buffer; /* frames may span chunks */
    bool zero_copy;
    uint64_t handle_base; /* of received frames */
    uint8_t *area;
    size_t area_bytes;
    uint32_t ring_frames;

    uint64_t tx_base;     /* where the transmit slots begin, bytes into `area` */
    uint32_t slot_chunks; /* chunks a slot */
    uint32_t slot_count;  /* slots; 0: it receives only */
    uint32_t *free_slots; /* a stack */
    uint32_t free_count;
    uint8_t *slot_in_flight;  /* descriptors of each slot that the kernel has */
    uint32_t lent[NET_BURST]; /* slots of the last reserve */
    uint32_t lent_count;
    bool kick_due; /* the transmit ring was not emptied; the kernel must be asked again */

    struct xdp_assembly assembly;
};

/* Chunks that the longest frame takes. */
static inline uint32_t xdp_frame_chunks(uint32_t mtu_bytes)
{
    return (mtu_bytes + XDP_ETHER_MAX + XDP_CHUNK_BYTES - 1) / XDP_CHUNK_BYTES;
}

/* Opens and binds a socket on a queue. 0, -EINVAL if the kernel has no multi-buffer AF_XDP, or another -errno
 * with a sentence. */
int xdp_socket_open(struct xdp_socket *socket, const struct net_interface *interface,
                    const struct xdp_socket_config *config, struct nornic_error *why);
/* Harmless on a zeroed or closed socket. */
void xdp_socket_close(struct xdp_socket *socket);

/* The port's calls (net/port.h). */
unsigned xdp_socket_rx_burst(struct xdp_socket *socket, struct net_frame *frames, unsigned n,
                             struct net_port_counters *counters);
void xdp_socket_rx_release(struct xdp_socket *socket, const struct net_frame *frames, unsigned n);
unsigned xdp_socket_tx_reserve(struct xdp_socket *socket, struct net_frame *bufs, unsigned n,
                               struct net_port_counters *counters);
void xdp_socket_tx_flush(struct xdp_socket *socket, const struct net_frame *bufs, unsigned used,
                         struct net_port_counters *counters);

/* Asks the kernel once more to send what is in the ring, if that is due. Returns whether it took any. */
bool xdp_socket_kick_again(struct xdp_socket *socket, struct net_port_counters *counters);

/* Frames that the kernel has lost for us since the socket was opened. */
uint64_t xdp_socket_lost(const struct xdp_socket *socket);

#endif
