/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <stdlib.h>

#include "base/base.h"
#include "net/kernel/kernel.h"
#include "test/support/netns.h"

static struct netns_veth veth;

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
}

static void teardown(void)
{
    netns_veth_destroy(&veth);
}

TestSuite(kernel, .init = setup, .fini = teardown, .timeout = 30);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr a;
    cr_assert_eq(nornic_addr_parse(text, &a), 0, "%s", text);
    return a;
}

static struct nornic_mac mac_of(int side)
{
    struct net_interface interface;
    netns_enter(&veth, side);
    cr_assert_eq(net_interface_get(NETNS_VETH_IFNAME(side), &interface, NULL), 0);
    netns_enter(&veth, 0);
    return interface.mac;
}

/* A veth says 10 Gb/s; a loopback has none. */
Test(kernel, interface_says_its_speed)
{
    cr_expect_eq(net_interface_rate_bps("nn0"), UINT64_C(10000000000));
    cr_expect_eq(net_interface_rate_bps("lo"), 0);
    cr_expect_eq(net_interface_rate_bps("nn-none"), 0);
}

Test(kernel, interface_is_described)
{
    struct net_interface interface;
    struct nornic_error why;
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 mtu 1400 address 02:00:00:00:00:07"), 0);
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0, "%s", why.text);
    cr_expect_str_eq(interface.name, "nn0");
    cr_expect_eq(interface.index, if_nametoindex("nn0"));
    cr_expect_eq(interface.mtu_bytes, 1400);
    cr_expect(interface.is_up);
    cr_expect_arr_eq(interface.mac.b, "\2\0\0\0\0\7", 6);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0);
    cr_expect_not(interface.is_up);
}

Test(kernel, unknown_interface_is_named)
{
    struct net_interface interface;
    struct nornic_error why;
    cr_expect_eq(net_interface_get("nowhere0", &interface, &why), -ENODEV);
    cr_expect(strstr(why.text, "no interface nowhere0"), "%s", why.text);
    cr_expect_eq(net_interface_get("a-name-that-is-too-long", &interface, &why), -ENODEV);
    cr_expect(strstr(why.text, "a-name-that-is-too-long"), "%s", why.text);
    cr_expect_eq(net_interface_get("", &interface, &why), -ENODEV);
}

/* covers: ROCE-AH-11 */
Test(kernel, addresses_come_link_local_then_v4_then_v6)
{
    struct nornic_addr addrs[8];
    cr_assert_eq(netns_run(&veth, 0, "ip addr add 10.78.0.1/24 dev nn0; ip addr add 10.79.0.1/24 dev lo"), 0);
    int n = net_interface_addrs(if_nametoindex("nn0"), addrs, 8, NULL);
    cr_assert_eq(n, 4);
    cr_expect(addrs[0].b[0] == 0xfe && addrs[0].b[1] == 0x80);
    struct nornic_addr expected[] = {addr_of("10.77.0.1"), addr_of("10.78.0.1"), addr_of("fd77::1")};
    for (int i = 0; i < 3; i++)
        cr_expect(nornic_addr_equal(&addrs[i + 1], &expected[i]), "address %d", i + 1);
    cr_expect_eq(net_interface_addrs(if_nametoindex("nn0"), addrs, 2, NULL), 2);
}

Test(kernel, interface_of_an_address_is_named_without_its_label)
{
    struct net_interface interface;
    struct nornic_error why = {""};
    struct nornic_addr addr = addr_of("10.79.0.1");
    cr_assert_eq(netns_run(&veth, 0, "ip addr add 10.79.0.1/24 dev nn0 label nn0:web"), 0);
    cr_assert_eq(net_interface_of_addr(&addr, &interface, &why), 0, "%s", why.text);
    cr_expect_str_eq(interface.name, "nn0");
}

Test(kernel, tentative_addresses_are_left_out)
{
    struct nornic_addr addrs[8];
    cr_assert_eq(netns_run(&veth, 0,
                           "echo 1 > /proc/sys/net/ipv6/conf/nn0/accept_dad;"
                           "echo 60 > /proc/sys/net/ipv6/conf/nn0/dad_transmits;" /* tentative for a minute */
                           "ip addr add fd77::99/64 dev nn0"),
                 0);
    cr_expect_eq(net_interface_addrs(if_nametoindex("nn0"), addrs, 8, NULL), 3);
}

Test(kernel, next_hop_is_the_destination_or_its_gateway)
{
    struct nornic_addr hop, dst, gateway;
    struct nornic_error why;
    unsigned index = if_nametoindex("nn0");
    static const char *const on_link[] = {"10.77.0.2", "fd77::2", "fe80::1234"};
    for (unsigned i = 0; i < 3; i++) {
        dst = addr_of(on_link[i]);
        cr_assert_eq(net_route_next_hop(index, &dst, &hop, &why), 0, "%s", why.text);
        cr_expect(nornic_addr_equal(&hop, &dst), "%s", on_link[i]);
    }
    cr_assert_eq(
        netns_run(&veth, 0,
                  "ip route add 192.0.2.0/24 via 10.77.0.2 && ip route add 2001:db8::/32 via fd77::2 && "
                  "ip route add 198.51.100.0/24 via inet6 fd77::2"),
        0);
    static const char *const routed[][2] = {
        {"192.0.2.9", "10.77.0.2"}, {"2001:db8::9", "fd77::2"}, {"198.51.100.9", "fd77::2"}};
    for (unsigned i = 0; i < 3; i++) {
        dst = addr_of(routed[i][0]);
        gateway = addr_of(routed[i][1]);
        cr_assert_eq(net_route_next_hop(index, &dst, &hop, &why), 0, "%s", why.text);
        cr_expect(nornic_addr_equal(&hop, &gateway), "%s", routed[i][0]);
    }
}

Test(kernel, a_route_has_a_source)
{
    struct net_route route;
    struct nornic_error why;
    unsigned index = if_nametoindex("nn0");
    cr_assert_eq(netns_run(&veth, 0,
                           "ip addr add 10.78.0.1/24 dev nn0 && ip addr add fd78::1/64 dev nn0 nodad && "
                           "ip route add 192.0.2.0/24 via 10.77.0.2 src 10.78.0.1"),
                 0);
    static const char *const cases[][2] = {{"10.77.0.2", "10.77.0.1"},
                                           {"10.78.0.2", "10.78.0.1"},
                                           {"192.0.2.1", "10.78.0.1"},
                                           {"fd77::2", "fd77::1"},
                                           {"fd78::2", "fd78::1"}};
    for (unsigned i = 0; i < 5; i++) {
        struct nornic_addr dst = addr_of(cases[i][0]), src = addr_of(cases[i][1]);
        cr_assert_eq(net_route_get(index, &dst, &route, &why), 0, "%s", why.text);
        cr_expect(nornic_addr_equal(&route.src, &src), "%s", cases[i][0]);
    }
    struct nornic_addr dst = addr_of("fe80::1234");
    cr_assert_eq(net_route_get(index, &dst, &route, &why), 0, "%s", why.text);
    cr_expect(nornic_addr_is_link_local(&route.src));
}

Test(kernel, how_long_a_packet_may_be_is_the_route_s_to_say)
{
    unsigned index = if_nametoindex("nn0");
    cr_assert_eq(netns_run(&veth, 0,
                           "ip route add 192.0.2.0/24 via 10.77.0.2 mtu 1400 && "
                           "ip route add fd99::/64 via fd77::2 mtu 1300"),
                 0);
    static const struct {
        const char *dst;
        uint32_t mtu_bytes; /* 0: no way; 1: the interface's */
    } cases[] = {
        {"192.0.2.1", 1400}, {"fd99::1", 1300}, {"10.77.0.2", 1}, {"fd77::2", 1}, {"198.51.100.1", 0}};
    struct net_interface interface;
    struct nornic_error why;
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0, "%s", why.text);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nornic_addr dst = addr_of(cases[i].dst);
        uint32_t expected = cases[i].mtu_bytes == 1 ? interface.mtu_bytes : cases[i].mtu_bytes;
        cr_expect_eq(net_route_mtu(index, &dst), expected, "%s", cases[i].dst);
    }
}

Test(kernel, a_route_is_for_addresses_that_it_takes)
{
    unsigned index = if_nametoindex("nn0");
    static const struct {
        const char *src, *dst;
        bool has_way;
    } cases[] = {{"10.77.0.1", "10.77.0.2", true},     {"fd77::1", "fd77::2", true},
                 {"10.77.0.1", "198.51.100.1", false}, {"fd77::1", "2001:db8::1", false},
                 {"127.0.0.1", "10.77.0.2", false},    {"127.0.0.1", "127.0.0.2", true},
                 {"10.99.0.1", "10.77.0.2", true}}; /* no address of ours: nothing is said of routes */
    struct nornic_error why;
    netns_run(&veth, 0, "ip link set lo up");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct nornic_addr src = addr_of(cases[i].src), dst = addr_of(cases[i].dst);
        int err = net_route_check(index, &src, &dst, &why);
        cr_expect_eq(err, cases[i].has_way ? 0 : -EHOSTUNREACH, "%s to %s", cases[i].src, cases[i].dst);
        if (err)
            cr_expect(strstr(why.text, cases[i].src) && strstr(why.text, cases[i].dst), "%s", why.text);
    }
}

Test(kernel, missing_routes_are_refused)
{
    struct nornic_addr hop, dst;
    struct nornic_error why;
    unsigned index = if_nametoindex("nn0");
    cr_assert_eq(
        netns_run(&veth, 0, "ip route add 203.0.113.0/24 dev lo; ip route add blackhole 192.0.2.0/24"), 0);
    static const char *const nowhere[] = {"198.51.100.1", "2001:db8::1", "203.0.113.1", "192.0.2.1"};
    for (unsigned i = 0; i < 4; i++) {
        dst = addr_of(nowhere[i]);
        cr_expect_eq(net_route_next_hop(index, &dst, &hop, &why), -EHOSTUNREACH, "%s", nowhere[i]);
        cr_expect(strstr(why.text, nowhere[i]), "%s", why.text);
    }
    dst = addr_of("10.77.0.1");
    cr_expect_eq(net_route_next_hop(index, &dst, &hop, &why), -EHOSTUNREACH);
    cr_expect(strstr(why.text, "this host"), "%s", why.text);
}

Test(kernel, neighbours_are_resolved_by_arp_and_ndp)
{
    struct nornic_mac expected = mac_of(1);
    static const char *const peers[] = {"10.77.0.2", "fd77::2"};
    for (unsigned i = 0; i < 2; i++) {
        struct nornic_addr peer = addr_of(peers[i]);
        struct nornic_mac mac;
        struct nornic_error why;
        for (int again = 0; again < 2; again++) { /* the second answer comes from the table */
            cr_assert_eq(
                net_neighbour_resolve(if_nametoindex("nn0"), &peer, 5 * (uint64_t)NS_PER_S, &mac, &why), 0,
                "%s", why.text);
            cr_expect(nornic_mac_equal(&mac, &expected), "%s", peers[i]);
        }
    }
}

Test(kernel, a_permanent_neighbour_needs_no_packet)
{
    struct nornic_addr peer = addr_of("10.77.0.50");
    struct nornic_mac mac;
    cr_assert_eq(
        netns_run(&veth, 0, "ip neigh add 10.77.0.50 lladdr 02:00:00:00:00:50 dev nn0 nud permanent"), 0);
    cr_assert_eq(net_neighbour_resolve(if_nametoindex("nn0"), &peer, 0, &mac, NULL), 0);
    cr_expect_arr_eq(mac.b, "\2\0\0\0\0\x50", 6);
}

Test(kernel, a_silent_neighbour_ends_with_the_deadline)
{
    struct nornic_addr peer = addr_of("10.77.0.60");
    struct nornic_mac mac;
    struct nornic_error why;
    cr_expect_eq(net_neighbour_resolve(if_nametoindex("nn0"), &peer, NS_PER_S / 10, &mac, &why),
                 -EHOSTUNREACH);
    cr_expect(strstr(why.text, "10.77.0.60 does not answer on nn0"), "%s", why.text);
}

Test(kernel, a_failed_neighbour_is_asked_again)
{
    struct nornic_addr peer = addr_of("10.77.0.60");
    struct nornic_mac mac;
    struct nornic_error why;
    cr_expect_eq(net_neighbour_resolve(if_nametoindex("nn0"), &peer, NS_PER_S / 10, &mac, &why),
                 -EHOSTUNREACH);
    cr_assert_eq(netns_run(&veth, 1, "ip addr add 10.77.0.60/24 dev nn1"), 0);
    cr_expect_eq(net_neighbour_resolve(if_nametoindex("nn0"), &peer, 5 * (uint64_t)NS_PER_S, &mac, &why), 0,
                 "%s", why.text);
}

/* The answer comes when the descriptor polls readable, wherever the caller has gone meanwhile. */
Test(kernel, a_neighbour_is_asked_for_without_waiting)
{
    struct nornic_mac expected = mac_of(1), mac;
    struct nornic_addr peer = addr_of("10.77.0.2");
    struct net_neighbour_query *query;
    struct nornic_error why = {""};
    cr_assert_eq(net_neighbour_ask(if_nametoindex("nn0"), &peer, &query, &why), 0, "%s", why.text);
    netns_enter(&veth, -1);
    struct pollfd wait = {.fd = net_neighbour_fd(query), .events = POLLIN};
    int rc;
    while ((rc = net_neighbour_answer(query, &mac, &why)) == -EAGAIN)
        cr_assert_eq(poll(&wait, 1, 5000), 1, "no answer");
    cr_assert_eq(rc, 0, "%s", why.text);
    cr_expect(nornic_mac_equal(&mac, &expected));
    net_neighbour_close(query);
}

Test(kernel, a_question_to_a_silent_neighbour_ends_when_the_kernel_gives_up)
{
    struct nornic_mac mac;
    struct nornic_addr peer = addr_of("10.77.0.60");
    struct net_neighbour_query *query;
    struct nornic_error why = {""};
    cr_assert_eq(netns_run(&veth, 0, "echo 100 > /proc/sys/net/ipv4/neigh/nn0/retrans_time_ms"), 0);
    cr_assert_eq(net_neighbour_ask(if_nametoindex("nn0"), &peer, &query, &why), 0, "%s", why.text);
    struct pollfd wait = {.fd = net_neighbour_fd(query), .events = POLLIN};
    int rc;
    while ((rc = net_neighbour_answer(query, &mac, &why)) == -EAGAIN)
        cr_assert_eq(poll(&wait, 1, 10000), 1, "no end");
    cr_expect_eq(rc, -EHOSTUNREACH);
    cr_expect(strstr(why.text, "10.77.0.60 does not answer on nn0"), "%s", why.text);
    net_neighbour_close(query);
}

/* A dump that the kernel calls interrupted, since the table changed under it, is asked for again. The table
 * is long, so that a dump takes several steps. */
Test(kernel, addresses_are_listed_while_others_change)
{
    cr_assert_eq(
        netns_run(&veth, 0,
                  "for i in $(seq 500); do echo addr add 127.1.$((i / 250)).$((i %% 250))/32 dev lo; "
                  "done | ip -batch -"),
        0);
    cr_assert_eq(netns_run(&veth, 0,
                           "timeout 3 sh -c 'while ip addr add 127.0.1.1/32 dev lo && "
                           "ip addr del 127.0.1.1/32 dev lo; do :; done' &"),
                 0);
    unsigned ifindex = if_nametoindex("nn0");
    for (int i = 0; i < 2000; i++) {
        struct nornic_addr addrs[8];
        struct nornic_error why;
        int n = net_interface_addrs(ifindex, addrs, 8, &why);
        cr_assert_eq(n, 3, "list %d: %s", i, n < 0 ? why.text : "another number");
    }
}
