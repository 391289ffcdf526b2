/* SPDX-License-Identifier: BSD-2-Clause */
/* What a bogus packet costs, by processor time, so that the load of the machine costs the figures little.
 * One thread sends bogus RoCEv2 packets out of one end of a veth pair, which takes the receiver's kernel
 * along as far as the receiver's socket or ring, and lets the receiver have a look. Beside each port of
 * nornic's stand two UDP sockets whose program does nothing with what it takes: a plain one, and one that
 * asks for what RoCE needs, the sender's address, TOS and TTL. That is what the kernel costs whoever takes
 * datagrams.
 *
 *     bogus [--json] NETNS_0 NETNS_1
 *
 * In NETNS_i is interface nni with 10.77.0.(i+1). The kinds are those of bench/flooder.c. The repetitions
 * are interleaved; the figures are medians. */
#define _GNU_SOURCE /* setns(), sendmmsg(), program_invocation_short_name */
#include "bench/pair.h"

#include <linux/if_packet.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/netns.h"
#include "host/port/open.h"
#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/kernel/kernel.h"

#define REPETITIONS   9u
#define RUN_NS        (40 * NS_PER_MS) /* of processor time */
#define BATCH         32u
#define FRAME_BYTES   130u /* 14 Ethernet, 20 IPv4, 8 UDP, 12 BTH, 72 payload, 4 ICRC */
#define SOURCE_AT     29u  /* its last byte */
#define UDP_DST_AT    36u
#define QPN_AT        47u
#define ROCE_UDP_PORT 4791
#define RAW_UDP_PORT  4790
#define NOBODYS_QPN   0xabcdefu
#define TAKES         16u /* of a call, as the udp port has it */
#define TAKE_BYTES    2048u
#define CONTROL_BYTES 128u

enum kind { OTHER, NO_QP, QP1, STRANGER, FORGED, KINDS };

static const char *const kind_names[KINDS] = {"other", "no-qp", "qp1", "stranger", "forged"};

/* Of the receiver. */
static const char *const port_names[] = {"udp:10.77.0.2", "xdp:nn1", "packet:nn1", "plain socket", "socket"};
#define PORTS  array_len(port_names)
#define PLAIN  (PORTS - 2)
#define SOCKET (PORTS - 1)

struct figures {
    double way_ns[REPETITIONS], receiver_ns[REPETITIONS]; /* a packet */
};

static struct figures figures[PORTS][KINDS];
static const char *netns[2];
static struct nornic_mac macs[2];

/* A SEND_ONLY of RC without AckReq; its ICRC is wrong. */
static void put_frame(uint8_t *p, enum kind kind, uint32_t qpn, uint16_t udp_port)
{
    const uint8_t source = kind == FORGED ? 1 : 9;
    p = put_bytes(p, macs[1].b, NORNIC_MAC_BYTES);
    p = put_bytes(p, macs[0].b, NORNIC_MAC_BYTES);
    p = put_be16(p, kind == OTHER ? 0x88b5 : 0x0800);
    uint8_t *ip = p;
    p = put_be32(p, 0x45000000 | (FRAME_BYTES - 14));
    p = put_be32(p, 0x00004000);
    p = put_be32(p, 64u << 24 | 17u << 16);
    p = put_be32(p, 0x0a4d0000 | source);
    p = put_be32(p, 0x0a4d0002);
    put_be16(ip + 10, net_checksum_ipv4(ip, 20));
    p = put_be16(p, ROCE_UDP_PORT);
    p = put_be16(p, udp_port);
    p = put_be16(p, (uint16_t)(FRAME_BYTES - 34));
    p = put_be16(p, 0);
    p = put_be32(p, 0x0400ffff);
    p = put_be32(p, kind == QP1 ? 1 : kind >= STRANGER ? qpn : NOBODYS_QPN);
    memset(p, 0, FRAME_BYTES - 50);
}

struct flood {
    int fd;
    uint8_t frame[FRAME_BYTES];
    struct iovec part;
    struct mmsghdr messages[BATCH];
};

static void open_flood(struct flood *flood)
{
    enter_netns(netns[0]);
    struct sockaddr_ll to = {.sll_family = AF_PACKET, .sll_ifindex = (int)if_nametoindex("nn0")};
    int on = 1;
    flood->fd = socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0);
    check(flood->fd < 0 || bind(flood->fd, (struct sockaddr *)&to, sizeof to) < 0 ? -errno : 0,
          "packet socket");
    setsockopt(flood->fd, SOL_PACKET, PACKET_QDISC_BYPASS, &on, sizeof on);
    flood->part = (struct iovec){flood->frame, FRAME_BYTES};
    for (unsigned i = 0; i < BATCH; i++)
        flood->messages[i].msg_hdr = (struct msghdr){.msg_iov = &flood->part, .msg_iovlen = 1};
}

/* Who receives: a device whose queue pair is connected to nobody who is there, or a socket. */
struct receiver {
    bool is_socket;
    struct side side;
    int fd;
    bool asks; /* the socket, for address, TOS and TTL */
    uint8_t room[TAKES][TAKE_BYTES];
    uint8_t control[TAKES][CONTROL_BYTES];
    struct sockaddr_in from[TAKES];
    struct iovec parts[TAKES];
    struct mmsghdr messages[TAKES];
};

static void open_device(struct receiver *r, const char *name)
{
    static const struct load load = {.name = "", .pmtu = NORNIC_MTU_1024};
    const struct nornic_gid peer = bench_gid(0);
    struct host_port opened;
    struct nornic_error why;
    check(host_port_open(name, false, 0, &opened, &why), why.text);
    r->side.port = opened.port;
    open_side(&r->side, 1, &load, 1, 1u << 16);
    bench_connect_to(r->side.qps[0], &peer, 17, load.pmtu, 16, clock_ns());
    const uint32_t qpn = roce_qp_num(r->side.qps[0]);
    net_port_steer(r->side.port, 1, NET_STEER_LIMITED, NULL);
    net_port_steer(r->side.port, qpn, NET_STEER_PEER, &peer.addr);
}

static void open_socket(struct receiver *r)
{
    const struct nornic_gid gid = bench_gid(1);
    struct sockaddr_in me = {.sin_family = AF_INET, .sin_port = htons(RAW_UDP_PORT)};
    int on = r->asks;
    memcpy(&me.sin_addr, gid.addr.b + 12, 4);
    r->fd = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    check(r->fd < 0 || bind(r->fd, (struct sockaddr *)&me, sizeof me) < 0 ? -errno : 0, "socket");
    setsockopt(r->fd, IPPROTO_IP, IP_RECVTOS, &on, sizeof on);
    setsockopt(r->fd, IPPROTO_IP, IP_RECVTTL, &on, sizeof on);
    for (unsigned i = 0; i < TAKES; i++) {
        r->parts[i] = (struct iovec){r->room[i], TAKE_BYTES};
        r->messages[i].msg_hdr = (struct msghdr){.msg_iov = &r->parts[i], .msg_iovlen = 1};
    }
}

static void open_receiver(struct receiver *r, size_t port)
{
    enter_netns(netns[1]);
    r->is_socket = port == PLAIN || port == SOCKET;
    r->asks = port == SOCKET;
    if (r->is_socket)
        open_socket(r);
    else
        open_device(r, port_names[port]);
}

static void close_receiver(struct receiver *r)
{
    struct side *s = &r->side;
    if (r->is_socket) {
        close(r->fd);
        return;
    }
    roce_qp_destroy(s->qps[0]);
    check(rdma_mr_dereg(s->mr), "region");
    check(rdma_cq_destroy(s->cq), "completion queue");
    check(rdma_pd_destroy(s->pd), "protection domain");
    check(roce_dev_destroy(s->dev), "device");
    net_port_close(s->port);
    free(s->memory);
}

static void receive(struct receiver *r)
{
    for (unsigned i = 0; i < TAKES && r->asks; i++) {
        struct msghdr *m = &r->messages[i].msg_hdr;
        m->msg_name = &r->from[i];
        m->msg_namelen = sizeof r->from[i];
        m->msg_control = r->control[i];
        m->msg_controllen = CONTROL_BYTES;
    }
    (void)recvmmsg(r->fd, r->messages, TAKES, MSG_DONTWAIT, NULL);
}

/* Takes what a batch has left, and looks once more, as who is busy does. */
static void take(struct receiver *r, uint64_t now_ns)
{
    for (unsigned looks = 0; looks < BATCH / TAKES + 1; looks++)
        if (r->is_socket)
            receive(r);
        else
            progress(&r->side, now_ns);
}

static uint64_t spent(uint64_t *since_ns)
{
    uint64_t before_ns = *since_ns;
    *since_ns = clock_ns();
    return *since_ns - before_ns;
}

static void measure(struct flood *flood, struct receiver *r, enum kind kind, struct figures *f,
                    unsigned repetition)
{
    uint64_t start_ns = clock_ns(), now_ns = start_ns, way_ns = 0, receiver_ns = 0, count = 0;
    put_frame(flood->frame, kind, r->is_socket ? NOBODYS_QPN : roce_qp_num(r->side.qps[0]),
              r->is_socket ? RAW_UDP_PORT : ROCE_UDP_PORT);
    while (now_ns - start_ns < RUN_NS) {
        int n = sendmmsg(flood->fd, flood->messages, BATCH, 0);
        check(n < 0 ? -errno : 0, "flood");
        count += (unsigned)n;
        way_ns += spent(&now_ns);
        take(r, now_ns);
        receiver_ns += spent(&now_ns);
    }
    f->way_ns[repetition] = (double)way_ns / (double)count;
    f->receiver_ns[repetition] = (double)receiver_ns / (double)count;
}

static void measure_port(struct flood *flood, size_t port, unsigned repetition)
{
    static struct receiver r;
    r = (struct receiver){.fd = -1};
    open_receiver(&r, port);
    for (enum kind kind = OTHER; kind < KINDS; kind++)
        if (!r.is_socket || kind == OTHER || kind == FORGED)
            measure(flood, &r, kind, &figures[port][kind], repetition);
    close_receiver(&r);
}

/* Of a processor that the flood and the receiver share evenly, and both want all of, what the receiver has
 * left for its own work: half, but for the packets that come in the other half. */
static double left(double way_ns, double receiver_ns)
{
    double share = 0.5 - 0.5 * receiver_ns / way_ns;
    return share > 0 ? share : 0;
}

static void print_port(size_t port, bool json)
{
    double idle_ns = 0; /* looks that find nothing */
    for (enum kind kind = OTHER; kind < KINDS; kind++) {
        struct figures *f = &figures[port][kind];
        double way_ns = median(f->way_ns, REPETITIONS), receiver_ns = median(f->receiver_ns, REPETITIONS);
        if (kind == OTHER)
            idle_ns = receiver_ns;
        receiver_ns = receiver_ns > idle_ns ? receiver_ns - idle_ns : 0;
        if (way_ns > 0)
            printf(json
                       ? "{\"receiver\": \"%s\", \"flood\": \"%s\", \"way_ns\": %.1f, \"receiver_ns\": %.1f, "
                         "\"left\": %.3f}\n"
                       : "%-14s %-9s %9.0f ns %9.0f ns %8.2f\n",
                   port_names[port], kind_names[kind], way_ns, receiver_ns, left(way_ns, receiver_ns));
    }
}

int main(int argc, char **argv)
{
    static struct flood flood;
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    if (argc != 3 + json) {
        fprintf(stderr, "usage: bogus [--json] NETNS_0 NETNS_1\n");
        return 2;
    }
    for (int i = 0; i < 2; i++) {
        struct net_interface interface;
        struct nornic_error why;
        netns[i] = argv[1 + json + i];
        enter_netns(netns[i]);
        check(net_interface_get(i ? "nn1" : "nn0", &interface, &why), "interface");
        macs[i] = interface.mac;
    }
    open_flood(&flood);
    for (unsigned r = 0; r < REPETITIONS; r++)
        for (size_t port = 0; port < PORTS; port++)
            measure_port(&flood, port, r);
    if (!json)
        printf("%-14s %-9s %12s %12s %8s\n", "receiver", "flood", "on its way", "receiver", "left");
    for (size_t port = 0; port < PORTS; port++)
        print_port(port, json);
    return 0;
}
