/* SPDX-License-Identifier: BSD-2-Clause */
/* QP 1 as the carrier: one device that talks to itself. */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "roce/cm/cm.h"
#include "roce/cm/pace.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define FRAME_BYTES 2048

static struct test_random random_state = {.state = 11};
static struct test_alloc dev_alloc, cm_alloc;
static struct roce_dev *dev;
static struct roce_cm *cm;
static const struct nornic_gid gid = {.addr = {{[10] = 0xff, 0xff, 192, 0, 2, 1}},
                                      .mac = {{2, 0, 0, 0, 0, 1}}};

static struct roce_cm_config config(void)
{
    return (struct roce_cm_config){.mem = &cm_alloc.mem,
                                   .random = test_random_source(&random_state),
                                   .port_mtu_bytes = 1500,
                                   .max_ids = 1000};
}

static void setup(void)
{
    test_alloc_init(&dev_alloc);
    test_alloc_init(&cm_alloc);
    struct roce_dev_config c = {
        .mem = &dev_alloc.mem, .random = test_random_source(&random_state), .port_mtu_bytes = 1500};
    struct roce_cm_config with = config();
    cr_assert_eq(roce_dev_create(&c, &dev), 0);
    cr_assert_eq(roce_dev_gid_add(dev, &gid), 0);
    cr_assert_eq(roce_cm_create(dev, &with, &cm), 0);
}

static void teardown(void)
{
    cr_assert_eq(roce_cm_destroy(cm), 0);
    cr_assert_eq(roce_dev_destroy(dev), 0);
    cr_assert_eq(cm_alloc.live, 0);
    cr_assert_eq(dev_alloc.live, 0);
}

static uint64_t clock_ns = 1000;

TestSuite(carrier, .init = setup, .fini = teardown);

/* Frames to an address of the device's own come back inside; the others are counted. */
static unsigned pump(void)
{
    static uint8_t bytes[FRAME_BYTES];
    unsigned frames = 0, idle = 0;
    while (idle < 2) {
        struct net_frame frame = {.data = bytes, .cap_bytes = sizeof bytes};
        unsigned n = roce_dev_tx(dev, &frame, 1, clock_ns);
        frames += n;
        roce_cm_progress(cm, clock_ns);
        idle = n == 0 && !roce_dev_tx_pending(dev) ? idle + 1 : 0;
    }
    return frames;
}

static struct roce_cm_id *connect_to(const struct nornic_addr *addr, struct roce_qp *qp)
{
    struct roce_cm_id *id;
    struct roce_cm_route route = {.path = {.av = {.dgid = *addr, .hop_limit = 64, .dst_mac = gid.mac}},
                                  .dst_port = 7471};
    struct nornic_conn_param param = {.qp_num = 17 + (uint32_t)test_random_below(&random_state, 1 << 20)};
    cr_assert_eq(roce_cm_id_create(cm, NORNIC_PS_TCP, NULL, &id), 0);
    cr_assert_eq(roce_cm_connect(id, &route, qp, &param, clock_ns), 0);
    return id;
}

/* covers: ROCE-UD-8 */
Test(carrier, a_device_can_connect_to_itself)
{
    struct roce_cm_id *listener, *id = connect_to(&gid.addr, NULL);
    struct roce_cm_event e;
    cr_assert_eq(roce_cm_id_create(cm, NORNIC_PS_TCP, NULL, &listener), 0);
    cr_assert_eq(roce_cm_listen(listener, NULL, 7471, 1), 0);
    cr_expect_eq(pump(), 0);
    cr_assert(roce_cm_get_event(cm, &e));
    cr_assert_eq(e.type, NORNIC_CM_EVENT_CONNECT_REQUEST);
    roce_cm_ack_event(&e);
    struct nornic_conn_param param = {.qp_num = 0x99};
    cr_assert_eq(roce_cm_accept(e.id, NULL, &param, 1000), 0);
    struct roce_cm_id *passive = e.id;
    pump();
    cr_assert(roce_cm_get_event(cm, &e));
    cr_expect_eq(e.type, NORNIC_CM_EVENT_CONNECT_RESPONSE);
    cr_expect_eq(e.qpn, 0x99);
    roce_cm_ack_event(&e);
    cr_assert_eq(roce_cm_establish(id, NULL, 0, 1000), 0);
    pump();
    cr_assert(roce_cm_get_event(cm, &e));
    cr_expect_eq(e.type, NORNIC_CM_EVENT_ESTABLISHED);
    cr_expect_eq(e.id, passive);
    roce_cm_ack_event(&e);
    cr_expect_eq(roce_cm_id_destroy(id, 1000), 0);
    cr_expect_eq(roce_cm_id_destroy(passive, 1000), 0);
    cr_expect_eq(roce_cm_id_destroy(listener, 1000), 0);
}

/* covers: ROCE-GSI-1 */
Test(carrier, ROCE_GSI_1_a_port_has_one_qp1)
{
    struct roce_cm_config with = config();
    struct roce_cm *second;
    unsigned live = cm_alloc.live;
    cr_expect_eq(roce_cm_create(dev, &with, &second), -EBUSY);
    cr_expect_eq(cm_alloc.live, live);
}

/* Requests that nobody answers leave at the pace that forgets them, other messages at the device's. */
Test(carrier, sends_beyond_the_pace_wait_for_their_time)
{
    struct nornic_addr elsewhere = gid.addr;
    struct roce_cm_id *ids[300];
    unsigned sent;
    elsewhere.b[15] = 9;
    for (unsigned i = 0; i < 300; i++)
        ids[i] = connect_to(&elsewhere, NULL);
    cr_expect_eq(sent = pump(), ROCE_CM_PACE_AWAITED);
    cr_expect_leq(roce_cm_deadline_ns(cm), 1000 + ROCE_CM_PACE_TICK_NS);
    for (unsigned frames, tick = 0; tick < 300 && sent < 300; tick++, sent += frames) {
        clock_ns = roce_cm_deadline_ns(cm);
        cr_assert_eq(frames = pump(), ROCE_CM_PACE_FORGET);
    }
    cr_expect_eq(sent, 300, "in their order, none is lost");
    clock_ns += ROCE_CM_PACE_BURST * ROCE_CM_PACE_TICK_NS;
    for (unsigned i = 0; i < 300; i++)
        cr_assert_eq(roce_cm_id_destroy(ids[i], clock_ns), 0); /* a REJ each */
    cr_expect_eq(pump(), ROCE_CM_PACE_BURST);
    clock_ns = roce_cm_deadline_ns(cm);
    cr_expect_eq(pump(), ROCE_CM_PACE_PER_TICK);
    cr_expect_eq(roce_cm_counters(cm)->tx_dropped, 0);
}

/* A request to the device itself is answered: REJ, since there is no listener. */
Test(carrier, answers_let_more_requests_leave)
{
    enum { TICKS = 5 };
    struct nornic_addr elsewhere = gid.addr;
    struct roce_cm_id *ids[ROCE_CM_PACE_AWAITED + 1 + TICKS * ROCE_CM_PACE_FORGET + 1];
    unsigned n = 0;
    elsewhere.b[15] = 9;
    while (n < ROCE_CM_PACE_AWAITED)
        ids[n++] = connect_to(&elsewhere, NULL);
    cr_expect_eq(pump(), ROCE_CM_PACE_AWAITED);
    clock_ns += TICKS * ROCE_CM_PACE_TICK_NS;
    ids[n++] = connect_to(&gid.addr, NULL);
    cr_expect_eq(pump(), 0);
    while (n < array_len(ids))
        ids[n++] = connect_to(&elsewhere, NULL);
    cr_expect_eq(pump(), TICKS * ROCE_CM_PACE_FORGET, "the answered request is none of them");
    for (unsigned i = 0; i < n; i++) {
        struct roce_cm_event e;
        while (roce_cm_get_event(cm, &e))
            roce_cm_ack_event(&e);
        cr_assert_eq(roce_cm_id_destroy(ids[i], clock_ns), 0);
    }
}

Test(carrier, an_address_that_goes_away_stops_nothing)
{
    struct nornic_addr elsewhere = gid.addr;
    elsewhere.b[15] = 9;
    struct roce_cm_id *id = connect_to(&elsewhere, NULL);
    cr_assert_eq(roce_dev_gid_remove(dev, 0, 1000), 0);
    pump();
    cr_expect_eq(roce_cm_id_destroy(id, 1000), 0);
    pump();
    cr_expect_gt(roce_cm_counters(cm)->tx_dropped, 0);
    cr_assert_eq(roce_dev_gid_add(dev, &gid), 0);
    id = connect_to(&elsewhere, NULL);
    cr_expect_eq(pump(), 1, "and it sends again");
    cr_expect_eq(roce_cm_id_destroy(id, 1000), 0);
}

Test(carrier, creation_unwinds_whatever_allocation_fails)
{
    struct roce_cm_config with = config();
    cr_assert_eq(roce_cm_destroy(cm), 0);
    unsigned live = dev_alloc.live;
    for (struct test_alloc *a = &cm_alloc; a; a = a == &cm_alloc ? &dev_alloc : NULL) {
        a->calls = 0;
        for (a->fail_at = 1; roce_cm_create(dev, &with, &cm) == -ENOMEM; a->fail_at++) {
            cr_expect_eq(cm_alloc.live, 0);
            cr_expect_eq(dev_alloc.live, live);
            a->calls = 0;
        }
        cr_expect_gt(a->fail_at, 3);
        a->fail_at = 0;
        if (a == &cm_alloc)
            cr_assert_eq(roce_cm_destroy(cm), 0);
    }
}
