/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/impair.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/port/impair_lane.h"
#include "net/wire/train.h"

#define PPM_MAX        1000000u
#define DEPTH_DEFAULT  3
#define L2_EXTRA_BYTES 18     /* Ethernet header and one tag */
#define RETRY_NS       50000u /* when the port below took nothing: ask again */

struct impair_port {
    struct net_port port;
    struct net_port *below;
    struct net_impair_config config;
    struct net_impair_counters counters;
    struct net_lane rx, tx;
    struct net_frame below_rx[NET_BURST]; /* lent by the port below */
    unsigned below_rx_count;
    uint32_t rx_lent[NET_BURST], tx_lent[NET_BURST]; /* slots that the user holds */
    unsigned rx_lent_count, tx_lent_count;
    uint8_t *tx_trains;       /* NET_BURST buffers to build trains in; NULL: none are sent */
    unsigned tx_trains_count; /* of them that the user holds, instead of slots */
    bool tx_blocked;          /* a frame is due, and the port below took nothing at last_ns */
    uint64_t last_ns;
};

/* The frames of one rx_burst while they are gathered. */
struct rx_burst {
    struct net_frame *frames;
    unsigned count, max;
    unsigned in_place; /* frames that lead into the port below */
    uint64_t now_ns;
};

static struct impair_port *impair_of(struct net_port *port)
{
    return (struct impair_port *)port;
}

static void sync_counters(struct impair_port *p)
{
    p->port.counters = p->below->counters;
}

/* Sends what is due, as far as the port below takes it. */
static void tx_pump(struct impair_port *p, uint64_t now_ns)
{
    p->last_ns = now_ns;
    p->tx_blocked = false;
    net_lane_tick(&p->tx, now_ns);
    while (net_lane_is_due(&p->tx, now_ns)) {
        struct net_frame bufs[NET_BURST];
        unsigned burst = p->port.limits.burst_frames;
        unsigned want = p->tx.queue_count < burst ? p->tx.queue_count : burst;
        unsigned room = net_port_tx_reserve(p->below, bufs, want), used = 0;
        if (room == 0) {
            p->tx_blocked = true;
            return;
        }
        for (uint32_t slot; used < room && (slot = net_lane_next(&p->tx, now_ns)) != NET_LANE_NO_SLOT;
             used++) {
            bufs[used].len_bytes = p->tx.len_bytes[slot];
            memcpy(bufs[used].data, net_lane_data(&p->tx, slot), bufs[used].len_bytes);
            net_lane_give(&p->tx, slot);
        }
        net_port_tx_flush(p->below, bufs, used, now_ns);
    }
}

/* Lends slots of the lane for `n` single frames. */
static void lend_slots(struct impair_port *p, struct net_frame *bufs, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = net_lane_take(&p->tx);
        /* The slots that the queue can never fill are kept for this. */
        assert(slot != NET_LANE_NO_SLOT);
        p->tx_lent[p->tx_lent_count++] = slot;
        bufs[i] = (struct net_frame){.data = net_lane_data(&p->tx, slot),
                                     .cap_bytes = p->port.limits.mtu_bytes + L2_EXTRA_BYTES,
                                     .handle = slot};
    }
}

/* A single frame fits where a train does. */
static uint32_t train_room_bytes(const struct net_port_limits *limits)
{
    return max_u32(limits->train_tx_bytes, limits->mtu_bytes + L2_EXTRA_BYTES);
}

/* Lends buffers for `n` trains, which are cut when they are flushed. */
static void lend_trains(struct impair_port *p, struct net_frame *bufs, unsigned n)
{
    const struct net_port_limits *limits = &p->port.limits;
    for (unsigned i = 0; i < n; i++)
        bufs[i] = (struct net_frame){.data = p->tx_trains + (size_t)i * train_room_bytes(limits),
                                     .cap_bytes = train_room_bytes(limits),
                                     .train_pkts = limits->train_tx_pkts};
    p->tx_trains_count = n;
}

static unsigned impair_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n,
                                  uint32_t train_bytes)
{
    struct impair_port *p = impair_of(port);
    if (!p->config.on_tx) {
        n = net_port_tx_reserve_trains(p->below, bufs, n, train_bytes);
        sync_counters(p);
        return n;
    }
    if (p->tx_blocked)
        tx_pump(p, p->last_ns);
    sync_counters(p);
    if (p->tx_blocked)
        return 0;
    assert(p->tx_lent_count == 0 && p->tx_trains_count == 0);
    n = min_u32(n, port->limits.burst_frames);
    if (train_bytes && p->tx_trains)
        lend_trains(p, bufs, n);
    else
        lend_slots(p, bufs, n);
    return n;
}

/* A frame in its slot. */
static void tx_one(struct impair_port *p, uint32_t slot, uint32_t len_bytes, uint64_t now_ns)
{
    struct net_impair_fate fate = net_impair_fate_next(&p->tx.fates, &p->config);
    if (fate.lost) {
        p->counters.lost++;
        net_lane_give(&p->tx, slot);
        return;
    }
    assert(len_bytes <= p->tx.frame_bytes);
    p->tx.len_bytes[slot] = len_bytes;
    net_lane_admit(&p->tx, slot, &fate, now_ns);
}

/* Each packet of a train has a fate of its own, and leaves alone. The slots kept for tx_reserve are there for
 * a packet that finds the queue full: it is lost. */
static void tx_train(struct impair_port *p, const struct net_frame *frame, uint64_t now_ns)
{
    struct net_train train;
    net_train_begin(&train, frame);
    for (uint32_t i = 0; i < train.count; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        uint32_t slot = net_lane_take(&p->tx);
        assert(slot != NET_LANE_NO_SLOT);
        memcpy(net_lane_data(&p->tx, slot), pkt.data, pkt.len_bytes);
        tx_one(p, slot, pkt.len_bytes, now_ns);
    }
    net_train_end(&train);
}

static void impair_tx_flush(struct net_port *port, const struct net_frame *bufs, unsigned used,
                            uint64_t now_ns)
{
    struct impair_port *p = impair_of(port);
    if (!p->config.on_tx) {
        net_port_tx_flush(p->below, bufs, used, now_ns);
        sync_counters(p);
        return;
    }
    assert(used <= p->tx_lent_count + p->tx_trains_count);
    net_lane_tick(&p->tx, now_ns);
    for (unsigned i = used; i < p->tx_lent_count; i++)
        net_lane_give(&p->tx, p->tx_lent[i]);
    for (unsigned i = 0; i < used; i++) {
        if (p->tx_trains_count)
            tx_train(p, &bufs[i], now_ns);
        else
            tx_one(p, p->tx_lent[i], bufs[i].len_bytes, now_ns);
    }
    p->tx_lent_count = p->tx_trains_count = 0;
    tx_pump(p, now_ns);
    sync_counters(p);
}

/* Lends the user what is due, as far as there is room. */
static void rx_drain(struct impair_port *p, struct rx_burst *burst)
{
    uint32_t slot;
    while (burst->count < burst->max && (slot = net_lane_next(&p->rx, burst->now_ns)) != NET_LANE_NO_SLOT) {
        p->rx_lent[p->rx_lent_count++] = slot;
        burst->frames[burst->count++] = (struct net_frame){
            .data = net_lane_data(&p->rx, slot), .len_bytes = p->rx.len_bytes[slot], .handle = slot};
    }
}

/* A frame of the port below; `may_lend`: it may be handed through in place. */
static void rx_one(struct impair_port *p, struct rx_burst *burst, const struct net_frame *frame,
                   bool may_lend)
{
    struct net_impair_fate fate = net_impair_fate_next(&p->rx.fates, &p->config);
    bool is_delayed = p->config.delay_ns || p->config.jitter_ns;
    if (fate.lost || frame->len_bytes > p->rx.frame_bytes) {
        p->counters.lost++;
        return;
    }
    if (may_lend && net_impair_fate_is_clean(&fate) && !is_delayed && burst->count < burst->max) {
        /* Nothing is due before it: the lane was drained while there was room. */
        burst->frames[burst->count++] = *frame;
        burst->in_place++;
        p->counters.passed++;
        net_lane_went_by(&p->rx, burst->now_ns);
        return;
    }
    uint32_t slot = net_lane_take(&p->rx);
    if (slot == NET_LANE_NO_SLOT) {
        p->counters.lost++;
        return;
    }
    p->rx.len_bytes[slot] = frame->len_bytes;
    memcpy(net_lane_data(&p->rx, slot), frame->data, frame->len_bytes);
    net_lane_admit(&p->rx, slot, &fate, burst->now_ns);
}

static void below_rx_release(struct impair_port *p)
{
    net_port_rx_release(p->below, p->below_rx, p->below_rx_count);
    p->below_rx_count = 0;
}

/* A train is cut, and its packets are copied: each has a fate of its own. So nothing of what a port of trains
 * has lent is lent on, and it can be asked for one frame after the other until there are enough: more at once
 * would be more packets than the lane holds. */
static void rx_gather_trains(struct impair_port *p, struct rx_burst *burst)
{
    struct net_frame frame;
    while (burst->count < burst->max && net_port_rx_burst(p->below, &frame, 1, burst->now_ns) == 1) {
        struct net_train train;
        net_train_begin(&train, &frame);
        for (uint32_t i = 0; i < train.count; i++) {
            struct net_frame pkt = net_train_packet(&train, i);
            rx_one(p, burst, &pkt, false);
            rx_drain(p, burst);
        }
        net_port_rx_release(p->below, &frame, 1);
    }
}

static unsigned rx_gather(struct impair_port *p, struct rx_burst *burst)
{
    net_lane_tick(&p->rx, burst->now_ns);
    rx_drain(p, burst);
    if (p->below->limits.train_rx)
        rx_gather_trains(p, burst);
    if (p->below->limits.train_rx || burst->count == burst->max)
        return burst->count;
    unsigned want = burst->max - burst->count;
    p->below_rx_count = net_port_rx_burst(p->below, p->below_rx, want, burst->now_ns);
    for (unsigned i = 0; i < p->below_rx_count; i++) {
        rx_one(p, burst, &p->below_rx[i], true);
        rx_drain(p, burst);
    }
    /* A user who got nothing releases nothing. */
    if (p->below_rx_count && !burst->in_place)
        below_rx_release(p);
    return burst->count;
}

static unsigned impair_rx_burst(struct net_port *port, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    struct impair_port *p = impair_of(port);
    if (p->config.on_tx)
        tx_pump(p, now_ns);
    if (n > port->limits.burst_frames)
        n = port->limits.burst_frames;
    if (p->config.on_rx)
        n = rx_gather(p, &(struct rx_burst){.frames = frames, .max = n, .now_ns = now_ns});
    else
        n = net_port_rx_burst(p->below, frames, n, now_ns);
    sync_counters(p);
    return n;
}

static void impair_rx_release(struct net_port *port, const struct net_frame *frames, unsigned n)
{
    struct impair_port *p = impair_of(port);
    if (!p->config.on_rx) {
        net_port_rx_release(p->below, frames, n);
        return;
    }
    for (unsigned i = 0; i < p->rx_lent_count; i++)
        net_lane_give(&p->rx, p->rx_lent[i]);
    p->rx_lent_count = 0;
    if (p->below_rx_count)
        below_rx_release(p);
}

static int impair_fd(struct net_port *port)
{
    return net_port_fd(impair_of(port)->below);
}

static uint64_t impair_deadline_ns(const struct net_port *port)
{
    const struct impair_port *p = (const struct impair_port *)port;
    uint64_t deadline_ns = net_port_deadline_ns(p->below);
    if (p->config.on_rx)
        deadline_ns = min_u64(deadline_ns, net_lane_deadline_ns(&p->rx));
    if (p->config.on_tx)
        deadline_ns =
            min_u64(deadline_ns, p->tx_blocked ? p->last_ns + RETRY_NS : net_lane_deadline_ns(&p->tx));
    return deadline_ns;
}

static void impair_steer(struct net_port *port, uint32_t dest_qpn, enum net_steer whose,
                         const struct nornic_addr *peer)
{
    struct net_port *below = impair_of(port)->below;
    net_port_steer(below, dest_qpn, whose, peer);
    net_port_set_mode(port, below->mode);
}

static bool impair_refused(struct net_port *port, struct nornic_addr *peer)
{
    return net_port_refused(impair_of(port)->below, peer);
}

static int impair_listen(struct net_port *port, const struct nornic_addr *addr, struct nornic_error *why)
{
    return net_port_listen(impair_of(port)->below, addr, why);
}

static void impair_unlisten(struct net_port *port, const struct nornic_addr *addr)
{
    net_port_unlisten(impair_of(port)->below, addr);
}

static struct net_share *impair_share(const struct net_port *port)
{
    return net_port_share(((const struct impair_port *)port)->below);
}

static struct net_share *impair_lease(const struct net_port *port)
{
    return net_port_lease(((const struct impair_port *)port)->below);
}

static const char *impair_trouble(const struct net_port *port)
{
    return net_port_trouble(((const struct impair_port *)port)->below);
}

static void impair_close(struct net_port *port)
{
    struct impair_port *p = impair_of(port);
    net_port_close(p->below);
    if (p->config.on_rx)
        net_lane_deinit(&p->rx);
    if (p->config.on_tx)
        net_lane_deinit(&p->tx);
    free(p->tx_trains);
    free(p);
}

static const struct net_port_ops impair_ops = {
    .rx_burst = impair_rx_burst,
    .rx_release = impair_rx_release,
    .tx_reserve = impair_tx_reserve,
    .tx_flush = impair_tx_flush,
    .fd = impair_fd,
    .deadline_ns = impair_deadline_ns,
    .refused = impair_refused,
    .steer = impair_steer,
    .listen = impair_listen,
    .unlisten = impair_unlisten,
    .trouble = impair_trouble,
    .share = impair_share,
    .lease = impair_lease,
    .close = impair_close,
};

static bool config_is_valid(const struct net_impair_config *c)
{
    return c->loss_ppm <= PPM_MAX && c->duplicate_ppm <= PPM_MAX && c->reorder_ppm <= PPM_MAX &&
           c->corrupt_ppm <= PPM_MAX && c->ecn_ppm <= PPM_MAX && c->reorder_depth <= NET_IMPAIR_DEPTH_MAX &&
           c->delay_ns <= NET_IMPAIR_DELAY_MAX_NS && c->jitter_ns <= NET_IMPAIR_DELAY_MAX_NS;
}

static int lanes_init(struct impair_port *p)
{
    const struct net_port_limits *limits = &p->port.limits;
    uint32_t frame_bytes = limits->mtu_bytes + L2_EXTRA_BYTES;
    if (p->config.on_rx && net_lane_init(&p->rx, &p->config, &p->counters, frame_bytes, 0))
        return -ENOMEM;
    if (!p->config.on_tx)
        return 0;
    if (net_lane_init(&p->tx, &p->config, &p->counters, frame_bytes, 1))
        return -ENOMEM;
    p->tx_trains = limits->train_tx_bytes ? malloc((size_t)NET_BURST * train_room_bytes(limits)) : NULL;
    return limits->train_tx_bytes && !p->tx_trains ? -ENOMEM : 0;
}

int net_impair_wrap(struct net_port *below, const struct net_impair_config *config, struct net_port **out)
{
    struct impair_port *p = config_is_valid(config) ? calloc(1, sizeof *p) : NULL;
    if (!p) {
        net_port_close(below);
        return config_is_valid(config) ? -ENOMEM : -EINVAL;
    }
    p->port = *below;
    p->port.ops = &impair_ops;
    p->below = below;
    p->config = *config;
    if (!p->config.reorder_depth)
        p->config.reorder_depth = DEPTH_DEFAULT;
    p->port.limits.train_rx = below->limits.train_rx && !config->on_rx;
    if (below->limits.is_udp_socket && config->on_tx) /* packets that leave alone have no number of a train */
        p->port.limits.train_tx_bytes = p->port.limits.train_tx_pkts = 0;
    if (lanes_init(p)) {
        impair_close(&p->port);
        return -ENOMEM;
    }
    *out = &p->port;
    return 0;
}

const struct net_impair_counters *net_impair_counters(const struct net_port *port)
{
    return port->ops == &impair_ops ? &((const struct impair_port *)port)->counters : NULL;
}
