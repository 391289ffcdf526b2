/* SPDX-License-Identifier: BSD-2-Clause */
/* The data path of the AF_XDP port: its four rings. The ring calls of libxdp order memory themselves: submit
 * is a release and peek an acquire of the index that both sides see. */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "xdp/socket.h"

#ifndef XDP_PKT_CONTD
#define XDP_PKT_CONTD \
    (1u << 0) /* the frame goes on in the next descriptor; of newer kernels than the headers */
#endif

#define KICKS_MAX 16 /* calls to empty the transmit ring before other work gets its turn */

/* --- receiving --- */

/* `addr`: or a handle. */
static void give_back(struct xdp_socket *socket, uint64_t addr)
{
    uint32_t at = 0;
    /* There is always room: as many entries as receive chunks. */
    if (xsk_ring_prod__reserve(&socket->fill, 1, &at) == 1)
        *xsk_ring_prod__fill_addr(&socket->fill, at) =
            addr & ((UINT64_C(1) << XDP_HANDLE_SHIFT) - XDP_CHUNK_BYTES);
}

/* Copies a part of a frame after its earlier parts. Returns whether the frame is whole now. */
static bool assemble(struct xdp_socket *socket, const struct xdp_desc *desc, struct net_frame *frame,
                     struct net_port_counters *counters)
{
    uint8_t *buffer = socket->assembly.buffers + (size_t)socket->assembly.next * socket->assembly.bytes;
    if (desc->len > socket->assembly.bytes - socket->assembly.len)
        socket->assembly.too_long = true;
    if (!socket->assembly.too_long) {
        memcpy(buffer + socket->assembly.len, socket->area + desc->addr, desc->len);
        socket->assembly.len += desc->len;
    }
    socket->assembly.in_frame = (desc->options & XDP_PKT_CONTD) != 0;
    if (socket->assembly.in_frame)
        return false;
    bool is_whole = !socket->assembly.too_long;
    if (is_whole) {
        *frame = (struct net_frame){
            .data = buffer, .len_bytes = socket->assembly.len, .handle = XDP_HANDLE_COPIED};
        socket->assembly.next = (socket->assembly.next + 1) % XDP_ASSEMBLIES;
    } else {
        counters->rx_too_long++;
    }
    socket->assembly.len = 0;
    socket->assembly.too_long = false;
    return is_whole;
}

/* Moves up to n - *count descriptors into frames. Returns how many descriptors there were. */
static unsigned take_descs(struct xdp_socket *socket, struct net_frame *frames, unsigned n, unsigned *count,
                           struct net_port_counters *counters)
{
    uint32_t at = 0, returned = 0;
    unsigned descs = xsk_ring_cons__peek(&socket->rx, n - *count, &at);
    for (unsigned i = 0; i < descs; i++) {
        const struct xdp_desc *desc = xsk_ring_cons__rx_desc(&socket->rx, at + i);
        if (socket->multi_buffer && (socket->assembly.in_frame || (desc->options & XDP_PKT_CONTD))) {
            *count += assemble(socket, desc, &frames[*count], counters);
            give_back(socket, desc->addr);
            returned++;
        } else {
            frames[(*count)++] = (struct net_frame){.data = socket->area + desc->addr,
                                                    .len_bytes = desc->len,
                                                    .handle = socket->handle_base | desc->addr};
        }
    }
    if (descs > 0)
        xsk_ring_cons__release(&socket->rx, descs);
    if (returned > 0)
        xsk_ring_prod__submit(&socket->fill, returned);
    return descs;
}

unsigned xdp_socket_rx_burst(struct xdp_socket *socket, struct net_frame *frames, unsigned n,
                             struct net_port_counters *counters)
{
    unsigned count = 0;
    while (count < n && take_descs(socket, frames, n, &count, counters) > 0)
        ;
    if (count == 0 && xsk_ring_prod__needs_wakeup(&socket->fill))
        recvfrom(socket->fd, NULL, 0, MSG_DONTWAIT, NULL, NULL); /* only wakes the driver */
    for (unsigned i = 0; i < count; i++)
        counters->rx_bytes += frames[i].len_bytes;
    counters->rx_frames += count;
    return count;
}

void xdp_socket_rx_release(struct xdp_socket *socket, const struct net_frame *frames, unsigned n)
{
    uint32_t returned = 0;
    for (unsigned i = 0; i < n; i++) {
        if (frames[i].handle == XDP_HANDLE_COPIED)
            continue;
        give_back(socket, frames[i].handle);
        returned++;
    }
    if (returned > 0)
        xsk_ring_prod__submit(&socket->fill, returned);
}

/* --- sending --- */

static uint64_t slot_addr(const struct xdp_socket *socket, uint32_t slot)
{
    return socket->tx_base + (uint64_t)slot * socket->slot_chunks * XDP_CHUNK_BYTES;
}

/* Takes back the slots of which all descriptors have been completed. */
static void reap(struct xdp_socket *socket)
{
    uint32_t at = 0, n = xsk_ring_cons__peek(&socket->completion, socket->ring_frames, &at);
    for (uint32_t i = 0; i < n; i++) {
        uint64_t addr = *xsk_ring_cons__comp_addr(&socket->completion, at + i);
        uint64_t slot = (addr - socket->tx_base) / XDP_CHUNK_BYTES / socket->slot_chunks;
        if (slot < socket->slot_count && socket->slot_in_flight[slot] > 0 &&
            --socket->slot_in_flight[slot] == 0)
            socket->free_slots[socket->free_count++] = (uint32_t)slot;
    }
    if (n > 0)
        xsk_ring_cons__release(&socket->completion, n);
}

static uint32_t consumed(const struct xdp_socket *socket)
{
    return __atomic_load_n(socket->tx.consumer, __ATOMIC_ACQUIRE);
}

/* Makes the kernel send the descriptors in the transmit ring, if it says that it must be told. Returns 0, or
 * the -errno of an interface that cannot send at all. */
static int kick(struct xdp_socket *socket, struct net_port_counters *counters)
{
    int err = 0;
    for (int i = 0; i < KICKS_MAX; i++) {
        uint32_t before = consumed(socket);
        if (before == socket->tx.cached_prod || !xsk_ring_prod__needs_wakeup(&socket->tx))
            break;
        if (sendto(socket->fd, NULL, 0, MSG_DONTWAIT, NULL, 0) < 0) {
            if (errno == EBUSY) {
                counters->tx_errors++; /* the driver dropped a frame; the next may pass */
            } else if (errno != EAGAIN && errno != ENOBUFS && errno != EINTR) {
                err = -errno;
                break;
            }
        }
        /* Zero-copy: the driver goes on by itself. Copy: no progress means that buffers are on their way. */
        if (socket->zero_copy || consumed(socket) == before)
            break;
    }
    socket->kick_due = !socket->zero_copy && consumed(socket) != socket->tx.cached_prod;
    return err;
}

bool xdp_socket_kick_again(struct xdp_socket *socket, struct net_port_counters *counters)
{
    uint32_t before = consumed(socket);
    if (socket->kick_due)
        kick(socket, counters);
    return consumed(socket) != before;
}

unsigned xdp_socket_tx_reserve(struct xdp_socket *socket, struct net_frame *bufs, unsigned n,
                               struct net_port_counters *counters)
{
    if (n > NET_BURST)
        n = NET_BURST;
    if (socket->free_count < n)
        reap(socket);
    if (socket->free_count < n && socket->kick_due) {
        kick(socket, counters);
        reap(socket);
    }
    if (socket->free_count < n) {
        counters->tx_full++;
        n = socket->free_count;
    }
    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = socket->free_slots[--socket->free_count];
        socket->lent[i] = slot;
        bufs[i] = (struct net_frame){.data = socket->area + slot_addr(socket, slot),
                                     .cap_bytes = socket->slot_chunks * XDP_CHUNK_BYTES,
                                     .handle = slot};
    }
    socket->lent_count = n;
    return n;
}

/* Puts the descriptors of one frame into the ring, one a chunk. Returns how many. */
static uint32_t put_frame(struct xdp_socket *socket, uint32_t slot, uint32_t len_bytes)
{
    uint64_t addr = slot_addr(socket, slot);
    uint32_t at = 0, descs = (len_bytes + XDP_CHUNK_BYTES - 1) / XDP_CHUNK_BYTES;
    /* There is always room: as many entries as transmit chunks. */
    if (xsk_ring_prod__reserve(&socket->tx, descs, &at) != descs)
        return 0;
    for (uint32_t i = 0; i < descs; i++) {
        uint32_t left = len_bytes - i * XDP_CHUNK_BYTES;
        *xsk_ring_prod__tx_desc(&socket->tx, at + i) =
            (struct xdp_desc){.addr = addr + (uint64_t)i * XDP_CHUNK_BYTES,
                              .len = left < XDP_CHUNK_BYTES ? left : XDP_CHUNK_BYTES,
                              .options = i + 1 < descs ? XDP_PKT_CONTD : 0};
    }
    return descs;
}

void xdp_socket_tx_flush(struct xdp_socket *socket, const struct net_frame *bufs, unsigned used,
                         struct net_port_counters *counters)
{
    uint32_t descs = 0;
    unsigned sent = 0;
    for (unsigned i = 0; i < socket->lent_count; i++) {
        uint32_t slot = socket->lent[i], put = 0;
        if (i < used && bufs[i].len_bytes > 0 && bufs[i].len_bytes <= socket->slot_chunks * XDP_CHUNK_BYTES)
            put = put_frame(socket, slot, bufs[i].len_bytes);
        if (put == 0) {
            socket->free_slots[socket->free_count++] = slot;
            counters->tx_errors += i < used;
            continue;
        }
        socket->slot_in_flight[slot] = (uint8_t)put;
        counters->tx_bytes += bufs[i].len_bytes;
        descs += put;
        sent++;
    }
    socket->lent_count = 0;
    counters->tx_frames += sent;
    if (descs == 0)
        return;
    xsk_ring_prod__submit(&socket->tx, descs);
    if (kick(socket, counters) < 0)
        counters->tx_errors += sent;
}
