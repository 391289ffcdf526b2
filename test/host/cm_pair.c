/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/host/cm_pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <time.h>

#include "net/memory.h"
#include "rdma/cq.h"

static struct nornic_mac mac_of(int side)
{
    return (struct nornic_mac){{2, 0, 0, 0, 0, (uint8_t)(side + 1)}};
}

static void add_gids(struct cm_side *s, int side)
{
    const char *texts[] = {NETNS_VETH_V4(side), NETNS_VETH_V6(side)};
    for (int i = 0; i < 2; i++) {
        struct nornic_gid gid = {.mac = mac_of(side)};
        cr_assert_eq(nornic_addr_parse(texts[i], &gid.addr), 0);
        cr_assert_geq(roce_dev_gid_add(host_dev_engine(s->dev), &gid), 0);
    }
}

static void open_devices(struct cm_pair *pair, const char *kind)
{
    struct net_port *ends[2];
    struct nornic_error why = {""};
    if (pair->on_veth) {
        netns_veth_open(&pair->veth, 1500);
    } else {
        cr_assert_eq(net_memory_pair(1500, 256, ends), 0);
    }
    for (int i = 0; i < 2; i++) {
        struct cm_side *s = &pair->side[i];
        char name[32];
        struct host_dev_config config = {.port = name};
        snprintf(name, sizeof name, "%s:nn%d", pair->on_veth ? kind : "memory", i);
        if (pair->on_veth) {
            netns_enter(&pair->veth, i);
            cr_assert_eq(host_dev_open(&config, &s->dev, &why), 0, "%s", why.text);
            netns_enter(&pair->veth, -1);
        } else {
            cr_assert_eq(host_dev_create_on(ends[i], &config, &s->dev, &why), 0, "%s", why.text);
            host_dev_lock(s->dev);
            add_gids(s, i);
            host_dev_unlock(s->dev);
        }
    }
}

static void open_pair(struct cm_pair *pair, const char *kind, const struct host_cm_config *config)
{
    *pair = (struct cm_pair){.on_veth = kind != NULL};
    open_devices(pair, kind);
    for (int i = 0; i < 2; i++) {
        struct cm_side *s = &pair->side[i];
        struct nornic_error why = {""};
        struct host_cm_config with = config ? *config : (struct host_cm_config){.gid_type = NORNIC_GID_V2};
        with.peer_mac = mac_of(1 - i);
        cr_assert_eq(host_cm_open(s->dev, &with, &s->cm, &why), 0, "%s", why.text);
        cr_assert_eq(nornic_addr_parse(NETNS_VETH_V4(i), &s->addr), 0);
        struct rdma_cq_config cq = {.capacity = 64};
        cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &s->cq), 0);
        host_dev_lock(s->dev);
        int rc = rdma_pd_create(roce_dev_domain(host_dev_engine(s->dev)), &s->pd);
        if (rc == 0)
            rc = rdma_mr_reg(s->pd, s->memory, CM_BYTES, NORNIC_ACCESS_LOCAL_WRITE, &s->mr);
        host_dev_unlock(s->dev);
        cr_assert_eq(rc, 0);
    }
}

void cm_pair_open(struct cm_pair *pair, bool on_veth, const struct host_cm_config *config)
{
    open_pair(pair, on_veth ? "packet" : NULL, config);
}

void cm_pair_open_over(struct cm_pair *pair, const char *kind, const struct host_cm_config *config)
{
    open_pair(pair, kind, config);
}

void cm_pair_close(struct cm_pair *pair)
{
    for (int i = 0; i < 2; i++) {
        struct cm_side *s = &pair->side[i];
        if (!s->dev)
            continue;
        cr_assert(!s->cm || host_cm_close(s->cm) == 0, "ids are left");
        host_dev_lock(s->dev);
        rdma_mr_dereg(s->mr);
        int rc = rdma_pd_destroy(s->pd);
        host_dev_unlock(s->dev);
        cr_assert_eq(rc, 0);
        cr_assert_eq(rdma_cq_destroy(s->cq), 0);
        cr_assert_eq(host_dev_close(s->dev, NULL), 0, "objects are left");
    }
    if (pair->on_veth && pair->side[0].dev)
        netns_veth_destroy(&pair->veth);
}

struct roce_qp *cm_pair_qp(struct cm_side *side, enum nornic_qp_type type)
{
    struct roce_qp *qp = NULL;
    struct roce_qp_config config = {
        .type = type,
        .pd = side->pd,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true};
    host_dev_lock(side->dev);
    int rc = roce_qp_create(host_dev_engine(side->dev), &config, &qp);
    host_dev_unlock(side->dev);
    cr_assert_eq(rc, 0);
    return qp;
}

void cm_pair_drop_qp(struct cm_side *side, struct roce_qp *qp)
{
    host_dev_lock(side->dev);
    roce_qp_destroy(qp);
    host_dev_unlock(side->dev);
}

struct host_cm_event *cm_pair_expect(struct cm_side *side, enum nornic_cm_event_type type)
{
    struct host_cm_event *event;
    cr_assert_eq(host_cm_get_event(side->cm, &event, 10 * NS_PER_S), 0, "no %s", nornic_cm_event_name(type));
    cr_assert_eq(event->type, type, "%s (%d, %s) instead of %s", nornic_cm_event_name(event->type),
                 event->status, event->error.text, nornic_cm_event_name(type));
    return event;
}

int cm_pair_skip(struct cm_side *side, enum nornic_cm_event_type type)
{
    struct host_cm_event *event = cm_pair_expect(side, type);
    int status = event->status;
    host_cm_ack_event(event);
    return status;
}

struct host_cm_id *cm_pair_route(struct cm_pair *pair, enum nornic_port_space space,
                                 const struct nornic_addr *dst)
{
    struct host_cm_id *id;
    struct nornic_error why = {""};
    struct cm_side *s = &pair->side[0];
    cr_assert_eq(host_cm_create_id(s->cm, space, NULL, &id), 0);
    if (pair->on_veth)
        netns_enter(&pair->veth, 0);
    cr_assert_eq(host_cm_resolve_addr(id, NULL, dst, CM_PAIR_PORT, 5 * NS_PER_S, &why), 0, "%s", why.text);
    if (pair->on_veth)
        netns_enter(&pair->veth, -1);
    cr_assert_eq(cm_pair_skip(s, NORNIC_CM_EVENT_ADDR_RESOLVED), 0);
    cr_assert_eq(host_cm_resolve_route(id), 0);
    cr_assert_eq(cm_pair_skip(s, NORNIC_CM_EVENT_ROUTE_RESOLVED), 0);
    return id;
}

struct host_cm_id *cm_pair_listen(struct cm_pair *pair, enum nornic_port_space space)
{
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(pair->side[1].cm, space, pair, &id), 0);
    if (pair->on_veth)
        netns_enter(&pair->veth, 1);
    cr_assert_eq(host_cm_listen(id, NULL, CM_PAIR_PORT, 8), 0);
    if (pair->on_veth)
        netns_enter(&pair->veth, -1);
    return id;
}

struct cm_connection cm_pair_connect(struct cm_pair *pair)
{
    struct nornic_conn_param param = {
        .responder_resources = 4, .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};
    struct cm_connection c = {.active = cm_pair_route(pair, NORNIC_PS_TCP, &pair->side[1].addr)};
    for (int i = 0; i < 2; i++)
        c.qps[i] = cm_pair_qp(&pair->side[i], NORNIC_QPT_RC);
    cr_assert_eq(host_cm_connect(c.active, c.qps[0], &param), 0);
    struct host_cm_event *event = cm_pair_expect(&pair->side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    c.passive = event->id;
    cr_assert_eq(host_cm_accept(c.passive, c.qps[1], &param), 0);
    host_cm_ack_event(event);
    cm_pair_skip(&pair->side[0], NORNIC_CM_EVENT_ESTABLISHED);
    cm_pair_skip(&pair->side[1], NORNIC_CM_EVENT_ESTABLISHED);
    return c;
}

struct nornic_wc cm_pair_await(struct rdma_cq *cq)
{
    struct nornic_wc wc;
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (rdma_cq_poll(cq, &wc, 1) == 0)
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL), host_now_ns()), end_ns,
                     "no completion");
    return wc;
}
