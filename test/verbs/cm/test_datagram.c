/* SPDX-License-Identifier: BSD-2-Clause */
/* librdmacm: datagrams, and groups of those who hear them. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <rdma/rdma_cma.h>

#include "test/verbs/cm_conn.h"

Test(cm, datagrams_find_their_peer)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct rdma_conn_param param = {.private_data = "who", .private_data_len = 3};
    uint8_t timeout = 12;
    c.listen = cm_listen(c.channel, RDMA_PS_UDP, 7479);
    c.active = cm_resolve(c.channel, RDMA_PS_UDP, 7479);
    cr_assert_eq(c.active->qp->qp_type, IBV_QPT_UD);
    cr_assert_eq(c.active->qp->state, IBV_QPS_RTS, "a datagram's peer is named with each send");
    cr_assert_eq(rdma_set_option(c.active, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1), -1);
    cr_assert_eq(rdma_connect(c.active, &param), 0);
    struct rdma_cm_event *request = cm_expect(c.channel, RDMA_CM_EVENT_CONNECT_REQUEST);
    c.passive = request->id;
    cr_assert_arr_eq((const char *)request->param.ud.private_data, "who", 3);
    rdma_ack_cm_event(request);
    struct ibv_qp_init_attr init = cm_init_attr();
    init.qp_type = IBV_QPT_UD;
    cr_assert_eq(rdma_create_qp(c.passive, NULL, &init), 0);
    param = (struct rdma_conn_param){
        .private_data = "me", .private_data_len = 2, .qp_num = c.passive->qp->qp_num};
    cr_assert_eq(rdma_accept(c.passive, &param), 0);
    struct rdma_cm_event *event = cm_expect(c.channel, RDMA_CM_EVENT_ESTABLISHED);
    cr_assert_eq(event->id, c.active);
    cr_assert_eq(event->param.ud.qp_num, c.passive->qp->qp_num);
    cr_assert_eq(event->param.ud.qkey, 0x01234567);
    cr_assert_arr_eq((const char *)event->param.ud.private_data, "me", 2);
    struct ibv_ah *ah = ibv_create_ah(c.active->pd, &event->param.ud.ah_attr);
    cr_assert_not_null(ah);
    ibv_destroy_ah(ah);
    rdma_ack_cm_event(event);
    cm_end(&c);
}

Test(cm, a_datagram_peer_that_nobody_is)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    c.active = cm_resolve(c.channel, RDMA_PS_UDP, 7480);
    cr_assert_eq(rdma_connect(c.active, NULL), 0);
    struct rdma_cm_event *event = cm_expect(c.channel, RDMA_CM_EVENT_UNREACHABLE);
    cr_assert_eq(event->status, 1, "service id not supported");
    rdma_ack_cm_event(event);
    cm_end(&c);
}

Test(cm, groups)
{
    struct cm_conn c = {.channel = rdma_create_event_channel()};
    struct sockaddr_in group = cm_addr(0);
    struct sockaddr_in self = cm_addr(7481);
    struct rdma_cm_join_mc_attr_ex attr = {.comp_mask =
                                               RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
                                           .join_flags = RDMA_MC_JOIN_FLAG_FULLMEMBER,
                                           .addr = (struct sockaddr *)&group};
    struct ibv_qp_init_attr init = cm_init_attr();
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
    struct rdma_cm_event *event = cm_expect(c.channel, RDMA_CM_EVENT_MULTICAST_JOIN);
    cr_assert_eq(event->param.ud.private_data, &mine, "the program's word for the group");
    cr_assert_eq(event->param.ud.qp_num, 0xffffff);
    rdma_ack_cm_event(event);
    cr_assert_eq(rdma_join_multicast(c.active, (struct sockaddr *)&group, NULL), -1, "once");
    cr_assert_eq(rdma_leave_multicast(c.active, (struct sockaddr *)&group), 0);
    cm_end(&c);
}
