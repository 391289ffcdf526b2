/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/fabric.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/bytes.h"
#include "test/sim/link.h"

#define RING_FRAMES 8  /* that a node's port takes ahead of its wire */
#define WIRE_BYTES  24 /* preamble, frame check sequence and gap, which every frame costs on a wire */
#define PPM         1000000

/* A frame in flight: to the switch, then to its node. */
struct fabric_frame {
    struct fabric_frame *next; /* in the list of unused ones */
    uint64_t due_ns;
    uint64_t order; /* frames of one instant arrive in the order in which they were sent */
    unsigned to;
    bool switched;
    uint32_t len_bytes;
    uint8_t bytes[];
};

/* --- frames in flight --- */

static bool sooner(const struct fabric_frame *a, const struct fabric_frame *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

static void push(struct fabric *f, struct fabric_frame *frame)
{
    if (f->count == f->capacity) {
        f->capacity = f->capacity ? 2 * f->capacity : 1024;
        f->heap = realloc(f->heap, f->capacity * sizeof(struct fabric_frame *));
        cr_assert_not_null(f->heap);
    }
    frame->order = f->order++;
    unsigned i = f->count++;
    for (; i > 0 && sooner(frame, f->heap[(i - 1) / 2]); i = (i - 1) / 2)
        f->heap[i] = f->heap[(i - 1) / 2];
    f->heap[i] = frame;
}

static struct fabric_frame *pop(struct fabric *f)
{
    struct fabric_frame *top = f->heap[0], *last = f->heap[--f->count];
    unsigned i = 0;
    for (unsigned child = 1; child < f->count; child = 2 * i + 1) {
        if (child + 1 < f->count && sooner(f->heap[child + 1], f->heap[child]))
            child++;
        if (!sooner(f->heap[child], last))
            break;
        f->heap[i] = f->heap[child];
        i = child;
    }
    if (f->count > 0)
        f->heap[i] = last;
    return top;
}

static struct fabric_frame *take_unused(struct fabric *f)
{
    struct fabric_frame *frame = f->unused;
    if (frame)
        f->unused = frame->next;
    else
        frame = malloc(sizeof *frame + f->config.port_mtu_bytes + 18);
    cr_assert_not_null(frame);
    return frame;
}

static void give_back(struct fabric *f, struct fabric_frame *frame)
{
    frame->next = f->unused;
    f->unused = frame;
}

/* --- nodes --- */

static void node_init(struct fabric *f, unsigned index)
{
    struct fabric_node *node = &f->node[index];
    uint8_t last = (uint8_t)(1 + index);
    *node = (struct fabric_node){.fabric = f, .index = index, .mac = {{0x02, 0, 0, 0, 0, last}}};
    node->addr = f->config.ipv6 ? (struct nornic_addr){{0xfd, [15] = last}}
                                : nornic_addr_from_v4((const uint8_t[]){192, 0, 2, last});
    bool first = index == 0 && f->config.first_bps;
    node->port.rate_bps = first ? f->config.first_bps : f->config.line_rate_bps;
    test_alloc_init(&node->alloc);
    struct roce_dev_config config = {.mem = &node->alloc.mem,
                                     .random = test_random_source(&f->random),
                                     .max_qp = FABRIC_NODES_MAX,
                                     .max_mr = 64,
                                     .num_qpns = 0x10000,
                                     .port_mtu_bytes = f->config.port_mtu_bytes,
                                     .window_pkts = f->config.window_pkts,
                                     .cc = f->config.cc};
    cr_assert_eq(roce_dev_create(&config, &node->dev), 0);
    cr_assert_eq(roce_dev_gid_add(node->dev, &(struct nornic_gid){.addr = node->addr, .mac = node->mac}), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(node->dev), &node->pd), 0);
}

void fabric_init(struct fabric *f, const struct fabric_config *config)
{
    cr_assert_leq(config->nodes, FABRIC_NODES_MAX);
    *f = (struct fabric){.config = *config, .random.state = config->seed, .now_ns = FABRIC_MS};
    f->config.cc.line_rate_bps = config->line_rate_bps;
    for (unsigned i = 0; i < config->nodes; i++)
        node_init(f, i);
}

void fabric_deinit(struct fabric *f)
{
    for (unsigned i = 0; i < f->config.nodes; i++) {
        cr_assert_eq(rdma_pd_destroy(f->node[i].pd), 0);
        cr_assert_eq(roce_dev_destroy(f->node[i].dev), 0);
        cr_assert_eq(f->node[i].alloc.live, 0, "node %u leaks", i);
    }
    for (unsigned i = 0; i < f->count; i++)
        free(f->heap[i]);
    for (struct fabric_frame *frame; (frame = f->unused);) {
        f->unused = frame->next;
        free(frame);
    }
    free(f->heap);
}

/* --- the switch --- */

static uint64_t duration_ns(uint64_t len_bytes, uint64_t rate_bps)
{
    return len_bytes * 8 * 1000000000 / rate_bps;
}

uint64_t fabric_queue_bytes(const struct fabric *f, unsigned node)
{
    const struct fabric_port *port = &f->node[node].port;
    uint64_t left_ns = port->free_ns > f->now_ns ? port->free_ns - f->now_ns : 0;
    return left_ns * (port->rate_bps / 1000) / 8000000;
}

void fabric_forget(struct fabric *f)
{
    for (unsigned i = 0; i < f->config.nodes; i++) {
        struct fabric_port *port = &f->node[i].port;
        *port = (struct fabric_port){.rate_bps = port->rate_bps, .free_ns = port->free_ns};
    }
}

static bool draws_mark(struct fabric *f, uint64_t queue_bytes)
{
    const struct fabric_config *c = &f->config;
    if (c->kmax_bytes == 0 || queue_bytes <= c->kmin_bytes)
        return false;
    if (queue_bytes >= c->kmax_bytes)
        return true;
    uint64_t ppm = c->pmax_ppm * (queue_bytes - c->kmin_bytes) / (c->kmax_bytes - c->kmin_bytes);
    return test_random_below(&f->random, PPM) < ppm;
}

/* Through the switch: into the queue of its port, or nowhere. */
static void forward(struct fabric *f, struct fabric_frame *frame)
{
    struct fabric_port *port = &f->node[frame->to].port;
    uint64_t queue_bytes = fabric_queue_bytes(f, frame->to);
    if (queue_bytes + frame->len_bytes > f->config.buffer_bytes) {
        port->dropped++;
        give_back(f, frame);
        return;
    }
    if (draws_mark(f, queue_bytes) && sim_link_mark(frame->bytes, frame->len_bytes))
        port->marked++;
    port->forwarded++;
    if (queue_bytes + frame->len_bytes > port->peak_bytes)
        port->peak_bytes = queue_bytes + frame->len_bytes;
    uint64_t start_ns = port->free_ns > f->now_ns ? port->free_ns : f->now_ns;
    port->free_ns = start_ns + duration_ns(frame->len_bytes + WIRE_BYTES, port->rate_bps);
    frame->due_ns = port->free_ns + f->config.delay_ns;
    frame->switched = true;
    push(f, frame);
}

/* --- time --- */

static uint64_t ring_ns(const struct fabric *f)
{
    return duration_ns(RING_FRAMES * (f->config.port_mtu_bytes + WIRE_BYTES), f->config.line_rate_bps);
}

/* When the port of `node` takes frames. */
static uint64_t ring_free_ns(const struct fabric *f, const struct fabric_node *node)
{
    return node->wire_free_ns > ring_ns(f) ? node->wire_free_ns - ring_ns(f) : 0;
}

static void send(struct fabric *f, struct fabric_node *node, struct fabric_frame *frame)
{
    uint64_t start_ns = node->wire_free_ns > f->now_ns ? node->wire_free_ns : f->now_ns;
    node->wire_free_ns = start_ns + duration_ns(frame->len_bytes + WIRE_BYTES, f->config.line_rate_bps);
    frame->due_ns = node->wire_free_ns + f->config.delay_ns;
    frame->switched = false;
    frame->to = frame->bytes[5] - 1u;
    cr_assert_lt(frame->to, f->config.nodes);
    push(f, frame);
}

static void transmit(struct fabric *f, struct fabric_node *node)
{
    while (roce_dev_tx_pending(node->dev) && ring_free_ns(f, node) <= f->now_ns) {
        struct fabric_frame *frame = take_unused(f);
        struct net_frame buf = {.data = frame->bytes, .cap_bytes = f->config.port_mtu_bytes + 18};
        if (roce_dev_tx(node->dev, &buf, 1, f->now_ns) == 0) {
            give_back(f, frame);
            cr_assert_not(roce_dev_tx_pending(node->dev), "node %u pretends to have something to send",
                          node->index);
            return;
        }
        frame->len_bytes = buf.len_bytes;
        send(f, node, frame);
    }
}

/* When `node` next does something of its own accord. */
static uint64_t node_due_ns(const struct fabric *f, const struct fabric_node *node)
{
    uint64_t due_ns = roce_dev_deadline_ns(node->dev);
    if (node->wake_ns && node->wake_ns < due_ns)
        due_ns = node->wake_ns;
    uint64_t ring = ring_free_ns(f, node);
    return roce_dev_tx_pending(node->dev) && ring < due_ns ? ring : due_ns;
}

static void act(struct fabric *f, struct fabric_node *node)
{
    if (roce_dev_deadline_ns(node->dev) <= f->now_ns)
        roce_dev_expire(node->dev, f->now_ns);
    if (node->wake_ns <= f->now_ns)
        node->wake_ns = 0;
    if (f->app)
        f->app(f->app_ctx, node->index);
    transmit(f, node);
    cr_assert_gt(node_due_ns(f, node), f->now_ns, "node %u is due again at once", node->index);
}

static void arrive(struct fabric *f, struct fabric_frame *frame)
{
    if (!frame->switched) {
        forward(f, frame);
        return;
    }
    struct fabric_node *node = &f->node[frame->to];
    struct net_frame in = {
        .data = frame->bytes, .len_bytes = frame->len_bytes, .cap_bytes = frame->len_bytes};
    roce_dev_rx(node->dev, &in, 1, f->now_ns);
    give_back(f, frame);
    act(f, node);
}

void fabric_run(struct fabric *f, uint64_t until_ns)
{
    for (;;) {
        uint64_t next_ns = f->count > 0 ? f->heap[0]->due_ns : NET_TIME_NONE;
        struct fabric_node *first = NULL;
        for (unsigned i = 0; i < f->config.nodes; i++) {
            uint64_t due_ns = node_due_ns(f, &f->node[i]);
            if (due_ns < next_ns) {
                next_ns = due_ns;
                first = &f->node[i];
            }
        }
        if (next_ns > until_ns)
            break;
        if (next_ns > f->now_ns)
            f->now_ns = next_ns;
        if (first)
            act(f, first);
        else
            arrive(f, pop(f));
    }
    f->now_ns = until_ns;
}
