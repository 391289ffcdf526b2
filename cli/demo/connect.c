/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "cli/demo/side.h"
#include "cli/node/pattern.h"
#include "host/event/events.h"
#include "net/bytes.h"
#include "net/impair.h"

#define QP_TIMEOUT      14 /* 67 ms (ROCE-RC-41): seven retries outlast a CPU that is away for a while */
#define QP_RD_ATOMIC    16
#define RNR_TIMER_064MS 12 /* ROCE-HDR-22 */
#define RESOLVE_NS      3000000000u

static bool open_device(struct demo_side *side, struct net_port *memory, bool shown)
{
    const struct demo_plan *plan = side->plan;
    struct host_dev_config config = {
        .port = plan->port[side->role],
        .no_thread = true,
    };
    struct nornic_error why = {""};

    /* One side is enough: impairment acts on what is sent and on what is received. */
    if (side->role == DEMO_A) {
        config.impair.loss_ppm = plan->loss_ppm;
        config.impair.seed = plan->seed + !shown;
        config.capture_path = shown && plan->capture[0] ? plan->capture : NULL;
    }
    if (shown) {
        config.trace = ladder_record;
        config.trace_ctx = demo_board_log(side->board, side->role);
    }
    int err = memory ? host_dev_create_on(memory, &config, &side->dev, &why)
                     : host_dev_open(&config, &side->dev, &why);
    if (err)
        return demo_side_fail(side, "%s", why.text);
    side->engine = host_dev_engine(side->dev);
    snprintf(side->result->mode, sizeof side->result->mode, "%s: %s", host_dev_port(side->dev)->name,
             host_dev_port(side->dev)->mode);
    if (memory) {
        struct nornic_mac mac = {{2, 0, 0, 0, 0, (uint8_t)(side->role + 1)}};
        struct nornic_gid gid = {.addr = plan->addr[side->role], .mac = mac};
        host_dev_lock(side->dev);
        err = roce_dev_gid_add(side->engine, &gid);
        host_dev_unlock(side->dev);
        if (err < 0)
            return demo_side_fail(side, "cannot add an address to the device: %s", strerror(-err));
    }
    return true;
}

static bool register_memory(struct demo_side *side)
{
    const struct demo_plan *plan = side->plan;
    uint64_t sample = 2ull * DEMO_SAMPLE_DEPTH * DEMO_SAMPLE_PKTS * plan->pmtu_bytes;
    uint64_t bulk = 2ull * plan->depth * plan->size_bytes;
    uint32_t all = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ |
                   NORNIC_ACCESS_REMOTE_ATOMIC;

    uint64_t places = bulk > sample ? bulk : sample;
    uint32_t sample_bytes = DEMO_SAMPLE_PKTS * plan->pmtu_bytes;

    /* Twice as many receives as A has messages under way: B's program may be late by as many. */
    side->receive_count = 2 * (plan->depth > DEMO_SAMPLE_DEPTH ? plan->depth : DEMO_SAMPLE_DEPTH);
    side->message_bytes = plan->size_bytes > sample_bytes ? plan->size_bytes : sample_bytes;
    side->memory_bytes = DEMO_DATA_OFFSET + places + (uint64_t)side->receive_count * side->message_bytes;
    void *p = mmap(NULL, side->memory_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED)
        return demo_side_fail(side, "no memory for buffers of %llu bytes: choose a smaller --size",
                              (unsigned long long)side->memory_bytes);
    side->memory = p;
    side->receives = side->memory + DEMO_DATA_OFFSET + places;
    if (rdma_mr_reg(side->pd, side->memory, side->memory_bytes, all, &side->mr) != 0)
        return demo_side_fail(side, "cannot register %llu bytes", (unsigned long long)side->memory_bytes);
    return true;
}

static bool create_objects(struct demo_side *side)
{
    struct rdma_cq_config cq = {.capacity = 4 * DEMO_MAX_DEPTH};
    if (rdma_pd_create(roce_dev_domain(side->engine), &side->pd) != 0 ||
        rdma_cq_create(&rdma_mem_libc, &cq, &side->cq) != 0)
        return demo_side_fail(side, "no memory for a protection domain and a completion queue");
    if (!register_memory(side))
        return false;
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC,
        .pd = side->pd,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .caps = {.max_send_wr = DEMO_MAX_DEPTH,
                 .max_recv_wr = 2 * DEMO_MAX_DEPTH,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
    };
    int err = roce_qp_create(side->engine, &qp, &side->qp);
    return !err || demo_side_fail(side, "cannot create a queue pair: %s", strerror(-err));
}

/* The index of our address in the GID table, or -1. */
static int find_gid(const struct demo_side *side, struct nornic_mac *mac)
{
    int found = -1;
    host_dev_lock(side->dev);
    for (unsigned i = 0; i < NORNIC_GID_MAX && found < 0; i++) {
        const struct nornic_gid *gid = roce_dev_gid_get(side->engine, i);
        if (gid && nornic_addr_equal(&gid->addr, &side->plan->addr[side->role])) {
            *mac = gid->mac;
            found = (int)i;
        }
    }
    host_dev_unlock(side->dev);
    return found;
}

static bool to_init(struct demo_side *side)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_INIT,
        .port = 1,
        .access_flags = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
    };
    return roce_qp_modify(side->qp, &attr,
                          NORNIC_QP_STATE | NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS,
                          host_now_ns()) == 0;
}

static bool to_rtr(struct demo_side *side, uint8_t sgid_index, const struct nornic_mac *dst_mac)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_RTR,
        .av = {.dgid = side->plan->addr[!side->role],
               .sgid_index = sgid_index,
               .hop_limit = 64,
               .dst_mac = *dst_mac},
        .path_mtu = nornic_mtu_from_bytes(side->plan->pmtu_bytes),
        .dest_qpn = side->remote.qpn,
        .rq_psn = side->remote.psn,
        .max_dest_rd_atomic = QP_RD_ATOMIC,
        .min_rnr_timer = RNR_TIMER_064MS,
    };
    return roce_qp_modify(side->qp, &attr,
                          NORNIC_QP_STATE | NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN |
                              NORNIC_QP_RQ_PSN | NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER,
                          host_now_ns()) == 0;
}

static bool to_rts(struct demo_side *side, uint32_t psn)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_RTS,
        .timeout = QP_TIMEOUT,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .sq_psn = psn,
        .max_rd_atomic = QP_RD_ATOMIC,
    };
    return roce_qp_modify(side->qp, &attr,
                          NORNIC_QP_STATE | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
                              NORNIC_QP_SQ_PSN | NORNIC_QP_MAX_QP_RD_ATOMIC,
                          host_now_ns()) == 0;
}

/* Where a side begins to count; from the seed, so that a run can be repeated. */
static uint32_t first_psn(const struct demo_side *side)
{
    uint8_t psn[3];
    cli_pattern_fill(side->plan->seed * 2 + side->role, psn, sizeof psn);
    return get_be24(psn);
}

/* Tells the other side who we are, learns who it is, and brings the QP up. */
static bool meet(struct demo_side *side, bool is_memory)
{
    struct demo_msg hello = {
        .type = DEMO_MSG_HELLO,
        .qpn = roce_qp_num(side->qp),
        .psn = first_psn(side),
        .rkey = side->mr->rkey,
        .va = side->mr->iova,
    };
    struct nornic_mac dst_mac;
    struct nornic_error why = {""};
    int gid = find_gid(side, &hello.mac);

    if (gid < 0)
        return demo_side_fail(side, "the interface lost its address");
    if (!demo_side_send(side, &hello) || !demo_side_await(side, DEMO_MSG_HELLO, &side->remote))
        return false;
    dst_mac = side->remote.mac;
    if (!is_memory &&
        host_dev_resolve(side->dev, &side->plan->addr[!side->role], RESOLVE_NS, &dst_mac, &why) != 0)
        return demo_side_fail(side, "%s", why.text);
    host_dev_lock(side->dev);
    bool up = to_init(side) && to_rtr(side, (uint8_t)gid, &dst_mac) && to_rts(side, hello.psn);
    host_dev_unlock(side->dev);
    /* Both are up before the first packet leaves. */
    struct demo_msg ready = {.type = DEMO_MSG_READY};
    return (up || demo_side_fail(side, "cannot bring the queue pair up with path MTU %u: choose --mtu 1024",
                                 side->plan->pmtu_bytes)) &&
           demo_side_send(side, &ready) && demo_side_await(side, DEMO_MSG_READY, &ready);
}

bool demo_connect(struct demo_side *side, struct net_port *memory, bool shown)
{
    if (!open_device(side, memory, shown))
        return false;
    host_dev_lock(side->dev);
    bool made = create_objects(side);
    host_dev_unlock(side->dev);
    return made && meet(side, memory != NULL);
}

/* All members of both are uint64_t, as the lists in roce/counters.h make them. */
static void add_counters(struct roce_dev_counters *sum, const struct roce_dev_counters *more)
{
    uint64_t *to = (uint64_t *)sum;
    const uint64_t *from = (const uint64_t *)more;

    static_assert(sizeof *sum % sizeof *to == 0, "counters are uint64_t");
    for (size_t i = 0; i < sizeof *sum / sizeof *to; i++)
        to[i] += from[i];
}

bool demo_disconnect(struct demo_side *side)
{
    if (!side->dev)
        return true;
    struct nornic_error why;
    int written = host_dev_capture_flush(side->dev);
    host_dev_lock(side->dev);
    add_counters(&side->result->counters, roce_dev_counters(side->engine));
    if (side->role == DEMO_A && side->plan->loss_ppm)
        side->result->lost_frames += net_impair_counters(host_dev_port(side->dev))->lost;
    host_dev_unlock(side->dev);
    if (side->qp)
        host_qp_destroy(side->dev, side->qp);
    host_dev_lock(side->dev);
    if (side->mr)
        rdma_mr_dereg(side->mr);
    if (side->cq)
        rdma_cq_destroy(side->cq);
    if (side->pd)
        rdma_pd_destroy(side->pd);
    host_dev_unlock(side->dev);
    if (host_dev_close(side->dev, &why) != 0)
        return demo_side_fail(side, "%s", why.text);
    if (side->memory)
        munmap(side->memory, side->memory_bytes);
    side->dev = NULL;
    side->qp = NULL;
    side->mr = NULL;
    side->cq = NULL;
    side->pd = NULL;
    side->memory = NULL;
    return written == 0 ||
           demo_side_fail(side, "the capture %s ends too early: %s", side->plan->capture, strerror(-written));
}
