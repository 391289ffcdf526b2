/* SPDX-License-Identifier: BSD-2-Clause */
/* Two programs on one interface: a second device of side 1's interface stands for the second process. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <time.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/cm/inner.h"

static struct cm_pair pair;
static struct cm_side other; /* beside side 1 */

static void setup(void)
{
    struct host_dev_config config = {.port = "packet:nn1"};
    struct nornic_error why = {""};
    cm_pair_open(&pair, true, NULL);
    if (!pair.side[0].dev)
        return;
    netns_enter(&pair.veth, 1);
    cr_assert_eq(host_dev_open(&config, &other.dev, &why), 0, "%s", why.text);
    cr_assert_eq(host_cm_open(other.dev, NULL, &other.cm, &why), 0, "%s", why.text);
    netns_enter(&pair.veth, -1);
}

static void teardown(void)
{
    if (other.dev) {
        cr_assert_eq(host_cm_close(other.cm), 0);
        cr_assert_eq(host_dev_close(other.dev, NULL), 0);
    }
    cm_pair_close(&pair);
}

TestSuite(cm_share, .init = setup, .fini = teardown, .timeout = 60);

static struct host_cm_id *listen_beside(uint16_t port, int expected)
{
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(other.cm, NORNIC_PS_TCP, NULL, &id), 0);
    netns_enter(&pair.veth, 1);
    cr_assert_eq(host_cm_listen(id, NULL, port, 8), expected);
    netns_enter(&pair.veth, -1);
    return id;
}

/* Side 0 asks for `port` of side 1. */
static struct host_cm_id *ask(uint16_t port, struct roce_qp *qp)
{
    static const struct nornic_conn_param param = {.retry_count = 7};
    struct nornic_error why = {""};
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
    netns_enter(&pair.veth, 0);
    cr_assert_eq(host_cm_resolve_addr(id, NULL, &pair.side[1].addr, port, 5 * NS_PER_S, &why), 0, "%s",
                 why.text);
    netns_enter(&pair.veth, -1);
    cr_assert_eq(cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED), 0);
    cr_assert_eq(host_cm_resolve_route(id), 0);
    cr_assert_eq(cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ROUTE_RESOLVED), 0);
    cr_assert_eq(host_cm_connect(id, qp, &param), 0);
    return id;
}

static uint64_t left_to_others(struct cm_side *side)
{
    host_dev_lock(side->dev);
    uint64_t count = roce_cm_counters(side->cm->engine)->left_to_others;
    host_dev_unlock(side->dev);
    return count;
}

/* Each of the two has a listener of its own; nobody refuses what the other serves. */
Test(cm_share, each_program_answers_for_its_own_services)
{
    struct host_cm_id *ours = cm_pair_listen(&pair, NORNIC_PS_TCP);
    struct host_cm_id *theirs = listen_beside(CM_PAIR_PORT + 1, 0);
    struct cm_side *sides[] = {&pair.side[1], &other};
    for (int i = 0; i < 2; i++) {
        struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
        struct host_cm_id *id = ask((uint16_t)(CM_PAIR_PORT + i), qp);
        struct host_cm_event *event = cm_pair_expect(sides[i], NORNIC_CM_EVENT_CONNECT_REQUEST);
        struct host_cm_id *request = event->id;
        host_cm_ack_event(event);
        uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
        while (left_to_others(sides[1 - i]) == 0) /* it has seen the request, and said nothing */
            cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL), host_now_ns()), end_ns);
        struct pollfd p = {.fd = host_cm_fd(pair.side[0].cm), .events = POLLIN};
        cr_expect_eq(poll(&p, 1, 0), 0, "refused by who does not serve it");
        host_cm_destroy_id(request);
        cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_REJECTED);
        host_cm_destroy_id(id);
        cm_pair_drop_qp(&pair.side[0], qp);
    }
    host_cm_destroy_id(ours);
    host_cm_destroy_id(theirs);
}

/* What nobody serves is refused at once, by one of them. */
Test(cm_share, what_nobody_serves_is_refused_once)
{
    struct roce_qp *qp = cm_pair_qp(&pair.side[0], NORNIC_QPT_RC);
    struct host_cm_id *id = ask(CM_PAIR_PORT, qp);
    cr_expect_eq(cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_REJECTED), ROCE_CM_REJ_INVALID_SERVICE_ID);
    uint64_t end_ns = host_now_ns() + 10 * NS_PER_S;
    while (left_to_others(&pair.side[1]) + left_to_others(&other) == 0)
        cr_assert_lt((nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL), host_now_ns()), end_ns);
    cr_expect_eq(left_to_others(&pair.side[1]) + left_to_others(&other), 1);
    host_cm_destroy_id(id);
    cm_pair_drop_qp(&pair.side[0], qp);
}

/* One service, one program; and a port that is drawn is free in all of them. */
Test(cm_share, a_service_has_one_program)
{
    struct host_cm_id *ours = cm_pair_listen(&pair, NORNIC_PS_TCP);
    struct host_cm_id *refused = listen_beside(CM_PAIR_PORT, -EADDRINUSE);
    struct host_cm_id *drawn = listen_beside(0, 0);
    struct roce_cm_endpoints ends;
    host_cm_id_endpoints(drawn, &ends);
    cr_expect_gt(ends.local_port, 0);
    host_cm_destroy_id(ours);
    struct host_cm_id *now = listen_beside(CM_PAIR_PORT, 0);
    host_cm_destroy_id(now);
    host_cm_destroy_id(refused);
    host_cm_destroy_id(drawn);
}
