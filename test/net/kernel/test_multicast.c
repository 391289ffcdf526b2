/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* memmem */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/kernel/multicast.h"
#include "test/support/netns.h"

#define WAIT_S 5

static struct netns_veth veth;
static struct net_multicast *multicast;
static int wire = -1; /* every frame that reaches side 1 */

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 1);
    wire = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, htons(ETH_P_ALL));
    struct sockaddr_ll at = {
        .sll_family = AF_PACKET, .sll_protocol = htons(ETH_P_ALL), .sll_ifindex = (int)if_nametoindex("nn1")};
    cr_assert_eq(bind(wire, (struct sockaddr *)&at, sizeof at), 0);
    netns_enter(&veth, 0);
    cr_assert_eq(net_multicast_open(if_nametoindex("nn0"), &multicast), 0);
}

static void teardown(void)
{
    if (multicast)
        net_multicast_close(multicast);
    if (wire >= 0)
        close(wire);
    netns_veth_destroy(&veth);
}

TestSuite(multicast, .init = setup, .fini = teardown, .timeout = 30);

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr a;
    cr_assert_eq(nornic_addr_parse(text, &a), 0, "%s", text);
    return a;
}

static int join(const char *text)
{
    struct nornic_addr group = addr_of(text);
    struct nornic_error why = {""};
    int rc = net_multicast_join(multicast, &group, &why);
    cr_expect(rc == 0 || strstr(why.text, text), "%s", why.text);
    return rc;
}

static int leave(const char *text)
{
    struct nornic_addr group = addr_of(text);
    return net_multicast_leave(multicast, &group);
}

/* Whether the kernel lists the group, or the MAC of one, among those of nn0. */
static bool is_listed(const char *what)
{
    return netns_run(&veth, 0, "ip maddr show dev nn0 | grep -qwF '%s'", what) == 0;
}

/* Waits for a report that names the group: IGMP (version 3: 22, version 2: 16) or MLD (version 2: 143,
 * version 1: 131). */
static void await_report(const char *text)
{
    struct nornic_addr group = addr_of(text);
    bool is_v4 = nornic_addr_is_v4(&group);
    struct timespec start, now;
    clock_gettime(CLOCK_MONOTONIC, &start);
    for (;;) {
        uint8_t frame[2048];
        struct pollfd p = {.fd = wire, .events = POLLIN};
        clock_gettime(CLOCK_MONOTONIC, &now);
        cr_assert_lt(now.tv_sec - start.tv_sec, WAIT_S, "no report of %s", text);
        poll(&p, 1, 1000);
        ssize_t len = recv(wire, frame, sizeof frame, 0);
        if (len < 14 + 24 + 16) /* the shorter of the two, an IGMP report of one group */
            continue;
        /* IPv4: the router alert option makes the header 24 bytes; IPv6: a hop-by-hop header of 8. */
        const uint8_t *report = frame + 14 + (is_v4 ? 24 : 48);
        bool is_report = is_v4 ? frame[12] == 0x08 && frame[13] == 0x00 && frame[23] == IPPROTO_IGMP &&
                                     (report[0] == 0x22 || report[0] == 0x16)
                               : frame[12] == 0x86 && frame[13] == 0xdd && frame[20] == 0 &&
                                     (report[0] == 143 || report[0] == 131);
        if (is_report &&
            memmem(report, (size_t)(frame + len - report), is_v4 ? group.b + 12 : group.b, is_v4 ? 4 : 16))
            return;
    }
}

/* covers: ROCE-UD-20 */
Test(multicast, ROCE_UD_20_macs_of_groups)
{
    static const struct {
        const char *group, *mac;
    } cases[] = {
        {"224.0.0.251", "01:00:5e:00:00:fb"},
        {"239.255.1.2", "01:00:5e:7f:01:02"}, /* the top bit of the second byte is cut */
        {"ff02::1:ff12:3456", "33:33:ff:12:34:56"},
    };
    for (unsigned i = 0; i < 3; i++) {
        struct nornic_addr group = addr_of(cases[i].group);
        struct nornic_mac mac = nornic_addr_mcast_mac(&group);
        char text[NORNIC_MAC_STR_SIZE];
        cr_expect_str_eq(nornic_mac_str(&mac, text), cases[i].mac);
        cr_assert_eq(join(cases[i].group), 0);
        cr_expect(is_listed(cases[i].mac), "the kernel's MAC of %s is another", cases[i].group);
    }
}

/* covers: ROCE-UD-21, ROCE-INT-28 */
Test(multicast, joining_tells_the_network)
{
    static const char *const groups[] = {"239.1.2.3", "ff05::1234"};
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(join(groups[i]), 0);
        cr_expect(is_listed(groups[i]), "%s", groups[i]);
        await_report(groups[i]);
        cr_assert_eq(join(groups[i]), 0, "a second holder");
        cr_expect_eq(leave(groups[i]), 1, "holders are left");
        cr_expect(is_listed(groups[i]), "the second is still there");
        cr_expect_eq(leave(groups[i]), 0);
        cr_expect_not(is_listed(groups[i]), "%s", groups[i]);
        cr_expect_eq(leave(groups[i]), -ENOENT);
    }
}

/* More than the kernel grants one socket. */
Test(multicast, many_groups_are_joined_and_left_at_the_end)
{
    char text[32];
    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, i % 2 ? "239.9.0.%d" : "ff05::9:%d", i);
        cr_assert_eq(join(text), 0, "%s", text);
    }
    cr_expect(is_listed("239.9.0.1"));
    cr_expect(is_listed("239.9.0.99"));
    cr_expect(is_listed("ff05::9:98"));
    net_multicast_close(multicast);
    multicast = NULL;
    cr_expect_not(is_listed("239.9.0.1"));
    cr_expect_not(is_listed("ff05::9:98"));
}

Test(multicast, what_is_no_group_is_refused)
{
    cr_expect_eq(join("10.77.0.1"), -EINVAL);
    cr_expect_eq(join("fd77::1"), -EINVAL);
    cr_assert_eq(netns_run(&veth, 0, "ip link del nn0"), 0);
    cr_expect_eq(join("239.1.2.3"), -ENODEV);
    cr_expect_eq(join("ff05::1"), -ENODEV);
    cr_expect_eq(leave("239.1.2.3"), -ENOENT);
}
