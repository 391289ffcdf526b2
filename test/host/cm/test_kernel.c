/* SPDX-License-Identifier: BSD-2-Clause */
/* Questions of a CM to the kernel (routes, neighbours, groups), and messages of the kernel to it. */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>

#include "base/base.h"
#include "test/host/cm_pair.h"
#include "host/event/events.h"

static struct cm_pair pair;

static void setup(void)
{
    cm_pair_open(&pair, true, NULL);
}

static void teardown(void)
{
    cm_pair_close(&pair);
}

TestSuite(cm_kernel, .init = setup, .fini = teardown, .timeout = 60);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr a;
    cr_assert_eq(nornic_addr_parse(text, &a), 0, "%s", text);
    return a;
}

static void run(int side, const char *command)
{
    cr_assert_eq(netns_run(&pair.veth, side, "%s", command), 0, "%s", command);
}

static int resolve(struct host_cm_id *id, const char *src, const char *dst, uint64_t timeout_ns,
                   struct nornic_error *why)
{
    struct nornic_addr from = addr_of(src ? src : "0.0.0.0"), to = addr_of(dst);
    netns_enter(&pair.veth, 0);
    int rc = host_cm_resolve_addr(id, src ? &from : NULL, &to, CM_PAIR_PORT, timeout_ns, why);
    netns_enter(&pair.veth, -1);
    return rc;
}

static struct host_cm_id *new_id(void)
{
    struct host_cm_id *id;
    cr_assert_eq(host_cm_create_id(pair.side[0].cm, NORNIC_PS_TCP, NULL, &id), 0);
    return id;
}

static void leave(struct cm_connection *c)
{
    host_cm_destroy_id(c->active);
    host_cm_destroy_id(c->passive);
    for (int i = 0; i < 2; i++)
        cm_pair_drop_qp(&pair.side[i], c->qps[i]);
}

/* covers: ROCE-CM-64 */
Test(cm_kernel, ROCE_CM_64_programs_connect_over_the_kernels_addresses)
{
    static const char *const peers[] = {"10.77.0.2", "fd77::2"};
    struct host_cm_id *listener = cm_pair_listen(&pair, NORNIC_PS_TCP);
    for (int i = 0; i < 2; i++) {
        pair.side[1].addr = addr_of(peers[i]);
        struct cm_connection c = cm_pair_connect(&pair);
        struct roce_cm_endpoints ends;
        host_cm_id_endpoints(c.passive, &ends);
        struct nornic_addr from = addr_of(i ? "fd77::1" : "10.77.0.1");
        cr_expect(nornic_addr_equal(&ends.remote, &from), "%s", peers[i]);
        leave(&c);
    }
    host_cm_destroy_id(listener);
}

/* The GID is that of the address from which the kernel would send, or the one asked for. */
static void expect_sources(void)
{
    static const char *const cases[][3] = {{NULL, "10.77.0.2", "10.77.0.1"},
                                           {NULL, "10.78.0.2", "10.78.0.1"},
                                           {"10.77.0.1", "10.78.0.2", "10.77.0.1"},
                                           {"fd77::1", "fd77::2", "fd77::1"}};
    struct host_event change;
    while (host_dev_get_event(pair.side[0].dev, &change, 0) == 0)
        host_dev_ack_event(pair.side[0].dev, &change);
    run(1, "ip addr add 10.78.0.2/24 dev nn1 && ip route add 10.77.0.0/16 dev nn1");
    run(0, "ip addr add 10.78.0.1/24 dev nn0");
    cr_assert_eq(host_dev_get_event(pair.side[0].dev, &change, 10 * NS_PER_S), 0);
    host_dev_ack_event(pair.side[0].dev, &change);
    for (int i = 0; i < 4; i++) {
        struct nornic_error why = {""};
        struct roce_cm_endpoints ends;
        struct host_cm_id *id = new_id();
        struct nornic_addr expected = addr_of(cases[i][2]);
        cr_assert_eq(resolve(id, cases[i][0], cases[i][1], 5 * NS_PER_S, &why), 0, "%s", why.text);
        cr_expect_str_empty(why.text, "a sentence about what succeeded");
        cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
        host_cm_id_endpoints(id, &ends);
        cr_expect(nornic_addr_equal(&ends.local, &expected), "%d", i);
        host_cm_destroy_id(id);
    }
}

Test(cm_kernel, the_source_is_the_kernels_choice_or_the_callers)
{
    expect_sources();
}

static void setup_udp(void)
{
    cm_pair_open_over(&pair, "udp", NULL);
}

TestSuite(cm_kernel_udp, .init = setup_udp, .fini = teardown, .timeout = 60);

Test(cm_kernel_udp, the_source_is_the_kernels_choice_or_the_callers)
{
    expect_sources();
}

/* covers: ROCE-CM-64 */
Test(cm_kernel, ROCE_CM_64_a_neighbour_that_does_not_answer)
{
    struct nornic_error why = {""};
    struct host_cm_id *id = new_id();
    uint64_t start_ns = host_now_ns();
    cr_assert_eq(resolve(id, NULL, "10.77.0.60", NS_PER_S, &why), 0, "%s", why.text);
    cr_expect_lt(host_now_ns() - start_ns, NS_PER_S, "the call does not wait");
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_ADDR_ERROR);
    cr_expect_geq(host_now_ns() - start_ns, NS_PER_S);
    cr_expect_eq(event->status, -EHOSTUNREACH);
    cr_expect(strstr(event->error.text, "10.77.0.60 does not answer on nn0"), "%s", event->error.text);
    host_cm_ack_event(event);
    /* It may be tried again; and an id may go while its question is open. */
    cr_assert_eq(resolve(id, NULL, "10.77.0.2", 5 * NS_PER_S, &why), 0, "%s", why.text);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
    host_cm_destroy_id(id);
    id = new_id();
    cr_assert_eq(resolve(id, NULL, "10.77.0.61", 5 * NS_PER_S, &why), 0, "%s", why.text);
    host_cm_destroy_id(id);
}

Test(cm_kernel, where_there_is_no_route_the_call_says_so)
{
    struct nornic_error why = {""};
    struct host_cm_id *id = new_id();
    cr_expect_eq(resolve(id, NULL, "192.0.2.1", NS_PER_S, &why), -EHOSTUNREACH);
    cr_expect(strstr(why.text, "no route to 192.0.2.1"), "%s", why.text);
    cr_expect_eq(resolve(id, "10.99.0.1", "10.77.0.2", NS_PER_S, &why), -EADDRNOTAVAIL);
    cr_expect_eq(resolve(id, "fd77::1", "10.77.0.2", NS_PER_S, &why), -EADDRNOTAVAIL);
    host_cm_destroy_id(id);
}

/* From a socket, too, which would be refused each packet. */
Test(cm_kernel_udp, where_there_is_no_route_the_call_says_so)
{
    struct nornic_error why = {""};
    struct host_cm_id *id = new_id();
    cr_expect_eq(resolve(id, NULL, "192.0.2.1", NS_PER_S, &why), -EHOSTUNREACH);
    cr_expect(strstr(why.text, "no route to 192.0.2.1 from 10.77.0.1"), "%s", why.text);
    cr_expect_eq(resolve(id, "10.77.0.1", "192.0.2.1", NS_PER_S, &why), -EHOSTUNREACH);
    cr_expect_eq(resolve(id, NULL, "10.77.0.2", 5 * NS_PER_S, &why), 0, "%s", why.text);
    cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_ADDR_RESOLVED);
    host_cm_destroy_id(id);
}

/* covers: ROCE-UD-24, ROCE-INT-28 */
Test(cm_kernel, ROCE_UD_24_the_kernel_is_told_of_a_group)
{
    static const char *const groups[] = {"239.1.2.3", "ff05::1234"};
    struct host_cm_id *ids[2] = {new_id(), new_id()};
    struct nornic_error why = {""};
    netns_enter(&pair.veth, 0);
    for (int g = 0; g < 2; g++) {
        struct nornic_addr group = addr_of(groups[g]);
        for (int i = 0; i < 2; i++) {
            cr_assert_eq(host_cm_join_multicast(ids[i], &group, false, &why), 0, "%s", why.text);
            cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_MULTICAST_JOIN);
        }
        cr_expect_eq(netns_run(&pair.veth, 0, "ip maddr show dev nn0 | grep -qwF %s", groups[g]), 0);
        cr_expect_eq(host_cm_leave_multicast(ids[0], &group), 0);
        cr_expect_eq(netns_run(&pair.veth, 0, "ip maddr show dev nn0 | grep -qwF %s", groups[g]), 0,
                     "the other id is still a member of %s", groups[g]);
    }
    netns_enter(&pair.veth, -1);
    host_cm_destroy_id(ids[1]);
    for (int g = 0; g < 2; g++)
        cr_expect_neq(netns_run(&pair.veth, 0, "ip maddr show dev nn0 | grep -qwF %s", groups[g]), 0, "%s",
                      groups[g]);
    host_cm_destroy_id(ids[0]);
}

/* covers: ROCE-UD-24 */
Test(cm_kernel, ROCE_UD_24_a_sender_alone_is_no_member)
{
    struct host_cm_id *ids[2] = {new_id(), new_id()};
    struct nornic_error why = {""};
    struct nornic_addr group = addr_of("239.1.2.3");
    netns_enter(&pair.veth, 0);
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(host_cm_join_multicast(ids[i], &group, i == 0, &why), 0, "%s", why.text);
        cm_pair_skip(&pair.side[0], NORNIC_CM_EVENT_MULTICAST_JOIN);
        const char *command = "ip maddr show dev nn0 | grep -qwF 239.1.2.3";
        cr_expect_eq(netns_run(&pair.veth, 0, "%s", command) == 0, i == 1, "id %d", i);
    }
    cr_expect_eq(host_cm_leave_multicast(ids[0], &group), 0);
    cr_expect_eq(netns_run(&pair.veth, 0, "ip maddr show dev nn0 | grep -qwF 239.1.2.3"), 0,
                 "the member stays one");
    netns_enter(&pair.veth, -1);
    for (int i = 0; i < 2; i++)
        host_cm_destroy_id(ids[i]);
}

/* covers: ROCE-CM-64 */
Test(cm_kernel, ROCE_CM_64_an_address_that_goes_is_told)
{
    struct host_cm_id *listener = cm_pair_listen(&pair, NORNIC_PS_TCP);
    struct cm_connection c = cm_pair_connect(&pair);
    run(0, "ip addr add 10.88.0.1/24 dev nn0 && ip addr del 10.88.0.1/24 dev nn0");
    run(0, "ip addr del 10.77.0.1/24 dev nn0");
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_ADDR_CHANGE);
    cr_expect_eq(event->id, c.active);
    host_cm_ack_event(event);
    run(1, "ip link set nn1 address 02:00:00:00:00:09");
    event = cm_pair_expect(&pair.side[1], NORNIC_CM_EVENT_ADDR_CHANGE);
    cr_expect_eq(event->id, c.passive);
    host_cm_ack_event(event);
    leave(&c);
    host_cm_destroy_id(listener);
}

/* covers: ROCE-CM-64 */
Test(cm_kernel, ROCE_CM_64_an_interface_that_goes_is_a_device_removed)
{
    struct host_cm_id *id = new_id();
    run(0, "ip link del nn0");
    struct host_cm_event *event = cm_pair_expect(&pair.side[0], NORNIC_CM_EVENT_DEVICE_REMOVAL);
    cr_expect_eq(event->id, id);
    host_cm_ack_event(event);
    host_cm_destroy_id(id);
}
