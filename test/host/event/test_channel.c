/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "host/event/channel.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "host/event/events.h"
#include "test/host/pair.h"
#include "rdma/transport.h"

#define SECOND NS_PER_S

static struct pair pair;
static struct host_channel *channel;
static struct host_cq *cqs[2];
static int contexts[2];

/* A completion as the engine adds it. */
static void complete(int i, bool solicited)
{
    struct nornic_wc wc = {.wr_id = 1};
    host_dev_lock(pair.side[0].dev);
    rdma_cq_push(host_cq_queue(cqs[i]), &wc, solicited);
    host_dev_unlock(pair.side[0].dev);
}

static void arm(int i)
{
    rdma_cq_req_notify(host_cq_queue(cqs[i]), false);
}

static bool is_readable(void)
{
    struct pollfd p = {.fd = host_channel_fd(channel), .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static void setup(void)
{
    pair_open(&pair, false);
    cr_assert_eq(host_channel_create(&channel), 0);
    for (int i = 0; i < 2; i++) {
        struct host_cq_config config = {.capacity = 4, .channel = channel, .ctx = &contexts[i]};
        cr_assert_eq(host_cq_create(pair.side[0].dev, &config, &cqs[i]), 0);
    }
}

static void teardown(void)
{
    for (int i = 0; i < 2; i++)
        if (cqs[i])
            cr_assert_eq(host_cq_destroy(cqs[i]), 0);
    cr_assert_eq(host_channel_destroy(channel), 0);
    pair_close(&pair);
}

TestSuite(channel, .init = setup, .fini = teardown, .timeout = 60);

/* covers: ROCE-CQ-5, ROCE-CQ-3 */
Test(channel, ROCE_CQ_5_an_event_names_its_cq_and_context)
{
    struct host_cq *cq;
    void *ctx;
    complete(0, false);
    cr_expect_not(is_readable(), "it was not armed");
    arm(1);
    arm(0);
    complete(1, false);
    complete(0, false);
    complete(1, false);
    cr_expect(is_readable());
    for (int i = 1; i >= 0; i--) { /* in the order in which they fired */
        cr_assert_eq(host_get_cq_event(channel, &cq, &ctx, 0), 0);
        cr_expect_eq(cq, cqs[i]);
        cr_expect_eq(ctx, &contexts[i]);
        host_ack_cq_events(cq, 1);
    }
    cr_expect_not(is_readable());
    cr_expect_eq(host_get_cq_event(channel, &cq, &ctx, 1000000), -EAGAIN);
}

/* What the channel is for: asleep until the device's own thread has completed something. */
Test(channel, ROCE_CQ_5_a_sleeper_is_woken_by_a_completion)
{
    struct pair_side *s = &pair.side[0];
    struct host_cq *cq;
    host_dev_lock(s->dev);
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = s->pd,
                                    .send_cq = host_cq_queue(cqs[0]),
                                    .recv_cq = host_cq_queue(cqs[0]),
                                    .caps = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1}};
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(host_dev_engine(s->dev), &config, &qp), 0);
    host_dev_unlock(s->dev);
    cr_expect_eq(host_cq_destroy(cqs[0]), -EBUSY, "a QP uses it (ROCE-CQ-6)");
    cr_expect_eq(host_channel_destroy(channel), -EBUSY, "CQs use it");
    arm(0);

    /* A work request that is flushed completes at once. */
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT, .port = 1};
    host_dev_lock(s->dev);
    int rc = roce_qp_modify(qp, &attr,
                            NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
                            host_now_ns());
    attr.state = NORNIC_QPS_ERR;
    if (rc == 0)
        rc = roce_qp_modify(qp, &attr, NORNIC_QP_STATE, host_now_ns());
    host_dev_unlock(s->dev);
    cr_assert_eq(rc, 0);
    struct nornic_send_wr wr = {.wr_id = 5, .opcode = NORNIC_WR_SEND, .send_flags = NORNIC_SEND_SIGNALED};
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 10 * SECOND), 0);
    cr_expect_eq(cq, cqs[0]);
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(host_cq_queue(cq), &wc, 1), 1);
    cr_expect_eq(wc.wr_id, 5);
    host_ack_cq_events(cq, 1);
    host_qp_destroy(s->dev, qp);
}

static atomic_bool is_destroyed;

static void *destroy_cq(void *arg)
{
    cr_assert_eq(host_cq_destroy(arg), 0);
    atomic_store(&is_destroyed, true);
    return NULL;
}

/* covers: ROCE-CQ-5 */
Test(channel, ROCE_CQ_5_destroying_waits_for_the_acknowledgement)
{
    struct host_cq *cq;
    pthread_t thread;
    for (int i = 0; i < 2; i++) {
        arm(0);
        complete(0, false);
        cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
    }
    cr_assert_eq(pthread_create(&thread, NULL, destroy_cq, cq), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* time to do what it must not */
    cr_expect_not(atomic_load(&is_destroyed), "destroyed under events that nobody has acknowledged");
    host_ack_cq_events(cq, 1);
    nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
    cr_expect_not(atomic_load(&is_destroyed), "one of two is acknowledged");
    cr_expect_eq(rdma_cq_capacity(host_cq_queue(cq)), 4, "it is still there");
    host_ack_cq_events(cq, 1);
    pthread_join(thread, NULL);
    cqs[0] = NULL;
}

/* covers: ROCE-CQ-5 */
Test(channel, ROCE_CQ_5_events_nobody_took_go_with_their_cq)
{
    struct host_cq *cq;
    arm(0);
    complete(0, false);
    arm(1);
    complete(1, false);
    cr_assert_eq(host_cq_destroy(cqs[0]), 0);
    cqs[0] = NULL;
    cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
    cr_expect_eq(cq, cqs[1]);
    host_ack_cq_events(cq, 1);
    cr_expect_not(is_readable());
}

/* covers: ROCE-CQ-2 */
Test(channel, a_cq_that_overflows_wakes_its_reader)
{
    struct host_cq *cq;
    for (int i = 0; i < 5; i++)
        complete(0, false);
    cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
    host_ack_cq_events(cq, 1);
    struct nornic_wc wcs[8];
    cr_expect_eq(rdma_cq_poll(host_cq_queue(cq), wcs, 8), 4);
    cr_expect_eq(rdma_cq_poll(host_cq_queue(cq), wcs, 8), -EIO);
}

Test(channel, a_cq_needs_no_channel_and_takes_no_bad_capacity)
{
    struct host_cq *cq;
    struct host_cq_config config = {.capacity = 4};
    cr_assert_eq(host_cq_create(pair.side[0].dev, &config, &cq), 0);
    struct nornic_wc wc = {.wr_id = 1};
    rdma_cq_req_notify(host_cq_queue(cq), false);
    host_dev_lock(pair.side[0].dev);
    cr_expect(rdma_cq_push(host_cq_queue(cq), &wc, false));
    host_dev_unlock(pair.side[0].dev);
    cr_expect_not(is_readable());
    cr_expect_eq(host_cq_destroy(cq), 0);
    config.capacity = 0;
    cr_expect_eq(host_cq_create(pair.side[0].dev, &config, &cq), -EINVAL);
}

/* fio's rdma engine is asked to let go of a queue in use, with an event that it never acknowledges. */
Test(channel, ROCE_CQ_6_a_cq_in_use_is_refused_at_once)
{
    struct host_cq *cq;
    arm(0);
    complete(0, false);
    cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
    rdma_cq_get(host_cq_queue(cq));
    cr_expect_eq(host_cq_destroy(cq), -EBUSY);
    rdma_cq_put(host_cq_queue(cq));
    host_ack_cq_events(cq, 1);
}

/* Who is woken may end the process: what the round still has to send has left by then. */
Test(channel, an_event_waits_for_the_end_of_the_round)
{
    struct nornic_wc wc = {.wr_id = 1};
    struct host_cq *cq;
    for (int i = 0; i < 4; i++) {
        arm(i % 2);
        host_dev_lock(pair.side[0].dev);
        rdma_cq_push(host_cq_queue(cqs[i % 2]), &wc, false);
        cr_expect_not(is_readable(), "told in the middle of a round");
        host_dev_unlock(pair.side[0].dev);
        cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
        cr_expect_eq(cq, cqs[i % 2]);
        host_ack_cq_events(cq, 1);
    }
}

/* An event that was about to be taken when the CQ could not be destroyed is not lost. */
Test(channel, a_cq_that_stays_keeps_its_event)
{
    struct host_cq *cq;
    arm(0);
    complete(0, false);
    rdma_cq_get(host_cq_queue(cqs[0]));
    cr_expect_eq(host_cq_destroy(cqs[0]), -EBUSY);
    rdma_cq_put(host_cq_queue(cqs[0]));
    cr_expect(is_readable());
    cr_assert_eq(host_get_cq_event(channel, &cq, NULL, 0), 0);
    cr_expect_eq(cq, cqs[0]);
    host_ack_cq_events(cq, 1);
}
