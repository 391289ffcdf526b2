/* SPDX-License-Identifier: BSD-2-Clause */
/* The capturing port: all that crosses the port below is written to a pcapng file. */
#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/pcap_file.h"
#include "net/capture/pcapng_writer.h"
#include "net/wire/train.h"

#define FLUSH_PERIOD_NS 1000000000u
#define HEAD_BYTES      64u /* where a restore may write: headers */

struct capture_port {
    struct net_port port;
    struct net_port *below;
    struct net_pcapng_writer *writer;
    uint64_t epoch_offset_ns;
    net_frame_restore *restore; /* or NULL */
    net_clock *clock;           /* or NULL */
    uint64_t flush_at_ns;       /* NET_TIME_NONE: nothing is buffered */
};

static struct capture_port *capture_of(struct net_port *port)
{
    return (struct capture_port *)port;
}

/* Writes down what was on the wire, as far as that can be found, and leaves the packet as it came: the engine
 * judges what came, with a capture or without. */
static void record_restored(struct capture_port *p, const struct net_frame *pkt, uint64_t now_ns)
{
    uint8_t head[HEAD_BYTES];
    size_t head_bytes = pkt->len_bytes < HEAD_BYTES ? pkt->len_bytes : HEAD_BYTES;
    memcpy(head, pkt->data, head_bytes);
    p->restore(pkt->data, pkt->len_bytes);
    net_pcapng_append(p->writer, pkt->data, pkt->len_bytes, now_ns + p->epoch_offset_ns, NET_PCAPNG_INBOUND);
    memcpy(pkt->data, head, head_bytes);
}

/* A train is written as what is seen of it on the wire: its packets. */
static void record_packets(struct capture_port *p, const struct net_frame *frame, uint64_t now_ns,
                           enum net_pcapng_direction direction)
{
    struct net_train train;
    net_train_begin(&train, frame);
    for (uint32_t i = 0; i < train.count; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        if (p->restore && direction == NET_PCAPNG_INBOUND)
            record_restored(p, &pkt, now_ns);
        else
            net_pcapng_append(p->writer, pkt.data, pkt.len_bytes, now_ns + p->epoch_offset_ns, direction);
    }
    net_train_end(&train);
}

static void record(struct capture_port *p, const struct net_frame *frames, unsigned n, uint64_t now_ns,
                   enum net_pcapng_direction direction)
{
    for (unsigned i = 0; i < n; i++)
        record_packets(p, &frames[i], now_ns, direction);
    if (now_ns >= p->flush_at_ns)
        net_pcapng_flush(p->writer);
    if (!net_pcapng_is_pending(p->writer))
        p->flush_at_ns = NET_TIME_NONE;
    else if (p->flush_at_ns == NET_TIME_NONE)
        p->flush_at_ns = now_ns + FLUSH_PERIOD_NS;
}

/* The callers' `now_ns` is as old as their round: of one that was interrupted in between, packets would come
 * before they left their sender. */
static uint64_t time_of(const struct capture_port *p, uint64_t now_ns)
{
    return p->clock ? p->clock() : now_ns;
}

static unsigned capture_rx_burst(struct net_port *port, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct capture_port *p = capture_of(port);
    n = net_port_rx_burst(p->below, frames, n, now_ns);
    record(p, frames, n, n ? time_of(p, now_ns) : now_ns, NET_PCAPNG_INBOUND);
    port->counters = p->below->counters;
    return n;
}

static void capture_rx_release(struct net_port *port, const struct net_frame *frames, unsigned n)
{
    net_port_rx_release(capture_of(port)->below, frames, n);
}

static unsigned capture_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n,
                                   uint32_t train_bytes)
{
    struct capture_port *p = capture_of(port);
    n = net_port_tx_reserve_trains(p->below, bufs, n, train_bytes);
    port->counters = p->below->counters;
    return n;
}

static void capture_tx_flush(struct net_port *port, const struct net_frame *bufs, unsigned used,
                             uint64_t now_ns)
{
    struct capture_port *p = capture_of(port);
    /* Before they leave: afterwards the buffers are not ours to read. */
    record(p, bufs, used, time_of(p, now_ns), NET_PCAPNG_OUTBOUND);
    net_port_tx_flush(p->below, bufs, used, now_ns);
    port->counters = p->below->counters;
}

static int capture_fd(struct net_port *port)
{
    return net_port_fd(capture_of(port)->below);
}

static uint64_t capture_deadline_ns(const struct net_port *port)
{
    const struct capture_port *p = (const struct capture_port *)port;
    uint64_t below_ns = net_port_deadline_ns(p->below);
    return below_ns < p->flush_at_ns ? below_ns : p->flush_at_ns;
}

static void capture_steer(struct net_port *port, uint32_t dest_qpn, enum net_steer whose,
                          const struct nornic_addr *peer)
{
    struct net_port *below = capture_of(port)->below;
    net_port_steer(below, dest_qpn, whose, peer);
    net_port_set_mode(port, below->mode);
}

static bool capture_refused(struct net_port *port, struct nornic_addr *peer)
{
    return net_port_refused(capture_of(port)->below, peer);
}

static int capture_listen(struct net_port *port, const struct nornic_addr *addr, struct nornic_error *why)
{
    return net_port_listen(capture_of(port)->below, addr, why);
}

static void capture_unlisten(struct net_port *port, const struct nornic_addr *addr)
{
    net_port_unlisten(capture_of(port)->below, addr);
}

static struct net_share *capture_share(const struct net_port *port)
{
    return net_port_share(((const struct capture_port *)port)->below);
}

static struct net_share *capture_lease(const struct net_port *port)
{
    return net_port_lease(((const struct capture_port *)port)->below);
}

static const char *capture_trouble(const struct net_port *port)
{
    return net_port_trouble(((const struct capture_port *)port)->below);
}

static void capture_close(struct net_port *port)
{
    struct capture_port *p = capture_of(port);
    net_port_close(p->below);
    net_pcapng_close(p->writer);
    free(p);
}

static const struct net_port_ops capture_ops = {
    .rx_burst = capture_rx_burst,
    .rx_release = capture_rx_release,
    .tx_reserve = capture_tx_reserve,
    .tx_flush = capture_tx_flush,
    .fd = capture_fd,
    .deadline_ns = capture_deadline_ns,
    .refused = capture_refused,
    .steer = capture_steer,
    .listen = capture_listen,
    .unlisten = capture_unlisten,
    .trouble = capture_trouble,
    .share = capture_share,
    .lease = capture_lease,
    .close = capture_close,
};

int net_pcap_capture_wrap(struct net_port *below, const char *path, uint64_t epoch_offset_ns,
                          struct net_port **out, struct nornic_error *why)
{
    struct capture_port *p = calloc(1, sizeof *p);
    if (!p) {
        net_port_close(below);
        return net_error_set(why, ENOMEM, "no memory to write %s", path);
    }
    int err = net_pcapng_create(path, below->name, &p->writer, why);
    if (err) {
        free(p);
        net_port_close(below);
        return err;
    }
    p->port = *below;
    p->port.ops = &capture_ops;
    p->below = below;
    p->epoch_offset_ns = epoch_offset_ns;
    p->flush_at_ns = NET_TIME_NONE;
    *out = &p->port;
    return 0;
}

void net_pcap_capture_restore(struct net_port *port, net_frame_restore *restore)
{
    assert(port->ops == &capture_ops);
    capture_of(port)->restore = restore;
}

void net_pcap_capture_clock(struct net_port *port, net_clock *clock)
{
    assert(port->ops == &capture_ops);
    capture_of(port)->clock = clock;
}

int net_pcap_capture_flush(struct net_port *port)
{
    assert(port->ops == &capture_ops);
    struct capture_port *p = capture_of(port);
    net_pcapng_flush(p->writer);
    p->flush_at_ns = NET_TIME_NONE;
    return -net_pcapng_errno(p->writer);
}
