/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "net/impair.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/impair_lane.h"

#define PPM_MAX        1000000u
#define DEPTH_DEFAULT  3
#define L2_EXTRA_BYTES 18 /* Ethernet header and one tag */
#define TRAIN_BYTES    (65535 + L2_EXTRA_BYTES)
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
    bool tx_blocked; /* a frame is due, and the port below took nothing at last_ns */
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
            bufs[used].len_bytes = p->tx.slots[slot].len_bytes;
            memcpy(bufs[used].data, net_lane_data(&p->tx, slot), bufs[used].len_bytes);
            net_lane_give(&p->tx, slot);
        }
        net_port_tx_flush(p->below, bufs, used, now_ns);
    }
}

static unsigned impair_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n)
{
    struct impair_port *p = impair_of(port);
    if (!p->config.on_tx) {
        n = net_port_tx_reserve(p->below, bufs, n);
        sync_counters(p);
        return n;
    }
    if (p->tx_blocked)
        tx_pump(p, p->last_ns);
    sync_counters(p);
    if (p->tx_blocked)
        return 0;
    assert(p->tx_lent_count == 0);
    if (n > port->limits.burst_frames)
        n = port->limits.burst_frames;
    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = net_lane_take(&p->tx);
        /* The slots that the queue can never fill are kept for this. */
        assert(slot != NET_LANE_NO_SLOT);
        p->tx_lent[p->tx_lent_count++] = slot;
        bufs[i] = (struct net_frame){.data = net_lane_data(&p->tx, slot),
                                     .cap_bytes = port->limits.mtu_bytes + L2_EXTRA_BYTES,
                                     .handle = slot};
    }
    return n;
}

static void tx_one(struct impair_port *p, uint32_t slot, const struct net_frame *buf, uint64_t now_ns)
{
    struct net_impair_fate fate = net_impair_fate_next(&p->tx.fates, &p->config);
    if (fate.lost) {
        p->counters.lost++;
        net_lane_give(&p->tx, slot);
        return;
    }
    assert(buf->len_bytes <= p->tx.frame_bytes);
    p->tx.slots[slot] = (struct net_lane_slot){.len_bytes = buf->len_bytes};
    net_lane_admit(&p->tx, slot, &fate, now_ns);
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
    assert(used <= p->tx_lent_count);
    net_lane_tick(&p->tx, now_ns);
    for (unsigned i = used; i < p->tx_lent_count; i++)
        net_lane_give(&p->tx, p->tx_lent[i]);
    p->tx_lent_count = 0;
    for (unsigned i = 0; i < used; i++)
        tx_one(p, p->tx_lent[i], &bufs[i], now_ns);
    tx_pump(p, now_ns);
    sync_counters(p);
}

/* Lends the user what is due, as far as there is room. */
static void rx_drain(struct impair_port *p, struct rx_burst *burst)
{
    uint32_t slot;
    while (burst->count < burst->max && (slot = net_lane_next(&p->rx, burst->now_ns)) != NET_LANE_NO_SLOT) {
        p->rx_lent[p->rx_lent_count++] = slot;
        burst->frames[burst->count++] = (struct net_frame){.data = net_lane_data(&p->rx, slot),
                                                           .len_bytes = p->rx.slots[slot].len_bytes,
                                                           .seg_bytes = p->rx.slots[slot].seg_bytes,
                                                           .handle = slot};
    }
}

static void rx_one(struct impair_port *p, struct rx_burst *burst, const struct net_frame *frame)
{
    struct net_impair_fate fate = net_impair_fate_next(&p->rx.fates, &p->config);
    bool is_delayed = p->config.delay_ns || p->config.jitter_ns;
    if (fate.lost || frame->len_bytes > p->rx.frame_bytes) {
        p->counters.lost++;
        return;
    }
    if (net_impair_fate_is_clean(&fate) && !is_delayed && burst->count < burst->max) {
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
    p->rx.slots[slot] = (struct net_lane_slot){.len_bytes = frame->len_bytes, .seg_bytes = frame->seg_bytes};
    memcpy(net_lane_data(&p->rx, slot), frame->data, frame->len_bytes);
    net_lane_admit(&p->rx, slot, &fate, burst->now_ns);
}

static void below_rx_release(struct impair_port *p)
{
    net_port_rx_release(p->below, p->below_rx, p->below_rx_count);
    p->below_rx_count = 0;
}

static unsigned rx_gather(struct impair_port *p, struct rx_burst *burst)
{
    net_lane_tick(&p->rx, burst->now_ns);
    rx_drain(p, burst);
    if (burst->count == burst->max)
        return burst->count;
    unsigned want = burst->max - burst->count;
    p->below_rx_count = net_port_rx_burst(p->below, p->below_rx, want, burst->now_ns);
    for (unsigned i = 0; i < p->below_rx_count; i++) {
        rx_one(p, burst, &p->below_rx[i]);
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

static void impair_close(struct net_port *port)
{
    struct impair_port *p = impair_of(port);
    net_port_close(p->below);
    if (p->config.on_rx)
        net_lane_deinit(&p->rx);
    if (p->config.on_tx)
        net_lane_deinit(&p->tx);
    free(p);
}

static const struct net_port_ops impair_ops = {
    .rx_burst = impair_rx_burst,
    .rx_release = impair_rx_release,
    .tx_reserve = impair_tx_reserve,
    .tx_flush = impair_tx_flush,
    .fd = impair_fd,
    .deadline_ns = impair_deadline_ns,
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
    uint32_t mtu_frame_bytes = p->port.limits.mtu_bytes + L2_EXTRA_BYTES;
    uint32_t rx_bytes = p->port.limits.train_rx ? TRAIN_BYTES : mtu_frame_bytes;
    if (p->config.on_rx && net_lane_init(&p->rx, &p->config, &p->counters, rx_bytes, 0))
        return -ENOMEM;
    if (p->config.on_tx && net_lane_init(&p->tx, &p->config, &p->counters, mtu_frame_bytes, 1))
        return -ENOMEM;
    return 0;
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
    if (p->config.on_tx)
        p->port.limits.train_tx_bytes = 0;
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
