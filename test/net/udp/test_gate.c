/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a udp port takes or not. Its filters run in the kernel, over the loopback interface, without
 * privileges. */
#include <criterion/criterion.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/udp/filter.h"
#include "net/udp/frame.h"
#include "net/udp/port.h"
#include "test/support/netns.h"

#define BYTES     20
#define LONG      32000 /* so that few fill a socket */
#define FIRST_QPN 0x541234
#define MANY      1000u
#define MAD_QPN   1u

static struct net_port *port;
static struct nornic_addr own;
static uint64_t now_ns;

/* 127.x.y.k of this process; the port has 1. */
static struct nornic_addr addr(unsigned k)
{
    uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250), (uint8_t)k};
    return nornic_addr_from_v4(v4);
}

static void open_port(void)
{
    struct net_interface lo;
    struct nornic_error why;
    cr_assert_eq(net_interface_of_addr(&own, &lo, &why), 0, "%s", why.text);
    struct net_udp_config config = {.interface = &lo, .addr = own};
    cr_assert_eq(net_udp_open(&config, &port, &why), 0, "%s", why.text);
    net_port_steer(port, 0, NET_STEER_NOBODY, NULL);
}

static void setup(void)
{
    own = addr(1);
    now_ns = NS_PER_S;
    open_port();
}

static void teardown(void)
{
    net_port_close(port);
}

TestSuite(udp_gate, .init = setup, .fini = teardown, .timeout = 60);

/* A socket that packets come from. */
static int open_source(const struct nornic_addr *source)
{
    union net_sockaddr me;
    socklen_t me_bytes = net_sockaddr_set(&me, source, 0, 0);
    int fd = socket(me.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, &me.any, me_bytes), 0);
    return fd;
}

static void send_long(int fd, uint32_t qpn, unsigned count, size_t bytes)
{
    static uint8_t packet[LONG];
    union net_sockaddr to;
    socklen_t to_bytes = net_sockaddr_set(&to, &own, NET_ROCE_UDP_PORT, 0);
    put_be24(packet + 5, qpn);
    for (unsigned i = 0; i < count; i++)
        cr_assert_eq(sendto(fd, packet, bytes, 0, &to.any, to_bytes), (ssize_t)bytes);
}

static void send_from(int fd, uint32_t qpn, unsigned count)
{
    send_long(fd, qpn, count, BYTES);
}

static void send_of(unsigned k, uint32_t qpn, unsigned count)
{
    const struct nornic_addr source = addr(k);
    int fd = open_source(&source);
    send_from(fd, qpn, count);
    close(fd);
}

/* How many frames there are, the counters being up to date. */
static unsigned take(void)
{
    struct net_frame frames[NET_BURST];
    unsigned n, count = 0;
    now_ns += 10 * NS_PER_MS; /* between looks at the counter of drops */
    while ((n = net_port_rx_burst(port, frames, NET_BURST, now_ns)) > 0) {
        net_port_rx_release(port, frames, n);
        count += n;
    }
    return count;
}

/* Returns the packets that the kernel dropped. It counts those without room for all sockets of a namespace
 * together, and other tests have some, too. */
static uint64_t dropped(void)
{
    return port->counters.rx_filtered + port->counters.rx_dropped;
}

static void steer(uint32_t qpn, unsigned k)
{
    const struct nornic_addr peer = addr(k);
    net_port_steer(port, qpn, NET_STEER_PEER, &peer);
}

/* Waits until the filters are made anew: unwanted packets are kept out a little later. */
static void settle(void)
{
    now_ns += NS_PER_S;
    take();
}

Test(udp_gate, only_the_peer_s_packets_come)
{
    cr_expect_neq(strstr(port->mode, "steered"), NULL);
    send_of(2, FIRST_QPN, 3);
    cr_expect_eq(take(), 0, "there is no queue pair");
    cr_expect_eq(dropped(), 3);
    steer(FIRST_QPN, 2);
    send_of(2, FIRST_QPN, 4);
    send_of(3, FIRST_QPN, 5);
    send_of(2, FIRST_QPN + 1, 6);
    cr_expect_eq(take(), 4);
    cr_expect_eq(dropped(), 3 + 5 + 6);
    cr_expect_eq(port->counters.rx_frames, 4);
}

Test(udp_gate, a_queue_pair_s_rules_change_and_end)
{
    net_port_steer(port, FIRST_QPN, NET_STEER_ANYBODY, NULL);
    send_of(2, FIRST_QPN, 1);
    send_of(3, FIRST_QPN, 1);
    cr_expect_eq(take(), 2);
    steer(FIRST_QPN, 3);
    settle();
    send_of(2, FIRST_QPN, 1);
    send_of(3, FIRST_QPN, 1);
    cr_expect_eq(take(), 1);
    steer(FIRST_QPN, 2);
    send_of(2, FIRST_QPN, 1);
    cr_expect_eq(take(), 1, "a new peer is let in at once");
    net_port_steer(port, FIRST_QPN, NET_STEER_NOBODY, NULL);
    settle();
    send_of(2, FIRST_QPN, 1);
    cr_expect_eq(take(), 0);
}

Test(udp_gate, what_is_shorter_than_its_number_is_dropped)
{
    const struct nornic_addr source = addr(2);
    union net_sockaddr to;
    uint8_t packet[7] = {0};
    socklen_t to_bytes = net_sockaddr_set(&to, &own, NET_ROCE_UDP_PORT, 0);
    int fd = open_source(&source);
    net_port_steer(port, 0x12, NET_STEER_ANYBODY, NULL);
    cr_assert_eq(sendto(fd, packet, sizeof packet, 0, &to.any, to_bytes), (ssize_t)sizeof packet);
    cr_expect_eq(take(), 0);
    cr_expect_eq(dropped(), 1);
    close(fd);
}

/* A socket counts both alike; in a namespace of its own nobody else is counted. */
Test(udp_gate, what_has_no_room_is_told_apart_from_what_is_a_stranger_s)
{
    const unsigned flood = 5000; /* more than a socket holds */
    const struct nornic_addr peer = addr(2), stranger = addr(3);
    struct netns_veth veth;
    netns_need();
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
    net_port_close(port);
    open_port();
    int peer_fd = open_source(&peer), stranger_fd = open_source(&stranger);
    steer(FIRST_QPN, 2);
    take();
    send_from(stranger_fd, FIRST_QPN, 1000);
    send_long(peer_fd, FIRST_QPN, flood, LONG);
    unsigned taken = take();
    take();
    cr_expect_lt(taken, flood);
    cr_expect_eq(port->counters.rx_filtered, 1000);
    cr_expect_eq(port->counters.rx_dropped, flood - taken);
    send_long(stranger_fd, FIRST_QPN, flood, LONG);
    take();
    cr_expect_eq(port->counters.rx_filtered, 1000 + flood);
    cr_expect_eq(port->counters.rx_dropped, flood - taken);
    send_from(peer_fd, FIRST_QPN, 50);
    cr_expect_eq(take(), 50, "the strangers' took no room");
    close(peer_fd);
    close(stranger_fd);
    netns_veth_destroy(&veth);
}

/* Every other number, so that no few ranges hold them. */
Test(udp_gate, many_queue_pairs_all_get_theirs)
{
    const struct nornic_addr peer = addr(2);
    int fd = open_source(&peer);
    for (uint32_t i = 0; i < MANY; i++)
        steer(FIRST_QPN + 2 * i, 2);
    for (uint32_t i = 0; i < MANY; i++) {
        send_from(fd, FIRST_QPN + 2 * i, 1);
        cr_assert_eq(take(), 1, "%u", i);
    }
    send_of(3, FIRST_QPN, 100);
    send_from(fd, FIRST_QPN - 1, 100);
    send_from(fd, FIRST_QPN + 10 * MANY, 100);
    cr_expect_eq(take(), 0);
    for (uint32_t i = 0; i < MANY; i++)
        net_port_steer(port, FIRST_QPN + 2 * i, NET_STEER_NOBODY, NULL);
    settle();
    for (uint32_t i = 0; i < MANY; i++)
        send_from(fd, FIRST_QPN + 2 * i, 1);
    cr_expect_eq(take(), 0);
    close(fd);
}

Test(udp_gate, many_peers_all_come)
{
    for (unsigned k = 2; k < 2 + 2 * NET_UDP_PEERS_MAX; k++)
        steer(FIRST_QPN + k, k);
    for (unsigned k = 2; k < 2 + 2 * NET_UDP_PEERS_MAX; k++)
        send_of(k, FIRST_QPN + k, 1);
    cr_expect_eq(take(), 2 * NET_UDP_PEERS_MAX);
    for (unsigned k = 2; k < 2 + NET_UDP_PEERS_MAX; k++)
        net_port_steer(port, FIRST_QPN + k, NET_STEER_NOBODY, NULL);
    settle();
    send_of(250, FIRST_QPN + 2 + NET_UDP_PEERS_MAX, 1);
    cr_expect_eq(take(), 0, "they are few enough again");
}

/* By chance: the bounds are a hundred times as wide as the variation. */
Test(udp_gate, what_everybody_may_send_gets_its_share)
{
    const unsigned flood = 65536, step = 256;
    const struct nornic_addr source = addr(3);
    struct net_frame frames[NET_BURST];
    int fd = open_source(&source);
    unsigned taken = 0;
    net_port_steer(port, MAD_QPN, NET_STEER_LIMITED, NULL);
    for (unsigned sent = 0; sent < flood; sent += step) {
        unsigned n;
        send_from(fd, MAD_QPN, step);
        while ((n = net_port_rx_burst(port, frames, NET_BURST, now_ns)) > 0) {
            net_port_rx_release(port, frames, n);
            taken += n;
        }
    }
    cr_expect_geq(taken, NET_STEER_LIMIT);
    cr_expect_lt(taken, flood / 8);
    take();
    cr_expect_eq(dropped(), flood - taken);
    uint64_t deadline_ns = net_port_deadline_ns(port);
    for (unsigned windows = 0; deadline_ns != NET_TIME_NONE; windows++) {
        cr_assert_lt(windows, 20, "the share stays small");
        cr_expect_eq(net_port_rx_burst(port, frames, NET_BURST, deadline_ns), 0);
        deadline_ns = net_port_deadline_ns(port);
    }
    now_ns += NS_PER_S;
    send_from(fd, MAD_QPN, 100);
    cr_expect_eq(take(), 100, "all come again");
    close(fd);
}

/* Several senders within their share, and a round that is late. */
Test(udp_gate, what_a_late_round_finds_is_within_the_share)
{
    const struct nornic_addr source = addr(3);
    int fd = open_source(&source);
    net_port_steer(port, MAD_QPN, NET_STEER_LIMITED, NULL);
    now_ns += NS_PER_S;
    cr_expect_eq(take(), 0);
    now_ns += 3 * NET_STEER_WINDOW_NS;
    cr_expect_eq(take(), 0, "a round begins a window");
    send_from(fd, MAD_QPN, 3 * NET_STEER_LIMIT);
    cr_expect_eq(take(), 3 * NET_STEER_LIMIT);
    send_from(fd, MAD_QPN, 200);
    cr_expect_eq(take(), 200, "the filters let all in, as before");
    cr_expect_eq(dropped(), 0);
    close(fd);
}

/* The words of an IPv6 address, each of which counts. */
Test(udp_gate, addresses_of_ipv6_are_told_apart_by_every_word)
{
    struct nornic_addr me;
    struct net_udp_wanted wanted = {.paired = {.at = {{7, 9}}, .count = 1}, .peer_count = 1};
    struct sock_filter code[NET_UDP_FILTER_MAX];
    uint8_t got[64];
    cr_assert_eq(nornic_addr_parse("::1", &me), 0);
    int from = open_source(&me), fd = open_source(&me);
    union net_sockaddr to;
    socklen_t to_bytes = sizeof to;
    cr_assert_eq(getsockname(fd, &to.any, &to_bytes), 0);
    for (unsigned word = 0; word <= 4; word++) {
        uint8_t packet[BYTES] = {0};
        put_be24(packet + 5, 8);
        wanted.peers[0] = me;
        if (word < 4)
            wanted.peers[0].b[4 * word + 1] ^= 0x10;
        cr_assert_eq(net_udp_filter_attach(fd, code, net_udp_filter(&wanted, &me, code)), 0);
        cr_assert_eq(sendto(from, packet, sizeof packet, 0, &to.any, to_bytes), BYTES);
        cr_expect_eq(recv(fd, got, sizeof got, MSG_DONTWAIT), word < 4 ? -1 : BYTES, "word %u", word);
    }
    close(fd);
    close(from);
}

/* The longest program there is: the kernel takes it from every user. */
Test(udp_gate, the_longest_program_fits)
{
    struct net_udp_wanted wanted = {.thin_shift = 3, .slot_count = NET_SHARE_SLOTS - 1};
    struct nornic_addr me = {.b = {0x20, 1}};
    struct sock_filter code[NET_UDP_FILTER_MAX];
    for (unsigned i = 0; i < NET_UDP_RANGES_MAX; i++)
        wanted.open.at[i] = wanted.paired.at[i] = (struct net_udp_range){0x800000 + i, 0xffff00 + i};
    wanted.open.count = wanted.paired.count = NET_UDP_RANGES_MAX;
    for (unsigned i = 0; i < NET_UDP_PEERS_MAX; i++)
        memset(wanted.peers[i].b, 0x80 + (int)i, sizeof wanted.peers[i].b);
    wanted.peer_count = NET_UDP_PEERS_MAX;
    wanted.limited_count = NET_UDP_LIMITED_MAX;
    unsigned count = net_udp_filter(&wanted, &me, code);
    cr_expect_leq(count, NET_UDP_FILTER_MAX);
    int fd = socket(AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    for (unsigned twice = 0; twice < 2; twice++)
        cr_expect_eq(net_udp_filter_attach(fd, code, count), 0);
    close(fd);
}
