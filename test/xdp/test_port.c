/* SPDX-License-Identifier: BSD-2-Clause */
/* The XDP port on a veth pair: what it moves and what it leaves to the kernel. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <linux/if_link.h>
#include <stdlib.h>

#include "base/base.h"
#include "net/packet.h"
#include "test/support/frames.h"
#include "test/support/netns.h"
#include "xdp/xdp.h"

static struct netns_veth veth;

static void setup(void)
{
    netns_need();
}

TestSuite(xdp_port, .init = setup, .timeout = 30);

enum port_kind { NATIVE, GENERIC, PACKET };

static struct net_port *open_port(enum port_kind kind, int side)
{
    struct net_port *port = NULL;
    struct nornic_error why = {""};
    netns_enter(&veth, side);
    int result;
    if (kind == PACKET) {
        struct net_packet_config config = {.ifname = NETNS_VETH_IFNAME(side)};
        result = net_packet_open(&config, &port, &why);
    } else {
        struct xdp_config config = {.ifname = NETNS_VETH_IFNAME(side),
                                    .mode = kind == NATIVE ? XDP_MODE_NATIVE : XDP_MODE_GENERIC};
        result = xdp_port_open(&config, &port, &why);
    }
    netns_enter(&veth, -1);
    cr_assert_eq(result, 0, "side %d: %s", side, why.text);
    return port;
}

struct passage {
    enum port_kind kinds[2];
    uint16_t mtu_bytes;
};

ParameterizedTestParameters(xdp_port, frames_pass_both_ways_whole_and_in_order)
{
    static struct passage passages[] = {
        {{NATIVE, NATIVE}, 1500},   {{NATIVE, NATIVE}, 3498},   {{NATIVE, NATIVE}, 4200},
        {{NATIVE, NATIVE}, 9000},   {{GENERIC, GENERIC}, 1500}, {{GENERIC, GENERIC}, 4200},
        {{GENERIC, GENERIC}, 9000}, {{NATIVE, GENERIC}, 4200},  {{NATIVE, PACKET}, 1500},
        {{NATIVE, PACKET}, 9000},   {{GENERIC, PACKET}, 4200},  {{PACKET, PACKET}, 1500},
        {{PACKET, PACKET}, 9000},
    };
    return cr_make_param_array(struct passage, passages, sizeof passages / sizeof *passages);
}

ParameterizedTest(struct passage *p, xdp_port, frames_pass_both_ways_whole_and_in_order)
{
    netns_veth_open(&veth, p->mtu_bytes);
    struct net_port *ports[2] = {open_port(p->kinds[0], 0), open_port(p->kinds[1], 1)};
    for (int side = 0; side < 2; side++) {
        for (int kind = 0; kind < 4; kind++) {
            uint16_t sizes[] = {60, 1000, (uint16_t)(p->mtu_bytes - 4), p->mtu_bytes};
            for (int s = 0; s < 4; s++) {
                struct frame_spec spec = {.src = ports[side]->mac,
                                          .dst = ports[!side]->mac,
                                          .is_v6 = kind & 1,
                                          .vlan_tci = kind & 2 ? 0x6123 : -1,
                                          .dport = 4791,
                                          .ip_bytes = sizes[s]};
                cr_expect_eq(frames_exchange(ports[side], ports[!side], &spec, 0, 150, 5 * NS_PER_S, NULL),
                             150, "%s (%s) to %s (%s), MTU %u, size %u, kind %d", ports[side]->name,
                             ports[side]->mode, ports[!side]->name, ports[!side]->mode, p->mtu_bytes,
                             sizes[s], kind);
            }
        }
    }
    net_port_close(ports[0]);
    net_port_close(ports[1]);
    netns_veth_destroy(&veth);
}

/* A frame waits in the ring of an interface that is down: the port asks to be called again ever less often,
 * and all goes on when the interface is up again. */
Test(xdp_port, interface_down_backs_off)
{
    netns_veth_open(&veth, 1500);
    struct net_port *ports[2] = {open_port(NATIVE, 0), open_port(NATIVE, 1)};
    struct frame_spec spec = {
        .src = ports[0]->mac, .dst = ports[1]->mac, .vlan_tci = -1, .dport = 4791, .ip_bytes = 1000};
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    struct net_frame buf, none;
    uint64_t now_ns = frames_now_ns(), waited_ns = 0;
    cr_assert_eq(net_port_tx_reserve(ports[0], &buf, 1), 1);
    buf.len_bytes = frame_build(&spec, 0, buf.data);
    net_port_tx_flush(ports[0], &buf, 1, now_ns);
    for (int i = 0; i < 12; i++) {
        uint64_t due_ns = net_port_deadline_ns(ports[0]);
        cr_assert_neq(due_ns, NET_TIME_NONE, "call %d", i);
        waited_ns = due_ns - now_ns;
        now_ns = due_ns;
        cr_assert_eq(net_port_rx_burst(ports[0], &none, 1, now_ns), 0);
    }
    cr_expect_geq(waited_ns, NS_PER_S / 200);
    cr_expect_leq(waited_ns, NS_PER_S / 50);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 up"), 0);
    cr_expect_geq(frames_exchange(ports[0], ports[1], &spec, 0, 20, 5 * NS_PER_S, NULL), 20);
    net_port_close(ports[0]);
    net_port_close(ports[1]);
    netns_veth_destroy(&veth);
}
