/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections between an XRC initiator and a target: ROCE-XRC-4. */
#include <criterion/criterion.h>
#include <errno.h>

#include "rdma/xrc.h"
#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 9};
static const struct nornic_conn_param param = {.responder_resources = 3,
                                               .initiator_depth = 2,
                                               .flow_control = true,
                                               .retry_count = 5,
                                               .rnr_retry_count = 6};

#define PORT 7471

/* Node 0 has an initiator and node 1 a target. */
struct xrc {
    struct cm_net *net;
    struct rdma_xrcd *domain;
    struct roce_qp *initiator, *target;
    struct roce_cm_id *listener, *active, *passive;
};

static struct roce_cm_id *id_of(struct cm_net *net, unsigned node, enum nornic_qp_type type)
{
    struct roce_cm_id *id = cm_net_id(net, node, NORNIC_PS_IB);
    cr_assert_eq(roce_cm_id_set_qp_type(id, type), 0);
    return id;
}

static struct xrc begin(enum nornic_qp_type listens)
{
    struct xrc x = {.net = cm_net_create(&plain)};
    struct cm_node *node = x.net->node;
    struct roce_qp_config initiator = {.type = NORNIC_QPT_XRC_INI,
                                       .pd = node[0].pd,
                                       .send_cq = node[0].cq,
                                       .caps = {.max_send_wr = 4, .max_send_sge = 1}};
    cr_assert_eq(rdma_xrcd_create(roce_dev_domain(node[1].dev), &x.domain), 0);
    struct roce_qp_config target = {.type = NORNIC_QPT_XRC_TGT, .xrcd = x.domain};
    cr_assert_eq(roce_qp_create(node[0].dev, &initiator, &x.initiator), 0);
    cr_assert_eq(roce_qp_create(node[1].dev, &target, &x.target), 0);
    x.listener = id_of(x.net, 1, listens);
    cr_assert_eq(roce_cm_listen(x.listener, NULL, PORT, 4), 0);
    return x;
}

static void ask(struct xrc *x)
{
    struct roce_cm_route route = cm_net_route(x->net, 0, 1, PORT);
    x->active = id_of(x->net, 0, NORNIC_QPT_XRC_INI);
    cr_assert_eq(roce_cm_connect(x->active, &route, x->initiator, &param, x->net->now_ns), 0);
    cm_net_run_for(x->net, NS_PER_MS);
}

static void end(struct xrc *x)
{
    if (x->passive)
        cm_net_drop(x->net, x->passive);
    if (x->active)
        cm_net_drop(x->net, x->active);
    cm_net_drop(x->net, x->listener);
    cm_net_run(x->net, NET_TIME_NONE);
    roce_qp_destroy(x->initiator);
    roce_qp_destroy(x->target);
    cr_assert_eq(rdma_xrcd_destroy(x->domain), 0);
    cm_net_destroy(x->net);
}

static struct xrc connected(void)
{
    struct xrc x = begin(NORNIC_QPT_XRC_TGT);
    ask(&x);
    x.passive = cm_net_expect(x.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    cr_assert_eq(roce_cm_accept(x.passive, x.target, &param, x.net->now_ns), 0);
    cm_net_run_for(x.net, NS_PER_MS);
    return x;
}

/* covers: ROCE-XRC-4 */
Test(xrc, ROCE_XRC_4_the_request_is_of_the_extended_transport)
{
    struct xrc x = begin(NORNIC_QPT_XRC_TGT);
    ask(&x);
    const struct roce_cm_req *req = &cm_net_last(x.net, 0, ROCE_CM_REQ)->req;
    cr_expect_eq(req->transport, ROCE_CM_TRANSPORT_EXTENDED);
    cr_expect_eq(req->ext_transport, 1);
    cr_expect_eq(req->qpn, roce_qp_num(x.initiator));
    cr_expect_eq(req->service_id, UINT64_C(0x013f0000) + PORT);
    cr_expect_eq(req->initiator_depth, 2);
    cr_expect(!req->responder_resources && !req->retry_count && !req->rnr_retry_count && !req->srq,
              "what only who answers would have to know");
    x.passive = cm_net_expect(x.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    end(&x);
}

/* covers: ROCE-XRC-4 */
Test(xrc, ROCE_XRC_4_the_answer_names_the_target_in_another_field)
{
    struct xrc x = connected();
    const struct roce_cm_rep *rep = &cm_net_last(x.net, 1, ROCE_CM_REP)->rep;
    cr_expect_eq(rep->qpn, 0);
    cr_expect_eq(rep->eecn, roce_qp_num(x.target));
    cr_expect_eq(rep->responder_resources, 2);
    cr_expect_eq(rep->initiator_depth, 0, "it asks for nothing");
    cr_expect_eq(rep->srq, 1);
    cr_expect_eq(rep->flow_control, 0);
    cm_net_expect(x.net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(x.net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    end(&x);
}

/* covers: ROCE-XRC-4 */
Test(xrc, ROCE_XRC_4_both_ends_are_ready_and_end_together)
{
    struct xrc x = connected();
    struct roce_cm_endpoints ends;
    struct roce_cm_event e = cm_net_expect(x.net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(e.qpn, roce_qp_num(x.target));
    cr_expect_eq(e.initiator_depth, 2);
    cr_expect_eq(e.responder_resources, 0);
    roce_cm_id_endpoints(x.active, &ends);
    cr_expect_eq(ends.remote_qpn, roce_qp_num(x.target));
    cr_expect_eq(roce_qp_state(x.initiator), NORNIC_QPS_RTS);
    cr_expect_eq(roce_qp_state(x.target), NORNIC_QPS_RTS);
    cm_net_expect(x.net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cr_assert_eq(roce_cm_disconnect(x.active, NULL, 0, x.net->now_ns), 0);
    cm_net_run_for(x.net, NS_PER_MS);
    cr_expect_eq(cm_net_last(x.net, 0, ROCE_CM_DREQ)->dreq.remote_qpn, roce_qp_num(x.target));
    cm_net_expect(x.net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cr_assert_eq(roce_cm_disconnect(x.passive, NULL, 0, x.net->now_ns), 0);
    cr_expect_eq(roce_qp_state(x.initiator), NORNIC_QPS_ERR);
    cr_expect_eq(roce_qp_state(x.target), NORNIC_QPS_ERR);
    end(&x);
}

/* covers: ROCE-XRC-4 */
Test(xrc, ROCE_XRC_4_what_the_program_is_told_to_set_is_what_its_half_has)
{
    struct xrc x = connected();
    struct nornic_qp_attr attr;
    uint32_t mask;
    cr_assert_eq(roce_cm_qp_attr(x.active, NORNIC_QPS_RTR, &attr, &mask), 0);
    cr_expect_eq(mask,
                 NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN);
    cr_expect_eq(attr.dest_qpn, roce_qp_num(x.target));
    cr_assert_eq(roce_cm_qp_attr(x.passive, NORNIC_QPS_RTS, &attr, &mask), 0);
    cr_expect_eq(mask, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN | NORNIC_QP_TIMEOUT);
    end(&x);
}

/* covers: ROCE-XRC-4 */
Test(xrc, ROCE_XRC_4_a_listener_of_another_type_refuses)
{
    struct xrc x = begin(NORNIC_QPT_RC);
    ask(&x);
    cr_expect_eq(cm_net_expect(x.net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INVALID_TRANSPORT);
    end(&x);

    x = begin(NORNIC_QPT_XRC_TGT);
    struct roce_cm_route route = cm_net_route(x.net, 0, 1, PORT);
    x.active = cm_net_id(x.net, 0, NORNIC_PS_IB);
    cr_assert_eq(roce_cm_connect(x.active, &route, cm_net_qp(x.net, 0), &param, x.net->now_ns), 0);
    cm_net_run_for(x.net, NS_PER_MS);
    cr_expect_eq(cm_net_expect(x.net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INVALID_TRANSPORT);
    /* another extended transport than XRC */
    struct roce_cm_mad req = *cm_net_last(x.net, 0, ROCE_CM_REQ);
    req.req.transport = ROCE_CM_TRANSPORT_EXTENDED;
    req.req.ext_transport = 2;
    cm_net_inject(x.net, 0, 1, &req);
    cr_expect_eq(cm_net_count(x.net, 1, ROCE_CM_REJ), 2);
    cr_expect_eq(cm_net_last(x.net, 1, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_INVALID_TRANSPORT);
    end(&x);
}

Test(xrc, types_are_for_ids_of_their_port_space_that_are_not_in_use)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *tcp = cm_net_id(net, 0, NORNIC_PS_TCP), *ib = cm_net_id(net, 0, NORNIC_PS_IB);
    struct roce_cm_route route = cm_net_route(net, 0, 1, PORT);
    cr_expect_eq(roce_cm_id_set_qp_type(tcp, NORNIC_QPT_XRC_TGT), -EINVAL);
    cr_expect_eq(roce_cm_id_set_qp_type(ib, NORNIC_QPT_UD), -EINVAL);
    cr_assert_eq(roce_cm_id_set_qp_type(ib, NORNIC_QPT_XRC_INI), 0);
    cr_expect_eq(roce_cm_listen(ib, NULL, PORT, 4), -EINVAL, "who only sends");
    cr_assert_eq(roce_cm_id_set_qp_type(ib, NORNIC_QPT_XRC_TGT), 0);
    cr_expect_eq(roce_cm_connect(ib, &route, cm_net_qp(net, 0), &param, net->now_ns), -EINVAL,
                 "who only answers");
    cr_assert_eq(roce_cm_listen(ib, NULL, PORT, 4), 0);
    cr_expect_eq(roce_cm_id_set_qp_type(ib, NORNIC_QPT_RC), -EINVAL);
    cm_net_drop(net, tcp);
    cm_net_drop(net, ib);
    cm_net_destroy(net);
}
