/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs over RoCEv1: ROCE-FRM-52, FRM-53, FRM-55. That every frame of such a QP is a RoCEv1 frame, and
 * none of another's, the scripted peer asserts for each that it is shown. */
#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "net/bytes.h"
#include "test/support/script_suite.h"

static void v1_setup(void)
{
    config = script_defaults();
    config.roce_v1 = true;
    config.ipv6 = true;
    renew();
}

TestSuite(v1_qp, .init = v1_setup, .fini = teardown);

/* Requests, responses and ACKs of both halves.
 * covers: CA17-40, ROCE-GEN-3 */
Test(v1_qp, ROCE_FRM_52_a_connected_qp_speaks_v1_only)
{
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 100);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), 100);
    p = script_read_pkt(s, script_rq(s, 1), 5000, 3000);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_RESP_FIRST, script_rq(s, 1));
    expect_op(s, ROCE_OP_READ_RESP_MIDDLE, script_rq(s, 2));
    const struct roce_pkt *last = expect_op(s, ROCE_OP_READ_RESP_LAST, script_rq(s, 3));
    cr_assert_eq(last->payload_bytes, 3000 - 2048);
    cr_assert_arr_eq(last->payload, s->mem + 5000 + 2048, 3000 - 2048);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 3);
    const struct roce_pkt *out = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(out->bth.pad_count, 1);
    cr_assert_eq(get_be16(out->l3 + 4), 12 + 16 + 4 + 4, "payload length: BTH through ICRC");
    ack(0, 1);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

/* A GRH has a traffic class of eight bits and no ECN, so nothing is cut off, and nothing is congestion.
 * covers: ROCE-FRM-51 */
Test(v1_qp, the_whole_traffic_class_is_sent_and_none_is_congestion)
{
    config.cc.on = true;
    config.attr.av.traffic_class = 0x6b;
    config.attr.av.flow_label = 0x12345;
    config.attr.av.hop_limit = 7;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    const struct roce_pkt *out = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(get_be32(out->l3), 0x66b12345);
    cr_assert_eq(out->l3[6], 0x1b);
    cr_assert_eq(out->l3[7], 7);
    s->from_peer.traffic_class = 3;
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_counters(s->qp)->np_ecn_marked, 0);
}

/* covers: CA17-41 */
Test(v1_qp, ROCE_FRM_53_a_v2_packet_to_a_v1_qp_is_dropped)
{
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bth.ack_req = 1;
    p.path.v1 = false;
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_GID, 1);
    expect_state(s, NORNIC_QPS_RTS);
    p.path.v1 = true;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
}

/* The device speaks v1, the QP's entry is of v2.
 * covers: CA17-41, CA17-40 */
Test(v1_qp, ROCE_FRM_53_a_v1_packet_to_a_v2_qp_is_dropped)
{
    config.roce_v1 = false;
    config.also_v1 = true;
    renew();
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bth.ack_req = 1;
    p.path.v1 = true;
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_GID, 1);
    /* An entry of v1 for the same address changes nothing for a QP that has the other. */
    struct nornic_gid second = *roce_dev_gid_get(s->dev, 0);
    second.type = NORNIC_GID_V1;
    cr_assert_eq(roce_dev_gid_add(s->dev, &second), 1);
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_GID, 2);
    p.path.v1 = false;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
}

/* covers: CA17-41 */
Test(v1_qp, ROCE_FRM_55_a_device_without_v1_drops_it_and_takes_no_such_gid)
{
    config.roce_v1 = false;
    renew();
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.path.v1 = true;
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_L2, 1);
    struct nornic_gid gid = *roce_dev_gid_get(s->dev, 0);
    gid.type = NORNIC_GID_V1;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), -EINVAL);
}

/* The protocol follows the SGID entry that Modify QP named, at each time.
 * covers: CA17-40, ROCE-FRM-52 */
Test(v1_qp, ROCE_FRM_52_another_gid_entry_in_sqd_changes_the_protocol)
{
    struct nornic_gid second = *roce_dev_gid_get(s->dev, 0);
    second.type = NORNIC_GID_V2;
    cr_assert_eq(roce_dev_gid_add(s->dev, &second), 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    s->config.attr.av.sgid_index = 1;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_AV), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    s->config.roce_v1 = false; /* what the peer expects from here on */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0))->l3_kind, ROCE_L3_IPV6);
}

/* An address of IPv4 has a GID in RoCEv1 too, mapped as everywhere.
 * covers: ROCE-FRM-39, ROCE-FRM-52 */
Test(v1_qp, mapped_addresses_are_sent_in_a_grh)
{
    config.ipv6 = false;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    const struct roce_pkt *out = expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    cr_assert_eq(out->l3_kind, ROCE_L3_GRH);
    cr_assert_arr_eq(out->l3 + 8, "\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\1", 16);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}
