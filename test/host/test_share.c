/* SPDX-License-Identifier: BSD-2-Clause */
/* Three devices at one address of the loopback interface stand for three processes. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/cm/inner.h"
#include "net/share/share.h"

#define SIDES 3
#define QKEY  0x11223344u

static struct cm_side sides[SIDES];
static struct nornic_addr addr;
static char dir[] = "/tmp/nn-share-XXXXXX", port[64];

static void open_side(unsigned i)
{
    struct cm_side *s = &sides[i];
    struct host_dev_config config = {.port = port};
    struct rdma_cq_config cq = {.capacity = 64};
    struct nornic_error why = {""};
    cr_assert_eq(host_dev_open(&config, &s->dev, &why), 0, "%s", why.text);
    cr_assert_eq(host_cm_open(s->dev, NULL, &s->cm, &why), 0, "%s", why.text);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &s->cq), 0);
    s->addr = addr;
    host_dev_lock(s->dev);
    int err = rdma_pd_create(roce_dev_domain(host_dev_engine(s->dev)), &s->pd);
    if (!err)
        err = rdma_mr_reg(s->pd, s->memory, CM_BYTES, NORNIC_ACCESS_LOCAL_WRITE, &s->mr);
    host_dev_unlock(s->dev);
    cr_assert_eq(err, 0);
}

static void close_side(unsigned i)
{
    struct cm_side *s = &sides[i];
    struct nornic_error why = {""};
    cr_assert_eq(host_cm_close(s->cm), 0, "ids are left");
    host_dev_lock(s->dev);
    rdma_mr_dereg(s->mr);
    int err = rdma_pd_destroy(s->pd);
    host_dev_unlock(s->dev);
    cr_assert_eq(err, 0);
    cr_assert_eq(rdma_cq_destroy(s->cq), 0);
    cr_assert_eq(host_dev_close(s->dev, &why), 0, "%s", why.text);
}

static void setup(void)
{
    const uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250), 1};
    char text[NORNIC_ADDR_STR_SIZE];
    addr = nornic_addr_from_v4(v4);
    snprintf(port, sizeof port, "udp:%s", nornic_addr_str(&addr, text));
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(setenv("NORNIC_RUNTIME_DIR", dir, 1), 0);
    for (unsigned i = 0; i < SIDES; i++)
        open_side(i);
}

static void teardown(void)
{
    for (unsigned i = 0; i < SIDES; i++)
        close_side(i);
    cr_expect_eq(rmdir(dir), 0, "nothing is left");
}

TestSuite(host_share, .init = setup, .fini = teardown, .timeout = 60);

static struct host_cm_id *listen_at(unsigned side, uint16_t service_port, int expected)
{
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(sides[side].cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(host_cm_listen(id, NULL, service_port, 4), expected);
    return id;
}

static struct host_cm_id *connect_to(unsigned side, uint16_t service_port, struct roce_qp *qp)
{
    struct nornic_conn_param param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7};
    struct nornic_error why = {""};
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(sides[side].cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(host_cm_resolve_addr(id, NULL, &addr, service_port, 10 * NS_PER_S, &why), 0, "%s", why.text);
    cr_assert_eq(cm_pair_skip(&sides[side], NORNIC_CM_EVENT_ADDR_RESOLVED), 0);
    cr_assert_eq(host_cm_resolve_route(id), 0);
    cr_assert_eq(cm_pair_skip(&sides[side], NORNIC_CM_EVENT_ROUTE_RESOLVED), 0);
    cr_assert_eq(host_cm_connect(id, qp, &param), 0);
    return id;
}

static void post_recv(unsigned side, struct roce_qp *qp)
{
    struct cm_side *s = &sides[side];
    struct nornic_sge sge = {.addr = (uintptr_t)s->memory, .len_bytes = CM_BYTES, .lkey = s->mr->lkey};
    struct nornic_recv_wr wr = {.sg_list = &sge, .num_sge = 1};
    memset(s->memory, 0, CM_BYTES);
    cr_assert_eq(roce_post_recv(qp, &wr, NULL), 0);
}

/* Each listens to a service of its own; all of them connect to all, themselves among them. */
Test(host_share, each_connects_to_each)
{
    struct host_cm_id *listeners[SIDES];
    for (unsigned i = 0; i < SIDES; i++)
        listeners[i] = listen_at(i, (uint16_t)(CM_PAIR_PORT + i), 0);
    for (unsigned from = 0; from < SIDES; from++)
        for (unsigned to = 0; to < SIDES; to++) {
            struct roce_qp *a = cm_pair_qp(&sides[from], NORNIC_QPT_RC),
                           *b = cm_pair_qp(&sides[to], NORNIC_QPT_RC);
            struct host_cm_id *active = connect_to(from, (uint16_t)(CM_PAIR_PORT + to), a);
            struct host_cm_event *event = cm_pair_expect(&sides[to], NORNIC_CM_EVENT_CONNECT_REQUEST);
            struct host_cm_id *passive = event->id;
            host_cm_ack_event(event);
            cr_assert_eq(host_cm_accept(passive, b, NULL), 0);
            cr_assert_eq(cm_pair_skip(&sides[from], NORNIC_CM_EVENT_ESTABLISHED), 0);
            cr_assert_eq(cm_pair_skip(&sides[to], NORNIC_CM_EVENT_ESTABLISHED), 0);
            post_recv(to, b);
            struct nornic_sge sge = {
                .addr = (uintptr_t)sides[from].memory, .len_bytes = 1000, .lkey = sides[from].mr->lkey};
            struct nornic_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
            cr_assert_eq(roce_post_send(a, &wr, NULL), 0);
            cr_expect_eq(cm_pair_await(sides[from].cq).status, NORNIC_WC_SUCCESS);
            cr_expect_eq(cm_pair_await(sides[to].cq).status, NORNIC_WC_SUCCESS);
            host_cm_destroy_id(active);
            cr_assert_eq(cm_pair_skip(&sides[to], NORNIC_CM_EVENT_DISCONNECTED), 0);
            host_cm_destroy_id(passive);
            cm_pair_drop_qp(&sides[from], a);
            cm_pair_drop_qp(&sides[to], b);
        }
    for (unsigned i = 0; i < SIDES; i++)
        host_cm_destroy_id(listeners[i]);
}

/* By one of them, once. */
Test(host_share, what_nobody_serves_is_refused)
{
    for (unsigned from = 0; from < SIDES; from++) {
        struct roce_qp *qp = cm_pair_qp(&sides[from], NORNIC_QPT_RC);
        struct host_cm_id *id = connect_to(from, CM_PAIR_PORT, qp);
        cr_expect_eq(cm_pair_skip(&sides[from], NORNIC_CM_EVENT_REJECTED), ROCE_CM_REJ_INVALID_SERVICE_ID);
        host_cm_destroy_id(id);
        cm_pair_drop_qp(&sides[from], qp);
    }
}

Test(host_share, a_service_has_one_process)
{
    struct host_cm_id *ours = listen_at(0, CM_PAIR_PORT, 0);
    struct host_cm_id *refused = listen_at(1, CM_PAIR_PORT, -EADDRINUSE);
    host_cm_destroy_id(ours);
    host_cm_destroy_id(refused);
    host_cm_destroy_id(listen_at(1, CM_PAIR_PORT, 0));
}

static struct roce_qp *ud_qp(unsigned side)
{
    struct roce_qp *qp = cm_pair_qp(&sides[side], NORNIC_QPT_UD);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1, .qkey = QKEY};
    host_dev_lock(sides[side].dev);
    int err = roce_qp_modify(
        qp, &attr, NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY, host_now_ns());
    attr.state = NORNIC_QPS_RTR;
    err = err ? err : roce_qp_modify(qp, &attr, NORNIC_QP_STATE, host_now_ns());
    attr.state = NORNIC_QPS_RTS;
    err = err ? err : roce_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_SQ_PSN, host_now_ns());
    host_dev_unlock(sides[side].dev);
    cr_assert_eq(err, 0);
    return qp;
}

/* Each member gets one copy, the sender among them. */
Test(host_share, a_datagram_to_a_group_comes_to_all_members)
{
    struct nornic_addr group;
    struct roce_qp *qps[SIDES];
    cr_assert_eq(nornic_addr_parse("239.77.1.1", &group), 0);
    for (unsigned i = 0; i < SIDES; i++) {
        qps[i] = ud_qp(i);
        host_dev_lock(sides[i].dev);
        cr_expect_eq(roce_qp_attach_mcast(qps[i], &group), 0);
        host_dev_unlock(sides[i].dev);
    }
    for (unsigned from = 0; from < SIDES; from++) {
        struct cm_side *s = &sides[from];
        struct nornic_av av = {
            .dgid = group, .sgid_index = 0, .dst_mac = nornic_addr_mcast_mac(&group), .hop_limit = 1};
        struct nornic_ah *ah;
        for (unsigned i = 0; i < SIDES; i++) {
            post_recv(i, qps[i]);
            post_recv(i, qps[i]); /* for a copy too many */
        }
        host_dev_lock(s->dev);
        cr_assert_eq(roce_ah_create(host_dev_engine(s->dev), s->pd, &av, &ah), 0);
        host_dev_unlock(s->dev);
        struct nornic_sge sge = {.addr = (uintptr_t)s->memory, .len_bytes = 64, .lkey = s->mr->lkey};
        struct nornic_send_wr wr = {.sg_list = &sge,
                                    .num_sge = 1,
                                    .opcode = NORNIC_WR_SEND,
                                    .ud = {.ah = ah, .remote_qpn = 0xffffff, .remote_qkey = QKEY}};
        cr_assert_eq(roce_post_send(qps[from], &wr, NULL), 0);
        for (unsigned i = 0; i < SIDES; i++)
            for (unsigned k = 0; k < (i == from ? 2 : 1); k++) {
                struct nornic_wc wc = cm_pair_await(sides[i].cq);
                cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
                cr_expect(wc.opcode == NORNIC_WC_SEND || wc.src_qpn == roce_qp_num(qps[from]));
            }
        host_dev_lock(s->dev);
        cr_assert_eq(roce_ah_destroy(ah), 0);
        host_dev_unlock(s->dev);
    }
    for (unsigned i = 0; i < SIDES; i++) {
        struct nornic_wc wc;
        cr_expect_eq(rdma_cq_poll(sides[i].cq, &wc, 1), 0, "a second copy came to %u", i);
        host_dev_lock(sides[i].dev);
        cr_expect_eq(roce_qp_detach_mcast(qps[i], &group), 0);
        host_dev_unlock(sides[i].dev);
        cm_pair_drop_qp(&sides[i], qps[i]);
    }
}

/* A port that names the numbers gets them, or hears the name of their holder. */
Test(host_share, a_first_number_may_be_named)
{
    struct nornic_error why = {""};
    struct host_dev *dev;
    struct host_dev_config config = {.port = port};
    const struct net_share *share = net_port_share(host_dev_port(sides[0].dev));
    cr_assert_not_null(share);
    config.first_qpn = net_share_first_qpn(share) + 100;
    cr_expect_eq(host_dev_open(&config, &dev, &why), -EADDRINUSE);
    config.first_qpn = 0x0f0;
    cr_expect_eq(host_dev_open(&config, &dev, &why), 0, "%s", why.text);
    cr_expect_eq(net_share_first_qpn(net_port_share(host_dev_port(dev))), 0);
    cr_expect_eq(host_dev_close(dev, &why), 0);
    config.first_qpn = 0x0ffff;
    cr_expect_eq(host_dev_open(&config, &dev, &why), -EINVAL);
    cr_expect(strstr(why.text, "first_qpn 65535"), "%s", why.text);
}
