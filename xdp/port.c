/* SPDX-License-Identifier: BSD-2-Clause */
/* The port: the steering program and the socket behind the calls of net/port.h. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "net/backoff.h"
#include "net/claim.h"
#include "xdp/socket.h"
#include "xdp/steer.h"
#include "xdp/xdp.h"

#define LOST_EVERY_NS 10000000u /* how often the kernel's count of lost frames is read */

/* The kernel frees the queue of a closed socket a moment later, in a work item: for half a second a busy
 * queue is asked for again. */
#define QUEUE_TRIES   50
#define QUEUE_WAIT_NS 10000000

struct xdp_port {
    struct net_port base;
    struct xdp_socket socket;
    struct xdp_steer steer;
    int claim_fd; /* of the interface: its RoCE packets */
    struct net_backoff backoff;
    uint64_t lost_at_ns;
    char name[32], mode[64], open_mode[80]; /* open_mode: while the gate stands open for want of room */
};

static unsigned port_rx_burst(struct net_port *base, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct xdp_port *port = (struct xdp_port *)base;
    if (port->socket.kick_due && now_ns >= port->backoff.at_ns)
        net_backoff_again(&port->backoff, xdp_socket_kick_again(&port->socket, &base->counters), now_ns);
    if (now_ns >= port->lost_at_ns) {
        base->counters.rx_dropped = xdp_socket_lost(&port->socket);
        port->lost_at_ns = now_ns + LOST_EVERY_NS;
    }
    net_gate_count(&port->steer.gate, &base->counters);
    return xdp_socket_rx_burst(&port->socket, frames, n < NET_BURST ? n : NET_BURST, &base->counters);
}

static void port_rx_release(struct net_port *base, const struct net_frame *frames, unsigned n)
{
    xdp_socket_rx_release(&((struct xdp_port *)base)->socket, frames, n);
}

static unsigned port_tx_reserve(struct net_port *base, struct net_frame *bufs, unsigned n,
                                uint32_t train_bytes)
{
    (void)train_bytes; /* limits: no trains */
    return xdp_socket_tx_reserve(&((struct xdp_port *)base)->socket, bufs, n, &base->counters);
}

static void port_tx_flush(struct net_port *base, const struct net_frame *bufs, unsigned used, uint64_t now_ns)
{
    struct xdp_port *port = (struct xdp_port *)base;
    if (!port->socket.kick_due)
        net_backoff_reset(&port->backoff);
    xdp_socket_tx_flush(&port->socket, bufs, used, &base->counters);
    net_backoff_rest(&port->backoff, now_ns);
}

static int port_fd(struct net_port *base)
{
    return ((struct xdp_port *)base)->socket.fd;
}

static uint64_t port_deadline_ns(const struct net_port *base)
{
    const struct xdp_port *port = (const struct xdp_port *)base;
    return port->socket.kick_due ? port->backoff.at_ns : NET_TIME_NONE;
}

static void port_steer(struct net_port *base, uint32_t dest_qpn, enum net_steer whose,
                       const struct nornic_addr *peer)
{
    struct xdp_port *port = (struct xdp_port *)base;
    bool is_steered = net_gate_steer(&port->steer.gate, dest_qpn, whose, peer);
    net_port_set_mode(base, is_steered ? port->mode : port->open_mode);
}

static void port_close(struct net_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    /* The program first: until the socket goes, it would steer into the void. */
    xdp_steer_close(&port->steer);
    xdp_socket_close(&port->socket);
    if (port->claim_fd >= 0)
        close(port->claim_fd);
    free(port);
}

static const struct net_port_ops port_ops = {
    .rx_burst = port_rx_burst,
    .rx_release = port_rx_release,
    .tx_reserve = port_tx_reserve,
    .tx_flush = port_tx_flush,
    .fd = port_fd,
    .deadline_ns = port_deadline_ns,
    .steer = port_steer,
    .close = port_close,
};

/* Program, socket, and the two joined; the program is attached last, when all that it leads to is there. It
 * is loaded first: where that is not allowed (a user namespace) the kernel would refuse the socket for its
 * limit of locked memory, which is not what is missing. */
static int open_with(struct xdp_port *port, const struct net_interface *interface,
                     const struct xdp_config *config, bool multi_buffer, struct nornic_error *why)
{
    int err = xdp_steer_load(&port->steer, multi_buffer, config->roce_v1, why);
    if (err == -EPERM || err == -EACCES)
        return xdp_needs_privileges(interface->name, -err, why);
    if (err)
        return err;
    err = xdp_socket_open(&port->socket, interface, config, multi_buffer, why);
    if (err) {
        xdp_steer_close(&port->steer);
        return err;
    }
    net_gate_set_ring(&port->steer.gate, port->socket.slot_count);
    err = xdp_steer_bind(&port->steer, config->queue, port->socket.fd);
    if (err)
        net_error_set(why, -err, "cannot hand queue %u of %s to the XDP program: %s", config->queue,
                      interface->name, strerror(-err));
    if (!err)
        err = xdp_steer_attach(&port->steer, interface, config->mode, why);
    if (err) {
        xdp_steer_close(&port->steer);
        xdp_socket_close(&port->socket);
    }
    return err;
}

static int open_patiently(struct xdp_port *port, const struct net_interface *interface,
                          const struct xdp_config *config, bool multi_buffer, struct nornic_error *why)
{
    int err = open_with(port, interface, config, multi_buffer, why);
    for (int i = 1; i < QUEUE_TRIES && err == -EBUSY; i++) {
        nanosleep(&(struct timespec){.tv_nsec = QUEUE_WAIT_NS}, NULL);
        err = open_with(port, interface, config, multi_buffer, why);
    }
    return err;
}

static void describe(struct xdp_port *port, const struct net_interface *interface)
{
    snprintf(port->name, sizeof port->name, "xdp:%s", interface->name);
    snprintf(port->mode, sizeof port->mode, "%s, need-wakeup, %s%s",
             port->steer.is_native ? "native" : "generic", port->socket.zero_copy ? "zero-copy" : "copy",
             port->socket.multi_buffer ? ", multi-buffer" : "");
    snprintf(port->open_mode, sizeof port->open_mode, "%s, not steered", port->mode);
    port->base = (struct net_port){.ops = &port_ops,
                                   .limits = {.mtu_bytes = interface->mtu_bytes, .burst_frames = NET_BURST},
                                   .mac = interface->mac,
                                   .name = port->name,
                                   .mode = port->mode};
}

static int check_config(const struct xdp_config *config, struct nornic_error *why)
{
    uint32_t n = config->ring_frames;
    if (n < NET_BURST || n > 65536 || (n & (n - 1)) != 0)
        return net_error_set(why, EINVAL, "a ring of %u frames is not possible: a power of two, %u to 65536",
                             n, NET_BURST);
    if (config->queue >= XDP_STEER_QUEUES)
        return net_error_set(why, EINVAL, "receive queue %u is too high: at most %u", config->queue,
                             XDP_STEER_QUEUES - 1);
    return 0;
}

/* All RoCE packets of the interface, so nobody may have a packet or udp port there. Who comes says so first
 * and then looks, so that of two that come at once one sees the other; this one yields to a packet port, and
 * a udp port to this one. A descriptor, -1 where names cannot be had, or -EBUSY with a sentence. */
static int claim(const struct net_interface *interface, struct nornic_error *why)
{
    int fd = net_claim_take("xdp", interface->index, 0), asker = net_claim_asker();
    unsigned others = net_claim_count(asker, "packet", interface->index, NET_CLAIM_PACKETS);
    bool has_udp = net_claim_stays_taken(asker, "udp", interface->index, NET_CLAIM_PACKETS);
    if (asker >= 0)
        close(asker);
    if (fd == -EADDRINUSE)
        return xdp_in_use(interface->name, why);
    if (others == 0 && !has_udp)
        return fd < 0 ? -1 : fd;
    if (fd >= 0)
        close(fd);
    const char *kind = others ? "packet" : "udp";
    return net_error_set(why, EBUSY,
                         "another running nornic has a %s port on %s, whose packets the XDP program would "
                         "take: end it first, or use --port %s:%s",
                         kind, interface->name, kind, interface->name);
}

int xdp_port_open(const struct xdp_config *user_config, struct net_port **out, struct nornic_error *why)
{
    struct xdp_config config = *user_config;
    struct net_interface interface;
    if (config.ring_frames == 0)
        config.ring_frames = XDP_RING_DEFAULT;
    int err = check_config(&config, why);
    if (!err)
        err = net_interface_get(config.ifname, &interface, why);
    if (!err && !interface.is_up)
        err = net_error_set(why, ENETDOWN, "interface %s is down; `ip link set %s up`", config.ifname,
                            config.ifname);
    if (!err)
        err = xdp_steer_clear(&interface, why);
    if (err)
        return err;
    int claim_fd = claim(&interface, why);
    if (claim_fd < -1)
        return claim_fd;
    struct xdp_port *port = calloc(1, sizeof *port);
    err = port ? open_patiently(port, &interface, &config, true, why)
               : net_error_set(why, ENOMEM, "no memory for the XDP port");
    if (err == -EINVAL) /* a kernel before 6.6 has no multi-buffer AF_XDP: one page a frame must do */
        err = open_patiently(port, &interface, &config, false, why);
    if (err) {
        if (claim_fd >= 0)
            close(claim_fd);
        free(port);
        return err;
    }
    port->claim_fd = claim_fd;
    describe(port, &interface);
    *out = &port->base;
    return 0;
}
