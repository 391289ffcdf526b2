/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal to net/udp/: the port, its addresses, and its sending half. */
#ifndef NORNIC_NET_UDP_INNER_H
#define NORNIC_NET_UDP_INNER_H

#include "net/addr_index.h"
#include "net/port/backoff.h"
#include "net/port.h"
#include "net/share/share.h"
#include "net/wire/train.h"
#include "net/udp/frame.h"
#include "net/udp/gate.h"
#include "net/udp/lost.h"
#include "net/udp/trouble.h"
#include "net/udp/usual.h"

#define NET_UDP_LISTENERS_MAX   384 /* addresses, of which a GID table has 255, and groups */
#define NET_UDP_RX_MESSAGES     16  /* of one call; they hold a megabyte at the most */
#define NET_UDP_TRAIN_BYTES     (NET_ETHER_BYTES + 65535) /* over IPv4; over IPv6 the same is allowed */
#define NET_UDP_TRAIN_PKTS      64                        /* UDP_MAX_SEGMENTS of linux/udp.h at the least */
#define NET_UDP_TX_BUFFER_BYTES 65600                     /* at least MTU + 18 */

/* The port's epoll events: the index of a listener, or one of these. */
#define NET_UDP_READY_SHARE  (UINT64_C(1) << 32) /* a descriptor of net/share/share.h */
#define NET_UDP_READY_SENDER (UINT64_C(2) << 32) /* ICMP told a sender something; with its descriptor */

struct net_udp_senders; /* net/udp/senders.h */

struct net_udp_listener {
    struct nornic_addr addr;
    int fd;
    uint32_t dropped; /* as the kernel last counted */
    struct net_udp_usual usual;
    struct net_udp_senders *senders; /* NULL: all leaves by `fd` */
};

struct net_udp_rx {
    struct iovec payload;
    union net_sockaddr from;
    struct net_udp_control control;
};

/* A message to send, taken apart; in the order of the buffers. */
struct net_udp_tx {
    struct net_udp_message message;
    int fd; /* -1: its address was given up meanwhile */
    struct net_train_size size;
    uint32_t packet_bytes; /* of the longest of its IP packets */
};

#define NET_UDP_REFUSED_MAX 8

struct net_udp_port {
    struct net_port base;
    int claim_fd; /* of the interface, beside other udp ports */
    unsigned ifindex;
    struct nornic_addr only; /* zero: any */
    struct net_share *share; /* with the processes that have the same addresses; NULL: none may */
    bool is_lonely;          /* some might, but there is no place to meet them */
    uint64_t share_at_ns;    /* when to look there */
    int epoll_fd;
    struct net_udp_listener listeners[NET_UDP_LISTENERS_MAX];
    unsigned listener_count;
    struct net_addr_index by_addr; /* of `listeners` */
    uint64_t look_at_ns;
    uint64_t now_ns;          /* of the last round */
    struct net_udp_gate gate; /* in front of all sockets */
    bool is_steered;          /* all have their filters */
    struct net_udp_lost lost;
    uint64_t count_at_ns;  /* when to look at the drops */
    uint64_t basis_at_ns;  /* the same, of the whole namespace, though no socket of ours has dropped any */
    unsigned busiest;      /* listener that messages came to last */
    unsigned surveys;      /* of the others, so far */
    uint64_t survey_at_ns; /* when all of them are looked at next, unless something comes to that one */

    uint8_t *rx_buffers, *tx_buffers;
    struct net_udp_rx rx[NET_UDP_RX_MESSAGES];
    struct mmsghdr rx_heads[NET_UDP_RX_MESSAGES];
    unsigned rx_alone; /* messages in a row that came alone, as far as was looked */

    struct net_udp_tx tx[NET_BURST];
    struct mmsghdr tx_heads[NET_BURST];
    unsigned tx_first, tx_end; /* messages that the kernel has not taken yet */
    bool has_trains;           /* the kernel cuts them, */
    bool has_sent_train;       /* as was seen */
    struct net_backoff backoff;
    unsigned tries; /* that found no room since something was sent */

    char name[80];
    struct net_udp_trouble trouble;
    struct nornic_addr refused[NET_UDP_REFUSED_MAX]; /* peers without RoCE, until that has been told */
    unsigned refused_count;
};

static inline struct net_udp_port *net_udp_port_of(struct net_port *base)
{
    return (struct net_udp_port *)base;
}

static inline struct net_udp_listener *net_udp_find(struct net_udp_port *port, const struct nornic_addr *addr)
{
    for (int i = net_addr_index_first(&port->by_addr, addr); i >= 0;
         i = net_addr_index_next(&port->by_addr, i))
        if (nornic_addr_equal(&port->listeners[i].addr, addr))
            return &port->listeners[i];
    return NULL;
}

/* --- listen.c --- */

/* net_port_ops. */
int net_udp_listen(struct net_port *base, const struct nornic_addr *addr, struct nornic_error *why);
void net_udp_unlisten(struct net_port *base, const struct nornic_addr *addr);
/* Closes all listeners and their senders. */
void net_udp_close_listeners(struct net_udp_port *port);
/* The port's part of net_share_renew(). Messages that wait to be sent from the old socket, or have come to
 * it, are lost, as on a wire. */
void net_udp_renew_listeners(struct net_udp_port *port);
/* Filters all sockets. A socket has none if it cannot be had, so that no wanted packet is kept out. */
void net_udp_filter_all(struct net_udp_port *port);

/* --- tx.c --- */

/* net_port_ops. */
unsigned net_udp_tx_reserve(struct net_port *base, struct net_frame *bufs, unsigned n, uint32_t train_bytes);
void net_udp_tx_flush(struct net_port *base, const struct net_frame *bufs, unsigned used, uint64_t now_ns);
/* Gives the kernel the waiting messages, as far as it takes them. */
void net_udp_send(struct net_udp_port *port, uint64_t now_ns);
/* Drops the messages that wait to be sent from a socket; the rest stays. */
void net_udp_forget(struct net_udp_port *port, int fd);
/* Notes an answer of ICMP, to whichever process of the address. */
void net_udp_note_refusal(struct net_udp_port *port, const struct net_udp_refusal *refusal);
/* Takes the answers of ICMP to packets of a socket. Returns whether there was anything. Those behind so many
 * wait for the next round: a flood of them keeps nothing else waiting. */
bool net_udp_take_refusals(struct net_udp_port *port, int fd);
/* net_port.mode. */
const char *net_udp_mode(const struct net_udp_port *port);

#endif
