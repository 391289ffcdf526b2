/* SPDX-License-Identifier: BSD-2-Clause */
/* The port: the steering program and the sockets behind the calls of net/port.h, one for each receive queue,
 * by the first of which frames leave. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "net/port/backoff.h"
#include "net/kernel/claim.h"
#include "xdp/socket.h"
#include "xdp/steer.h"
#include "xdp/xdp.h"

#define LOST_EVERY_NS 10000000u /* how often the kernel's count of lost frames is read */

/* The kernel frees the queue of a closed socket a moment later, in a work item: for half a second a busy
 * queue is asked for again. */
#define QUEUE_TRIES   50
#define QUEUE_WAIT_NS 10000000

/* Of many queues each gets a part of what the rings of four have, but so many frames. */
#define QUEUES_FULL 4
#define RING_LEAST  256u

struct xdp_port {
    struct net_port base;
    struct xdp_socket *sockets; /* of the queues in their order */
    uint32_t socket_count;
    uint32_t next; /* to be looked at first */
    int epoll_fd;  /* of several sockets, else -1 */
    struct xdp_steer steer;
    int claim_fd; /* of the interface: its RoCE packets */
    struct net_backoff backoff;
    uint64_t lost_at_ns;
    char name[32], mode[80], open_mode[96]; /* open_mode: while the gate stands open for want of room */
};

static uint64_t lost(const struct xdp_port *port)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < port->socket_count; i++)
        sum += xdp_socket_lost(&port->sockets[i]);
    return sum;
}

static unsigned port_rx_burst(struct net_port *base, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct xdp_port *port = (struct xdp_port *)base;
    unsigned count = 0;
    if (n > NET_BURST)
        n = NET_BURST;
    if (port->sockets->kick_due && now_ns >= port->backoff.at_ns)
        net_backoff_again(&port->backoff, xdp_socket_kick_again(port->sockets, &base->counters), now_ns);
    if (now_ns >= port->lost_at_ns) {
        base->counters.rx_dropped = lost(port);
        port->lost_at_ns = now_ns + LOST_EVERY_NS;
    }
    net_gate_count(&port->steer.gate, &base->counters);
    for (uint32_t i = 0; i < port->socket_count && count < n; i++) {
        struct xdp_socket *socket = &port->sockets[(port->next + i) % port->socket_count];
        count += xdp_socket_rx_burst(socket, frames + count, n - count, &base->counters);
    }
    port->next = (port->next + 1) % port->socket_count;
    return count;
}

static void port_rx_release(struct net_port *base, const struct net_frame *frames, unsigned n)
{
    const struct xdp_port *port = (const struct xdp_port *)base;
    for (unsigned i = 0, end; i < n; i = end) {
        uint64_t number = frames[i].handle >> XDP_HANDLE_SHIFT; /* of one that was copied: none */
        for (end = i + 1; end < n && frames[end].handle >> XDP_HANDLE_SHIFT == number;)
            end++;
        if (number < port->socket_count)
            xdp_socket_rx_release(&port->sockets[number], frames + i, end - i);
    }
}

static unsigned port_tx_reserve(struct net_port *base, struct net_frame *bufs, unsigned n,
                                uint32_t train_bytes)
{
    (void)train_bytes; /* limits: no trains */
    return xdp_socket_tx_reserve(((struct xdp_port *)base)->sockets, bufs, n, &base->counters);
}

static void port_tx_flush(struct net_port *base, const struct net_frame *bufs, unsigned used, uint64_t now_ns)
{
    struct xdp_port *port = (struct xdp_port *)base;
    if (!port->sockets->kick_due)
        net_backoff_reset(&port->backoff);
    xdp_socket_tx_flush(port->sockets, bufs, used, &base->counters);
    net_backoff_rest(&port->backoff, now_ns);
}

static int port_fd(struct net_port *base)
{
    const struct xdp_port *port = (const struct xdp_port *)base;
    return port->epoll_fd >= 0 ? port->epoll_fd : port->sockets->fd;
}

static uint64_t port_deadline_ns(const struct net_port *base)
{
    const struct xdp_port *port = (const struct xdp_port *)base;
    return port->sockets->kick_due ? port->backoff.at_ns : NET_TIME_NONE;
}

static void port_steer(struct net_port *base, uint32_t dest_qpn, enum net_steer whose,
                       const struct nornic_addr *peer)
{
    struct xdp_port *port = (struct xdp_port *)base;
    bool is_steered = net_gate_steer(&port->steer.gate, dest_qpn, whose, peer);
    net_port_set_mode(base, is_steered ? port->mode : port->open_mode);
}

static void close_sockets(struct xdp_port *port)
{
    for (uint32_t i = 0; i < port->socket_count; i++)
        xdp_socket_close(&port->sockets[i]);
    port->socket_count = 0;
    free(port->sockets);
    port->sockets = NULL;
    if (port->epoll_fd >= 0)
        close(port->epoll_fd);
    port->epoll_fd = -1;
}

static void port_close(struct net_port *base)
{
    struct xdp_port *port = (struct xdp_port *)base;
    /* The program first: until the sockets go, it would steer into the void. */
    xdp_steer_close(&port->steer);
    close_sockets(port);
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

/* Opens socket `i`, and has the program lead to it. */
static int open_socket(struct xdp_port *port, const struct net_interface *interface,
                       const struct xdp_config *config, uint32_t i, bool multi_buffer,
                       struct nornic_error *why)
{
    struct xdp_socket *socket = &port->sockets[i];
    struct epoll_event event = {.events = EPOLLIN};
    struct xdp_socket_config one = {.queue = config->queue + i,
                                    .ring_frames = config->ring_frames,
                                    .is_sender = i == 0,
                                    .multi_buffer = multi_buffer,
                                    .number = (uint16_t)i};
    int err = xdp_socket_open(socket, interface, &one, why);
    if (err)
        return err;
    port->socket_count++;
    err = xdp_steer_bind(&port->steer, one.queue, socket->fd);
    if (!err && port->epoll_fd >= 0 && epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, socket->fd, &event) < 0)
        err = -errno;
    return !err ? 0
                : net_error_set(why, -err, "cannot hand queue %u of %s to the XDP program: %s", one.queue,
                                interface->name, strerror(-err));
}

static int open_sockets(struct xdp_port *port, const struct net_interface *interface,
                        const struct xdp_config *config, bool multi_buffer, struct nornic_error *why)
{
    uint32_t count = config->queue_count;
    port->sockets = calloc(count, sizeof *port->sockets);
    port->epoll_fd = count > 1 ? epoll_create1(EPOLL_CLOEXEC) : -1;
    if (!port->sockets || (count > 1 && port->epoll_fd < 0))
        return net_error_set(why, ENOMEM, "no memory for the XDP port");
    for (uint32_t i = 0; i < count; i++) {
        int err = open_socket(port, interface, config, i, multi_buffer, why);
        if (err)
            return err;
    }
    return 0;
}

/* Program, sockets, and these joined; the program is attached last, when all that it leads to is there. It is
 * loaded first: where that is not allowed (a user namespace) the kernel would refuse the socket for its limit
 * of locked memory, which is not what is missing. */
static int open_with(struct xdp_port *port, const struct net_interface *interface,
                     const struct xdp_config *config, bool multi_buffer, struct nornic_error *why)
{
    int err = xdp_steer_load(&port->steer, multi_buffer, config->roce_v1, why);
    if (err == -EPERM || err == -EACCES)
        return xdp_needs_privileges(interface->name, -err, why);
    if (err)
        return err;
    err = open_sockets(port, interface, config, multi_buffer, why);
    net_gate_set_ring(&port->steer.gate, config->ring_frames / xdp_frame_chunks(interface->mtu_bytes));
    if (!err)
        err = xdp_steer_attach(&port->steer, interface, config->mode, why);
    if (err) {
        xdp_steer_close(&port->steer);
        close_sockets(port);
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
    char queues[24] = "";
    bool zero_copy = true;
    for (uint32_t i = 0; i < port->socket_count; i++)
        zero_copy &= port->sockets[i].zero_copy;
    if (port->socket_count > 1)
        snprintf(queues, sizeof queues, ", %u queues", port->socket_count);
    snprintf(port->name, sizeof port->name, "xdp:%s", interface->name);
    snprintf(port->mode, sizeof port->mode, "%s, need-wakeup, %s%s%s",
             port->steer.is_native ? "native" : "generic", zero_copy ? "zero-copy" : "copy",
             port->sockets->multi_buffer ? ", multi-buffer" : "", queues);
    snprintf(port->open_mode, sizeof port->open_mode, "%s, not steered", port->mode);
    port->base = (struct net_port){.ops = &port_ops,
                                   .limits = {.mtu_bytes = interface->mtu_bytes, .burst_frames = NET_BURST},
                                   .mac = interface->mac,
                                   .name = port->name,
                                   .mode = port->mode};
}

/* What the caller leaves open. */
static void complete_config(struct xdp_config *config)
{
    uint32_t queues = net_interface_rx_queues(config->ifname);
    if (config->queue_count == 0)
        config->queue_count = config->queue < queues ? queues - config->queue : 1;
    if (config->queue < XDP_STEER_QUEUES)
        config->queue_count = min_u32(config->queue_count, XDP_STEER_QUEUES - config->queue);
    if (config->ring_frames)
        return;
    config->ring_frames = XDP_RING_DEFAULT;
    while (config->ring_frames > RING_LEAST &&
           config->ring_frames * config->queue_count > QUEUES_FULL * XDP_RING_DEFAULT)
        config->ring_frames /= 2;
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
    net_claim_tell_strangers(asker, "xdp", interface->index, 1);
    net_claim_tell_strangers(asker, "packet", interface->index, NET_CLAIM_PACKETS);
    net_claim_tell_strangers(asker, "udp", interface->index, NET_CLAIM_PACKETS);
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
    complete_config(&config);
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
    if (port)
        port->epoll_fd = -1;
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
