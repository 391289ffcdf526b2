/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine of RoCE over a port: frames both ways, in bursts. */
#include <assert.h>

#include "base/base.h"
#include "host/dev/dev.h"
#include "host/roce/gids.h"
#include "net/kernel/multicast.h"

/* Bursts in one round, so that a long send queue does not keep received acknowledgements waiting. */
#define TX_BURSTS_PER_ROUND 4
#define TX_BURST_LEAST      4
#define TX_RETRY_NS         (200 * NS_PER_US) /* until a port that lent no buffers is asked again */

static bool receive(struct host_dev *dev, uint64_t now_ns)
{
    struct net_frame frames[NET_BURST];
    unsigned n = net_port_rx_burst(dev->port, frames, dev->port->limits.burst_frames, now_ns);
    if (n == 0)
        return false;
    if (!dev->is_cut)
        roce_dev_rx(dev->engine, frames, n, now_ns);
    net_port_rx_release(dev->port, frames, n);
    return true;
}

static void take_refusal(struct host_dev *dev, uint64_t now_ns)
{
    struct nornic_addr peer;
    while (net_port_refused(dev->port, &peer)) {
        roce_dev_refused(dev->engine, &peer, now_ns);
        if (dev->client)
            dev->client->ops->refused(dev->client, &peer, now_ns);
    }
}

static bool expire(struct host_dev *dev, uint64_t now_ns)
{
    if (roce_dev_deadline_ns(dev->engine) > now_ns)
        return false;
    roce_dev_expire(dev->engine, now_ns);
    return true;
}

/* One burst. Lending a buffer and taking it back unused costs a tenth of a packet, each burst that
 * leaves costs a system call, and most rounds send one packet or two. So the port is asked for twice as many
 * as were used, and for fewer only by and by: a long queue has all that the port lends after a few bursts,
 * and an acknowledgement between two long messages does not cut the second to pieces. Returns false if the
 * port has none. */
static bool transmit_burst(struct host_dev *dev, uint64_t now_ns)
{
    struct net_frame bufs[NET_BURST];
    const struct net_port_limits *limits = &dev->port->limits;
    unsigned wanted = min_u32(max_u32(dev->round.tx_wanted, TX_BURST_LEAST), limits->burst_frames);
    unsigned lent = net_port_tx_reserve_trains(dev->port, bufs, wanted, limits->train_tx_bytes);
    if (lent == 0)
        return false;
    unsigned used = roce_dev_tx(dev->engine, bufs, lent, now_ns);
    net_port_tx_flush(dev->port, bufs, dev->is_cut ? 0 : used, now_ns);
    if (used > 0) /* else all that was ready had to wait, or stayed inside */
        dev->round.tx_wanted = max_u32(2 * used, wanted - wanted / 8);
    return true;
}

/* Returns whether any frame was built; those to the device's own addresses never see the port. */
static bool transmit(struct host_dev *dev, uint64_t now_ns)
{
    const uint64_t *built = &roce_dev_counters(dev->engine)->qps.tx_pkts;
    uint64_t built_before = *built;
    for (unsigned i = 0;
         i < TX_BURSTS_PER_ROUND && !dev->round.is_tx_blocked && roce_dev_tx_pending(dev->engine); i++)
        dev->round.is_tx_blocked = !transmit_burst(dev, now_ns);
    dev->round.tx_retry_ns = now_ns + TX_RETRY_NS;
    return *built != built_before;
}

static bool take_frames(struct host_dev *dev, uint64_t now_ns)
{
    bool received = receive(dev, now_ns);
    take_refusal(dev, now_ns);
    return expire(dev, now_ns) || received;
}

static bool has_to_send(const struct host_dev *dev)
{
    return roce_dev_tx_pending(dev->engine);
}

static uint64_t get_deadline_ns(const struct host_dev *dev)
{
    if (roce_dev_tx_pending(dev->engine) && !dev->round.is_tx_blocked)
        return 0;
    uint64_t room_ns = dev->round.is_tx_blocked ? dev->round.tx_retry_ns : NET_TIME_NONE;
    return min_u64(room_ns, min_u64(roce_dev_deadline_ns(dev->engine), net_port_deadline_ns(dev->port)));
}

static int get_fd(const struct host_dev *dev)
{
    return net_port_fd(dev->port);
}

static void get_use(const struct host_dev *dev, struct roce_dev_use *use)
{
    roce_dev_use(dev->engine, use);
}

static void close_engine(struct host_dev *dev)
{
    if (dev->gids)
        host_gids_close(dev->gids);
    if (dev->multicast)
        net_multicast_close(dev->multicast);
    int err = roce_dev_destroy(dev->engine);
    assert(!err && "nobody makes objects of a device that is being closed");
    (void)err;
    net_port_close(dev->port);
}

const struct host_drive host_drive_frames = {
    .take_in = take_frames,
    .send = transmit,
    .has_to_send = has_to_send,
    .deadline_ns = get_deadline_ns,
    .fd = get_fd,
    .use = get_use,
    .close = close_engine,
};
