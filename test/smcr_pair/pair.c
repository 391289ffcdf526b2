/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/smcr_pair/pair.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "smcr/instance.h"
#include "test/smcr_pair/conn.h"
#include "test/smcr_pair/tcp.h"
#include "test/smcr_pair/trace.h"

#define FRAME_BYTES 9100u
#define BURST       16u
#define ROUNDS_MAX  20000u /* at one instant: more is a circle */
#define PAUSE_NS    PAIR_S /* pair_settle(): timers farther off do not count */

void pair_fail(struct pair *pair, const char *format, ...)
{
    if (pair->failed)
        return;
    pair->failed = true;
    int head = snprintf(pair->failure, sizeof pair->failure, "at %.3f us: ", (double)pair->now_ns / 1e3);
    va_list args;
    va_start(args, format);
    vsnprintf(pair->failure + head, sizeof pair->failure - (size_t)head, format, args);
    va_end(args);
}

static void must(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "pair: %s\n", what);
    abort();
}

/* --- making --- */

static struct nornic_addr port_addr(const struct pair_config *config, unsigned node, unsigned port)
{
    bool cables = config->topology == PAIR_CABLES;
    uint8_t net = cables ? (uint8_t)port : 0, host = (uint8_t)(1 + node + (cables ? 0 : 2 * port));
    if (config->ipv6)
        return (struct nornic_addr){{0xfd, 0x77, [7] = net, [15] = host}};
    return nornic_addr_from_v4((const uint8_t[]){10, 77, net, host});
}

static void add_to_instance(struct pair_port *p)
{
    struct pair *pair = p->node->pair;
    const struct pair_config *config = &pair->config;
    enum nornic_mtu mtu = config->path_mtu[p->node->index];
    struct smcr_port_config port = {
        .dev = p->dev,
        .sgid_index = p->sgid_index,
        .path_mtu = mtu ? mtu : NORNIC_MTU_1024,
        .moves_trains = config->moves_trains,
        .networks[0] = {.addr = p->addr, .prefix_len = config->ipv6 ? 64 : 24},
        .num_networks = 1,
    };
    snprintf(port.name, sizeof port.name, "p%u.%u", p->node->index, p->index);
    if (smcr_port_add(p->node->smcr, &port, pair->now_ns, &p->port) != 0)
        p->port = NULL;
    p->told_up = true;
}

static void make_port(struct pair_node *node, unsigned index)
{
    struct pair *pair = node->pair;
    struct pair_port *p = &node->port[index];
    *p = (struct pair_port){
        .node = node, .index = index, .addr = port_addr(&pair->config, node->index, index)};
    p->mac = (struct nornic_mac){{2, 0, 0x5e, 0x10, (uint8_t)index, (uint8_t)(node->index + 1)}};
    struct roce_dev_config dev = {.mem = &node->dev_alloc.mem,
                                  .random = test_random_source(&node->random),
                                  .max_qp = 256,
                                  .max_mr = 2048,
                                  .port_mtu_bytes = 9000,
                                  .trace = pair->config.roce_trace,
                                  .trace_parse_tx = true,
                                  .ctx = p};
    struct nornic_gid gid = {.addr = p->addr, .mac = p->mac, .vlan_id = pair->config.vlan_id};
    must(roce_dev_create(&dev, &p->dev) == 0, "no device");
    int sgid = roce_dev_gid_add(p->dev, &gid);
    must(sgid >= 0, "no GID");
    p->sgid_index = (unsigned)sgid;
    p->wire = sim_link_create(&pair->config.wire, test_random_next(&node->random));
}

static void on_trace(void *ctx, const struct smcr_trace *trace)
{
    struct pair_node *node = ctx;
    struct pair *pair = node->pair;
    bool sent = trace->type == SMCR_TRACE_LLC_TX || trace->type == SMCR_TRACE_CDC_TX;
    if (sent && trace->message)
        node->sent[trace->message[0]]++;
    if (trace->now_ns != pair->now_ns)
        pair_fail(pair, "node %u traces another time than now", node->index);
    if (pair->config.ladder)
        pair_trace_print(node, trace);
    if (pair->on_trace)
        pair->on_trace(pair->trace_ctx, node, trace);
}

static void make_node(struct pair *pair, unsigned index)
{
    struct pair_node *node = &pair->node[index];
    node->pair = pair;
    node->index = index;
    node->random.state = pair->config.seed * 2 + index;
    test_alloc_init(&node->alloc);
    test_alloc_init(&node->dev_alloc);
    if (!pair->config.scripted[index]) {
        struct smcr_config config = pair->config.smcr[index];
        config.mem = &node->alloc.mem;
        config.random = test_random_source(&node->random);
        config.instance_id = config.instance_id ? config.instance_id : (uint16_t)(0x5a01 + 0x2101 * index);
        config.trace = on_trace;
        config.trace_ctx = node;
        must(smcr_create(&config, &node->smcr) == 0, "no instance");
    }
    unsigned ports = pair->config.ports[index] ? pair->config.ports[index] : 1;
    for (unsigned p = 0; p < ports; p++)
        make_port(node, p);
    node->num_ports = ports;
    for (unsigned p = 0; p < ports && node->smcr && !pair->config.no_ports[index]; p++)
        add_to_instance(&node->port[p]);
    node->live_before = node->alloc.live;
}

struct pair *pair_new(const struct pair_config *config)
{
    struct pair *pair = calloc(1, sizeof *pair);
    must(pair, "no memory");
    pair->config = *config;
    if (config->wire.delay_ns == 0)
        pair->config.wire.delay_ns = 5 * PAIR_US;
    pair->now_ns = PAIR_S;
    pair->next_tcp_port = 40000;
    pair->tx_bytes = malloc(BURST * FRAME_BYTES);
    must(pair->tx_bytes, "no memory");
    make_node(pair, 0);
    make_node(pair, 1);
    return pair;
}

/* --- ending --- */

static void end_node(struct pair_node *node)
{
    struct pair *pair = node->pair;
    if (node->smcr)
        smcr_destroy(node->smcr, pair->now_ns);
    if (node->alloc.live != 0)
        pair_fail(pair, "node %u: the instance leaks %u allocations", node->index, node->alloc.live);
    for (unsigned p = 0; p < node->num_ports; p++) {
        int err = roce_dev_destroy(node->port[p].dev);
        if (err)
            pair_fail(pair, "node %u, port %u: QPs, PDs or regions are left", node->index, p);
        sim_link_destroy(node->port[p].wire);
    }
    if (node->dev_alloc.live != 0)
        pair_fail(pair, "node %u: devices leak %u allocations", node->index, node->dev_alloc.live);
}

const char *pair_free(struct pair *pair)
{
    static char words[sizeof pair->failure];
    end_node(&pair->node[0]);
    end_node(&pair->node[1]);
    while (pair->conns) {
        struct pair_conn *c = pair->conns;
        pair->conns = c->next;
        pair_conn_free(c);
    }
    bool failed = pair->failed;
    memcpy(words, pair->failure, sizeof words);
    free(pair->tx_bytes);
    free(pair);
    return failed ? words : NULL;
}

int pair_held(const struct pair_node *node)
{
    int held = (int)(node->alloc.live - node->live_before);
    for (unsigned p = 0; p < node->num_ports; p++) {
        const struct smcr_port *port = node->port[p].port;
        held -= port ? (port->inbox.ring != NULL) + (port->table != NULL) : 0;
    }
    return held;
}

/* --- ports --- */

void pair_cut(struct pair *pair, unsigned node, unsigned port, bool noticed)
{
    struct pair_port *p = &pair->node[node].port[port];
    p->cut = true;
    p->notice = p->notice || noticed;
}

void pair_restore(struct pair *pair, unsigned node, unsigned port)
{
    struct pair_port *p = &pair->node[node].port[port];
    p->cut = false;
    p->notice = !p->told_up;
}

void pair_add_port(struct pair *pair, unsigned node)
{
    struct pair_node *n = &pair->node[node];
    must(n->num_ports < PAIR_PORTS_MAX, "too many ports");
    make_port(n, n->num_ports++);
    if (n->smcr)
        add_to_instance(&n->port[n->num_ports - 1]);
}

void pair_remove_port(struct pair *pair, unsigned node)
{
    struct pair_port *p = &pair->node[node].port[pair->node[node].num_ports - 1];
    if (p->port)
        smcr_port_remove(p->port, pair->now_ns);
    p->port = NULL;
}

static bool tell(struct pair_port *p)
{
    if (!p->notice)
        return false;
    p->notice = false;
    if (p->told_up != p->cut)
        return false;
    p->told_up = !p->cut;
    roce_dev_port_state(p->dev, p->told_up);
    if (p->port)
        smcr_port_state(p->port, p->told_up, p->node->pair->now_ns);
    return true;
}

/* --- time --- */

static struct pair_port *reached_by(struct pair_port *from, const uint8_t *dst_mac)
{
    struct pair_node *to = &from->node->pair->node[!from->node->index];
    for (unsigned p = 0; p < to->num_ports; p++) {
        bool joined = from->node->pair->config.topology == PAIR_SWITCH || p == from->index;
        if (joined && memcmp(to->port[p].mac.b, dst_mac, sizeof to->port[p].mac.b) == 0)
            return &to->port[p];
    }
    return NULL;
}

static bool arrive(struct pair_port *from)
{
    struct net_frame frames[BURST];
    uint64_t now_ns = from->node->pair->now_ns;
    unsigned n = sim_link_recv(from->wire, frames, BURST, now_ns);
    for (unsigned i = 0; i < n; i++) {
        struct pair_port *to = reached_by(from, frames[i].data);
        if (to && !to->cut && !from->cut)
            roce_dev_rx(to->dev, &frames[i], 1, now_ns);
    }
    sim_link_release(frames, n);
    return n > 0;
}

static bool transmit(struct pair_port *p)
{
    struct pair *pair = p->node->pair;
    struct net_frame bufs[BURST];
    bool moved = false;
    while (roce_dev_tx_pending(p->dev)) {
        for (unsigned i = 0; i < BURST; i++)
            bufs[i] = (struct net_frame){.data = pair->tx_bytes + i * FRAME_BYTES, .cap_bytes = FRAME_BYTES};
        unsigned n = roce_dev_tx(p->dev, bufs, BURST, pair->now_ns);
        for (unsigned i = 0; i < n && pair->on_wire; i++)
            pair->on_wire(pair->wire_ctx, NULL, bufs[i].data, bufs[i].len_bytes);
        for (unsigned i = 0; i < n; i++)
            if (p->cut)
                sim_link_lose(p->wire, bufs[i].data, bufs[i].len_bytes, pair->now_ns);
            else
                sim_link_send(p->wire, bufs[i].data, bufs[i].len_bytes, pair->now_ns);
        moved |= n > 0;
        if (n < BURST)
            break;
    }
    return moved;
}

static bool port_step(struct pair_port *p)
{
    uint64_t now_ns = p->node->pair->now_ns;
    bool moved = tell(p);
    moved |= arrive(p);
    if (roce_dev_deadline_ns(p->dev) <= now_ns) {
        roce_dev_expire(p->dev, now_ns);
        moved = true;
    }
    return transmit(p) || moved;
}

static bool node_step(struct pair_node *node)
{
    uint64_t now_ns = node->pair->now_ns;
    bool moved = false;
    for (unsigned p = 0; p < node->num_ports; p++)
        moved |= port_step(&node->port[p]);
    if (!node->smcr)
        return moved;
    moved |= smcr_progress(node->smcr, now_ns);
    if (smcr_deadline_ns(node->smcr) <= now_ns) {
        smcr_expire(node->smcr, now_ns);
        if (smcr_deadline_ns(node->smcr) <= now_ns)
            pair_fail(node->pair, "node %u: the deadline is still due after smcr_expire()", node->index);
        moved = true;
    }
    return pair_conn_events(node) || moved;
}

static bool step(struct pair *pair)
{
    bool moved = node_step(&pair->node[0]);
    moved |= node_step(&pair->node[1]);
    for (struct pair_conn *c = pair->conns; c; c = c->next) {
        moved |= pair_tcp_deliver(&c->end[0]);
        moved |= pair_tcp_deliver(&c->end[1]);
    }
    if (pair->app && !pair->failed)
        moved |= pair->app(pair->app_ctx, pair);
    return moved && !pair->failed;
}

void pair_now(struct pair *pair)
{
    for (unsigned round = 0; step(pair); round++)
        if (round > ROUNDS_MAX)
            pair_fail(pair, "the pair does not come to rest");
}

/* Of frames, devices, TCP and the application. */
static uint64_t next_below_ns(const struct pair *pair)
{
    uint64_t next_ns = pair->app_next_ns ? pair->app_next_ns : NET_TIME_NONE;
    for (unsigned i = 0; i < 2; i++)
        for (unsigned p = 0; p < pair->node[i].num_ports; p++) {
            next_ns = min_u64(next_ns, sim_link_next_ns(pair->node[i].port[p].wire));
            next_ns = min_u64(next_ns, roce_dev_deadline_ns(pair->node[i].port[p].dev));
        }
    for (const struct pair_conn *c = pair->conns; c; c = c->next)
        next_ns = min_u64(next_ns, min_u64(pair_tcp_next_ns(&c->end[0]), pair_tcp_next_ns(&c->end[1])));
    return next_ns;
}

static uint64_t next_timer_ns(const struct pair *pair)
{
    uint64_t next_ns = NET_TIME_NONE;
    for (unsigned i = 0; i < 2; i++)
        if (pair->node[i].smcr)
            next_ns = min_u64(next_ns, smcr_deadline_ns(pair->node[i].smcr));
    return next_ns;
}

/* To the next thing that happens, if it is not later than `limit_ns`. */
static bool jump(struct pair *pair, uint64_t limit_ns)
{
    uint64_t next_ns = min_u64(next_below_ns(pair), next_timer_ns(pair));
    if (pair->failed || next_ns > limit_ns)
        return false;
    pair->now_ns = next_ns > pair->now_ns ? next_ns : pair->now_ns;
    return true;
}

void pair_run_for(struct pair *pair, uint64_t ns)
{
    uint64_t end_ns = pair->now_ns + ns;
    do
        pair_now(pair);
    while (jump(pair, end_ns));
    if (!pair->failed)
        pair->now_ns = end_ns;
}

bool pair_run_until(struct pair *pair, bool (*is_it)(void *ctx, struct pair *pair), void *ctx,
                    uint64_t max_ns)
{
    uint64_t end_ns = pair->now_ns + max_ns;
    do {
        pair_now(pair);
        if (!pair->failed && is_it(ctx, pair))
            return true;
    } while (jump(pair, end_ns));
    return false;
}

static bool at_rest(void *ctx, struct pair *pair)
{
    (void)ctx;
    if (next_below_ns(pair) != NET_TIME_NONE)
        return false;
    uint64_t timer_ns = next_timer_ns(pair);
    return timer_ns == NET_TIME_NONE || timer_ns - pair->now_ns > PAUSE_NS;
}

bool pair_settle(struct pair *pair, uint64_t max_ns)
{
    return pair_run_until(pair, at_rest, NULL, max_ns);
}
