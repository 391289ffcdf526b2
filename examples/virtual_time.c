/* SPDX-License-Identifier: BSD-2-Clause */
/* The engine alone, in virtual time: two devices, a wire of 5 ms that loses every fifth frame, and a
 * clock that jumps to whatever comes next. Nothing waits and nothing is random, so seconds of protocol
 * take milliseconds and each run is the same: that is how to test what is built on it, and how to look
 * into it.
 *
 *     cc virtual_time.c $(pkg-config --cflags --libs nornic) && ./a.out */
#include <errno.h>
#include <inttypes.h>
#include <nornic/engine.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WIRE_NS     UINT64_C(5000000)
#define LOSE_EVERY  5
#define FRAME_BYTES 1600
#define MTU_BYTES   1500
#define DATA_BYTES  20000
#define MAX_FLYING  64

/* One end, and what it has. */
struct end {
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    uint8_t memory[DATA_BYTES];
};

/* A frame between the ends; the oldest is the next to arrive, as all take the same time. */
struct flying {
    int to;
    uint64_t arrives_ns;
    uint32_t len_bytes;
    uint8_t bytes[FRAME_BYTES];
};

static struct {
    struct flying frames[MAX_FLYING];
    unsigned count, sent, lost;
} wire;

static void check(int err, const char *what)
{
    if (err) {
        fprintf(stderr, "%s: %s\n", what, strerror(-err));
        exit(1);
    }
}

/* --- two connected ends --- */

static uint64_t next_random(void *ctx)
{
    uint64_t *state = ctx; /* an LCG will do: the engine only wants keys and PSNs of it */
    return *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
}

static struct nornic_gid gid_of(int side)
{
    const uint8_t v4[4] = {10, 0, 0, (uint8_t)(side + 1)};
    return (struct nornic_gid){.addr = nornic_addr_from_v4(v4),
                               .mac = {{2, 0, 0, 0, 0, (uint8_t)(side + 1)}}};
}

static void create(struct end *e, int side)
{
    static uint64_t seeds[2] = {1, 2};
    const struct nornic_gid gid = gid_of(side);
    const uint32_t rights = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE;
    struct roce_dev_config config = {.random = {next_random, &seeds[side]}, .port_mtu_bytes = MTU_BYTES};
    check(roce_dev_create(&config, &e->dev), "device");
    check(roce_dev_gid_add(e->dev, &gid) < 0 ? -EINVAL : 0, "address");
    check(rdma_pd_create(roce_dev_domain(e->dev), &e->pd), "protection domain");
    check(rdma_mr_reg(e->pd, e->memory, sizeof e->memory, rights, &e->mr), "region");
    struct rdma_cq_config cq = {.capacity = 16};
    check(rdma_cq_create(&rdma_mem_libc, &cq, &e->cq), "completion queue");
    struct roce_qp_config qp = {.type = NORNIC_QPT_RC,
                                .pd = e->pd,
                                .send_cq = e->cq,
                                .recv_cq = e->cq,
                                .caps = {.max_send_wr = 4, .max_send_sge = 1}};
    check(roce_qp_create(e->dev, &qp, &e->qp), "queue pair");
}

static void connect_to(struct end *e, const struct end *peer, int peer_side, uint64_t now_ns)
{
    const struct nornic_gid gid = gid_of(peer_side);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_INIT,
                                  .access_flags = NORNIC_ACCESS_REMOTE_WRITE,
                                  .port = 1,
                                  .av = {.dgid = gid.addr, .hop_limit = 64, .dst_mac = gid.mac},
                                  .path_mtu = NORNIC_MTU_1024,
                                  .timeout = 14,
                                  .retry_cnt = 7,
                                  .rnr_retry = 7,
                                  .dest_qpn = roce_qp_num(peer->qp)};
    check(roce_qp_modify(e->qp, &attr,
                         NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
                         now_ns),
          "INIT");
    attr.state = NORNIC_QPS_RTR;
    check(roce_qp_modify(e->qp, &attr,
                         NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN |
                             NORNIC_QP_RQ_PSN | NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER,
                         now_ns),
          "RTR");
    attr.state = NORNIC_QPS_RTS;
    check(roce_qp_modify(e->qp, &attr,
                         NORNIC_QP_STATE | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
                             NORNIC_QP_SQ_PSN | NORNIC_QP_MAX_QP_RD_ATOMIC,
                         now_ns),
          "RTS");
}

static void destroy(struct end *e)
{
    check(roce_qp_destroy(e->qp), "queue pair");
    check(rdma_cq_destroy(e->cq), "completion queue");
    check(rdma_mr_dereg(e->mr), "region");
    check(rdma_pd_destroy(e->pd), "protection domain");
    check(roce_dev_destroy(e->dev), "device");
}

/* --- the world around them: a wire and a clock --- */

/* What the device of `side` has to send leaves now; the wire loses some of it. */
static void transmit(struct end *e, int side, uint64_t now_ns)
{
    while (roce_dev_tx_pending(e->dev) && wire.count < MAX_FLYING) {
        struct flying *f = &wire.frames[wire.count];
        struct net_frame frame = {.data = f->bytes, .cap_bytes = sizeof f->bytes};
        if (roce_dev_tx(e->dev, &frame, 1, now_ns) == 0)
            break;
        if (++wire.sent % LOSE_EVERY == 0) {
            wire.lost++;
            continue;
        }
        f->to = 1 - side;
        f->len_bytes = frame.len_bytes;
        f->arrives_ns = now_ns + WIRE_NS;
        wire.count++;
    }
}

static void deliver_due(struct end ends[2], uint64_t now_ns)
{
    while (wire.count && wire.frames[0].arrives_ns <= now_ns) {
        struct flying *f = &wire.frames[0];
        const struct net_frame frame = {.data = f->bytes, .len_bytes = f->len_bytes};
        roce_dev_rx(ends[f->to].dev, &frame, 1, now_ns);
        memmove(f, f + 1, --wire.count * sizeof *f);
    }
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* One step of the world: what is due at `now_ns` happens; returns when something is due next. */
static uint64_t step(struct end ends[2], uint64_t now_ns)
{
    deliver_due(ends, now_ns);
    for (int side = 0; side < 2; side++) {
        if (roce_dev_deadline_ns(ends[side].dev) <= now_ns)
            roce_dev_expire(ends[side].dev, now_ns);
        transmit(&ends[side], side, now_ns);
    }
    uint64_t timers_ns = earlier(roce_dev_deadline_ns(ends[0].dev), roce_dev_deadline_ns(ends[1].dev));
    return wire.count ? earlier(wire.frames[0].arrives_ns, timers_ns) : timers_ns;
}

int main(void)
{
    static struct end ends[2];
    uint64_t now_ns = 0;
    struct nornic_wc wc;
    for (int side = 0; side < 2; side++)
        create(&ends[side], side);
    for (int side = 0; side < 2; side++)
        connect_to(&ends[side], &ends[1 - side], 1 - side, now_ns);
    for (unsigned i = 0; i < DATA_BYTES; i++)
        ends[0].memory[i] = (uint8_t)(i % 251);

    const struct nornic_sge piece = {(uintptr_t)ends[0].memory, DATA_BYTES, ends[0].mr->lkey};
    const struct nornic_send_wr wr = {.sg_list = &piece,
                                      .num_sge = 1,
                                      .opcode = NORNIC_WR_RDMA_WRITE,
                                      .send_flags = NORNIC_SEND_SIGNALED,
                                      .remote_addr = ends[1].mr->iova,
                                      .rkey = ends[1].mr->rkey};
    check(roce_post_send(ends[0].qp, &wr, NULL), "post");
    for (uint64_t next_ns = 0; rdma_cq_poll(ends[0].cq, &wc, 1) == 0; next_ns = step(ends, now_ns)) {
        check(next_ns == NET_TIME_NONE ? -EIO : 0, "nothing is due, and the WRITE is not complete");
        now_ns = next_ns > now_ns ? next_ns : now_ns;
    }
    const struct roce_counters *counters = roce_qp_counters(ends[0].qp);
    printf("%s after %" PRIu64 " ms of virtual time: %u frames sent, %u lost, %" PRIu64 " sent again\n",
           nornic_wc_status_name(wc.status), now_ns / 1000000, wire.sent, wire.lost,
           counters->retransmitted_pkts);
    const int differs = memcmp(ends[0].memory, ends[1].memory, DATA_BYTES);
    for (int side = 0; side < 2; side++)
        destroy(&ends[side]);
    return differs || wc.status != NORNIC_WC_SUCCESS;
}
