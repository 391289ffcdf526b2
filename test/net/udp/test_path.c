/* SPDX-License-Identifier: BSD-2-Clause */
/* The udp port where the machine itself, its routes or its queues do not take what is sent. */
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "net/udp/frame.h"
#include "net/packet.h"
#include "net/udp/port.h"
#include "test/support/netns.h"

static struct netns_veth veth;
static struct net_port *port;

static struct nornic_addr addr_of(const char *text)
{
    struct nornic_addr addr;
    cr_assert_eq(nornic_addr_parse(text, &addr), 0, "%s", text);
    return addr;
}

static void run(const char *command)
{
    cr_assert_eq(netns_run(&veth, 0, "%s", command), 0, "%s", command);
}

static void listen_to(const char *text)
{
    struct nornic_addr addr = addr_of(text);
    struct nornic_error why;
    cr_assert_eq(net_port_listen(port, &addr, &why), 0, "%s", why.text);
}

static void setup(void)
{
    struct net_interface interface;
    struct nornic_error why;
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
    run("ip addr add 10.77.0.3/24 dev nn0");
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0, "%s", why.text);
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &interface}, &port, &why), 0, "%s",
                 why.text);
    listen_to("10.77.0.1");
    listen_to("10.77.0.3");
}

static void teardown(void)
{
    if (port)
        net_port_close(port);
    netns_veth_destroy(&veth);
}

TestSuite(udp_path, .init = setup, .fini = teardown, .timeout = 60);

/* A frame of `src`, a train if `seg_bytes` says so, in a buffer that was lent. */
static void build(struct net_frame *buf, const char *src, const char *dst, uint32_t payload_bytes,
                  uint32_t seg_bytes)
{
    static uint8_t room[NET_UDP_HEAD_MAX_BYTES + 65536];
    struct net_udp_arrival arrival = {.src = addr_of(src),
                                      .dst = addr_of(dst),
                                      .src_port = NET_ROCE_UDP_PORT,
                                      .ttl = 33,
                                      .payload_bytes = payload_bytes,
                                      .seg_bytes = seg_bytes};
    struct net_frame frame = net_udp_arrival_frame(&arrival, room + NET_UDP_HEAD_MAX_BYTES);
    cr_assert_leq(frame.len_bytes, buf->cap_bytes);
    memcpy(buf->data, frame.data, frame.len_bytes);
    buf->len_bytes = frame.len_bytes;
    buf->seg_bytes = frame.seg_bytes;
}

static void send_one(const char *dst, uint32_t payload_bytes, uint32_t seg_bytes)
{
    struct net_frame buf;
    cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, seg_bytes ? 65000 : 0), 1);
    build(&buf, "10.77.0.1", dst, payload_bytes, seg_bytes);
    net_port_tx_flush(port, &buf, 1, 1);
}

/* Comes back at the port's deadline, at most `most` times. Returns how often until nothing waited. */
static unsigned let_try(unsigned most)
{
    struct net_frame frame;
    unsigned tries = 0;
    for (; tries < most && net_port_deadline_ns(port) != NET_TIME_NONE; tries++)
        net_port_rx_release(port, &frame, net_port_rx_burst(port, &frame, 1, net_port_deadline_ns(port)));
    return tries;
}

/* Everything that leaves for the other side is dropped on the way out. */
static void drop_all(void)
{
    run("ip neigh replace 10.77.0.2 lladdr 02:00:00:00:00:07 dev nn0 && "
        "tc qdisc add dev nn0 root bfifo limit 1");
}

Test(udp_path, what_is_dropped_on_the_way_out_blocks_nothing)
{
    struct net_frame bufs[3];
    drop_all();
    cr_assert_eq(net_port_tx_reserve(port, bufs, 3), 3);
    build(&bufs[0], "10.77.0.1", "10.77.0.2", 100, 0);
    build(&bufs[1], "10.77.0.1", "10.77.0.2", 100, 0);
    build(&bufs[2], "10.77.0.1", "10.77.0.3", 100, 0); /* to this machine: by another way */
    net_port_tx_flush(port, bufs, 3, 1);
    cr_assert_eq(port->counters.tx_frames, 0, "the first waits");
    cr_assert_eq(let_try(10), 3);
    cr_assert_eq(port->counters.tx_errors, 2);
    cr_assert_eq(port->counters.tx_frames, 1);
}

Test(udp_path, reserve_does_not_move_the_next_try)
{
    struct net_frame buf;
    drop_all();
    send_one("10.77.0.2", 100, 0);
    uint64_t deadline_ns = net_port_deadline_ns(port);
    cr_assert_neq(deadline_ns, NET_TIME_NONE);
    for (unsigned i = 0; i < 10; i++)
        cr_assert_eq(net_port_tx_reserve(port, &buf, 1), 0);
    cr_assert_eq(net_port_deadline_ns(port), deadline_ns);
    run("tc qdisc del dev nn0 root");
    cr_assert_eq(let_try(1), 1);
    cr_assert_eq(port->counters.tx_frames, 1);
    cr_assert_eq(port->counters.tx_errors, 0);
}

Test(udp_path, address_that_goes_takes_its_own_frames_only)
{
    struct net_frame bufs[3];
    struct nornic_addr gone = addr_of("10.77.0.1");
    drop_all();
    cr_assert_eq(net_port_tx_reserve(port, bufs, 3), 3);
    for (unsigned i = 0; i < 3; i++)
        build(&bufs[i], i == 1 ? "10.77.0.3" : "10.77.0.1", "10.77.0.2", 100, 0);
    net_port_tx_flush(port, bufs, 3, 1);
    net_port_unlisten(port, &gone);
    cr_assert_eq(port->counters.tx_errors, 2);
    run("tc qdisc del dev nn0 root");
    cr_assert_eq(let_try(1), 1);
    cr_assert_eq(port->counters.tx_frames, 1);
    cr_assert_eq(port->counters.tx_errors, 2);
}

Test(udp_path, destination_without_a_route_is_named)
{
    send_one("192.0.2.1", 100, 0);
    cr_assert_eq(port->counters.tx_errors, 1);
    const char *trouble = net_port_trouble(port);
    cr_assert(trouble && strstr(trouble, "to 192.0.2.1: Network is unreachable"), "%s", trouble);
}

/* The next frame that comes to `to`; waits asleep. */
static struct net_frame receive(struct net_port *to)
{
    static uint64_t now_ns;
    struct net_frame frame = {.data = NULL};
    for (unsigned tries = 0; tries < 10 && !net_port_rx_burst(to, &frame, 1, now_ns += NS_PER_MS); tries++) {
        struct pollfd ready = {.fd = net_port_fd(to), .events = POLLIN};
        poll(&ready, 1, 5000);
    }
    cr_assert_not_null(frame.data, "nothing came");
    return frame;
}

/* A port at the other end of the pair. */
static struct net_port *open_peer(const char *addr)
{
    struct net_interface interface;
    struct nornic_error why;
    struct net_port *peer;
    netns_enter(&veth, 1);
    cr_assert_eq(net_interface_get("nn1", &interface, &why), 0, "%s", why.text);
    cr_assert_eq(
        net_udp_open(&(struct net_udp_config){.interface = &interface, .addr = addr_of(addr)}, &peer, &why),
        0, "%s", why.text);
    netns_enter(&veth, 0);
    return peer;
}

/* DSCP and ECN, and the hop limit, go out and come in with each message over IPv6, too: with a socket that
 * has become used to others, and with a train. */
Test(udp_path, traffic_class_and_hop_limit_pass_over_ipv6)
{
    static const uint8_t kinds[][2] = {{0x62, 33}, {0xb9, 255}, {0x03, 1}};
    struct net_port *peer = open_peer("fd77::2");
    listen_to("fd77::1");
    for (unsigned i = 0; i < 120; i++) {
        const uint8_t *kind = kinds[i < 60 ? i / 20 : i % 3];
        struct net_frame buf;
        cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, 65000), 1);
        build(&buf, "fd77::1", "fd77::2", i % 2 ? 3120 : 1040, i % 2 ? 1040 : 0);
        uint8_t *l3 = buf.data + NET_ETHER_BYTES, sent[NET_IPV6_BYTES];
        l3[0] = (uint8_t)(0x60 | kind[0] >> 4);
        l3[1] = (uint8_t)(kind[0] << 4);
        l3[7] = kind[1];
        memcpy(sent, l3, sizeof sent);
        net_port_tx_flush(port, &buf, 1, 1);
        struct net_frame frame = receive(peer);
        cr_assert_eq(frame.seg_bytes, i % 2 ? 1040 : 0, "message %u", i);
        cr_assert_arr_eq(frame.data + NET_ETHER_BYTES, sent, sizeof sent, "message %u", i);
        net_port_rx_release(peer, &frame, 1);
    }
    net_port_close(peer);
}

Test(udp_path, train_that_the_route_does_not_take_is_told)
{
    run("ip route add 10.77.0.9/32 dev nn0 mtu 800");
    send_one("10.77.0.9", 10400, 1040);
    cr_assert_eq(port->counters.tx_errors, 1);
    const char *trouble = net_port_trouble(port);
    cr_assert(trouble && strstr(trouble, "10.77.0.9") && strstr(trouble, "use a smaller path MTU"), "%s",
              trouble);
}

/* That the peer's packets and the short ones of ours pass says nothing of the long ones. */
Test(udp_path, too_long_is_told_until_one_as_long_leaves)
{
    struct net_port *peer = open_peer("10.77.0.2");
    run("ip route add 10.77.0.2/32 dev nn0 mtu 800");
    send_one("10.77.0.2", 1040, 0);
    cr_assert(strstr(net_port_trouble(port), "use a smaller path MTU"));
    send_one("10.77.0.2", 500, 0);
    struct net_frame buf, frame;
    cr_assert_eq(net_port_tx_reserve(peer, &buf, 1), 1);
    build(&buf, "10.77.0.2", "10.77.0.1", 100, 0);
    net_port_tx_flush(peer, &buf, 1, 1);
    frame = receive(port);
    net_port_rx_release(port, &frame, 1);
    cr_assert(net_port_trouble(port) && strstr(net_port_trouble(port), "use a smaller path MTU"));
    run("ip route del 10.77.0.2/32 dev nn0");
    send_one("10.77.0.2", 1040, 0);
    cr_assert_null(net_port_trouble(port));
    net_port_close(peer);
}

/* A train is as long as its packets, of which the last may be short. */
Test(udp_path, too_long_is_the_longest_packet_of_a_train)
{
    run("ip route add 10.77.0.9/32 dev nn0 mtu 800");
    send_one("10.77.0.9", 1040 + 16, 1040);
    cr_assert(net_port_trouble(port) && strstr(net_port_trouble(port), "use a smaller path MTU"));
    send_one("10.77.0.9", 700, 0);
    cr_assert(net_port_trouble(port), "one between the mean of both and the limit says nothing");
    run("ip route del 10.77.0.9/32 dev nn0");
    send_one("10.77.0.9", 1039, 0);
    cr_assert(net_port_trouble(port), "nor one that is shorter");
    send_one("10.77.0.9", 1041, 0);
    cr_assert_null(net_port_trouble(port));
}

/* Whoever asks for packets that are too long for the way to it costs nobody else the trains. */
Test(udp_path, a_train_that_one_route_does_not_take_ends_not_all_trains)
{
    struct net_frame buf;
    run("ip route add 10.77.0.9/32 dev nn0 mtu 800");
    for (unsigned i = 0; i < 3; i++) {
        send_one("10.77.0.2", 10400, 1040);
        send_one("10.77.0.9", 10400, 1040);
    }
    cr_expect_eq(port->counters.tx_errors, 3);
    cr_expect_eq(port->counters.tx_frames, 30);
    cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, 65000), 1);
    cr_expect_gt(buf.train_pkts, 1);
    net_port_tx_flush(port, &buf, 0, 1);
}

/* On an interface with a udp port a packet port would refuse the udp port's peers; it is so the other
 * way round, too. */
Test(udp_path, packet_port_and_udp_port_do_not_share_an_interface)
{
    struct net_port *second;
    struct net_interface interface;
    struct nornic_error why = {""};
    const struct net_packet_config packet = {.ifname = "nn0"};
    cr_assert_eq(net_packet_open(&packet, &second, &why), -EBUSY);
    cr_assert(strstr(why.text, "udp port on nn0"), "%s", why.text);
    net_port_close(port);
    port = NULL;
    cr_assert_eq(net_packet_open(&packet, &second, &why), 0, "%s", why.text);
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0);
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &interface}, &port, &why), -EBUSY);
    cr_assert(strstr(why.text, "packet port"), "%s", why.text);
    net_port_close(second);
    port = NULL;
}

/* The packet port's hold of port 4791 on its interface is none on another one. */
Test(udp_path, udp_port_beside_a_packet_port_of_another_interface)
{
    struct net_port *packet, *second;
    struct net_interface lo;
    struct nornic_error why = {""};
    net_port_close(port);
    port = NULL;
    run("ip link set lo up");
    cr_assert_eq(net_interface_get("lo", &lo, &why), 0, "%s", why.text);
    const struct net_packet_config on_veth = {.ifname = "nn0"};
    const struct net_udp_config on_lo = {.interface = &lo, .addr = addr_of("127.0.0.1")};
    for (unsigned is_packet_first = 0; is_packet_first < 2; is_packet_first++) {
        if (is_packet_first)
            cr_assert_eq(net_packet_open(&on_veth, &packet, &why), 0, "%s", why.text);
        cr_assert_eq(net_udp_open(&on_lo, &port, &why), 0, "%s", why.text);
        if (!is_packet_first)
            cr_assert_eq(net_packet_open(&on_veth, &packet, &why), 0, "%s", why.text);
        cr_assert_eq(net_udp_open(&on_lo, &second, &why), -EADDRINUSE, "two owners of one address");
        net_port_close(packet);
        net_port_close(port);
        port = NULL;
    }
}

/* Sends one byte to port 4791 of a group, by an interface. */
static void send_to_group(const char *group, const char *ifname)
{
    struct nornic_addr to = addr_of(group);
    struct net_interface interface;
    struct nornic_error why;
    union net_sockaddr dst;
    cr_assert_eq(net_interface_get(ifname, &interface, &why), 0, "%s", why.text);
    socklen_t dst_bytes = net_sockaddr_set(&dst, &to, NET_ROCE_UDP_PORT, interface.index);
    struct ip_mreqn by = {.imr_ifindex = (int)interface.index};
    bool is_v4 = nornic_addr_is_v4(&to);
    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    cr_assert_geq(fd, 0);
    cr_assert_eq(is_v4 ? setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by)
                       : setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &by.imr_ifindex, sizeof(int)),
                 0);
    cr_assert_eq(sendto(fd, "x", 1, 0, &dst.any, dst_bytes), 1);
    close(fd);
}

/* Frames that have come. */
static unsigned drain(struct net_port *from)
{
    static uint64_t now_ns;
    struct net_frame frame;
    unsigned count = 0;
    while (net_port_rx_burst(from, &frame, 1, now_ns += NS_PER_MS)) {
        count++;
        net_port_rx_release(from, &frame, 1);
    }
    return count;
}

/* The same group on another interface is another group: two ports of one machine keep to their own. The
 * kernel hands datagrams of the machine itself over before the call that sends them returns. */
Test(udp_path, group_of_another_interface_is_another_group)
{
    static const char *const groups[] = {"239.7.7.7", "ff0e::7777", "ff02::7777"};
    static const char *const own[] = {"10.77.0.1", "10.77.0.3"};
    struct net_interface other;
    struct nornic_error why;
    struct net_port *second;
    for (size_t i = 0; i < array_len(own); i++) { /* what comes from there would be its own */
        struct nornic_addr addr = addr_of(own[i]);
        net_port_unlisten(port, &addr);
    }
    run("ip link add nn9 type veth peer name nn8 && ip link set nn8 up && ip link set nn9 up && "
        "ip addr add 10.79.0.1/24 dev nn9 && "
        "ip addr add fd79::1/64 dev nn9 nodad");
    cr_assert_eq(net_interface_get("nn9", &other, &why), 0, "%s", why.text);
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &other}, &second, &why), 0, "%s",
                 why.text);
    for (size_t i = 0; i < array_len(groups); i++) {
        struct nornic_addr group = addr_of(groups[i]);
        listen_to(groups[i]);
        cr_assert_eq(net_port_listen(second, &group, &why), 0, "%s", why.text);
        send_to_group(groups[i], "nn9");
        cr_assert_eq(drain(port), 0, "%s of nn9 came to the port of nn0", groups[i]);
        cr_assert_eq(drain(second), 1, "%s of nn9", groups[i]);
        send_to_group(groups[i], "nn0");
        cr_assert_eq(drain(port), 1, "%s of nn0", groups[i]);
        cr_assert_eq(drain(second), 0, "%s of nn0 came to the port of nn9", groups[i]);
    }
    net_port_close(second);
}

/* A datagram to a UDP port of an address of side 0, from side 1. The socket. */
static int knock(const char *text, uint16_t udp_port)
{
    struct nornic_addr addr = addr_of(text);
    union net_sockaddr to;
    netns_enter(&veth, 1);
    int fd = socket(nornic_addr_is_v4(&addr) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    socklen_t to_bytes = net_sockaddr_set(&to, &addr, udp_port, 0);
    cr_assert_eq(connect(fd, &to.any, to_bytes), 0);
    cr_assert_eq(send(fd, "x", 1, 0), 1);
    netns_enter(&veth, 0);
    return fd;
}

/* A udp port of another interface has port 4791 of its address, so the packet port cannot hold that of all.
 * Two datagrams leave one after the other: when the second one's ICMP is there, the first has been looked at.
 */
Test(udp_path, packet_port_beside_a_udp_port_answers_nothing_by_the_kernel)
{
    static const char *const addrs[] = {"10.77.0.1", "fd77::1"};
    struct net_port *packet;
    struct net_interface lo;
    struct nornic_error why = {""};
    net_port_close(port);
    run("ip link set lo up");
    cr_assert_eq(net_interface_get("lo", &lo, &why), 0, "%s", why.text);
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &lo}, &port, &why), 0, "%s", why.text);
    listen_to("127.0.0.1");
    listen_to("::1");
    cr_assert_eq(net_packet_open(&(struct net_packet_config){.ifname = "nn0"}, &packet, &why), 0, "%s",
                 why.text);
    for (size_t i = 0; i < array_len(addrs); i++) {
        int held = knock(addrs[i], NET_ROCE_UDP_PORT), closed = knock(addrs[i], NET_ROCE_UDP_PORT + 1);
        struct pollfd refused = {.fd = closed, .events = POLLERR}, quiet = {.fd = held, .events = POLLERR};
        cr_assert_eq(poll(&refused, 1, 10000), 1, "%s: no ICMP for a closed port", addrs[i]);
        cr_assert_eq(poll(&quiet, 1, 0), 0, "%s: ICMP for the packet port's", addrs[i]);
        close(held);
        close(closed);
    }
    net_port_close(packet);
}
