/* SPDX-License-Identifier: BSD-2-Clause */
/* The port: the only seam between an engine and the world. A port moves bursts of Ethernet frames, and may
 * move trains of them.
 *
 * Sending:   n = net_port_tx_reserve(port, bufs, want)      the port lends buffers
 *            fill bufs[i].data, set bufs[i].len_bytes        the engine builds packets in place
 *            net_port_tx_flush(port, bufs, used, now_ns)     the first `used` leave, the rest go back unused
 *   Every reserve that returned more than 0 is followed by exactly one flush before the next reserve.
 * Receiving: n = net_port_rx_burst(port, frames, want, now_ns)   the port lends frames
 *            read them in place
 *            net_port_rx_release(port, frames, n)                all of them, before the next burst
 *
 * A train is one buffer that holds many packets of one UDP flow: the Ethernet, IP and UDP headers of the
 * first, then the UDP payloads of all, each seg_bytes long but the last, which may be shorter. Whoever cuts
 * it (the kernel, a NIC, net/wire/train.h) repeats the headers, with the IPv4 identification one higher from
 * packet to packet, and the lengths and the IPv4 checksum that are the packet's own. A train's UDP checksum
 * is 0. What a packet cost the world below is so paid once a train. A port that takes no trains (limits)
 * never sees one: it lends buffers for single frames only.
 *
 * A port may be an ordinary UDP socket, whose kernel writes the headers of what is sent and takes off those
 * of what is received (limits.is_udp_socket). The ICRC covers them, so frames to be sent must say what the
 * kernel will: UDP source port 4791, an IPv4 identification of 0 and don't-fragment (packet i of a train: i),
 * a flow label of 0. Ethernet headers say nothing: the kernel's routes decide. Frames that were received are
 * put together from what the kernel tells; it does not tell the identification, which stands as 0, and as i
 * in packet i of a train, until the ICRC has told it (roce/wire/ip_id.h).
 *
 * A port has one user at a time; it does no locking. */
#ifndef NORNIC_NET_PORT_H
#define NORNIC_NET_PORT_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define NET_BURST     64         /* frames that one call moves at the most */
#define NET_TIME_NONE UINT64_MAX /* a deadline that never comes */

/* One frame, or one train. Bytes that were received may be written to until they are released. */
struct net_frame {
    uint8_t *data;      /* first byte of the Ethernet header; lent by the port */
    uint32_t len_bytes; /* of all that is there, without FCS */
    uint32_t cap_bytes; /* transmit: room at `data` */
    uint32_t seg_bytes; /* 0: a single frame; else a train with this many bytes of UDP payload a packet */
    uint32_t
        train_pkts;   /* transmit: most packets of a train that may be built here; 0 or 1: a single frame */
    uint64_t time_ns; /* receive: when it came, in the port's clock; 0: unknown */
    uint64_t handle;  /* the port's own */
};

struct net_port_limits {
    uint32_t mtu_bytes;      /* of the IP packet: the frame may be 14 bytes longer (18 with a VLAN tag) */
    uint32_t burst_frames;   /* most frames of one reserve or burst, at most NET_BURST */
    uint32_t train_tx_bytes; /* longest train that may be sent, from its Ethernet header on; 0: no trains */
    uint32_t train_tx_pkts;  /* and the most packets that it may have */
    bool train_rx;           /* received frames may be trains */
    uint32_t rx_room_bytes;  /* of what has come and waits; 0: frames, not bytes, are counted */
    bool is_udp_socket;      /* what passes here passes an ordinary UDP socket: see above */
    uint16_t src_port_count; /* then: UDP source ports, from NET_UDP_SRC_PORT_FIRST on; 0: 4791 alone */
};

/* Named counters of a port. A train counts as the packets that it is cut into. */
#define NET_PORT_COUNTERS(C)                                                      \
    C(tx_frames)                                                                  \
    C(tx_bytes)                                                                   \
    C(rx_frames)                                                                  \
    C(rx_bytes)                                                                   \
    C(tx_full)        /* reserve returned fewer than asked: the ring was full */  \
    C(tx_errors)      /* the kernel refused a frame */                            \
    C(rx_dropped)     /* the kernel or the ring lost a frame before we saw it */  \
    C(rx_too_long)    /* a frame longer than a buffer */                          \
    C(tx_refused)     /* ICMP: the peer, its host or a router took no more */     \
    C(tx_too_long)    /* ICMP, or the kernel's route: longer than the path MTU */ \
    C(rx_no_qp)       /* steering: to a number that takes no packets */           \
    C(rx_stranger)    /* steering: not from the peer that the number has */       \
    C(rx_limited)     /* steering: more of a limited kind than its share */       \
    C(rx_filtered)    /* steering: any of the three, where that is not told */    \
    C(rx_passed_on)   /* another process's that has the same address */           \
    C(rx_handed_over) /* by another process that has the same address */

struct net_port_counters {
#define NET_PORT_COUNTER_MEMBER_(name) uint64_t name;
    NET_PORT_COUNTERS(NET_PORT_COUNTER_MEMBER_)
#undef NET_PORT_COUNTER_MEMBER_
};

/* Whose packets to a number (BTH destination QP) a port hands up. */
enum net_steer {
    NET_STEER_NOBODY,
    NET_STEER_PEER,    /* those of one source address */
    NET_STEER_ANYBODY, /* those of every source */
    NET_STEER_LIMITED, /* the same, but so many in NET_STEER_WINDOW_NS */
};

/* What everybody may send to everybody gets a share of the way up, so that a flood of it leaves room for the
 * rest. Each number has one: QP 1, and that of multicast, which all groups have in common. It is a quarter of
 * the receive ring, counted in frames of the full size, but no more than NET_STEER_LIMIT: 30,000 a second. */
#define NET_STEER_LIMIT     512u
#define NET_STEER_WINDOW_NS (1u << 24)

struct net_port;
struct net_share;
struct nornic_error;

struct net_port_ops {
    unsigned (*rx_burst)(struct net_port *port, struct net_frame *frames, unsigned n, uint64_t now_ns);
    void (*rx_release)(struct net_port *port, const struct net_frame *frames, unsigned n);
    unsigned (*tx_reserve)(struct net_port *port, struct net_frame *bufs, unsigned n, uint32_t train_bytes);
    void (*tx_flush)(struct net_port *port, const struct net_frame *bufs, unsigned used, uint64_t now_ns);
    int (*fd)(struct net_port *port);
    uint64_t (*deadline_ns)(const struct net_port *port);
    bool (*refused)(struct net_port *port, struct nornic_addr *peer); /* NULL: it never knows */
    void (*steer)(struct net_port *port, uint32_t dest_qpn, enum net_steer whose,
                  const struct nornic_addr *peer); /* NULL: the port hands up all */
    int (*listen)(struct net_port *port, const struct nornic_addr *addr,
                  struct nornic_error *why); /* NULL: the port hears whatever comes to its interface */
    void (*unlisten)(struct net_port *port, const struct nornic_addr *addr); /* with `listen` */
    const char *(*trouble)(const struct net_port *port);                     /* NULL: it never knows any */
    struct net_share *(*share)(const struct net_port *port);                 /* NULL: it shares nothing */
    struct net_share *(*lease)(const struct net_port *port);                 /* NULL: that of `share` */
    void (*close)(struct net_port *port);
};

/* The head of every port; a backend embeds it first in its own struct. */
struct net_port {
    const struct net_port_ops *ops;
    struct net_port_limits limits;
    struct net_port_counters counters;
    struct nornic_mac mac; /* of the interface; zero where a port has none */
    const char *name;      /* "xdp:eth0": for messages; owned by the port */
    /* How the backend runs, in words: "native, need-wakeup, copy"; owned by the port. Steering may change
     * it. */
    const char *mode;
};

/* Lends up to `n` received frames. Frames stay valid until they are released. */
static inline unsigned net_port_rx_burst(struct net_port *port, struct net_frame *frames, unsigned n,
                                         uint64_t now_ns)
{
    return port->ops->rx_burst(port, frames, n, now_ns);
}

static inline void net_port_rx_release(struct net_port *port, const struct net_frame *frames, unsigned n)
{
    port->ops->rx_release(port, frames, n);
}

/* Lends up to `n` buffers to build frames in, each of at least mtu_bytes + 18. May return fewer, or 0. */
static inline unsigned net_port_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n)
{
    return port->ops->tx_reserve(port, bufs, n, 0);
}

/* The same for trains of up to `train_bytes`, Ethernet header included: more than the limits allow is no more
 * than they allow. Each buffer says in cap_bytes and train_pkts what may be built in it, which may be less
 * than was asked for, and may be a single frame. */
static inline unsigned net_port_tx_reserve_trains(struct net_port *port, struct net_frame *bufs, unsigned n,
                                                  uint32_t train_bytes)
{
    return port->ops->tx_reserve(port, bufs, n, train_bytes);
}

/* Sends the first `used` of the buffers last reserved, in order, and takes back all of them. */
static inline void net_port_tx_flush(struct net_port *port, const struct net_frame *bufs, unsigned used,
                                     uint64_t now_ns)
{
    port->ops->tx_flush(port, bufs, used, now_ns);
}

/* A descriptor that polls readable (POLLIN) when frames wait; -1 where a port has none. */
static inline int net_port_fd(struct net_port *port)
{
    return port->ops->fd(port);
}

/* When the port itself wants to be called again (a delayed frame is due); NET_TIME_NONE: never. */
static inline uint64_t net_port_deadline_ns(const struct net_port *port)
{
    return port->ops->deadline_ns(port);
}

/* Takes the address of a peer whose host has said that nobody there takes RoCE. False: there is no more. A
 * port may keep few; others say it again when the next packet goes to them. */
static inline bool net_port_refused(struct net_port *port, struct nornic_addr *peer)
{
    return port->ops->refused && port->ops->refused(port, peer);
}

/* Says whose packets to `dest_qpn` are wanted (`peer`: with NET_STEER_PEER), so that others are dropped, and
 * counted by reason, before they take a place in a ring or wake anybody. The first call closes the port: what
 * goes to a number of which nothing was said has been unwanted since. Steering keeps the path clear and is no
 * judge: a port that cannot do it, or no more, hands up all, and whoever gets the packets checks them as
 * ever. In force when the call returns. */
static inline void net_port_steer(struct net_port *port, uint32_t dest_qpn, enum net_steer whose,
                                  const struct nornic_addr *peer)
{
    if (port->ops->steer)
        port->ops->steer(port, dest_qpn, whose, peer);
}

/* For backends. Only where it becomes another: it may be read meanwhile. */
static inline void net_port_set_mode(struct net_port *port, const char *mode)
{
    if (port->mode != mode)
        port->mode = mode;
}

/* From now on packets to `addr`, an address of the machine or a multicast group, are received; and no more.
 * 0, also where that was so already; -EADDRNOTAVAIL: `addr` is none for this port; -EADDRINUSE: another
 * program has the address; or another -errno; each with a sentence in `why`. */
static inline int net_port_listen(struct net_port *port, const struct nornic_addr *addr,
                                  struct nornic_error *why)
{
    return port->ops->listen ? port->ops->listen(port, addr, why) : 0;
}

static inline void net_port_unlisten(struct net_port *port, const struct nornic_addr *addr)
{
    if (port->ops->unlisten)
        port->ops->unlisten(port, addr);
}

/* The last that the path said against what was sent (ICMP), as a sentence that lives until the port is used
 * again; NULL: nothing. */
static inline const char *net_port_trouble(const struct net_port *port)
{
    return port->ops->trouble ? port->ops->trouble(port) : NULL;
}

/* What the port shares its addresses by with other processes (net/share/share.h), as long as the port
 * lives; NULL: it does not, all queue pair numbers at its addresses are its own. */
static inline struct net_share *net_port_share(const struct net_port *port)
{
    return port->ops->share ? port->ops->share(port) : NULL;
}

/* What has leased the queue pair numbers and communication ids that the user of the port is to take, so that
 * no other process has them (net/share/share.h), as long as the port lives; NULL: nothing has. */
static inline struct net_share *net_port_lease(const struct net_port *port)
{
    return port->ops->lease ? port->ops->lease(port) : net_port_share(port);
}

/* Releases everything that the port holds, and the port. A wrapping port closes the port below. */
static inline void net_port_close(struct net_port *port)
{
    port->ops->close(port);
}

NORNIC_END_DECLS

#endif
