/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams to a group, over a veth pair: the kernel is told of it, and lets the frames in. */
#include <criterion/criterion.h>
#include <errno.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/event/events.h"
#include "host/roce/multicast.h"

#define QKEY      0x11223344u
#define L3_AREA   40u /* before each datagram: ROCE-UD-4 */
#define MCAST_QPN 0xffffffu

static struct cm_pair pair;

static void setup(void)
{
    cm_pair_open(&pair, true, NULL);
}

static void teardown(void)
{
    cm_pair_close(&pair);
}

TestSuite(host_multicast, .init = setup, .fini = teardown, .timeout = 60);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr a;
    cr_assert_eq(nornic_addr_parse(text, &a), 0, "%s", text);
    return a;
}

/* A UD QP in RTS. */
static struct roce_qp *ud_qp(int side)
{
    struct roce_qp *qp = cm_pair_qp(&pair.side[side], NORNIC_QPT_UD);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1, .qkey = QKEY};
    host_dev_lock(pair.side[side].dev);
    int rc = roce_qp_modify(
        qp, &attr, NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY, host_now_ns());
    attr.state = NORNIC_QPS_RTR;
    if (rc == 0)
        rc = roce_qp_modify(qp, &attr, NORNIC_QP_STATE, host_now_ns());
    attr.state = NORNIC_QPS_RTS;
    if (rc == 0)
        rc = roce_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN, host_now_ns());
    host_dev_unlock(pair.side[side].dev);
    cr_assert_eq(rc, 0);
    return qp;
}

static int attach(int side, struct roce_qp *qp, const struct nornic_addr *group, bool on)
{
    netns_enter(&pair.veth, side);
    host_dev_lock(pair.side[side].dev);
    int rc = on ? roce_qp_attach_mcast(qp, group) : roce_qp_detach_mcast(qp, group);
    host_dev_unlock(pair.side[side].dev);
    netns_enter(&pair.veth, -1);
    return rc;
}

static bool kernel_lists(int side, const char *group)
{
    return netns_run(&pair.veth, side, "ip maddr show dev nn%d | grep -qwF %s", side, group) == 0;
}

/* Side 0 sends to the group; the address handle is what joining through the CM has told. */
static void send_to(struct roce_qp *qp, const struct nornic_addr *group)
{
    struct cm_side *s = &pair.side[0];
    struct host_cm_id *id;
    struct nornic_ah *ah = NULL;
    struct nornic_error why = {""};
    cr_assert_eq(host_cm_create_id(s->cm, NORNIC_PS_UDP, NULL, &id), 0);
    netns_enter(&pair.veth, 0);
    cr_assert_eq(host_cm_join_multicast(id, group, false, &why), 0, "%s", why.text);
    netns_enter(&pair.veth, -1);
    struct host_cm_event *event = cm_pair_expect(s, NORNIC_CM_EVENT_MULTICAST_JOIN);
    host_dev_lock(s->dev);
    int rc = roce_ah_create(host_dev_engine(s->dev), s->pd, &event->values.path.av, &ah);
    host_dev_unlock(s->dev);
    cr_assert_eq(rc, 0);
    memset(s->memory, 'm', 64);
    struct nornic_sge sge = {.addr = (uintptr_t)s->memory, .len_bytes = 64, .lkey = s->mr->lkey};
    struct nornic_send_wr wr = {
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = NORNIC_WR_SEND,
        .ud = {.ah = ah, .remote_qpn = event->values.qpn, .remote_qkey = QKEY},
    };
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    cr_assert_eq(cm_pair_await(s->cq).status, NORNIC_WC_SUCCESS);
    host_dev_lock(s->dev);
    cr_assert_eq(roce_ah_destroy(ah), 0);
    host_dev_unlock(s->dev);
    host_cm_ack_event(event);
    host_cm_destroy_id(id);
}

/* covers: ROCE-UD-20, ROCE-UD-21, ROCE-INT-28 */
Test(host_multicast, ROCE_UD_21_attaching_joins_and_datagrams_arrive)
{
    static const char *const groups[] = {"239.1.2.3", "ff05::1234"};
    struct roce_qp *qps[3] = {ud_qp(0), ud_qp(1), ud_qp(1)};
    struct cm_side *to = &pair.side[1];
    for (int g = 0; g < 2; g++) {
        struct nornic_addr group = addr_of(groups[g]);
        struct nornic_sge sge = {.addr = (uintptr_t)to->memory, .len_bytes = 256, .lkey = to->mr->lkey};
        struct nornic_recv_wr recv = {.sg_list = &sge, .num_sge = 1};
        cr_assert_eq(attach(1, qps[1], &group, true), 0);
        cr_expect(kernel_lists(1, groups[g]), "%s", groups[g]);
        cr_assert_eq(attach(1, qps[2], &group, true), 0);
        cr_assert_eq(roce_post_recv(qps[1], &recv, NULL), 0);
        memset(to->memory, 0, 256);
        send_to(qps[0], &group);
        struct nornic_wc wc = cm_pair_await(to->cq);
        cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
        cr_expect_eq(wc.byte_len, 64 + L3_AREA);
        cr_expect_eq(wc.src_qpn, roce_qp_num(qps[0]));
        cr_expect_eq(to->memory[L3_AREA + 63], 'm');

        cr_expect_eq(host_qp_destroy(to->dev, qps[1]), -EBUSY, "it is attached");
        cr_assert_eq(attach(1, qps[1], &group, false), 0);
        cr_expect(kernel_lists(1, groups[g]), "another QP is still attached to %s", groups[g]);
        cr_assert_eq(attach(1, qps[2], &group, false), 0);
        cr_expect_not(kernel_lists(1, groups[g]), "%s", groups[g]);
    }
    for (int i = 0; i < 3; i++)
        cr_expect_eq(host_qp_destroy(pair.side[i > 0].dev, qps[i]), 0);
}

/* Whether side 1 has a socket at 239.1.2.3, port 4791. */
static bool has_socket(void)
{
    return netns_run(&pair.veth, 1, "grep -q 030201EF:12B7 /proc/net/udp") == 0;
}

/* The port has one socket for all holders of a group. */
Test(host_multicast_udp, last_holder_closes_the_socket, .timeout = 60)
{
    struct host_dev_config config = {.port = "udp:nn1"};
    struct host_dev *dev;
    struct nornic_error why = {""};
    struct nornic_addr group = addr_of("239.1.2.3");
    netns_veth_open(&pair.veth, 1500);
    netns_enter(&pair.veth, 1);
    cr_assert_eq(host_dev_open(&config, &dev, &why), 0, "%s", why.text);
    host_dev_lock(dev);
    for (unsigned i = 0; i < 2; i++)
        cr_expect_eq(host_multicast_join(dev, &group, &why), 0, "%s", why.text);
    cr_expect(has_socket());
    host_multicast_leave(dev, &group);
    cr_expect(has_socket(), "another holds the group");
    host_multicast_leave(dev, &group);
    cr_expect_not(has_socket());
    host_dev_unlock(dev);
    netns_enter(&pair.veth, -1);
    cr_expect_eq(host_dev_close(dev, NULL), 0);
    netns_veth_destroy(&pair.veth);
}
