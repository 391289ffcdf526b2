/* SPDX-License-Identifier: BSD-2-Clause */
/* Random calls of librdmacm. Threads of all processes listen at and connect to a few ports. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "test/verbs/random/random.h"

#define IDS        12
#define PORT       7100
#define PORTS      6
#define TIMEOUT_MS 500
#define PAUSE_US   2000 /* at the most, so that peers come to their turn */

struct own {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *ids[IDS];
    uint8_t memory[4096];
};

static struct sockaddr_in any_address(struct random_player *p)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(PORT + random_below(p, PORTS)), .sin_addr = p->addr};
}

/* A connection parameter with lengths and depths that are mostly legal. */
static struct rdma_conn_param any_param(struct random_player *p, struct own *own)
{
    bool is_odd = random_one_in(p, 5);
    struct rdma_conn_param param = {.private_data_len = (uint8_t)random_below(p, is_odd ? 256 : 56),
                                    .responder_resources = (uint8_t)random_below(p, is_odd ? 256 : 8),
                                    .initiator_depth = (uint8_t)random_below(p, is_odd ? 256 : 8),
                                    .retry_count = (uint8_t)random_below(p, 10),
                                    .rnr_retry_count = (uint8_t)random_below(p, 10),
                                    .flow_control = (uint8_t)random_below(p, 2)};
    param.private_data = random_one_in(p, 8) ? NULL : own->memory;
    return param;
}

static void make_qp(struct random_player *p, struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr init = {.cap = {16, 16, 1, 1, random_one_in(p, 3) ? random_below(p, 200) : 0},
                                    .qp_type = id->ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC,
                                    .sq_sig_all = (int)random_below(p, 2)};
    if (id->verbs && !id->qp)
        random_count_call(p, rdma_create_qp(id, NULL, &init));
}

static void destroy(struct random_player *p, struct own *own, unsigned i)
{
    if (own->ids[i]->qp && !random_one_in(p, 4))
        rdma_destroy_qp(own->ids[i]);
    random_count_call(p, rdma_destroy_id(own->ids[i]));
    own->ids[i] = NULL;
}

/* --- events --- */

/* Answers a request, or lets it lie. The id takes the place of another one. */
static void answer(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct rdma_conn_param param = any_param(p, own);
    unsigned i = random_below(p, IDS), how = random_below(p, 6);
    if (own->ids[i])
        destroy(p, own, i);
    own->ids[i] = id;
    if (!random_one_in(p, 4))
        make_qp(p, id);
    if (how == 0)
        random_count_call(
            p, rdma_reject(id, random_one_in(p, 2) ? own->memory : NULL, (uint8_t)random_below(p, 200)));
    else if (how > 1)
        random_count_call(p, rdma_accept(id, random_one_in(p, 10) ? NULL : &param));
}

static bool is_own(const struct own *own, const struct rdma_cm_id *id)
{
    for (unsigned i = 0; i < IDS; i++)
        if (own->ids[i] == id)
            return true;
    return false;
}

static void take_event(struct random_player *p, struct own *own)
{
    struct rdma_cm_event *event;
    if (rdma_get_cm_event(own->channel, &event) != 0)
        return;
    struct rdma_cm_id *id = event->id;
    enum rdma_cm_event_type type = event->event;
    struct rdma_conn_param param = any_param(p, own);
    atomic_fetch_add(&p->shared->events, 1);
    rdma_ack_cm_event(event);
    if (type == RDMA_CM_EVENT_CONNECT_REQUEST) {
        answer(p, own, id);
    } else if (type == RDMA_CM_EVENT_ADDR_RESOLVED && is_own(own, id) && !random_one_in(p, 10)) {
        random_count_call(p, rdma_resolve_route(id, TIMEOUT_MS));
    } else if (type == RDMA_CM_EVENT_ROUTE_RESOLVED && is_own(own, id) && !random_one_in(p, 10)) {
        make_qp(p, id);
        random_count_call(p, rdma_connect(id, random_one_in(p, 10) ? NULL : &param));
    }
}

/* --- calls on an id --- */

static void listen_to(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct sockaddr_in at = any_address(p);
    (void)own;
    if (random_one_in(p, 3))
        at.sin_port = 0;
    random_count_call(p, rdma_bind_addr(id, (struct sockaddr *)&at));
    random_count_call(p, rdma_listen(id, random_count(p, 10)));
}

static void resolve(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct sockaddr_in to = any_address(p), from = {.sin_family = AF_INET, .sin_addr = p->addr};
    (void)own;
    random_count_call(p, rdma_resolve_addr(id, random_one_in(p, 4) ? (struct sockaddr *)&from : NULL,
                                           (struct sockaddr *)&to, TIMEOUT_MS));
}

static void connect_or_accept(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct rdma_conn_param param = any_param(p, own);
    random_count_call(p, random_one_in(p, 2) ? rdma_connect(id, &param) : rdma_accept(id, &param));
}

static void disconnect(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    (void)own;
    random_count_call(p, rdma_disconnect(id));
}

static void send_and_poll(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct ibv_send_wr wr = {.opcode = random_one_in(p, 2) ? IBV_WR_SEND : random_below(p, 12),
                             .send_flags = random_below(p, 16)},
                       *bad;
    struct ibv_wc wcs[8];
    (void)own;
    if (!id->qp || id->ps == RDMA_PS_UDP)
        return;
    if (wr.opcode != IBV_WR_BIND_MW) /* it names a window, and none is here */
        random_count_call(p, ibv_post_send(id->qp, &wr, &bad));
    int sent = ibv_poll_cq(id->send_cq, 8, wcs), received = ibv_poll_cq(id->recv_cq, 8, wcs);
    random_count_call(p, sent < 0 || received < 0);
    atomic_fetch_add(&p->shared->completions,
                     (uint64_t)(sent > 0 ? sent : 0) + (received > 0 ? received : 0));
}

static void set_option(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    uint64_t value = random_below(p, 4);
    (void)own;
    random_count_call(p, rdma_set_option(id, (int)random_below(p, 2), (int)random_below(p, 6), &value,
                                         random_one_in(p, 2) ? 4 : random_below(p, 9)));
}

static void use_group(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct sockaddr_in group = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(0xef010203)};
    if (id->ps != RDMA_PS_UDP || !id->qp)
        return;
    random_count_call(p, random_one_in(p, 2) ? rdma_join_multicast(id, (struct sockaddr *)&group, own)
                                             : rdma_leave_multicast(id, (struct sockaddr *)&group));
}

static void change_state(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    struct ibv_qp_attr attr = {.qp_state = random_below(p, 8)};
    (void)own;
    if (id->qp && id->qp->qp_type == IBV_QPT_RC)
        random_count_call(p, ibv_modify_qp(id->qp, &attr, IBV_QP_STATE));
    else
        random_count_call(p, rdma_notify(id, random_below(p, 20)));
}

static void look_at(struct random_player *p, struct own *own, struct rdma_cm_id *id)
{
    (void)own;
    (void)rdma_get_src_port(id);
    (void)rdma_get_dst_port(id);
    if (!random_one_in(p, 4))
        return;
    random_count_call(p, rdma_migrate_id(id, own->channel));
}

/* --- the kind --- */

static void begin(struct random_player *p)
{
    struct own *own = calloc(1, sizeof *own);
    if (own)
        own->channel = rdma_create_event_channel();
    if (own && own->channel)
        (void)fcntl(own->channel->fd, F_SETFL, O_NONBLOCK);
    p->own = own && own->channel ? own : NULL;
}

static void step(struct random_player *p)
{
    static void (*const calls[])(struct random_player *, struct own *, struct rdma_cm_id *) = {
        listen_to,  listen_to,         listen_to,    resolve,    resolve,       resolve,
        resolve,    connect_or_accept, disconnect,   disconnect, send_and_poll, send_and_poll,
        set_option, use_group,         change_state, look_at};
    struct own *own = p->own;
    const int spaces[] = {RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_TCP, RDMA_PS_UDP};
    unsigned i = random_below(p, IDS);
    if (!own)
        return;
    struct pollfd wait = {own->channel->fd, POLLIN, 0};
    while (!random_one_in(p, 3) && poll(&wait, 1, 0) > 0)
        take_event(p, own);
    if (!own->ids[i])
        random_count_call(p, rdma_create_id(own->channel, &own->ids[i], p,
                                            random_one_in(p, 12) ? (int)random_below(p, 0x200)
                                                                 : spaces[random_below(p, 4)]));
    else if (random_one_in(p, 24))
        destroy(p, own, i);
    else
        calls[random_below(p, sizeof calls / sizeof *calls)](p, own, own->ids[i]);
    if (random_one_in(p, 40))
        usleep(random_below(p, PAUSE_US));
}

/* Half of the threads destroy the rest. The end of the process does for the others. */
static void end(struct random_player *p)
{
    struct own *own = p->own;
    if (!own || !random_one_in(p, 2))
        return;
    for (unsigned i = 0; i < IDS; i++)
        if (own->ids[i])
            destroy(p, own, i);
    rdma_destroy_event_channel(own->channel);
    free(own);
    p->own = NULL;
}

const struct random_kind random_cm = {"cm", begin, step, end};
