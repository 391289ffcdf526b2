/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm, call by call: synchronous ids and endpoints, connections, and what is asked for wrongly. */
#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

#include "test/verbs/cm_conn.h"

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
    cr_assert_eq(rdma_getaddrinfo(CM_HOST, EP_PORT, &hints, &found), 0);
    cr_assert_eq(found->ai_qp_type, IBV_QPT_RC);
    return found;
}

Test(cm, endpoints)
{
    struct rdma_addrinfo *passive = look_up(RAI_PASSIVE), *active = look_up(0);
    struct ibv_qp_init_attr init = cm_init_attr();
    struct rdma_cm_id *listen, *id;
    struct ibv_wc wc;
    char sent[64] = "by an endpoint", received[64] = "";
    pthread_t thread;
    cr_assert_eq(rdma_create_ep(&listen, passive, NULL, &init), 0);
    cr_assert_eq(rdma_listen(listen, 1), 0);
    cr_assert_eq(pthread_create(&thread, NULL, echo, listen), 0);
    init = cm_init_attr();
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
    struct sockaddr_in bound = cm_addr(7490), source = cm_addr(0), peer = cm_addr(7491);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&bound), 0);
    cr_assert_eq(rdma_resolve_addr(id, (struct sockaddr *)&source, (struct sockaddr *)&peer, 1000), 0);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), 7490);
    cm_skip(channel, RDMA_CM_EVENT_ADDR_RESOLVED);
    cr_expect_eq(ntohs(rdma_get_src_port(id)), 7490);
    rdma_destroy_id(id);
    rdma_destroy_event_channel(channel);
}

Test(cm, a_synchronous_call_fails_with_its_event)
{
    struct sockaddr_in addr = cm_addr(7472);
    struct ibv_qp_init_attr init = cm_init_attr();
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

Test(cm, private_data_goes_both_ways_and_with_a_refusal)
{
    struct cm_conn c = {0};
    struct rdma_conn_param param = {.private_data = "question", .private_data_len = 8, .retry_count = 7};
    struct rdma_cm_event *event = cm_ask(&c, 7473, &param);
    cr_assert_geq(event->param.conn.private_data_len, 8);
    cr_assert_arr_eq((const char *)event->param.conn.private_data, "question", 8);
    rdma_ack_cm_event(event);
    cr_assert_eq(rdma_reject(c.passive, "no", 2), 0);
    event = cm_expect(c.channel, RDMA_CM_EVENT_REJECTED);
    cr_assert_eq(event->status, 28, "by its program");
    cr_assert_arr_eq((const char *)event->param.conn.private_data, "no", 2);
    rdma_ack_cm_event(event);
    cm_end(&c);
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
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct ibv_qp_init_attr init = cm_init_attr();
    struct ibv_qp_attr attr = {.qp_state = IBV_QPS_RTR};
    struct ibv_qp *qp[2];
    int mask;
    c.listen = cm_listen(c.channel, RDMA_PS_TCP, 7477);
    c.active = cm_resolve(c.channel, RDMA_PS_TCP, 7477);
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
    struct rdma_cm_event *request = cm_expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    cr_assert_eq(request->param.conn.qp_num, qp[0]->qp_num);
    rdma_ack_cm_event(request);
    move(c.passive, qp[1], IBV_QPS_INIT);
    move(c.passive, qp[1], IBV_QPS_RTR);
    move(c.passive, qp[1], IBV_QPS_RTS);
    param.qp_num = qp[1]->qp_num;
    cr_assert_eq(rdma_accept(c.passive, &param), 0);
    struct rdma_cm_event *response = cm_expect(c.channel, RDMA_CM_EVENT_CONNECT_RESPONSE);
    cr_assert_eq(response->param.conn.qp_num, qp[1]->qp_num);
    rdma_ack_cm_event(response);
    move(c.active, qp[0], IBV_QPS_RTR);
    move(c.active, qp[0], IBV_QPS_RTS);
    cr_assert_eq(rdma_establish(c.active), 0);
    cm_skip(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(ibv_destroy_qp(qp[i]), 0);
    ibv_destroy_cq(init.send_cq);
    cm_end(&c);
}

/* --- options --- */

Test(cm, type_of_service_and_ack_timeout)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    uint8_t tos = 0x68, timeout = 12, too_long = 32;
    struct ibv_qp_attr attr;
    struct ibv_qp_init_attr init;
    c.listen = cm_listen(c.channel, RDMA_PS_TCP, 7478);
    c.active = cm_resolve(c.channel, RDMA_PS_TCP, 7478);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, sizeof tos), 0);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), 0);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &too_long, 1), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_TOS, &tos, 2), -1);
    cr_assert_eq(errno, EINVAL, "it is one byte");
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, 77, &tos, 1), -1);
    cr_assert_eq(errno, ENOSYS);
    cr_assert_eq(rdma_connect(c.active, NULL), 0);
    struct rdma_cm_event *request = cm_expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    rdma_ack_cm_event(request);
    cm_accept(&c);
    cr_assert_eq(ibv_query_qp(c.active->qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
    cr_assert_eq(attr.ah_attr.grh.traffic_class, tos);
    cr_assert_eq(attr.timeout, timeout);
    cr_assert_eq(ibv_query_qp(c.passive->qp, &attr, IBV_QP_AV | IBV_QP_TIMEOUT, &init), 0);
    cr_assert_eq(attr.ah_attr.grh.traffic_class, tos, "that of the request");
    cm_end(&c);
}

/* --- what is asked for wrongly --- */

Test(cm, calls_out_of_their_order)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct rdma_addrinfo *found;
    struct sockaddr_in addr = cm_addr(7482);
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_id(c.channel, &id, NULL, (enum rdma_port_space)0x7777), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_create_id(c.channel, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_resolve_route(id, 1), -1);
    cr_assert_eq(errno, EINVAL);
    cr_assert_eq(rdma_connect(id, NULL), -1);
    cr_assert_eq(rdma_accept(id, NULL), -1);
    cr_assert_eq(rdma_reject(id, NULL, 0), -1);
    cr_assert_eq(rdma_disconnect(id), -1);
    cr_assert_eq(rdma_get_request(id, &c.passive), -1);
    cr_assert_eq(rdma_notify(id, IBV_EVENT_QP_FATAL), -1);
    cr_assert_eq(rdma_notify(id, IBV_EVENT_COMM_EST), -1, "nothing was accepted");
    struct ibv_qp_init_attr init = cm_init_attr();
    cr_assert_eq(rdma_create_qp(id, NULL, &init), -1, "it is on no device");
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    c.listen = cm_listen(c.channel, RDMA_PS_TCP, 7483);
    addr = cm_addr(7483);
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
    cm_end(&c);
}

Test(cm, shared_receive_queues)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 8, .max_sge = 1}};
    c.active = cm_resolve(c.channel, RDMA_PS_TCP, 7484);
    rdma_destroy_qp(c.active);
    cr_assert_eq(rdma_create_srq(c.active, NULL, &srq), 0);
    cr_assert_eq(rdma_create_srq(c.active, NULL, &srq), -1, "it has one");
    cm_make_qp(c.active);
    cr_assert_eq(c.active->qp->srq, c.active->srq);
    rdma_destroy_qp(c.active);
    rdma_destroy_srq(c.active);
    cr_assert_null(c.active->srq);
    cm_end(&c);
}
