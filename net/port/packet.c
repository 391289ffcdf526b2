/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_PACKET port: frames are read in place in a receive ring and built in place in a transmit ring, both
 * of TPACKET_V2. (V3 hands up whole blocks, and waits a millisecond or more for one to fill.) A slot belongs
 * to whom its status says; the status is read with acquire and written with release order. */
#include "net/packet.h"

#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "net/port/backoff.h"
#include "net/bytes.h"
#include "net/kernel/claim.h"
#include "net/port/packet_lease.h"
#include "net/port/packet_socket.h"

#define RING_DEFAULT   4096u
#define RING_BYTES_MAX (64u << 20) /* of a default ring, about: a large MTU has fewer frames */
#define TX_DATA_OFFSET TPACKET_ALIGN(sizeof(struct tpacket2_hdr)) /* where the kernel looks for the frame */
#define KICKS_MAX      4                                          /* calls to empty the transmit ring */
#define LOOK_EVERY_NS  10000000u /* how often the kernel's statistics and errors are read */

struct packet_port {
    struct net_port base;
    struct net_packet_socket socket;
    int claim_fd; /* of the interface, beside other packet ports */
    struct net_packet_lease lease;
    uint32_t lent;   /* transmit slots of the last reserve */
    uint32_t unsent; /* first slot that the kernel may not have taken yet */
    bool kick_due;   /* some are left */
    struct net_backoff backoff;
    uint64_t look_at_ns;
    char name[32];
    char trouble[224]; /* "": none */
};

static struct tpacket2_hdr *slot_at(const struct net_packet_ring *ring, uint32_t slot)
{
    return (struct tpacket2_hdr *)(ring->base + (size_t)(slot / ring->slots_per_block) * ring->block_bytes +
                                   (size_t)(slot % ring->slots_per_block) * ring->slot_bytes);
}

static uint32_t slot_after(const struct net_packet_ring *ring, uint32_t slot)
{
    return slot + 1 < ring->slot_count ? slot + 1 : 0;
}

static uint32_t status_of(const struct tpacket2_hdr *head)
{
    return __atomic_load_n(&head->tp_status, __ATOMIC_ACQUIRE);
}

static void set_status(struct tpacket2_hdr *head, uint32_t status)
{
    __atomic_store_n(&head->tp_status, status, __ATOMIC_RELEASE);
}

/* --- receiving --- */

/* Puts the VLAN tag back that the kernel took out; the ring has room for it in front of each frame. */
static uint8_t *restore_tag(const struct tpacket2_hdr *head, uint32_t status, uint8_t *frame)
{
    uint16_t tpid = status & TP_STATUS_VLAN_TPID_VALID ? head->tp_vlan_tpid : ETH_P_8021Q;
    uint8_t *begin = frame - 4;
    memmove(begin, frame, 2 * NORNIC_MAC_BYTES);
    put_be16(put_be16(begin + 2 * NORNIC_MAC_BYTES, tpid), head->tp_vlan_tci);
    return begin;
}

/* Statistics, and the pending error of an interface that went down: unread, it would keep the descriptor
 * readable for ever. */
static void look_at_kernel(struct packet_port *port)
{
    struct tpacket_stats statistics = {0};
    int error;
    socklen_t len = sizeof statistics;
    if (getsockopt(port->socket.fd, SOL_PACKET, PACKET_STATISTICS, &statistics, &len) == 0)
        port->base.counters.rx_dropped += statistics.tp_drops; /* reading resets them */
    len = sizeof error;
    getsockopt(port->socket.fd, SOL_SOCKET, SO_ERROR, &error, &len);
}

static void kick(struct packet_port *port, uint64_t now_ns);

/* Nothing on a wire is longer than its MTU: a train came by way of interfaces that do not cut it. */
static void note_too_long(struct packet_port *port, uint32_t len_bytes)
{
    port->base.counters.rx_too_long++;
    snprintf(port->trouble, sizeof port->trouble,
             "a train of %u bytes came in one piece over %s: a packet port takes single packets, so switch "
             "tx-udp-segmentation off at the sending interface (`ethtool -K IFACE tx-udp-segmentation off`)",
             len_bytes, port->name);
}

static unsigned port_rx_burst(struct net_port *base, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct packet_port *port = (struct packet_port *)base;
    struct net_packet_ring *ring = &port->socket.rx;
    unsigned count = 0;
    if (port->kick_due && now_ns >= port->backoff.at_ns)
        kick(port, now_ns);
    if (now_ns >= port->look_at_ns) {
        look_at_kernel(port);
        port->look_at_ns = now_ns + LOOK_EVERY_NS;
    }
    net_gate_count(&port->socket.gate, &base->counters);
    net_packet_lease_round(&port->lease, &base->counters, now_ns);
    if (n > NET_BURST)
        n = NET_BURST;
    while (count < n) {
        struct tpacket2_hdr *head = slot_at(ring, ring->head);
        uint32_t status = status_of(head);
        if ((status & TP_STATUS_USER) == 0)
            break;
        if (head->tp_snaplen < head->tp_len) {
            note_too_long(port, head->tp_len);
            set_status(head, TP_STATUS_KERNEL);
        } else {
            uint8_t *data = (uint8_t *)head + head->tp_mac;
            bool is_tagged = (status & TP_STATUS_VLAN_VALID) != 0;
            frames[count] = (struct net_frame){.data = is_tagged ? restore_tag(head, status, data) : data,
                                               .len_bytes = head->tp_snaplen + (is_tagged ? 4 : 0),
                                               .handle = ring->head};
            base->counters.rx_bytes += frames[count++].len_bytes;
        }
        ring->head = slot_after(ring, ring->head);
    }
    base->counters.rx_frames += count;
    return count;
}

static void port_rx_release(struct net_port *base, const struct net_frame *frames, unsigned n)
{
    struct packet_port *port = (struct packet_port *)base;
    for (unsigned i = 0; i < n; i++)
        set_status(slot_at(&port->socket.rx, (uint32_t)frames[i].handle), TP_STATUS_KERNEL);
}

/* --- sending --- */

/* Moves past what the kernel has taken. Returns whether something is left. */
static bool is_unsent(struct packet_port *port)
{
    struct net_packet_ring *ring = &port->socket.tx;
    while (port->unsent != ring->head && status_of(slot_at(ring, port->unsent)) != TP_STATUS_SEND_REQUEST)
        port->unsent = slot_after(ring, port->unsent);
    return port->unsent != ring->head;
}

/* The interface is down or gone: takes back what the kernel has not taken, from where the kernel stands. */
static void give_up(struct packet_port *port)
{
    struct net_packet_ring *ring = &port->socket.tx;
    if (!is_unsent(port))
        return;
    for (uint32_t slot = port->unsent; slot != ring->head; slot = slot_after(ring, slot)) {
        set_status(slot_at(ring, slot), TP_STATUS_AVAILABLE);
        port->base.counters.tx_errors++;
    }
    ring->head = port->unsent;
}

/* Makes the kernel send what is in the ring. */
static void kick(struct packet_port *port, uint64_t now_ns)
{
    uint32_t before = port->unsent;
    bool was_refused = false;
    port->kick_due = false;
    for (int i = 0; i < KICKS_MAX && is_unsent(port); i++) {
        if (send(port->socket.fd, NULL, 0, MSG_DONTWAIT) >= 0 || errno == EAGAIN || errno == EINTR)
            continue;
        if (errno == ENOBUFS) { /* a full queue, or no carrier: the frame stays and is tried again */
            port->base.counters.tx_errors++;
            continue;
        }
        /* The first refusal may be the news of an interface that is up again by now. */
        if (was_refused)
            give_up(port);
        was_refused = true;
    }
    if (is_unsent(port)) {
        net_backoff_again(&port->backoff, port->unsent != before, now_ns);
        port->kick_due = true;
    }
}

static unsigned port_tx_reserve(struct net_port *base, struct net_frame *bufs, unsigned n,
                                uint32_t train_bytes)
{
    (void)train_bytes; /* limits: no trains */
    struct packet_port *port = (struct packet_port *)base;
    struct net_packet_ring *ring = &port->socket.tx;
    uint32_t slot = ring->head;
    unsigned count = 0;
    if (n > NET_BURST)
        n = NET_BURST;
    for (; count < n; count++, slot = slot_after(ring, slot)) {
        struct tpacket2_hdr *head = slot_at(ring, slot);
        /* One slot stays free, so that a full ring differs from an empty one. */
        if (status_of(head) != TP_STATUS_AVAILABLE || slot_after(ring, slot) == port->unsent)
            break;
        bufs[count] = (struct net_frame){.data = (uint8_t *)head + TX_DATA_OFFSET,
                                         .cap_bytes = ring->slot_bytes - (uint32_t)TX_DATA_OFFSET,
                                         .handle = slot};
    }
    base->counters.tx_full += count < n;
    port->lent = count;
    return count;
}

static void port_tx_flush(struct net_port *base, const struct net_frame *bufs, unsigned used, uint64_t now_ns)
{
    struct packet_port *port = (struct packet_port *)base;
    struct net_packet_ring *ring = &port->socket.tx;
    for (unsigned i = 0; i < used && i < port->lent; i++) {
        struct tpacket2_hdr *head = slot_at(ring, ring->head);
        head->tp_len = bufs[i].len_bytes;
        set_status(head, TP_STATUS_SEND_REQUEST);
        ring->head = slot_after(ring, ring->head);
        base->counters.tx_frames++;
        base->counters.tx_bytes += bufs[i].len_bytes;
    }
    port->lent = 0;
    if (!port->kick_due)
        net_backoff_reset(&port->backoff);
    kick(port, now_ns);
}

/* --- the rest --- */

static int port_fd(struct net_port *base)
{
    const struct packet_port *port = (const struct packet_port *)base;
    return port->lease.epoll_fd >= 0 ? port->lease.epoll_fd : port->socket.fd;
}

static uint64_t port_deadline_ns(const struct net_port *base)
{
    const struct packet_port *port = (const struct packet_port *)base;
    return min_u64(port->kick_due ? port->backoff.at_ns : NET_TIME_NONE,
                   net_packet_lease_deadline_ns(&port->lease));
}

static const char *mode_of(bool is_steered)
{
    return is_steered ? "mmap rings, steered" : "mmap rings";
}

static void port_steer(struct net_port *base, uint32_t dest_qpn, enum net_steer whose,
                       const struct nornic_addr *peer)
{
    struct packet_port *port = (struct packet_port *)base;
    net_port_set_mode(base, mode_of(net_gate_steer(&port->socket.gate, dest_qpn, whose, peer)));
}

static struct net_share *port_lease(const struct net_port *base)
{
    return ((const struct packet_port *)base)->lease.share;
}

static const char *port_trouble(const struct net_port *base)
{
    const struct packet_port *port = (const struct packet_port *)base;
    return port->trouble[0] ? port->trouble : NULL;
}

static void port_close(struct net_port *base)
{
    struct packet_port *port = (struct packet_port *)base;
    net_packet_lease_close(&port->lease);
    net_packet_socket_close(&port->socket);
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
    .trouble = port_trouble,
    .lease = port_lease,
    .close = port_close,
};

/* Others may have packet ports on the interface, but not an XDP program, which would take the packets, and no
 * udp port, whose peers two would answer. Who comes says so first and then looks, so that of two that come at
 * once one sees the other; where both do, the other kind of port is the one that yields, at once, and this
 * one waits for that. A descriptor, -1 where names cannot be had, or -EBUSY with a sentence. */
static int claim(const struct net_interface *interface, struct nornic_error *why)
{
    int fd = net_claim_take_any("packet", interface->index, NET_CLAIM_PACKETS), asker = net_claim_asker();
    bool is_steered = net_claim_stays_taken(asker, "xdp", interface->index, 1);
    bool has_udp = net_claim_stays_taken(asker, "udp", interface->index, NET_CLAIM_PACKETS);
    net_claim_tell_strangers(asker, "xdp", interface->index, 1);
    net_claim_tell_strangers(asker, "udp", interface->index, NET_CLAIM_PACKETS);
    if (asker >= 0)
        close(asker);
    if (!is_steered && !has_udp)
        return fd < 0 ? -1 : fd;
    if (fd >= 0)
        close(fd);
    if (has_udp)
        return net_error_set(
            why, EBUSY,
            "another running nornic has a udp port on %s, whose peers this one would refuse: "
            "end it first, or use --port udp:%s",
            interface->name, interface->name);
    return net_error_set(
        why, EBUSY,
        "another running nornic takes the RoCE packets of %s by its XDP program: end it first, "
        "or use another interface",
        interface->name);
}

static uint32_t default_frames(uint32_t mtu_bytes)
{
    return mtu_bytes > RING_BYTES_MAX / RING_DEFAULT ? RING_BYTES_MAX / mtu_bytes : RING_DEFAULT;
}

int net_packet_open(const struct net_packet_config *config, struct net_port **out, struct nornic_error *why)
{
    struct net_interface interface;
    int err = net_interface_get(config->ifname, &interface, why);
    if (err < 0)
        return err;
    if (!interface.is_up)
        return net_error_set(why, ENETDOWN, "interface %s is down; `ip link set %s up`", config->ifname,
                             config->ifname);
    int claim_fd = claim(&interface, why);
    if (claim_fd < -1)
        return claim_fd;
    struct packet_port *port = calloc(1, sizeof *port);
    err = port ? 0 : net_error_set(why, ENOMEM, "no memory for the packet port");
    if (err)
        goto close_claim;
    port->claim_fd = claim_fd;
    uint32_t ring_frames = config->ring_frames ? config->ring_frames : default_frames(interface.mtu_bytes);
    err = net_packet_socket_open(&port->socket, &interface, ring_frames, config->roce_v1, why);
    if (err)
        goto free_port;
    snprintf(port->name, sizeof port->name, "packet:%s", interface.name);
    net_backoff_reset(&port->backoff);
    port->lease.epoll_fd = -1;
    if (config->is_leased)
        net_packet_lease_open(&port->lease, port->socket.fd);
    port->base = (struct net_port){.ops = &port_ops,
                                   .limits = {.mtu_bytes = interface.mtu_bytes, .burst_frames = NET_BURST},
                                   .mac = interface.mac,
                                   .name = port->name,
                                   .mode = mode_of(port->socket.gate.state)};
    *out = &port->base;
    return 0;

free_port:
    free(port);
close_claim:
    if (claim_fd >= 0)
        close(claim_fd);
    return err;
}
