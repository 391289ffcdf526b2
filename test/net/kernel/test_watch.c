/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <net/if.h>
#include <poll.h>
#include <time.h>

#include "net/kernel/watch.h"
#include "test/support/netns.h"
#include "test/support/vlan.h"

#define WAIT_MS  5000
#define MAX_SEEN 64
#define V6_OF(n) "fd77::" n

static struct netns_veth veth;
static struct net_watch *watch;
static struct net_watch_change seen[MAX_SEEN];
static unsigned seen_count;

static void note(void *ctx, const struct net_watch_change *change)
{
    (void)ctx;
    cr_assert_lt(seen_count, MAX_SEEN);
    seen[seen_count++] = *change;
}

static void read_all(void)
{
    int rc = net_watch_read(watch, note, NULL);
    cr_assert_eq(rc, 0, "%s", strerror(-rc));
}

static void setup(void)
{
    struct nornic_error why = {""};
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
    cr_assert_eq(net_watch_open(if_nametoindex("nn0"), &watch, &why), 0, "%s", why.text);
    netns_enter(&veth, -1); /* the watch stays where it was opened */
}

static void teardown(void)
{
    if (watch)
        net_watch_close(watch);
    netns_veth_destroy(&veth);
}

TestSuite(kernel_watch, .init = setup, .fini = teardown, .timeout = 30);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr a;
    cr_assert_eq(nornic_addr_parse(text, &a), 0, "%s", text);
    return a;
}

/* The seen change of this kind (and, for addresses, of this one), or NULL. */
static const struct net_watch_change *find(enum net_watch_kind kind, const char *text)
{
    for (unsigned i = 0; i < seen_count; i++) {
        struct nornic_addr addr = text ? addr_of(text) : seen[i].addr.addr;
        if (seen[i].kind == kind && nornic_addr_equal(&seen[i].addr.addr, &addr))
            return &seen[i];
    }
    return NULL;
}

/* Waits for it; fails the test after a while. */
static const struct net_watch_change *await(enum net_watch_kind kind, const char *text)
{
    const struct net_watch_change *change;
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    while (!(change = find(kind, text))) {
        struct pollfd p = {.fd = net_watch_fd(watch), .events = POLLIN};
        clock_gettime(CLOCK_MONOTONIC, &now);
        cr_assert_lt(now.tv_sec - start.tv_sec, WAIT_MS / 1000, "change %d %s did not come", kind,
                     text ? text : "");
        poll(&p, 1, WAIT_MS);
        read_all();
    }
    return change;
}

static void run(const char *command)
{
    cr_assert_eq(netns_run(&veth, 0, "%s", command), 0, "%s", command);
}

static void start(void)
{
    read_all();
    await(NET_WATCH_LINK_UP, NULL);
    seen_count = 0;
}

/* covers: ROCE-AH-11 */
Test(kernel_watch, the_first_read_reports_what_is_there_link_local_first)
{
    read_all();
    cr_assert_eq(seen_count, 5);
    cr_expect_eq(seen[0].kind, NET_WATCH_LINK_UP);
    cr_expect_str_eq(seen[0].interface.name, "nn0");
    cr_expect_eq(seen[1].kind, NET_WATCH_MTU);
    cr_expect(nornic_addr_is_link_local(&seen[2].addr.addr));
    struct nornic_addr v4 = addr_of("10.77.0.1"), v6 = addr_of(V6_OF("1"));
    cr_expect(nornic_addr_equal(&seen[3].addr.addr, &v4));
    cr_expect(nornic_addr_equal(&seen[4].addr.addr, &v6));
    for (unsigned i = 2; i < 5; i++) {
        cr_expect_eq(seen[i].kind, NET_WATCH_ADDR_ADDED);
        cr_expect_eq(seen[i].addr.vlan_id, 0);
        cr_expect_eq(seen[i].addr.ifindex, seen[0].interface.index);
        cr_expect(nornic_mac_equal(&seen[i].addr.mac, &seen[0].interface.mac));
    }
    seen_count = 0;
    read_all();
    cr_expect_eq(seen_count, 0, "nothing is reported twice");
}

Test(kernel_watch, addresses_come_and_go)
{
    start();
    run("ip addr add 10.88.0.1/24 dev nn0 && ip addr add fd88::1/64 dev nn0 nodad");
    await(NET_WATCH_ADDR_ADDED, "10.88.0.1");
    await(NET_WATCH_ADDR_ADDED, "fd88::1");
    cr_expect_eq(seen_count, 2);
    seen_count = 0;
    run("ip addr del 10.77.0.1/24 dev nn0 && ip addr del fd88::1/64 dev nn0");
    await(NET_WATCH_ADDR_REMOVED, "10.77.0.1");
    await(NET_WATCH_ADDR_REMOVED, "fd88::1");
    cr_expect_eq(seen_count, 2);
}

Test(kernel_watch, addresses_of_other_interfaces_are_none_of_ours)
{
    start();
    run("ip addr add 10.88.0.1/24 dev lo && ip link add nn9 type veth peer name nn8 && "
        "ip addr add 10.89.0.1/24 dev nn9");
    run("ip addr add 10.88.0.2/24 dev nn0");
    await(NET_WATCH_ADDR_ADDED, "10.88.0.2");
    cr_expect_eq(seen_count, 1);
}

/* Duplicate address detection takes about a second; until it is over the address is not ours. */
Test(kernel_watch, a_tentative_address_comes_when_it_is_valid)
{
    start();
    run("echo 1 > /proc/sys/net/ipv6/conf/nn0/accept_dad && "
        "ip addr add fd88::1/64 dev nn0");
    read_all();
    cr_expect_eq(seen_count, 0);
    await(NET_WATCH_ADDR_ADDED, "fd88::1");
}

/* covers: ROCE-EV-9 */
Test(kernel_watch, the_link_goes_down_and_up)
{
    start();
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 down"), 0);
    await(NET_WATCH_LINK_DOWN, NULL); /* no carrier */
    cr_expect_null(find(NET_WATCH_ADDR_REMOVED, "10.77.0.1"), "the address is still the interface's");
    seen_count = 0;
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 up"), 0);
    await(NET_WATCH_LINK_UP, NULL);
    seen_count = 0;
    run("ip link set nn0 down");
    await(NET_WATCH_LINK_DOWN, NULL);
    await(NET_WATCH_ADDR_REMOVED, V6_OF("1"));
}

/* It may have changed between the opening of a port and that of the watch. */
Test(kernel_watch, the_first_read_says_the_mtu)
{
    run("ip link set nn0 mtu 1400");
    cr_expect_eq(await(NET_WATCH_MTU, NULL)->interface.mtu_bytes, 1400);
}

Test(kernel_watch, mac_and_mtu_change)
{
    start();
    run("ip link set nn0 mtu 1400");
    cr_expect_eq(await(NET_WATCH_MTU, NULL)->interface.mtu_bytes, 1400);
    run("ip link set nn0 address 02:00:00:00:00:07");
    cr_expect_arr_eq(await(NET_WATCH_MAC, NULL)->interface.mac.b, "\2\0\0\0\0\7", 6);
    cr_expect_arr_eq(await(NET_WATCH_ADDR_MAC, "10.77.0.1")->addr.mac.b, "\2\0\0\0\0\7", 6);
}

static void make_vlan(struct vlan vlan)
{
    cr_assert(vlan_add(&veth, 0, &vlan), "%s", vlan.name);
}

/* covers: ROCE-FRM-3 */
Test(kernel_watch, vlan_interfaces_contribute_their_addresses)
{
    start();
    make_vlan((struct vlan){"nn0.7", "nn0", 7, false});
    run("ip link set nn0.7 address 02:00:00:00:00:77 && ip addr add 10.70.0.1/24 dev nn0.7");
    const struct net_watch_change *change = await(NET_WATCH_ADDR_ADDED, "10.70.0.1");
    cr_expect_eq(change->addr.vlan_id, 7);
    cr_expect_arr_eq(change->addr.mac.b, "\2\0\0\0\0\x77", 6);
    cr_expect_neq(change->addr.ifindex, change->interface.index);
    /* Frames of ours carry neither another tag protocol nor two tags. */
    make_vlan((struct vlan){"nn0.8", "nn0", 8, true});
    make_vlan((struct vlan){"nn0.9", "nn0.7", 9, false});
    make_vlan((struct vlan){"nn0.10", "nn0", 10, false});
    run("ip addr add 10.71.0.1/24 dev nn0.8 && ip addr add 10.72.0.1/24 dev nn0.9 && "
        "ip addr add 10.73.0.1/24 dev nn0.10");
    await(NET_WATCH_ADDR_ADDED, "10.73.0.1");
    cr_expect_null(find(NET_WATCH_ADDR_ADDED, "10.71.0.1"));
    cr_expect_null(find(NET_WATCH_ADDR_ADDED, "10.72.0.1"));
    run("ip link del nn0.7");
    await(NET_WATCH_ADDR_REMOVED, "10.70.0.1");
}

/* The listening socket overflows; what its lost notifications said is found all the same. */
Test(kernel_watch, lost_notifications_lose_nothing)
{
    start();
    cr_assert_eq(netns_run(&veth, 0,
                           "ip addr add 10.88.0.1/24 dev nn0; for i in $(seq 8000); do "
                           "echo link set nn0 mtu $((1400 + i %% 2)); done | ip -batch - && "
                           "ip addr del 10.77.0.1/24 dev nn0 && ip addr add 10.88.0.2/24 dev nn0"),
                 0);
    int error = 0;
    socklen_t len = sizeof error;
    cr_assert_eq(getsockopt(net_watch_fd(watch), SOL_SOCKET, SO_ERROR, &error, &len), 0);
    cr_assert_eq(error, ENOBUFS, "the test did not overflow the socket");
    read_all();
    cr_expect(find(NET_WATCH_ADDR_ADDED, "10.88.0.1"));
    cr_expect(find(NET_WATCH_ADDR_ADDED, "10.88.0.2"));
    cr_expect(find(NET_WATCH_ADDR_REMOVED, "10.77.0.1"));
}

Test(kernel_watch, an_interface_that_goes_takes_all_with_it)
{
    start();
    run("ip link del nn0");
    await(NET_WATCH_GONE, NULL);
    cr_expect(find(NET_WATCH_LINK_DOWN, NULL));
    cr_expect(find(NET_WATCH_ADDR_REMOVED, "10.77.0.1"));
    cr_expect_str_eq(seen[seen_count - 1].interface.name, "nn0");
    seen_count = 0;
    read_all();
    cr_expect_eq(seen_count, 0);
}
