/* SPDX-License-Identifier: BSD-2-Clause */
/* Udp ports that share an address, or cannot. */
#define _GNU_SOURCE /* unshare() */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "net/udp/port.h"
#include "test/net/share_pair.h"
#include "net/udp/frame.h"
#include "test/support/frames.h"

#define PORTS 4
#define PEERS 12

static struct nornic_addr addr;
static struct net_interface lo;
static struct net_port *ports[PORTS];
static uint64_t now_ns = NS_PER_S;

static void setup(void)
{
    struct nornic_error why;
    share_dir_make();
    addr = share_addr();
    cr_assert_eq(net_interface_of_addr(&addr, &lo, &why), 0, "%s", why.text);
}

static void teardown(void)
{
    for (unsigned i = 0; i < PORTS; i++)
        if (ports[i])
            net_port_close(ports[i]);
    share_dir_remove();
}

TestSuite(share_port, .init = setup, .fini = teardown, .timeout = 60);

static int open_port(unsigned i, struct nornic_error *why)
{
    struct net_udp_config config = {.interface = &lo, .addr = addr, .is_shared = true};
    return net_udp_open(&config, &ports[i], why);
}

static void send_to(struct net_port *port, const struct nornic_addr *peer)
{
    struct net_frame buf;
    uint8_t room[256];
    struct net_udp_arrival arrival = {
        .src = addr, .dst = *peer, .src_port = NET_ROCE_UDP_PORT, .ttl = 64, .payload_bytes = 100};
    memset(room, 0, sizeof room);
    struct net_frame frame = net_udp_arrival_frame(&arrival, room + NET_UDP_HEAD_MAX_BYTES);
    cr_assert_eq(net_port_tx_reserve(port, &buf, 1), 1);
    memcpy(buf.data, frame.data, frame.len_bytes);
    buf.len_bytes = frame.len_bytes;
    net_port_tx_flush(port, &buf, 1, now_ns);
}

/* The kernel tells any of the group's sockets; the one that sent is told in any case. */
Test(share_port, what_icmp_says_reaches_who_sent)
{
    struct nornic_error why;
    struct net_frame frames[NET_BURST];
    unsigned by_kernel[PORTS] = {0}, others = 0;
    for (unsigned i = 0; i < PORTS; i++)
        cr_assert_eq(open_port(i, &why), 0, "%s", why.text);
    for (unsigned k = 0; k < PEERS; k++) {
        struct nornic_addr peer = addr, refused;
        bool is_told = false;
        peer.b[15] = (uint8_t)(10 + k);
        send_to(ports[k % PORTS], &peer);
        /* The ports look once a millisecond of theirs; the kernel takes as long as it is busy. */
        for (uint64_t until = frames_now_ns() + 10 * NS_PER_S; frames_now_ns() < until && !is_told;
             now_ns += 2 * NS_PER_MS)
            for (unsigned i = 0; i < PORTS; i++) {
                net_port_rx_burst(ports[i], frames, NET_BURST, now_ns);
                while (net_port_refused(ports[i], &refused))
                    is_told |= i == k % PORTS && nornic_addr_equal(&refused, &peer);
            }
        cr_expect(is_told, "peer %u", k);
        for (unsigned i = 0; i < PORTS; i++) {
            others += i != k % PORTS && ports[i]->counters.tx_refused > by_kernel[i];
            by_kernel[i] = (unsigned)ports[i]->counters.tx_refused;
        }
    }
    cr_expect_gt(others, 0, "the kernel told nobody else");
}

/* Others may meet where this one cannot: alone it would be in their way. */
Test(share_port, a_place_that_does_not_serve_is_an_error)
{
    struct nornic_error why = {""};
    setenv("NORNIC_RUNTIME_DIR", "/nowhere/at/all", 1);
    cr_expect_eq(open_port(0, &why), -ENOENT);
    cr_expect(strstr(why.text, "/nowhere/at/all"), "%s", why.text);
    setenv("NORNIC_RUNTIME_DIR", share_dir_path(), 1);
}

Test(share_port, where_there_is_no_place_a_port_is_alone_and_says_so)
{
    struct nornic_error why = {""};
    cr_assert_eq(open_port(1, &why), 0, "%s", why.text);
    cr_expect_null(strstr(ports[1]->mode, "no place"), "%s", ports[1]->mode);
    net_port_close(ports[1]);
    ports[1] = NULL;
    if (geteuid() != 0 || unshare(CLONE_NEWNS) != 0)
        cr_skip("mounting needs root");
    cr_assert_eq(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), 0);
    const char *named = getenv("NORNIC_RUNTIME_DIR");
    cr_assert_eq(rmdir(named), 0); /* before the test hides it */
    cr_assert_eq(mount("none", "/run", "tmpfs", MS_RDONLY, NULL), 0);
    cr_assert_eq(mount("none", "/tmp", "tmpfs", MS_RDONLY, NULL), 0);
    unsetenv("NORNIC_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    cr_expect_eq(open_port(0, &why), 0, "%s", why.text);
    cr_expect(strstr(ports[0]->mode, "no place"), "%s", ports[0]->mode);
    net_port_close(ports[0]);
    ports[0] = NULL;
    cr_assert_eq(umount("/tmp"), 0);
    cr_assert_eq(mkdir(share_dir_path(), 0700), 0);
}
