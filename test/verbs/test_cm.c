/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm, call by call: both ends in this process, on a loopback of its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "host/host.h"
#include "test/support/netns.h"
#include "test/verbs/pair.h"
#include "verbs/cm/cma.h"

#define HOST "127.0.0.1"

static void begin(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:" HOST, 1);
}

TestSuite(cm, .init = begin, .timeout = 60);

static struct sockaddr_in addr_of(uint16_t port)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    inet_pton(AF_INET, HOST, &addr.sin_addr);
    return addr;
}

static struct ibv_qp_init_attr small(void)
{
    return (struct ibv_qp_init_attr){.cap = {.max_send_wr = 4,
                                             .max_recv_wr = 4,
                                             .max_send_sge = 1,
                                             .max_recv_sge = 1,
                                             .max_inline_data = 16},
                                     .sq_sig_all = 1};
}

/* The next event, which is this one; the caller acknowledges it. */
static struct rdma_cm_event *expect(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
    struct rdma_cm_event *event;
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1, "no %s comes", rdma_event_str(type));
    cr_assert_eq(rdma_get_cm_event(channel, &event), 0);
    cr_assert_eq(event->event, type, "%s, status %d instead of %s", rdma_event_str(event->event),
                 event->status, rdma_event_str(type));
    return event;
}

static void skip(struct rdma_event_channel *channel, enum rdma_cm_event_type type)
{
    cr_assert_eq(rdma_ack_cm_event(expect(channel, type)), 0);
}

static struct rdma_cm_id *listen_at(struct rdma_event_channel *channel, enum rdma_port_space space,
                                    uint16_t port)
{
    struct sockaddr_in addr = addr_of(port);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, space), 0);
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    cr_assert_eq(rdma_listen(id, 4), 0);
    cr_assert_eq(ntohs(rdma_get_src_port(id)), port);
    return id;
}

/* An id that is resolved, with a queue pair. */
static struct rdma_cm_id *resolve(struct rdma_event_channel *channel, enum rdma_port_space space,
                                  uint16_t port)
{
    struct sockaddr_in addr = addr_of(port);
    struct ibv_qp_init_attr init = small();
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, space), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0);
    skip(channel, RDMA_CM_EVENT_ROUTE_RESOLVED);
    init.qp_type = id->qp_type;
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
    return id;
}

/* --- synchronous ids, and endpoints --- */

#define EP_PORT "7471"

/* Who answers: takes one message, sends it back, and waits for the end. */
static void *echo(void *arg)
{
    struct rdma_cm_id *listen = arg, *id;
    struct ibv_wc wc;
    static char text[64];
    cr_assert_eq(rdma_get_request(listen, &id), 0);
    cr_assert_not_null(id->qp, "of the endpoint's attributes");
    struct ibv_mr *mr = rdma_reg_msgs(id, text, sizeof text);
    cr_assert_eq(rdma_post_recv(id, NULL, text, sizeof text, mr), 0);
    cr_assert_eq(rdma_accept(id, NULL), 0);
    cr_assert_eq(id->event->event, RDMA_CM_EVENT_ESTABLISHED, "it was waited for");
    cr_assert_eq(rdma_get_recv_comp(id, &wc), 1);
    cr_assert_eq(rdma_post_send(id, NULL, text, sizeof text, mr, 0), 0);
    cr_assert_eq(rdma_get_send_comp(id, &wc), 1);
    rdma_disconnect(id);
    rdma_dereg_mr(mr);
    rdma_destroy_ep(id);
    return NULL;
}

static struct rdma_addrinfo *look_up(int flags)
{
    struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_TCP}, *found;
    cr_assert_eq(rdma_getaddrinfo(HOST, EP_PORT, &hints, &found), 0);
    cr_assert_eq(found->ai_qp_type, IBV_QPT_RC);
    return found;
}

Test(cm, endpoints)
{
    struct rdma_addrinfo *passive = look_up(RAI_PASSIVE), *active = look_up(0);
    struct ibv_qp_init_attr init = small();
    struct rdma_cm_id *listen, *id;
    struct ibv_wc wc;
    char sent[64] = "by an endpoint", received[64] = "";
    pthread_t thread;
    cr_assert_eq(rdma_create_ep(&listen, passive, NULL, &init), 0);
    cr_assert_eq(rdma_listen(listen, 1), 0);
    cr_assert_eq(pthread_create(&thread, NULL, echo, listen), 0);
    init = small();
    cr_assert_eq(rdma_create_ep(&id, active, NULL, &init), 0);
    struct ibv_mr *mr = rdma_reg_msgs(id, received, sizeof received);
    struct ibv_mr *from = rdma_reg_msgs(id, sent, sizeof sent);
    cr_assert_eq(rdma_post_recv(id, NULL, received, sizeof received, mr), 0);
    cr_assert_eq(rdma_connect(id, NULL), 0);
    cr_assert_eq(rdma_post_send(id, NULL, sent, sizeof sent, from, 0), 0);
    cr_assert_eq(rdma_get_send_comp(id, &wc), 1);
    cr_assert_eq(rdma_get_recv_comp(id, &wc), 1);
    cr_assert_str_eq(received, "by an endpoint");
    rdma_disconnect(id);
    pthread_join(thread, NULL);
    rdma_dereg_mr(mr);
    rdma_dereg_mr(from);
    rdma_destroy_ep(id);
    rdma_destroy_ep(listen);
    rdma_freeaddrinfo(passive);
    rdma_freeaddrinfo(active);
}

/* libfabric makes of an id that is bound one that connects, and names the address again, without the port. */
Test(cm, who_is_bound_stays_there)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in bound = addr_of(7490), source = addr_of(0), peer = addr_of(7491);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&bound), 0);
    cr_assert_eq(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&peer, 1000), 0);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), 7490);
    skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), 7490);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

Test(cm, a_synchronous_call_fails_with_its_event)
{
    struct sockaddr_in addr = addr_of(7472);
    struct ibv_qp_init_attr init = small();
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0);
    init.qp_type = IBV_QPT_RC;
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
    cr_assert_eq(rdma_connect(id, NULL), -1, "nobody listens");
    cr_assert_eq(errno, ECONNREFUSED);
    cr_assert_eq(id->event->event, RDMA_CM_EVENT_REJECTED);
    cr_assert_eq(id->event->status, 8, "invalid service id");
    rdma_destroy_ep(id);
}

/* --- asynchronous ids --- */

struct conn {
    struct rdma_event_channel *channel;
    struct rdma_cm_id *listen, *active, *passive;
};

/* Up to the request, whose event is the caller's. */
static struct rdma_cm_event *ask(struct conn *c, uint16_t port, struct rdma_conn_param *param)
{
    c->channel = rdma_create_event_channel();
    c->listen = listen_at(c->channel, RDMA_PS_TCP, port);
    c->active = resolve(c->channel, RDMA_PS_TCP, port);
    cr_assert_eq(rdma_connect(c->active, param), 0);
    struct rdma_cm_event *request = expect(c->channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c->passive = request->id;
    cr_assert_eq(request->listen_id, c->listen);
    return request;
}

static void make_qp(struct rdma_cm_id *id)
{
    struct ibv_qp_init_attr init = small();
    init.qp_type = IBV_QPT_RC;
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
}

static void accept_it(struct conn *c)
{
    make_qp(c->passive);
    cr_assert_eq(rdma_accept(c->passive, NULL), 0);
    skip(c->channel, RDMA_CM_EVENT_ESTABLISHED);
    skip(c->channel, RDMA_CM_EVENT_ESTABLISHED);
}

static void end(struct conn *c)
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

Test(cm, private_data_goes_both_ways_and_with_a_refusal)
{
    struct conn c = {0};
    struct rdma_conn_param param = {.private_data = "question", .private_data_len = 8, .retry_count = 7};
    struct rdma_cm_event *event = ask(&c, 7473, &param);
    cr_assert_geq(event->param.conn.private_data_len, 8);
    cr_assert_arr_eq((const char *)event->param.conn.private_data, "question", 8);
    rdma_ack_cm_event(event);
    cr_assert_eq(rdma_reject(c.passive, "no", 2), 0);
    event = expect(c.channel, RDMA_CM_EVENT_REJECTED);
    cr_assert_eq(event->status, 28, "by its program");
    cr_assert_arr_eq((const char *)event->param.conn.private_data, "no", 2);
    rdma_ack_cm_event(event);
    end(&c);
}

Test(cm, events_move_with_their_id)
{
    struct conn c = {0};
    struct rdma_event_channel *other = rdma_create_event_channel();
    rdma_ack_cm_event(ask(&c, 7474, NULL));
    accept_it(&c);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    struct pollfd readable = {.fd = c.channel->fd, .events = POLLIN};
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1);
    cr_assert_eq(rdma_migrate_id(c.passive, other), 0);
    cr_assert_eq(c.passive->channel, other);
    skip(other, RDMA_CM_EVENT_DISCONNECTED);
    cr_assert_eq(rdma_disconnect(c.passive), 0); /* the answer */
    skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    cr_assert_eq(rdma_migrate_id(c.passive, c.channel), 0);
    rdma_destroy_event_channel(other);
    end(&c);
}

/* One becomes synchronous: its events are its own, and its calls wait for them. */
Test(cm, an_id_becomes_synchronous)
{
    struct conn c = {0};
    rdma_ack_cm_event(ask(&c, 7475, NULL));
    accept_it(&c);
    cr_assert_eq(rdma_migrate_id(c.active, NULL), 0);
    cr_assert_eq(rdma_migrate_id(c.active, NULL), -1, "it is so already");
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_disconnect(c.passive), 0);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    cr_assert_eq(c.active->event->event, RDMA_CM_EVENT_DISCONNECTED);
    skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    end(&c);
}

Test(cm, what_waits_goes_with_its_id)
{
    struct conn c = {0};
    rdma_ack_cm_event(ask(&c, 7476, NULL));
    accept_it(&c);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    end(&c); /* DISCONNECTED of both, TIMEWAIT_EXIT */
}

static void wait_readable(const struct rdma_event_channel *channel)
{
    struct pollfd readable = {.fd = channel->fd, .events = POLLIN};
    cr_assert_eq(poll(&readable, 1, PAIR_WAIT_MS), 1);
}

/* As rping does, by a call of which the id hears nothing. */
Test(cm, an_end_comes_when_the_queue_pair_is_gone)
{
    struct conn c = {0};
    struct ibv_qp_init_attr init = small();
    rdma_ack_cm_event(ask(&c, 7481, NULL));
    init.qp_type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = ibv_create_cq(c.passive->verbs, 16, NULL, NULL, 0);
    cr_assert_eq(rdma_create_qp(c.passive, NULL, &init), 0);
    cr_assert_eq(rdma_accept(c.passive, NULL), 0);
    skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cr_assert_eq(rdma_disconnect(c.active), 0);
    wait_readable(c.channel);
    mallopt(M_PERTURB, 0x5a); /* nobody reads what is free and finds it whole */
    cr_assert_eq(ibv_destroy_qp(c.passive->qp), 0);
    skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    c.passive->qp = NULL;
    ibv_destroy_cq(init.send_cq);
    end(&c);
}

/* As rping does, whose event thread may come back when main() has destroyed the channel. */
Test(cm, a_channel_goes_before_those_who_use_it)
{
    struct sockaddr_in addr = addr_of(7482);
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_event *event;
    struct rdma_cm_id *id;
    mallopt(M_PERTURB, 0x5a);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    wait_readable(channel);
    rdma_destroy_event_channel(channel);
    cr_assert_eq(rdma_get_cm_event(channel, &event), -1);
    cr_assert_eq(errno, EBADF);
    cr_assert_eq(rdma_resolve_route(id, 1000), 0, "its event has a place");
    cr_assert_eq(rdma_destroy_id(id), 0);
    cr_assert_eq(rdma_get_cm_event(channel, &event), -1, "its memory is gone as well");
    cr_assert_eq(errno, EBADF);
    rdma_destroy_event_channel(channel); /* it is told, and nothing happens */
}

/* UCX and rping -q: a queue pair of the program's own. */
static void move(struct rdma_cm_id *id, struct ibv_qp *qp, enum ibv_qp_state to)
{
    struct ibv_qp_attr attr = {.qp_state = to};
    int mask;
    cr_assert_eq(rdma_init_qp_attr(id, &attr, &mask), 0);
    cr_assert_eq(ibv_modify_qp(qp, &attr, mask), 0);
}

Test(cm, queue_pairs_that_the_program_moves)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    struct ibv_qp_init_attr init = small();
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    struct ibv_qp *qp[2];
    int mask;
    c.listen = listen_at(c.channel, RDMA_PS_TCP, 7477);
    c.active = resolve(c.channel, RDMA_PS_TCP, 7477);
    rdma_destroy_qp(c.active);
    init.qp_type = IBV_QPT_RC;
    init.send_cq = init.recv_cq = ibv_create_cq(c.active->verbs, 16, NULL, NULL, 0);
    for (int i = 0; i < 2; i++)
        cr_assert_not_null(qp[i] = ibv_create_qp(c.active->pd, &init));
    struct rdma_conn_param param = {.qp_num = qp[0]->qp_num, .retry_count = 7, .rnr_retry_count = 7};
    cr_assert_eq(rdma_init_qp_attr(c.active, &attr, &mask), -1, "the peer is not known");
    cr_assert_eq(rdma_establish(c.active), -1, "there is no answer");
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_connect(c.active, &param), 0);
    move(c.active, qp[0], IBV_QPS_INIT);
    struct rdma_cm_event *request = expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    cr_assert_eq(request->param.conn.qp_num, qp[0]->qp_num);
    rdma_ack_cm_event(request);
    move(c.passive, qp[1], IBV_QPS_INIT);
    move(c.passive, qp[1], IBV_QPS_RTR);
    move(c.passive, qp[1], IBV_QPS_RTS);
    param.qp_num = qp[1]->qp_num;
    cr_assert_eq(rdma_accept(c.passive, &param), 0);
    struct rdma_cm_event *response = expect(c.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
    cr_assert_eq(response->param.conn.qp_num, qp[1]->qp_num);
    rdma_ack_cm_event(response);
    move(c.active, qp[0], IBV_QPS_RTR);
    move(c.active, qp[0], IBV_QPS_RTS);
    cr_assert_eq(rdma_establish(c.active), 0);
    skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ibv_destroy_qp(qp[i]), 0);
    ibv_destroy_cq(init.send_cq);
    end(&c);
}

/* --- options --- */

Test(cm, type_of_service_and_ack_timeout)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    uint8_t tos = 0x68, timeout = 12, too_long = 32;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    c.listen = listen_at(c.channel, RDMA_PS_TCP, 7478);
    c.active = resolve(c.channel, RDMA_PS_TCP, 7478);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos), 0);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &too_long, 1), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2), -1);
    cr_assert_eq(errno, EINVAL, "it is one byte");
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, 77, &tos, 1), -1);
    cr_assert_eq(errno, ENOSYS);
    cr_assert_eq(rdma_connect(c.active, NULL), 0);
    struct rdma_cm_event *request = expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    rdma_ack_cm_event(request);
    accept_it(&c);
    cr_assert_eq(ibv_query_qp(c.active->qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
    cr_assert_eq(attr.ah_attr.grh.traffic_class, tos);
    cr_assert_eq(attr.timeout, timeout);
    cr_assert_eq(ibv_query_qp(c.passive->qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
    cr_assert_eq(attr.ah_attr.grh.traffic_class, tos, "that of the request");
    end(&c);
}

/* --- datagrams --- */

Test(cm, datagrams_find_their_peer)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    struct rdma_conn_param param = {.private_data = "who", .private_data_len = 3};
    uint8_t timeout = 12;
    c.listen = listen_at(c.channel, RDMA_PS_UDP, 7479);
    c.active = resolve(c.channel, RDMA_PS_UDP, 7479);
    cr_assert_eq(c.active->qp->qp_type, IBV_QPT_UD);
    cr_assert_eq(c.active->qp->state, IBV_QPS_RTS, "a datagram's peer is named with each send");
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), -1);
    cr_assert_eq(rdma_connect(c.active, &param), 0);
    struct rdma_cm_event *request = expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    cr_assert_arr_eq((const char *)request->param.ud.private_data, "who", 3);
    rdma_ack_cm_event(request);
    struct ibv_qp_init_attr init = small();
    init.qp_type = IBV_QPT_UD;
    cr_assert_eq(rdma_create_qp(c.passive, NULL, &init), 0);
    param = (struct rdma_conn_param){
        .private_data = "me", .private_data_len = 2, .qp_num = c.passive->qp->qp_num};
    cr_assert_eq(rdma_accept(c.passive, &param), 0);
    struct rdma_cm_event *event = expect(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cr_assert_eq(event->id, c.active);
    cr_assert_eq(event->param.ud.qp_num, c.passive->qp->qp_num);
    cr_assert_eq(event->param.ud.qkey, 0x01234567);
    cr_assert_arr_eq((const char *)event->param.ud.private_data, "me", 2);
    struct ibv_ah *ah = ibv_create_ah(c.active->pd, &event->param.ud.ah_attr);
    cr_assert_not_null(ah);
    ibv_destroy_ah(ah);
    rdma_ack_cm_event(event);
    end(&c);
}

Test(cm, a_datagram_peer_that_nobody_is)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    c.active = resolve(c.channel, RDMA_PS_UDP, 7480);
    cr_assert_eq(rdma_connect(c.active, NULL), 0);
    struct rdma_cm_event *event = expect(c.channel, RDMA_CM_EVENT_UNREACHABLE);
    cr_assert_eq(event->status, 1, "service id not supported");
    rdma_ack_cm_event(event);
    end(&c);
}

Test(cm, groups)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    struct sockaddr_in group = addr_of(0);
    struct sockaddr_in self = addr_of(7481);
    struct rdma_cm_join_mc_attr_ex attr = {.comp_mask =
                                               RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                           .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
                                           .addr = (struct sockaddr *)&group};
    struct ibv_qp_init_attr init = small();
    int mine;
    inet_pton(AF_INET, "239.1.2.3", &group.sin_addr);
    cr_assert_eq(rdma_create_id(c.channel, &c.active, NULL, RDMA_PS_UDP), 0);
    cr_assert_eq(rdma_bind_addr(c.active, (struct sockaddr *)&self), 0);
    init.qp_type = IBV_QPT_UD;
    cr_assert_eq(rdma_create_qp(c.active, NULL, &init), 0);
    attr.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
    cr_assert_eq(rdma_join_multicast_ex(c.active, &attr, &mine), -1);
    cr_assert_eq(errno, EINVAL);
    attr.join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER;
    cr_assert_eq(rdma_leave_multicast(c.active, (struct sockaddr *)&group), -1, "it has not joined");
    cr_assert_eq(errno, EADDRNOTAVAIL);
    cr_assert_eq(rdma_join_multicast_ex(c.active, &attr, &mine), 0);
    struct rdma_cm_event *event = expect(c.channel, RDMA_CM_EVENT_MULTICAST_JOIN);
    cr_assert_eq(event->param.ud.private_data, &mine, "the program's word for the group");
    cr_assert_eq(event->param.ud.qp_num, 0xffffff);
    rdma_ack_cm_event(event);
    cr_assert_eq(rdma_join_multicast(c.active, (struct sockaddr *)&group, NULL), -1, "once");
    cr_assert_eq(rdma_leave_multicast(c.active, (struct sockaddr *)&group), 0);
    end(&c);
}

/* An id stays that used it, and is in another one then. */
Test(cm, a_channel_that_is_destroyed_takes_no_ids)
{
    struct rdma_event_channel *gone = rdma_create_event_channel(), *channel = rdma_create_event_channel();
    struct rdma_cm_id *old, *id;
    cr_assert_eq(rdma_create_id(gone, &old, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    rdma_destroy_event_channel(gone);
    errno = 0;
    cr_expect_eq(rdma_migrate_id(id, gone), -1);
    cr_expect_eq(errno, EINVAL);
    cr_expect_eq(id->channel, channel);
    cr_assert_eq(rdma_destroy_id(old), 0);
    errno = 0;
    cr_expect_eq(rdma_create_id(gone, &old, NULL, RDMA_PS_TCP), -1);
    cr_expect_eq(errno, EINVAL);
    cr_assert_eq(rdma_destroy_id(id), 0);
    rdma_destroy_event_channel(channel);
}

/* --- another thread, another process --- */

/* An answer may come, and another thread destroy the id, before the call that asked returns. So the id is
 * entered among those whose peers hear of the end before anything is asked. */
static void *connect_it(void *id)
{
    cr_assert_eq(rdma_connect(id, NULL), 0);
    return NULL;
}

Test(cm, an_id_is_known_before_its_peer_answers)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id = resolve(channel, RDMA_PS_TCP, 7490);
    struct host_dev *dev = host_dev_of(verbs_own(id->verbs)->dev);
    pthread_t thread;
    bool has_met = false;
    host_dev_lock(dev); /* the call cannot ask */
    cr_assert_eq(pthread_create(&thread, NULL, connect_it, id), 0);
    for (int waited = 0; waited < PAIR_WAIT_MS && !has_met; waited += poll(NULL, 0, 1) == 0) {
        cma_lock();
        has_met = cma_id_of(id)->has_met;
        cma_unlock();
    }
    host_dev_unlock(dev);
    pthread_join(thread, NULL);
    cr_expect(has_met);
    skip(channel, RDMA_CM_EVENT_REJECTED);
    cr_expect_eq(rdma_connect(id, NULL), -1, "it has connected once");
    cr_expect(cma_id_of(id)->has_met, "of the first call");
    rdma_destroy_qp(id);
    rdma_destroy_id(id);
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    struct sockaddr_in addr = addr_of(7490);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_expect_eq(rdma_connect(id, NULL), -1, "it has no route");
    cr_expect_not(cma_id_of(id)->has_met, "it has asked nobody");
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

static void *accept_now(void *id)
{
    cr_assert_eq(rdma_accept(id, NULL), 0);
    return NULL;
}

static void *disconnect_now(void *id)
{
    cr_assert_eq(rdma_disconnect(id), 0);
    return NULL;
}

static atomic_bool has_ended;
static atomic_uint times_locked;

/* As a thread that reads events takes the lock. */
static void *lock_again_and_again(void *unused)
{
    while (!atomic_load(&has_ended)) {
        cma_lock();
        atomic_fetch_add(&times_locked, 1);
        cma_unlock();
        sched_yield();
    }
    return unused;
}

/* While the call waits for the device nobody gets the lock. */
static void expect_locked(void *(*call)(void *id), struct rdma_cm_id *id)
{
    struct host_dev *dev = host_dev_of(verbs_own(id->verbs)->dev);
    pthread_t caller;
    unsigned seen, still_ms = 0;
    host_dev_lock(dev);
    cr_assert_eq(pthread_create(&caller, NULL, call, id), 0);
    for (unsigned waited = 0; waited < 3000 && still_ms < 100; waited++) {
        seen = atomic_load(&times_locked);
        poll(NULL, 0, 1);
        still_ms = seen == atomic_load(&times_locked) ? still_ms + 1 : 0;
    }
    host_dev_unlock(dev);
    pthread_join(caller, NULL);
    cr_expect_eq(still_ms, 100);
}

Test(cm, nothing_is_read_of_an_end_before_its_call_is_over)
{
    struct conn c = {0};
    pthread_t locker;
    rdma_ack_cm_event(ask(&c, 7493, NULL));
    make_qp(c.passive);
    cr_assert_eq(pthread_create(&locker, NULL, lock_again_and_again, NULL), 0);
    expect_locked(accept_now, c.passive);
    skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    expect_locked(disconnect_now, c.active);
    atomic_store(&has_ended, true);
    pthread_join(locker, NULL);
    end(&c);
}

/* What a child gives back of its parent's; then an id of its own finds a device, and the child ends as
 * programs do. What does not work is its exit code. */
static void be_child(struct conn *c)
{
    struct sockaddr_in addr = addr_of(7491);
    struct rdma_cm_id *id, *const ids[] = {c->active, c->passive, c->listen};
    struct rdma_event_channel *channel;
    alarm(30);
    if (rdma_connect(c->active, NULL) != -1 || rdma_resolve_route(c->active, 1) != -1)
        exit(1);
    if (rdma_disconnect(c->active))
        exit(2);
    for (unsigned i = 0; i < array_len(ids); i++)
        if (rdma_destroy_id(ids[i]))
            exit(3);
    rdma_destroy_event_channel(c->channel);
    channel = rdma_create_event_channel();
    if (!channel || rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) ||
        rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000))
        exit(4);
    skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    if (rdma_destroy_id(id))
        exit(5);
    exit(0);
}

static int status_of(pid_t child)
{
    int status;
    cr_assert_gt(child, 0);
    cr_assert_eq(waitpid(child, &status, 0), child);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

Test(cm, a_child_leaves_connections_to_its_parent)
{
#ifdef __SANITIZE_THREAD__
    cr_skip_test("a sanitizer: ThreadSanitizer starts no thread in the child of a process that has threads");
#endif
    struct conn c = {0};
    rdma_ack_cm_event(ask(&c, 7491, NULL));
    accept_it(&c);
    pid_t child = fork();
    if (child == 0)
        be_child(&c);
    cr_expect_eq(status_of(child), 0);
    struct pollfd readable = {.fd = c.channel->fd, .events = POLLIN};
    cr_expect_eq(poll(&readable, 1, 100), 0, "the connection has ended");
    cr_assert_eq(rdma_disconnect(c.active), 0);
    skip(c.channel, RDMA_CM_EVENT_DISCONNECTED);
    end(&c);
}

/* What waits for the parent is left to it, though the child has the channel too. */
Test(cm, a_child_takes_no_event_of_its_parent)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct sockaddr_in addr = addr_of(7492);
    struct rdma_cm_id *id;
    struct rdma_cm_event *event;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_addr(id, NULL, (struct sockaddr *)&addr, 1000), 0);
    wait_readable(channel);
    cr_assert_eq(fcntl(channel->fd, F_SETFL, O_NONBLOCK), 0);
    pid_t child = fork();
    if (child == 0) {
        alarm(30);
        _exit(rdma_get_cm_event(channel, &event) != -1 || errno != EAGAIN);
    }
    cr_expect_eq(status_of(child), 0);
    skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

static atomic_bool is_held, is_forked;

static void *hold_lock(void *unused)
{
    (void)unused;
    cma_lock();
    atomic_store(&is_held, true);
    for (int waited = 0; waited < 200 && !atomic_load(&is_forked); waited += poll(NULL, 0, 1) == 0)
        ;
    cma_unlock();
    return NULL;
}

Test(cm, a_child_does_not_wait_for_a_thread_of_its_parent)
{
    struct rdma_event_channel *channel = rdma_create_event_channel();
    struct rdma_cm_id *id;
    pthread_t thread;
    cr_assert_eq(pthread_create(&thread, NULL, hold_lock, NULL), 0);
    while (!atomic_load(&is_held))
        sched_yield();
    pid_t child = fork();
    if (child == 0) {
        alarm(10);
        _exit(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP));
    }
    atomic_store(&is_forked, true);
    pthread_join(thread, NULL);
    cr_expect_eq(status_of(child), 0);
    rdma_destroy_event_channel(channel);
}

/* --- what is asked for wrongly --- */

Test(cm, calls_out_of_their_order)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    struct rdma_addrinfo *found;
    struct sockaddr_in addr = addr_of(7482);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(c.channel, &id, NULL, (enum rdma_port_space)0x7777), -1);
    cr_assert_eq(errno, EPROTONOSUPPORT);
    cr_assert_eq(rdma_create_id(c.channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_route(id, 1), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_connect(id, NULL), -1);
    cr_assert_eq(rdma_accept(id, NULL), -1);
    cr_assert_eq(rdma_reject(id, NULL, 0), -1);
    cr_assert_eq(rdma_disconnect(id), -1);
    cr_assert_eq(rdma_get_request(id, &c.passive), -1);
    cr_assert_eq(rdma_notify(id, IBV_EVENT_QP_FATAL), -1);
    cr_assert_eq(rdma_notify(id, IBV_EVENT_COMM_EST), 0);
    struct ibv_qp_init_attr init = small();
    cr_assert_eq(rdma_create_qp(id, NULL, &init), -1, "it is on no device");
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    c.listen = listen_at(c.channel, RDMA_PS_TCP, 7483);
    addr = addr_of(7483);
    struct rdma_cm_id *second;
    cr_assert_eq(rdma_create_id(c.channel, &second, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_bind_addr(second, (struct sockaddr *)&addr), -1);
    cr_assert_eq(errno, EADDRINUSE);
    rdma_destroy_id(second);
    rdma_destroy_id(id);
    cr_assert_neq(rdma_getaddrinfo("no such host.invalid", "1", NULL, &found), 0);
    int flags = fcntl(c.channel->fd, F_GETFL);
    fcntl(c.channel->fd, F_SETFL, flags | O_NONBLOCK);
    struct rdma_cm_event *event;
    cr_assert_eq(rdma_get_cm_event(c.channel, &event), -1);
    cr_assert_eq(errno, EAGAIN);
    end(&c);
}

Test(cm, shared_receive_queues)
{
    struct conn c = {.channel = rdma_create_event_channel()};
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 8, .max_sge = 1}};
    c.active = resolve(c.channel, RDMA_PS_TCP, 7484);
    rdma_destroy_qp(c.active);
    cr_assert_eq(rdma_create_srq(c.active, NULL, &srq), 0);
    cr_assert_eq(rdma_create_srq(c.active, NULL, &srq), -1, "it has one");
    make_qp(c.active);
    cr_assert_eq(c.active->qp->srq, c.active->srq);
    rdma_destroy_qp(c.active);
    rdma_destroy_srq(c.active);
    cr_assert_null(c.active->srq);
    end(&c);
}
