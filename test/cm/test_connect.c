/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection is made: who says what, and what the QPs become. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/cm/request.h"

/* covers: ROCE-CM-53, ROCE-CM-64 */
Test(connect, ROCE_CM_53_both_qps_are_ready_when_both_ends_know)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    cr_expect_eq(roce_qp_state(r.qp), NORNIC_QPS_INIT);
    cr_assert_eq(roce_cm_accept(r.passive, qp, NULL, net->now_ns), 0);
    cr_expect_eq(roce_qp_state(qp), NORNIC_QPS_RTS, "before the REP arrives anywhere");
    cm_net_run_for(net, 15000); /* the REP arrives */
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_RTU), 1);
    cr_expect_eq(roce_qp_state(r.qp), NORNIC_QPS_RTS, "before the RTU arrives anywhere");
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(roce_cm_id_state(r.active), ROCE_CM_ESTABLISHED_STATE);
    cr_expect_eq(roce_cm_id_state(r.passive), ROCE_CM_REP_SENT_STATE);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(roce_cm_id_state(r.passive), ROCE_CM_ESTABLISHED_STATE);
    cm_net_expect_quiet(net);
    finish(net, &r);
}

Test(connect, ROCE_CM_30_starting_psn_is_what_the_receiver_of_the_message_uses)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct nornic_qp_attr a, p;
    roce_qp_query(pair.active_qp, &a, NULL);
    roce_qp_query(pair.passive_qp, &p, NULL);
    uint32_t req_psn = cm_net_last(net, 0, ROCE_CM_REQ)->req.starting_psn;
    uint32_t rep_psn = cm_net_last(net, 1, ROCE_CM_REP)->rep.starting_psn;
    cr_expect_neq(req_psn, rep_psn, "drawn by both");
    cr_expect_eq(a.rq_psn, req_psn);
    cr_expect_eq(p.sq_psn, req_psn);
    cr_expect_eq(p.rq_psn, rep_psn);
    cr_expect_eq(a.sq_psn, rep_psn);
    cr_expect_eq(a.dest_qpn, roce_qp_num(pair.passive_qp));
    cr_expect_eq(p.dest_qpn, roce_qp_num(pair.active_qp));
    cr_expect(nornic_addr_equal(&p.av.dgid, &net->node[0].addr));
    cr_expect(nornic_mac_equal(&p.av.dst_mac, &net->node[0].mac), "the MAC address that the REQ came from");
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}

Test(connect, ROCE_CM_31_resources_are_crossed_and_never_above_the_request)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    struct nornic_qp_attr a, p;
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REQ)->req.responder_resources, 3);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REQ)->req.initiator_depth, 2);
    cr_expect_eq(r.event.responder_resources, 2, "what the peer wants to issue");
    cr_expect_eq(r.event.initiator_depth, 3, "what the peer takes");
    struct nornic_conn_param answer = {.responder_resources = 9, .initiator_depth = 1, .rnr_retry_count = 4};
    cr_assert_eq(roce_cm_accept(r.passive, qp, &answer, net->now_ns), 0);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REP)->rep.responder_resources, 2, "not above the request");
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REP)->rep.initiator_depth, 1);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(e.responder_resources, 1);
    cr_expect_eq(e.initiator_depth, 2);
    roce_qp_query(r.qp, &a, NULL);
    roce_qp_query(qp, &p, NULL);
    cr_expect_eq(p.max_dest_rd_atomic, 2);
    cr_expect_eq(p.max_rd_atomic, 1);
    cr_expect_eq(a.max_dest_rd_atomic, 1);
    cr_expect_eq(a.max_rd_atomic, 2);
    finish(net, &r);
}

/* Each side says for itself; who accepts sends with the traffic class of the request unless it names one. */
Test(connect, type_of_service_and_ack_timeout)
{
    struct cm_net *net = cm_net_create(&plain);
    struct nornic_conn_param wanted = {.responder_resources = 1,
                                       .initiator_depth = 1,
                                       .has_traffic_class = true,
                                       .traffic_class = 0x68,
                                       .has_ack_timeout = true,
                                       .ack_timeout = 11};
    struct request r = ask(net, &wanted, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    struct nornic_qp_attr a, p;
    struct nornic_conn_param answer = {.ack_timeout = 32};
    cr_expect_eq(roce_cm_accept(r.passive, qp, &answer, net->now_ns), -EINVAL);
    answer = (struct nornic_conn_param){.responder_resources = 1, .has_ack_timeout = true};
    cr_assert_eq(roce_cm_accept(r.passive, qp, &answer, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    roce_qp_query(r.qp, &a, NULL);
    roce_qp_query(qp, &p, NULL);
    cr_expect_eq(a.av.traffic_class, 0x68);
    cr_expect_eq(a.timeout, 11);
    cr_expect_eq(p.av.traffic_class, 0x68, "that of the request");
    cr_expect_eq(p.timeout, 0, "without end, as was asked");
    finish(net, &r);
}

/* covers: ROCE-CM-31 */
Test(connect, ROCE_CM_31_a_peer_that_wants_more_than_the_device_has_is_rejected)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    net->lose = cm_net_lose_some;
    net->lose_attr = ROCE_CM_REP;
    net->lose_from = 1;
    net->lose_count = 1;
    cr_assert_eq(roce_cm_accept(r.passive, qp, NULL, net->now_ns), 0);
    struct roce_cm_mad rep = *cm_net_last(net, 1, ROCE_CM_REP);
    rep.rep.initiator_depth = NORNIC_MAX_RD_ATOMIC + 1;
    cm_net_inject(net, 1, 0, &rep);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_INSUFFICIENT_RESOURCES);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.rejected_message, ROCE_CM_MESSAGE_REP);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_ERROR);
    cr_expect_eq(roce_qp_state(r.qp), NORNIC_QPS_ERR);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_expect(net, 1, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INSUFFICIENT_RESOURCES);
    finish(net, &r);
}

/* Linux's server may offer to issue more than the client named, and is taken at its word (pcaps/cm_disc). */
Test(connect, ROCE_CM_31_a_peer_that_wants_more_than_we_named_gets_it)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    struct nornic_qp_attr a;
    net->lose = cm_net_lose_some;
    net->lose_attr = ROCE_CM_REP;
    net->lose_from = 1;
    net->lose_count = 1;
    cr_assert_eq(roce_cm_accept(r.passive, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    struct roce_cm_mad rep = *cm_net_last(net, 1, ROCE_CM_REP);
    rep.rep.initiator_depth = 7;
    rep.rep.responder_resources = 5;
    cm_net_inject(net, 1, 0, &rep);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    roce_qp_query(r.qp, &a, NULL);
    cr_expect_eq(a.max_dest_rd_atomic, 7);
    cr_expect_eq(a.max_rd_atomic, 2, "ours stays what we named");
    finish(net, &r);
}

Test(connect, ROCE_CM_32_retry_counts_are_for_the_recipient)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    struct nornic_conn_param answer = {.rnr_retry_count = 4};
    struct nornic_qp_attr a, p;
    cr_expect_eq(r.event.retry_count, 5);
    cr_expect_eq(r.event.rnr_retry_count, 6);
    cr_assert_eq(roce_cm_accept(r.passive, qp, &answer, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    roce_qp_query(r.qp, &a, NULL);
    roce_qp_query(qp, &p, NULL);
    cr_expect_eq(p.retry_cnt, 5);
    cr_expect_eq(p.rnr_retry, 6);
    cr_expect_eq(a.retry_cnt, 5);
    cr_expect_eq(a.rnr_retry, 4);
    finish(net, &r);
}

/* covers: ROCE-CM-33, ROCE-CM-35, ROCE-INT-23, ROCE-INT-24, ROCE-INT-25 */
Test(connect, ROCE_CM_35_defaults_are_those_of_linux)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    const struct roce_cm_req *req = &cm_net_last(net, 0, ROCE_CM_REQ)->req;
    const struct roce_cm_rep *rep = &cm_net_last(net, 1, ROCE_CM_REP)->rep;
    struct roce_cm_path_block path;
    struct nornic_qp_attr a, p;
    roce_cm_path_block_get(&path, req->primary);
    roce_qp_query(pair.active_qp, &a, NULL);
    roce_qp_query(pair.passive_qp, &p, NULL);
    cr_expect_eq(req->remote_resp_timeout, 20);
    cr_expect_eq(req->local_resp_timeout, 20);
    cr_expect_eq(req->max_cm_retries, 15);
    cr_expect_eq(req->pkey, 0xffff);
    cr_expect_eq(path.ack_timeout, 17);
    cr_expect_eq(rep->target_ack_delay, 15);
    cr_expect_eq(a.timeout, 17);
    cr_expect_eq(p.timeout, 17);
    cr_expect_eq(a.min_rnr_timer, 0, "ROCE-INT-23");
    cr_expect_eq(p.min_rnr_timer, 0);
    cr_expect_eq(a.access_flags,
                 NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC);
    cr_expect_eq(a.path_mtu, NORNIC_MTU_1024, "ROCE-INT-25: of an MTU of 1500");
    cr_expect_eq(p.path_mtu, NORNIC_MTU_1024);
    cr_expect_eq(req->ca_guid, 0x505400fffe000001, "as Linux makes it of a MAC address");
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}

/* covers: ROCE-INT-24 */
Test(connect, ROCE_INT_24_without_responder_resources_only_writing_is_allowed)
{
    struct cm_net *net = cm_net_create(&plain);
    struct nornic_conn_param none = {.retry_count = 7};
    struct request r = ask(net, &none, true);
    struct roce_qp *qp = cm_net_qp(net, 1);
    struct nornic_qp_attr p;
    cr_assert_eq(roce_cm_accept(r.passive, qp, NULL, net->now_ns), 0);
    roce_qp_query(qp, &p, NULL);
    cr_expect_eq(p.access_flags, NORNIC_ACCESS_REMOTE_WRITE);
    finish(net, &r);
}

/* The table of ROCE-CM-33, from its formula. */
Test(connect, ROCE_CM_33_own_timer_counts_the_delay_of_the_peer)
{
    static const struct {
        uint8_t delay, timeout;
    } rows[] = {{0, 17}, {15, 17}, {16, 18}, {17, 18}, {18, 19}, {19, 19}, {25, 25}, {31, 31}};
    for (unsigned i = 0; i < array_len(rows); i++) {
        struct cm_net *net = cm_net_create(&plain);
        struct request r = ask(net, &param, true);
        struct nornic_qp_attr a;
        net->lose = cm_net_lose_some;
        net->lose_attr = ROCE_CM_REP;
        net->lose_from = 1;
        net->lose_count = 1;
        cr_assert_eq(roce_cm_accept(r.passive, cm_net_qp(net, 1), NULL, net->now_ns), 0);
        struct roce_cm_mad rep = *cm_net_last(net, 1, ROCE_CM_REP);
        rep.rep.target_ack_delay = rows[i].delay;
        cm_net_inject(net, 1, 0, &rep);
        roce_qp_query(r.qp, &a, NULL);
        cr_expect_eq(a.timeout, rows[i].timeout, "delay %u gives %u", rows[i].delay, a.timeout);
        cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
        finish(net, &r);
    }
}

/* covers: ROCE-CM-36 */
Test(connect, ROCE_CM_36_path_mtu_is_what_fits_the_port_and_the_way)
{
    static const struct {
        uint32_t way_bytes;
        uint8_t path_mtu;
    } cases[] = {{0, NORNIC_MTU_1024},  {1499, NORNIC_MTU_1024}, {1000, NORNIC_MTU_512},
                 {576, NORNIC_MTU_256}, {9000, NORNIC_MTU_1024}, /* the port's MTU is 1500 */
                 {200, NORNIC_MTU_1024}};                        /* too small for RoCE: sending will tell */
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, array_len(cases));
    for (size_t i = 0; i < array_len(cases); i++) {
        struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
        struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
        route.mtu_bytes = cases[i].way_bytes;
        cr_assert_eq(roce_cm_connect(id, &route, NULL,
                                     &(struct nornic_conn_param){.qp_num = 77 + (uint32_t)i}, net->now_ns),
                     0);
        cm_net_run_for(net, NS_PER_MS);
        cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REQ)->req.path_mtu, cases[i].path_mtu, "%u",
                     cases[i].way_bytes);
        cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
        cm_net_drop(net, id);
    }
    cm_net_drop(net, listener);
    cm_net_destroy(net);
}

/* covers: ROCE-CM-63, ROCE-CM-61 */
Test(connect, ROCE_CM_63_private_data_fills_what_the_message_has)
{
    struct cm_net *net = cm_net_create(&plain);
    uint8_t data[256];
    memset(data, 0x5a, sizeof data);
    struct nornic_conn_param p = param;
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct roce_qp *qp = cm_net_qp(net, 0);
    p.private_data = data;
    p.private_data_len = 57;
    cr_expect_eq(roce_cm_connect(id, &route, qp, &p, net->now_ns), -EINVAL);
    p.private_data_len = 56;
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 1);
    cr_assert_eq(roce_cm_connect(id, &route, qp, &p, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(e.private_data_len, 56);
    cr_expect_arr_eq(e.private_data, data, 56);
    p.private_data_len = 197;
    cr_expect_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), &p, net->now_ns), -EINVAL);
    p.private_data_len = 3;
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), &p, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event up = cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(up.private_data_len, 196, "all of it");
    cr_expect_arr_eq(up.private_data, ((uint8_t[]){0x5a, 0x5a, 0x5a, 0, 0}), 5);
    cr_expect_eq(cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED).private_data_len, 224);
    cr_expect_eq(roce_cm_disconnect(id, data, 221, net->now_ns), -EINVAL);
    cr_assert_eq(roce_cm_disconnect(id, data, 220, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event down = cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_eq(down.private_data_len, 220);
    cr_expect_arr_eq(down.private_data, data, 220);
    cm_net_end(net, id, e.id, listener);
}

/* An application that moves its QP itself: librdmacm without a QP of its own. */
Test(connect, an_application_may_move_its_qps_itself)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, false);
    struct roce_qp *qp = cm_net_qp(net, 1);
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    struct nornic_qp_attr attr;
    uint32_t mask;
    cr_expect_eq(roce_cm_qp_attr(r.active, NORNIC_QPS_RTR, &attr, &mask), -EINVAL, "nothing is known yet");
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(roce_cm_qp_attr(r.passive, steps[i], &attr, &mask), 0);
        cr_assert_eq(roce_qp_modify(qp, &attr, mask, net->now_ns), 0);
    }
    struct nornic_conn_param p = {.responder_resources = 2, .initiator_depth = 3, .qp_num = roce_qp_num(qp)};
    cr_assert_eq(roce_cm_accept(r.passive, NULL, &p, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_RTU), 0);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
    cr_expect_eq(roce_cm_id_state(r.active), ROCE_CM_REP_RCVD_STATE);
    for (unsigned i = 0; i < 3; i++) {
        cr_assert_eq(roce_cm_qp_attr(r.active, steps[i], &attr, &mask), 0);
        cr_assert_eq(roce_qp_modify(r.qp, &attr, mask, net->now_ns), 0);
    }
    cr_assert_eq(roce_cm_establish(r.active, "rtu", 3, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_arr_eq(e.private_data, "rtu", 4);
    cm_net_expect_quiet(net);
    finish(net, &r);
}

/* covers: ROCE-CM-52 */
Test(connect, ROCE_CM_52_a_reject_of_the_application_reaches_the_other)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    cr_assert_eq(roce_cm_reject(r.passive, 0, "not today", 9, net->now_ns), 0);
    const struct roce_cm_rej *rej = &cm_net_last(net, 1, ROCE_CM_REJ)->rej;
    cr_expect_eq(rej->local_comm_id, 0);
    cr_expect_eq(rej->rejected_message, ROCE_CM_MESSAGE_REQ);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED);
    cr_expect_eq(e.status, ROCE_CM_REJ_CONSUMER);
    cr_expect_eq(e.private_data_len, 148);
    cr_expect_arr_eq(e.private_data, "not today", 10);
    cr_expect_eq(roce_cm_id_state(r.active), ROCE_CM_IDLE_STATE);
    cr_expect_eq(roce_cm_accept(r.passive, cm_net_qp(net, 1), NULL, net->now_ns), -EINVAL);
    finish(net, &r);
}

Test(connect, a_reject_of_the_answer_reaches_the_other_even_when_it_is_lost_once)
{
    for (unsigned lost = 0; lost < 2; lost++) {
        struct cm_net *net = cm_net_create(&plain);
        struct request r = ask(net, &param, false);
        struct roce_qp *qp = cm_net_qp(net, 1);
        cr_assert_eq(roce_cm_accept(r.passive, qp, NULL, net->now_ns), 0);
        cm_net_run_for(net, NS_PER_MS);
        cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
        net->lose = cm_net_lose_some;
        net->lose_attr = ROCE_CM_REJ;
        net->lose_count = lost;
        cr_assert_eq(roce_cm_reject(r.active, 0, "changed my mind", 15, net->now_ns), 0);
        cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.rejected_message, ROCE_CM_MESSAGE_REP);
        cr_expect_eq(roce_cm_id_state(r.active), ROCE_CM_TIMEWAIT_STATE);
        if (lost) /* the peer's REP is repeated while we are in TIMEWAIT: 17 is 537 ms, so make it soon */
            cm_net_inject(net, 1, 0, cm_net_last(net, 1, ROCE_CM_REP));
        cm_net_run_for(net, NS_PER_MS);
        cr_expect_eq(cm_net_expect(net, 1, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_CONSUMER);
        cr_expect_eq(roce_qp_state(qp), NORNIC_QPS_ERR);
        finish(net, &r);
    }
}

/* covers: ROCE-CM-54 */
Test(connect, ROCE_CM_54_two_requests_that_cross_are_no_connection)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *id[2];
    for (unsigned i = 0; i < 2; i++) {
        struct roce_cm_route route = cm_net_route(net, i, !i, 7471);
        route.src_port = 7471;
        id[i] = cm_net_id(net, i, NORNIC_PS_TCP);
        cr_assert_eq(roce_cm_connect(id[i], &route, cm_net_qp(net, i), &param, net->now_ns), 0);
    }
    cm_net_run_for(net, NS_PER_MS);
    for (unsigned i = 0; i < 2; i++) {
        cr_expect_eq(cm_net_expect(net, i, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INVALID_SERVICE_ID);
        cm_net_drop(net, id[i]);
    }
    cm_net_destroy(net);
}

/* Node 0 asks node 1, where nobody listens: a REQ each 10 ms. */
static struct roce_cm_id *ask_patiently(struct cm_net *net, uint64_t patience_ns)
{
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    roce_cm_id_set_patience(id, patience_ns);
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), &param, net->now_ns), 0);
    cm_net_run_for(net, 2 * NORNIC_CM_ASK_AGAIN_NS + NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 3);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REJ), 3);
    cm_net_expect_quiet(net);
    return id;
}

/* Node 1 listens after all; the request that comes. */
static struct roce_cm_id *listen_late(struct cm_net *net, struct roce_cm_id **listener)
{
    *listener = cm_net_listen(net, 1, 7471, 1);
    cm_net_run_for(net, NORNIC_CM_ASK_AGAIN_NS);
    return cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
}

Test(connect, a_patient_one_finds_who_listens_a_moment_later)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *id = ask_patiently(net, 60 * NS_PER_MS);
    struct roce_cm_id *listener, *passive = listen_late(net, &listener);
    cr_assert_eq(roce_cm_accept(passive, cm_net_qp(net, 1), &param, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_end(net, id, passive, listener);
}

Test(connect, a_patient_one_gives_up_when_its_time_is_over)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *id = ask_patiently(net, 35 * NS_PER_MS);
    cm_net_run_for(net, 60 * NS_PER_MS);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INVALID_SERVICE_ID);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 5, "at 0, 10, 20, 30 and 40 ms");
    cm_net_drop(net, id);
    cm_net_destroy(net);
}

/* A program that refuses has been heard. */
Test(connect, a_patient_one_takes_another_refusal_at_once)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *id = ask_patiently(net, 60 * NS_PER_MS);
    struct roce_cm_id *listener, *passive = listen_late(net, &listener);
    cr_assert_eq(roce_cm_reject(passive, 0, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_CONSUMER);
    cm_net_end(net, id, passive, listener);
}

/* covers: ROCE-CM-2 */
Test(connect, ROCE_CM_2_messages_and_connection_are_of_one_family)
{
    struct cm_net_config config = {.seed = 3, .ipv6 = true};
    struct cm_net *net = cm_net_create(&config);
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    route.path.av.dgid = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1});
    cr_expect_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), &param, net->now_ns), -EINVAL);
    cm_net_drop(net, id);
    struct cm_pair pair = cm_net_connect(net);
    const struct roce_cm_req *req = &cm_net_last(net, 0, ROCE_CM_REQ)->req;
    struct roce_cm_endpoints e;
    cr_expect_eq(req->private_data[1], 0x60);
    cr_expect_arr_eq(req->private_data + 4, net->node[0].addr.b, 16);
    cr_expect_arr_eq(req->private_data + 20, net->node[1].addr.b, 16);
    roce_cm_id_endpoints(pair.passive, &e);
    cr_expect(nornic_addr_equal(&e.remote, &net->node[0].addr));
    cr_expect(nornic_addr_equal(&e.local, &net->node[1].addr));
    cr_expect_eq(e.local_port, 7471);
    cr_expect_geq(e.remote_port, 32768);
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}
