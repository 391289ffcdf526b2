/* SPDX-License-Identifier: BSD-2-Clause */
/* The sending half of the udp port, and the answers of the path to its packets. */
#define _GNU_SOURCE /* sendmmsg() */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#include "base/base.h"
#include "net/udp/inner.h"
#include "net/udp/open.h"
#include "net/udp/senders.h"

#define TX_TRAINS      4 /* lent at once: they are in the cache still when the kernel copies them */
#define REFUSALS_ROUND 64
#define TX_TRIES       4 /* of a message that finds no room on the way out */

/* Of the longest IP packet of a message: all of a train are as long, but for the last. */
static uint32_t packet_bytes(const struct net_udp_message *message, const struct net_frame *frame)
{
    uint32_t payload_bytes = (uint32_t)message->payload.iov_len;
    uint32_t ip_bytes = frame->len_bytes - NET_ETHER_BYTES;
    return frame->seg_bytes && frame->seg_bytes < payload_bytes ? ip_bytes - payload_bytes + frame->seg_bytes
                                                                : ip_bytes;
}

static void note_local(struct net_udp_port *port, const struct net_udp_tx *m, int error)
{
    uint16_t udp_port;
    struct nornic_addr to = net_sockaddr_get(&m->message.to, &udp_port);
    net_udp_trouble_local(&port->trouble, &to, error, m->packet_bytes);
    port->base.counters.tx_too_long += error == EMSGSIZE;
}

void net_udp_note_refusal(struct net_udp_port *port, const struct net_udp_refusal *refusal)
{
    net_udp_trouble_refused(&port->trouble, refusal);
    bool is_new = refusal->error == ECONNREFUSED && port->refused_count < NET_UDP_REFUSED_MAX;
    for (unsigned i = 0; is_new && i < port->refused_count; i++)
        is_new = !nornic_addr_equal(&port->refused[i], &refusal->peer);
    if (is_new)
        port->refused[port->refused_count++] = refusal->peer;
}

bool net_udp_take_refusals(struct net_udp_port *port, int fd)
{
    struct net_udp_refusal refusal;
    unsigned taken = 0;
    while (taken < REFUSALS_ROUND && net_udp_socket_refusal(fd, &refusal)) {
        net_udp_note_refusal(port, &refusal);
        if (port->share)
            net_share_refused(port->share, net_udp_senders_shared_fd(port, fd), &refusal);
        port->base.counters.tx_too_long += refusal.error == EMSGSIZE;
        port->base.counters.tx_refused += refusal.error != EMSGSIZE;
        taken++;
    }
    return taken > 0;
}

/* A try at the wish of a caller without a clock: the time of the port's own next try stays, and this one is
 * none of those that count. */
static void send_early(struct net_udp_port *port)
{
    const struct net_backoff backoff = port->backoff;
    const unsigned first = port->tx_first, tries = port->tries;
    port->tries = 0;
    net_udp_send(port, backoff.at_ns);
    if (port->tx_first == first) {
        port->backoff = backoff;
        port->tries = tries;
    } else {
        port->backoff.at_ns = backoff.at_ns;
    }
}

unsigned net_udp_tx_reserve(struct net_port *base, struct net_frame *bufs, unsigned n, uint32_t train_bytes)
{
    struct net_udp_port *port = net_udp_port_of(base);
    if (port->tx_first < port->tx_end)
        send_early(port);
    if (port->tx_first < port->tx_end) {
        base->counters.tx_full++;
        return 0;
    }
    bool is_train = train_bytes && port->has_trains;
    n = min_u32(n, is_train ? TX_TRAINS : NET_BURST);
    for (unsigned i = 0; i < n; i++) {
        bufs[i] = (struct net_frame){.data = port->tx_buffers + (size_t)i * NET_UDP_TX_BUFFER_BYTES,
                                     .cap_bytes = base->limits.mtu_bytes + 18};
        if (is_train) {
            bufs[i].cap_bytes = min_u32(max_u32(train_bytes, bufs[i].cap_bytes), NET_UDP_TRAIN_BYTES);
            bufs[i].train_pkts = NET_UDP_TRAIN_PKTS;
        }
    }
    return n;
}

const char *net_udp_mode(const struct net_udp_port *port)
{
    static const char *const modes[2][3] = {
        {"ordinary UDP sockets, no trains", "ordinary UDP sockets, no trains, steered",
         "ordinary UDP sockets, no trains, with no place to meet who would share"},
        {"ordinary UDP sockets, trains", "ordinary UDP sockets, trains, steered",
         "ordinary UDP sockets, trains, with no place to meet who would share"},
    };
    return modes[port->has_trains][port->is_lonely ? 2 : port->is_steered];
}

/* The kernel refused the first message, for good. `was_said`: its error queue said why. */
static void skip_message(struct net_udp_port *port, int error, bool was_said)
{
    const struct net_udp_tx *m = &port->tx[port->tx_first];
    bool is_train = m->size.pkts > 1;
    /* A way out of here computes no checksums of packets that it cuts; or the kernel takes no such train, as
     * its packets are longer than the route takes. If it has not taken any yet, it may take none at all. */
    if (is_train && (error == EIO || (error == EINVAL && !port->has_sent_train))) {
        port->has_trains = false;
        net_port_set_mode(&port->base, net_udp_mode(port));
    }
    if (!was_said && !(is_train && error == EIO))
        note_local(port, m, is_train && error == EINVAL ? EMSGSIZE : error);
    port->base.counters.tx_errors++;
    port->tx_first++;
}

/* The error of an attempt to send. Returns whether to go on. `*was_refused`: of an earlier attempt with the
 * same message; a socket returns an answer of ICMP once, and has sent nothing then. */
static bool take_error(struct net_udp_port *port, int error, bool *was_refused, uint64_t now_ns)
{
    if (error == EINTR)
        return true;
    /* A queue that is full for a moment, and a rule that drops all of it, look alike: a socket that asks for
     * errors (IP_RECVERR) gets ENOBUFS for both. Messages after one that was tried often enough are tried
     * once. */
    if (error == ENOBUFS && ++port->tries >= TX_TRIES) {
        skip_message(port, error, false);
        *was_refused = false;
        return true;
    }
    if (error == EAGAIN || error == ENOBUFS) {
        net_backoff_again(&port->backoff, false, now_ns);
        return false;
    }
    bool was_said = net_udp_take_refusals(port, port->tx[port->tx_first].fd);
    if (*was_refused || error == EMSGSIZE || error == EIO)
        skip_message(port, error, was_said);
    *was_refused = !*was_refused && error != EMSGSIZE && error != EIO;
    return true;
}

static void count_sent(struct net_udp_port *port, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        const struct net_udp_tx *m = &port->tx[port->tx_first++];
        const struct net_train_size *size = &m->size;
        if (port->trouble.max_bytes > 0) {
            uint16_t udp_port;
            struct nornic_addr to = net_sockaddr_get(&m->message.to, &udp_port);
            net_udp_trouble_sent(&port->trouble, &to, m->packet_bytes);
        }
        port->base.counters.tx_frames += size->pkts;
        port->base.counters.tx_bytes += size->bytes;
        port->has_sent_train |= size->pkts > 1;
    }
}

/* Returns how many messages the kernel took, or -1. The call for several takes longer with one. */
static int give(int fd, struct mmsghdr *heads, unsigned n)
{
    if (n > 1)
        return sendmmsg(fd, heads, n, MSG_DONTWAIT);
    return sendmsg(fd, &heads->msg_hdr, MSG_DONTWAIT) < 0 ? -1 : 1;
}

void net_udp_send(struct net_udp_port *port, uint64_t now_ns)
{
    bool was_refused = false;
    while (port->tx_first < port->tx_end) {
        int fd = port->tx[port->tx_first].fd;
        if (fd < 0) {
            port->tx_first++;
            continue;
        }
        unsigned end = port->tx_first + 1;
        while (end < port->tx_end && port->tx[end].fd == fd)
            end++;
        int sent = give(fd, port->tx_heads + port->tx_first, end - port->tx_first);
        if (sent > 0) {
            count_sent(port, (unsigned)sent);
            was_refused = false;
            port->tries = 0;
            net_backoff_reset(&port->backoff);
        } else if (!take_error(port, errno, &was_refused, now_ns)) {
            return;
        }
    }
}

/* From now on a survey sees the answers of ICMP to the sender. The set reports errors without being asked. */
static void watch_sender(const struct net_udp_port *port, struct net_udp_sender *sender)
{
    struct epoll_event event = {.data.u64 = NET_UDP_READY_SENDER | (uint32_t)sender->fd};
    (void)epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, sender->fd, &event);
    sender->was_used = true;
}

/* Takes a frame apart behind those that wait. False: it is none for a socket of this port. */
static bool add_message(struct net_udp_port *port, const struct net_frame *frame)
{
    struct net_udp_tx *m = &port->tx[port->tx_end];
    if (!net_udp_message_of(&m->message, frame, port->ifindex))
        return false;
    struct net_udp_listener *from = net_udp_find(port, &m->message.src);
    if (!from)
        return false;
    struct net_udp_sender *sender = net_udp_sender_at(from->senders, m->message.src_port);
    if (sender && !sender->was_used)
        watch_sender(port, sender);
    m->fd = sender ? sender->fd : from->fd;
    m->size = net_train_size(frame);
    m->packet_bytes = packet_bytes(&m->message, frame);
    size_t control_bytes =
        net_udp_usual_control(sender ? &sender->usual : &from->usual, m->fd, &m->message, port->tx_end == 0);
    port->tx_heads[port->tx_end++] = (struct mmsghdr){.msg_hdr = {.msg_name = &m->message.to,
                                                                  .msg_namelen = m->message.to_bytes,
                                                                  .msg_iov = &m->message.payload,
                                                                  .msg_iovlen = 1,
                                                                  .msg_control = &m->message.control,
                                                                  .msg_controllen = control_bytes}};
    return true;
}

void net_udp_tx_flush(struct net_port *base, const struct net_frame *bufs, unsigned used, uint64_t now_ns)
{
    struct net_udp_port *port = net_udp_port_of(base);
    port->tx_first = port->tx_end = 0;
    for (unsigned i = 0; i < used; i++)
        if (!add_message(port, &bufs[i]))
            base->counters.tx_errors++;
    net_udp_send(port, now_ns);
}

void net_udp_forget(struct net_udp_port *port, int fd)
{
    for (unsigned i = port->tx_first; i < port->tx_end; i++) {
        if (port->tx[i].fd != fd)
            continue;
        port->tx[i].fd = -1;
        port->base.counters.tx_errors++;
    }
}
