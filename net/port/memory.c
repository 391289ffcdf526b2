/* SPDX-License-Identifier: BSD-2-Clause */
/* Two single-producer single-consumer rings. The sender builds a frame in a slot, the receiver reads it
 * there.
 *
 * Ordering: `head` is stored with release by the sender and loaded with acquire by the receiver, so that a
 * slot's bytes are seen with it; `tail` the other way round, so that a slot is not rewritten while it is
 * read. Going to sleep is a race of pairs of (store mine, load yours): head and bell, tail and starved, and
 * receiver_gone and starved. These are sequentially consistent, so that at least one side sees the other's
 * store.
 *
 * Each end has a bell, an eventfd. It is readable unless its owner has found nothing to receive since: then
 * it is armed, and the peer rings it with the next frame. A busy receiver so costs the sender no system call.
 */
#include "net/memory.h"

#include <assert.h>
#include <errno.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/base.h"
#include "net/wire/train.h"

#define CACHE_LINE      64
#define MTU_MIN_BYTES   68 /* RFC 791 */
#define MTU_MAX_BYTES   65535
#define FRAMES_MAX      65536
#define L2_EXTRA_BYTES  18 /* Ethernet header and one tag */
#define TRAIN_MAX_BYTES (65535 + L2_EXTRA_BYTES)

/* A frame or train in its slot. */
struct slot {
    uint32_t len_bytes, seg_bytes;
};

/* A cache line for each side, and one for what seldom changes. */
struct ring {
    alignas(CACHE_LINE) _Atomic uint32_t head; /* slots ever filled; the sender's */
    uint32_t tail_seen;                        /* the sender's copy of tail */
    alignas(CACHE_LINE) _Atomic uint32_t tail; /* slots ever given back; the receiver's */
    uint32_t head_seen;                        /* the receiver's copy of head */
    alignas(CACHE_LINE) uint8_t *bytes;
    struct slot *slots; /* what is in each */
    uint32_t frames, stride_bytes;
    _Atomic bool starved; /* the sender got fewer slots than it wanted */
    _Atomic bool receiver_gone;
};

/* `is_rung`: the descriptor is readable, or whoever rings is about to make it so. */
struct bell {
    alignas(CACHE_LINE) _Atomic bool is_rung;
    int fd;
};

struct link;

struct memory_port {
    struct net_port port;
    struct link *link;
    struct ring *rx, *tx;
    struct bell *bell, *peer_bell;
    uint32_t rx_lent, tx_lent; /* slots that the user holds */
    bool tx_short;             /* the last reserve got fewer slots than it wanted */
    uint64_t train_draw;       /* state of the draw of how long a train may be; 0: as long as there is room */
};

struct link {
    struct ring ring[2]; /* ring[i]: towards end i */
    struct bell bell[2];
    struct memory_port end[2];
    _Atomic int open_ends;
};

/* The write is the last step: it may wake the owner in the place of the thread that rings, and all that is
 * left to do then waits for the owner to sleep again. */
static void bell_ring(struct bell *bell)
{
    if (!atomic_load(&bell->is_rung) && !atomic_exchange(&bell->is_rung, true))
        eventfd_write(bell->fd, 1); /* cannot fail: the counter is 0, and far from its limit */
}

/* Whether the bell was silenced now; then its owner must look once more. Not while the write is still to
 * come, which would make it readable for good. */
static bool bell_arm(struct bell *bell)
{
    eventfd_t count;
    if (!atomic_load_explicit(&bell->is_rung, memory_order_acquire) || eventfd_read(bell->fd, &count) < 0)
        return false;
    atomic_store(&bell->is_rung, false);
    return true;
}

/* Slots were given back since the sender found too few of them. */
static bool ring_has_opened(const struct ring *ring)
{
    return atomic_load(&ring->tail) != ring->tail_seen || atomic_load(&ring->receiver_gone);
}

static uint32_t ring_waiting(struct memory_port *end, uint32_t want)
{
    struct ring *ring = end->rx;
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    if (ring->head_seen - tail < want)
        ring->head_seen = atomic_load_explicit(&ring->head, memory_order_acquire);
    if (ring->head_seen == tail && bell_arm(end->bell)) {
        ring->head_seen = atomic_load(&ring->head);
        /* The ring that was silenced may have said either; the descriptor has to go on saying so. */
        if (ring->head_seen != tail || (end->tx_short && ring_has_opened(end->tx)))
            bell_ring(end->bell);
    }
    return ring->head_seen - tail;
}

static unsigned memory_rx_burst(struct net_port *port, struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    (void)now_ns;
    struct memory_port *end = (struct memory_port *)port;
    struct ring *ring = end->rx;
    assert(end->rx_lent == 0);
    uint32_t waiting = ring_waiting(end, n);
    if (n > waiting)
        n = waiting;
    if (n > port->limits.burst_frames)
        n = port->limits.burst_frames;
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = (tail + i) & (ring->frames - 1);
        frames[i] = (struct net_frame){.data = ring->bytes + (size_t)slot * ring->stride_bytes,
                                       .len_bytes = ring->slots[slot].len_bytes,
                                       .seg_bytes = ring->slots[slot].seg_bytes,
                                       .handle = slot};
        struct net_train_size size = net_train_size(&frames[i]);
        port->counters.rx_frames += size.pkts;
        port->counters.rx_bytes += size.bytes;
    }
    end->rx_lent = n;
    return n;
}

static void memory_rx_release(struct net_port *port, const struct net_frame *frames, unsigned n)
{
    (void)frames;
    struct memory_port *end = (struct memory_port *)port;
    struct ring *ring = end->rx;
    assert(n == end->rx_lent);
    end->rx_lent = 0;
    if (n == 0)
        return;
    uint32_t tail = atomic_load_explicit(&ring->tail, memory_order_relaxed);
    atomic_store(&ring->tail, tail + n);
    if (atomic_load(&ring->starved)) {
        atomic_store_explicit(&ring->starved, false, memory_order_relaxed);
        bell_ring(end->peer_bell); /* a sender that sleeps over a full ring has no other way to learn it */
    }
}

static uint32_t ring_room(struct ring *ring, uint32_t want)
{
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    /* A cable that is pulled out at the other end loses frames, it does not fill up. */
    if (atomic_load_explicit(&ring->receiver_gone, memory_order_acquire))
        return want;
    if (ring->frames - (head - ring->tail_seen) >= want)
        return want;
    ring->tail_seen = atomic_load_explicit(&ring->tail, memory_order_acquire);
    if (ring->frames - (head - ring->tail_seen) < want) {
        atomic_store(&ring->starved, true);
        ring->tail_seen = atomic_load(&ring->tail);
        if (atomic_load(&ring->receiver_gone))
            return want;
    }
    uint32_t room = ring->frames - (head - ring->tail_seen);
    return room < want ? room : want;
}

/* How many packets a train in the next buffer may have (splitmix64). */
static uint32_t train_pkts_next(struct memory_port *end)
{
    uint32_t most = end->port.limits.train_tx_pkts;
    if (end->train_draw == 0)
        return most;
    uint64_t z = end->train_draw += 0x9e3779b97f4a7c15u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
    z = (z ^ z >> 27) * 0x94d049bb133111eb;
    return 1 + (uint32_t)((z ^ z >> 31) % most);
}

static unsigned memory_tx_reserve(struct net_port *port, struct net_frame *bufs, unsigned n,
                                  uint32_t train_bytes)
{
    struct memory_port *end = (struct memory_port *)port;
    struct ring *ring = end->tx;
    assert(end->tx_lent == 0);
    if (n > port->limits.burst_frames)
        n = port->limits.burst_frames;
    uint32_t room = ring_room(ring, n);
    end->tx_short = room < n;
    if (end->tx_short) {
        port->counters.tx_full++;
        n = room;
    }
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (unsigned i = 0; i < n; i++) {
        uint32_t slot = (head + i) & (ring->frames - 1);
        bufs[i] = (struct net_frame){.data = ring->bytes + (size_t)slot * ring->stride_bytes,
                                     .cap_bytes = ring->stride_bytes,
                                     .handle = slot};
        if (train_bytes && port->limits.train_tx_bytes) {
            bufs[i].cap_bytes = max_u32(min_u32(train_bytes, port->limits.train_tx_bytes),
                                        port->limits.mtu_bytes + L2_EXTRA_BYTES);
            bufs[i].train_pkts = train_pkts_next(end);
        }
    }
    end->tx_lent = n;
    return n;
}

static void memory_tx_flush(struct net_port *port, const struct net_frame *bufs, unsigned used,
                            uint64_t now_ns)
{
    (void)now_ns;
    struct memory_port *end = (struct memory_port *)port;
    struct ring *ring = end->tx;
    assert(used <= end->tx_lent);
    end->tx_lent = 0;
    if (used == 0)
        return;
    uint32_t head = atomic_load_explicit(&ring->head, memory_order_relaxed);
    for (unsigned i = 0; i < used; i++) {
        assert(bufs[i].len_bytes <= ring->stride_bytes);
        assert(!bufs[i].seg_bytes || port->limits.train_tx_bytes);
        ring->slots[(head + i) & (ring->frames - 1)] =
            (struct slot){.len_bytes = bufs[i].len_bytes, .seg_bytes = bufs[i].seg_bytes};
        struct net_train_size size = net_train_size(&bufs[i]);
        port->counters.tx_frames += size.pkts;
        port->counters.tx_bytes += size.bytes;
    }
    atomic_store(&ring->head, head + used);
    bell_ring(end->peer_bell);
}

static int memory_fd(struct net_port *port)
{
    return ((struct memory_port *)port)->bell->fd;
}

static uint64_t memory_deadline_ns(const struct net_port *port)
{
    (void)port;
    return NET_TIME_NONE;
}

static void link_free(struct link *link)
{
    for (int i = 0; i < 2; i++) {
        if (link->bell[i].fd >= 0)
            close(link->bell[i].fd);
        free(link->ring[i].bytes);
        free(link->ring[i].slots);
    }
    free(link);
}

static void memory_close(struct net_port *port)
{
    struct memory_port *end = (struct memory_port *)port;
    struct link *link = end->link;
    atomic_store(&end->rx->receiver_gone, true);
    if (atomic_load(&end->rx->starved))
        bell_ring(end->peer_bell); /* what was full is open now, for frames that are lost */
    /* The descriptors stay until the second close: the peer may be ringing one right now. */
    if (atomic_fetch_sub(&link->open_ends, 1) == 1)
        link_free(link);
}

static const struct net_port_ops memory_ops = {
    .rx_burst = memory_rx_burst,
    .rx_release = memory_rx_release,
    .tx_reserve = memory_tx_reserve,
    .tx_flush = memory_tx_flush,
    .fd = memory_fd,
    .deadline_ns = memory_deadline_ns,
    .close = memory_close,
};

/* Allocates what ring and bell `i` need. False: no memory or no descriptor; link_free() cleans up. */
static bool link_init_half(struct link *link, int i, const struct net_memory_trains *c)
{
    struct ring *ring = &link->ring[i];
    uint32_t longest_bytes = max_u32(c->mtu_bytes + L2_EXTRA_BYTES, c->train_bytes);
    ring->frames = c->ring_frames;
    ring->stride_bytes = (longest_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    ring->bytes = aligned_alloc(CACHE_LINE, (size_t)ring->stride_bytes * c->ring_frames);
    ring->slots = calloc(c->ring_frames, sizeof *ring->slots);
    link->bell[i].fd = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    return ring->bytes && ring->slots && link->bell[i].fd >= 0;
}

static void end_init(struct link *link, int i, const struct net_memory_trains *c)
{
    static const char *const names[2] = {"memory:0", "memory:1"};
    struct memory_port *end = &link->end[i];
    *end = (struct memory_port){
        .port = {.ops = &memory_ops,
                 .limits = {.mtu_bytes = c->mtu_bytes,
                            .burst_frames = min_u32(c->ring_frames, NET_BURST),
                            .train_tx_bytes = c->train_bytes,
                            .train_tx_pkts = c->train_pkts,
                            .train_rx = c->train_bytes > 0},
                 .mac = {{0x02, 0, 0, 0, 0, (uint8_t)(i + 1)}}, /* locally administered */
                 .name = names[i],
                 .mode = "in-process rings"},
        .link = link,
        .rx = &link->ring[i],
        .tx = &link->ring[!i],
        .bell = &link->bell[i],
        .peer_bell = &link->bell[!i],
        .train_draw = c->seed ? 2 * c->seed + (unsigned)i : 0,
    };
}

/* `c` has no trains, or good ones. */
static int pair(const struct net_memory_trains *c, struct net_port *ends[2])
{
    if (c->mtu_bytes < MTU_MIN_BYTES || c->mtu_bytes > MTU_MAX_BYTES || c->ring_frames < 2 ||
        c->ring_frames > FRAMES_MAX || !is_pow2(c->ring_frames))
        return -EINVAL;
    struct link *link = aligned_alloc(alignof(struct link), sizeof *link);
    if (!link)
        return -ENOMEM;
    *link = (struct link){.bell = {{.fd = -1}, {.fd = -1}}, .open_ends = 2};
    for (int i = 0; i < 2; i++) {
        if (!link_init_half(link, i, c)) {
            link_free(link);
            return -ENOMEM;
        }
        end_init(link, i, c);
    }
    ends[0] = &link->end[0].port;
    ends[1] = &link->end[1].port;
    return 0;
}

int net_memory_pair(uint32_t mtu_bytes, uint32_t ring_frames, struct net_port *ends[2])
{
    return pair(&(struct net_memory_trains){.mtu_bytes = mtu_bytes, .ring_frames = ring_frames}, ends);
}

int net_memory_pair_trains(const struct net_memory_trains *trains, struct net_port *ends[2])
{
    if (trains->train_bytes == 0 || trains->train_bytes > TRAIN_MAX_BYTES || trains->train_pkts < 2)
        return -EINVAL;
    return pair(trains, ends);
}
