/* SPDX-License-Identifier: BSD-2-Clause */
/* What trains are worth to the engine alone: two devices of one process on the memory port, with trains and
 * without, in one thread. No kernel is below, whose cost a frame is what trains save a real port; here they
 * save what the engine and the port pay for a frame. Time is the processor's, which other work on the machine
 * does not use up. Each repetition measures both, one right after the other; the figures are medians, the
 * ratio that of the pairs.
 * */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <time.h>

#include "base/base.h"
#include "bench/engine.h"
#include "net/memory.h"
#include "rdma/mem.h"

#define PAIRS          15u
#define RUN_NS         (40 * NS_PER_MS)
#define MEMORY_BYTES   (1u << 20)
#define MTU_BYTES      4200u
#define RING_FRAMES    64u
#define RING_TRAINS    8u /* as many bytes as the frames have, or the trains would leave the cache */
#define TRAIN_BYTES    65553u
#define TRAIN_PKTS     64u
#define ROUNDS_A_CLOCK 16u
#define DEPTH_MAX      256u

/* Of processor time; a system call. */
static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

struct side {
    struct net_port *port;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    uint8_t *memory;
    uint64_t random;
};

/* Two devices, a cable, and a connected queue pair each. */
struct pair {
    struct side side[2];
};

/* What is measured: messages of `bytes`, `depth` of them under way. */
struct load {
    const char *name;
    enum nornic_wr_opcode opcode;
    enum nornic_mtu pmtu;
    uint32_t bytes, depth;
};

static const struct load loads[] = {
    {"WRITE, 1 MiB, path MTU 4096", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_4096, 1u << 20, 4},
    {"WRITE, 1 MiB, path MTU 1024", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 1u << 20, 4},
    {"READ, 1 MiB, path MTU 1024", NORNIC_WR_RDMA_READ, NORNIC_MTU_1024, 1u << 20, 4},
    {"SEND, 64 KiB, path MTU 1024", NORNIC_WR_SEND, NORNIC_MTU_1024, 65536, 16},
    {"SEND, 64 bytes", NORNIC_WR_SEND, NORNIC_MTU_1024, 64, DEPTH_MAX},
    {"WRITE, 64 bytes", NORNIC_WR_RDMA_WRITE, NORNIC_MTU_1024, 64, DEPTH_MAX},
};

static void open_side(struct side *s, int i)
{
    s->random = bench_seed(i);
    struct roce_dev_config config = {.random = {.next = bench_random, .ctx = &s->random},
                                     .port_mtu_bytes = MTU_BYTES};
    check(roce_dev_create(&config, &s->dev), "device");
    struct nornic_gid gid = bench_gid(i);
    roce_dev_gid_add(s->dev, &gid);
    s->memory = calloc(1, MEMORY_BYTES);
    check(s->memory ? 0 : -12, "memory");
    check(rdma_pd_create(roce_dev_domain(s->dev), &s->pd), "protection domain");
    check(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 4 * DEPTH_MAX}, &s->cq),
          "completion queue");
    check(rdma_mr_reg(s->pd, s->memory, MEMORY_BYTES, NORNIC_ACCESS_LOCAL_WRITE | BENCH_REMOTE, &s->mr),
          "region");
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {
            .max_send_wr = DEPTH_MAX, .max_recv_wr = 2 * DEPTH_MAX, .max_send_sge = 1, .max_recv_sge = 1}};
    check(roce_qp_create(s->dev, &qp, &s->qp), "queue pair");
}

static void open_pair(struct pair *p, enum nornic_mtu pmtu, int trains)
{
    struct net_port *ends[2];
    const struct net_memory_trains of_trains = {.mtu_bytes = MTU_BYTES,
                                                .ring_frames = RING_TRAINS,
                                                .train_bytes = TRAIN_BYTES,
                                                .train_pkts = TRAIN_PKTS};
    check(trains ? net_memory_pair_trains(&of_trains, ends) : net_memory_pair(MTU_BYTES, RING_FRAMES, ends),
          "memory port");
    for (int i = 0; i < 2; i++) {
        p->side[i].port = ends[i];
        open_side(&p->side[i], i);
    }
    for (int i = 0; i < 2; i++)
        bench_connect(p->side[i].qp, i, roce_qp_num(p->side[!i].qp), pmtu, 16, clock_ns());
}

static void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = &p->side[i];
        roce_qp_destroy(s->qp);
        check(rdma_mr_dereg(s->mr), "region");
        check(rdma_cq_destroy(s->cq), "completion queue");
        check(rdma_pd_destroy(s->pd), "protection domain");
        check(roce_dev_destroy(s->dev), "device");
        net_port_close(s->port);
        free(s->memory);
    }
}

static void progress(struct side *s, uint64_t now_ns)
{
    struct net_frame frames[NET_BURST];
    unsigned n = net_port_rx_burst(s->port, frames, NET_BURST, now_ns);
    if (n) {
        roce_dev_rx(s->dev, frames, n, now_ns);
        net_port_rx_release(s->port, frames, n);
    }
    if (roce_dev_deadline_ns(s->dev) <= now_ns)
        roce_dev_expire(s->dev, now_ns);
    if (!roce_dev_tx_pending(s->dev))
        return;
    n = net_port_tx_reserve_trains(s->port, frames, NET_BURST, s->port->limits.train_tx_bytes);
    if (n == 0)
        return;
    unsigned used = roce_dev_tx(s->dev, frames, n, now_ns);
    net_port_tx_flush(s->port, frames, used, now_ns);
}

static void post(struct pair *p, const struct load *load)
{
    struct side *from = &p->side[0], *to = &p->side[1];
    struct nornic_sge local = {(uintptr_t)from->memory, load->bytes, from->mr->lkey};
    struct nornic_sge remote = {(uintptr_t)to->memory, load->bytes, to->mr->lkey};
    struct nornic_send_wr wr = {.sg_list = &local,
                                .num_sge = 1,
                                .opcode = load->opcode,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = to->mr->iova,
                                .rkey = to->mr->rkey};
    struct nornic_recv_wr recv = {.sg_list = &remote, .num_sge = 1};
    if (load->opcode == NORNIC_WR_SEND)
        check(roce_post_recv(to->qp, &recv, NULL), "receive");
    check(roce_post_send(from->qp, &wr, NULL), "post");
}

/* How many completions there are; each must be good. */
static uint64_t reap(struct rdma_cq *cq)
{
    struct nornic_wc wc[32];
    uint64_t done = 0;
    for (int n; (n = rdma_cq_poll(cq, wc, 32)) > 0; done += (uint64_t)n)
        for (int i = 0; i < n; i++)
            check(wc[i].status == NORNIC_WC_SUCCESS ? 0 : -5, "completion");
    return done;
}

/* Messages a second. */
static double measure(const struct load *load, int trains)
{
    struct pair p = {0};
    open_pair(&p, load->pmtu, trains);
    uint64_t start_ns = clock_ns(), now_ns = start_ns, done = 0;
    unsigned rounds = 0;
    for (uint32_t i = 0; i < load->depth; i++)
        post(&p, load);
    while (now_ns - start_ns < RUN_NS) {
        for (int i = 0; i < 2; i++)
            progress(&p.side[i], now_ns);
        uint64_t n = reap(p.side[0].cq);
        reap(p.side[1].cq);
        done += n;
        while (n--)
            post(&p, load);
        if (++rounds % ROUNDS_A_CLOCK == 0)
            now_ns = clock_ns();
    }
    close_pair(&p);
    return (double)done * (double)NS_PER_S / (double)(now_ns - start_ns);
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values)
{
    qsort(values, PAIRS, sizeof *values, by_size);
    return values[PAIRS / 2];
}

int main(void)
{
    printf(
        "Two devices on the memory port, a second of one processor; medians of %u pairs of runs of %u ms\n\n",
        PAIRS, (unsigned)(RUN_NS / NS_PER_MS));
    printf("%-30s  %16s  %16s  %6s\n", "", "single frames", "trains", "ratio");
    for (size_t l = 0; l < array_len(loads); l++) {
        double single[PAIRS], trains[PAIRS], ratio[PAIRS];
        for (unsigned i = 0; i < PAIRS; i++) {
            single[i] = measure(&loads[l], 0);
            trains[i] = measure(&loads[l], 1);
            ratio[i] = trains[i] / single[i];
        }
        int is_rate = loads[l].bytes < 1024;
        double scale = is_rate ? 1e-6 : loads[l].bytes * 8e-9;
        const char *unit = is_rate ? "M/s" : "Gbit/s";
        printf("%-30s  %9.2f %-6s  %9.2f %-6s  %6.2f\n", loads[l].name, median(single) * scale, unit,
               median(trains) * scale, unit, median(ratio));
    }
    return 0;
}
