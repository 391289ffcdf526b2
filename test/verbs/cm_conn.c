/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/verbs/cm_conn.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <poll.h>
#include <stdlib.h>

#include "base/base.h"
#include "test/support/netns.h"
#include "test/verbs/pair.h"

static void begin(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:" CM_HOST, 1);
}

TestSuite(cm, .init = begin, .timeout = 60);

struct sockaddr_in cm_addr(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, CM_HOST, &addr.sin_addr);
    return addr;
}

struct ibv_qp_init_attr cm_init_attr(void)
{
    return (struct ibv_qp_init_attr){.cap = {.max_send_wr = 4,
                                             .max_recv_wr = 4,
                                             .max_send_sge = 1,
                                             .max_recv_sge = 1,
                                             .max_inline_data = 16},
                                     .sq_sig_all = 1};
}

struct rdma_cm_event *cm_expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1, "no %s comes", rdma_event_str(type));
    cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
    cr_assert_eq(event->event, type, "%s, status %d instead of %s", rdma_event_str(event->event),
                 event->status, rdma_event_str(type));
    return event;
}

void cm_skip(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    cr_assert_eq(rdma_ack_cm_event(cm_expect(channel, type)), 0);
}

void cm_wait_readable(const struct rdma_event_channel *channel)
{
    struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1);
}

struct rdma_cm_id *cm_listen(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port)
{
    struct sockaddr_in addr = cm_addr(port);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, space), 0);
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    cr_assert_eq(rdma_listen(id, 4), 0);
    cr_assert_eq(ntohs(rdma_get_src_port(id)), port);
    return id;
}

struct rdma_cm_id *cm_resolve(struct rdma_event_channel *channel, enum rdma_port_space space, uint16_t port)
{
    struct sockaddr_in addr = cm_addr(port);
    struct ibv_qp_init_attr init = cm_init_attr();
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, space), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cm_skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0);
    cm_skip(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    init.qp_type = id->qp_type;
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
    return id;
}

void cm_make_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr init = cm_init_attr();
    init.qp_type = IBV_QPT_RC;
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
}

struct rdma_cm_event *cm_ask(struct cm_conn *c, uint16_t port, struct rdma_conn_param *param)
{
    c->channel = rdma_create_event_channel();
    c->listen = cm_listen(c->channel, RDMA_PS_TCP, port);
    c->active = cm_resolve(c->channel, RDMA_PS_TCP, port);
    cr_assert_eq(rdma_connect(c->active, param), 0);
    struct rdma_cm_event *request = cm_expect(c->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c->passive = request->id;
    cr_assert_eq(request->listen_id, c->listen);
    return request;
}

void cm_accept(struct cm_conn *c)
{
    cm_make_qp(c->passive);
    cr_assert_eq(rdma_accept(c->passive, NULL), 0);
    cm_skip(c->channel, RDMA_CM_EVENT_ESTABLISHED);
    cm_skip(c->channel, RDMA_CM_EVENT_ESTABLISHED);
}

void cm_end(struct cm_conn *c)
{
    struct rdma_cm_id *const ids[] = {c->active, c->passive, c->listen};
    for (unsigned i = 0; i < array_len(ids); i++) {
        if (ids[i] && ids[i]->qp)
            rdma_destroy_qp(ids[i]);
        if (ids[i])
            cr_assert_eq(rdma_destroy_id(ids[i]), 0);
    }
    rdma_destroy_event_channel(c->channel);
}
