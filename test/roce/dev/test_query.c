/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device says of itself: ROCE sections 14 and 18. Each limit is also tried, so that the device does
 * not promise what it does not keep. */
#include "roce/query.h"

#include <errno.h>
#include <string.h>

#include <criterion/criterion.h>

#include "test/support/script_suite.h"

TestSuite(query, .init = setup, .fini = teardown);

static struct nornic_dev_attr dev_attr(void)
{
    struct nornic_dev_attr a;
    roce_dev_query(s->dev, &a);
    return a;
}

static struct nornic_port_attr port_attr(void)
{
    struct nornic_port_attr a;
    roce_dev_query_port(s->dev, &a);
    return a;
}

/* covers: ROCE-LIM-5, ROCE-RS-47 */
Test(query, ROCE_LIM_5_capabilities)
{
    struct nornic_dev_attr a = dev_attr();
    uint32_t promised = 1 << 1 | 1 << 2 | 1 << 12 | 1 << 17 | 1 << 21 | 1 << 24;
    cr_assert_eq(a.cap_flags & promised, promised);
    cr_assert_eq(a.atomic_cap, NORNIC_ATOMIC_HCA);
    cr_assert_eq(a.cap_flags & NORNIC_CAP_AUTO_PATH_MIG, 0);
    cr_assert_eq(a.cap_flags & NORNIC_CAP_XRC, NORNIC_CAP_XRC);
    cr_assert_eq(a.masked_atomic_cap, NORNIC_ATOMIC_NONE);
    config.path_migration = config.masked_atomics = true;
    renew();
    cr_assert_eq(dev_attr().masked_atomic_cap, NORNIC_ATOMIC_HCA);
    cr_assert(dev_attr().cap_flags & NORNIC_CAP_AUTO_PATH_MIG);
}

/* covers: ROCE-LIM-1, ROCE-QP-32 */
Test(query, ROCE_LIM_1_reads_and_atomics)
{
    struct nornic_dev_attr a = dev_attr();
    cr_assert_eq(a.max_qp_rd_atomic, 128);
    cr_assert_eq(a.max_qp_init_rd_atomic, 128);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    s->config.attr.max_rd_atomic = s->config.attr.max_dest_rd_atomic = 128;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_MAX_QP_RD_ATOMIC | NORNIC_QP_MAX_DEST_RD_ATOMIC),
                 0);
    s->config.attr.max_rd_atomic = 129;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_MAX_QP_RD_ATOMIC), -EINVAL);
    s->config.attr.max_dest_rd_atomic = 129;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_MAX_DEST_RD_ATOMIC), -EINVAL);
}

/* An ACK leaves with the call that follows the request: far below what is advertised.
 * covers: ROCE-LIM-2, ROCE-RS-51 */
Test(query, ROCE_LIM_2_ack_delay)
{
    cr_assert_eq(dev_attr().local_ca_ack_delay, 15);
    script_recv(s, 1, 0, 64);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_eq(script_last_ns(s), s->now_ns);
}

Test(query, limits_are_kept)
{
    struct nornic_dev_attr a = dev_attr();
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC, .pd = s->pd, .send_cq = s->send_cq, .recv_cq = s->recv_cq};
    struct roce_qp *made;
    qp.caps = (struct nornic_qp_caps){1, 1, a.max_sge, a.max_sge, a.max_inline_bytes};
    cr_assert_eq(roce_qp_create(s->dev, &qp, &made), 0);
    roce_qp_destroy(made);
    const struct nornic_qp_caps beyond[] = {
        {a.max_qp_wr + 1, 1, 1, 1, 0}, {1, a.max_qp_wr + 1, 1, 1, 0},        {1, 1, a.max_sge + 1, 1, 0},
        {1, 1, 1, a.max_sge + 1, 0},   {1, 1, 1, 1, a.max_inline_bytes + 1},
    };
    for (int i = 0; i < 5; i++) {
        qp.caps = beyond[i];
        cr_assert_eq(roce_qp_create(s->dev, &qp, &made), -EINVAL, "%d", i);
    }
    struct rdma_cq *cq;
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = a.max_cqe + 1}, &cq),
                 -EINVAL);
    cr_assert_eq(a.max_qp, 16384);
    cr_assert_eq(a.max_mr, 65536);
}

/* The bits about subnet managers are reserved, and client reregistration is not supported.
 * covers: ROCE-GEN-6, ROCE-VB-1, ROCE-VB-2, CA17-30, CA17-31, ROCE-EV-12 */
Test(query, CA17_31_what_a_port_has_and_has_not)
{
    struct nornic_port_attr a = port_attr();
    cr_assert_eq(a.cap_flags, NORNIC_PORT_CAP_CM,
                 "IsSM, IsSMDisabled, IsSNMPTunneling, IsClientReregistration");
    cr_assert(a.is_up);
    cr_assert(a.roce_v2_supported);
    cr_assert_not(a.roce_v1_supported);
    cr_assert_eq(a.gid_table_size, 255);
    cr_assert_eq(a.pkey_table_size, 1);
    cr_assert_eq(a.max_msg_bytes, 1u << 31);
    cr_assert_eq(a.max_mtu, NORNIC_MTU_4096);
    cr_assert_eq(a.active_mtu, NORNIC_MTU_4096);
    roce_dev_port_state(s->dev, false);
    cr_assert_not(port_attr().is_up);
    config.roce_v1 = true;
    config.num_pkeys = 7;
    renew();
    cr_assert(port_attr().roce_v1_supported, "ROCE-FRM-55");
    cr_assert_eq(port_attr().pkey_table_size, 7);
}

/* Events that RoCE does not have: no name, and no number of theirs is given to another.
 * covers: CA17-31, CA17-32, ROCE-EV-12 */
Test(query, CA17_32_events_that_never_come)
{
    static const int never[] = {11 /* LID_CHANGE */, 13 /* SM_CHANGE */, 17 /* CLIENT_REREGISTER */};
    for (int i = 0; i < 3; i++)
        cr_assert_str_eq(nornic_event_name((enum nornic_event_type)never[i]), "unknown event");
    for (int type = 0; type < NORNIC_EVENT_COUNT; type++)
        if (type != 11 && type != 13 && type != 17)
            cr_assert_str_neq(nornic_event_name((enum nornic_event_type)type), "unknown event", "%d", type);
}

/* covers: ROCE-RX-17 */
Test(query, ROCE_RX_17_the_port_counts_bad_keys)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bth.pkey = 0x8001;
    script_send(s, &p);
    script_send(s, &p);
    cr_assert_eq(port_attr().bad_pkey_counter, 2);
    cr_assert_eq(port_attr().qkey_viol_counter, 0);
}

/* Each entry tells its type, and both types of one address stand side by side.
 * covers: CA17-26, ROCE-AH-10 */
Test(query, CA17_26_entries_of_the_gid_table_have_types)
{
    config.also_v1 = true;
    config.ipv6 = true;
    renew();
    struct nornic_gid gid = *roce_dev_gid_get(s->dev, 0);
    cr_assert_eq(gid.type, NORNIC_GID_V2);
    gid.type = NORNIC_GID_V1;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 1);
    gid.addr = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 9});
    gid.type = NORNIC_GID_V2;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 2);
    cr_assert_eq(roce_dev_gid_get(s->dev, 1)->type, NORNIC_GID_V1);
    cr_assert_eq(roce_dev_gid_get(s->dev, 2)->type, NORNIC_GID_V2);
    cr_assert(nornic_addr_is_v4(&roce_dev_gid_get(s->dev, 2)->addr), "IPv4 or IPv6: the address says");
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), -EEXIST);
    gid.type = (enum nornic_gid_type)2;
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), -EINVAL);
}

Test(query, ROCE_EV_9_the_port_tells_each_change_once)
{
    for (int i = 0; i < 2; i++) {
        roce_dev_port_state(s->dev, true); /* as it is already */
        expect_no_event(s);
        roce_dev_port_state(s->dev, false);
        expect_event(s, NORNIC_EVENT_PORT_ERR);
        roce_dev_port_state(s->dev, false);
        expect_no_event(s);
        roce_dev_port_state(s->dev, true);
        expect_event(s, NORNIC_EVENT_PORT_ACTIVE);
    }
}
