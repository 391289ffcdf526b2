/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's QPs in the hands of the manager, also when they cannot be moved; two addresses. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "roce/qp/inner.h"
#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 8};
static const struct nornic_conn_param param = {
    .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7};

static struct roce_cm_id *ask(struct cm_net *net, struct roce_qp *qp)
{
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_assert_eq(roce_cm_connect(id, &route, qp, &param, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    return id;
}

static void to_error(struct cm_net *net, struct roce_qp *qp)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1};
    cr_assert_eq(
        roce_qp_modify(qp, &attr,
                       NORNIC_QP_STATE | NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX | NORNIC_QP_ACCESS_FLAGS,
                       net->now_ns),
        0);
    attr.state = NORNIC_QPS_ERR;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE, net->now_ns), 0);
}

Test(qp, one_that_cannot_be_moved_is_refused_and_another_may_be_tried)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_qp *broken[2] = {cm_net_qp(net, 0), cm_net_qp(net, 1)},
                   *good[2] = {cm_net_qp(net, 0), cm_net_qp(net, 1)};
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    for (unsigned i = 0; i < 2; i++)
        to_error(net, broken[i]);
    cr_expect_eq(roce_cm_connect(id, &route, broken[0], &param, net->now_ns), -EINVAL);
    cr_expect_eq(net->log_count, 0);
    cr_assert_eq(roce_cm_connect(id, &route, good[0], &param, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct nornic_conn_param little = {.qp_num = 0};
    cr_expect_eq(roce_cm_accept(e.id, broken[1], &little, net->now_ns), -EINVAL);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REP), 0);
    cr_assert_eq(roce_cm_accept(e.id, good[1], NULL, net->now_ns), 0);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REP)->rep.responder_resources, 1,
                 "the terms are those of the REQ");
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_end(net, id, e.id, listener);
}

/* covers: ROCE-CM-53 */
Test(qp, ROCE_CM_53_no_rtu_without_a_qp_that_is_ready)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_qp *qp = cm_net_qp(net, 0);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = ask(net, qp);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE, net->now_ns), 0); /* behind the manager's back */
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_RTU), 0);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_ERROR).status, -EINVAL);
    cr_expect_eq(cm_net_expect(net, 1, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_CONSUMER);
    cm_net_end(net, id, e.id, listener);
}

/* covers: ROCE-CM-50 */
Test(qp, ROCE_CM_50_a_rep_with_a_qpn_that_is_connected_means_the_old_one_is_stale)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_mad rep = *cm_net_last(net, 1, ROCE_CM_REP);
    struct roce_cm_id *id = ask(net, cm_net_qp(net, 0));
    rep.rep.remote_comm_id = cm_net_last(net, 0, ROCE_CM_REQ)->req.local_comm_id;
    rep.rep.local_comm_id ^= 0x77;
    cm_net_inject(net, 1, 0, &rep);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_STALE_CONN);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.rejected_message, ROCE_CM_MESSAGE_REP);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_ERROR).status, -ESTALE);
    cr_expect_eq(roce_cm_id_state(pair.active), ROCE_CM_DREQ_SENT_STATE);
    cr_expect_eq(roce_qp_state(pair.active_qp), NORNIC_QPS_ERR);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_drop(net, id);
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}

Test(qp, a_rep_with_a_reserved_qpn_is_rejected)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = ask(net, cm_net_qp(net, 0));
    struct roce_cm_mad rep = {.hdr = cm_net_last(net, 0, ROCE_CM_REQ)->hdr};
    rep.hdr.attr_id = ROCE_CM_REP;
    rep.rep.remote_comm_id = cm_net_last(net, 0, ROCE_CM_REQ)->req.local_comm_id;
    rep.rep.local_comm_id = 5;
    rep.rep.qpn = 0xffffff;
    cm_net_inject(net, 1, 0, &rep);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_UNSUPPORTED);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_ERROR);
    cm_net_inject(net, 1, 0, &rep); /* the REJ was lost: it is said again */
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REJ), 2);
    cm_net_end(net, id, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id, listener);
}

/* The row REP_RCVD: the peer has given up while the application thought. */
Test(qp, a_rej_while_the_application_thinks_about_the_answer)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct nornic_conn_param own = {.qp_num = 0x100};
    cr_assert_eq(roce_cm_connect(id, &route, NULL, &own, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_drop(net, e.id);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED);
    cr_expect_eq(roce_cm_id_state(id), ROCE_CM_TIMEWAIT_STATE);
    cr_expect_eq(roce_cm_establish(id, NULL, 0, net->now_ns), -EINVAL);
    cm_net_drop(net, id);
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* librdmacm's order: first the QP goes, then the id. */
Test(qp, one_may_be_destroyed_before_its_id)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_endpoints e;
    roce_cm_id_endpoints(pair.active, &e);
    cr_expect_eq(e.local_qpn, roce_qp_num(pair.active_qp));
    cr_expect_eq(e.remote_qpn, roce_qp_num(pair.passive_qp));
    roce_cm_forget_qp(pair.active);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cr_expect_eq(roce_qp_state(pair.active_qp), NORNIC_QPS_RTS, "not touched any more");
    struct roce_cm_id *again = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_expect_eq(roce_cm_connect(again, &route, pair.active_qp, &param, net->now_ns), -EADDRINUSE,
                 "the QPN rests");
    cm_net_drop(net, again);
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}

static struct roce_qp *datagram_qp(struct cm_net *net, unsigned node)
{
    struct cm_node *n = &net->node[node];
    struct roce_qp_config config = {
        .type = NORNIC_QPT_UD,
        .pd = n->pd,
        .send_cq = n->cq,
        .recv_cq = n->cq,
        .caps = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
    };
    cr_assert_eq(roce_qp_create(n->dev, &config, &n->qp[n->num_qps]), 0);
    return n->qp[n->num_qps++];
}

/* covers: ROCE-CM-62 */
Test(qp, ROCE_CM_62_a_ud_qp_is_made_ready_and_may_serve_many)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_qp *client = datagram_qp(net, 0), *server = datagram_qp(net, 1);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7174);
    struct roce_cm_id *listener = cm_net_id(net, 1, NORNIC_PS_UDP), *id[2], *asked[2];
    struct nornic_qp_attr attr;
    cr_assert_eq(roce_cm_listen(listener, NULL, 7174, 4), 0);
    for (unsigned i = 0; i < 2; i++) {
        id[i] = cm_net_id(net, 0, NORNIC_PS_UDP);
        cr_assert_eq(roce_cm_connect(id[i], &route, client, NULL, net->now_ns), 0);
        cr_expect_eq(roce_qp_state(client), NORNIC_QPS_RTS);
        cm_net_run_for(net, NS_PER_MS);
        asked[i] = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
        cr_assert_eq(roce_cm_accept(asked[i], server, NULL, net->now_ns), 0);
        cr_expect_eq(roce_qp_state(server), NORNIC_QPS_RTS);
        cm_net_run_for(net, NS_PER_MS);
        cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED).qpn, roce_qp_num(server));
    }
    roce_qp_query(client, &attr, NULL);
    cr_expect_eq(attr.qkey, 0x01234567);
    roce_qp_query(server, &attr, NULL);
    cr_expect_eq(attr.qkey, 0x01234567);
    for (unsigned i = 0; i < 2; i++) {
        cm_net_drop(net, id[i]);
        cm_net_drop(net, asked[i]);
    }
    cr_expect_eq(roce_qp_state(server), NORNIC_QPS_RTS, "ids come and go");
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* covers: ROCE-CM-44 */
Test(qp, ROCE_CM_44_the_connection_is_at_the_address_that_the_req_names)
{
    struct cm_net *net = cm_net_create(&plain);
    struct nornic_gid second = {.addr = nornic_addr_from_v4((const uint8_t[]){10, 77, 0, 99}),
                                .mac = net->node[1].mac};
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = ask(net, cm_net_qp(net, 0));
    struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ);
    struct roce_cm_path_block path;
    struct roce_cm_endpoints e;
    struct nornic_qp_attr attr;
    cr_assert_eq(roce_dev_gid_add(net->node[1].dev, &second), 1);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    roce_cm_path_block_get(&path, req.req.primary);
    memcpy(path.remote_gid, second.addr.b, 16);
    path.traffic_class = 0x68;
    path.hop_limit = 3;
    path.flow_label = 0x12345;
    path.sl = 5;
    path.ack_timeout = 9;
    roce_cm_path_block_put(req.req.primary, &path);
    req.req.private_data[35] = 99;
    req.req.local_comm_id++;
    cm_net_inject(net, 0, 1, &req);
    struct roce_cm_event event = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct roce_qp *qp = cm_net_qp(net, 1);
    cr_assert_eq(roce_cm_accept(event.id, qp, NULL, net->now_ns), 0);
    roce_cm_id_endpoints(event.id, &e);
    roce_qp_query(qp, &attr, NULL);
    cr_expect(nornic_addr_equal(&e.local, &second.addr));
    cr_expect_eq(attr.av.sgid_index, 1);
    cr_expect_eq(attr.av.traffic_class, 0x68);
    cr_expect_eq(attr.av.hop_limit, 3);
    cr_expect_eq(attr.av.flow_label, 0x12345);
    cr_expect_eq(attr.av.sl, 5);
    cr_expect_eq(attr.timeout, 9, "the REQ's ACK timeout is for us");
    cm_net_end(net, id, event.id, listener);
}

/* covers: ROCE-CM-64 */
Test(qp, states_and_events_have_names)
{
    for (unsigned s = ROCE_CM_IDLE_STATE; s <= ROCE_CM_SIDR_REP_SENT_STATE; s++)
        cr_expect_str_neq(roce_cm_state_name((enum roce_cm_state)s), "?");
    cr_expect_str_eq(roce_cm_state_name(ROCE_CM_MRA_REP_RCVD_STATE), "MRA_REP_RCVD");
    for (unsigned e = 0; e <= 15; e++)
        cr_expect_str_neq(nornic_cm_event_name((enum nornic_cm_event_type)e), "?");
    cr_expect_eq(NORNIC_CM_EVENT_CONNECT_REQUEST, 4);
    cr_expect_eq(NORNIC_CM_EVENT_TIMEWAIT_EXIT, 15);
}

/* covers: ROCE-RC-24 */
Test(qp, ROCE_RC_24_credits_only_where_both_sides_use_them)
{
    for (unsigned sides = 0; sides < 4; sides++) {
        struct cm_net *net = cm_net_create(&plain);
        struct nornic_conn_param wants[2] = {param, param};
        struct roce_qp *qps[2];
        for (unsigned i = 0; i < 2; i++) {
            wants[i].flow_control = sides >> i & 1;
            qps[i] = cm_net_qp(net, i);
            qps[i]->e2e_credits = true;
        }
        struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
        struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
        cr_assert_eq(roce_cm_connect(id, &route, qps[0], &wants[0], net->now_ns), 0);
        cm_net_run_for(net, NS_PER_MS);
        struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
        cr_assert_eq(roce_cm_accept(e.id, qps[1], &wants[1], net->now_ns), 0);
        cm_net_run_for(net, NS_PER_MS);
        cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
        cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
        for (unsigned i = 0; i < 2; i++)
            cr_expect_eq(qps[i]->e2e_credits, sides == 3, "sides %u", sides);
        cm_net_end(net, id, e.id, listener);
    }
}
