/* SPDX-License-Identifier: BSD-2-Clause */
/* What librdmacm's users do beside connecting: receives before the answer, queue pairs that they move
 * themselves, a goodbye and an end at once. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/dev/dev.h"
#include "roce/counters.h"

static struct cm_pair pair;
static struct host_cm_id *listener;
static const struct nornic_conn_param param = {
    .responder_resources = 4, .initiator_depth = 4, .retry_count = 7, .rnr_retry_count = 7};

static void setup(void)
{
    cm_pair_open(&pair, false, NULL);
    listener = cm_pair_listen(&pair, NORNIC_PS_TCP);
}

static void teardown(void)
{
    if (listener)
        host_cm_destroy_id(listener);
    cm_pair_close(&pair);
}

TestSuite(cm_own_qp, .init = setup, .fini = teardown, .timeout = 60);

static void drop(struct host_cm_id *active, struct host_cm_id *passive, struct roce_qp *qps[2])
{
    host_cm_destroy_id(active);
    host_cm_destroy_id(passive);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], qps[i]);
}

static int modify(struct cm_side *side, struct roce_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask)
{
    host_dev_lock(side->dev);
    int err = roce_qp_modify(qp, attr, mask, host_now_ns());
    host_dev_unlock(side->dev);
    return err;
}

static void await_success(struct cm_side *side)
{
    struct nornic_wc wc;
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (rdma_cq_poll(side->cq, &wc, 1) == 0)
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL), host_now_ns()), end_ns);
    cr_assert_eq(wc.status, NORNIC_WC_SUCCESS);
}

/* Sends 64 bytes; who is to take them has posted a receive. */
static void send_from(int from, struct roce_qp *qp)
{
    struct cm_side *side = &pair.side[from];
    struct nornic_sge of = {.addr = (uintptr_t)side->memory, .len_bytes = 64, .lkey = side->mr->lkey};
    struct nornic_send_wr send = {.wr_id = 2, .sg_list = &of, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    memset(side->memory, 'a' + from, 64);
    cr_assert_eq(roce_post_send(qp, &send, NULL), 0);
    await_success(side);
    await_success(&pair.side[1 - from]);
    cr_expect_eq(pair.side[1 - from].memory[63], 'a' + from);
}

static void post_recv(int to, struct roce_qp *qp)
{
    struct cm_side *side = &pair.side[to];
    struct nornic_sge sge = {.addr = (uintptr_t)side->memory, .len_bytes = 64, .lkey = side->mr->lkey};
    struct nornic_recv_wr recv = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(qp, &recv, NULL), 0);
}

/* A QP in INIT takes receives; accepting goes on from there, and the peer's first message meets one. */
Test(cm_own_qp, receives_are_posted_before_accepting)
{
    struct host_cm_id *active = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[1].addr);
    struct roce_qp *qps[2] = {cm_pair_qp(&pair.side[0], NORNIC_QPT_RC),
                              cm_pair_qp(&pair.side[1], NORNIC_QPT_RC)};
    struct nornic_qp_attr init = {.state = NORNIC_QPS_INIT, .port = 1};
    cr_assert_eq(host_cm_connect(active, qps[0], &param), 0);
    struct host_cm_event *event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct host_cm_id *passive = event->id;
    host_cm_ack_event(event);
    cr_assert_eq(modify(&pair.side[1], qps[1], &init,
                        NORNIC_QP_STATE | NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX | NORNIC_QP_ACCESS_FLAGS),
                 0);
    post_recv(1, qps[1]);
    cr_assert_eq(host_cm_accept(passive, qps[1], &param), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ESTABLISHED);
    send_from(0, qps[0]);
    cr_expect_eq(roce_qp_counters(qps[0])->rnr_nak_received, 0, "the peer's receive was there");
    cm_pair_skip(&pair.side[1], NORNIC_CM_EVENT_ESTABLISHED);
    drop(active, passive, qps);
}

/* INIT, RTR, RTS with what the CM says: rdma_init_qp_attr(). */
static void walk(struct cm_side *side, const struct host_cm_id *id, struct roce_qp *qp)
{
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    struct nornic_qp_attr attr;
    uint32_t mask;
    for (unsigned i = 0; i < array_len(steps); i++) {
        cr_assert_eq(host_cm_qp_attr(id, steps[i], &attr, &mask), 0, "%s", nornic_qp_state_name(steps[i]));
        cr_assert_eq(modify(side, qp, &attr, mask), 0, "%s", nornic_qp_state_name(steps[i]));
    }
}

/* covers: ROCE-CM-64 */
Test(cm_own_qp, ROCE_CM_64_an_application_moves_its_qps_itself)
{
    struct nornic_qp_attr attr;
    uint32_t mask;
    struct host_cm_id *active = cm_pair_route(&pair, NORNIC_PS_TCP, &pair.side[1].addr);
    struct roce_qp *qps[2];
    struct nornic_conn_param own[2];
    for (int i = 0; i < 2; i++) {
        qps[i] = cm_pair_qp(&pair.side[i], NORNIC_QPT_RC);
        own[i] = param;
        own[i].qp_num = roce_qp_num(qps[i]);
    }
    cr_assert_eq(host_cm_connect(active, NULL, &own[0]), 0);
    cr_expect_eq(host_cm_establish(active, NULL, 0), -EINVAL, "nobody has answered");
    cr_expect_eq(host_cm_qp_attr(active, NORNIC_QPS_RTR, &attr, &mask), -EINVAL, "nothing is known yet");
    struct host_cm_event *event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_CONNECT_REQUEST);
    struct host_cm_id *passive = event->id;
    host_cm_ack_event(event);
    walk(&pair.side[1], passive, qps[1]);
    post_recv(1, qps[1]);
    cr_assert_eq(host_cm_accept(passive, NULL, &own[1]), 0);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_CONNECT_RESPONSE);
    walk(&pair.side[0], active, qps[0]);
    cr_assert_eq(host_cm_establish(active, "rtu", 3), 0);
    event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_arr_eq(event->values.private_data, "rtu", 4);
    host_cm_ack_event(event);
    send_from(0, qps[0]);
    drop(active, passive, qps);
}

/* The application parts and closes at once: the peer hears it, and is not left to repeat itself. */
Test(cm_own_qp, closing_lets_the_last_words_leave)
{
    struct cm_connection c = cm_pair_connect(&pair);
    host_dev_thread_stop(pair.side[0].dev); /* so that nobody else makes the round that it takes */
    host_cm_destroy_id(c.active);
    cr_assert_eq(host_cm_close(pair.side[0].cm), 0);
    pair.side[0].cm = NULL;
    cr_expect_eq(cm_pair_skip(&pair.side[1], NORNIC_CM_EVENT_DISCONNECTED), 0);
    host_cm_destroy_id(c.passive);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], c.qps[i]);
}

/* Closing is refused, with a count of what is left, until nothing is; meanwhile the device works. */
Test(cm_own_qp, a_device_in_use_does_not_close)
{
    struct nornic_error why = {""};
    struct cm_connection c = cm_pair_connect(&pair);
    cr_expect_eq(host_dev_close(pair.side[0].dev, &why), -EBUSY);
    cr_expect(strstr(why.text, "connection manager"), "%s", why.text);
    host_cm_destroy_id(c.active);
    cr_assert_eq(host_cm_close(pair.side[0].cm), 0);
    pair.side[0].cm = NULL;
    cr_expect_eq(host_dev_close(pair.side[0].dev, &why), -EBUSY);
    cr_expect(strstr(why.text, "1 queue pairs, 1 protection domains"), "%s", why.text);
    cr_expect_eq(cm_pair_skip(&pair.side[1], NORNIC_CM_EVENT_DISCONNECTED), 0);
    host_cm_destroy_id(c.passive);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], c.qps[i]);
}
