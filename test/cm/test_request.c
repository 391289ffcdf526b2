/* SPDX-License-Identifier: BSD-2-Clause */
/* How a request is judged: what is in it, changed bit by bit, and the REJ that comes of it. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/cm/request.h"

/* Puts a REQ with something changed to node 1, which listens on 7471; the REJ that comes of it, or NULL. */
struct variant {
    struct cm_net *net;
    struct roce_cm_id *listener;
    struct roce_cm_mad req;
};

static struct variant variant_begin(void)
{
    struct variant v = {.net = cm_net_create(&plain)};
    struct request r = ask(v.net, &param, true);
    v.req = *cm_net_last(v.net, 0, ROCE_CM_REQ);
    v.listener = r.listener;
    cr_assert_eq(roce_cm_reject(r.passive, 0, NULL, 0, v.net->now_ns), 0);
    cm_net_run_for(v.net, NS_PER_MS);
    cm_net_expect(v.net, 0, NORNIC_CM_EVENT_REJECTED);
    cm_net_drop(v.net, r.active);
    cm_net_drop(v.net, r.passive);
    v.net->log_count = 0;
    v.req.req.local_comm_id++;
    return v;
}

static void variant_end(struct variant *v)
{
    cm_net_drop(v->net, v->listener);
    cm_net_run(v->net, NET_TIME_NONE);
    cm_net_destroy(v->net);
}

static void expect_reason(struct variant *v, uint16_t reason)
{
    v->net->log_count = 0;
    cm_net_inject(v->net, 0, 1, &v->req);
    const struct roce_cm_mad *rej = cm_net_last(v->net, 1, ROCE_CM_REJ);
    cr_expect_eq(rej->rej.reason, reason, "%s, where %s was expected", roce_cm_rej_name(rej->rej.reason),
                 roce_cm_rej_name(reason));
    cr_expect_eq(rej->rej.rejected_message, ROCE_CM_MESSAGE_REQ);
    cr_expect_eq(rej->rej.local_comm_id, 0, "ROCE-CM-52");
    cr_expect_eq(rej->rej.remote_comm_id, v->req.req.local_comm_id);
    cr_expect_eq(rej->hdr.tid, v->req.hdr.tid);
    cm_net_expect_quiet(v->net);
}

static void expect_request(struct variant *v)
{
    struct roce_cm_event e;
    cm_net_inject(v->net, 0, 1, &v->req);
    e = cm_net_expect(v->net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cm_net_drop(v->net, e.id);
    cm_net_expect_quiet(v->net);
}

Test(request, ROCE_CM_36_path_mtu_above_the_ports_is_rejected)
{
    struct variant v = variant_begin();
    v.req.req.path_mtu = NORNIC_MTU_2048;
    expect_reason(&v, ROCE_CM_REJ_INVALID_MTU);
    v.req.req.path_mtu = 0;
    expect_reason(&v, ROCE_CM_REJ_INVALID_MTU);
    v.req.req.path_mtu = 9;
    expect_reason(&v, ROCE_CM_REJ_INVALID_MTU);
    v.req.req.path_mtu = NORNIC_MTU_256;
    cm_net_inject(v.net, 0, 1, &v.req);
    struct roce_cm_event e = cm_net_expect(v.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct roce_qp *qp = cm_net_qp(v.net, 1);
    struct nornic_qp_attr p;
    cr_assert_eq(roce_cm_accept(e.id, qp, NULL, v.net->now_ns), 0);
    roce_qp_query(qp, &p, NULL);
    cr_expect_eq(p.path_mtu, NORNIC_MTU_256, "a smaller one is adopted");
    cm_net_drop(v.net, e.id);
    variant_end(&v);
}

/* covers: ROCE-CM-40, CA17-34 */
Test(request, CA17_34_lids_of_a_req_are_not_looked_at)
{
    struct variant v = variant_begin();
    static const uint16_t lids[] = {0, 1, 0xc000, 0xffff};
    for (unsigned i = 0; i < 4; i++) {
        struct roce_cm_path_block path;
        roce_cm_path_block_get(&path, v.req.req.primary);
        path.local_lid = lids[i];
        path.remote_lid = lids[3 - i] ^ 0x1234;
        roce_cm_path_block_put(v.req.req.primary, &path);
        expect_request(&v);
    }
    variant_end(&v);
}

/* covers: ROCE-CM-41, CA17-35 */
Test(request, CA17_35_no_reject_is_about_a_lid)
{
    struct cm_net *net = cm_net_create(&plain);
    struct request r = ask(net, &param, true);
    cr_expect_eq(roce_cm_reject(r.passive, 13, NULL, 0, net->now_ns), -EINVAL);
    cr_expect_eq(roce_cm_reject(r.passive, 19, NULL, 0, net->now_ns), -EINVAL);
    cr_expect_eq(cm_net_count(net, 1, ROCE_CM_REJ), 0);
    cr_expect_eq(roce_cm_reject(r.passive, 14, NULL, 0, net->now_ns), 0);
    cr_expect_eq(cm_net_last(net, 1, ROCE_CM_REJ)->rej.reason, 14);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED);
    finish(net, &r);
}

Test(request, ROCE_CM_44_a_gid_that_is_not_ours_is_rejected_with_ours)
{
    struct variant v = variant_begin();
    struct roce_cm_path_block path;
    roce_cm_path_block_get(&path, v.req.req.primary);
    path.remote_gid[15] ^= 0x40;
    roce_cm_path_block_put(v.req.req.primary, &path);
    expect_reason(&v, ROCE_CM_REJ_INVALID_GID);
    const struct roce_cm_rej *rej = &cm_net_last(v.net, 1, ROCE_CM_REJ)->rej;
    cr_expect_eq(rej->info_bytes, 16);
    cr_expect_arr_eq(rej->info, v.net->node[1].addr.b, 16);
    path.remote_gid[15] ^= 0x40;
    path.local_gid[15] ^= 0x40; /* data would go to a third host */
    roce_cm_path_block_put(v.req.req.primary, &path);
    expect_reason(&v, ROCE_CM_REJ_UNSUPPORTED);
    variant_end(&v);
}

/* covers: ROCE-CM-60 */
Test(request, ROCE_CM_60_service_ids_are_port_space_and_port)
{
    struct variant v = variant_begin();
    cr_expect_eq(v.req.req.service_id, UINT64_C(0x01060000) + 7471);
    v.req.req.service_id = UINT64_C(0x01060000) + 7472;
    expect_reason(&v, ROCE_CM_REJ_INVALID_SERVICE_ID);
    v.req.req.service_id = UINT64_C(0x013f0000) + 7471;
    expect_reason(&v, ROCE_CM_REJ_INVALID_SERVICE_ID);
    struct roce_cm_id *ib = cm_net_id(v.net, 1, NORNIC_PS_IB);
    struct roce_cm_id *udp = cm_net_id(v.net, 1, NORNIC_PS_UDP);
    cr_assert_eq(roce_cm_listen(ib, NULL, 7471, 4), 0);
    cr_assert_eq(roce_cm_listen(udp, NULL, 7471, 4), 0);
    expect_request(&v);
    v.req.req.service_id = UINT64_C(0x01110000) + 7471;
    expect_reason(&v, ROCE_CM_REJ_INVALID_SERVICE_ID); /* datagrams are asked for by SIDR_REQ */
    v.req.req.service_id = UINT64_C(0x0001000001060000) + 7471;
    expect_reason(&v, ROCE_CM_REJ_INVALID_SERVICE_ID);
    cm_net_drop(v.net, ib);
    cm_net_drop(v.net, udp);
    variant_end(&v);
}

/* covers: ROCE-CM-61 */
Test(request, ROCE_CM_61_private_data_header_is_checked)
{
    struct variant v = variant_begin();
    uint8_t *ip = v.req.req.private_data;
    cr_expect_eq(ip[0], 0);
    cr_expect_eq(ip[1], 0x40);
    ip[0] = 0x10; /* another major version */
    expect_reason(&v, ROCE_CM_REJ_CONSUMER);
    ip[0] = 0;
    ip[1] = 0x50; /* IP version 5 */
    expect_reason(&v, ROCE_CM_REJ_CONSUMER);
    ip[1] = 0x60; /* IPv6, with the bytes of an IPv4 address */
    expect_reason(&v, ROCE_CM_REJ_CONSUMER);
    ip[1] = 0x40;
    ip[35] ^= 1; /* for somebody else */
    expect_reason(&v, ROCE_CM_REJ_CONSUMER);
    ip[35] ^= 1;
    ip[0] = 0x07; /* a later minor version is read like ours */
    ip[1] = 0x4f; /* reserved bits */
    expect_request(&v);
    variant_end(&v);
}

Test(request, other_transports_and_reserved_qpns_are_rejected)
{
    struct variant v = variant_begin();
    for (uint8_t t = 1; t <= 3; t++) {
        v.req.req.transport = t;
        expect_reason(&v, ROCE_CM_REJ_INVALID_TRANSPORT);
    }
    v.req.req.transport = 0;
    static const uint32_t qpns[] = {0, 1, 0xffffff};
    for (unsigned i = 0; i < 3; i++) {
        v.req.req.qpn = qpns[i];
        expect_reason(&v, ROCE_CM_REJ_UNSUPPORTED);
    }
    v.req.req.qpn = 2;
    v.req.req.pkey = 0x1234;
    expect_reason(&v, ROCE_CM_REJ_UNSUPPORTED);
    v.req.req.pkey = 0x7fff; /* a limited member meets a full one */
    expect_request(&v);
    variant_end(&v);
}

/* covers: ROCE-CM-43 */
Test(request, ROCE_CM_43_an_alternate_path_is_accepted_without_failover)
{
    struct variant v = variant_begin();
    cm_net_inject(v.net, 0, 1, &v.req);
    struct roce_cm_event e = cm_net_expect(v.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(v.net, 1), NULL, v.net->now_ns), 0);
    cr_expect_eq(cm_net_last(v.net, 1, ROCE_CM_REP)->rep.failover, ROCE_CM_FAILOVER_NONE);
    cm_net_drop(v.net, e.id);
    cm_net_run(v.net, NET_TIME_NONE);
    memcpy(v.req.req.alternate, v.req.req.primary, ROCE_CM_PATH_BYTES);
    v.req.req.local_comm_id++;
    cm_net_inject(v.net, 0, 1, &v.req);
    e = cm_net_expect(v.net, 1, NORNIC_CM_EVENT_CONNECT_REQUEST);
    cr_assert_eq(roce_cm_accept(e.id, cm_net_qp(v.net, 1), NULL, v.net->now_ns), 0);
    cr_expect_eq(cm_net_last(v.net, 1, ROCE_CM_REP)->rep.failover, ROCE_CM_FAILOVER_UNSUPPORTED);
    cm_net_drop(v.net, e.id);
    variant_end(&v);
}
