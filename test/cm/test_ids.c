/* SPDX-License-Identifier: BSD-2-Clause */
/* The communication ids of a CM that is one of several processes' at its address. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/cm/net.h"

#define FIRST 0x4d000000u

Test(ids, are_of_the_range_that_was_given)
{
    struct cm_net_config config = {.seed = 8,
                                   .cm = {.first_comm_id = FIRST, .comm_id_bits = 24, .max_ids = 64}};
    struct cm_net *net = cm_net_create(&config);
    uint32_t before = 0;
    for (unsigned i = 0; i < 200; i++) {
        struct roce_cm_id *id = cm_net_id(net, 0, NORNIC_PS_TCP);
        struct roce_cm_route route = cm_net_route(net, 0, 1, 7471);
        cr_assert_eq(roce_cm_connect(id, &route, cm_net_qp(net, 0), NULL, net->now_ns), 0);
        uint32_t comm_id = cm_net_last(net, 0, ROCE_CM_REQ)->req.local_comm_id;
        cr_expect_eq(comm_id >> 24, FIRST >> 24, "%08x", comm_id);
        cr_expect_neq(comm_id, before);
        before = comm_id;
        cm_net_run_for(net, NS_PER_MS);
        cr_expect_eq(cm_net_expect(net, 0, NORNIC_CM_EVENT_REJECTED).status, ROCE_CM_REJ_INVALID_SERVICE_ID);
        cm_net_drop(net, id);
        cr_assert_eq(roce_qp_destroy(net->node[0].qp[--net->node[0].num_qps]), 0);
    }
    cm_net_destroy(net);
}

/* What has the number of an id of ours but for the range is another's. */
Test(ids, of_another_range_are_not_known)
{
    struct cm_net_config config = {.seed = 9, .cm = {.first_comm_id = FIRST, .comm_id_bits = 24}};
    struct cm_net *net = cm_net_create(&config);
    struct cm_pair pair = cm_net_connect(net);
    struct roce_cm_mad dreq = {.hdr = cm_net_last(net, 1, ROCE_CM_REP)->hdr};
    uint64_t unknown = roce_cm_counters(net->node[0].cm)->rx_unknown_id;
    dreq.hdr.attr_id = ROCE_CM_DREQ;
    dreq.dreq.remote_comm_id = cm_net_last(net, 0, ROCE_CM_REQ)->req.local_comm_id ^ 0x01000000;
    dreq.dreq.local_comm_id = cm_net_last(net, 1, ROCE_CM_REP)->rep.local_comm_id;
    dreq.dreq.remote_qpn = roce_qp_num(pair.active_qp);
    cm_net_inject(net, 1, 0, &dreq);
    cr_expect_eq(roce_cm_counters(net->node[0].cm)->rx_unknown_id, unknown + 1);
    cr_expect_eq(roce_cm_id_state(pair.active), ROCE_CM_ESTABLISHED_STATE);
    dreq.dreq.remote_comm_id ^= 0x01000000;
    cm_net_inject(net, 1, 0, &dreq);
    cr_expect_eq(roce_cm_id_state(pair.active), ROCE_CM_DREQ_RCVD_STATE);
    cm_net_expect(net, 0, NORNIC_CM_EVENT_DISCONNECTED);
    cm_net_drop(net, pair.active);
    cm_net_run_for(net, NS_PER_MS);
    cm_net_drop(net, pair.passive);
    cm_net_drop(net, pair.listener);
    cm_net_run(net, NET_TIME_NONE);
    cm_net_destroy(net);
}

Test(ids, a_range_fits_its_ids)
{
    struct cm_net_config config = {.seed = 9};
    struct cm_net *net = cm_net_create(&config);
    struct roce_cm *cm;
    struct roce_cm_wire wire = {
        .send = (void (*)(void *, const struct roce_cm_path *, const uint8_t *, uint64_t))abort};
    struct roce_cm_config bad = {
        .random = test_random_source(&net->random), .port_mtu_bytes = 1500, .wire = &wire};
    bad.comm_id_bits = 24;
    bad.first_comm_id = FIRST + 1;
    cr_expect_eq(roce_cm_create(net->node[0].dev, &bad, &cm), -EINVAL, "not at a multiple of its size");
    bad.first_comm_id = FIRST;
    bad.max_ids = 1u << 22;
    cr_expect_eq(roce_cm_create(net->node[0].dev, &bad, &cm), -EINVAL,
                 "an id's number would come again at once");
    cm_net_destroy(net);
}
