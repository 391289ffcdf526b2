/* SPDX-License-Identifier: BSD-2-Clause */
/* A transfer between two namespaces, and a stranger who floods the receiver meanwhile. Nobody reads while the
 * flood comes, so what decides is not who is faster but who has a place in the ring, or in the socket. */
#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <linux/if_packet.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "host/port/open.h"
#include "test/support/frames.h"
#include "test/support/netns.h"
#include "test/host/pair.h"

#define FLOOD_FRAMES  20000u /* several times what a ring holds */
#define FORGED_FRAMES 1000u
#define WRITE_BYTES   (256u << 10)
#define ANY_QPN       0x00abcdu
#define TIMEOUT       20 /* 4 s: what is lost is seen, and nothing is taken for lost that is slow */

static struct netns_veth veth;

static void setup(void)
{
    netns_veth_open(&veth, 1500);
}

static void teardown(void)
{
    netns_veth_destroy(&veth);
}

TestSuite(flood, .init = setup, .fini = teardown, .timeout = 60);

static struct net_port *open_port(const char *kind, int side)
{
    struct host_port opened;
    struct nornic_error why;
    char name[32];
    bool is_udp = strcmp(kind, "udp") == 0;
    snprintf(name, sizeof name, "%s:%s", kind, is_udp ? NETNS_VETH_V4(side) : NETNS_VETH_IFNAME(side));
    netns_enter(&veth, side);
    cr_assert_eq(host_port_open(name, false, 0, &opened, &why), 0, "%s", why.text);
    return opened.port;
}

/* Sends frames out of side 0 as any program there may. */
static void flood(const struct frame_spec *spec, uint32_t count)
{
    uint8_t frame[FRAMES_MAX_BYTES];
    netns_enter(&veth, 0);
    int fd = socket(AF_PACKET, SOCK_RAW, 0);
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("nn0")};
    cr_assert_geq(fd, 0);
    cr_assert_eq(bind(fd, (struct sockaddr *)&to, sizeof to), 0);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t len = frame_build(spec, i, frame);
        cr_assert_eq(send(fd, frame, len, 0), (ssize_t)len);
    }
    close(fd);
}

static void drive(struct pair *pair, int side)
{
    while (host_round(pair->side[side].dev, NULL))
        ;
}

static bool is_complete(struct pair *pair)
{
    struct nornic_wc wc;
    unsigned n = rdma_cq_poll(pair->side[0].cq, &wc, 1);
    cr_assert(n == 0 || wc.status == NORNIC_WC_SUCCESS);
    return n == 1;
}

struct kind {
    char name[8];
    bool tells_why; /* its gate says why it dropped a packet */
};

/* What fits nobody's ICRC. */
static struct frame_spec packet_to(const struct pair *pair, uint32_t qpn, uint8_t source)
{
    return (struct frame_spec){.src = host_dev_port(pair->side[0].dev)->mac,
                               .dst = host_dev_port(pair->side[1].dev)->mac,
                               .vlan_tci = -1,
                               .dport = 4791,
                               .ip_bytes = 100,
                               .dest_qpn = qpn,
                               .source = source};
}

static void open_pair(struct pair *pair, const struct kind *kind)
{
    pair_open_on(pair, (struct net_port *[]){open_port(kind->name, 0), open_port(kind->name, 1)}, TIMEOUT,
                 true);
    for (uint32_t i = 0; i < WRITE_BYTES; i++)
        pair->side[0].memory[i] = (uint8_t)(i * 7 + (i >> 8));
}

/* Posts nothing; fails the test where a packet was sent again, or anything was answered but the peer. */
static void finish_transfer(struct pair *pair)
{
    uint64_t end_ns = host_now_ns() + 20 * NS_PER_S;
    while (!is_complete(pair) && host_now_ns() < end_ns) {
        drive(pair, 1);
        drive(pair, 0);
    }
    cr_expect(memcmp(pair->side[0].memory, pair->side[1].memory, WRITE_BYTES) == 0);
    cr_expect_eq(roce_qp_counters(pair->side[0].qp)->retransmitted_pkts, 0);
    cr_expect_eq(host_dev_port(pair->side[1].dev)->counters.tx_frames,
                 host_dev_port(pair->side[0].dev)->counters.rx_frames, "nobody but the peer was answered");
}

ParameterizedTestParameters(flood, takes_nothing_from_a_transfer)
{
    static struct kind kinds[] = {{"packet", true}, {"xdp", true}, {"udp", false}};
    return cr_make_param_array(struct kind, kinds, sizeof kinds / sizeof *kinds);
}

ParameterizedTest(struct kind *kind, flood, takes_nothing_from_a_transfer)
{
    struct pair pair;
    open_pair(&pair, kind);
    struct frame_spec unknown = packet_to(&pair, ANY_QPN, 1);
    struct frame_spec stranger = packet_to(&pair, roce_qp_num(pair.side[1].qp), 9);
    flood(&unknown, FLOOD_FRAMES);
    flood(&stranger, FLOOD_FRAMES);
    cr_assert_eq(pair_post_write(&pair, 1, WRITE_BYTES), 0);
    drive(&pair, 0);
    flood(&stranger, FLOOD_FRAMES);
    finish_transfer(&pair);
    const struct net_port_counters *c = &host_dev_port(pair.side[1].dev)->counters;
    cr_expect_eq(c->rx_dropped, 0);
    cr_expect_eq(c->rx_no_qp, kind->tells_why ? FLOOD_FRAMES : 0);
    cr_expect_eq(c->rx_stranger, kind->tells_why ? 2 * FLOOD_FRAMES : 0);
    cr_expect_eq(c->rx_filtered, kind->tells_why ? 0 : 3 * FLOOD_FRAMES);
    cr_expect_eq(c->rx_frames, WRITE_BYTES / 1024);
    pair_close(&pair);
}

ParameterizedTestParameters(flood, a_forger_gets_no_answer)
{
    static struct kind kinds[] = {{"packet", true}, {"xdp", true}, {"udp", false}};
    return cr_make_param_array(struct kind, kinds, sizeof kinds / sizeof *kinds);
}

/* Under the peer's address, to its queue pair: the ICRC is what tells. As many as a ring holds beside the
 * transfer. */
ParameterizedTest(struct kind *kind, flood, a_forger_gets_no_answer)
{
    struct pair pair;
    open_pair(&pair, kind);
    struct frame_spec forged = packet_to(&pair, roce_qp_num(pair.side[1].qp), 1);
    flood(&forged, FORGED_FRAMES);
    cr_assert_eq(pair_post_write(&pair, 1, WRITE_BYTES), 0);
    drive(&pair, 0);
    finish_transfer(&pair);
    const struct net_port_counters *c = &host_dev_port(pair.side[1].dev)->counters;
    cr_expect_eq(c->rx_dropped, 0);
    cr_expect_eq(c->rx_frames, FORGED_FRAMES + WRITE_BYTES / 1024);
    pair_close(&pair);
}
