/* SPDX-License-Identifier: BSD-2-Clause */
/* What half a round trip costs, layer by layer: a small message goes from one network namespace to the other
 * and back, and one thread plays both sides in turn. So nobody spins or sleeps, no line of memory changes
 * processors, and what else the machine does shows in the slow round trips only. A kernel's TCP and UDP
 * sockets, each port with frames that nobody builds or reads, and the engine over each port, with
 * acknowledgements and every ICRC made and checked: answer and acknowledgement sent together ("both"), or the
 * answer alone, with the acknowledgement behind it, for which nobody waits, outside the time ("answer").
 *
 *     bounce [--json] NETNS_0 NETNS_1 [WORD...]      rows whose names have one of the words
 *
 * In NETNS_i is interface nni with 10.77.0.(i+1). The rows take turns, so that all meet the same machine. */
#define _GNU_SOURCE /* setns(), program_invocation_short_name */
#include "bench/pair.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/netns.h"
#include "base/histogram.h"
#include "net/bytes.h"
#include "net/kernel/kernel.h"
#include "net/udp/frame.h"
#include "net/udp/port.h"
#include "xdp/xdp.h"

#define MESSAGE_BYTES 64u
#define HEAD_BYTES    42u /* Ethernet, IPv4, UDP */
#define BARE_BYTES    80u /* of a bare frame behind these: as long as a SEND with BTH and ICRC */
#define TURNS         20u
#define EXCHANGES     1000u /* of a turn */
#define WARM_UP       20u
#define BURST         4u /* buffers at a time, as host/roce/frames.c asks for where little is sent */
#define LOOKS_MAX     1000000u
#define MEMORY_BYTES  4096u
#define TCP_PORT      18516

static const char *netns[2];

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

/* One of: descriptors, ports without an engine, devices. */
struct both {
    int fd[2];
    struct sockaddr_in at[2];
    struct pair pair;
};

/* --- sockets --- */

static struct sockaddr_in address(int side, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    const struct nornic_gid gid = bench_gid(side);
    memcpy(&at.sin_addr, gid.addr.b + 12, 4);
    return at;
}

static int bound(int side, int type)
{
    int on = 1;
    enter_netns(netns[side]);
    int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);
    check(fd < 0 ? -errno : 0, "socket");
    struct sockaddr_in at = address(side, TCP_PORT);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    check(bind(fd, (struct sockaddr *)&at, sizeof at) < 0 ? -errno : 0, "bind");
    return fd;
}

static void open_tcp(struct both *b)
{
    int on = 1, listener = bound(1, SOCK_STREAM);
    b->fd[0] = bound(0, SOCK_STREAM);
    struct sockaddr_in to = address(1, TCP_PORT);
    check(listen(listener, 1) < 0 ? -errno : 0, "listen");
    check(connect(b->fd[0], (struct sockaddr *)&to, sizeof to) < 0 ? -errno : 0, "connect");
    b->fd[1] = accept(listener, NULL, NULL);
    check(b->fd[1] < 0 ? -errno : 0, "accept");
    close(listener);
    for (int i = 0; i < 2; i++)
        setsockopt(b->fd[i], IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static void open_udp(struct both *b)
{
    for (int i = 0; i < 2; i++) {
        b->fd[i] = bound(i, SOCK_DGRAM);
        b->at[i] = address(i, TCP_PORT);
    }
}

static void pass_bytes(struct both *b, int from)
{
    uint8_t message[MESSAGE_BYTES] = {0};
    const struct sockaddr *to = b->at[!from].sin_port ? (struct sockaddr *)&b->at[!from] : NULL;
    ssize_t sent = sendto(b->fd[from], message, sizeof message, 0, to, to ? sizeof b->at[0] : 0);
    check(sent == sizeof message ? 0 : -errno, "send");
    check(recv(b->fd[!from], message, sizeof message, 0) == sizeof message ? 0 : -errno, "receive");
}

static void close_sockets(struct both *b)
{
    close(b->fd[0]);
    close(b->fd[1]);
}

/* --- ports --- */

static struct net_port *open_port(int side, bool is_xdp)
{
    struct net_port *port = NULL;
    struct nornic_error why = {""};
    struct net_interface interface;
    const char *name = side ? "nn1" : "nn0";
    const struct nornic_gid gid = bench_gid(side);
    enter_netns(netns[side]);
    check(net_interface_get(name, &interface, &why), "interface");
    int err = is_xdp ? xdp_port_open(&(struct xdp_config){.ifname = name}, &port, &why)
                     : net_udp_open(&(struct net_udp_config){.interface = &interface, .addr = gid.addr},
                                    &port, &why);
    check(err, why.text);
    return port;
}

static void open_ports(struct both *b, bool is_xdp)
{
    for (int i = 0; i < 2; i++)
        b->pair.side[i].port = open_port(i, is_xdp);
}

static void open_bare_udp(struct both *b)
{
    open_ports(b, false);
}

static void open_bare_xdp(struct both *b)
{
    open_ports(b, true);
}

static uint32_t put_frame(uint8_t *frame, int from)
{
    uint8_t *p = frame;
    memset(p, 0, HEAD_BYTES + BARE_BYTES);
    put_be16(p + 12, 0x0800);
    p = put_be32(p + 14, 0x45000000 | (HEAD_BYTES - 14 + BARE_BYTES));
    p = put_be32(p, 0x00004000);
    p = put_be32(p, 64u << 24 | 17u << 16);
    p = put_be32(p, 0x0a4d0001u + (uint32_t)from);
    p = put_be32(p, 0x0a4d0001u + !from);
    p = put_be16(p, NET_ROCE_UDP_PORT);
    p = put_be16(p, NET_ROCE_UDP_PORT);
    put_be16(p, (uint16_t)(8 + BARE_BYTES));
    return HEAD_BYTES + BARE_BYTES;
}

static void pass_frame(struct both *b, int from)
{
    struct net_port *out = b->pair.side[from].port, *in = b->pair.side[!from].port;
    struct net_frame frames[NET_BURST];
    uint64_t now = now_ns();
    unsigned n = net_port_tx_reserve(out, frames, 1), looks = 0;
    check(n == 1 ? 0 : -ENOBUFS, "buffer");
    frames[0].len_bytes = put_frame(frames[0].data, from);
    net_port_tx_flush(out, frames, 1, now);
    while ((n = net_port_rx_burst(in, frames, NET_BURST, now_ns())) == 0)
        check(++looks < LOOKS_MAX ? 0 : -ETIMEDOUT, "frame");
    net_port_rx_release(in, frames, n);
}

static void close_ports(struct both *b)
{
    for (int i = 0; i < 2; i++)
        net_port_close(b->pair.side[i].port);
}

/* --- engines --- */

static void expect_message(struct side *s)
{
    struct nornic_sge to = {(uintptr_t)s->memory + MESSAGE_BYTES, MESSAGE_BYTES, s->mr->lkey};
    struct nornic_recv_wr recv = {.sg_list = &to, .num_sge = 1};
    check(roce_post_recv(s->qps[0], &recv, NULL), "receive");
}

static void open_engines(struct both *b, bool is_xdp)
{
    static const struct load load = {.pmtu = NORNIC_MTU_1024};
    open_ports(b, is_xdp);
    struct net_port *ports[2] = {b->pair.side[0].port, b->pair.side[1].port};
    open_pair(&b->pair, ports, MEMORY_BYTES, &load);
    for (int i = 0; i < 2; i++)
        expect_message(&b->pair.side[i]);
}

static void open_engines_udp(struct both *b)
{
    open_engines(b, false);
}

static void open_engines_xdp(struct both *b)
{
    open_engines(b, true);
}

/* One packet, alone, as was tried (docs/performance.md). */
static void give_first(struct side *s)
{
    struct net_frame buf;
    uint64_t now = now_ns();
    check(net_port_tx_reserve_trains(s->port, &buf, 1, s->port->limits.train_tx_bytes) == 1 ? 0 : -ENOBUFS,
          "buffer");
    buf.train_pkts = 1;
    net_port_tx_flush(s->port, &buf, roce_dev_tx(s->dev, &buf, 1, now), now);
}

static void post_message(struct side *out)
{
    struct nornic_sge at = {(uintptr_t)out->memory, MESSAGE_BYTES, out->mr->lkey};
    struct nornic_send_wr wr = {
        .sg_list = &at, .num_sge = 1, .opcode = NORNIC_WR_SEND, .send_flags = NORNIC_SEND_SIGNALED};
    check(roce_post_send(out->qps[0], &wr, NULL), "post");
}

static void take_message(struct side *in)
{
    struct nornic_wc wc;
    for (unsigned looks = 0;; looks++) {
        int n = rdma_cq_poll(in->cq, &wc, 1);
        check(looks < LOOKS_MAX && (n == 0 || wc.status == NORNIC_WC_SUCCESS) ? 0 : -EIO, "message");
        if (n && wc.opcode == NORNIC_WC_RECV)
            break;
        if (n == 0)
            take_in(in, now_ns());
    }
    expect_message(in);
}

/* The answer leaves first, with the acknowledgement of what it answers behind it, in one train or burst. */
static void pass_both(struct both *b, int from)
{
    struct side *out = &b->pair.side[from];
    post_message(out);
    give_out(out, BURST, now_ns());
    take_message(&b->pair.side[!from]);
}

/* The answer leaves alone, */
static void pass_answer(struct both *b, int from)
{
    struct side *out = &b->pair.side[from];
    post_message(out);
    give_first(out);
    take_message(&b->pair.side[!from]);
}

/* and the acknowledgement while its receiver is at work: nobody waits for it. */
static void pass_acknowledgement(struct both *b, int from)
{
    give_out(&b->pair.side[from], BURST, now_ns());
    take_in(&b->pair.side[!from], now_ns());
}

static void close_engines(struct both *b)
{
    close_pair(&b->pair);
}

/* --- the figures --- */

static const struct row {
    const char *name;
    void (*open)(struct both *b);
    void (*pass)(struct both *b, int from);
    void (*after)(struct both *b, int from); /* NULL, or what is not timed */
    void (*close)(struct both *b);
} rows[] = {
    {"tcp-socket", open_tcp, pass_bytes, NULL, close_sockets},
    {"udp-socket", open_udp, pass_bytes, NULL, close_sockets},
    {"udp-port", open_bare_udp, pass_frame, NULL, close_ports},
    {"udp-answer", open_engines_udp, pass_answer, pass_acknowledgement, close_engines},
    {"udp-both", open_engines_udp, pass_both, NULL, close_engines},
    {"xdp-port", open_bare_xdp, pass_frame, NULL, close_ports},
    {"xdp-answer", open_engines_xdp, pass_answer, pass_acknowledgement, close_engines},
    {"xdp-both", open_engines_xdp, pass_both, NULL, close_engines},
};

static struct histogram round_trips[array_len(rows)];

static uint64_t half(const struct row *row, struct both *b, int from)
{
    uint64_t start_ns = now_ns();
    row->pass(b, from);
    uint64_t took_ns = now_ns() - start_ns;
    if (row->after)
        row->after(b, from);
    return took_ns;
}

static void measure(const struct row *row, struct histogram *h)
{
    struct both b = {.fd = {-1, -1}};
    row->open(&b);
    for (unsigned i = 0; i < WARM_UP + EXCHANGES; i++) {
        uint64_t took_ns = half(row, &b, 0) + half(row, &b, 1);
        if (i >= WARM_UP)
            histogram_add(h, took_ns);
    }
    row->close(&b);
}

static bool is_chosen(const struct row *row, int words, char **word)
{
    for (int i = 0; i < words; i++)
        if (strstr(row->name, word[i]))
            return true;
    return words == 0 || row == rows; /* TCP in any case */
}

static double half_us(const struct histogram *h, double fraction)
{
    return (double)(fraction > 0 ? histogram_quantile(h, fraction) : h->min) / 2000;
}

static void print_row(size_t i, bool json)
{
    const struct histogram *h = &round_trips[i];
    double median_us = half_us(h, 0.5), to_tcp = median_us / half_us(&round_trips[0], 0.5);
    printf(json ? "{\"what\":\"%s\",\"min_us\":%.2f,\"p10_us\":%.2f,\"median_us\":%.2f,\"to_tcp\":%.2f}\n"
                : "%-12s %8.2f %8.2f %8.2f %8.2f\n",
           rows[i].name, half_us(h, 0), half_us(h, 0.1), median_us, to_tcp);
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    argc -= json;
    argv += json;
    if (argc < 3) {
        fprintf(stderr, "usage: bounce [--json] NETNS_0 NETNS_1 [WORD...]\n");
        return 2;
    }
    netns[0] = argv[1];
    netns[1] = argv[2];
    for (unsigned turn = 0; turn < TURNS; turn++)
        for (size_t i = 0; i < array_len(rows); i++)
            if (is_chosen(&rows[i], argc - 3, argv + 3))
                measure(&rows[i], &round_trips[i]);
    if (!json)
        printf("%-12s %8s %8s %8s %8s\n", "", "min", "p10", "median", "to TCP");
    for (size_t i = 0; i < array_len(rows); i++)
        if (is_chosen(&rows[i], argc - 3, argv + 3))
            print_row(i, json);
    return 0;
}
