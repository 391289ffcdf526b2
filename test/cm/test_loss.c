/* SPDX-License-Identifier: BSD-2-Clause */
/* What a network loses: each message once, each always; how long it takes to recover, or to give up. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/cm/net.h"

/* 2 * 2^16 + 2^20 times 4.096 us: 4.83 s, as Linux was seen to wait (pcaps/cm_lossy). */
#define ROUND_TRIP_NS ((UINT64_C(4096) << 17) + (UINT64_C(4096) << 20))
#define RESPONSE_NS   (UINT64_C(4096) << 20)
#define SERVICE_NS    ((UINT64_C(4096) << 24) + (UINT64_C(4096) << 16))

static const struct cm_net_config plain = {.seed = 4};

/* Both applications of a connection, which is made, and ended by node 0 once both know. */
struct flow {
    struct cm_net *net;
    struct roce_cm_id *listener, *id[2];
    struct roce_qp *qp[2];
    bool up[2], down[2], failed[2];
    int status[2];
    uint64_t up_ns[2], end_ns;
};

static void flow_event(struct flow *f, unsigned node, const struct roce_cm_event *e)
{
    switch (e->type) {
    case NORNIC_CM_EVENT_CONNECT_REQUEST:
        f->id[1] = e->id;
        f->qp[1] = cm_net_qp(f->net, 1);
        cr_assert_eq(roce_cm_accept(e->id, f->qp[1], NULL, f->net->now_ns), 0);
        return;
    case NORNIC_CM_EVENT_ESTABLISHED:
        f->up[node] = true;
        f->up_ns[node] = f->net->now_ns;
        break;
    case NORNIC_CM_EVENT_DISCONNECTED:
        f->down[node] = true;
        f->status[node] = e->status;
        if (roce_cm_id_state(e->id) == ROCE_CM_DREQ_RCVD_STATE)
            roce_cm_disconnect(e->id, NULL, 0, f->net->now_ns);
        return;
    case NORNIC_CM_EVENT_REJECTED:
    case NORNIC_CM_EVENT_UNREACHABLE:
    case NORNIC_CM_EVENT_CONNECT_ERROR:
        f->failed[node] = true;
        f->status[node] = e->status;
        return;
    default:
        return;
    }
    if (f->up[0] && f->up[1])
        roce_cm_disconnect(f->id[0], NULL, 0, f->net->now_ns);
}

static struct flow flow_run(unsigned from, unsigned attr, unsigned count)
{
    struct flow f = {.net = cm_net_create(&plain)};
    struct cm_net *net = f.net;
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct roce_cm_event e;
    net->lose = cm_net_lose_some;
    net->lose_from = from;
    net->lose_attr = attr;
    net->lose_count = count;
    f.listener = cm_net_listen(net, 1, 7471, 4);
    f.id[0] = cm_net_id(net, 0, NORNIC_PS_TCP);
    f.qp[0] = cm_net_qp(net, 0);
    uint64_t begin_ns = net->now_ns;
    cr_assert_eq(roce_cm_connect(f.id[0], &route, f.qp[0], NULL, net->now_ns), 0);
    for (uint64_t next_ns; (next_ns = cm_net_next_ns(net)) != NET_TIME_NONE;) {
        cm_net_run(net, next_ns);
        for (unsigned node = 0; node < 2; node++)
            while (cm_net_event(net, node, &e))
                flow_event(&f, node, &e);
    }
    f.end_ns = net->now_ns - begin_ns;
    f.up_ns[0] -= f.up[0] ? begin_ns : 0;
    f.up_ns[1] -= f.up[1] ? begin_ns : 0;
    return f;
}

static void flow_end(struct flow *f)
{
    cm_net_drop(f->net, f->id[0]);
    if (f->id[1])
        cm_net_drop(f->net, f->id[1]);
    cm_net_drop(f->net, f->listener);
    cm_net_run(f->net, NET_TIME_NONE);
    cm_net_destroy(f->net);
}

static bool is_about(uint64_t ns, uint64_t want_ns)
{
    return ns >= want_ns && ns < want_ns + 2 * NS_PER_MS;
}

/* covers: ROCE-CM-34, ROCE-CM-35 */
Test(loss, ROCE_CM_34_every_message_may_be_lost_once)
{
    static const struct {
        unsigned from, attr;
        uint64_t late_ns; /* until both are up */
    } rows[] = {
        {2, 0, 0},
        {0, ROCE_CM_REQ, ROUND_TRIP_NS},
        {1, ROCE_CM_REP, RESPONSE_NS},
        {0, ROCE_CM_RTU, RESPONSE_NS},
        {0, ROCE_CM_DREQ, 0},
        {1, ROCE_CM_DREP, 0},
    };
    for (unsigned i = 0; i < array_len(rows); i++) {
        struct flow f = flow_run(rows[i].from, rows[i].attr, 1);
        const char *name = roce_cm_attr_name(rows[i].attr);
        cr_expect(f.up[0] && f.up[1] && f.down[0] && f.down[1], "%s lost", name);
        cr_expect(!f.failed[0] && !f.failed[1], "%s lost", name);
        uint64_t last_ns = f.up_ns[0] > f.up_ns[1] ? f.up_ns[0] : f.up_ns[1];
        cr_expect(is_about(last_ns, rows[i].late_ns), "%s lost: up after %g s", name, (double)last_ns / 1e9);
        cr_expect_eq(
            roce_cm_counters(f.net->node[0].cm)->resent + roce_cm_counters(f.net->node[1].cm)->resent >= 1,
            i > 0, "%s", name);
        cr_expect_eq(roce_qp_state(f.qp[0]), NORNIC_QPS_ERR);
        cr_expect_eq(roce_qp_state(f.qp[1]), NORNIC_QPS_ERR);
        flow_end(&f);
    }
}

/* The row REQ_SENT: 1 + 15 REQs, then REJ 4 with the GUID. */
Test(loss, ROCE_CM_34_a_req_that_is_never_answered_is_given_up)
{
    struct flow f = flow_run(0, ROCE_CM_REQ, 1000);
    cr_expect(f.failed[0] && !f.up[0]);
    cr_expect_eq(f.status[0], -ETIMEDOUT);
    cr_expect_eq(cm_net_count(f.net, 0, ROCE_CM_REQ), 16);
    cr_expect(is_about(f.end_ns, 16 * ROUND_TRIP_NS), "%g s", (double)f.end_ns / 1e9);
    const struct roce_cm_rej *rej = &cm_net_last(f.net, 0, ROCE_CM_REJ)->rej;
    cr_expect_eq(rej->reason, ROCE_CM_REJ_TIMEOUT);
    cr_expect_eq(rej->info_bytes, 8);
    cr_expect_arr_eq(rej->info, ((uint8_t[]){0x50, 0x54, 0, 0xff, 0xfe, 0, 0, 1}), 8);
    cr_expect_eq(roce_qp_state(f.qp[0]), NORNIC_QPS_ERR);
    cr_expect_eq(roce_cm_id_state(f.id[0]), ROCE_CM_IDLE_STATE);
    flow_end(&f);
}

/* The row REP_SENT: the REQ's timeout and retries count. And ROCE-CM-52: the REJ finds its way. */
Test(loss, ROCE_CM_52_a_rep_that_is_never_answered_is_given_up_by_both)
{
    struct flow f = flow_run(1, ROCE_CM_REP, 1000);
    cr_expect(f.failed[0] && f.failed[1]);
    cr_expect(!f.up[0] && !f.up[1]);
    cr_expect_eq(cm_net_count(f.net, 1, ROCE_CM_REP), 16);
    cr_expect_eq(f.status[1], -ETIMEDOUT);
    cr_expect_eq(f.status[0], ROCE_CM_REJ_TIMEOUT, "rejected, before its own timer");
    cr_expect_eq(cm_net_last(f.net, 1, ROCE_CM_REJ)->rej.info_bytes, 8);
    cr_expect_leq(f.end_ns, 17 * RESPONSE_NS);
    flow_end(&f);
}

/* The active side is up; the REJ ends it: both fail. */
Test(loss, an_rtu_that_never_arrives_ends_both)
{
    struct flow f = flow_run(0, ROCE_CM_RTU, 1000);
    cr_expect(f.up[0] && f.down[0] && f.failed[1] && !f.up[1]);
    cr_expect_eq(cm_net_count(f.net, 0, ROCE_CM_RTU), 16, "each REP is answered");
    cr_expect_eq(f.status[0], -ECONNRESET);
    cr_expect_eq(roce_qp_state(f.qp[0]), NORNIC_QPS_ERR);
    cr_expect_eq(roce_qp_state(f.qp[1]), NORNIC_QPS_ERR);
    cr_expect_leq(f.end_ns, 17 * RESPONSE_NS);
    flow_end(&f);
}

/* The row DREQ_SENT: after the retries TIMEWAIT all the same. */
Test(loss, a_dreq_that_is_never_answered_ends_all_the_same)
{
    struct flow f = flow_run(1, ROCE_CM_DREP, 1000);
    cr_expect(f.down[0] && f.down[1]);
    cr_expect_eq(f.status[0], -ETIMEDOUT);
    cr_expect_eq(f.status[1], 0);
    cr_expect_eq(cm_net_count(f.net, 0, ROCE_CM_DREQ), 16);
    cr_expect_leq(f.end_ns, 17 * ROUND_TRIP_NS);
    flow_end(&f);
}

Test(loss, a_dreq_that_never_arrives_ends_one)
{
    struct flow f = flow_run(0, ROCE_CM_DREQ, 1000);
    cr_expect(f.down[0] && !f.down[1]);
    cr_expect_eq(f.status[0], -ETIMEDOUT);
    cr_expect_eq(roce_cm_id_state(f.id[1]), ROCE_CM_ESTABLISHED_STATE, "nobody has told it");
    flow_end(&f);
}

/* The rows REQ_RCVD, MRA_REQ_SENT, MRA_REQ_RCVD: an application thinks for a minute. */
Test(loss, an_application_that_thinks_is_waited_for)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    uint64_t begin_ns = net->now_ns;
    cm_net_run(net, begin_ns + ROUND_TRIP_NS - NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_MRA), 0, "only for a repeated REQ");
    cm_net_run(net, begin_ns + ROUND_TRIP_NS + NS_PER_MS);
    const struct roce_cm_mra *mra = &cm_net_last(net, 1, ROCE_CM_MRA)->mra;
    cr_expect_eq(mra->service_timeout, 24);
    cr_expect_eq(mra->mraed_message, ROCE_CM_MESSAGE_REQ);
    cr_expect_eq(roce_cm_id_state(id), ROCE_CM_MRA_REQ_RCVD_STATE);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 2);
    cm_net_run(net, begin_ns + ROUND_TRIP_NS + SERVICE_NS - NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 2, "patience");
    cm_net_run(net, begin_ns + ROUND_TRIP_NS + SERVICE_NS + NS_PER_MS);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 3);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_MRA), 2, "a repeated REQ is answered by the MRA again");
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cm_net_expect_quiet(net); /* one request, however often it came */
    cr_expect_eq(roce_cm_id_state(e.id), ROCE_CM_MRA_REQ_SENT_STATE);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_end(net, id, e.id, listener);
}

/* covers: ROCE-CM-12 */
Test(loss, an_application_may_ask_for_patience)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct nornic_conn_param p = {.qp_num = roce_qp_num(cm_net_qp(net, 0))};
    cr_assert_eq(roce_cm_connect(id, &route, NULL, &p, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(roce_cm_mra(e.id, 32, NULL, 0, net->now_ns), -EINVAL);
    cr_assert_eq(roce_cm_mra(e.id, 22, "wait", 4, net->now_ns), 0);
    cm_net_run_for(net, 10 * NS_PER_S);
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_REQ), 1, "17 s were promised");
    cr_expect_eq(roce_cm_id_state(id), ROCE_CM_MRA_REQ_RCVD_STATE);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_CONNECT_RESPONSE);
    cr_assert_eq(roce_cm_mra(id, 22, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(roce_cm_id_state(e.id), ROCE_CM_MRA_REP_RCVD_STATE);
    cr_expect_eq(cm_net_last(net, 0, ROCE_CM_MRA)->mra.mraed_message, ROCE_CM_MESSAGE_REP);
    cm_net_run_for(net, 10 * NS_PER_S);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REP), 1);
    cm_net_inject(net, 1, 0, cm_net_last(net, 1, ROCE_CM_REP));
    cr_expect_eq(cm_net_count(net, 0, ROCE_CM_MRA), 2, "a repeated REP is answered by the MRA again");
    cr_assert_eq(roce_cm_establish(id, NULL, 0, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_end(net, id, e.id, listener);
}

/* The row REP_SENT: data says as much as an RTU. */
Test(loss, ROCE_CM_53_data_before_the_rtu_establishes_the_connection)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    net->lose = cm_net_lose_some;
    net->lose_attr = ROCE_CM_RTU;
    net->lose_count = 1000;
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(roce_cm_notify_established(e.id, net->now_ns), -EINVAL);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cr_assert_eq(roce_cm_notify_established(e.id, net->now_ns), 0);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_run(net, NET_TIME_NONE);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REP), 1, "nothing is left to wait for");
    cr_expect_eq(roce_cm_id_state(e.id), ROCE_CM_ESTABLISHED_STATE);
    cm_net_end(net, id, e.id, listener);
}

/* A REQ that was answered by an MRA of `code`: how often it was sent `ns` after that. */
static unsigned reqs_after_mra(uint8_t code, uint64_t ns)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    net->lose = cm_net_lose_some;
    net->lose_attr = ROCE_CM_REQ;
    net->lose_count = 1000;
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ), mra = {.hdr = req.hdr};
    mra.hdr.attr_id = ROCE_CM_MRA;
    mra.mra = (struct roce_cm_mra){.local_comm_id = 9,
                                   .remote_comm_id = req.req.local_comm_id,
                                   .mraed_message = ROCE_CM_MESSAGE_REQ,
                                   .service_timeout = code};
    cm_net_inject(net, 1, 0, &mra);
    cr_assert_eq(roce_cm_id_state(id), ROCE_CM_MRA_REQ_RCVD_STATE);
    cm_net_run_for(net, ns);
    unsigned count = cm_net_count(net, 0, ROCE_CM_REQ);
    cm_net_drop(net, id);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
    return count;
}

/* A peer asks for patience: it gets no less than without (4.8 s), and no more than we ask of others (69 s).
 */
Test(loss, ROCE_CM_34_patience_has_bounds)
{
    cr_expect_eq(reqs_after_mra(0, 4 * NS_PER_S), 1, "an MRA of 4 us shortened the wait");
    cr_expect_eq(reqs_after_mra(0, 5 * NS_PER_S), 2);
    cr_expect_eq(reqs_after_mra(31, 68 * NS_PER_S), 1);
    cr_expect_eq(reqs_after_mra(31, 70 * NS_PER_S), 2, "an MRA of two hours was believed");
}

/* A peer decides how long we wait for it, within reason: GEN-7. */
Test(loss, ROCE_CM_34_timeouts_of_a_peer_are_bounded)
{
    static const struct {
        uint8_t code;
        uint64_t wait_ns;
    } rows[] = {{0, UINT64_C(4096) << 13}, {18, UINT64_C(4096) << 18}, {31, UINT64_C(4096) << 22}};
    for (unsigned i = 0; i < 3; i++) {
        struct cm_net *net = cm_net_create(&plain);
        struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
        struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
        net->lose = cm_net_lose_some;
        net->lose_attr = ROCE_CM_REQ;
        net->lose_count = 1;
        cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
        struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ);
        req.req.local_resp_timeout = rows[i].code;
        req.req.max_cm_retries = 3;
        cm_net_inject(net, 0, 1, &req);
        struct roce_cm_event e = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
        uint64_t begin_ns = net->now_ns;
        net->lose_attr = ROCE_CM_REP;
        net->lose_from = 1;
        net->lose_count = 1000;
        cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(net, 1), NULL, net->now_ns), 0);
        cm_net_run(net, begin_ns + rows[i].wait_ns - NS_PER_MS);
        cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REP), 1, "code %u: sent again too early", rows[i].code);
        cm_net_run(net, begin_ns + 4 * rows[i].wait_ns - NS_PER_MS);
        cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REP), 4, "code %u: %u REPs", rows[i].code,
                     cm_net_count(net, 1, ROCE_CM_REP));
        cm_net_run(net, begin_ns + 4 * rows[i].wait_ns + NS_PER_MS);
        cr_expect_eq(cm_net_expect(net, 1, NORNIC_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
        cm_net_end(net, id, e.id, listener);
    }
}

static bool lose_all(struct cm_net *net, unsigned from, const struct roce_cm_mad *mad)
{
    (void)net;
    (void)from;
    (void)mad;
    return true;
}

/* The peer's host says that nobody there takes packets: no more repetitions, and a failure after 100 ms.
 * Another host's word changes nothing, and neither does that of one whose answer comes. */
Test(loss, peer_whose_host_refuses_is_given_up_soon)
{
    static const enum nornic_port_space spaces[] = {NORNIC_PS_TCP, NORNIC_PS_UDP};
    struct cm_net *net = cm_net_create(&(struct cm_net_config){.seed = 3});
    for (size_t i = 0; i < array_len(spaces); i++) {
        struct roce_cm_id *id = cm_net_id(net, 0, spaces[i]);
        struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
        enum roce_cm_attr attr = spaces[i] == NORNIC_PS_TCP ? ROCE_CM_REQ : ROCE_CM_SIDR_REQ;
        net->lose = lose_all;
        struct roce_qp *qp = spaces[i] == NORNIC_PS_TCP ? cm_net_qp(net, 0) : NULL;
        cr_assert_eq(roce_cm_connect(id, &route, qp, NULL, net->now_ns), 0);
        roce_cm_refused(net->node[0].cm, &net->node[2].addr, net->now_ns);
        cm_net_run_for(net, 200 * NS_PER_MS);
        cm_net_expect_quiet(net);
        roce_cm_refused(net->node[0].cm, &net->node[1].addr, net->now_ns);
        cm_net_run_for(net, 99 * NS_PER_MS);
        roce_cm_refused(net->node[0].cm, &net->node[1].addr, net->now_ns); /* moves nothing */
        cm_net_expect_quiet(net);
        cm_net_run_for(net, 2 * NS_PER_MS);
        cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_UNREACHABLE).status, -ETIMEDOUT);
        cr_expect_eq(cm_net_count(net, 0, attr), 1, "it was sent again");
        cm_net_drop(net, id);
        cm_net_run(net, NET_TIME_NONE);
    }
    net->lose = NULL;
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4), *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    roce_cm_refused(net->node[0].cm, &net->node[1].addr, net->now_ns);
    cm_net_run_for(net, NS_PER_MS);
    struct roce_cm_id *asked = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    cr_assert_eq(roce_cm_accept(asked, cm_net_qp(net, 1), NULL, net->now_ns), 0);
    cm_net_run_for(net, NS_PER_S);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_ESTABLISHED);
    cm_net_end(net, id, asked, listener);
}
