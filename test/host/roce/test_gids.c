/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/event/events.h"
#include "host/host.h"
#include "net/kernel/sockaddr.h"
#include "net/wire/udp.h"
#include "test/support/netns.h"
#include "test/support/vlan.h"

#define SECOND 1000000000ull

static struct netns_veth veth;
static struct host_dev *dev;

static void open_dev(const struct host_dev_config *more)
{
    struct nornic_error why = {""};
    struct host_dev_config config = *more;
    config.port = "packet:nn0";
    netns_enter(&veth, 0);
    cr_assert_eq(host_dev_open(&config, &dev, &why), 0, "%s", why.text);
    netns_enter(&veth, -1); /* the device stays in its namespace */
}

static void setup(void)
{
    netns_veth_open(&veth, 1500);
}

static void teardown(void)
{
    if (dev)
        cr_assert_eq(host_dev_close(dev, NULL), 0, "objects are left");
    netns_veth_destroy(&veth);
}

TestSuite(gids, .init = setup, .fini = teardown, .timeout = 60);

static void run(const char *command)
{
    cr_assert_eq(netns_run(&veth, 0, "%s", command), 0, "%s", command);
}

/* The text of GID `index`, "-" for a hole, with " v1" behind it for one of RoCEv1. */
static const char *gid(unsigned index)
{
    static char text[NORNIC_ADDR_STR_SIZE + 8];
    host_dev_lock(dev);
    const struct nornic_gid *entry = roce_dev_gid_get(host_dev_engine(dev), index);
    snprintf(text, sizeof text, "-");
    if (entry) {
        nornic_addr_str(&entry->addr, text);
        if (entry->type == NORNIC_GID_V1)
            snprintf(text + strlen(text), 4, " v1");
    }
    host_dev_unlock(dev);
    return text;
}

static unsigned gid_count(void)
{
    unsigned count = 0;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        count += strcmp(gid(i), "-") != 0;
    return count;
}

/* Takes events until one of this type. */
static void await(enum nornic_event_type type)
{
    struct host_event event = {.type = NORNIC_EVENT_COUNT};
    uint64_t end_ns = host_now_ns() + 10 * SECOND;
    while (event.type != type) {
        cr_assert_eq(host_dev_get_event(dev, &event, 10 * SECOND), 0, "no %s", nornic_event_name(type));
        host_dev_ack_event(dev, &event);
        cr_assert_lt(host_now_ns(), end_ns, "no %s", nornic_event_name(type));
    }
}

static void await_gid(unsigned index, const char *text)
{
    uint64_t end_ns = host_now_ns() + 10 * SECOND;
    struct host_event event;
    while (strcmp(gid(index), text) != 0) {
        cr_assert_lt(host_now_ns(), end_ns, "GID %u is %s, not %s", index, gid(index), text);
        if (host_dev_get_event(dev, &event, SECOND / 10) == 0)
            host_dev_ack_event(dev, &event);
    }
}

/* covers: ROCE-AH-10, ROCE-AH-11, ROCE-EV-10 */
Test(gids, ROCE_AH_10_the_table_follows_the_kernels_addresses)
{
    open_dev(&(struct host_dev_config){.port = NULL});
    cr_expect_eq(strncmp(gid(0), "fe80:", 5), 0, "%s", gid(0));
    cr_expect_str_eq(gid(1), "10.77.0.1");
    cr_expect_str_eq(gid(2), "fd77::1");
    cr_expect_str_eq(gid(3), "-");
    await(NORNIC_EVENT_GID_CHANGE);

    run("ip addr add 10.88.0.1/24 dev nn0");
    await(NORNIC_EVENT_GID_CHANGE);
    await_gid(3, "10.88.0.1");
    run("ip addr del 10.77.0.1/24 dev nn0");
    await(NORNIC_EVENT_GID_CHANGE);
    await_gid(1, "-");
    cr_expect_str_eq(gid(2), "fd77::1", "the others stay where they are");
    cr_expect_str_eq(gid(3), "10.88.0.1");
    run("ip addr add fd88::1/64 dev nn0 nodad");
    await_gid(1, "fd88::1");
}

/* covers: ROCE-EV-9 */
Test(gids, ROCE_EV_9_the_port_follows_the_link)
{
    open_dev(&(struct host_dev_config){.port = NULL});
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 down"), 0);
    await(NORNIC_EVENT_PORT_ERR);
    cr_expect_str_eq(gid(1), "10.77.0.1", "an address does not go with the link");
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 up"), 0);
    await(NORNIC_EVENT_PORT_ACTIVE);
}

/* covers: ROCE-AH-10 */
Test(gids, ROCE_AH_10_each_address_has_a_v1_entry_where_v1_is_spoken)
{
    open_dev(&(struct host_dev_config){.roce_v1 = true});
    cr_expect_str_eq(gid(2), "10.77.0.1");
    cr_expect_str_eq(gid(3), "10.77.0.1 v1");
    cr_expect_str_eq(gid(4), "fd77::1");
    cr_expect_str_eq(gid(5), "fd77::1 v1");
    run("ip addr del fd77::1/64 dev nn0");
    await_gid(5, "-");
    cr_expect_str_eq(gid(4), "-");
    cr_expect_str_eq(gid(3), "10.77.0.1 v1");
}

Test(gids, the_mac_follows_too)
{
    open_dev(&(struct host_dev_config){.port = NULL});
    await(NORNIC_EVENT_GID_CHANGE);
    run("ip link set nn0 address 02:00:00:00:00:07");
    await(NORNIC_EVENT_GID_CHANGE);
    host_dev_lock(dev);
    struct nornic_mac mac = roce_dev_gid_get(host_dev_engine(dev), 1)->mac;
    host_dev_unlock(dev);
    cr_expect_arr_eq(mac.b, "\2\0\0\0\0\7", 6);
}

/* Addresses that found no room get it when others go. */
Test(gids, a_full_table_takes_more_when_it_can)
{
    run("for i in $(seq 280); do echo addr add 10.90.$((i / 200)).$((i % 200))/32 dev nn0; done |"
        "ip -batch -");
    open_dev(&(struct host_dev_config){.port = NULL});
    cr_expect_str_neq(gid(254), "-");
    struct nornic_error notice;
    cr_assert(host_dev_notice(dev, &notice), "it is told");
    cr_expect(strstr(notice.text, "more addresses than the 255 entries"), "%s", notice.text);
    run("for i in $(seq 40); do echo addr del 10.90.0.$i/32 dev nn0; done | ip -batch -");
    await_gid(2, "10.90.1.54");
    uint64_t end_ns = host_now_ns() + 10 * SECOND;
    while (gid_count() != 243)
        cr_assert_lt(host_now_ns(), end_ns, "%u GIDs of 243 addresses", gid_count());
}

/* Progress that the caller drives: asleep, and without a sleep between. */
Test(gids, a_caller_that_drives_hears_the_news)
{
    open_dev(&(struct host_dev_config){.no_thread = true});
    run("ip addr add 10.88.0.1/24 dev nn0");
    uint64_t start_ns = host_now_ns();
    while (strcmp(gid(3), "-") == 0) {
        cr_assert_lt(host_now_ns(), start_ns + 10 * SECOND);
        if (!host_round(dev, NULL))
            host_dev_wait(dev, 30 * SECOND);
    }
    cr_expect_str_eq(gid(3), "10.88.0.1");
    run("ip addr del 10.88.0.1/24 dev nn0");
    while (strcmp(gid(3), "-") != 0) {
        cr_assert_lt(host_now_ns(), start_ns + 20 * SECOND);
        host_round(dev, NULL);
    }
}

Test(gids, the_next_hop_is_looked_for_where_the_gid_is)
{
    struct nornic_error why = {""};
    struct nornic_addr peer;
    struct nornic_mac mac;
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 address 02:00:00:00:00:08"), 0);
    open_dev(&(struct host_dev_config){.port = NULL});
    netns_enter(&veth, 0);
    cr_assert_eq(nornic_addr_parse(NETNS_VETH_V4(1), &peer), 0);
    cr_assert_eq(host_dev_resolve_from(dev, 1, &peer, 5 * SECOND, &mac, &why), 0, "%s", why.text);
    cr_expect_arr_eq(mac.b, "\2\0\0\0\0\x8", 6);
    cr_expect_eq(host_dev_resolve_from(dev, 9, &peer, 5 * SECOND, &mac, &why), -ENOENT);
    cr_expect(strstr(why.text, "no GID with index 9"), "%s", why.text);
}

/* covers: ROCE-EV-8 */
Test(gids, ROCE_EV_8_an_interface_that_goes_is_fatal)
{
    open_dev(&(struct host_dev_config){.port = NULL});
    run("ip link del nn0");
    await(NORNIC_EVENT_DEVICE_FATAL);
    for (unsigned i = 0; i < 3; i++)
        cr_expect_str_eq(gid(i), "-");
}

Test(gids, an_interface_without_addresses_is_named)
{
    struct nornic_error why = {""};
    struct host_dev_config config = {.port = "packet:nn0"};
    run("ip addr flush dev nn0");
    netns_enter(&veth, 0);
    cr_expect_lt(host_dev_open(&config, &dev, &why), 0);
    cr_expect(strstr(why.text, "nn0 has no IP address"), "%s", why.text);
    dev = NULL;
}

/* The bound on path MTUs once the device has heard of the interface's news. */
static uint32_t mtu_after(const char *command)
{
    char text[128];
    snprintf(text, sizeof text, "%s && ip addr add 10.79.0.1/24 dev nn0", command);
    struct host_event event;
    while (host_dev_get_event(dev, &event, 0) == 0)
        host_dev_ack_event(dev, &event);
    run(text);
    await(NORNIC_EVENT_GID_CHANGE); /* the address came after the MTU */
    run("ip addr del 10.79.0.1/24 dev nn0");
    await(NORNIC_EVENT_GID_CHANGE);
    host_dev_lock(dev);
    uint32_t mtu_bytes = roce_dev_port_mtu(host_dev_engine(dev));
    host_dev_unlock(dev);
    return mtu_bytes;
}

/* covers: ROCE-QP-32 */
Test(gids, ROCE_QP_32_the_path_mtu_follows_the_interface)
{
    struct nornic_error notice;
    open_dev(&(struct host_dev_config){.port = NULL});
    cr_expect_not(host_dev_notice(dev, &notice));
    cr_expect_eq(mtu_after("ip link set nn0 mtu 9000"), 1500, "the port's frames are as they were");
    cr_expect_not(host_dev_notice(dev, &notice));
    cr_expect_eq(mtu_after("ip link set nn0 mtu 1280"), 1280);
    cr_assert(host_dev_notice(dev, &notice));
    cr_expect(strstr(notice.text, "MTU of nn0 was lowered from 1500 to 1280"), "%s", notice.text);
    cr_expect_eq(mtu_after("ip link set nn0 mtu 1500"), 1500);
}

/* A follower of the interface beside the device (sock/ports.c) looks here. */
Test(gids, the_interface_is_known_as_its_last_news_left_it)
{
    struct net_interface interface;
    open_dev(&(struct host_dev_config){.port = NULL});
    unsigned at_first = host_dev_interface_changes(dev);
    cr_expect_gt(at_first, 0);
    cr_assert(host_dev_interface(dev, &interface));
    cr_expect_str_eq(interface.name, "nn0");
    cr_expect(interface.is_running);
    cr_expect_eq(mtu_after("ip link set nn0 mtu 1280"), 1280);
    cr_expect_gt(host_dev_interface_changes(dev), at_first);
    cr_assert(host_dev_interface(dev, &interface));
    cr_expect_eq(interface.mtu_bytes, 1280);
    unsigned before_end = host_dev_interface_changes(dev);
    run("ip link del nn0");
    await(NORNIC_EVENT_DEVICE_FATAL);
    cr_expect_gt(host_dev_interface_changes(dev), before_end);
    cr_expect_not(host_dev_interface(dev, &interface));
}

/* A VLAN interface may have an address that its parent has, too. */
Test(gids, address_of_a_vlan_interface_goes_without_the_parents)
{
    struct nornic_error why = {""};
    struct host_dev_config config = {.port = "udp:nn0"};
    cr_assert(vlan_add(&veth, 0, &(struct vlan){"nn0.7", "nn0", 7, false}));
    run("ip addr add 10.77.0.1/24 dev nn0.7");
    netns_enter(&veth, 0);
    cr_assert_eq(host_dev_open(&config, &dev, &why), 0, "%s", why.text);
    netns_enter(&veth, -1);
    cr_assert_eq(gid_count(), 3, "that of the VLAN interface is none of the port");
    run("ip addr del 10.77.0.1/24 dev nn0.7");
    run("ip addr add 10.88.0.1/24 dev nn0");
    await_gid(3, "10.88.0.1"); /* what came before it has been read */
    cr_expect_str_eq(gid(1), "10.77.0.1");
    run("grep -q 01004D0A:12B7 /proc/net/udp");
}

/* Another program's socket at port 4791 of an address of side 0. */
static int take_addr(const char *text)
{
    struct nornic_addr addr;
    union net_sockaddr me;
    netns_enter(&veth, 0);
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_eq(nornic_addr_parse(text, &addr), 0);
    socklen_t me_bytes = net_sockaddr_set(&me, &addr, NET_ROCE_UDP_PORT, 0);
    cr_assert_eq(bind(fd, &me.any, me_bytes), 0, "%s", text);
    netns_enter(&veth, -1);
    return fd;
}

static int open_udp(struct nornic_error *why)
{
    netns_enter(&veth, 0);
    int err = host_dev_open(&(struct host_dev_config){.port = "udp:nn0"}, &dev, why);
    netns_enter(&veth, -1);
    if (err)
        dev = NULL;
    return err;
}

Test(gids, address_of_another_program_comes_when_that_ends)
{
    struct nornic_error why = {""};
    int other = take_addr("10.77.0.1");
    cr_assert_eq(open_udp(&why), 0, "%s", why.text);
    cr_assert_eq(gid_count(), 2);
    cr_expect_str_eq(gid(1), "fd77::1");
    await(NORNIC_EVENT_GID_CHANGE);
    close(other);
    await_gid(2, "10.77.0.1");
}

/* The one address that there is: then the port has none, and its holder is named. */
Test(gids, who_has_the_only_address_is_named)
{
    struct nornic_error why = {""};
    char expected[64];
    run("ip addr flush dev nn0 && ip addr add 10.77.0.9/24 dev nn0");
    int other = take_addr("10.77.0.9");
    cr_assert_eq(open_udp(&why), -EADDRINUSE);
    snprintf(expected, sizeof expected, "10.77.0.9 is taken by ");
    cr_assert(strstr(why.text, expected), "%s", why.text);
    snprintf(expected, sizeof expected, "(process %d)", getpid());
    cr_assert(strstr(why.text, expected), "%s", why.text);
    close(other);
}
