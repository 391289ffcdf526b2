/* SPDX-License-Identifier: BSD-2-Clause */
/* An interface with several receive queues. What leaves one end of a veth pair by queue q comes to queue q of
 * the other, so the test chooses. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "net/kernel/kernel.h"
#include "test/support/frames.h"
#include "test/support/netns.h"
#include "xdp/xdp.h"

#define QUEUES 4u
#define QPN    0x1234u

static struct netns_veth veth;
static struct net_port *to;
static struct frame_spec spec;

static struct net_port *open_port(const struct xdp_config *config)
{
    struct net_port *port;
    struct nornic_error why;
    cr_assert_eq(xdp_port_open(config, &port, &why), 0, "%s", why.text);
    return port;
}

static void make_pair(unsigned mtu_bytes, uint32_t ring_frames)
{
    cr_assert_eq(netns_run(&veth, 0,
                           "ip link add nn2 mtu %u numrxqueues %u numtxqueues %u type veth "
                           "peer name nn3 mtu %u numrxqueues %u numtxqueues %u && "
                           "ip link set nn2 up && ip link set nn3 up",
                           mtu_bytes, QUEUES, QUEUES, mtu_bytes, QUEUES, QUEUES),
                 0);
    to = open_port(&(struct xdp_config){.ifname = "nn3", .ring_frames = ring_frames});
    spec = (struct frame_spec){.dst = to->mac, .vlan_tci = -1, .dport = 4791, .ip_bytes = 100};
}

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 0);
}

static void teardown(void)
{
    if (to)
        net_port_close(to);
    netns_veth_destroy(&veth);
}

TestSuite(xdp_queues, .init = setup, .fini = teardown, .timeout = 60);

static struct net_port *open_sender(uint32_t queue)
{
    return open_port(&(struct xdp_config){.ifname = "nn2", .queue = queue, .queue_count = 1});
}

Test(xdp_queues, the_kernel_says_how_many_there_are)
{
    make_pair(1500, 256);
    cr_expect_eq(net_interface_rx_queues("nn3"), QUEUES);
    cr_expect_eq(net_interface_rx_queues("nn0"), 1);
    cr_expect_eq(net_interface_rx_queues("lo"), 1, "its driver does not say");
    cr_expect_neq(strstr(to->mode, ", 4 queues"), NULL, "%s", to->mode);
}

/* More than a ring holds, so that what was lent by each comes back to it. */
Test(xdp_queues, what_comes_by_any_queue_is_taken)
{
    make_pair(1500, 256);
    for (uint32_t queue = 0; queue < QUEUES; queue++) {
        struct net_port *from = open_sender(queue);
        cr_expect_eq(frames_exchange(from, to, &spec, queue * 1000, 1000, 10 * NS_PER_S, NULL), 1000, "%u",
                     queue);
        net_port_close(from);
    }
    cr_expect_eq(to->counters.rx_frames, QUEUES * 1000);
    cr_expect_eq(to->counters.rx_dropped, 0);
}

Test(xdp_queues, frames_of_several_buffers_come_by_any_queue)
{
    make_pair(9000, 256);
    spec.ip_bytes = 9000;
    for (uint32_t queue = 0; queue < QUEUES; queue++) {
        struct net_port *from = open_sender(queue);
        cr_expect_eq(frames_exchange(from, to, &spec, queue * 300, 300, 10 * NS_PER_S, NULL), 300, "%u",
                     queue);
        net_port_close(from);
    }
}

static void send_by(uint32_t queue, unsigned count)
{
    struct net_port *from = open_sender(queue);
    struct net_frame bufs[NET_BURST];
    cr_assert_eq(net_port_tx_reserve(from, bufs, count), count);
    for (unsigned i = 0; i < count; i++)
        bufs[i].len_bytes = frame_build(&spec, i, bufs[i].data);
    net_port_tx_flush(from, bufs, count, frames_now_ns());
    net_port_close(from);
}

/* Sixteen frames wait at each queue, and a call takes twenty, so some of two queues, which all go back where
 * they came from: a ring holds fewer than come by it. */
Test(xdp_queues, a_burst_has_frames_of_several_queues)
{
    struct net_frame frames[NET_BURST];
    make_pair(1500, 64);
    for (unsigned round = 0; round < 5; round++) {
        unsigned got = 0;
        for (uint32_t queue = 0; queue < QUEUES; queue++)
            send_by(queue, 16);
        for (unsigned tries = 0; tries < 1000 && got < QUEUES * 16; tries++) {
            unsigned n = net_port_rx_burst(to, frames, 20, frames_now_ns());
            net_port_rx_release(to, frames, n);
            got += n;
        }
        cr_assert_eq(got, QUEUES * 16, "%u", round);
    }
    cr_expect_eq(to->counters.rx_dropped, 0);
}

Test(xdp_queues, the_gate_stands_in_front_of_all)
{
    const struct nornic_addr peer = nornic_addr_from_v4((uint8_t[]){10, 77, 0, 1});
    struct frame_spec stranger;
    make_pair(1500, 256);
    net_port_steer(to, QPN, NET_STEER_PEER, &peer);
    spec.dest_qpn = QPN;
    stranger = spec;
    stranger.source = 9;
    for (uint32_t queue = 0; queue < QUEUES; queue++) {
        struct net_port *from = open_sender(queue);
        cr_expect_eq(frames_exchange(from, to, &stranger, 0, 20, 50 * NS_PER_MS, NULL), 0);
        cr_expect_eq(frames_exchange(from, to, &spec, 0, 20, 10 * NS_PER_S, NULL), 20);
        net_port_close(from);
    }
    cr_expect_eq(to->counters.rx_stranger, QUEUES * 20);
}

Test(xdp_queues, one_of_them_alone_can_be_had)
{
    struct net_port *from;
    make_pair(1500, 256);
    net_port_close(to);
    to = open_port(&(struct xdp_config){.ifname = "nn3", .queue = 2, .queue_count = 1});
    cr_expect_eq(strstr(to->mode, "queues"), NULL, "%s", to->mode);
    from = open_sender(2);
    cr_expect_eq(frames_exchange(from, to, &spec, 0, 100, 10 * NS_PER_S, NULL), 100);
    net_port_close(from);
    from = open_sender(1);
    cr_expect_eq(frames_exchange(from, to, &spec, 0, 5, 50 * NS_PER_MS, NULL), 0);
    net_port_close(from);
}
