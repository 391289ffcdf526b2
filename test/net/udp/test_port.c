/* SPDX-License-Identifier: BSD-2-Clause */
/* The udp port over the loopback interface, without privileges: each test at addresses of its own. */
#include "base/base.h"
#include "net/udp/port.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/ipv4.h"
#include "net/wire/parse.h"
#include "net/wire/train.h"
#include "net/udp/frame.h"
#include "nornic/device.h"

#define WAIT_MS 5000

static struct net_port *ports[2];
static struct nornic_addr addrs[2];
static struct net_interface lo;

/* 127.x.y.1 and .2 of this process: other runs on this machine have others. */
static void choose_addrs(void)
{
    for (unsigned i = 0; i < 2; i++) {
        uint8_t v4[4] = {127, (uint8_t)(1 + getpid() % 250), (uint8_t)(getpid() / 250 % 250),
                         (uint8_t)(i + 1)};
        addrs[i] = nornic_addr_from_v4(v4);
    }
}

static void setup(void)
{
    struct nornic_error why;
    choose_addrs();
    cr_assert_eq(net_interface_of_addr(&addrs[0], &lo, &why), 0, "%s", why.text);
    for (unsigned i = 0; i < 2; i++) {
        struct net_udp_config config = {.interface = &lo, .addr = addrs[i]};
        cr_assert_eq(net_udp_open(&config, &ports[i], &why), 0, "%s", why.text);
    }
}

static void teardown(void)
{
    for (unsigned i = 0; i < 2; i++)
        if (ports[i])
            net_port_close(ports[i]);
}

TestSuite(udp_port, .init = setup, .fini = teardown, .timeout = 60);

/* A frame of port `from` to `dst`, a train if `seg_bytes` says so, in a buffer that was lent; its payload is
 * `payload_bytes` long, byte i being i * 7 + `seed`. */
static void build(struct net_frame *buf, unsigned from, const struct nornic_addr *dst, uint32_t payload_bytes,
                  uint32_t seg_bytes, uint8_t seed)
{
    static uint8_t room[NET_UDP_HEAD_MAX_BYTES + 65536];
    struct net_udp_arrival arrival = {.src = addrs[from],
                                      .dst = *dst,
                                      .src_port = NET_ROCE_UDP_PORT,
                                      .tos = 0x62,
                                      .ttl = 33,
                                      .payload_bytes = payload_bytes,
                                      .seg_bytes = seg_bytes};
    uint8_t *payload = room + NET_UDP_HEAD_MAX_BYTES;
    for (uint32_t i = 0; i < payload_bytes; i++)
        payload[i] = (uint8_t)(i * 7 + seed);
    struct net_frame frame = net_udp_arrival_frame(&arrival, payload);
    cr_assert_leq(frame.len_bytes, buf->cap_bytes);
    memcpy(buf->data, frame.data, frame.len_bytes);
    buf->len_bytes = frame.len_bytes;
    buf->seg_bytes = frame.seg_bytes;
}

static void send_one(unsigned from, const struct nornic_addr *dst, uint32_t payload_bytes, uint32_t seg_bytes,
                     uint8_t seed)
{
    struct net_frame buf;
    const struct net_port_limits *limits = &ports[from]->limits;
    cr_assert_eq(net_port_tx_reserve_trains(ports[from], &buf, 1, seg_bytes ? limits->train_tx_bytes : 0), 1);
    build(&buf, from, dst, payload_bytes, seg_bytes, seed);
    net_port_tx_flush(ports[from], &buf, 1, 1);
}

/* The next frame at `port`, which is to be released; waits asleep. */
static struct net_frame receive(struct net_port *port)
{
    static uint64_t now_ns;
    struct net_frame frame = {.data = NULL};
    for (unsigned tries = 0; tries < 10 && !net_port_rx_burst(port, &frame, 1, now_ns += NS_PER_MS);
         tries++) {
        struct pollfd ready = {.fd = net_port_fd(port), .events = POLLIN};
        poll(&ready, 1, WAIT_MS);
    }
    cr_assert_not_null(frame.data, "nothing came");
    return frame;
}

/* The payload of packet `i` of a train or frame begins with the bytes that were built. */
static void expect_payload(const struct net_frame *frame, uint32_t seg_bytes, uint32_t i, uint8_t seed)
{
    struct net_train train;
    net_train_begin(&train, frame);
    struct net_frame pkt = net_train_packet(&train, i);
    struct net_parsed at;
    cr_assert_eq(net_parse(&at, pkt.data, pkt.len_bytes), NET_PARSE_UDP);
    const uint8_t *payload = pkt.data + at.l4_offset + NET_UDP_BYTES;
    for (uint32_t k = 0; k < at.udp_bytes - NET_UDP_BYTES; k++)
        cr_assert_eq(payload[k], (uint8_t)((i * seg_bytes + k) * 7 + seed), "packet %u byte %u", i, k);
    net_train_end(&train);
}

Test(udp_port, frame_comes_as_it_was_sent)
{
    static const uint32_t sizes[] = {16, 100, 1040, 4112};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        send_one(0, &addrs[1], sizes[i], 0, (uint8_t)i);
        struct net_frame frame = receive(ports[1]), sent = {.data = (uint8_t[70000]){0}, .cap_bytes = 70000};
        build(&sent, 0, &addrs[1], sizes[i], 0, (uint8_t)i);
        cr_assert_eq(frame.len_bytes, sent.len_bytes);
        cr_assert_eq(frame.seg_bytes, 0);
        cr_assert_arr_eq(frame.data, sent.data, sent.len_bytes, "headers, TOS, TTL and payload");
        net_port_rx_release(ports[1], &frame, 1);
    }
    cr_assert_eq(ports[0]->counters.tx_frames, 4);
    cr_assert_eq(ports[1]->counters.rx_frames, 4);
}

/* Whether the loopback interface hands a train on whole or cuts it: its packets come, each as it was. */
Test(udp_port, train_comes_as_its_packets)
{
    const uint32_t seg_bytes = 1040, last_bytes = 500, count = 60;
    send_one(0, &addrs[1], (count - 1) * seg_bytes + last_bytes, seg_bytes, 3);
    uint32_t got = 0;
    while (got < count) {
        struct net_frame frame = receive(ports[1]);
        struct net_train_size size = net_train_size(&frame);
        for (uint32_t i = 0; i < size.pkts; i++)
            expect_payload(&frame, seg_bytes, i, (uint8_t)(3 + got * seg_bytes * 7));
        got += size.pkts;
        net_port_rx_release(ports[1], &frame, 1);
    }
    cr_assert_eq(got, count);
    cr_assert_eq(ports[0]->counters.tx_frames, count);
    cr_assert_eq(ports[1]->counters.rx_frames, count);
    cr_assert_eq(ports[0]->counters.tx_bytes, ports[1]->counters.rx_bytes);
}

/* The loopback interface takes more than a datagram may hold: 65507 bytes over IPv4. */
Test(udp_port, buffer_holds_no_more_than_a_datagram)
{
    static const uint32_t wanted[] = {0, 2000, 65549, 1u << 20};
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        struct net_frame buf;
        cr_assert_eq(net_port_tx_reserve_trains(ports[0], &buf, 1, wanted[i]), 1);
        cr_assert_leq(buf.cap_bytes, 14 + 20 + 8 + 65507);
        cr_assert_geq(buf.cap_bytes, ports[0]->limits.mtu_bytes + 18);
        net_port_tx_flush(ports[0], &buf, 0, 1);
    }
    send_one(0, &addrs[1], 65507, 1040, 0);
    cr_assert_eq(ports[0]->counters.tx_frames, 63);
    cr_assert_eq(ports[0]->counters.tx_errors, 0);
}

Test(udp_port, burst_keeps_its_order)
{
    struct net_frame bufs[NET_BURST], frame;
    unsigned lent = net_port_tx_reserve(ports[0], bufs, NET_BURST);
    cr_assert_eq(lent, NET_BURST);
    for (unsigned i = 0; i < lent; i++)
        build(&bufs[i], 0, &addrs[1], 64, 0, (uint8_t)i);
    net_port_tx_flush(ports[0], bufs, lent, 1);
    for (unsigned i = 0; i < lent;) {
        frame = receive(ports[1]);
        struct net_train_size size = net_train_size(&frame);
        for (uint32_t k = 0; k < size.pkts; k++)
            expect_payload(&frame, 0, k, (uint8_t)(i + k));
        i += size.pkts;
        net_port_rx_release(ports[1], &frame, 1);
    }
}

/* A single frame's TOS and TTL; the rest is that of build(). */
static void build_with(struct net_frame *buf, uint8_t tos, uint8_t ttl)
{
    build(buf, 0, &addrs[1], 64, 0, 0);
    buf->data[15] = tos;
    buf->data[22] = ttl;
    put_be16(buf->data + 24, 0);
    put_be16(buf->data + 24, net_checksum_ipv4(buf->data + 14, 20));
}

/* The first frame of a burst has another TOS and TTL than the rest; each comes as it was sent. */
static void bounce_burst(unsigned n, const uint8_t first[2], const uint8_t rest[2])
{
    struct net_frame bufs[NET_BURST];
    uint8_t heads[NET_BURST][NET_IPV4_BYTES];
    cr_assert_eq(net_port_tx_reserve(ports[0], bufs, n), n);
    for (unsigned i = 0; i < n; i++) {
        const uint8_t *wanted = i == 0 ? first : rest;
        build_with(&bufs[i], wanted[0], wanted[1]);
        memcpy(heads[i], bufs[i].data + NET_ETHER_BYTES, NET_IPV4_BYTES);
    }
    net_port_tx_flush(ports[0], bufs, n, 1);
    for (unsigned i = 0; i < n; i++) {
        struct net_frame frame = receive(ports[1]);
        cr_assert_eq(frame.seg_bytes, 0);
        cr_assert_arr_eq(frame.data + NET_ETHER_BYTES, heads[i], NET_IPV4_BYTES, "frame %u of %u", i, n);
        net_port_rx_release(ports[1], &frame, 1);
    }
}

/* The socket sends with the usual ones by itself, and whoever wants others gets these: before it is so, while
 * it is, when others become usual, and if a burst has both. */
Test(udp_port, each_frame_leaves_with_its_own_tos_and_ttl)
{
    static const uint8_t a[] = {0x62, 33}, b[] = {0xb8, 33}, c[] = {0xb8, 255};
    for (unsigned round = 0; round < 2; round++) {
        for (unsigned i = 0; i < 40; i++)
            bounce_burst(1, a, a);
        for (unsigned i = 0; i < 40; i++)
            bounce_burst(1, i % 3 ? a : b, a);
        bounce_burst(NET_BURST, a, b);
        for (unsigned i = 0; i < 40; i++)
            bounce_burst(1, b, b);
        bounce_burst(NET_BURST, b, c);
        for (unsigned i = 0; i < 40; i++)
            bounce_burst(2, c, a);
    }
    cr_assert_eq(ports[0]->counters.tx_errors, 0);
}

/* TTL 0 is the one that the kernel has for all, also if the socket was given one before. */
Test(udp_port, who_names_no_ttl_gets_the_kernel_s)
{
    static const uint8_t a[] = {0x62, 33};
    int fd = socket(AF_INET, SOCK_DGRAM, 0), usual_ttl = 0;
    socklen_t len = sizeof usual_ttl;
    cr_assert_eq(getsockopt(fd, IPPROTO_IP, IP_TTL, &usual_ttl, &len), 0);
    close(fd);
    for (unsigned i = 0; i < 40; i++)
        bounce_burst(1, a, a);
    for (unsigned i = 0; i < 2; i++) {
        struct net_frame buf;
        cr_assert_eq(net_port_tx_reserve(ports[0], &buf, 1), 1);
        build_with(&buf, 0x62, 0);
        net_port_tx_flush(ports[0], &buf, 1, 1);
        struct net_frame frame = receive(ports[1]);
        cr_assert_eq(frame.data[15], 0x62);
        cr_assert_eq(frame.data[22], usual_ttl);
        net_port_rx_release(ports[1], &frame, 1);
        for (unsigned k = 0; k < 40; k++)
            bounce_burst(1, a, a);
    }
}

Test(udp_port, says_who_has_the_address)
{
    struct net_port *second;
    struct nornic_error why;
    char me[32];
    struct net_udp_config config = {.interface = &lo, .addr = addrs[0]};
    snprintf(me, sizeof me, "(process %d)", getpid());
    cr_assert_eq(net_udp_open(&config, &second, &why), -EADDRINUSE);
    cr_assert(strstr(why.text, me), "%s", why.text);
    net_port_close(ports[0]);
    ports[0] = NULL;
    cr_assert_eq(net_udp_open(&config, &second, &why), 0, "%s", why.text);
    net_port_close(second);
}

Test(udp_port, listens_to_its_address_and_to_groups_only)
{
    struct nornic_error why;
    struct nornic_addr other = addrs[1];
    cr_assert_eq(net_port_listen(ports[0], &addrs[0], &why), 0, "it does already");
    cr_assert_eq(net_port_listen(ports[0], &other, &why), -EADDRNOTAVAIL);
    cr_assert(strstr(why.text, "is not the address of port udp:127."), "%s", why.text);
}

/* The member gets it once; the sender, also a member, does not: the engine hands over its own packets. */
Test(udp_port, group_reaches_its_members)
{
    struct nornic_error why;
    struct nornic_addr group;
    struct net_frame frame;
    cr_assert_eq(nornic_addr_parse("239.7.7.7", &group), 0);
    for (unsigned i = 0; i < 2; i++)
        cr_assert_eq(net_port_listen(ports[i], &group, &why), 0, "%s", why.text);
    send_one(0, &group, 200, 0, 9);
    frame = receive(ports[1]);
    cr_assert(memcmp(frame.data + 30, group.b + 12, 4) == 0, "it says to whom it was");
    expect_payload(&frame, 0, 0, 9);
    net_port_rx_release(ports[1], &frame, 1);
    send_one(1, &addrs[0], 100, 0, 1); /* earlier packets have been looked at with it */
    frame = receive(ports[0]);
    cr_assert(memcmp(frame.data + 26, addrs[1].b + 12, 4) == 0);
    net_port_rx_release(ports[0], &frame, 1);
    cr_assert_eq(ports[0]->counters.rx_frames, 1);
    net_port_unlisten(ports[1], &group);
    send_one(0, &group, 200, 0, 9);
    send_one(0, &addrs[1], 100, 0, 2);
    frame = receive(ports[1]);
    cr_assert(memcmp(frame.data + 30, addrs[1].b + 12, 4) == 0, "the group was left");
    net_port_rx_release(ports[1], &frame, 1);
}

/* A look at the one address, at which messages came one by one for so long that it asks for one; returns how
 * many it found. All looks are at one time, so that nothing else is looked at. */
static unsigned look(struct net_frame *frames)
{
    unsigned count = net_port_rx_burst(ports[1], frames, NET_BURST, NS_PER_S);
    net_port_rx_release(ports[1], frames, count);
    return count;
}

Test(udp_port, messages_that_come_one_by_one_are_asked_for_so_until_several_come)
{
    struct net_frame frames[NET_BURST];
    for (unsigned i = 0; i < 20; i++) {
        send_one(0, &addrs[1], 100, 0, 1);
        cr_assert_eq(look(frames), 1);
    }
    for (unsigned i = 0; i < 24; i++)
        send_one(0, &addrs[1], 100, 0, (uint8_t)i);
    unsigned looks = 0, most = 0;
    for (unsigned got = 0; got < 24; looks++) {
        unsigned n = look(frames);
        cr_assert_gt(n, 0, "all of them are there");
        cr_assert(looks > 0 || n == 1, "%u came", n);
        for (unsigned i = 0; i < n; i++)
            expect_payload(&frames[i], 0, 0, (uint8_t)(got + i));
        got += n;
        most = n > most ? n : most;
    }
    cr_assert_geq(most, 8, "the most of a look");
    cr_assert_eq(look(frames), 0);
    cr_assert_eq(ports[1]->counters.rx_frames, 44);
}

/* Most come by one address, and only that one is looked at each time; the others have their turn. */
Test(udp_port, an_address_that_is_quiet_is_heard_beside_a_busy_one)
{
    struct nornic_error why;
    struct nornic_addr other;
    struct net_frame frames[4];
    uint64_t now_ns = NS_PER_S;
    unsigned others = 0;
    cr_assert_eq(nornic_addr_parse("239.7.7.8", &other), 0);
    cr_assert_eq(net_port_listen(ports[1], &other, &why), 0, "%s", why.text);
    send_one(0, &addrs[1], 100, 0, 1);
    cr_assert_eq(net_port_rx_burst(ports[1], frames, 1, now_ns), 1, "which makes it the busy one");
    send_one(0, &other, 100, 0, 2);
    for (unsigned i = 0; i < 50; i++) { /* half a millisecond, without a pause on the other */
        now_ns += 10 * NS_PER_US;
        send_one(0, &addrs[1], 100, 0, 1);
        for (unsigned n = net_port_rx_burst(ports[1], frames, 1, now_ns); n > 0; n--)
            others += memcmp(frames[n - 1].data + 30, other.b + 12, 4) == 0;
    }
    cr_assert_eq(others, 1);
}

Test(udp_port, icmp_is_counted_and_named)
{
    struct net_frame frame;
    net_port_close(ports[1]);
    ports[1] = NULL;
    cr_assert_null(net_port_trouble(ports[0]));
    send_one(0, &addrs[1], 100, 0, 0);
    struct pollfd ready = {.fd = net_port_fd(ports[0]), .events = POLLIN};
    cr_assert_eq(poll(&ready, 1, WAIT_MS), 1);
    cr_assert_eq(net_port_rx_burst(ports[0], &frame, 1, UINT64_MAX), 0);
    cr_assert_eq(ports[0]->counters.tx_refused, 1);
    cr_assert(strstr(net_port_trouble(ports[0]), "nothing there takes RoCE"));
    struct nornic_addr refused;
    cr_assert(net_port_refused(ports[0], &refused));
    cr_assert(nornic_addr_equal(&refused, &addrs[1]));
    cr_assert_not(net_port_refused(ports[0], &refused), "it is told once");
    cr_assert_eq(poll(&ready, 1, 0), 0, "and nobody is woken by it again");
    struct net_udp_config config = {.interface = &lo, .addr = addrs[1]};
    struct nornic_error why;
    cr_assert_eq(net_udp_open(&config, &ports[1], &why), 0, "%s", why.text);
    send_one(1, &addrs[0], 100, 0, 0);
    frame = receive(ports[0]);
    net_port_rx_release(ports[0], &frame, 1);
    cr_assert_null(net_port_trouble(ports[0]), "it was heard since");
}

/* An answer of ICMP to the one does not keep the next from leaving. */
Test(udp_port, refusal_costs_the_next_nothing)
{
    struct nornic_addr nobody = addrs[1];
    nobody.b[15] = 77;
    for (unsigned i = 0; i < 10; i++) {
        send_one(0, &nobody, 100, 0, 0);
        send_one(0, &addrs[1], 100, 0, (uint8_t)i);
        struct net_frame frame = receive(ports[1]);
        expect_payload(&frame, 0, 0, (uint8_t)i);
        net_port_rx_release(ports[1], &frame, 1);
    }
    cr_assert_eq(ports[0]->counters.tx_frames, 20);
    cr_assert_eq(ports[0]->counters.tx_errors, 0);
}

/* A frame of an address that is not the port's, and one that is no RoCE, cannot leave. */
Test(udp_port, what_is_none_of_its_own_is_counted)
{
    struct net_frame bufs[2];
    cr_assert_eq(net_port_tx_reserve(ports[0], bufs, 2), 2);
    build(&bufs[0], 1, &addrs[1], 64, 0, 0);
    build(&bufs[1], 0, &addrs[1], 64, 0, 0);
    put_be16(bufs[1].data + 36, 4792);
    net_port_tx_flush(ports[0], bufs, 2, 1);
    cr_assert_eq(ports[0]->counters.tx_errors, 2);
    cr_assert_eq(ports[0]->counters.tx_frames, 0);
}

Test(udp_port, frames_of_both_families_are_sound)
{
    uint8_t room[NET_UDP_HEAD_MAX_BYTES + 64] = {0};
    struct net_udp_arrival arrival = {.src_port = 1, .tos = 3, .ttl = 9, .payload_bytes = 64};
    for (unsigned v = 0; v < 2; v++) {
        cr_assert_eq(nornic_addr_parse(v ? "fd77::1" : "10.77.0.1", &arrival.src), 0);
        cr_assert_eq(nornic_addr_parse(v ? "fd77::2" : "10.77.0.2", &arrival.dst), 0);
        struct net_frame frame = net_udp_arrival_frame(&arrival, room + NET_UDP_HEAD_MAX_BYTES);
        struct net_parsed at;
        cr_assert_eq(net_parse(&at, frame.data, frame.len_bytes), NET_PARSE_UDP);
        cr_assert_eq(at.udp_bytes, 8 + 64);
        cr_assert(v || net_checksum_ipv4_is_ok(frame.data + at.l3_offset, 20));
        struct net_udp_message message;
        cr_assert(net_udp_message_of(&message, &frame, 5));
        cr_assert(nornic_addr_equal(&message.src, &arrival.src));
        cr_assert_eq(message.payload.iov_len, 64);
        cr_assert_eq(message.to.any.sa_family, v ? AF_INET6 : AF_INET);
        frame.len_bytes -= 1;
        cr_assert_not(net_udp_message_of(&message, &frame, 5), "it ends before it says");
    }
}

/* An address of this process, another for each `i` below 512. */
static struct nornic_addr addr_of(unsigned i)
{
    struct nornic_addr addr = addrs[0];
    addr.b[14] = (uint8_t)(250 + (i >> 8)); /* which no process chooses */
    addr.b[15] = (uint8_t)i;
    return addr;
}

/* A GID table full of addresses leaves room for groups. */
Test(udp_port, addresses_and_groups_of_one_port)
{
    struct net_port *port;
    struct nornic_error why;
    struct nornic_addr addr, group;
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &lo}, &port, &why), 0, "%s", why.text);
    cr_assert_eq(nornic_addr_parse("239.7.8.0", &group), 0);
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        addr = addr_of(i);
        cr_assert_eq(net_port_listen(port, &addr, &why), 0, "address %u: %s", i, why.text);
    }
    for (uint8_t i = 0; i < 129; i++) {
        group.b[15] = i;
        cr_assert_eq(net_port_listen(port, &group, &why), 0, "group %u: %s", i, why.text);
    }
    addr = addr_of(NORNIC_GID_MAX);
    cr_assert_eq(net_port_listen(port, &addr, &why), -ENOSPC);
    cr_assert(strstr(why.text, "has 384 addresses and groups"), "%s", why.text);
    send_one(0, &group, 100, 0, 1);
    struct net_frame frame = receive(port);
    cr_assert(memcmp(frame.data + 30, group.b + 12, 4) == 0, "the last group is heard");
    net_port_rx_release(port, &frame, 1);
    net_port_close(port);
}

/* Sends from the port to the port of `addrs[1]`, and takes it there. */
static void send_from(struct net_port *port, const struct nornic_addr *src)
{
    struct net_frame buf;
    const struct nornic_addr before = addrs[0];
    cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, 0), 1);
    addrs[0] = *src;
    build(&buf, 0, &addrs[1], 50, 0, 9);
    addrs[0] = before;
    net_port_tx_flush(port, &buf, 1, 1);
    cr_assert_eq(port->counters.tx_errors, 0);
    struct net_frame frame = receive(ports[1]);
    cr_assert(memcmp(frame.data + 26, src->b + 12, 4) == 0, "it came from another address");
    net_port_rx_release(ports[1], &frame, 1);
}

/* Each of many addresses sends and hears, also after others have gone and have come. */
Test(udp_port, each_of_many_addresses_sends_and_hears)
{
    enum { COUNT = 200 };
    struct net_port *port;
    struct nornic_error why;
    struct nornic_addr addr;
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &lo}, &port, &why), 0, "%s", why.text);
    for (unsigned i = 0; i < COUNT; i++) {
        addr = addr_of(i);
        cr_assert_eq(net_port_listen(port, &addr, &why), 0, "address %u: %s", i, why.text);
    }
    for (unsigned i = 0; i < COUNT; i += 3) {
        addr = addr_of(i);
        net_port_unlisten(port, &addr);
        addr = addr_of(COUNT + i);
        cr_assert_eq(net_port_listen(port, &addr, &why), 0, "%s", why.text);
    }
    for (unsigned i = 0; i < 2 * COUNT; i++) {
        bool is_third = i % COUNT % 3 == 0;
        if ((i < COUNT) == is_third)
            continue;
        addr = addr_of(i);
        send_one(0, &addr, 100, 0, (uint8_t)i);
        struct net_frame frame = receive(port);
        cr_assert(memcmp(frame.data + 30, addr.b + 12, 4) == 0, "address %u", i);
        net_port_rx_release(port, &frame, 1);
        send_from(port, &addr);
    }
    net_port_close(port);
}

/* ICMP's answers to packets of each address are heard, though one address alone is looked at each time. */
Test(udp_port, refusals_of_each_address_are_heard)
{
    enum { COUNT = 40 };
    struct net_port *port;
    struct nornic_error why;
    struct nornic_addr addr, nobody = addr_of(300);
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &lo}, &port, &why), 0, "%s", why.text);
    for (unsigned i = 0; i < COUNT; i++) {
        addr = addr_of(i);
        cr_assert_eq(net_port_listen(port, &addr, &why), 0, "address %u: %s", i, why.text);
    }
    for (unsigned i = 0; i < COUNT; i++) {
        struct net_frame buf, frame;
        const struct nornic_addr before = addrs[0];
        addrs[0] = addr_of(i);
        cr_assert_eq(net_port_tx_reserve_trains(port, &buf, 1, 0), 1);
        build(&buf, 0, &nobody, 50, 0, 9);
        addrs[0] = before;
        net_port_tx_flush(port, &buf, 1, 1);
        for (unsigned k = 1; k <= 1000 && port->counters.tx_refused <= i; k++)
            (void)net_port_rx_burst(port, &frame, 1, (i * 1000 + k) * NS_PER_MS);
        cr_assert_eq(port->counters.tx_refused, i + 1, "address %u", i);
    }
    net_port_close(port);
}

/* The process keeps descriptors for other things, and the sentence names the remedy. */
Test(udp_port, addresses_leave_descriptors_to_the_process)
{
    struct net_port *port;
    struct nornic_error why = {""};
    struct nornic_addr addr;
    unsigned count = 0, spare = 0;
    int fds[128], err = 0;
    cr_assert_eq(net_udp_open(&(struct net_udp_config){.interface = &lo}, &port, &why), 0, "%s", why.text);
    cr_assert_eq(setrlimit(RLIMIT_NOFILE, &(struct rlimit){160, 160}), 0);
    for (; !err; count++) {
        addr = addr_of(count);
        err = net_port_listen(port, &addr, &why);
    }
    cr_expect_eq(err, -EMFILE);
    cr_expect(strstr(why.text, "ulimit -n"), "%s", why.text);
    cr_expect_gt(count, 50);
    while (spare < 128 && (fds[spare] = dup(0)) >= 0)
        spare++;
    cr_expect_geq(spare, 60, "%u", spare);
    while (spare > 0)
        close(fds[--spare]);
    addr = addr_of(0);
    net_port_unlisten(port, &addr);
    addr = addr_of(count);
    cr_expect_eq(net_port_listen(port, &addr, &why), 0, "%s", why.text);
    net_port_close(port);
}
