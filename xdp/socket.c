/* SPDX-License-Identifier: BSD-2-Clause */
/* Making the AF_XDP socket and its memory. The data path is in xdp/rings.c. */
#include "xdp/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/if_xdp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>

#include "xdp/steer.h"

/* Of newer kernels than the headers of Debian 12. */
#ifndef XDP_USE_SG
#define XDP_USE_SG (1 << 4)
#endif
#ifndef XDP_MAX_TX_SKB_BUDGET
#define XDP_MAX_TX_SKB_BUDGET 9
#endif

/* What the kernel may hold of ours on its way through a peer's queue: all slots, with its own overhead. */
#define SEND_BUFFER_BYTES (64 << 20)
#define BUSY_POLL_US      20 /* a call to the kernel polls the queue on its way */

static int make_area(struct xdp_socket *socket, uint32_t mtu_bytes, bool is_sender, struct nornic_error *why)
{
    socket->slot_chunks = xdp_frame_chunks(mtu_bytes);
    socket->slot_count = is_sender ? socket->ring_frames / socket->slot_chunks : 0;
    socket->tx_base = (uint64_t)socket->ring_frames * XDP_CHUNK_BYTES;
    socket->area_bytes = socket->tx_base + (size_t)socket->slot_count * socket->slot_chunks * XDP_CHUNK_BYTES;
    socket->area = mmap(NULL, socket->area_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    socket->free_slots = calloc(socket->slot_count + 1, sizeof *socket->free_slots);
    socket->slot_in_flight = calloc(socket->slot_count + 1, sizeof *socket->slot_in_flight);
    if (socket->multi_buffer) {
        socket->assembly.bytes = socket->slot_chunks * XDP_CHUNK_BYTES;
        socket->assembly.buffers = calloc(XDP_ASSEMBLIES, socket->assembly.bytes);
    }
    if (socket->area == MAP_FAILED || !socket->free_slots || !socket->slot_in_flight ||
        (socket->multi_buffer && !socket->assembly.buffers))
        return net_error_set(why, ENOMEM, "no memory for the rings of the XDP port (%zu bytes)",
                             socket->area_bytes);
    for (uint32_t i = 0; i < socket->slot_count; i++)
        socket->free_slots[socket->free_count++] = socket->slot_count - 1 - i;
    return 0;
}

static int explain_umem(const char *ifname, int err, struct nornic_error *why)
{
    switch (err) {
    case -EPERM:
    case -EACCES:
        return xdp_needs_privileges(ifname, -err, why);
    case -EAFNOSUPPORT:
        return net_error_set(why, EAFNOSUPPORT, "this kernel has no AF_XDP sockets; use --port packet:%s",
                             ifname);
    case -ENOBUFS:
        return net_error_set(
            why, ENOBUFS,
            "the limit of locked memory is too low for the XDP port: raise it with `ulimit -l`");
    default:
        return net_error_set(why, -err, "cannot register memory for XDP on %s: %s", ifname, strerror(-err));
    }
}

static int register_area(struct xdp_socket *socket, const char *ifname, struct nornic_error *why)
{
    struct xsk_umem_config config = {
        .fill_size = socket->ring_frames, .comp_size = socket->ring_frames, .frame_size = XDP_CHUNK_BYTES};
    int err = xsk_umem__create(&socket->umem, socket->area, socket->area_bytes, &socket->fill,
                               &socket->completion, &config);
    return err < 0 ? explain_umem(ifname, err, why) : 0;
}

static int explain_bind(const struct net_interface *interface, uint32_t queue, int err,
                        struct nornic_error *why)
{
    const char *name = interface->name;
    switch (err) {
    case -EBUSY:
        return net_error_set(
            why, EBUSY,
            "queue %u of %s already has an AF_XDP socket, of nornic or of another program; end "
            "that first",
            queue, name);
    case -EINVAL:
        return net_error_set(why, EINVAL, "%s has no receive queue %u to open an AF_XDP socket on", name,
                             queue);
    case -ENETDOWN:
        return net_error_set(why, ENETDOWN, "interface %s is down; `ip link set %s up`", name, name);
    case -EPERM:
    case -EACCES:
        return xdp_needs_privileges(name, -err, why);
    default:
        return net_error_set(why, -err, "cannot open an AF_XDP socket on queue %u of %s: %s", queue, name,
                             strerror(-err));
    }
}

static int try_bind(struct xdp_socket *socket, const struct net_interface *interface, uint32_t queue,
                    uint16_t flags)
{
    struct xsk_socket_config config = {
        .rx_size = socket->ring_frames,
        .tx_size = socket->ring_frames,
        .libxdp_flags = XSK_LIBXDP_FLAGS__INHIBIT_PROG_LOAD, /* xdp/steer.c brings our own */
        .bind_flags = (uint16_t)(XDP_USE_NEED_WAKEUP | flags)};
    return xsk_socket__create(&socket->xsk, interface->name, queue, socket->umem, &socket->rx,
                              socket->slot_count ? &socket->tx : NULL, &config);
}

/* Drivers that have zero-copy may not have it for frames of several buffers, and the kernel copies then, even
 * where no frame is that long. So zero-copy without them is tried first. */
static int bind_queue(struct xdp_socket *socket, const struct net_interface *interface, uint32_t queue,
                      struct nornic_error *why)
{
    if (interface->mtu_bytes <= XDP_MTU_ONE_BUFFER && try_bind(socket, interface, queue, XDP_ZEROCOPY) == 0) {
        socket->multi_buffer = false;
        return 0;
    }
    int err = try_bind(socket, interface, queue, socket->multi_buffer ? XDP_USE_SG : 0);
    return err < 0 ? explain_bind(interface, queue, err, why) : 0;
}

/* Settings that only make it faster, so that a refusal does not matter. */
static void tune(struct xdp_socket *socket)
{
    int send_buffer = SEND_BUFFER_BYTES;
    int busy_poll_us = BUSY_POLL_US;
    uint32_t budget = socket->ring_frames; /* one call may send all of the ring, not just 32 frames */
    if (setsockopt(socket->fd, SOL_SOCKET, SO_SNDBUFFORCE, &send_buffer, sizeof send_buffer) < 0)
        setsockopt(socket->fd, SOL_SOCKET, SO_SNDBUF, &send_buffer, sizeof send_buffer);
    setsockopt(socket->fd, SOL_XDP, XDP_MAX_TX_SKB_BUDGET, &budget, sizeof budget);
    setsockopt(socket->fd, SOL_SOCKET, SO_BUSY_POLL, &busy_poll_us, sizeof busy_poll_us);
}

static bool is_zero_copy(const struct xdp_socket *socket)
{
    struct xdp_options options = {0};
    socklen_t len = sizeof options;
    return getsockopt(socket->fd, SOL_XDP, XDP_OPTIONS, &options, &len) == 0 &&
           (options.flags & XDP_OPTIONS_ZEROCOPY) != 0;
}

static void fill_all(struct xdp_socket *socket)
{
    uint32_t at = 0;
    xsk_ring_prod__reserve(&socket->fill, socket->ring_frames, &at);
    for (uint32_t i = 0; i < socket->ring_frames; i++)
        *xsk_ring_prod__fill_addr(&socket->fill, at + i) = (uint64_t)i * XDP_CHUNK_BYTES;
    xsk_ring_prod__submit(&socket->fill, socket->ring_frames);
}

int xdp_socket_open(struct xdp_socket *socket, const struct net_interface *interface,
                    const struct xdp_socket_config *config, struct nornic_error *why)
{
    memset(socket, 0, sizeof *socket);
    socket->multi_buffer = config->multi_buffer;
    socket->ring_frames = config->ring_frames;
    socket->handle_base = (uint64_t)config->number << XDP_HANDLE_SHIFT;
    if (!config->multi_buffer && interface->mtu_bytes > XDP_MTU_ONE_BUFFER)
        return xdp_mtu_too_large(interface, why);
    int err = make_area(socket, interface->mtu_bytes, config->is_sender, why);
    if (!err)
        err = register_area(socket, interface->name, why);
    if (!err)
        err = bind_queue(socket, interface, config->queue, why);
    if (err < 0) {
        xdp_socket_close(socket);
        return err;
    }
    socket->fd = xsk_socket__fd(socket->xsk);
    fcntl(socket->fd, F_SETFD, FD_CLOEXEC); /* a program that we start must not keep the queue */
    tune(socket);
    socket->zero_copy = is_zero_copy(socket);
    fill_all(socket);
    return 0;
}

void xdp_socket_close(struct xdp_socket *socket)
{
    if (socket->xsk)
        xsk_socket__delete(socket->xsk);
    if (socket->umem)
        xsk_umem__delete(socket->umem);
    if (socket->area && socket->area != MAP_FAILED)
        munmap(socket->area, socket->area_bytes);
    free(socket->free_slots);
    free(socket->slot_in_flight);
    free(socket->assembly.buffers);
    memset(socket, 0, sizeof *socket);
}

uint64_t xdp_socket_lost(const struct xdp_socket *socket)
{
    struct xdp_statistics statistics = {0};
    socklen_t len = sizeof statistics;
    if (getsockopt(socket->fd, SOL_XDP, XDP_STATISTICS, &statistics, &len) < 0)
        return 0;
    return statistics.rx_dropped + statistics.rx_ring_full;
}
