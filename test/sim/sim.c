/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/sim.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/train.h"
#include "test/sim/socket.h"
#include "test/support/train.h"

/* No workload here builds so many frames for one completion, whatever the wire does: a device that does sends
 * in circles. Many it may be: who goes back N sends a window for each packet, where a wire without a rate
 * shuffles whole windows. */
#define FRAMES_MAX 200000

#define LITTLE_ROOM_BYTES 12000u

#define BTH_BYTES  12
#define BTH_PSN_AT 9

#define TRAIN_BYTES 65553 /* of a buffer: an IP packet's most, and an Ethernet header with a tag */

void sim_fail(struct sim *sim, const char *format, ...)
{
    if (sim->failed)
        return;
    sim->failed = true;
    int head = snprintf(sim->failure, sizeof sim->failure, "at %.3f us: ", (double)sim->now_ns / 1e3);
    va_list args;
    va_start(args, format);
    vsnprintf(sim->failure + head, sizeof sim->failure - (size_t)head, format, args);
    va_end(args);
}

uint32_t sim_answer_bytes(const struct sim_config *config)
{
    return config->seed % 4 == 3 ? LITTLE_ROOM_BYTES : 0;
}

static void count_event(void *ctx, const struct roce_event *event)
{
    struct sim_node *node = ctx;
    node->events[event->type]++;
}

static void count_doorbell(void *ctx)
{
    struct sim_node *node = ctx;
    node->doorbells++;
}

static void choose_addresses(struct sim_node *node, const struct sim_config *config)
{
    static const uint8_t v6[16] = {0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    uint8_t last = (uint8_t)(1 + node->index);
    if (config->ipv6) {
        memcpy(node->addr.b, v6, sizeof v6);
        node->addr.b[15] = last;
    } else {
        node->addr = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, last});
    }
    node->mac = (struct nornic_mac){{0x02, 0, 0, 0, 0, last}};
    node->vlan_id = config->vlan_id;
}

/* Three devices in four are, so that most runs have two of them. Nothing else depends on it. */
static bool is_selective(struct sim *sim, unsigned index)
{
    bool by_seed = test_random_below(&sim->select_random, 4) > 0;
    switch (sim->config.selective[index]) {
    case SIM_ON:
        return true;
    case SIM_OFF:
        return false;
    case SIM_BY_SEED:
        break;
    }
    return by_seed;
}

static void node_init(struct sim *sim, unsigned index)
{
    struct sim_node *node = &sim->node[index];
    node->sim = sim;
    node->index = index;
    test_alloc_init(&node->alloc);
    choose_addresses(node, &sim->config);
    struct roce_dev_config config = {
        .mem = &node->alloc.mem,
        .random = test_random_source(&node->random),
        .max_qp = 64,
        .max_mr = 64,
        .num_qpns = 0x10000,
        .port_mtu_bytes = sim->config.port_mtu_bytes,
        .window_pkts = sim->config.window_pkts,
        .answer_bytes = sim_answer_bytes(&sim->config),
        .cc = sim->config.cc[index],
        .masked_atomics = true,
        .selective = is_selective(sim, index),
        .udp_socket = sim->has_sockets,
        .doorbell = count_doorbell,
        .event = count_event,
        .trace = sim->config.ladder ? sim_ladder_hook : sim->config.trace,
        .trace_parse_tx = true,
        .ctx = node,
    };
    int err = roce_dev_create(&config, &node->dev);
    if (err)
        return sim_fail(sim, "roce_dev_create returned %d", err);
    int gid = roce_dev_gid_add(
        node->dev, &(struct nornic_gid){.addr = node->addr, .mac = node->mac, .vlan_id = node->vlan_id});
    if (gid != 0)
        return sim_fail(sim, "the first GID has index %d, not 0", gid);
    err = rdma_pd_create(roce_dev_domain(node->dev), &node->pd);
    if (err)
        sim_fail(sim, "rdma_pd_create returned %d", err);
}

/* Half of all runs move trains, of up to so many packets. Whether a run does changes nothing else that is
 * drawn. */
static uint32_t draw_train_pkts(struct sim *sim)
{
    return test_random_below(&sim->train_random, 2) ? 2 + test_random_below(&sim->train_random, 63) : 0;
}

void sim_init(struct sim *sim, const struct sim_config *config)
{
    *sim = (struct sim){.config = *config,
                        .now_ns = NS_PER_MS,
                        .random.state = config->seed,
                        .train_random.state = config->seed ^ 0x74726169,
                        .select_random.state = config->seed ^ 0x73656c65};
    sim->train_pkts = draw_train_pkts(sim);
    sim->has_sockets = sim->train_pkts && !config->vlan_id && test_random_below(&sim->train_random, 2);
    uint32_t frame_bytes = sim->train_pkts ? TRAIN_BYTES : config->port_mtu_bytes + 18;
    for (unsigned i = 0; i < NET_BURST; i++) {
        sim->tx[i] = (struct net_frame){.data = malloc(frame_bytes), .cap_bytes = frame_bytes};
        if (!sim->tx[i].data)
            abort();
    }
    for (unsigned i = 0; i < 2; i++) {
        sim->link[i] = sim_link_create(&config->link[i], test_random_next(&sim->random));
        sim->node[i].random = sim->random;
        (void)test_random_next(&sim->random),
            (void)test_random_next(&sim->random); /* known runs rest on this */
        node_init(sim, i);
    }
}

void sim_deinit(struct sim *sim)
{
    for (unsigned i = 0; i < 2; i++) {
        struct sim_node *node = &sim->node[i];
        sim_link_destroy(sim->link[i]);
        int err = node->pd ? rdma_pd_destroy(node->pd) : 0;
        if (err)
            sim_fail(sim, "rdma_pd_destroy returned %d", err);
        err = node->dev ? roce_dev_destroy(node->dev) : 0;
        if (err)
            sim_fail(sim, "roce_dev_destroy returned %d", err);
        if (node->alloc.live != 0)
            sim_fail(sim, "node %u leaks %u allocations", i, node->alloc.live);
    }
    for (unsigned i = 0; i < NET_BURST; i++)
        free(sim->tx[i].data);
}

void sim_address(const struct sim *sim, unsigned node, struct nornic_av *av)
{
    const struct sim_node *peer = &sim->node[!node];
    *av = (struct nornic_av){.dgid = peer->addr, .sgid_index = 0, .hop_limit = 64, .dst_mac = peer->mac};
}

/* A burst of any size is legal, so that sizes are drawn. */
static unsigned draw_burst(struct sim *sim)
{
    return 1 + test_random_below(&sim->random, NET_BURST);
}

/* What a buffer may take: of a port with trains any number of packets, and sometimes too few bytes for them.
 */
static void offer(struct sim *sim, struct net_frame *buf)
{
    buf->seg_bytes = buf->train_pkts = 0;
    if (!sim->train_pkts)
        return;
    bool is_short = test_random_below(&sim->train_random, 4) == 0;
    uint32_t room_bytes = is_short ? test_random_below(&sim->train_random, TRAIN_BYTES) : TRAIN_BYTES;
    buf->train_pkts = 1 + test_random_below(&sim->train_random, sim->train_pkts);
    buf->cap_bytes = max_u32(room_bytes, sim->config.port_mtu_bytes + 18);
}

static void check_built(struct sim *sim, unsigned index, const struct net_frame *frame, uint32_t pkts)
{
    if (frame->len_bytes > frame->cap_bytes)
        sim_fail(sim, "node %u wrote %u bytes into a buffer of %u", index, frame->len_bytes,
                 frame->cap_bytes);
    if (pkts > max_u32(1, frame->train_pkts) || (frame->seg_bytes != 0) != (pkts > 1))
        sim_fail(sim, "node %u built %u packets into a buffer for %u", index, pkts, frame->train_pkts);
}

/* Puts the packets of a frame on the wire, where there are no trains. */
static void put_on_wire(struct sim *sim, unsigned index, const struct net_frame *frame)
{
    uint32_t most_bytes = sim->config.port_mtu_bytes + (sim->node[index].vlan_id ? 18 : 14);
    struct net_train train;
    net_train_begin(&train, frame);
    check_built(sim, index, frame, train.count);
    for (uint32_t i = 0; i < train.count; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        if (pkt.len_bytes > most_bytes)
            sim_fail(sim, "node %u built a packet of %u bytes at an IP MTU of %u", index, pkt.len_bytes,
                     sim->config.port_mtu_bytes);
        unsigned fate = sim_link_send(sim->link[index], pkt.data, pkt.len_bytes, sim->now_ns);
        sim_ladder_fate(sim, index, &pkt, fate);
    }
    net_train_end(&train);
    sim->tx_frames += train.count;
    sim->trains_sent += train.count > 1;
}

/* How many buffers the port lends: fewer than wanted when its ring is short. */
static unsigned reserve(struct sim *sim, unsigned index, unsigned want)
{
    struct sim_node *node = &sim->node[index];
    if (sim->config.port_frames == 0)
        return want;
    if (sim->now_ns >= node->ring_free_ns) {
        node->ring_free = sim->config.port_frames;
        node->ring_free_ns = sim->now_ns + sim->config.port_gap_ns;
    }
    return want < node->ring_free ? want : node->ring_free;
}

static bool transmit(struct sim *sim, unsigned index)
{
    struct roce_dev *dev = sim->node[index].dev;
    bool moved = false;
    for (;;) {
        unsigned want = reserve(sim, index, draw_burst(sim));
        uint64_t built = roce_dev_counters(dev)->qps.tx_pkts, sent = sim->tx_frames;
        if (want == 0)
            return moved;
        for (unsigned i = 0; i < want; i++)
            offer(sim, &sim->tx[i]);
        unsigned n = roce_dev_tx(dev, sim->tx, want, sim->now_ns);
        for (unsigned i = 0; i < n; i++)
            put_on_wire(sim, index, &sim->tx[i]);
        sim->node[index].ring_free -= sim->config.port_frames ? n : 0;
        sent = sim->tx_frames - sent;
        if (sim->tx_frames - sim->completed_frames > FRAMES_MAX)
            sim_fail(sim, "more than %u frames were built for no completion: there is no end to it",
                     FRAMES_MAX);
        built = roce_dev_counters(dev)->qps.tx_pkts - built; /* those that stay inside, too */
        moved |= built > 0;
        if ((n < want && (built == sent || !roce_dev_tx_pending(dev))) || sim->failed)
            break;
    }
    if (!sim->failed && roce_dev_tx_pending(dev))
        sim_fail(sim, "node %u: roce_dev_tx_pending() right after roce_dev_tx() had nothing more to send",
                 index);
    return moved;
}

/* Whether its packets are other than those of one message, or of several in a row. */
static bool is_mixed(const struct net_frame *frame)
{
    struct net_train train;
    uint32_t psn = 0;
    bool is_mixed = false;
    net_train_begin(&train, frame);
    for (uint32_t i = 0; i < train.count; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        const uint8_t *bth = pkt.data + train.head_bytes;
        bool has_psn = pkt.len_bytes >= train.head_bytes + BTH_BYTES;
        is_mixed |= !has_psn || (i > 0 && get_be24(bth + BTH_PSN_AT) != ((psn + 1) & 0xffffff));
        psn = has_psn ? get_be24(bth + BTH_PSN_AT) : 0;
    }
    net_train_end(&train);
    return is_mixed;
}

/* Hands the device a burst, at once or, which counts the damage, frame by frame. */
static void deliver(struct sim *sim, struct roce_dev *dev, struct net_frame *frames, unsigned n)
{
    const uint64_t *bad = &roce_dev_counters(dev)->verdicts[ROCE_RX_DROP_ICRC];
    unsigned step = sim->has_sockets && test_random_below(&sim->train_random, 2) ? 1 : n;
    for (unsigned i = 0; i < n; i += step) {
        uint64_t before = *bad;
        roce_dev_rx(dev, frames + i, step, sim->now_ns);
        sim->trains_damaged += step == 1 && frames[i].seg_bytes && *bad > before;
    }
}

static bool receive(struct sim *sim, unsigned index)
{
    struct net_frame frames[NET_BURST];
    unsigned n = sim_link_recv(sim->link[!index], frames, draw_burst(sim), sim->now_ns);
    bool has_come = n > 0;
    if (sim->has_sockets)
        n = sim_socket_take(frames, n, &sim->train_random, &sim->node[index].kernel_drops);
    else if (sim->train_pkts)
        n = test_train_couple(frames, n, &sim->train_random);
    for (unsigned i = 0; i < n; i++) {
        sim->trains_received += frames[i].seg_bytes > 0;
        sim->trains_mixed += frames[i].seg_bytes > 0 && is_mixed(&frames[i]);
    }
    if (n > 0)
        deliver(sim, sim->node[index].dev, frames, n);
    sim_link_release(frames, n);
    return has_come;
}

static bool expire(struct sim *sim, unsigned index)
{
    struct roce_dev *dev = sim->node[index].dev;
    if (roce_dev_deadline_ns(dev) > sim->now_ns)
        return false;
    roce_dev_expire(dev, sim->now_ns);
    if (roce_dev_deadline_ns(dev) <= sim->now_ns)
        sim_fail(sim, "node %u: the deadline is still due after roce_dev_expire()", index);
    return true;
}

bool sim_step(struct sim *sim)
{
    bool moved = false;
    for (unsigned i = 0; i < 2 && !sim->failed; i++) {
        moved |= receive(sim, i);
        moved |= expire(sim, i);
        moved |= transmit(sim, i);
    }
    return moved && !sim->failed;
}

uint64_t sim_next_ns(const struct sim *sim)
{
    uint64_t next_ns = NET_TIME_NONE;
    for (unsigned i = 0; i < 2; i++) {
        next_ns = min_u64(next_ns, sim_link_next_ns(sim->link[i]));
        next_ns = min_u64(next_ns, roce_dev_deadline_ns(sim->node[i].dev));
        if (roce_dev_tx_pending(sim->node[i].dev))
            next_ns = min_u64(next_ns, sim->node[i].ring_free_ns);
    }
    return next_ns;
}

void sim_jump(struct sim *sim, uint64_t now_ns)
{
    if (now_ns > sim->now_ns)
        sim->now_ns = now_ns;
}
