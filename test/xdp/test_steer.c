/* SPDX-License-Identifier: BSD-2-Clause */
/* What the steering program takes, and that everything else still reaches the kernel. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>

#include "base/base.h"
#include "net/packet.h"
#include "test/support/frames.h"
#include "test/support/netns.h"
#include "xdp/socket.h"
#include "xdp/steer.h"
#include "xdp/xdp.h"

static struct netns_veth veth;
static struct net_port *ports[2];

static void setup(void)
{
    netns_need();
}

TestSuite(xdp_steer, .init = setup, .timeout = 60);

static void open_pair(enum xdp_mode mode, uint32_t mtu_bytes)
{
    netns_veth_open(&veth, mtu_bytes);
    for (int side = 0; side < 2; side++) {
        struct xdp_config config = {.ifname = NETNS_VETH_IFNAME(side), .mode = mode};
        struct nornic_error why;
        netns_enter(&veth, side);
        cr_assert_eq(xdp_port_open(&config, &ports[side], &why), 0, "%s", why.text);
    }
    netns_enter(&veth, -1);
}

static void close_pair(void)
{
    net_port_close(ports[0]);
    net_port_close(ports[1]);
    netns_veth_destroy(&veth);
}

static struct frame_spec roce_spec(void)
{
    return (struct frame_spec){
        .src = ports[0]->mac, .dst = ports[1]->mac, .vlan_tci = -1, .dport = 4791, .ip_bytes = 200};
}

ParameterizedTestParameters(xdp_steer, arp_ping_and_tcp_still_work)
{
    static enum xdp_mode modes[] = {XDP_MODE_NATIVE, XDP_MODE_GENERIC};
    return cr_make_param_array(enum xdp_mode, modes, 2);
}

ParameterizedTest(enum xdp_mode *mode, xdp_steer, arp_ping_and_tcp_still_work)
{
    open_pair(*mode, 4200);
    cr_expect_eq(netns_run(&veth, 0, "ping -q -c 2 -i 0.2 -W 5 10.77.0.2 > /dev/null"), 0);
    cr_expect_eq(netns_run(&veth, 0, "ping -q -c 1 -s 4000 -W 5 10.77.0.2 > /dev/null"), 0);
    cr_expect_eq(netns_run(&veth, 0, "ping -q -c 1 -W 5 fd77::2 > /dev/null"), 0);
    cr_expect_eq(netns_run(&veth, 0, "ip neigh show dev nn0 | grep -q '10.77.0.2 lladdr'"), 0);
    cr_expect_eq(netns_run(&veth, 1,
                           "timeout 20 python3 -c \"\nimport socket\n"
                           "s = socket.create_server(('10.77.0.2', 4791))\nprint(flush=True)\n"
                           "c, a = s.accept()\nwhile (d := c.recv(65536)): c.sendall(d)\n\" | read x &"),
                 0);
    cr_expect_eq(netns_run(&veth, 0,
                           "timeout 20 python3 -c \"\nimport socket, time\nfor i in range(100):\n"
                           "    try: s = socket.create_connection(('10.77.0.2', 4791)); break\n"
                           "    except OSError: time.sleep(0.05)\n"
                           "d = bytes(range(256)) * 4000\ngot = b''\n"
                           "for i in range(0, len(d), 32000):\n"
                           "    s.sendall(d[i:i + 32000])\n"
                           "    while len(got) < min(i + 32000, len(d)): got += s.recv(65536)\n"
                           "assert got == d\n\""),
                 0);
    close_pair();
}

Test(xdp_steer, only_whole_roce_datagrams_are_taken)
{
    open_pair(XDP_MODE_NATIVE, 1500);
    struct frame_spec good = roce_spec(), other[5] = {good, good, good, good, good};
    other[0].dport = 4792;
    other[1].is_fragment = true;
    other[2].has_ip_options = true;
    other[3].is_v6 = true, other[3].dport = 4790;
    other[4].is_v1 = true;
    for (int i = 0; i < 5; i++) {
        uint32_t strange = 0;
        /* The good frame after them comes alone, so they did not come and will not. */
        cr_expect_eq(frames_exchange(ports[0], ports[1], &other[i], 0, 1, NS_PER_S / 20, &strange), 0, "%d",
                     i);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &good, 0, 1, 5 * NS_PER_S, &strange), 1, "%d", i);
        cr_expect_eq(strange, 0, "%d", i);
    }
    /* Two datagrams found no socket, and a fragment waits for its rest. */
    cr_expect_eq(
        netns_run(&veth, 1,
                  "awk '/^Udp:/ {u += $3 == 2} /^Ip:/ {f += $15 == 1} END {exit !(u && f)}' /proc/net/snmp"),
        0);
    close_pair();
}

/* covers: ROCE-FRM-50 */
Test(xdp_steer, roce_v1_is_taken_where_it_was_asked_for)
{
    uint32_t strange = 0;
    netns_veth_open(&veth, 1500);
    for (int side = 0; side < 2; side++) {
        struct xdp_config config = {.ifname = NETNS_VETH_IFNAME(side), .roce_v1 = true};
        struct nornic_error why;
        netns_enter(&veth, side);
        cr_assert_eq(xdp_port_open(&config, &ports[side], &why), 0, "%s", why.text);
    }
    netns_enter(&veth, -1);
    struct frame_spec good = roce_spec(), v1 = good, other = good;
    v1.is_v1 = true;
    other.dport = 4792;
    for (int tci = -1; tci < 0x7000; tci += 0x6006) {
        good.vlan_tci = v1.vlan_tci = other.vlan_tci = tci;
        cr_expect_eq(frames_exchange(ports[0], ports[1], &v1, 0, 20, 5 * NS_PER_S, &strange), 20);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &good, 0, 20, 5 * NS_PER_S, &strange), 20);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &other, 0, 1, NS_PER_S / 20, &strange), 0);
    }
    cr_expect_eq(strange, 0);
    close_pair();
}

/* With no socket in the map RoCE goes on to the kernel, which answers it as any closed UDP port. */
Test(xdp_steer, without_a_socket_roce_goes_to_the_kernel)
{
    struct xdp_steer steer;
    struct net_interface interface;
    struct nornic_error why;
    netns_veth_open(&veth, 1500);
    netns_enter(&veth, 1);
    cr_assert_eq(net_interface_get("nn1", &interface, &why), 0);
    cr_assert_eq(xdp_steer_load(&steer, true, false, &why), 0, "%s", why.text);
    cr_assert_eq(xdp_steer_attach(&steer, &interface, XDP_MODE_NATIVE, &why), 0, "%s", why.text);
    netns_enter(&veth, 0);
    cr_expect_eq(netns_run(&veth, 0,
                           "timeout 10 python3 -c \"\nimport socket\n"
                           "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
                           "s.connect(('10.77.0.2', 4791)); s.settimeout(5); s.send(b'x')\n"
                           "try: s.recv(1)\nexcept ConnectionRefusedError: raise SystemExit(0)\n"
                           "raise SystemExit(1)\n\""),
                 0);
    xdp_steer_close(&steer);
    netns_veth_destroy(&veth);
}

Test(xdp_steer, interface_down_and_gone_ends_in_counters)
{
    open_pair(XDP_MODE_NATIVE, 1500);
    struct frame_spec spec = roce_spec();
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 64, NS_PER_S / 10, NULL), 0);
    cr_expect_gt(ports[0]->counters.tx_errors, 0);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 up"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 1000, 10, 5 * NS_PER_S, NULL), 10);
    uint64_t errors = ports[0]->counters.tx_errors;
    cr_assert_eq(netns_run(&veth, 0, "ip link del nn0"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 2000, 5000, NS_PER_S / 10, NULL), 0);
    cr_expect_gt(ports[0]->counters.tx_errors, errors);
    close_pair();
}

/* The bound is for a busy machine and an instrumented build: it makes 200 MB of frames, byte by byte. */
Test(xdp_steer, more_than_all_rings_hold_is_neither_lost_nor_lent_twice, .timeout = 150)
{
    open_pair(XDP_MODE_NATIVE, 9000);
    struct frame_spec spec = roce_spec();
    for (int i = 0; i < 2; i++) {
        spec.ip_bytes = i ? 9000 : 1000;
        cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 10000, 60 * NS_PER_S, NULL), 10000);
    }
    close_pair();
}

/* The MTU has grown since the port was opened: what fits no buffer is counted, and the next frame comes. */
Test(xdp_steer, frames_longer_than_a_buffer_are_counted)
{
    struct net_packet_config config = {.ifname = "nn0"};
    open_pair(XDP_MODE_NATIVE, 1500);
    struct frame_spec longer = roce_spec(), good = roce_spec();
    longer.ip_bytes = 8000;
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 mtu 9000"), 0);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 mtu 9000"), 0);
    netns_enter(&veth, 0);
    net_port_close(ports[0]);
    cr_assert_eq(net_packet_open(&config, &ports[0], NULL), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &longer, 0, 5, NS_PER_S / 20, NULL), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &good, 0, 5, 5 * NS_PER_S, NULL), 5);
    cr_expect_eq(ports[1]->counters.rx_too_long, 5);
    close_pair();
}

/* As on a kernel before 6.6: one page a frame. */
Test(xdp_steer, single_buffer_socket_takes_only_what_fits_one_page)
{
    struct xdp_socket socket;
    struct net_interface interface;
    struct nornic_error why;
    struct xdp_socket_config config = {.ring_frames = 256, .is_sender = true};
    netns_veth_open(&veth, 3498);
    netns_enter(&veth, 0);
    cr_assert_eq(net_interface_get("nn0", &interface, &why), 0);
    cr_assert_eq(xdp_socket_open(&socket, &interface, &config, &why), 0, "%s", why.text);
    xdp_socket_close(&socket);
    interface.mtu_bytes = 3499;
    cr_expect_eq(xdp_socket_open(&socket, &interface, &config, &why), -ERANGE);
    cr_expect(strstr(why.text, "MTU 3499 of nn0 is too large for XDP: at most 3498"), "%s", why.text);
    netns_veth_destroy(&veth);
}
