/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "host/event/events.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#include "host/dev/dev.h"
#include "test/host/pair.h"
#include "rdma/queue/qp.h"
#include "rdma/transport.h"
#include "roce/base.h"

#define SECOND NS_PER_S

static struct pair pair;
static struct host_dev *dev;

static bool is_readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) == 1;
}

static bool take(struct host_event *event)
{
    return host_dev_get_event(dev, event, 0) == 0;
}

/* Opening has raised events of its own; they are not what the tests are about. */
static void setup(void)
{
    struct host_event event;
    pair_open(&pair, false);
    dev = pair.side[0].dev;
    while (take(&event))
        host_dev_ack_event(dev, &event);
}

static void teardown(void)
{
    pair_close(&pair);
}

TestSuite(events, .init = setup, .fini = teardown, .timeout = 60);

static void set_link(bool up)
{
    host_dev_lock(dev);
    roce_dev_port_state(host_dev_engine(dev), up);
    host_dev_unlock(dev);
}

/* Raises SQ_DRAINED of side 0's QP and leaves it in RTS. */
static void drain_qp(void)
{
    struct roce_qp *qp = pair.side[0].qp;
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_SQD, .en_sqd_async_notify = true};
    host_dev_lock(dev);
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | NORNIC_QP_EN_SQD_ASYNC_NOTIFY, host_now_ns()),
                 0);
    host_dev_unlock(dev);
    struct pollfd p = {.fd = host_dev_event_fd(dev), .events = POLLIN};
    cr_assert_eq(poll(&p, 1, 5000), 1, "no SQ_DRAINED");
    pair_modify_state(&pair, NORNIC_QPS_RTS);
}

/* covers: ROCE-EV-20, ROCE-EV-9 */
Test(events, ROCE_EV_20_queued_and_delivered_once)
{
    struct host_event event;
    cr_expect_eq(host_dev_get_event(dev, &event, 0), -EAGAIN);
    cr_expect_not(is_readable(host_dev_event_fd(dev)));
    set_link(false);
    set_link(true);
    cr_expect(is_readable(host_dev_event_fd(dev)));
    cr_assert(take(&event));
    cr_expect_eq(event.type, NORNIC_EVENT_PORT_ERR);
    cr_expect(is_readable(host_dev_event_fd(dev)), "another one waits");
    host_dev_ack_event(dev, &event);
    cr_assert(take(&event));
    cr_expect_eq(event.type, NORNIC_EVENT_PORT_ACTIVE);
    cr_expect_not(is_readable(host_dev_event_fd(dev)));
    cr_expect_not(take(&event), "delivered twice");
    event.type = NORNIC_EVENT_PORT_ACTIVE;
    host_dev_ack_event(dev, &event);
}

/* Nobody reads, and the link flaps for days: what is queued stays small, and its last word is true. */
Test(events, events_of_the_port_do_not_pile_up)
{
    struct host_event event;
    for (int i = 0; i < 100; i++) {
        set_link(false);
        set_link(true);
    }
    set_link(false);
    enum nornic_event_type last = NORNIC_EVENT_COUNT;
    int count = 0;
    for (; take(&event); count++, last = event.type)
        host_dev_ack_event(dev, &event);
    cr_expect_eq(count, 2);
    cr_expect_eq(last, NORNIC_EVENT_PORT_ERR);
}

Test(events, a_wait_ends_with_an_event_or_its_time)
{
    struct host_event event;
    uint64_t start_ns = host_now_ns();
    cr_expect_eq(host_dev_get_event(dev, &event, 5000000), -EAGAIN);
    cr_expect_geq(host_now_ns() - start_ns, 5000000);
    set_link(false);
    cr_assert_eq(host_dev_get_event(dev, &event, 30 * SECOND), 0);
    cr_expect_lt(host_now_ns() - start_ns, 10 * SECOND);
    host_dev_ack_event(dev, &event);
}

static atomic_bool is_destroyed;

static void *destroy_qp(void *arg)
{
    (void)arg;
    cr_assert_eq(host_qp_destroy(dev, pair.side[0].qp), 0);
    atomic_store(&is_destroyed, true);
    return NULL;
}

/* covers: ROCE-EV-20 */
Test(events, ROCE_EV_20_destroying_waits_for_the_acknowledgement)
{
    struct host_event event;
    pthread_t thread;
    drain_qp();
    cr_assert(take(&event));
    cr_assert_eq(event.type, NORNIC_EVENT_SQ_DRAINED);
    cr_assert_eq(event.qp, roce_qp_base(pair.side[0].qp));
    cr_assert_eq(pthread_create(&thread, NULL, destroy_qp, NULL), 0);
    nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL); /* time to do what it must not */
    cr_expect_not(atomic_load(&is_destroyed), "destroyed under an event that nobody has acknowledged");
    cr_expect_geq(event.qp->qpn, 17, "the QP is still there");
    host_dev_ack_event(dev, &event);
    pthread_join(thread, NULL);
    pair.side[0].qp = NULL;
}

/* covers: ROCE-EV-20 */
Test(events, ROCE_EV_20_events_nobody_took_go_with_their_object)
{
    struct host_event event;
    drain_qp();
    drain_qp();
    set_link(false);
    cr_assert_eq(host_qp_destroy(dev, pair.side[0].qp), 0);
    pair.side[0].qp = NULL;
    cr_assert(take(&event));
    cr_expect_eq(event.type, NORNIC_EVENT_PORT_ERR, "about what is no more");
    host_dev_ack_event(dev, &event);
    cr_expect_not(take(&event));
    cr_expect_not(is_readable(host_dev_event_fd(dev)));
}

/* covers: ROCE-EV-20, ROCE-EV-11, ROCE-RS-71 */
Test(events, ROCE_EV_20_events_of_an_srq)
{
    struct rdma_srq *srq;
    struct host_event event;
    struct rdma_srq_config config = {.max_wr = 4, .max_sge = 1};
    host_dev_lock(dev);
    int rc = rdma_srq_create(pair.side[0].pd, &config, &srq);
    if (rc == 0)
        rc = rdma_srq_set_limit(srq, 1); /* it is empty: reached at once */
    host_dev_unlock(dev);
    cr_assert_eq(rc, 0);
    cr_assert(take(&event));
    cr_expect_eq(event.type, NORNIC_EVENT_SRQ_LIMIT_REACHED);
    cr_expect_eq(event.srq, srq);
    host_dev_ack_event(dev, &event);
    host_dev_lock(dev);
    rdma_srq_fail(srq);
    rdma_srq_get(srq); /* as a QP that uses it */
    host_dev_unlock(dev);
    cr_expect_eq(host_srq_destroy(dev, srq), -EBUSY);
    cr_assert(take(&event), "the event of an SRQ that stays is not lost");
    cr_expect_eq(event.type, NORNIC_EVENT_SRQ_ERR);
    host_dev_ack_event(dev, &event);
    host_dev_lock(dev);
    rdma_srq_put(srq);
    host_dev_unlock(dev);
    cr_expect_eq(host_srq_destroy(dev, srq), 0);
}

#define TAKERS 4
#define ROUNDS 500

static atomic_uint taken;
static atomic_bool stop_taking;

static void *keep_taking(void *arg)
{
    (void)arg;
    struct host_event event;
    while (!atomic_load(&stop_taking))
        if (host_dev_get_event(dev, &event, 1000000) == 0) {
            atomic_fetch_add(&taken, event.type == NORNIC_EVENT_SQ_DRAINED);
            host_dev_ack_event(dev, &event);
        }
    return NULL;
}

/* covers: ROCE-EV-20 */
Test(events, many_threads_take_each_event_once)
{
    pthread_t threads[TAKERS];
    for (int i = 0; i < TAKERS; i++)
        cr_assert_eq(pthread_create(&threads[i], NULL, keep_taking, NULL), 0);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_SQD, .en_sqd_async_notify = true};
    for (unsigned i = 0; i < ROUNDS; i++) {
        host_dev_lock(dev);
        cr_assert_eq(roce_qp_modify(pair.side[0].qp, &attr, NORNIC_QP_STATE | NORNIC_QP_EN_SQD_ASYNC_NOTIFY,
                                    host_now_ns()),
                     0);
        host_dev_unlock(dev);
        uint64_t end_ns = host_now_ns() + 10 * SECOND;
        while (atomic_load(&taken) < i + 1)
            cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL), host_now_ns()), end_ns,
                         "event %u was not taken", i);
        pair_modify_state(&pair, NORNIC_QPS_RTS);
    }
    atomic_store(&stop_taking, true);
    for (int i = 0; i < TAKERS; i++)
        pthread_join(threads[i], NULL);
    cr_expect_eq(atomic_load(&taken), ROUNDS);
}

/* A QP raises COMM_EST each time that data comes before it is in RTS; nobody takes events. */
static void raise_comm_est(const struct rdma_qp *qp)
{
    host_event_queue_push(&dev->events, &(struct host_event){.type = NORNIC_EVENT_COMM_EST, .qp = qp});
}

static struct roce_qp *another_qp(void)
{
    struct roce_qp *qp = NULL;
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = pair.side[0].pd,
                                    .send_cq = pair.side[0].cq,
                                    .recv_cq = pair.side[0].cq,
                                    .caps = {.max_send_wr = 1, .max_recv_wr = 1}};
    cr_assert_eq(roce_qp_create(host_dev_engine(dev), &config, &qp), 0);
    return qp;
}

/* covers: ROCE-EV-20 */
Test(events, ROCE_EV_20_a_qp_takes_its_events_along_whoever_destroys_it)
{
    struct host_event event;
    for (int i = 0; i < 2000; i++) {
        host_dev_lock(dev);
        struct roce_qp *qp = another_qp();
        raise_comm_est(roce_qp_base(qp));
        cr_assert_eq(roce_qp_destroy(qp), 0); /* the engine's call, which knows nothing of the queue */
        host_dev_unlock(dev);
    }
    cr_expect_eq(dev->events.count, 0, "%u events of dead QPs", dev->events.count);
    cr_expect_not(take(&event));
    cr_expect_not(is_readable(host_dev_event_fd(dev)));
}

/* The QP goes by the engine's call while someone has its event: the acknowledgement comes late, and harms
 * nobody. */
Test(events, an_event_may_outlive_a_qp_that_the_engine_destroyed)
{
    struct host_event event;
    host_dev_lock(dev);
    struct roce_qp *qp = another_qp();
    raise_comm_est(roce_qp_base(qp));
    host_dev_unlock(dev);
    cr_assert(take(&event));
    host_dev_lock(dev);
    cr_assert_eq(roce_qp_destroy(qp), 0);
    host_dev_unlock(dev);
    host_dev_ack_event(dev, &event);
    cr_expect_not(take(&event));
}

/* covers: ROCE-EV-20 */
Test(events, ROCE_EV_20_what_waits_about_an_object_waits_once)
{
    struct host_event event;
    for (int i = 0; i < 100; i++)
        raise_comm_est(roce_qp_base(pair.side[0].qp));
    cr_expect_eq(dev->events.count, 1);
    cr_assert(take(&event));
    host_dev_ack_event(dev, &event);
    cr_expect_not(take(&event));
    raise_comm_est(roce_qp_base(pair.side[0].qp));
    cr_expect(take(&event), "and again after it was taken");
    host_dev_ack_event(dev, &event);
}

/* Objects without number, and nobody takes: the reader is told that some were lost. */
Test(events, the_queue_is_bounded)
{
    struct host_event event;
    static uint8_t objects[HOST_EVENTS_MAX + 10]; /* addresses are all that counts */
    for (unsigned i = 0; i < sizeof objects; i++)
        raise_comm_est((const struct rdma_qp *)(const void *)&objects[i]);
    cr_expect_eq(dev->events.count, HOST_EVENTS_MAX);
    for (unsigned i = 0; i < HOST_EVENTS_MAX; i++) {
        cr_assert(take(&event));
        cr_assert_eq(event.qp, (void *)&objects[i], "event %u comes out of order", i);
        host_dev_ack_event(dev, &event);
    }
    cr_expect_eq(host_dev_get_event(dev, &event, 0), -ENOBUFS);
    cr_expect_eq(host_dev_get_event(dev, &event, 0), -EAGAIN, "and once");
}
