/* SPDX-License-Identifier: BSD-2-Clause */
/* What idle queue pairs cost: nanoseconds a packet and a timeout with 1, 100 and 10,000 of them on a device,
 * and bytes a queue pair. Two devices in one process hand each other their frames, so only the engine is
 * measured. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <time.h>

#include "base/base.h"
#include "bench/engine.h"

#define MAX_QPS 10000u
/* Of each measurement; the figure is the least, as what other work on the machine adds is not ours. */
#define ROUNDS       1000u
#define ITERS        500u
#define MSG_BYTES    64u
#define BUFFER_BYTES 4400u

/* --- an allocator that counts --- */

static size_t live_bytes;

static void *counting_alloc(void *ctx, size_t len_bytes)
{
    (void)ctx;
    size_t *p = calloc(1, len_bytes + 2 * sizeof *p);
    if (!p)
        return NULL;
    *p = len_bytes;
    live_bytes += len_bytes;
    return p + 2;
}

static void counting_free(void *ctx, void *p)
{
    (void)ctx;
    size_t *block = (size_t *)p - 2;
    live_bytes -= *block;
    free(block);
}

static const struct rdma_mem mem = {.alloc = counting_alloc, .free = counting_free};

/* --- two devices --- */

struct side {
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qps[MAX_QPS];
    uint8_t data[MSG_BYTES];
    uint64_t random;
};

static struct side sides[2];
static uint64_t now_ns = 1000000000;

static uint64_t clock_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void open_side(int i)
{
    struct side *s = &sides[i];
    s->random = bench_seed(i);
    struct roce_dev_config config = {
        .mem = &mem, .random = {.next = bench_random, .ctx = &s->random}, .port_mtu_bytes = 1500};
    check(roce_dev_create(&config, &s->dev), "device");
    struct nornic_gid gid = bench_gid(i);
    roce_dev_gid_add(s->dev, &gid);
    check(rdma_pd_create(roce_dev_domain(s->dev), &s->pd), "protection domain");
    check(rdma_cq_create(&mem, &(struct rdma_cq_config){.capacity = 1024}, &s->cq), "completion queue");
    check(rdma_mr_reg(s->pd, s->data, sizeof s->data, NORNIC_ACCESS_LOCAL_WRITE | BENCH_REMOTE, &s->mr),
          "region");
}

static struct roce_qp *make_qp(int i, enum nornic_qp_type type, uint32_t wrs)
{
    struct side *s = &sides[i];
    struct roce_qp_config config = {
        .type = type,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {.max_send_wr = wrs, .max_recv_wr = wrs, .max_send_sge = 1, .max_recv_sge = 1}};
    struct roce_qp *qp;
    check(roce_qp_create(s->dev, &config, &qp), "queue pair");
    return qp;
}

/* Moves what `from` has to send to the other side, or nowhere. Returns the frames. */
static unsigned move(int from, int lose)
{
    static uint8_t buffers[16][BUFFER_BYTES];
    struct net_frame bufs[16];
    for (unsigned i = 0; i < 16; i++)
        bufs[i] = (struct net_frame){.data = buffers[i], .cap_bytes = BUFFER_BYTES};
    unsigned n = roce_dev_tx(sides[from].dev, bufs, 16, now_ns);
    if (!lose)
        roce_dev_rx(sides[!from].dev, bufs, n, now_ns);
    return n;
}

static void post(struct roce_qp *qp)
{
    struct nornic_sge sge = {(uintptr_t)sides[0].data, MSG_BYTES, sides[0].mr->lkey};
    struct nornic_send_wr wr = {.sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = sides[1].mr->iova,
                                .rkey = sides[1].mr->rkey};
    check(roce_post_send(qp, &wr, NULL), "post");
}

/* One WRITE and its ACK: two packets, each built once and taken once. */
static void exchange(struct roce_qp *qp, int lose_first)
{
    struct nornic_wc wc;
    post(qp);
    move(0, lose_first);
    if (lose_first) {
        now_ns = roce_dev_deadline_ns(sides[0].dev);
        roce_dev_expire(sides[0].dev, now_ns);
        move(0, 0);
    }
    move(1, 0);
    now_ns += 1000;
    if (rdma_cq_poll(sides[0].cq, &wc, 1) != 1 || wc.status != NORNIC_WC_SUCCESS) {
        fprintf(stderr, "scale: an operation did not complete\n");
        exit(1);
    }
}

/* Nanoseconds an exchange, the QPs 0..turns-1 taking turns. */
static double measure(uint32_t turns, int lose_first)
{
    uint64_t least_ns = UINT64_MAX;
    uint32_t next = 0;
    for (unsigned round = 0; round < ROUNDS; round++) {
        uint64_t start = clock_ns();
        for (uint32_t i = 0; i < ITERS; i++)
            exchange(sides[0].qps[next++ % turns], lose_first);
        uint64_t took_ns = clock_ns() - start;
        least_ns = took_ns < least_ns ? took_ns : least_ns;
    }
    return (double)least_ns / ITERS;
}

static void measure_time(void)
{
    static const uint32_t counts[] = {1, 100, MAX_QPS};
    uint32_t made = 0;
    printf("Queue pairs on each of two devices, WRITEs of %u bytes one by one; ns, the least of %u\n\n",
           MSG_BYTES, ROUNDS);
    printf("%10s  %20s  %22s  %25s\n", "QPs", "a packet, one active", "a timeout, one active",
           "a packet, all take turns");
    for (unsigned c = 0; c < array_len(counts); c++) {
        for (; made < counts[c]; made++) {
            for (int i = 0; i < 2; i++)
                sides[i].qps[made] = make_qp(i, NORNIC_QPT_RC, 16);
            for (int i = 0; i < 2; i++)
                bench_connect(sides[i].qps[made], i, roce_qp_num(sides[!i].qps[made]), NORNIC_MTU_1024, 1,
                              now_ns);
        }
        move(0, 0); /* fresh QPs are looked at once */
        while (roce_dev_tx_pending(sides[0].dev) || roce_dev_tx_pending(sides[1].dev))
            move(0, 0), move(1, 0);
        double quiet = measure(1, 0), lossy = measure(1, 1), all = measure(made, 0);
        printf("%10u  %20.0f  %22.0f  %25.0f\n", made, quiet / 2, lossy - quiet, all / 2);
    }
    for (uint32_t q = 0; q < made; q++)
        for (int i = 0; i < 2; i++)
            roce_qp_destroy(sides[i].qps[q]);
}

static void print_memory(const char *what, enum nornic_qp_type type, uint32_t wrs, uint8_t rd_atomic)
{
    size_t before = live_bytes;
    struct roce_qp *qp = make_qp(0, type, wrs);
    if (type == NORNIC_QPT_RC)
        bench_connect(qp, 0, 17, NORNIC_MTU_1024, rd_atomic, now_ns);
    printf("%-52s %8zu\n", what, live_bytes - before);
    roce_qp_destroy(qp);
}

int main(void)
{
    size_t before = live_bytes;
    open_side(0);
    size_t device_bytes = live_bytes - before;
    open_side(1);
    measure_time();
    printf("\nBytes of memory\n\n");
    print_memory("RC, 16 + 16 WQEs of one SGE, 1 READ or atomic", NORNIC_QPT_RC, 16, 1);
    print_memory("RC, 128 + 128 WQEs of one SGE, 16 READs or atomics", NORNIC_QPT_RC, 128, 16);
    print_memory("UC, 16 + 16 WQEs of one SGE", NORNIC_QPT_UC, 16, 0);
    printf("%-52s %8zu\n", "a device for 16384 QPs and 65536 regions", device_bytes);
    for (int i = 0; i < 2; i++) {
        check(rdma_mr_dereg(sides[i].mr), "region");
        check(rdma_cq_destroy(sides[i].cq), "completion queue");
        check(rdma_pd_destroy(sides[i].pd), "protection domain");
        check(roce_dev_destroy(sides[i].dev), "device");
    }
    return live_bytes == 0 ? 0 : 1;
}
