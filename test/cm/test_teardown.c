/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection ends: DREQ and DREP, TIMEWAIT, connections that a peer has forgotten; LAP and APR. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 2};

/* 2^16 and 2^15 times 4.096 us: packet lifetime and ACK delay. */
#define LIFETIME_NS (UINT64_C(4096) << 16)
#define DELAY_NS    (UINT64_C(4096) << 15)

static void finish(struct cm_net *net, struct cm_pair *pair)
{
    cm_net_end(net, pair->active, pair->passive, pair->listener);
}

static void expect_state(const struct roce_cm_id *id, enum roce_cm_state state)
{
    cr_expect_eq(roce_cm_id_state(id), state, "%s, where %s was expected",
                 roce_cm_state_name(roce_cm_id_state(id)), roce_cm_state_name(state));
}

/* covers: ROCE-CM-16, ROCE-CM-17, ROCE-CM-64 */
Test(teardown, dreq_and_drep_end_a_connection)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cr_expect_eq(roce_qp_state(pair.active_qp), NORNIC_QPS_ERR, "at once");
    expect_state(pair.active, ROCE_CM_DREQ_SENT_STATE);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_expect_quiet(net);
    expect_state(pair.passive, ROCE_CM_DREQ_RCVD_STATE);
    cr_expect_eq(roce_qp_state(pair.passive_qp), NORNIC_QPS_RTS, "what is in flight may still be taken");
    cr_assert_eq(roce_cm_disconnect(pair.passive, "bye", 3, net->now_ns), 0);
    cr_expect_eq(roce_qp_state(pair.passive_qp), NORNIC_QPS_ERR);
    expect_state(pair.passive, ROCE_CM_TIMEWAIT_STATE);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_arr_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED).private_data, "bye", 4);
    expect_state(pair.active, ROCE_CM_TIMEWAIT_STATE);
    const struct roce_cm_mad *dreq = cm_net_last(net, 0, ROCE_CM_DREQ);
    cr_expect_eq(dreq->dreq.remote_qpn, roce_qp_num(pair.passive_qp));
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_DREP)->hdr.tid, dreq->hdr.tid, "echoed");
    cr_expect_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), -EINVAL);
    finish(net, &pair);
}

/* A DREQ that comes again has lost its DREP; a peer that counts its tries has another transaction id by now.
 */
Test(teardown, ROCE_CM_16_a_repeated_dreq_is_answered_by_its_own_transaction)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cr_assert_eq(roce_cm_disconnect(pair.passive, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    struct roce_cm_mad dreq = *cm_net_last(net, 0, ROCE_CM_DREQ);
    dreq.hdr.tid++;
    cm_net_inject(net, 0, 1, &dreq);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 2);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_DREP)->hdr.tid, dreq.hdr.tid);
    finish(net, &pair);
}

/* The row TIMEWAIT of ROCE section 16.5. */
Test(teardown, timewait_keeps_the_qpn_for_two_lifetimes_and_the_delay)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    uint64_t begin_ns = net->now_ns;
    cr_assert_eq(roce_cm_disconnect(pair.passive, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_run(net, begin_ns + 2 * LIFETIME_NS);
    expect_state(pair.active, ROCE_CM_TIMEWAIT_STATE);
    expect_state(pair.passive, ROCE_CM_TIMEWAIT_STATE);

    struct nornic_qp_attr reset = {.state = NORNIC_QPS_RESET};
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct roce_cm_id *again = cm_net_id(net, 0, NORNIC_PS_TCP);
    cr_assert_eq(roce_qp_modify(pair.active_qp, &reset, NORNIC_QP_STATE, net->now_ns), 0);
    cr_expect_eq(roce_cm_connect(again, &route, pair.active_qp, NULL, net->now_ns), -EADDRINUSE);

    cm_net_run(net, begin_ns + 2 * LIFETIME_NS + DELAY_NS + NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_TIMEWAIT_EXIT);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_TIMEWAIT_EXIT);
    expect_state(pair.active, ROCE_CM_IDLE_STATE);
    expect_state(pair.passive, ROCE_CM_IDLE_STATE);
    cr_expect_eq(roce_cm_connect(again, &route, pair.active_qp, NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cm_net_drop(net, e.id);
    cm_net_drop(net, again);
    finish(net, &pair);
}

/* An id that its application has given back still keeps the QPN, and answers the peer. */
Test(teardown, a_connection_goes_on_ending_without_its_owner)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct roce_cm_id *again = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct nornic_qp_attr reset = {.state = NORNIC_QPS_RESET};
    cm_net_drop(net, pair.active); /* DREQ */
    cr_expect_eq(roce_qp_state(pair.active_qp), NORNIC_QPS_ERR);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_drop(net, pair.passive); /* DREP */
    cm_net_run_for(net, NS_PER_MS);
    cr_assert_eq(roce_qp_modify(pair.active_qp, &reset, NORNIC_QP_STATE, net->now_ns), 0);
    cr_expect_eq(roce_cm_connect(again, &route, pair.active_qp, NULL, net->now_ns), -EADDRINUSE);
    cm_net_inject(net, 0, 1, cm_net_last(net, 0, ROCE_CM_DREQ));
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 2);
    cm_net_run_for(net, NS_PER_S);
    cr_expect_eq(roce_cm_connect(again, &route, pair.active_qp, NULL, net->now_ns), 0);
    cm_net_expect_quiet(net);
    cm_net_drop(net, again);
    cm_net_drop(net, pair.listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* The rows DREQ_SENT and DREQ_RCVD: both ends begin at once. */
Test(teardown, dreqs_that_cross_end_the_connection)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cr_assert_eq(roce_cm_disconnect(pair.passive, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_expect_quiet(net);
    expect_state(pair.active, ROCE_CM_TIMEWAIT_STATE);
    expect_state(pair.passive, ROCE_CM_TIMEWAIT_STATE);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_DREQ), 1);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_DREP), 1);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 1);
    finish(net, &pair);
}

Test(teardown, ROCE_CM_51_dreq_is_checked_and_unknown_ones_are_answered)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    const struct roce_cm_mad *rtu = cm_net_last(net, 0, ROCE_CM_RTU);
    struct roce_cm_mad dreq = {.hdr = rtu->hdr};
    dreq.hdr.attr_id = ROCE_CM_DREQ;
    dreq.hdr.tid = 77;
    dreq.dreq.local_comm_id = rtu->rtu.local_comm_id;
    dreq.dreq.remote_comm_id = rtu->rtu.remote_comm_id;
    dreq.dreq.remote_qpn = roce_qp_num(pair.passive_qp) + 1;
    cm_net_inject(net, 0, 1, &dreq); /* another QPN */
    expect_state(pair.passive, ROCE_CM_ESTABLISHED_STATE);
    dreq.dreq.remote_qpn--;
    cm_net_inject(net, 2, 1, &dreq); /* another host */
    expect_state(pair.passive, ROCE_CM_ESTABLISHED_STATE);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 0);
    cm_net_expect_quiet(net);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->rx_bad_value, 1);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->rx_wrong_peer, 1);

    dreq.dreq.local_comm_id ^= 1; /* a connection that is not known here */
    cm_net_inject(net, 2, 1, &dreq);
    const struct roce_cm_mad *drep = cm_net_last(net, 1, ROCE_CM_DREP);
    cr_expect_eq(drep->drep.local_comm_id, dreq.dreq.remote_comm_id);
    cr_expect_eq(drep->drep.remote_comm_id, dreq.dreq.local_comm_id);
    cr_expect_eq(drep->hdr.tid, 77);
    expect_state(pair.passive, ROCE_CM_ESTABLISHED_STATE);

    dreq.dreq.local_comm_id ^= 1;
    cm_net_inject(net, 0, 1, &dreq);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_inject(net, 0, 1, &dreq); /* repeated: dropped until the application has answered */
    cm_net_expect_quiet(net);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 1);
    cr_assert_eq(roce_cm_disconnect(pair.passive, NULL, 0, net->now_ns), 0);
    cm_net_inject(net, 0, 1, &dreq); /* and answered again in TIMEWAIT */
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREP), 3);
    cm_net_expect_quiet(net);
    finish(net, &pair);
}

/* covers: ROCE-CM-50 */
Test(teardown, ROCE_CM_50_a_req_for_a_qpn_that_is_connected_means_the_old_one_is_stale)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ);
    cm_net_inject(net, 0, 1, &req); /* the same once more: nothing happens */
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REJ), 0);
    expect_state(pair.passive, ROCE_CM_ESTABLISHED_STATE);
    req.req.local_comm_id ^= 0x55;
    cm_net_inject(net, 0, 1, &req);
    const struct roce_cm_rej *rej = &cm_net_last(net, 1, ROCE_CM_REJ)->rej;
    cr_expect_eq(rej->reason, ROCE_CM_REJ_STALE_CONN);
    cr_expect_eq(rej->remote_comm_id, req.req.local_comm_id);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREQ), 1, "the old one is disconnected");
    cr_expect_eq(roce_qp_state(pair.passive_qp), NORNIC_QPS_ERR);
    expect_state(pair.passive, ROCE_CM_DREQ_SENT_STATE);
    req.req.ca_guid ^= 1; /* another CA may use the number */
    req.req.local_comm_id ^= 0xaa;
    cm_net_inject(net, 0, 1, &req);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cm_net_drop(net, e.id);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->stale, 1);
    finish(net, &pair);
}

/* covers: ROCE-CM-50 */
Test(teardown, ROCE_CM_50_a_req_in_timewait_is_rejected_as_stale)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_assert_eq(roce_cm_disconnect(pair.passive, NULL, 0, net->now_ns), 0);
    expect_state(pair.passive, ROCE_CM_TIMEWAIT_STATE);
    struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ);
    cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_STALE_CONN, "the same REQ");
    req.req.local_comm_id ^= 0x55;
    cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REJ), 2, "the same QPN");
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_STALE_CONN);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_DREQ), 0);
    finish(net, &pair);
}

/* The row REQ_SENT: after reason 10 the QPN rests as well. */
Test(teardown, ROCE_CM_50_whoever_is_told_stale_waits)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_qp *qp = cm_net_qp(net, 0);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_assert_eq(roce_cm_connect(id, &route, qp, NULL, net->now_ns), 0);
    struct roce_cm_mad rej = {.hdr = cm_net_last(net, 0, ROCE_CM_REQ)->hdr};
    rej.hdr.attr_id = ROCE_CM_REJ;
    rej.rej.remote_comm_id = cm_net_last(net, 0, ROCE_CM_REQ)->req.local_comm_id;
    rej.rej.reason = ROCE_CM_REJ_STALE_CONN;
    cm_net_inject(net, 1, 0, &rej);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_STALE_CONN);
    expect_state(id, ROCE_CM_TIMEWAIT_STATE);
    cm_net_drop(net, id);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    finish(net, &pair);
}

/* The row ESTABLISHED: a REJ ends it. */
Test(teardown, ROCE_CM_52_a_timeout_reject_is_matched_by_guid_and_comm_id)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    const struct roce_cm_rep *rep = &cm_net_last(net, 1, ROCE_CM_REP)->rep;
    struct roce_cm_mad rej = {.hdr = cm_net_last(net, 0, ROCE_CM_REQ)->hdr};
    rej.hdr.attr_id = ROCE_CM_REJ;
    rej.rej.local_comm_id = rep->local_comm_id;
    rej.rej.rejected_message = ROCE_CM_MESSAGE_OTHER;
    rej.rej.reason = ROCE_CM_REJ_TIMEOUT;
    rej.rej.info_bytes = 8;
    memcpy(rej.rej.info, (const uint8_t[]){0x50, 0x54, 0, 0xff, 0xfe, 0, 0, 3}, 8); /* another CA */
    cm_net_inject(net, 1, 0, &rej);
    expect_state(pair.active, ROCE_CM_ESTABLISHED_STATE);
    rej.rej.info[7] = 2;
    rej.rej.rejected_message =
        ROCE_CM_MESSAGE_REQ; /* and not the REJ of a second copy of the REQ, which comes late */
    rej.rej.reason = ROCE_CM_REJ_CONSUMER;
    rej.rej.remote_comm_id = rep->remote_comm_id;
    cm_net_inject(net, 1, 0, &rej);
    expect_state(pair.active, ROCE_CM_ESTABLISHED_STATE);
    rej.rej.rejected_message = ROCE_CM_MESSAGE_OTHER;
    rej.rej.reason = ROCE_CM_REJ_TIMEOUT;
    rej.rej.remote_comm_id = 0;
    cm_net_inject(net, 2, 0, &rej); /* from elsewhere */
    expect_state(pair.active, ROCE_CM_ESTABLISHED_STATE);
    cm_net_inject(net, 1, 0, &rej);
    expect_state(pair.active, ROCE_CM_TIMEWAIT_STATE);
    cr_expect_eq(roce_qp_state(pair.active_qp), NORNIC_QPS_ERR);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED).status, -ECONNRESET);
    finish(net, &pair);
}

/* A LAP from node 0 to node 1. */
static struct roce_cm_mad lap_of(const struct cm_net *net, const struct cm_pair *pair)
{
    const struct roce_cm_mad *rtu = cm_net_last(net, 0, ROCE_CM_RTU);
    struct roce_cm_mad lap = {.hdr = rtu->hdr};
    lap.hdr.attr_id = ROCE_CM_LAP;
    lap.hdr.tid = 4711;
    lap.lap = (struct roce_cm_lap){
        .local_comm_id = rtu->rtu.local_comm_id,
        .remote_comm_id = rtu->rtu.remote_comm_id,
        .remote_qpn = roce_qp_num(pair->passive_qp),
        .remote_resp_timeout = 20,
        .hop_limit = 64,
    };
    memcpy(lap.lap.local_gid, net->node[0].addr.b, 16);
    memcpy(lap.lap.remote_gid, net->node[1].addr.b, 16);
    return lap;
}

/* covers: ROCE-CM-42, ROCE-CM-43, ROCE-CM-70, CA17-36, CA17-37, CA17-38, ROCE-INT-29 */
Test(teardown, CA17_36_lap_is_answered_without_a_look_at_its_lids)
{
    static const uint16_t lids[] = {0, 1, 0xbfff, 0xffff};
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    for (unsigned i = 0; i < 4; i++) {
        struct roce_cm_mad lap = lap_of(net, &pair);
        lap.lap.local_lid = lids[i];
        lap.lap.remote_lid = lids[3 - i];
        cm_net_inject(net, 0, 1, &lap);
        const struct roce_cm_mad *apr = cm_net_last(net, 1, ROCE_CM_APR);
        cr_expect_eq(cm_net_count(net, 1, ROCE_CM_APR), i + 1);
        cr_expect_eq(apr->apr.status, ROCE_CM_APR_UNSUPPORTED);
        cr_expect_eq(apr->apr.local_comm_id, lap.lap.remote_comm_id);
        cr_expect_eq(apr->apr.remote_comm_id, lap.lap.local_comm_id);
        cr_expect_eq(apr->hdr.tid, 4711);
    }
    struct roce_cm_mad lap = lap_of(net, &pair);
    lap.lap.remote_qpn++;
    cm_net_inject(net, 0, 1, &lap);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_APR)->apr.status, ROCE_CM_APR_QPN_MISMATCH);
    lap.lap.remote_comm_id ^= 1;
    cm_net_inject(net, 0, 1, &lap);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_APR)->apr.status, ROCE_CM_APR_INVALID_COMM_ID);
    cm_net_run_for(net, NS_PER_MS); /* the APRs arrive, unasked for */
    expect_state(pair.active, ROCE_CM_ESTABLISHED_STATE);
    expect_state(pair.passive, ROCE_CM_ESTABLISHED_STATE);
    cm_net_expect_quiet(net);
    finish(net, &pair);
}

/* Whatever an id is in the middle of when its application leaves, the peer hears of it. */
Test(teardown, an_id_can_be_given_back_in_any_state)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 8);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct roce_cm_event e;

    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP); /* REQ_SENT */
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    cm_net_drop(net, id);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_TIMEOUT);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect_quiet(net); /* a request that has gone before anybody saw it is not shown */

    id = cm_net_id(net, 0, NORNIC_PS_TCP); /* REQ_RCVD */
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_CONSUMER);
    cm_net_drop(net, id);

    id = cm_net_id(net, 0, NORNIC_PS_TCP); /* REP_SENT */
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_drop(net, e.id);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_drop(net, id);

    id = cm_net_id(net, 0, NORNIC_PS_TCP); /* a listener with a request that nobody has seen */
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_drop(net, listener);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_CONSUMER);
    cm_net_drop(net, id);
    cm_net_expect_quiet(net);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* covers: ROCE-CM-64 */
Test(teardown, an_id_stays_until_its_events_are_acknowledged)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_event event;
    cr_assert_eq(roce_cm_disconnect(pair.active, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_assert(roce_cm_get_event(net->node[1].cm, &event));
    cr_expect_eq(roce_cm_id_destroy(pair.passive, net->now_ns), -EBUSY);
    cr_expect_eq(roce_cm_destroy(net->node[1].cm), -EBUSY);
    roce_cm_ack_event(&event);
    finish(net, &pair);
}
