/* SPDX-License-Identifier: BSD-2-Clause */
/* What the udp port costs on both sides of a veth pair, beside kernel TCP and beside a blaster that sends and
 * takes trains of the same size through UDP sockets, without engine and ICRC. One thread drives both sides in
 * turn and asks for the processor time of each: so nobody spins, and what else the machine does costs the
 * figures little. The side that takes longer bounds what two processors can move, which is what the rates
 * say. The repetitions are interleaved; the figures are medians.
 *
 *     datagrams [--json] NETNS_0 NETNS_1 [WORD...]      loads whose names have one of the words
 *
 * In NETNS_i is interface nni with 10.77.0.(i+1) and fd77::(i+1). What does not fit its MTU is left out. */
#define _GNU_SOURCE /* setns(), program_invocation_short_name */
#include "bench/pair.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "bench/netns.h"
#include "net/kernel/kernel.h"
#include "net/udp/frame.h"
#include "net/udp/port.h"

#define REPETITIONS    9u
#define RUN_NS         (100 * NS_PER_MS) /* of processor time */
#define MEMORY_BYTES   (1u << 20)
#define TCP_BYTES      (128u << 10) /* of a write, as iperf3 has it */
#define TRAIN_BYTES    65507u       /* the longest datagram over IPv4 */
#define TRAIN_PKTS     64u
#define HEADER_BYTES   16u /* BTH and ICRC, which the blaster leaves empty */
#define RAW_TRAINS     8u  /* of a round */
#define SOCKET_BYTES   (32 << 20)
#define OVERHEAD_BYTES 80u /* of a packet: at most IPv6, UDP, BTH, RETH and ICRC */

enum kind { KIND_NORNIC, KIND_RAW, KIND_TCP };

struct row {
    enum kind kind;
    struct load load;
};

static const struct row rows[] = {
    {KIND_TCP, {.name = "tcp", .bytes = TCP_BYTES}},
    {KIND_RAW, {.name = "raw-1024", .pmtu = NORNIC_MTU_1024, .bytes = 1024}},
    {KIND_RAW, {.name = "raw-4096", .pmtu = NORNIC_MTU_4096, .bytes = 4096}},
    {KIND_NORNIC, {"write-1M-1024", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"send-1M-1024", NORNIC_WR_SEND, NORNIC_MTU_1024, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"read-1M-1024", NORNIC_WR_RDMA_READ, NORNIC_MTU_1024, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"write-1M-1024-v6", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 1u << 20, 4, 1, true}},
    {KIND_NORNIC, {"write-1M-4096", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_4096, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"send-1M-4096", NORNIC_WR_SEND, NORNIC_MTU_4096, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"read-1M-4096", NORNIC_WR_RDMA_READ, NORNIC_MTU_4096, 1u << 20, 4, 1, false}},
    {KIND_NORNIC, {"write-1M-4096-v6", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_4096, 1u << 20, 4, 1, true}},
    {KIND_NORNIC, {"write-64", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 64, DEPTH_MAX, 1, false}},
    {KIND_NORNIC, {"send-64", NORNIC_WR_SEND, NORNIC_MTU_1024, 64, DEPTH_MAX, 1, false}},
    {KIND_NORNIC, {"write-64-16qp", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 64, DEPTH_MAX, QPS_MAX, false}},
    {KIND_NORNIC, {"send-64-16qp", NORNIC_WR_SEND, NORNIC_MTU_1024, 64, DEPTH_MAX, QPS_MAX, false}},
};

static const char *netns[2];

/* What a run moved, and the processor time that each side took. */
struct took {
    uint64_t side_ns[2];
    double amount; /* bytes; of a row with small messages: messages */
};

static uint64_t spent(uint64_t *since_ns)
{
    uint64_t before_ns = *since_ns;
    *since_ns = clock_ns();
    return *since_ns - before_ns;
}

static struct took run_nornic(const struct load *load)
{
    struct net_port *ports[2];
    struct nornic_error why;
    struct pair p;
    struct took took = {.amount = 0};
    for (int i = 0; i < 2; i++) {
        struct net_interface interface;
        const struct nornic_gid gid = gid_of(load, i);
        enter_netns(netns[i]);
        check(net_interface_get(i ? "nn1" : "nn0", &interface, &why), "interface");
        check(net_udp_open(&(struct net_udp_config){.interface = &interface, .addr = gid.addr}, &ports[i],
                           &why),
              why.text);
    }
    open_pair(&p, ports, MEMORY_BYTES, load);
    uint64_t start_ns = clock_ns(), now_ns = start_ns, done = 0;
    for (uint32_t i = 0; i < load->depth; i++)
        post(&p, load);
    while (now_ns - start_ns < RUN_NS) {
        progress(&p.side[0], now_ns);
        uint64_t n = reap(p.side[0].cq);
        done += n;
        while (n--)
            post(&p, load);
        took.side_ns[0] += spent(&now_ns);
        progress(&p.side[1], now_ns);
        reap(p.side[1].cq);
        took.side_ns[1] += spent(&now_ns);
    }
    close_pair(&p);
    took.amount = (double)done * (load->bytes < 1024 ? 1 : load->bytes);
    return took;
}

/* A socket of `side`, nonblocking. */
static int open_socket(int side, int type, struct sockaddr_in *me)
{
    int on = 1, bytes = SOCKET_BYTES;
    enter_netns(netns[side]);
    int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    check(fd < 0 ? -errno : 0, "socket");
    *me = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(18516)};
    const struct nornic_gid gid = bench_gid(side);
    memcpy(&me->sin_addr, gid.addr.b + 12, 4);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (type == SOCK_DGRAM)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes);
    check(bind(fd, (struct sockaddr *)me, sizeof *me) < 0 ? -errno : 0, "bind");
    return fd;
}

static uint8_t buffer[2][TCP_BYTES];

static struct took run_tcp(void)
{
    struct sockaddr_in at[2];
    struct took took = {.amount = 0};
    int listener = open_socket(1, SOCK_STREAM, &at[1]), from = open_socket(0, SOCK_STREAM, &at[0]), to;
    check(listen(listener, 1) < 0 ? -errno : 0, "listen");
    (void)!connect(from, (struct sockaddr *)&at[1], sizeof at[1]);
    while ((to = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) < 0)
        check(errno == EAGAIN ? 0 : -errno, "accept");
    uint64_t start_ns = clock_ns(), now_ns = start_ns;
    while (now_ns - start_ns < RUN_NS) {
        for (int i = 0; i < 4 && write(from, buffer[0], TCP_BYTES) > 0; i++)
            ;
        took.side_ns[0] += spent(&now_ns);
        for (ssize_t n; (n = read(to, buffer[1], TCP_BYTES)) > 0;)
            took.amount += (double)n;
        took.side_ns[1] += spent(&now_ns);
    }
    close(from);
    close(to);
    close(listener);
    return took;
}

/* One train of `pkts` packets. Returns whether the kernel took it. */
static bool send_train(int fd, const struct sockaddr_in *to, uint32_t pkts, uint16_t seg_bytes)
{
    union {
        struct cmsghdr head;
        uint8_t bytes[CMSG_SPACE(sizeof seg_bytes)];
    } control = {.head = {CMSG_LEN(sizeof seg_bytes), IPPROTO_UDP, UDP_SEGMENT}};
    memcpy(CMSG_DATA(&control.head), &seg_bytes, sizeof seg_bytes);
    struct iovec payload = {buffer[0], pkts * seg_bytes};
    struct sockaddr_in peer = *to;
    struct msghdr message = {.msg_name = &peer,
                             .msg_namelen = sizeof peer,
                             .msg_iov = &payload,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    return sendmsg(fd, &message, 0) > 0;
}

static struct took run_raw(const struct load *load)
{
    struct sockaddr_in at[2];
    struct took took = {.amount = 0};
    int on = 1, to = open_socket(1, SOCK_DGRAM, &at[1]), from = open_socket(0, SOCK_DGRAM, &at[0]);
    uint16_t seg_bytes = (uint16_t)(load->bytes + HEADER_BYTES);
    uint32_t pkts = min_u32(TRAIN_PKTS, TRAIN_BYTES / seg_bytes);
    setsockopt(to, IPPROTO_UDP, UDP_GRO, &on, sizeof on);
    uint64_t start_ns = clock_ns(), now_ns = start_ns;
    while (now_ns - start_ns < RUN_NS) {
        for (unsigned i = 0; i < RAW_TRAINS && send_train(from, &at[1], pkts, seg_bytes); i++)
            ;
        took.side_ns[0] += spent(&now_ns);
        for (ssize_t n; (n = recv(to, buffer[1], TCP_BYTES, 0)) > 0;)
            took.amount += (double)n / seg_bytes * load->bytes;
        took.side_ns[1] += spent(&now_ns);
    }
    close(from);
    close(to);
    return took;
}

static struct took run_row(const struct row *row)
{
    switch (row->kind) {
    case KIND_NORNIC:
        return run_nornic(&row->load);
    case KIND_RAW:
        return run_raw(&row->load);
    case KIND_TCP:
        break;
    }
    return run_tcp();
}

/* --- the figures --- */

struct figures {
    double side[2][REPETITIONS]; /* ns a KB, or a message */
    double rate[REPETITIONS];    /* Gbit/s, or M/s, of the slower side */
};

static struct figures figures[array_len(rows)];

static bool is_small(const struct row *row)
{
    return row->load.bytes < 1024;
}

static uint32_t mtu_bytes; /* of the interfaces */

static bool is_chosen(const struct row *row, int words, char **word)
{
    if (nornic_mtu_bytes(row->load.pmtu) + OVERHEAD_BYTES > mtu_bytes)
        return false;
    for (int i = 0; i < words; i++)
        if (strstr(row->load.name, word[i]))
            return true;
    return words == 0 || row->kind != KIND_NORNIC;
}

static void measure(const struct row *row, struct figures *f, unsigned r)
{
    struct took took = run_row(row);
    double unit = is_small(row) ? took.amount : took.amount / 1000;
    for (int i = 0; i < 2; i++)
        f->side[i][r] = (double)took.side_ns[i] / unit;
    double slower_ns = (double)max_u64(took.side_ns[0], took.side_ns[1]);
    f->rate[r] = took.amount / slower_ns * (is_small(row) ? 1000 : 8);
}

/* The median of the ratios to row `to`, repetition by repetition. */
static double ratio(const struct figures *f, size_t to)
{
    double ratios[REPETITIONS];
    for (unsigned r = 0; r < REPETITIONS; r++)
        ratios[r] = f->rate[r] / figures[to].rate[r];
    return median(ratios, REPETITIONS);
}

/* The blaster with packets as long. */
static size_t raw_of(const struct row *row)
{
    for (size_t i = 0; i < array_len(rows); i++)
        if (rows[i].kind == KIND_RAW && rows[i].load.pmtu == row->load.pmtu)
            return i;
    return 0;
}

/* A line of the table, or of JSON. */
static void print_row(size_t i, bool json)
{
    const struct row *row = &rows[i];
    struct figures f = figures[i]; /* median() sorts */
    bool compares = row->kind == KIND_NORNIC && !is_small(row);
    double to_tcp = ratio(&f, 0), to_raw = ratio(&f, raw_of(row));
    double side[2] = {median(f.side[0], REPETITIONS), median(f.side[1], REPETITIONS)};
    double rate = median(f.rate, REPETITIONS);
    const char *unit = is_small(row) ? "M/s" : "Gbit/s";
    if (json) {
        printf("{\"what\":\"%s\",\"side_ns\":[%.1f,%.1f],\"rate\":%.2f,\"unit\":\"%s\"", row->load.name,
               side[0], side[1], rate, unit);
        if (compares)
            printf(",\"to_tcp\":%.2f,\"to_raw\":%.2f", to_tcp, to_raw);
        puts("}");
        return;
    }
    printf("%-18s %7.1f ns %7.1f ns %9.2f %-6s", row->load.name, side[0], side[1], rate, unit);
    if (compares)
        printf(" %7.2f %7.2f", to_tcp, to_raw);
    putchar('\n');
}

int main(int argc, char **argv)
{
    bool json = argc > 1 && strcmp(argv[1], "--json") == 0;
    argc -= json;
    argv += json;
    if (argc < 3) {
        fprintf(stderr, "usage: datagrams [--json] NETNS_0 NETNS_1 [WORD...]\n");
        return 2;
    }
    struct net_interface interface;
    struct nornic_error why;
    netns[0] = argv[1];
    netns[1] = argv[2];
    enter_netns(netns[0]);
    check(net_interface_get("nn0", &interface, &why), "interface");
    mtu_bytes = interface.mtu_bytes;
    for (unsigned r = 0; r < REPETITIONS; r++)
        for (size_t i = 0; i < array_len(rows); i++)
            if (is_chosen(&rows[i], argc - 3, argv + 3))
                measure(&rows[i], &figures[i], r);
    if (!json)
        printf("%-18s %10s %10s %16s %7s %7s\n", "", "side 0", "side 1", "slower side", "to TCP", "to raw");
    for (size_t i = 0; i < array_len(rows); i++)
        if (is_chosen(&rows[i], argc - 3, argv + 3))
            print_row(i, json);
    return 0;
}
