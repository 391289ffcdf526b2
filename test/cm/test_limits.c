/* SPDX-License-Identifier: BSD-2-Clause */
/* Floods, strange datagrams, failing memory: what the manager refuses, counts and survives. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "test/cm/net.h"

static const struct cm_net_config plain = {.seed = 5};

/* A good REQ of node 0 to port 7471 of node 1, which is lost. */
static struct roce_cm_mad req_of(struct cm_net *net)
{
    struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    net->config.loss_ppm = 1000000;
    cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
    struct roce_cm_mad req = *cm_net_last(net, 0, ROCE_CM_REQ);
    cm_net_drop(net, id);
    net->config.loss_ppm = 0;
    net->log_count = 0;
    return req;
}

static void another(struct roce_cm_mad *req)
{
    req->req.local_comm_id++;
    req->req.qpn++;
}

Test(limits, ROCE_GEN_7_a_listener_holds_no_more_than_its_backlog)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 3);
    for (unsigned i = 0; i < 10; i++, another(&req))
        cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->drop_backlog, 7);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REJ), 0, "dropped: the peer tries again");
    struct roce_cm_event e[3];
    for (unsigned i = 0; i < 3; i++)
        e[i] = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cm_net_inject(net, 0, 1, &req);
    cm_net_expect_quiet(net); /* shown, but not answered */
    cr_assert_eq(roce_cm_reject(e[0].id, 0, NULL, 0, net->now_ns), 0);
    cm_net_inject(net, 0, 1, &req);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    for (unsigned i = 0; i < 3; i++)
        cm_net_drop(net, e[i].id);
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* Who takes his request back has not made room for another: the id is the application's until it gives it
 * back, and there are not many. */
Test(limits, ROCE_GEN_7_requests_taken_back_do_not_pass_the_backlog)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 1);
    cm_net_inject(net, 0, 1, &req);
    struct roce_cm_id *id = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id;
    struct roce_cm_mad rej = {.hdr = req.hdr};
    rej.hdr.attr_id = ROCE_CM_REJ;
    rej.rej = (struct roce_cm_rej){.local_comm_id = req.req.local_comm_id,
                                   .rejected_message = ROCE_CM_MESSAGE_OTHER,
                                   .reason = ROCE_CM_REJ_TIMEOUT,
                                   .info_bytes = 8};
    put_be64(rej.rej.info, req.req.ca_guid);
    cm_net_inject(net, 0, 1, &rej);
    cm_net_expect(net, 1, NORNIC_CM_EVENT_REJECTED);
    another(&req);
    cm_net_inject(net, 0, 1, &req);
    cm_net_expect_quiet(net);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->drop_backlog, 1);
    cm_net_drop(net, id);
    cm_net_inject(net, 0, 1, &req);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

/* Two limited members of a partition do not talk to each other; with a full one either does. */
Test(limits, ROCE_HDR_5_a_request_between_limited_members_is_rejected)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4);
    req.req.pkey = 0x7fff;
    cr_assert_eq(roce_dev_pkey_set(net->node[1].dev, 0, 0x7fff), 0);
    cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REJ)->rej.reason, ROCE_CM_REJ_UNSUPPORTED);
    cm_net_expect_quiet(net);
    another(&req);
    req.req.pkey = 0xffff;
    cm_net_inject(net, 0, 1, &req);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    another(&req);
    req.req.pkey = 0x7fff;
    cr_assert_eq(roce_dev_pkey_set(net->node[1].dev, 0, 0xffff), 0);
    cm_net_inject(net, 0, 1, &req);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_drop(net, listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

Test(limits, ROCE_GEN_7_ids_are_bounded)
{
    struct cm_net_config config = {.seed = 6, .cm = {.max_ids = 5}};
    struct cm_net *net = cm_net_create(&config);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 100), *ids[5], *id;
    for (unsigned i = 0; i < 10; i++, another(&req))
        cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->drop_no_id, 6);
    cr_expect_eq(roce_cm_id_create(net->node[1].cm, NORNIC_PS_TCP, NULL, &id), -ENOSPC);
    cm_net_drop(net, listener);
    for (unsigned i = 0; i < 5; i++)
        ids[i] = cm_net_id(net, 1, NORNIC_PS_TCP);
    cr_expect_eq(roce_cm_id_create(net->node[1].cm, NORNIC_PS_TCP, NULL, &id), -ENOSPC);
    cr_expect_eq(roce_cm_destroy(net->node[1].cm), -EBUSY);
    for (unsigned i = 0; i < 5; i++)
        cm_net_drop(net, ids[i]);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

Test(limits, a_request_without_memory_is_dropped_and_counted)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4);
    struct test_alloc *alloc = &net->node[1].alloc;
    alloc->fail_at = alloc->calls + 1;
    cm_net_inject(net, 0, 1, &req);
    cm_net_expect_quiet(net);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->drop_no_id, 1);
    cm_net_inject(net, 0, 1, &req);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_drop(net, listener);
    cm_net_destroy(net);
}

static void unsent(void *ctx, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns)
{
    (void)ctx, (void)path, (void)mad, (void)now_ns;
}

Test(limits, creation_unwinds_whatever_allocation_fails)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_wire wire = {.send = unsent};
    struct test_alloc alloc;
    test_alloc_init(&alloc);
    struct roce_cm_config config = {
        .mem = &alloc.mem, .random = test_random_source(&net->random), .wire = &wire, .port_mtu_bytes = 1500};
    struct roce_cm *cm;
    for (alloc.fail_at = 1; roce_cm_create(net->node[0].dev, &config, &cm) == -ENOMEM; alloc.fail_at++) {
        cr_expect_eq(alloc.live, 0);
        alloc.calls = 0;
    }
    cr_expect_eq(alloc.fail_at, 11);
    cr_expect_eq(roce_cm_destroy(cm), 0);
    cr_expect_eq(alloc.live, 0);
    config.port_mtu_bytes = 100;
    cr_expect_eq(roce_cm_create(net->node[0].dev, &config, &cm), -EINVAL);
    config.port_mtu_bytes = 1500;
    config.max_retries = 16;
    cr_expect_eq(roce_cm_create(net->node[0].dev, &config, &cm), -EINVAL);
    config.max_retries = 15;
    config.mra_timeout = 32;
    cr_expect_eq(roce_cm_create(net->node[0].dev, &config, &cm), -EINVAL);
    cm_net_destroy(net);
}

/* covers: ROCE-CM-1, ROCE-GSI-1, ROCE-GSI-4 */
Test(limits, ROCE_CM_1_envelopes_that_are_not_ours_change_nothing)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *listener = cm_net_listen(net, 1, 7471, 4);
    const struct roce_cm_counters *counters = roce_cm_counters(net->node[1].cm);
    struct roce_cm_path path = cm_net_route(net, 1, 0, 0).path;
    uint8_t bytes[ROCE_MAD_BYTES + 1] = {0}, bad[ROCE_MAD_BYTES + 1];
    path.remote_qpn = 1;
    roce_cm_mad_put(bytes, &req);
    static const struct {
        unsigned byte;
        uint8_t value;
    } rows[] = {{0, 2}, {1, 0x03}, {3, 0x01}, {3, 0x81}, {16, 1}, {17, 0x1b}, {17, 0x0f}};
    for (unsigned i = 0; i < array_len(rows); i++) {
        memcpy(bad, bytes, sizeof bad);
        bad[rows[i].byte] = rows[i].value;
        roce_cm_input(net->node[1].cm, &path, bad, ROCE_MAD_BYTES, net->now_ns);
    }
    roce_cm_input(net->node[1].cm, &path, bytes, ROCE_MAD_BYTES - 1, net->now_ns);
    roce_cm_input(net->node[1].cm, &path, bytes, ROCE_MAD_BYTES + 1, net->now_ns);
    roce_cm_input(net->node[1].cm, &path, bytes, 0, net->now_ns);
    cr_expect_eq(net->log_count, 0);
    cm_net_expect_quiet(net);
    cr_expect_eq(counters->rx_malformed, 4);
    cr_expect_eq(counters->rx_class, 1);
    cr_expect_eq(counters->rx_method, 5);
    cr_expect_eq(counters->rx[0], 0);
    roce_cm_input(net->node[1].cm, &path, bytes, ROCE_MAD_BYTES, net->now_ns);
    cr_expect_eq(counters->rx[0], 1);
    cm_net_drop(net, cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST).id);
    cm_net_drop(net, listener);
    cm_net_destroy(net);
}

/* Section 16.1: the class version; SIDR_REP has a status of its own for it. */
Test(limits, ROCE_CM_71_another_class_version_is_refused)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    req.hdr.class_version = 1;
    cm_net_inject(net, 0, 1, &req);
    const struct roce_cm_mad *rej = cm_net_last(net, 1, ROCE_CM_REJ);
    cr_expect_eq(rej->rej.reason, ROCE_CM_REJ_INVALID_CLASS_VERSION);
    cr_expect_eq(rej->hdr.class_version, 2);
    req.hdr.attr_id = ROCE_CM_SIDR_REQ;
    memset(&req.sidr_req, 0, sizeof req.sidr_req);
    req.sidr_req.request_id = 99;
    cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_SIDR_REP)->sidr_rep.status, ROCE_CM_SIDR_VERSION);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_SIDR_REP)->sidr_rep.request_id, 99);
    req.hdr.attr_id = ROCE_CM_DREQ;
    cm_net_inject(net, 0, 1, &req);
    cr_expect_eq(net->log_count, 2, "nothing else is answered");
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->rx_version, 3);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_destroy(net);
}

static bool leave_it_to_others(void *ctx, uint64_t service_id)
{
    *(uint64_t *)ctx = service_id;
    return false;
}

/* Several processes at one address: one of them answers, and this is not the one. */
Test(limits, what_is_for_nobody_is_answered_by_one_of_several)
{
    uint64_t asked_about = 0;
    const struct cm_net_config shared = {
        .seed = 5, .cm = {.may_refuse = leave_it_to_others, .may_refuse_ctx = &asked_about}};
    struct cm_net *net = cm_net_create(&shared);
    struct roce_cm_mad mad = req_of(net);
    mad.hdr.class_version = 1;
    cm_net_inject(net, 0, 1, &mad);
    cr_expect_eq(net->log_count, 0);
    cr_expect_eq(asked_about, ROCE_CM_NO_SERVICE);
    asked_about = 0;
    mad.hdr.mgmt_class = 0x04; /* performance management */
    mad.hdr.method = ROCE_MAD_METHOD_GET;
    cm_net_inject(net, 0, 1, &mad);
    cr_expect_eq(net->log_count, 0);
    cr_expect_eq(asked_about, ROCE_CM_NO_SERVICE);
    cr_expect_eq(roce_cm_counters(net->node[1].cm)->left_to_others, 2);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_destroy(net);
}

Test(limits, ROCE_GSI_4_other_classes_get_status_7_where_they_can_read_it)
{
    static const uint8_t classes[] = {0x01, 0x03, 0x04, 0x06, 0x08, 0x09, 0x21, 0x81};
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad mad = req_of(net);
    for (unsigned i = 0; i < sizeof classes; i++) {
        for (uint8_t method = 1; method <= 3; method++) {
            mad.hdr.mgmt_class = classes[i];
            mad.hdr.method = method;
            net->log_count = 0;
            cm_net_inject(net, 0, 1, &mad);
            cr_expect_eq(net->log_count, method != 3, "class %u method %u", classes[i], method);
            if (method == 3)
                continue;
            cr_expect_eq(net->log[0].mad.hdr.method, 0x81);
            cr_expect_eq(net->log[0].mad.hdr.status, 0x1c);
            cr_expect_eq(net->log[0].mad.hdr.mgmt_class, classes[i]);
            cr_expect_eq(net->log[0].mad.hdr.tid, mad.hdr.tid);
        }
        cm_net_run_for(net, NS_PER_MS); /* answers are not answered */
        cr_expect_eq(net->log_count, 0, "class %u", classes[i]);
    }
    cm_net_destroy(net);
}

/* covers: ROCE-CM-3, ROCE-GSI-2 */
Test(limits, ROCE_CM_3_answers_go_where_the_message_came_from)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    cm_net_inject(net, 2, 1, &req); /* node 2 asks: the address of the REQ is not its own */
    cr_expect_eq(net->log_count, 1);
    cm_net_run_for(net, NS_PER_MS);
    cr_expect_eq(roce_cm_counters(net->node[2].cm)->rx[ROCE_CM_REJ - ROCE_CM_ATTR_FIRST], 1);
    cr_expect_eq(roce_cm_counters(net->node[0].cm)->rx[ROCE_CM_REJ - ROCE_CM_ATTR_FIRST], 0);
    uint8_t bytes[ROCE_MAD_BYTES];
    roce_cm_mad_put(bytes, &net->log[0].mad);
    for (unsigned i = ROCE_MAD_HDR_BYTES + 12; i < sizeof bytes; i++)
        cr_expect_eq(bytes[i], 0, "byte %u of a REJ 8", i);
    cm_net_destroy(net);
}

Test(limits, listeners_are_found_by_port_and_address)
{
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *any = cm_net_id(net, 1, NORNIC_PS_TCP), *one = cm_net_id(net, 1, NORNIC_PS_TCP),
                      *more = cm_net_id(net, 1, NORNIC_PS_TCP);
    struct roce_cm_endpoints e;
    cr_expect_eq(roce_cm_listen(any, &net->node[0].addr, 7471, 4), -EINVAL, "not an address of ours");
    cr_expect_eq(roce_cm_listen(any, NULL, 7471, 0), -EINVAL);
    cr_assert_eq(roce_cm_listen(any, NULL, 7471, 4), 0);
    cr_expect_eq(roce_cm_listen(any, NULL, 7472, 4), -EINVAL, "it listens already");
    cr_expect_eq(roce_cm_listen(one, NULL, 7471, 4), -EADDRINUSE);
    cr_assert_eq(roce_cm_listen(one, &net->node[1].addr, 7471, 4), 0);
    cr_assert_eq(roce_cm_listen(more, NULL, 0, 4), 0);
    roce_cm_id_endpoints(more, &e);
    cr_expect_geq(e.local_port, 32768);
    cm_net_inject(net, 0, 1, &req);
    struct roce_cm_event got = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(got.listen_id, one, "the more specific one");
    cm_net_drop(net, got.id);
    cm_net_drop(net, one);
    another(&req);
    cm_net_inject(net, 0, 1, &req);
    got = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_expect_eq(got.listen_id, any);
    cm_net_drop(net, got.id);
    cm_net_drop(net, any);
    cm_net_drop(net, more);
    cm_net_destroy(net);
}

/* tgtd listens on one port for IPv4, and on the same for IPv6. */
Test(limits, a_listener_to_ipv4_leaves_the_rest_to_others)
{
    static const struct nornic_addr any_v4 = {{[10] = 0xff, [11] = 0xff}};
    struct cm_net *net = cm_net_create(&plain);
    struct roce_cm_mad req = req_of(net);
    struct roce_cm_id *v4 = cm_net_id(net, 1, NORNIC_PS_TCP), *all = cm_net_id(net, 1, NORNIC_PS_TCP),
                      *late = cm_net_id(net, 1, NORNIC_PS_TCP);
    cr_assert_eq(roce_cm_listen(v4, &any_v4, 7471, 4), 0);
    cr_assert_eq(roce_cm_listen(all, NULL, 7471, 4), 0);
    cr_expect_eq(roce_cm_listen(late, &any_v4, 7471, 4), -EADDRINUSE);
    struct roce_cm_id *const wanted[] = {v4, all};
    for (int i = 0; i < 2; i++) {
        cm_net_inject(net, 0, 1, &req);
        struct roce_cm_event got = cm_net_expect(net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
        cr_expect_eq(got.listen_id, wanted[i]);
        cm_net_drop(net, got.id);
        cm_net_drop(net, wanted[i]);
        another(&req);
    }
    cm_net_drop(net, late);
    cm_net_destroy(net);
}

Test(limits, calls_in_the_wrong_state_change_nothing)
{
    struct cm_net *net = cm_net_create(&plain);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
    struct nornic_qp_attr attr;
    uint32_t mask;
    unsigned sent = net->log_count;
    struct roce_cm_id *ids[] = {pair.listener, pair.active, pair.passive};
    for (unsigned i = 0; i < 3; i++) {
        cr_expect_eq(roce_cm_connect(ids[i], &route, cm_net_qp(net, 0), NULL, net->now_ns), -EINVAL);
        cr_expect_eq(roce_cm_accept(ids[i], cm_net_qp(net, 1), NULL, net->now_ns), -EINVAL);
        cr_expect_eq(roce_cm_reject(ids[i], 0, NULL, 0, net->now_ns), -EINVAL);
        cr_expect_eq(roce_cm_establish(ids[i], NULL, 0, net->now_ns), -EINVAL);
        cr_expect_eq(roce_cm_notify_established(ids[i], net->now_ns), i ? -EISCONN : -EINVAL);
        cr_expect_eq(roce_cm_mra(ids[i], 20, NULL, 0, net->now_ns), -EINVAL);
        cr_expect_eq(roce_cm_listen(ids[i], NULL, 0, 1), -EINVAL);
    }
    cr_expect_eq(roce_cm_disconnect(pair.listener, NULL, 0, net->now_ns), -EINVAL);
    cr_expect_eq(roce_cm_qp_attr(pair.listener, NORNIC_QPS_INIT, &attr, &mask), -EINVAL);
    cr_expect_eq(roce_cm_qp_attr(pair.active, NORNIC_QPS_SQD, &attr, &mask), -EINVAL);
    cr_expect_eq(net->log_count, sent);
    struct roce_cm_id *id;
    cr_expect_eq(roce_cm_id_create(net->node[0].cm, (enum nornic_port_space)7, NULL, &id), -EINVAL);
    id = cm_net_id(net, 0, NORNIC_PS_TCP);
    struct nornic_conn_param p = {.retry_count = 8};
    cr_expect_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), &p, net->now_ns), -EINVAL);
    p = (struct nornic_conn_param){.initiator_depth = NORNIC_MAX_RD_ATOMIC + 1};
    cr_expect_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), &p, net->now_ns), -EINVAL);
    cr_expect_eq(roce_cm_connect(id, &route, NULL, NULL, net->now_ns), -EINVAL, "no QP, and no QPN");
    cr_expect_eq(roce_cm_connect(id, &route, pair.active_qp, NULL, net->now_ns), -EADDRINUSE);
    cm_net_drop(net, id);
    cm_net_end(net, pair.active, pair.passive, pair.listener);
}
