/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/cm/net.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define STEPS_MAX 200000

static struct cm_node *node_of(struct cm_net *net, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < CM_NET_NODES; i++)
        if (nornic_addr_equal(&net->node[i].addr, addr))
            return &net->node[i];
    return NULL;
}

static void take_off(struct cm_net *net, unsigned from, unsigned to, const uint8_t *mad)
{
    uint64_t jitter = net->config.jitter_ns ? test_random_next(&net->random) % net->config.jitter_ns : 0;
    for (unsigned i = 0; i < CM_NET_FLIGHTS; i++) {
        struct cm_flight *f = &net->flight[i];
        if (f->used)
            continue;
        *f = (struct cm_flight){.used = true,
                                .at_ns = net->now_ns + net->config.delay_ns + jitter,
                                .order = net->sent++,
                                .from = from,
                                .to = to};
        memcpy(f->mad, mad, sizeof f->mad);
        return;
    }
    cr_assert_fail("too many datagrams on their way");
}

static void carry(void *ctx, const struct roce_cm_path *path, const uint8_t *bytes, uint64_t now_ns)
{
    struct cm_node *from = ctx;
    struct cm_net *net = from->net;
    struct cm_node *to = node_of(net, &path->av.dgid);
    cr_assert_eq(now_ns, net->now_ns, "a message is sent at another time than now");
    cr_assert_eq(path->remote_qpn, 1);
    cr_assert_lt(net->log_count, CM_NET_LOG);
    struct cm_record *r = &net->log[net->log_count++];
    *r = (struct cm_record){.at_ns = now_ns, .from = from->index};
    cr_assert(roce_cm_mad_get(&r->mad, bytes) || r->mad.hdr.mgmt_class != ROCE_MAD_CLASS_CM);
    r->lost = !to || test_random_chance(&net->random, net->config.loss_ppm) ||
              (net->lose && net->lose(net, from->index, &r->mad));
    if (r->lost)
        return;
    cr_assert(nornic_mac_equal(&path->av.dst_mac, &to->mac), "a MAC address that is not the peer's");
    take_off(net, from->index, to->index, bytes);
    if (test_random_chance(&net->random, net->config.duplicate_ppm))
        take_off(net, from->index, to->index, bytes);
}

static void make_cm(struct cm_node *node)
{
    struct cm_net *net = node->net;
    struct roce_cm_wire wire = {.send = carry, .ctx = node};
    struct roce_cm_config cm = net->config.cm;
    cm.mem = &node->alloc.mem;
    cm.random = test_random_source(&net->random);
    cm.wire = &wire;
    cm.port_mtu_bytes = cm.port_mtu_bytes ? cm.port_mtu_bytes : 1500;
    cm.max_ids = cm.max_ids ? cm.max_ids : 64;
    cr_assert_eq(roce_cm_create(node->dev, &cm, &node->cm), 0);
}

struct roce_cm *cm_net_die(struct cm_net *net, unsigned index)
{
    struct roce_cm *dead = net->node[index].cm;
    make_cm(&net->node[index]);
    return dead;
}

void cm_net_revive(struct cm_net *net, unsigned index, struct roce_cm *dead)
{
    cr_assert_eq(roce_cm_destroy(net->node[index].cm), 0);
    net->node[index].cm = dead;
}

static void node_init(struct cm_net *net, unsigned index)
{
    struct cm_node *node = &net->node[index];
    uint8_t last = (uint8_t)(index + 1);
    node->net = net;
    node->index = index;
    node->mac = (struct nornic_mac){{0x52, 0x54, 0, 0, 0, last}};
    if (net->config.ipv6)
        node->addr = (struct nornic_addr){{0xfd, 0x77, [15] = last}};
    else
        node->addr = nornic_addr_from_v4((const uint8_t[]){10, 77, 0, last});
    test_alloc_init(&node->alloc);
    struct roce_dev_config config = {.mem = &node->alloc.mem,
                                     .random = test_random_source(&net->random),
                                     .max_qp = 128,
                                     .max_mr = 16,
                                     .port_mtu_bytes = 1500};
    struct rdma_cq_config cq = {.capacity = 64};
    struct nornic_gid gid = {.addr = node->addr, .mac = node->mac};
    cr_assert_eq(roce_dev_create(&config, &node->dev), 0);
    cr_assert_eq(roce_dev_gid_add(node->dev, &gid), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(node->dev), &node->pd), 0);
    cr_assert_eq(rdma_cq_create(&node->alloc.mem, &cq, &node->cq), 0);
    node->live_before = node->alloc.live;
    make_cm(node);
}

struct cm_net *cm_net_create(const struct cm_net_config *config)
{
    struct cm_net *net = calloc(1, sizeof *net);
    cr_assert_not_null(net);
    net->config = *config;
    net->config.delay_ns = config->delay_ns ? config->delay_ns : 10000;
    net->random.state = config->seed;
    net->now_ns = NS_PER_S;
    for (unsigned i = 0; i < CM_NET_NODES; i++)
        node_init(net, i);
    return net;
}

void cm_net_destroy(struct cm_net *net)
{
    for (unsigned i = 0; i < CM_NET_NODES; i++) {
        struct cm_node *node = &net->node[i];
        cr_assert_eq(roce_cm_destroy(node->cm), 0, "node %u: the application still holds ids", i);
        for (unsigned q = 0; q < node->num_qps; q++)
            roce_qp_destroy(node->qp[q]);
        cr_assert_eq(rdma_cq_destroy(node->cq), 0);
        cr_assert_eq(rdma_pd_destroy(node->pd), 0);
        cr_assert_eq(roce_dev_destroy(node->dev), 0);
        cr_assert_eq(node->alloc.live, 0, "node %u leaks %u allocations", i, node->alloc.live);
    }
    free(net);
}

bool cm_net_lose_some(struct cm_net *net, unsigned from, const struct roce_cm_mad *mad)
{
    if (net->lose_count == 0 || mad->hdr.attr_id != net->lose_attr || from != net->lose_from)
        return false;
    net->lose_count--;
    return true;
}

struct roce_qp *cm_net_qp(struct cm_net *net, unsigned index)
{
    struct cm_node *node = &net->node[index];
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC,
        .pd = node->pd,
        .send_cq = node->cq,
        .recv_cq = node->cq,
        .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
    };
    cr_assert_lt(node->num_qps, CM_NET_QPS);
    cr_assert_eq(roce_qp_create(node->dev, &config, &node->qp[node->num_qps]), 0);
    return node->qp[node->num_qps++];
}

struct roce_cm_route cm_net_route(const struct cm_net *net, unsigned from, unsigned to, uint16_t port)
{
    (void)from;
    return (struct roce_cm_route){
        .path = {.av = {.dgid = net->node[to].addr, .hop_limit = 64, .dst_mac = net->node[to].mac}},
        .dst_port = port,
    };
}

static void deliver(struct cm_net *net, unsigned from, unsigned to, const uint8_t *mad)
{
    struct roce_cm_path path = {
        .av = {.dgid = net->node[from].addr, .hop_limit = 64, .dst_mac = net->node[from].mac},
        .remote_qpn = 1,
    };
    roce_cm_input(net->node[to].cm, &path, mad, ROCE_MAD_BYTES, net->now_ns);
}

void cm_net_inject(struct cm_net *net, unsigned from, unsigned to, const struct roce_cm_mad *mad)
{
    uint8_t bytes[ROCE_MAD_BYTES];
    roce_cm_mad_put(bytes, mad);
    deliver(net, from, to, bytes);
}

static struct cm_flight *next_flight(const struct cm_net *net)
{
    const struct cm_flight *first = NULL;
    for (unsigned i = 0; i < CM_NET_FLIGHTS; i++) {
        const struct cm_flight *f = &net->flight[i];
        if (f->used &&
            (!first || f->at_ns < first->at_ns || (f->at_ns == first->at_ns && f->order < first->order)))
            first = f;
    }
    return (struct cm_flight *)first;
}

uint64_t cm_net_next_ns(const struct cm_net *net)
{
    const struct cm_flight *f = next_flight(net);
    uint64_t next_ns = f ? f->at_ns : NET_TIME_NONE;
    for (unsigned i = 0; i < CM_NET_NODES; i++) {
        uint64_t deadline_ns = roce_cm_deadline_ns(net->node[i].cm);
        next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
    }
    return next_ns;
}

void cm_net_step(struct cm_net *net)
{
    struct cm_flight *f;
    while ((f = next_flight(net)) && f->at_ns <= net->now_ns) {
        f->used = false;
        deliver(net, f->from, f->to, f->mad);
    }
    for (unsigned i = 0; i < CM_NET_NODES; i++)
        roce_cm_progress(net->node[i].cm, net->now_ns);
}

void cm_net_run(struct cm_net *net, uint64_t until_ns)
{
    for (unsigned steps = 0;; steps++) {
        uint64_t next_ns = cm_net_next_ns(net);
        cr_assert_lt(steps, STEPS_MAX, "there is no end to it");
        if (next_ns == NET_TIME_NONE || next_ns > until_ns)
            break;
        net->now_ns = next_ns > net->now_ns ? next_ns : net->now_ns;
        cm_net_step(net);
    }
    if (until_ns != NET_TIME_NONE)
        net->now_ns = until_ns;
}

void cm_net_run_for(struct cm_net *net, uint64_t ns)
{
    cm_net_run(net, net->now_ns + ns);
}

bool cm_net_event(struct cm_net *net, unsigned node, struct roce_cm_event *event)
{
    if (!roce_cm_get_event(net->node[node].cm, event))
        return false;
    roce_cm_ack_event(event);
    return true;
}

struct roce_cm_event cm_net_expect(struct cm_net *net, unsigned node, enum nornic_cm_event_type type)
{
    struct roce_cm_event event;
    cr_assert(cm_net_event(net, node, &event), "node %u: no event, where %s was expected", node,
              nornic_cm_event_name(type));
    cr_assert_eq(event.type, type, "node %u: %s (status %d), where %s was expected", node,
                 nornic_cm_event_name(event.type), event.status, nornic_cm_event_name(type));
    return event;
}

void cm_net_expect_quiet(struct cm_net *net)
{
    struct roce_cm_event event;
    for (unsigned i = 0; i < CM_NET_NODES; i++)
        cr_expect(!cm_net_event(net, i, &event), "node %u: %s, where nothing was expected", i,
                  nornic_cm_event_name(event.type));
}

const struct roce_cm_mad *cm_net_last(const struct cm_net *net, unsigned from, enum roce_cm_attr attr)
{
    for (unsigned i = net->log_count; i-- > 0;)
        if (net->log[i].from == from && net->log[i].mad.hdr.attr_id == attr)
            return &net->log[i].mad;
    cr_assert_fail("node %u has not sent any %s", from, roce_cm_attr_name(attr));
    return NULL;
}

unsigned cm_net_count(const struct cm_net *net, unsigned from, enum roce_cm_attr attr)
{
    unsigned count = 0;
    for (unsigned i = 0; i < net->log_count; i++)
        count += net->log[i].from == from && net->log[i].mad.hdr.attr_id == attr;
    return count;
}

struct roce_cm_id *cm_net_id(struct cm_net *net, unsigned node, enum nornic_port_space space)
{
    struct roce_cm_id *id;
    cr_assert_eq(roce_cm_id_create(net->node[node].cm, space, NULL, &id), 0);
    return id;
}

struct roce_cm_id *cm_net_listen(struct cm_net *net, unsigned node, uint16_t port, unsigned backlog)
{
    struct roce_cm_id *id = cm_net_id(net, node, NORNIC_PS_TCP);
    cr_assert_eq(roce_cm_listen(id, NULL, port, backlog), 0);
    return id;
}

struct cm_pair cm_net_connect(struct cm_net *net)
{
    struct cm_pair pair = {.active_qp = cm_net_qp(net, 0), .passive_qp = cm_net_qp(net, 1)};
    struct nornic_conn_param param = {
        .responder_resources = 4, .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
    pair.listener = cm_net_listen(net, 1, 7471, 8);
    pair.active = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_assert_eq(roce_cm_connect(pair.active, &route, pair.active_qp, &param, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    pair.passive = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    cr_assert_eq(roce_cm_accept(pair.passive, pair.passive_qp, &param, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    return pair;
}

void cm_net_drop(struct cm_net *net, struct roce_cm_id *id)
{
    cr_assert_eq(roce_cm_id_destroy(id, net->now_ns), 0);
}

void cm_net_end(struct cm_net *net, struct roce_cm_id *active, struct roce_cm_id *passive,
                struct roce_cm_id *listener)
{
    cm_net_drop(net, active);
    cm_net_drop(net, passive);
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}
