/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: XRC. Both ends are endpoints in this process, on a loopback of its own. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "test/support/netns.h"
#include "verbs/verbs.h"

#define HOST          "127.0.0.1"
#define PORT          "7471"
#define MESSAGE_BYTES 3000

static void begin(void)
{
    netns_loopback();
    setenv("NORNIC_PORT", "udp:" HOST, 1);
}

TestSuite(cm_xrc, .init = begin, .timeout = 60);

static struct rdma_addrinfo *look_up(int flags, enum ibv_qp_type type)
{
    struct rdma_addrinfo hints = {.ai_flags = flags, .ai_port_space = RDMA_PS_IB, .ai_qp_type = (int)type},
                         *found;
    cr_assert_eq(rdma_getaddrinfo(HOST, PORT, &hints, &found), 0);
    cr_assert_eq(found->ai_qp_type, type);
    return found;
}

static struct rdma_cm_id *listen_for(enum ibv_qp_type type)
{
    struct rdma_addrinfo *found = look_up(RAI_PASSIVE, type);
    struct rdma_cm_id *listen;
    cr_assert_eq(rdma_create_ep(&listen, found, NULL, NULL), 0);
    cr_assert_eq(rdma_listen(listen, 1), 0);
    rdma_freeaddrinfo(found);
    return listen;
}

static struct rdma_cm_id *initiator(void)
{
    struct rdma_addrinfo *found = look_up(0, IBV_QPT_XRC_SEND);
    struct ibv_qp_init_attr init = {.cap = {.max_send_wr = 4, .max_send_sge = 1}, .sq_sig_all = 1};
    struct rdma_cm_id *id;
    cr_assert_eq(rdma_create_ep(&id, found, NULL, &init), 0);
    cr_expect_null(id->recv_cq, "it receives nothing");
    rdma_freeaddrinfo(found);
    return id;
}

static uint8_t byte_of(unsigned message, unsigned at)
{
    return (uint8_t)(message * 101 + at * 7);
}

/* Who answers: a target, and an SRQ whose number the acceptance brings. Takes two messages, looks at them,
 * and waits for the end. */
static void *answer(void *arg)
{
    struct rdma_cm_id *listen = arg, *id;
    struct ibv_srq_init_attr srq = {.attr = {.max_wr = 4, .max_sge = 1}};
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_XRC_RECV};
    struct rdma_conn_param param = {.responder_resources = 2, .rnr_retry_count = 7};
    struct ibv_wc wc;
    uint32_t number;
    static uint8_t message[2][MESSAGE_BYTES];
    cr_assert_eq(rdma_get_request(listen, &id), 0);
    cr_assert_eq(id->qp_type, IBV_QPT_XRC_RECV);
    cr_assert_eq(rdma_create_srq(id, NULL, &srq), 0);
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
    cr_assert_eq(ibv_get_srq_num(id->srq, &number), 0);
    struct ibv_mr *mr = rdma_reg_msgs(id, message, sizeof message);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(rdma_post_recv(id, message[i], message[i], MESSAGE_BYTES, mr), 0);
    param.private_data = &number;
    param.private_data_len = sizeof number;
    cr_assert_eq(rdma_accept(id, &param), 0);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(rdma_get_recv_comp(id, &wc), 1);
        cr_assert_eq(wc.status, IBV_WC_SUCCESS);
        cr_assert_eq(wc.byte_len, MESSAGE_BYTES);
        for (unsigned at = 0; at < MESSAGE_BYTES; at++)
            cr_assert_eq(message[i][at], byte_of(i, at), "byte %u of message %u", at, i);
    }
    rdma_disconnect(id);
    rdma_dereg_mr(mr);
    rdma_destroy_ep(id);
    return NULL;
}

Test(cm_xrc, messages_come_to_the_srq_that_they_name)
{
    struct rdma_cm_id *listen = listen_for(IBV_QPT_XRC_RECV), *id = initiator();
    static uint8_t message[2][MESSAGE_BYTES];
    pthread_t thread;
    uint32_t number;
    struct ibv_wc wc;
    cr_assert_eq(pthread_create(&thread, NULL, answer, listen), 0);
    struct ibv_mr *mr = rdma_reg_msgs(id, message, sizeof message);
    cr_assert_eq(rdma_connect(id, NULL), 0);
    memcpy(&number, id->event->param.conn.private_data, sizeof number);
    for (unsigned i = 0; i < 2; i++) {
        for (unsigned at = 0; at < MESSAGE_BYTES; at++)
            message[i][at] = byte_of(i, at);
        struct ibv_sge piece = {(uintptr_t)message[i], MESSAGE_BYTES, mr->lkey};
        struct ibv_send_wr wr = {.sg_list = &piece, .num_sge = 1, .opcode = IBV_WR_SEND}, *bad;
        wr.qp_type.xrc.remote_srqn = number;
        cr_assert_eq(ibv_post_send(id->qp, &wr, &bad), 0);
        cr_assert_eq(rdma_get_send_comp(id, &wc), 1);
        cr_assert_eq(wc.status, IBV_WC_SUCCESS);
    }
    rdma_disconnect(id); /* each end waits for the other's */
    pthread_join(thread, NULL);
    rdma_dereg_mr(mr);
    rdma_destroy_ep(id);
    rdma_destroy_ep(listen);
}

Test(cm_xrc, a_listener_of_another_type_refuses)
{
    struct rdma_cm_id *listen = listen_for(IBV_QPT_RC), *id = initiator();
    cr_assert_eq(rdma_connect(id, NULL), -1);
    cr_assert_eq(errno, ECONNREFUSED);
    cr_assert_eq(id->event->event, RDMA_CM_EVENT_REJECTED);
    cr_expect_eq(id->event->status, 9, "invalid transport service type");
    rdma_destroy_ep(id);
    rdma_destroy_ep(listen);
}

/* The completion queue of an SRQ goes with that, whatever queue pair the id has had meanwhile. */
Test(cm_xrc, an_srq_keeps_its_completion_queue)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(7471)};
    struct ibv_srq_init_attr_ex srq = {
        .attr = {.max_wr = 4, .max_sge = 1}, .comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_XRC};
    struct ibv_qp_init_attr init = {.qp_type = IBV_QPT_XRC_SEND,
                                    .cap = {.max_send_wr = 4, .max_send_sge = 1}};
    struct rdma_cm_id *id;
    inet_pton(AF_INET, HOST, &addr.sin_addr);
    cr_assert_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_IB), 0);
    id->qp_type = IBV_QPT_XRC_SEND;
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    cr_assert_eq(rdma_create_srq_ex(id, &srq), 0);
    struct ibv_cq *cq = id->recv_cq;
    cr_assert_not_null(cq);
    cr_assert_eq(rdma_create_qp(id, NULL, &init), 0);
    rdma_destroy_qp(id);
    cr_expect_eq(id->recv_cq, cq);
    cr_expect_null(id->send_cq);
    rdma_destroy_srq(id);
    cr_expect_null(id->recv_cq);
    rdma_destroy_id(id);
}

/* One that is refused leaves nothing behind. */
Test(cm_xrc, an_srq_that_is_refused_leaves_no_completion_queue)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(7471)};
    struct ibv_srq_init_attr_ex srq = {.attr = {.max_wr = 4, .max_sge = 1000},
                                       .comp_mask = IBV_SRQ_INIT_ATTR_TYPE,
                                       .srq_type = IBV_SRQT_XRC};
    struct rdma_cm_id *id;
    inet_pton(AF_INET, HOST, &addr.sin_addr);
    cr_assert_eq(rdma_create_id(NULL, &id, NULL, RDMA_PS_TCP), 0);
    cr_assert_eq(rdma_bind_addr(id, (struct sockaddr *)&addr), 0);
    cr_assert_eq(rdma_create_srq_ex(id, &srq), -1);
    cr_expect_eq(errno, EINVAL);
    cr_expect_null(id->recv_cq);
    cr_expect_null(id->recv_cq_channel);
    rdma_destroy_id(id);
}
