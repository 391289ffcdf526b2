/* SPDX-License-Identifier: BSD-2-Clause */
/* Service id resolution: which QPN and Q_Key serve a UDP port. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 7};

struct resolution {
    struct cm_net *net;
    struct roce_cm_id *listener, *asks, *asked;
    struct roce_cm_event event;
};

static struct resolution ask(void)
{
    struct resolution r = {.net = cm_net_create(&plain)};
    struct roce_cm_route route = cm_net_route(r.net, 0, 1, 7174);
    struct nornic_conn_param param = {.private_data = "who", .private_data_len = 3};
    r.listener = cm_net_id(r.net, 1, NORNIC_PS_UDP);
    cr_assert_eq(roce_cm_listen(r.listener, NULL, 7174, 2), 0);
    r.asks = cm_net_id(r.net, 0, NORNIC_PS_UDP);
    cr_assert_eq(roce_cm_connect(r.asks, &route, NULL, &param, r.net->now_ns), 0);
    cm_net_run_for(r.net, NS_PER_MS);
    r.event = cm_net_expect(r.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    r.asked = r.event.id;
    return r;
}

static void finish(struct resolution *r)
{
    cm_net_expect_quiet(r->net);
    cm_net_drop(r->net, r->asks);
    if (r->asked)
        cm_net_drop(r->net, r->asked);
    cm_net_drop(r->net, r->listener);
    cm_net_run(r->net, NET_TIME_NONE);
    cm_net_destroy(r->net);
}

static const struct nornic_conn_param answer = {
    .qp_num = 0x1234, .private_data = "me", .private_data_len = 2};

/* covers: ROCE-CM-20, ROCE-CM-21, ROCE-CM-60, ROCE-CM-63 */
Test(sidr, ROCE_CM_62_resolution_gives_qpn_and_qkey)
{
    struct resolution r = ask();
    const struct roce_cm_mad *req = cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ);
    cr_expect_eq(req->sidr_req.service_id, UINT64_C(0x01110000) + 7174);
    cr_expect_eq(req->sidr_req.pkey, 0xffff);
    cr_expect_eq(req->sidr_req.private_data[1], 0x40);
    cr_expect_eq(r.event.private_data_len, 180);
    cr_expect_arr_eq(r.event.private_data, "who", 4);
    cr_assert_eq(roce_cm_accept(r.asked, NULL, &answer, r.net->now_ns), 0);
    cm_net_run_for(r.net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(r.net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(e.qpn, 0x1234);
    cr_expect_eq(e.qkey, 0x01234567, "the default");
    cr_expect_eq(e.private_data_len, 136);
    cr_expect_arr_eq(e.private_data, "me", 3);
    cr_expect(nornic_addr_equal(&e.path.av.dgid, &r.net->node[1].addr));
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->hdr.tid, req->hdr.tid);
    finish(&r);
}

/* covers: ROCE-CM-62 */
Test(sidr, ROCE_CM_62_an_answer_that_is_lost_is_given_again)
{
    struct resolution r = ask();
    struct nornic_conn_param own = answer;
    own.qkey = 0x11112222;
    r.net->lose = cm_net_lose_some;
    r.net->lose_attr = ROCE_CM_SIDR_REP;
    r.net->lose_from = 1;
    r.net->lose_count = 1;
    cr_assert_eq(roce_cm_accept(r.asked, NULL, &own, r.net->now_ns), 0);
    cm_net_drop(r.net, r.asked); /* even when its application has gone */
    r.asked = NULL;
    cm_net_run_for(r.net, 6 * NS_PER_S);
    cr_expect_eq(cm_net_count(r.net, 0, ROCE_CM_SIDR_REQ), 2);
    cr_expect_eq(cm_net_count(r.net, 1, ROCE_CM_SIDR_REP), 2);
    cr_expect_eq(cm_net_expect(r.net, 0, NORNIC_CM_EVENT_ESTABLISHED).qkey, 0x11112222);
    finish(&r);
}

Test(sidr, ROCE_CM_62_an_answer_is_kept_for_a_while_and_no_longer)
{
    struct resolution r = ask();
    struct roce_cm_mad req = *cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ);
    cr_assert_eq(roce_cm_accept(r.asked, NULL, &answer, r.net->now_ns), 0);
    cm_net_drop(r.net, r.asked);
    cm_net_run_for(r.net, 20 * NS_PER_S); /* four round trips of 4.8 s */
    cm_net_expect(r.net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_inject(r.net, 0, 1, &req);
    cr_expect_eq(roce_cm_counters(r.net->node[1].cm)->rx_duplicate, 0);
    r.asked = cm_net_expect(r.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    finish(&r);
}

/* The row SIDR_REQ_SENT: the requester tries again, 16 times in all. */
Test(sidr, ROCE_CM_62_a_request_that_is_never_answered_is_given_up)
{
    struct resolution r = ask();
    uint64_t begin_ns = r.net->now_ns;
    cm_net_run(r.net, NET_TIME_NONE);
    cr_expect_eq(cm_net_expect(r.net, 0, NORNIC_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
    cr_expect_eq(cm_net_count(r.net, 0, ROCE_CM_SIDR_REQ), 16);
    cr_expect_lt(r.net->now_ns - begin_ns, 80 * NS_PER_S);
    cr_expect_eq(roce_cm_counters(r.net->node[1].cm)->rx_duplicate, 15, "one request, however often it came");
    finish(&r);
}

/* covers: ROCE-CM-71 */
Test(sidr, ROCE_CM_71_refusals_have_a_status)
{
    struct resolution r = ask();
    cr_assert_eq(roce_cm_reject(r.asked, 0, "no", 2, r.net->now_ns), 0);
    cm_net_run_for(r.net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(r.net, 0, NORNIC_CM_EVENT_UNREACHABLE);
    cr_expect_eq(e.status, ROCE_CM_SIDR_REJECTED);
    cr_expect_arr_eq(e.private_data, "no", 3);

    struct roce_cm_mad req = *cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ);
    req.sidr_req.request_id++;
    req.sidr_req.service_id++;
    cm_net_inject(r.net, 0, 1, &req);
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->sidr_rep.status, ROCE_CM_SIDR_UNSUPPORTED);
    req.sidr_req.service_id--;
    req.sidr_req.private_data[0] = 0x10;
    cm_net_inject(r.net, 0, 1, &req);
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->sidr_rep.status, ROCE_CM_SIDR_REJECTED);
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->sidr_rep.qpn, 0);
    struct roce_cm_id *tcp = cm_net_listen(r.net, 1, 7174, 2);
    req.sidr_req.service_id = UINT64_C(0x01060000) + 7174; /* connections are asked for by REQ */
    cm_net_inject(r.net, 0, 1, &req);
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->sidr_rep.status, ROCE_CM_SIDR_UNSUPPORTED);
    cm_net_drop(r.net, tcp);
    finish(&r);
}

Test(sidr, requests_of_two_peers_with_one_id_are_two)
{
    struct resolution r = ask();
    struct roce_cm_mad req = *cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ);
    cm_net_inject(r.net, 0, 1, &req);
    cm_net_expect_quiet(r.net);
    cm_net_inject(r.net, 2, 1, &req);
    struct roce_cm_event e = cm_net_expect(r.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    req.sidr_req.request_id ^= 4;
    cm_net_inject(r.net, 2, 1, &req);
    cm_net_expect_quiet(r.net); /* two wait already */
    cr_expect_eq(roce_cm_counters(r.net->node[1].cm)->drop_backlog, 1);
    cm_net_drop(r.net, e.id);
    cr_expect_eq(cm_net_last(r.net, 1, ROCE_CM_SIDR_REP)->sidr_rep.status, ROCE_CM_SIDR_REJECTED);
    finish(&r);
}

Test(sidr, answers_of_others_and_second_answers_are_dropped)
{
    struct resolution r = ask();
    struct roce_cm_mad rep = {.hdr = cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ)->hdr};
    rep.hdr.attr_id = ROCE_CM_SIDR_REP;
    rep.sidr_rep.request_id = cm_net_last(r.net, 0, ROCE_CM_SIDR_REQ)->sidr_req.request_id;
    rep.sidr_rep.qpn = 77;
    cm_net_inject(r.net, 2, 0, &rep);
    cm_net_expect_quiet(r.net);
    cr_expect_eq(roce_cm_counters(r.net->node[0].cm)->rx_wrong_peer, 1);
    cm_net_inject(r.net, 1, 0, &rep);
    cr_expect_eq(cm_net_expect(r.net, 0, NORNIC_CM_EVENT_ESTABLISHED).qpn, 77);
    cm_net_inject(r.net, 1, 0, &rep);
    finish(&r);
}
