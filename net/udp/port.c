/* SPDX-License-Identifier: BSD-2-Clause */
/* One socket for each address: a packet's destination is then that of the socket, and the source of a
 * sent one is chosen by taking the right socket. A group has a socket, too, for receiving. The kernel
 * copies both ways, so buffers are free again when a call returns, and always the same few are used:
 * they stay in the processor's cache. */
#define _GNU_SOURCE /* recvmmsg() */
#include "net/udp/port.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/base.h"
#include "net/udp/claim.h"
#include "net/udp/inner.h"
#include "net/udp/owner.h"
#include "net/udp/open.h"
#include "net/udp/senders.h"

#define RX_PAYLOAD_AT   64 /* in a buffer; in front of it is room for the headers */
#define RX_BUFFER_BYTES (RX_PAYLOAD_AT + 65536)
#define RX_ALONE_AFTER  16 /* messages that came one by one */
#define SHARED_ROUND    64 /* messages of other processes: a flood of them keeps nothing else waiting */
#define MTU_MAX_BYTES   (NET_UDP_TRAIN_BYTES - 18) /* so that no frame is longer than the longest datagram */
#define LOOK_EVERY_NS   (NS_PER_MS) /* at errors that no call has returned, and at other processes */
#define SURVEY_EVENTS   32
#define SURVEY_IDLE_NS  (20 * NS_PER_US) /* without a look at all addresses */
#define SURVEY_BUSY_NS  (200 * NS_PER_US)
#define COUNT_EVERY_NS  (10 * NS_PER_MS)
#define BASIS_EVERY_NS  NS_PER_S

static_assert(RX_PAYLOAD_AT >= NET_UDP_HEAD_MAX_BYTES, "headers fit in front of a payload");
static_assert(NET_UDP_TX_BUFFER_BYTES >= MTU_MAX_BYTES + 18, "the longest frame fits");

/* --- receiving --- */

/* To a group, by the engine of this port, which hands it over itself. Another process may have the same
 * address. */
static bool is_own_to_group(struct net_udp_port *port, const struct net_udp_arrival *arrival,
                            const uint8_t *payload)
{
    return nornic_addr_is_multicast(&arrival->dst) && net_udp_find(port, &arrival->src) &&
           (!port->share || net_share_is_own(port->share, payload, arrival->payload_bytes));
}

static void give_frame(struct net_udp_port *port, const struct net_udp_arrival *arrival, unsigned i,
                       struct net_frame *frame)
{
    *frame = net_udp_arrival_frame(arrival, port->rx[i].payload.iov_base);
    struct net_train_size size = net_train_size(frame);
    port->base.counters.rx_frames += size.pkts;
    port->base.counters.rx_bytes += size.bytes;
}

/* The frame of a message, or false: nothing in it is for us. */
static bool take_message(struct net_udp_port *port, const struct net_udp_listener *at, unsigned i,
                         struct net_frame *frame)
{
    struct net_udp_rx *m = &port->rx[i];
    struct net_udp_arrival arrival = {.dst = at->addr};
    arrival.src = net_sockaddr_get(&m->from, &arrival.src_port);
    arrival.payload_bytes = port->rx_heads[i].msg_len;
    net_udp_arrival_read(&arrival, &port->rx_heads[i].msg_hdr);
    net_udp_gate_note(&port->gate, m->payload.iov_base, arrival.payload_bytes,
                      arrival.seg_bytes ? (arrival.payload_bytes - 1) / arrival.seg_bytes + 1 : 1);
    if (is_own_to_group(port, &arrival, m->payload.iov_base))
        return false;
    if (port->share && !nornic_addr_is_multicast(&at->addr)) {
        arrival.payload_bytes =
            net_share_sift(port->share, &arrival, m->payload.iov_base, &port->base.counters.rx_passed_on);
        if (arrival.payload_bytes == 0)
            return false;
    }
    net_udp_trouble_heard(&port->trouble, &arrival.src);
    give_frame(port, &arrival, i, frame);
    return true;
}

/* Takes messages that other processes on the addresses have handed over, into the buffers from `first` on.
 * Returns the number of frames. */
static unsigned take_shared(struct net_udp_port *port, struct net_frame *frames, unsigned first, unsigned n)
{
    struct net_share_taken taken;
    unsigned count = 0, tries = 0;
    while (first < n && tries++ < SHARED_ROUND &&
           net_share_take(port->share, &port->base.counters, &taken, port->rx[first].payload.iov_base,
                          RX_BUFFER_BYTES - RX_PAYLOAD_AT)) {
        if (taken.refusal.error)
            net_udp_note_refusal(port, &taken.refusal);
        if (taken.arrival.payload_bytes == 0)
            continue;
        give_frame(port, &taken.arrival, first++, &frames[count++]);
        port->base.counters.rx_handed_over++;
    }
    return count;
}

/* Message `i` may be received again: the kernel has put its own lengths there. */
static void expect_message(struct net_udp_port *port, unsigned i)
{
    port->rx_heads[i].msg_hdr.msg_namelen = sizeof port->rx[i].from;
    port->rx_heads[i].msg_hdr.msg_controllen = sizeof port->rx[i].control;
}

/* Asks for messages. After a while in which they came one by one, one is asked for: that takes half as long
 * as to ask for several and to find no second. Now and then several are asked for all the same, which shows
 * whether more have come together since. Returns how many came, or -1. */
static int ask(struct net_udp_port *port, int fd, unsigned first, unsigned n)
{
    if (port->rx_alone < RX_ALONE_AFTER || port->rx_alone % RX_ALONE_AFTER == 0) {
        int got = recvmmsg(fd, port->rx_heads + first, n, MSG_DONTWAIT, NULL);
        if (got > 0)
            port->rx_alone = got == 1 ? port->rx_alone + 1 : 0;
        return got;
    }
    ssize_t bytes = recvmsg(fd, &port->rx_heads[first].msg_hdr, MSG_DONTWAIT);
    if (bytes < 0)
        return -1;
    port->rx_heads[first].msg_len = (unsigned)bytes;
    port->rx_alone++;
    return 1;
}

/* Receives into the messages from `first` on, at most `n`. Returns how many, 0: none are there. */
static unsigned receive(struct net_udp_port *port, int fd, unsigned first, unsigned n)
{
    for (unsigned tries = 0; tries < 2; tries++) {
        int got = ask(port, fd, first, n);
        if (got >= 0)
            return (unsigned)got;
        if (errno == EAGAIN)
            return 0;
        net_udp_take_refusals(port, fd); /* all else that a receive returns was said by ICMP */
    }
    return 0;
}

/* Takes the errors of the busiest listener. The survey takes those of all others, and of the senders. */
static void look_at_errors(struct net_udp_port *port, uint64_t now_ns)
{
    if (now_ns < port->look_at_ns || port->busiest >= port->listener_count)
        return;
    port->look_at_ns = now_ns + LOOK_EVERY_NS;
    net_udp_take_refusals(port, port->listeners[port->busiest].fd);
}

/* Tells packets that sockets had no room for from those that their filters dropped. */
static void count_dropped(struct net_udp_port *port)
{
    uint64_t dropped = 0;
    if (port->now_ns < port->count_at_ns)
        return;
    port->count_at_ns = port->now_ns + COUNT_EVERY_NS;
    for (unsigned i = 0; i < port->listener_count; i++) {
        struct net_udp_listener *at = &port->listeners[i];
        uint32_t now = net_udp_lost_of(at->fd);
        dropped += now - at->dropped;
        at->dropped = now;
    }
    if (dropped == 0 && port->now_ns < port->basis_at_ns)
        return;
    port->basis_at_ns = port->now_ns + BASIS_EVERY_NS;
    uint64_t lost = net_udp_lost_share(&port->lost, dropped);
    lost = port->gate.is_closed ? lost : dropped;
    port->base.counters.rx_dropped += lost;
    port->base.counters.rx_filtered += dropped - lost;
}

/* --- steering --- */

static void look_at_gate(struct net_udp_port *port)
{
    uint8_t slots[NET_SHARE_SLOTS];
    if (port->share)
        net_udp_gate_set_slots(&port->gate, slots, net_share_others(port->share, slots));
    if (net_udp_gate_round(&port->gate, port->now_ns))
        net_udp_filter_all(port);
}

/* Takes messages of a listener, behind `*messages`, at most `n` in all. Returns the number of frames. */
static unsigned take_from(struct net_udp_port *port, unsigned index, struct net_frame *frames,
                          unsigned *messages, unsigned n)
{
    struct net_udp_listener *at = &port->listeners[index];
    unsigned count = 0, got = *messages < n ? receive(port, at->fd, *messages, n - *messages) : 0;
    for (unsigned k = *messages; k < *messages + got; k++) {
        count += take_message(port, at, k, &frames[count]);
        expect_message(port, k);
    }
    if (got)
        port->busiest = index;
    *messages += got;
    return count;
}

/* Takes one event of the set. Returns the number of frames. The busiest listener is looked at each time. */
static unsigned take_event(struct net_udp_port *port, const struct epoll_event *event, unsigned busiest,
                           struct net_frame *frames, unsigned *messages, unsigned n)
{
    const uint32_t number = (uint32_t)event->data.u64;
    if (event->data.u64 & NET_UDP_READY_SENDER)
        net_udp_take_refusals(port, (int)number);
    else if (event->events & EPOLLERR)
        net_udp_take_refusals(port, port->listeners[number].fd);
    bool is_listener = event->data.u64 == number;
    return is_listener && number != busiest ? take_from(port, number, frames, messages, n) : 0;
}

/* Takes what is ready at all listeners and senders. `*share_ready`: other processes have news. Each
 * time another one is the first, since the first may take all messages. */
static unsigned survey(struct net_udp_port *port, struct net_frame *frames, unsigned *messages, unsigned n,
                       bool *share_ready)
{
    struct epoll_event ready[SURVEY_EVENTS];
    const unsigned busiest = port->busiest;
    unsigned count = 0;
    int ready_count = epoll_wait(port->epoll_fd, ready, array_len(ready), 0);
    for (int i = 0; i < ready_count; i++) {
        const struct epoll_event *event = &ready[((unsigned)i + port->surveys) % (unsigned)ready_count];
        if (event->data.u64 == NET_UDP_READY_SHARE)
            *share_ready = true;
        else
            count += take_event(port, event, busiest, frames + count, messages, n);
    }
    port->surveys++;
    return count;
}

/* Most ports talk by one address, so the listener that was busy last is looked at each time; the others
 * when it has nothing and SURVEY_IDLE_NS have passed, which is so when a sleeper wakes, and before it
 * when SURVEY_BUSY_NS more have. */
static unsigned take_messages(struct net_udp_port *port, struct net_frame *frames, unsigned *messages,
                              unsigned n, bool *share_ready, uint64_t now_ns)
{
    const unsigned busiest = port->busiest;
    bool has_more = port->listener_count > 1 || port->share || port->base.limits.src_port_count;
    bool is_due = has_more && now_ns >= port->survey_at_ns;
    bool surveys = is_due && now_ns - port->survey_at_ns >= SURVEY_BUSY_NS;
    unsigned count = surveys ? survey(port, frames, messages, n, share_ready) : 0;
    if (busiest < port->listener_count)
        count += take_from(port, busiest, frames + count, messages, n);
    if (is_due && !surveys && *messages == 0) {
        surveys = true;
        count = survey(port, frames, messages, n, share_ready);
    }
    if (surveys)
        port->survey_at_ns = now_ns + SURVEY_IDLE_NS;
    return count;
}

/* When there is news, and now and then. */
static unsigned look_at_share(struct net_udp_port *port, struct net_frame *frames, unsigned first, unsigned n,
                              bool is_ready, uint64_t now_ns)
{
    if (!is_ready && now_ns < port->share_at_ns)
        return 0;
    port->share_at_ns = now_ns + LOOK_EVERY_NS;
    net_share_round(port->share, now_ns);
    net_udp_renew_listeners(port);
    look_at_gate(port); /* for whoever has come */
    return take_shared(port, frames, first, n);
}

static unsigned udp_rx_burst(struct net_port *base, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct net_udp_port *port = net_udp_port_of(base);
    unsigned messages = 0;
    bool share_ready = false;
    port->now_ns = now_ns;
    look_at_gate(port);
    count_dropped(port);
    if (port->tx_first < port->tx_end && now_ns >= port->backoff.at_ns)
        net_udp_send(port, now_ns);
    n = min_u32(n, NET_UDP_RX_MESSAGES);
    unsigned count = take_messages(port, frames, &messages, n, &share_ready, now_ns);
    if (port->share)
        count += look_at_share(port, frames + count, messages, n, share_ready, now_ns);
    if (messages == 0)
        look_at_errors(port, now_ns);
    return count;
}

static void udp_rx_release(struct net_port *base, const struct net_frame *frames, unsigned n)
{
    (void)base;
    (void)frames;
    (void)n;
}

/* --- opening and closing --- */

static int watch_share(struct net_udp_port *port)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = NET_UDP_READY_SHARE};
    int fds[NET_SHARE_FDS], err = 0;
    unsigned count = net_share_fds(port->share, fds);
    for (unsigned i = 0; i < count && !err; i++)
        err = epoll_ctl(port->epoll_fd, EPOLL_CTL_ADD, fds[i], &event) < 0 ? -errno : 0;
    return err;
}

/* --- the rest --- */

static int udp_fd(struct net_port *base)
{
    return net_udp_port_of(base)->epoll_fd;
}

static uint64_t udp_deadline_ns(const struct net_port *base)
{
    const struct net_udp_port *port = (const struct net_udp_port *)base;
    uint64_t at_ns = port->tx_first < port->tx_end ? port->backoff.at_ns : NET_TIME_NONE;
    at_ns = min_u64(at_ns, net_udp_gate_deadline_ns(&port->gate));
    return port->share ? min_u64(at_ns, net_share_deadline_ns(port->share)) : at_ns;
}

static bool udp_refused(struct net_port *base, struct nornic_addr *peer)
{
    struct net_udp_port *port = net_udp_port_of(base);
    if (port->refused_count == 0)
        return false;
    *peer = port->refused[--port->refused_count];
    return true;
}

static const char *udp_trouble(const struct net_port *base)
{
    const struct net_udp_port *port = (const struct net_udp_port *)base;
    return port->trouble.text[0] ? port->trouble.text : NULL;
}

static struct net_share *udp_share(const struct net_port *base)
{
    return ((const struct net_udp_port *)base)->share;
}

static void udp_steer(struct net_port *base, uint32_t dest_qpn, enum net_steer whose,
                      const struct nornic_addr *peer)
{
    struct net_udp_port *port = net_udp_port_of(base);
    if (net_udp_gate_steer(&port->gate, dest_qpn, whose, peer))
        net_udp_filter_all(port);
    if (port->share && dest_qpn == 1)
        net_share_set_qp1(port->share, whose != NET_STEER_NOBODY);
}

static void udp_close(struct net_port *base)
{
    struct net_udp_port *port = net_udp_port_of(base);
    net_udp_close_listeners(port);
    if (port->share)
        net_share_close(port->share);
    net_udp_lost_close(&port->lost);
    net_udp_gate_deinit(&port->gate);
    if (port->epoll_fd >= 0)
        close(port->epoll_fd);
    if (port->claim_fd >= 0)
        close(port->claim_fd);
    free(port->rx_buffers);
    free(port->tx_buffers);
    free(port);
}

static const struct net_port_ops udp_ops = {
    .rx_burst = udp_rx_burst,
    .rx_release = udp_rx_release,
    .tx_reserve = net_udp_tx_reserve,
    .tx_flush = net_udp_tx_flush,
    .fd = udp_fd,
    .deadline_ns = udp_deadline_ns,
    .refused = udp_refused,
    .steer = udp_steer,
    .listen = net_udp_listen,
    .unlisten = net_udp_unlisten,
    .trouble = udp_trouble,
    .share = udp_share,
    .close = udp_close,
};

static void init_heads(struct net_udp_port *port)
{
    for (unsigned i = 0; i < NET_UDP_RX_MESSAGES; i++) {
        struct net_udp_rx *m = &port->rx[i];
        m->payload =
            (struct iovec){.iov_base = port->rx_buffers + (size_t)i * RX_BUFFER_BYTES + RX_PAYLOAD_AT,
                           .iov_len = RX_BUFFER_BYTES - RX_PAYLOAD_AT};
        port->rx_heads[i].msg_hdr = (struct msghdr){
            .msg_name = &m->from, .msg_iov = &m->payload, .msg_iovlen = 1, .msg_control = &m->control};
        expect_message(port, i);
    }
}

static void init_base(struct net_udp_port *port, const struct net_interface *interface)
{
    char text[NORNIC_ADDR_STR_SIZE];
    bool is_one = !nornic_addr_is_zero(&port->only), has_scope = nornic_addr_is_link_local(&port->only);
    snprintf(port->name, sizeof port->name, "udp:%s%s%s", is_one ? nornic_addr_str(&port->only, text) : "",
             has_scope ? "%" : "", is_one && !has_scope ? "" : interface->name);
    port->base = (struct net_port){.ops = &udp_ops,
                                   .limits = {.mtu_bytes = min_u32(interface->mtu_bytes, MTU_MAX_BYTES),
                                              .burst_frames = NET_BURST,
                                              .train_tx_bytes = port->has_trains ? NET_UDP_TRAIN_BYTES : 0,
                                              .train_tx_pkts = port->has_trains ? NET_UDP_TRAIN_PKTS : 0,
                                              .train_rx = true,
                                              .rx_room_bytes = net_udp_socket_room(),
                                              .is_udp_socket = true},
                                   .mac = interface->mac,
                                   .name = port->name,
                                   .mode = net_udp_mode(port)};
}

/* Opens the share. Without a place for processes to meet, the port has its addresses alone, and its mode
 * says so. If there is a place that does not serve, others may meet there, so that a port of its own
 * would be in their way. */
static int open_share(struct net_udp_port *port, uint32_t first_qpn, struct nornic_error *why)
{
    int err = net_share_open(first_qpn, &port->share, why);
    if (err == NET_SHARE_NOWHERE) {
        port->is_lonely = true;
        net_port_set_mode(&port->base, net_udp_mode(port));
        return 0;
    }
    if (err)
        return err;
    err = watch_share(port);
    return !err ? 0
                : net_error_set(why, -err, "cannot watch the sockets of port %s: %s", port->name,
                                strerror(-err));
}

/* To the one address of the port. */
static int listen_alone(struct net_udp_port *port, struct nornic_error *why)
{
    int err = net_udp_listen(&port->base, &port->only, why);
    return err == -EADDRINUSE ? net_udp_owner_explain(&port->only, why) : err;
}

int net_udp_open(const struct net_udp_config *config, struct net_port **out, struct nornic_error *why)
{
    int claim_fd = net_udp_claim(config->interface, why);
    if (claim_fd < -1)
        return claim_fd;
    struct net_udp_port *port = calloc(1, sizeof *port);
    if (!port) {
        if (claim_fd >= 0)
            close(claim_fd);
        return net_error_set(why, ENOMEM, "no memory for a udp port");
    }
    port->claim_fd = claim_fd;
    port->ifindex = config->interface->index;
    port->only = config->addr;
    port->has_trains = net_udp_socket_has_trains();
    net_backoff_reset(&port->backoff);
    net_udp_lost_open(&port->lost);
    init_base(port, config->interface);
    port->base.limits.src_port_count = config->has_entropy ? NET_UDP_SRC_PORT_COUNT : 0;
    port->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    port->rx_buffers = malloc((size_t)NET_UDP_RX_MESSAGES * RX_BUFFER_BYTES);
    port->tx_buffers = malloc((size_t)NET_BURST * NET_UDP_TX_BUFFER_BYTES);
    int err = port->epoll_fd < 0 ? -errno : port->rx_buffers && port->tx_buffers ? 0 : -ENOMEM;
    if (err)
        net_error_set(why, -err, "cannot open port %s: %s", port->name, strerror(-err));
    if (!err && config->is_shared)
        err = open_share(port, config->first_qpn, why);
    if (!err && !nornic_addr_is_zero(&port->only))
        err = listen_alone(port, why);
    if (err) {
        udp_close(&port->base);
        return err;
    }
    init_heads(port);
    *out = &port->base;
    return 0;
}
