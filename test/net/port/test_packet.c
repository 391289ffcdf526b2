/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_PACKET port on a veth pair. That frames pass between it and every kind of port is in
 * test/xdp/test_port.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <linux/capability.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "net/pcap_file.h"
#include "net/impair.h"
#include "net/packet.h"
#include "net/share/share.h"
#include "test/net/share_pair.h"
#include "test/support/frames.h"
#include "test/support/netns.h"

static struct netns_veth veth;
static struct net_port *ports[2];

static void setup(void)
{
    netns_veth_open(&veth, 1500);
    for (int side = 0; side < 2; side++) {
        struct net_packet_config config = {.ifname = NETNS_VETH_IFNAME(side), .ring_frames = 256};
        struct nornic_error why;
        netns_enter(&veth, side);
        cr_assert_eq(net_packet_open(&config, &ports[side], &why), 0, "%s", why.text);
    }
    netns_enter(&veth, 0);
}

static void teardown(void)
{
    net_port_close(ports[0]);
    net_port_close(ports[1]);
    netns_veth_destroy(&veth);
}

TestSuite(packet, .init = setup, .fini = teardown, .timeout = 30);

static struct frame_spec roce_spec(void)
{
    return (struct frame_spec){
        .src = ports[0]->mac, .dst = ports[1]->mac, .vlan_tci = -1, .dport = 4791, .ip_bytes = 200};
}

/* Of this process. */
static unsigned long pages_mapped(void)
{
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    cr_assert_not_null(file);
    cr_assert_eq(fscanf(file, "%lu", &pages), 1);
    fclose(file);
    return pages;
}

Test(packet, port_describes_itself)
{
    cr_expect_str_eq(ports[0]->name, "packet:nn0");
    cr_expect_eq(ports[0]->limits.mtu_bytes, 1500);
    cr_expect_not(nornic_mac_equal(&ports[0]->mac, &ports[1]->mac));
    cr_expect_geq(net_port_fd(ports[0]), 0);
    cr_expect_eq(net_port_deadline_ns(ports[0]), NET_TIME_NONE);
}

Test(packet, only_whole_roce_datagrams_are_received)
{
    struct frame_spec good = roce_spec(), other[6] = {good, good, good, good, good, good};
    other[0].dport = 4792;
    other[1].is_fragment = true;
    other[2].has_ip_options = true;
    other[3].is_v6 = true, other[3].dport = 4790;
    other[4].vlan_tci = 5, other[4].dport = 4792;
    other[5].is_v1 = true;
    for (int i = 0; i < 6; i++) {
        uint32_t strange = 0;
        cr_expect_eq(frames_exchange(ports[0], ports[1], &other[i], 0, 1, NS_PER_S / 20, &strange), 0, "%d",
                     i);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &good, 0, 1, 5 * NS_PER_S, &strange), 1, "%d", i);
        cr_expect_eq(strange, 0, "%d", i);
    }
}

/* covers: ROCE-FRM-50 */
Test(packet, roce_v1_is_received_where_it_was_asked_for)
{
    struct net_packet_config config = {.ifname = "nn1", .ring_frames = 256, .roce_v1 = true};
    struct frame_spec good = roce_spec(), v1 = good, other = good;
    uint32_t strange = 0;
    v1.is_v1 = true;
    other.dport = 4792;
    net_port_close(ports[1]);
    netns_enter(&veth, 1);
    cr_assert_eq(net_packet_open(&config, &ports[1], NULL), 0);
    for (int tci = -1; tci < 0x7000; tci += 0x6006) {
        good.vlan_tci = v1.vlan_tci = other.vlan_tci = tci;
        cr_expect_eq(frames_exchange(ports[0], ports[1], &v1, 0, 20, 5 * NS_PER_S, &strange), 20);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &good, 0, 20, 5 * NS_PER_S, &strange), 20);
        cr_expect_eq(frames_exchange(ports[0], ports[1], &other, 0, 1, NS_PER_S / 20, &strange), 0);
    }
    cr_expect_eq(strange, 0);
}

Test(packet, own_frames_are_not_received)
{
    struct frame_spec spec = roce_spec();
    struct net_frame frames[NET_BURST];
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 20, 5 * NS_PER_S, NULL), 20);
    cr_expect_eq(net_port_rx_burst(ports[0], frames, NET_BURST, frames_now_ns()), 0);
}

Test(packet, rings_wrap_many_times)
{
    struct frame_spec spec = roce_spec();
    spec.ip_bytes = 1500;
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 5000, 20 * NS_PER_S, NULL), 5000);
    cr_expect_eq(ports[0]->counters.tx_frames, 5000);
    cr_expect_eq(ports[1]->counters.rx_frames, 5000);
    cr_expect_eq(ports[1]->counters.rx_bytes, 5000 * 1514);
}

Test(packet, unused_buffers_go_back)
{
    struct frame_spec spec = roce_spec();
    struct net_frame bufs[NET_BURST], again[NET_BURST];
    cr_assert_eq(net_port_tx_reserve(ports[0], bufs, 10), 10);
    cr_expect_geq(bufs[0].cap_bytes, 1518);
    net_port_tx_flush(ports[0], bufs, 0, frames_now_ns());
    cr_assert_eq(net_port_tx_reserve(ports[0], again, 10), 10);
    cr_expect_eq(again[0].data, bufs[0].data);
    net_port_tx_flush(ports[0], again, 0, frames_now_ns());
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 20, 5 * NS_PER_S, NULL), 20);
    cr_expect_eq(ports[0]->counters.tx_frames, 20);
}

/* A receiver that never reads loses frames, and says how many. */
Test(packet, frames_lost_in_a_full_ring_are_counted)
{
    struct frame_spec spec = roce_spec();
    struct net_frame frames[NET_BURST];
    cr_expect_eq(frames_exchange(ports[0], ports[0], &spec, 0, 2000, NS_PER_S / 2, NULL), 0);
    uint64_t deadline_ns = frames_now_ns() + 5 * NS_PER_S;
    do {
        unsigned n = net_port_rx_burst(ports[1], frames, NET_BURST, frames_now_ns());
        net_port_rx_release(ports[1], frames, n);
    } while (ports[1]->counters.rx_frames + ports[1]->counters.rx_dropped < 2000 &&
             frames_now_ns() < deadline_ns);
    cr_expect_eq(ports[1]->counters.rx_frames + ports[1]->counters.rx_dropped, 2000);
    cr_expect_gt(ports[1]->counters.rx_dropped, 0);
}

Test(packet, kernel_answers_no_port_unreachable)
{
    cr_assert_eq(
        netns_run(&veth, 0,
                  "timeout 20 python3 -c \"\nimport socket\nfor f, a in ((socket.AF_INET, '10.77.0.2'), "
                  "(socket.AF_INET6, 'fd77::2')):\n"
                  "    s = socket.socket(f, socket.SOCK_DGRAM); s.connect((a, 4791)); s.settimeout(0.3)\n"
                  "    for i in range(3): s.send(b'x' * 64)\n"
                  "    try: s.recv(1)\n    except TimeoutError: pass\n\""),
        0, "the datagrams were refused");
    cr_expect_eq(netns_run(&veth, 1, "awk '/^Udp:/ && $3 ~ /[1-9]/ {exit 1}' /proc/net/snmp"), 0,
                 "UDP NoPorts was counted");
}

Test(packet, interface_down_and_gone_ends_in_counters)
{
    struct frame_spec spec = roce_spec();
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 64, NS_PER_S / 10, NULL), 0);
    cr_expect_geq(ports[0]->counters.tx_errors, 64);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 up"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 1000, 10, 5 * NS_PER_S, NULL), 10);
    uint64_t errors = ports[0]->counters.tx_errors;
    cr_assert_eq(netns_run(&veth, 0, "ip link del nn0"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 2000, 1000, NS_PER_S / 10, NULL), 0);
    cr_expect_geq(ports[0]->counters.tx_errors, errors + 1000);
}

/* The MTU has grown since the port was opened: what fits no slot is counted, and the next frame comes. */
Test(packet, frames_longer_than_a_slot_are_counted)
{
    struct net_packet_config config = {.ifname = "nn0"};
    struct frame_spec longer = roce_spec(), good = roce_spec();
    struct net_port *sender;
    longer.ip_bytes = 8000;
    cr_assert_null(net_port_trouble(ports[1]));
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 mtu 9000"), 0);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 mtu 9000"), 0);
    cr_assert_eq(net_packet_open(&config, &sender, NULL), 0);
    cr_expect_eq(frames_exchange(sender, ports[1], &longer, 0, 5, NS_PER_S / 20, NULL), 0);
    cr_expect_eq(frames_exchange(sender, ports[1], &good, 0, 5, 5 * NS_PER_S, NULL), 5);
    cr_expect_eq(ports[1]->counters.rx_too_long, 5);
    const char *trouble = net_port_trouble(ports[1]);
    cr_assert(trouble && strstr(trouble, "a train of 8014 bytes") &&
                  strstr(trouble, "tx-udp-segmentation off"),
              "%s", trouble);
    net_port_close(sender);
}

/* Without a carrier (the peer is down) frames wait, and the port asks to be called again ever less often. */
Test(packet, no_carrier_backs_off)
{
    struct frame_spec spec = roce_spec();
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 down"), 0);
    frames_exchange(ports[0], ports[0], &spec, 0, 10, NS_PER_S / 5, NULL);
    cr_expect_gt(ports[0]->counters.tx_errors, 0);
    cr_expect_lt(ports[0]->counters.tx_errors, 400, "%lu calls", (unsigned long)ports[0]->counters.tx_errors);
    cr_assert_eq(netns_run(&veth, 1, "ip link set nn1 up"), 0);
    cr_expect_eq(frames_exchange(ports[0], ports[1], &spec, 0, 10, 5 * NS_PER_S, NULL), 10);
}

/* The rings of the default size take bytes, not frames, where frames are very long. */
Test(packet, rings_of_a_large_mtu_stay_small)
{
    struct net_packet_config config = {.ifname = "nn0"};
    struct net_port *port;
    struct nornic_error why;
    unsigned long before, after;
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 mtu 65535"), 0);
    before = pages_mapped();
    cr_assert_eq(net_packet_open(&config, &port, &why), 0, "%s", why.text);
    after = pages_mapped();
    cr_expect_leq((after - before) * (unsigned long)sysconf(_SC_PAGESIZE), 300ul << 20);
    net_port_close(port);
}

Test(packet, what_is_in_the_way_is_named)
{
    struct net_port *port;
    struct nornic_error why;
    struct net_packet_config config = {.ifname = "nowhere0"};
    cr_expect_eq(net_packet_open(&config, &port, &why), -ENODEV);
    cr_expect(strstr(why.text, "nowhere0"), "%s", why.text);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 down"), 0);
    config.ifname = "nn0";
    cr_expect_eq(net_packet_open(&config, &port, &why), -ENETDOWN);
    cr_expect(strstr(why.text, "ip link set nn0 up"), "%s", why.text);
    cr_assert_eq(netns_run(&veth, 0, "ip link set nn0 up"), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct none[2] = {{0}};
        if (syscall(SYS_capset, &head, none) != 0)
            _exit(2);
        int result = net_packet_open(&config, &port, &why);
        _exit(result == -EPERM && strstr(why.text, "CAP_NET_RAW") ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}

/* Behind an impairment and a capture, too, as a device has them. */
Test(packet, processes_on_an_interface_have_numbers_of_their_own)
{
    struct nornic_error why = {""};
    struct net_packet_config config = {.ifname = "nn0", .is_leased = true};
    struct net_impair_config clean = {.on_rx = true, .on_tx = true};
    struct net_port *leased[2];
    uint32_t first[2];
    share_dir_make();
    netns_enter(&veth, 0);
    for (unsigned i = 0; i < 2; i++) {
        cr_assert_eq(net_packet_open(&config, &leased[i], &why), 0, "%s", why.text);
        cr_assert_eq(net_pcap_capture_wrap(leased[i], "/dev/null", 0, &leased[i], &why), 0, "%s", why.text);
        cr_assert_eq(net_impair_wrap(leased[i], &clean, &leased[i]), 0);
        cr_assert_not_null(net_port_lease(leased[i]));
        cr_expect_null(net_port_share(leased[i]), "it has no addresses to share");
        first[i] = net_share_first_qpn(net_port_lease(leased[i]));
    }
    cr_expect_neq(first[0], first[1]);
    for (unsigned i = 0; i < 2; i++)
        net_port_close(leased[i]);
    share_dir_remove();
}
