/* SPDX-License-Identifier: BSD-2-Clause */
/* What stands in front of the rings of both kinds of port: whose packets get a place there. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <errno.h>
#include <linux/capability.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "net/port/gate_map.h"
#include "net/impair.h"
#include "net/packet.h"
#include "net/pcap_file.h"
#include "test/support/frames.h"
#include "test/support/netns.h"
#include "xdp/xdp.h"

#define QPN         0x345678u
#define RING_FRAMES 256u

enum kind { PACKET, XDP_NATIVE, XDP_GENERIC, WRAPPED, KINDS };

static struct netns_veth veth;
static struct net_port *from, *to;

static void setup(void)
{
    netns_veth_open(&veth, 1500);
}

static void teardown(void)
{
    netns_veth_destroy(&veth);
}

TestSuite(gate, .init = setup, .fini = teardown, .timeout = 60);

static struct net_port *open_kind(enum kind kind)
{
    struct net_port *port;
    struct nornic_error why;
    int err;
    if (kind == PACKET || kind == WRAPPED)
        err = net_packet_open(
            &(struct net_packet_config){.ifname = "nn1", .ring_frames = RING_FRAMES, .roce_v1 = true}, &port,
            &why);
    else
        err = xdp_port_open(
            &(struct xdp_config){.ifname = "nn1",
                                 .mode = kind == XDP_NATIVE ? XDP_MODE_NATIVE : XDP_MODE_GENERIC,
                                 .ring_frames = RING_FRAMES,
                                 .roce_v1 = true},
            &port, &why);
    cr_assert_eq(err, 0, "%s", why.text);
    if (kind == WRAPPED) {
        struct net_impair_config clean = {.on_rx = true, .on_tx = true};
        cr_assert_eq(net_pcap_capture_wrap(port, "/dev/null", 0, &port, &why), 0, "%s", why.text);
        cr_assert_eq(net_impair_wrap(port, &clean, &port), 0);
    }
    return port;
}

static void open_pair(enum kind kind)
{
    struct nornic_error why;
    struct net_packet_config config = {.ifname = "nn0"};
    netns_enter(&veth, 0);
    cr_assert_eq(net_packet_open(&config, &from, &why), 0, "%s", why.text);
    netns_enter(&veth, 1);
    to = open_kind(kind);
    netns_enter(&veth, -1);
}

static void close_pair(void)
{
    net_port_close(from);
    net_port_close(to);
}

static struct frame_spec spec_to(uint32_t qpn, uint8_t source)
{
    return (struct frame_spec){.src = from->mac,
                               .dst = (struct nornic_mac){{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
                               .vlan_tci = -1,
                               .dport = 4791,
                               .ip_bytes = 200,
                               .dest_qpn = qpn,
                               .source = source};
}

/* Sends one and says whether it came; what did not will not, as the one behind it has. */
static bool passes(const struct frame_spec *spec)
{
    struct frame_spec last = *spec;
    uint32_t strange = 0;
    net_port_steer(to, 99, NET_STEER_ANYBODY, NULL);
    last.dest_qpn = 99;
    cr_expect_eq(frames_exchange(from, from, spec, 0, 1, NS_PER_S / 1000, NULL), 0);
    cr_expect_eq(frames_exchange(from, to, &last, 0, 1, 5 * NS_PER_S, &strange), 1);
    return strange == 1;
}

static struct nornic_addr peer_of(const struct frame_spec *spec, uint8_t last)
{
    struct nornic_addr v6 = {{0xfd, 0x77, [15] = last}};
    return spec->is_v6 || spec->is_v1 ? v6 : nornic_addr_from_v4((uint8_t[]){10, 77, 0, last});
}

static void expect_counted(uint64_t no_qp, uint64_t stranger)
{
    struct net_frame frame;
    cr_expect_eq(net_port_rx_burst(to, &frame, 1, frames_now_ns()), 0);
    cr_expect_eq(to->counters.rx_no_qp, no_qp);
    cr_expect_eq(to->counters.rx_stranger, stranger);
}

static void try_rules(struct frame_spec spec)
{
    struct nornic_addr peer = peer_of(&spec, 7);
    uint64_t no_qp = to->counters.rx_no_qp, stranger = to->counters.rx_stranger;
    spec.source = 7;
    cr_expect_not(passes(&spec));
    net_port_steer(to, QPN, NET_STEER_PEER, &peer);
    cr_expect(passes(&spec));
    spec.source = 8;
    cr_expect_not(passes(&spec));
    expect_counted(no_qp + 1, stranger + 1);
    net_port_steer(to, QPN, NET_STEER_ANYBODY, NULL);
    cr_expect(passes(&spec));
    spec.dest_qpn = QPN + 1;
    cr_expect_not(passes(&spec));
    spec.dest_qpn = QPN | 0xab000000; /* the byte before the number is another field's */
    cr_expect(passes(&spec));
    net_port_steer(to, QPN, NET_STEER_NOBODY, NULL);
    cr_expect_not(passes(&spec));
    expect_counted(no_qp + 3, stranger + 1);
}

ParameterizedTestParameters(gate, numbers_and_peers)
{
    static enum kind kinds[] = {PACKET, XDP_NATIVE, XDP_GENERIC, WRAPPED};
    return cr_make_param_array(enum kind, kinds, KINDS);
}

ParameterizedTest(enum kind *kind, gate, numbers_and_peers)
{
    open_pair(*kind);
    struct frame_spec spec = spec_to(QPN, 1);
    /* Until something is said all pass. */
    cr_expect_eq(frames_exchange(from, to, &spec, 0, 20, 5 * NS_PER_S, NULL), 20);
    for (int tci = -1; tci < 0x7000; tci += 0x6006) {
        spec = spec_to(QPN, 1);
        spec.vlan_tci = tci;
        try_rules(spec);
        spec.is_v6 = true;
        try_rules(spec);
        spec.is_v6 = false;
        spec.is_v1 = true;
        try_rules(spec);
    }
    close_pair();
}

/* A UDP datagram that ends before its BTH does names nobody, and ends no program. */
ParameterizedTestParameters(gate, cut_short)
{
    static enum kind kinds[] = {PACKET, XDP_NATIVE, XDP_GENERIC};
    return cr_make_param_array(enum kind, kinds, 3);
}

ParameterizedTest(enum kind *kind, gate, cut_short)
{
    open_pair(*kind);
    struct frame_spec cut = spec_to(0, 1), good = spec_to(QPN, 1);
    uint64_t sent = 0;
    net_port_steer(to, QPN, NET_STEER_ANYBODY, NULL);
    for (int is_v6 = 0; is_v6 < 2; is_v6++) {
        uint16_t headers = is_v6 ? 48 : 28;
        cut.is_v6 = good.is_v6 = is_v6;
        for (cut.ip_bytes = headers; cut.ip_bytes < headers + 12; cut.ip_bytes++, sent++)
            frames_exchange(from, from, &cut, 0, 1, NS_PER_S / 1000, NULL);
        cr_expect_eq(frames_exchange(from, to, &good, 0, 1, 5 * NS_PER_S, NULL), 1);
    }
    expect_counted(sent, 0);
    close_pair();
}

static uint32_t send_all(const struct frame_spec *spec, uint32_t count)
{
    uint64_t before = from->counters.tx_frames;
    for (uint32_t i = 0; i < count; i += 64)
        frames_exchange(from, from, spec, i, 64, NS_PER_S / 10000, NULL);
    return (uint32_t)(from->counters.tx_frames - before);
}

/* Nobody reads while the flood comes. What it does not get is a place: all of the peer's come through. */
ParameterizedTestParameters(gate, a_flood_takes_no_place)
{
    static enum kind kinds[] = {PACKET, XDP_NATIVE, XDP_GENERIC};
    return cr_make_param_array(enum kind, kinds, 3);
}

ParameterizedTest(enum kind *kind, gate, a_flood_takes_no_place)
{
    open_pair(*kind);
    struct frame_spec good = spec_to(QPN, 1), stranger = spec_to(QPN, 9), nobody = spec_to(QPN + 1, 1);
    struct nornic_addr peer = peer_of(&good, 1);
    net_port_steer(to, QPN, NET_STEER_PEER, &peer);
    uint32_t strangers = send_all(&stranger, 4 * RING_FRAMES), nobodies = send_all(&nobody, 4 * RING_FRAMES);
    uint32_t strange = 0;
    cr_expect_eq(frames_exchange(from, to, &good, 0, RING_FRAMES / 2, 5 * NS_PER_S, &strange),
                 RING_FRAMES / 2);
    cr_expect_eq(strange, 0);
    cr_expect_eq(to->counters.rx_dropped, 0);
    expect_counted(nobodies, strangers);
    close_pair();
}

/* Of the receive ring. That of a packet port is made of whole blocks. */
static uint32_t frames_of(enum kind kind)
{
    return kind == PACKET ? RING_FRAMES * 5 / 4 : RING_FRAMES;
}

/* Everybody knows QP 1. So many pass in a window of time; how many windows the test took, the clock says. */
ParameterizedTestParameters(gate, a_share_for_all)
{
    static enum kind kinds[] = {PACKET, XDP_NATIVE, XDP_GENERIC};
    return cr_make_param_array(enum kind, kinds, 3);
}

ParameterizedTest(enum kind *kind, gate, a_share_for_all)
{
    struct net_frame frames[NET_BURST];
    open_pair(*kind);
    struct frame_spec to_all = spec_to(1, 9);
    net_port_steer(to, 1, NET_STEER_LIMITED, NULL);
    uint64_t begin_ns = frames_now_ns(), got = 0;
    uint32_t sent = 0;
    for (uint32_t i = 0; i < 128; i++) {
        sent += send_all(&to_all, 64);
        unsigned n = net_port_rx_burst(to, frames, NET_BURST, frames_now_ns());
        net_port_rx_release(to, frames, n);
        got += n;
    }
    uint64_t windows = (frames_now_ns() - begin_ns) / NET_STEER_WINDOW_NS + 2;
    for (unsigned n = 1; n > 0; got += n) {
        n = net_port_rx_burst(to, frames, NET_BURST, frames_now_ns());
        net_port_rx_release(to, frames, n);
    }
    cr_expect_geq(got, RING_FRAMES / 4);
    cr_expect_leq(got, windows * (frames_of(*kind) / 4), "%lu in %lu windows", got, windows);
    cr_expect_eq(got + to->counters.rx_limited + to->counters.rx_dropped, sent);
    /* With a new window comes a new share. */
    uint64_t end_ns = frames_now_ns() + 5 * NS_PER_S;
    uint32_t passed = 0;
    while (passed == 0 && frames_now_ns() < end_ns)
        passed = frames_exchange(from, to, &to_all, 0, 1, NS_PER_S / 1000, NULL);
    cr_expect_gt(passed, 0);
    close_pair();
}

/* Wanted packets are not kept out for want of room for rules: until there is some, the gate stands open, and
 * the port says so. */
static bool says_it_is_steered(enum kind kind)
{
    bool is_packet = kind == PACKET || kind == WRAPPED;
    return is_packet ? strstr(to->mode, "steered") != NULL : strstr(to->mode, "not steered") == NULL;
}

ParameterizedTestParameters(gate, more_rules_than_fit_open_it)
{
    static enum kind kinds[] = {PACKET, XDP_GENERIC, WRAPPED};
    return cr_make_param_array(enum kind, kinds, 3);
}

ParameterizedTest(enum kind *kind, gate, more_rules_than_fit_open_it)
{
    open_pair(*kind);
    struct frame_spec unknown = spec_to(QPN, 1);
    cr_expect(says_it_is_steered(*kind));
    for (uint32_t i = 0; i < NET_GATE_RULES_MAX; i++)
        net_port_steer(to, 1000 + i, NET_STEER_ANYBODY, NULL);
    cr_expect_eq(frames_exchange(from, to, &unknown, 0, 1, NS_PER_S / 20, NULL), 0);
    net_port_steer(to, 999, NET_STEER_ANYBODY, NULL);
    cr_expect_eq(frames_exchange(from, to, &unknown, 0, 1, 5 * NS_PER_S, NULL), 1);
    cr_expect_not(says_it_is_steered(*kind));
    net_port_steer(to, 998, NET_STEER_ANYBODY, NULL);
    net_port_steer(to, 998, NET_STEER_NOBODY, NULL);
    cr_expect_eq(frames_exchange(from, to, &unknown, 1, 1, 5 * NS_PER_S, NULL), 1);
    net_port_steer(to, 1000, NET_STEER_NOBODY, NULL);
    cr_expect(says_it_is_steered(*kind));
    cr_expect_eq(frames_exchange(from, to, &unknown, 2, 1, NS_PER_S / 20, NULL), 0);
    struct frame_spec late = spec_to(999, 1);
    cr_expect_eq(frames_exchange(from, to, &late, 3, 1, 5 * NS_PER_S, NULL), 1);
    close_pair();
}

/* Who may open a packet socket and load no program gets all, and the port says so. */
Test(gate, a_packet_port_without_bpf_hands_up_all)
{
    pid_t pid = fork();
    if (pid == 0) {
        struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct caps[2] = {{0}};
        open_pair(PACKET);
        bool is_steered = strstr(to->mode, "steered");
        net_port_close(to);
        netns_enter(&veth, 1);
        caps[0].effective = caps[0].permitted = 1u << CAP_NET_RAW;
        if (!is_steered || syscall(SYS_capset, &head, caps) != 0)
            _exit(2);
        to = open_kind(PACKET);
        struct frame_spec unknown = spec_to(QPN, 1);
        net_port_steer(to, 5, NET_STEER_ANYBODY, NULL);
        bool has_come = frames_exchange(from, to, &unknown, 0, 1, 5 * NS_PER_S, NULL) == 1;
        _exit(has_come && !strstr(to->mode, "steered") ? 0 : 1);
    }
    int status;
    cr_assert_eq(waitpid(pid, &status, 0), pid);
    cr_expect_eq(status, 0);
}
