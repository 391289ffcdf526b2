/* SPDX-License-Identifier: BSD-2-Clause */
/* Two devices of one process with a port each and connected queue pairs, driven by one thread: what
 * bench/trains.c and bench/datagrams.c measure with. */
#ifndef NORNIC_BENCH_PAIR_H
#define NORNIC_BENCH_PAIR_H

#include <time.h>

#include "base/base.h"
#include "bench/engine.h"
#include "net/port.h"
#include "rdma/mem.h"

#define DEPTH_MAX 256u
#define QPS_MAX   16u

/* Of processor time; a system call. */
static inline uint64_t clock_ns(void)
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
    struct roce_qp *qps[QPS_MAX];
    uint8_t *memory;
    uint32_t memory_bytes;
    uint64_t random;
};

/* Two devices, a cable, and connected queue pairs. */
struct pair {
    struct side side[2];
    unsigned qps;
    unsigned next_qp; /* of side 0, for the next message */
    uint32_t next_at; /* in the memory of both, of the next message */
};

/* What is measured: messages of `bytes`, `depth` of them under way, on all queue pairs together. */
struct load {
    const char *name;
    enum nornic_wr_opcode opcode;
    enum nornic_mtu pmtu;
    uint32_t bytes, depth;
    unsigned qps; /* 0: one */
    bool is_v6;
};

static inline struct nornic_gid gid_of(const struct load *load, int side)
{
    return load->is_v6 ? bench_gid_v6(side) : bench_gid(side);
}

/* The device of side `i` and what its messages need. `s->port` is there, and is the side's from now on. */
static inline void open_side(struct side *s, int i, const struct load *load, unsigned qps,
                             uint32_t memory_bytes)
{
    s->random = bench_seed(i);
    struct roce_dev_config config = {.random = {.next = bench_random, .ctx = &s->random},
                                     .port_mtu_bytes = s->port->limits.mtu_bytes,
                                     .udp_socket = s->port->limits.is_udp_socket};
    check(roce_dev_create(&config, &s->dev), "device");
    struct nornic_gid gid = gid_of(load, i);
    roce_dev_gid_add(s->dev, &gid);
    s->memory_bytes = memory_bytes;
    s->memory = malloc(memory_bytes);
    check(s->memory ? 0 : -ENOMEM, "memory");
    memset(s->memory, 1, memory_bytes);
    check(rdma_pd_create(roce_dev_domain(s->dev), &s->pd), "protection domain");
    check(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 4 * DEPTH_MAX}, &s->cq),
          "completion queue");
    check(rdma_mr_reg(s->pd, s->memory, memory_bytes, NORNIC_ACCESS_LOCAL_WRITE | BENCH_REMOTE, &s->mr),
          "region");
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {
            .max_send_wr = DEPTH_MAX, .max_recv_wr = 2 * DEPTH_MAX, .max_send_sge = 1, .max_recv_sge = 1}};
    for (unsigned q = 0; q < qps; q++)
        check(roce_qp_create(s->dev, &qp, &s->qps[q]), "queue pair");
}

/* Opens side `i` of both on its port and connects them. */
static inline void open_pair(struct pair *p, struct net_port *ports[2], uint32_t memory_bytes,
                             const struct load *load)
{
    *p = (struct pair){.qps = load->qps ? load->qps : 1};
    for (int i = 0; i < 2; i++) {
        p->side[i].port = ports[i];
        open_side(&p->side[i], i, load, p->qps, memory_bytes);
    }
    for (unsigned q = 0; q < 2 * p->qps; q++) {
        const struct nornic_gid to = gid_of(load, !(q % 2));
        bench_connect_to(p->side[q % 2].qps[q / 2], &to, roce_qp_num(p->side[!(q % 2)].qps[q / 2]),
                         load->pmtu, 16, clock_ns());
    }
}

static inline void close_pair(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        struct side *s = &p->side[i];
        for (unsigned q = 0; q < p->qps; q++)
            roce_qp_destroy(s->qps[q]);
        check(rdma_mr_dereg(s->mr), "region");
        check(rdma_cq_destroy(s->cq), "completion queue");
        check(rdma_pd_destroy(s->pd), "protection domain");
        check(roce_dev_destroy(s->dev), "device");
        net_port_close(s->port);
        free(s->memory);
    }
}

/* The first half of what a driver of a device does in a round: frames in, timers. */
static inline void take_in(struct side *s, uint64_t now_ns)
{
    struct net_frame frames[NET_BURST];
    unsigned n = net_port_rx_burst(s->port, frames, NET_BURST, now_ns);
    if (n) {
        roce_dev_rx(s->dev, frames, n, now_ns);
        net_port_rx_release(s->port, frames, n);
    }
    if (roce_dev_deadline_ns(s->dev) <= now_ns)
        roce_dev_expire(s->dev, now_ns);
}

/* The second: frames out, in bursts of `most` buffers. */
static inline void give_out(struct side *s, unsigned most, uint64_t now_ns)
{
    struct net_frame frames[NET_BURST];
    for (unsigned bursts = 0; bursts < 4 && roce_dev_tx_pending(s->dev); bursts++) {
        unsigned n = net_port_tx_reserve_trains(s->port, frames, most, s->port->limits.train_tx_bytes);
        if (n == 0)
            return;
        unsigned used = roce_dev_tx(s->dev, frames, n, now_ns);
        net_port_tx_flush(s->port, frames, used, now_ns);
    }
}

static inline void progress(struct side *s, uint64_t now_ns)
{
    take_in(s, now_ns);
    give_out(s, NET_BURST, now_ns);
}

/* Posts a message of side 0, whose queue pairs take turns. Messages go through the memory of both, one behind
 * the other, and begin anew. */
static inline void post(struct pair *p, const struct load *load)
{
    struct side *from = &p->side[0], *to = &p->side[1];
    uint32_t at = p->next_at + load->bytes <= from->memory_bytes ? p->next_at : 0;
    struct nornic_sge local = {(uintptr_t)from->memory + at, load->bytes, from->mr->lkey};
    struct nornic_sge remote = {(uintptr_t)to->memory + at, load->bytes, to->mr->lkey};
    unsigned q = p->next_qp;
    p->next_at = at + load->bytes;
    p->next_qp = (q + 1) % p->qps;
    struct nornic_send_wr wr = {.sg_list = &local,
                                .num_sge = 1,
                                .opcode = load->opcode,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = to->mr->iova + at,
                                .rkey = to->mr->rkey};
    struct nornic_recv_wr recv = {.sg_list = &remote, .num_sge = 1};
    if (load->opcode == NORNIC_WR_SEND)
        check(roce_post_recv(to->qps[q], &recv, NULL), "receive");
    check(roce_post_send(from->qps[q], &wr, NULL), "post");
}

/* How many completions there are; each must be good. */
static inline uint64_t reap(struct rdma_cq *cq)
{
    struct nornic_wc wc[32];
    uint64_t done = 0;
    for (int n; (n = rdma_cq_poll(cq, wc, 32)) > 0; done += (uint64_t)n)
        for (int i = 0; i < n; i++)
            check(wc[i].status == NORNIC_WC_SUCCESS ? 0 : -5, "completion");
    return done;
}

static inline int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Of `n` values, which it sorts. */
static inline double median(double *values, unsigned n)
{
    qsort(values, n, sizeof *values, by_size);
    return values[n / 2];
}

#endif
