/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/fuzz/roce/device_world.h"

#include <sanitizer/asan_interface.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/train.h"
#include "roce/packet.h"
#include "roce/psn.h"
#include "test/support/rc_masks.h"
#include "test/support/train.h"

static void *fuzz_alloc(void *ctx, size_t len_bytes)
{
    struct fuzz_allocator *a = ctx;
    if (a->fail_in > 0 && --a->fail_in == 0)
        return NULL;
    a->live++;
    return calloc(1, len_bytes);
}

static void fuzz_free(void *ctx, void *p)
{
    struct fuzz_allocator *a = ctx;
    a->live -= p != NULL;
    free(p);
}

static uint64_t fuzz_random(void *ctx)
{
    struct fuzz_dev *dev = ctx;
    return dev->random += UINT64_C(0x9e3779b97f4a7c15);
}

uint8_t *fuzz_mr_bytes(const struct fuzz_dev *dev, unsigned i)
{
    return dev->arena + FUZZ_GAP_BYTES + i * (FUZZ_MR_BYTES + FUZZ_GAP_BYTES);
}

uint64_t fuzz_remote_base(const struct fuzz_dev *dev, unsigned i)
{
    if (i == 2 || i == FUZZ_FAST) /* zero-based, and registered at iova 0 */
        return 0;
    return (uintptr_t)fuzz_mr_bytes(dev, i == FUZZ_WINDOW ? 0 : i);
}

void fuzz_mr_register(struct fuzz_dev *dev, unsigned i, uint32_t access)
{
    if (dev->mr[i] || !dev->pd)
        return;
    if (rdma_mr_reg(dev->pd, fuzz_mr_bytes(dev, i), FUZZ_MR_BYTES, access, &dev->mr[i]) != 0) {
        dev->mr[i] = NULL;
        return;
    }
    dev->key[i] = dev->mr[i]->rkey;
    ASAN_UNPOISON_MEMORY_REGION(fuzz_mr_bytes(dev, i), FUZZ_MR_BYTES);
}

/* After a deregistration the engine may not touch the memory: ROCE-MR-5. */
void fuzz_mr_deregister(struct fuzz_dev *dev, unsigned i)
{
    if (!dev->mr[i])
        return;
    int err = rdma_mr_dereg(dev->mr[i]);
    FUZZ_REQUIRE(err == 0 || (err == -EBUSY && i == 0 && dev->window && dev->window->mr));
    if (err) /* the window is bound to it */
        return;
    dev->mr[i] = NULL;
    ASAN_POISON_MEMORY_REGION(fuzz_mr_bytes(dev, i), FUZZ_MR_BYTES);
}

void fuzz_qp_forget(struct fuzz_dev *dev, struct fuzz_qp *qp)
{
    qp->generation = ++dev->generations;
    qp->sends = qp->receives = (struct fuzz_queue){0};
}

void fuzz_qp_destroy(struct fuzz_dev *dev, struct fuzz_qp *qp)
{
    if (qp->qp)
        roce_qp_destroy(qp->qp);
    qp->qp = NULL;
    fuzz_qp_forget(dev, qp);
}

uint32_t fuzz_peer_qpn(const struct fuzz_world *world, unsigned dev, unsigned q)
{
    const struct fuzz_qp *peer = &world->dev[!dev].qp[0];
    return q == 0 && peer->qp ? roce_qp_num(peer->qp) : 0x900000 + q;
}

enum nornic_qp_type fuzz_qp_type(const struct fuzz_world *world, unsigned dev, unsigned q)
{
    if (!world->other_services)
        return NORNIC_QPT_RC;
    return q == 0 ? NORNIC_QPT_UC : dev == 0 ? NORNIC_QPT_XRC_TGT : NORNIC_QPT_XRC_INI;
}

uint32_t fuzz_srqn(const struct fuzz_dev *dev)
{
    return dev->xrc_srq ? rdma_srq_number(dev->xrc_srq) : 0;
}

/* ROCE-QP-22, QP-23: what who answers needs, and who asks. */
static uint32_t only_needed(enum nornic_qp_type type, uint32_t mask)
{
    bool asks = type == NORNIC_QPT_RC || type == NORNIC_QPT_XRC_INI;
    bool answers = type == NORNIC_QPT_RC || type == NORNIC_QPT_XRC_TGT;
    if (!asks)
        mask &= ~(uint32_t)(NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC);
    if (!answers)
        mask &= ~(uint32_t)(NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER);
    return asks || answers ? mask : mask & ~(uint32_t)NORNIC_QP_TIMEOUT;
}

void fuzz_qp_connect(struct fuzz_world *world, unsigned d, unsigned q, struct fuzz_input *in)
{
    struct fuzz_qp *qp = &world->dev[d].qp[q];
    if (!qp->qp)
        return;
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_INIT,
        .access_flags = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC,
        .port = 1,
        .av = {.dgid = world->dev[!d].addr, .hop_limit = 64, .dst_mac = world->dev[!d].mac},
        .path_mtu = nornic_mtu_from_bytes(world->pmtu_bytes),
        .timeout = 8,
        .retry_cnt = 3,
        .rnr_retry = 2,
        .min_rnr_timer = 1,
        .rq_psn = 0xfffffc,
        .sq_psn = 0xfffffc,
        .max_rd_atomic = 2,
        .max_dest_rd_atomic = 2,
        .dest_qpn = fuzz_peer_qpn(world, d, q),
    };
    if (roce_qp_modify(qp->qp, &attr, NORNIC_QP_STATE | RC_INIT_MASK, world->now_ns))
        return;
    uint8_t how = fuzz_u8(in);
    attr.max_dest_rd_atomic = how & 3;
    attr.max_rd_atomic = how >> 2 & 3;
    attr.state = NORNIC_QPS_RTR;
    qp->dest_qpn = attr.dest_qpn;
    qp->expected_psn = attr.rq_psn;
    memset(qp->request_psns, 0xff, sizeof qp->request_psns);
    enum nornic_qp_type type = fuzz_qp_type(world, d, q);
    uint32_t mask = NORNIC_QP_STATE | RC_RTR_MASK;
    if (roce_qp_modify(qp->qp, &attr, only_needed(type, mask), world->now_ns))
        return;
    attr.state = NORNIC_QPS_RTS;
    if (how & 0x80) /* some stay in RTR */
        return;
    mask = NORNIC_QP_STATE | RC_RTS_MASK;
    roce_qp_modify(qp->qp, &attr, only_needed(type, mask), world->now_ns);
}

void fuzz_qp_create(struct fuzz_world *world, unsigned d, unsigned q)
{
    struct fuzz_dev *dev = &world->dev[d];
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC,
        .pd = dev->pd,
        .send_cq = dev->cq[0],
        .recv_cq = dev->cq[1],
        .srq = q == 1 && world->with_srq ? dev->srq : NULL,
        .caps = {.max_send_wr = 8,
                 .max_recv_wr = 8,
                 .max_send_sge = 3,
                 .max_recv_sge = 3,
                 .max_inline_bytes = 100},
        .sq_sig_all = world->sq_sig_all,
    };
    if (dev->qp[q].qp || !dev->pd || !dev->cq[0] || !dev->cq[1])
        return;
    config.type = fuzz_qp_type(world, d, q);
    if (config.type == NORNIC_QPT_XRC_TGT)
        config = (struct roce_qp_config){.type = config.type, .xrcd = dev->xrcd};
    if (config.type == NORNIC_QPT_XRC_INI)
        config.recv_cq = NULL, config.srq = NULL;
    fuzz_qp_forget(dev, &dev->qp[q]);
    if (roce_qp_create(dev->dev, &config, &dev->qp[q].qp) != 0)
        dev->qp[q].qp = NULL;
}

static void make_xrc(struct fuzz_dev *dev)
{
    if (rdma_xrcd_create(roce_dev_domain(dev->dev), &dev->xrcd) != 0)
        dev->xrcd = NULL;
    struct rdma_srq_config config = {.max_wr = 8, .max_sge = 3, .xrcd = dev->xrcd, .cq = dev->cq[1]};
    if (!dev->xrcd || !dev->cq[1] || rdma_srq_create(dev->pd, &config, &dev->xrc_srq) != 0)
        dev->xrc_srq = NULL;
}

/* What may be invalidated, and the SRQs; each may fail to be allocated. */
static void make_revocable(struct fuzz_dev *dev)
{
    dev->fast_bytes = malloc(FUZZ_MR_BYTES);
    memset(dev->fast_bytes, 0xa5, FUZZ_MR_BYTES);
    if (!dev->pd)
        return;
    if (rdma_mr_alloc_fast(dev->pd, FUZZ_MR_BYTES, &dev->fast) != 0)
        dev->fast = NULL;
    if (rdma_mw_alloc(dev->pd, NORNIC_MW_TYPE_2, &dev->window) != 0)
        dev->window = NULL;
    if (rdma_srq_create(dev->pd, &(struct rdma_srq_config){.max_wr = 8, .max_sge = 3}, &dev->srq) != 0)
        dev->srq = NULL;
    make_xrc(dev);
    dev->key[FUZZ_FAST] = dev->fast ? dev->fast->rkey : 0;
    dev->key[FUZZ_WINDOW] = dev->window ? dev->window->rkey : 0;
}

static void free_revocable(struct fuzz_dev *dev)
{
    if (dev->window)
        rdma_mw_dealloc(dev->window);
    FUZZ_REQUIRE(!dev->fast || rdma_mr_dereg(dev->fast) == 0);
    FUZZ_REQUIRE(!dev->srq || rdma_srq_destroy(dev->srq) == 0);
    FUZZ_REQUIRE(!dev->xrc_srq || rdma_srq_destroy(dev->xrc_srq) == 0);
    FUZZ_REQUIRE(!dev->xrcd || rdma_xrcd_destroy(dev->xrcd) == 0);
    dev->window = NULL;
    free(dev->fast_bytes);
}

static bool dev_begin(struct fuzz_world *world, unsigned d, uint8_t flags)
{
    struct fuzz_dev *dev = &world->dev[d];
    struct fuzz_allocator *a = &dev->allocator;
    a->mem = (struct rdma_mem){.alloc = fuzz_alloc, .free = fuzz_free, .ctx = a};
    dev->arena = malloc(FUZZ_ARENA_BYTES);
    memset(dev->arena, 0xa5, FUZZ_ARENA_BYTES);
    ASAN_POISON_MEMORY_REGION(dev->arena, FUZZ_ARENA_BYTES);
    struct roce_dev_config config = {
        .mem = &a->mem,
        .random = {.next = fuzz_random, .ctx = dev},
        .max_qp = 4,
        .max_mr = 8,
        .port_mtu_bytes = world->pmtu_bytes + 96,
        .window_pkts = flags & 0x10 ? 3 : 0,
        .masked_atomics = true,
        .selective = true,
        .cc = {.on = d == 1,
               .line_rate_bps = 100000000,
               .cnp_interval_ns = 5000}, /* slow, so that it shows */
    };
    dev->addr = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, (uint8_t)(1 + d)});
    if (flags & 0x20)
        dev->addr = (struct nornic_addr){{0xfd, [15] = (uint8_t)(1 + d)}};
    dev->mac = (struct nornic_mac){{2, 0, 0, 0, 0, (uint8_t)(1 + d)}};
    if (roce_dev_create(&config, &dev->dev) != 0) {
        dev->dev = NULL;
        return false;
    }
    roce_dev_gid_add(
        dev->dev, &(struct nornic_gid){.addr = dev->addr, .mac = dev->mac, .vlan_id = flags & 0x40 ? 5 : 0});
    if (rdma_pd_create(roce_dev_domain(dev->dev), &dev->pd) != 0)
        dev->pd = NULL;
    for (unsigned i = 0; i < 2; i++)
        if (rdma_cq_create(&a->mem, &(struct rdma_cq_config){.capacity = flags & 0x08 ? 4 : 64},
                           &dev->cq[i]) != 0)
            dev->cq[i] = NULL;
    fuzz_mr_register(dev, 0,
                     NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ |
                         NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_MW_BIND);
    fuzz_mr_register(dev, 1, NORNIC_ACCESS_REMOTE_READ);
    fuzz_mr_register(dev, 2,
                     NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_ZERO_BASED);
    make_revocable(dev);
    return true;
}

bool fuzz_world_begin(struct fuzz_world *world, struct fuzz_input *in)
{
    memset(world, 0, sizeof *world);
    world->now_ns = 1;
    uint8_t flags = fuzz_u8(in), failing = fuzz_u8(in);
    world->pmtu_bytes = 256u << (flags & 3) % 3;
    world->sq_sig_all = flags & 0x04;
    world->with_srq = failing & 0x80;
    world->other_services = failing & 0x40;
    world->trains = flags & 0x80;
    world->dev[0].allocator.fail_in = failing & 0x3f;
    bool whole = dev_begin(world, 0, flags);
    whole = dev_begin(world, 1, flags) && whole;
    for (unsigned i = 0; i < 2 * FUZZ_QPS && whole; i++)
        fuzz_qp_create(world, i % 2, i / 2);
    for (unsigned i = 0; i < 2 * FUZZ_QPS && whole; i++)
        fuzz_qp_connect(world, i % 2, i / 2, in);
    return whole;
}

/* Nobody had the right to write to region 1, whatever was asked for. */
static void check_read_only(const struct fuzz_dev *dev)
{
    const uint8_t *bytes = fuzz_mr_bytes(dev, 1);
    for (unsigned i = 0; i < FUZZ_MR_BYTES; i++)
        FUZZ_REQUIRE(bytes[i] == 0xa5);
}

static void dev_end(struct fuzz_dev *dev)
{
    for (unsigned q = 0; q < FUZZ_QPS; q++)
        fuzz_qp_destroy(dev, &dev->qp[q]);
    free_revocable(dev);
    for (unsigned i = 0; i < FUZZ_MRS; i++)
        fuzz_mr_deregister(dev, i);
    for (unsigned i = 0; i < 2; i++)
        FUZZ_REQUIRE(!dev->cq[i] || rdma_cq_destroy(dev->cq[i]) == 0);
    FUZZ_REQUIRE(!dev->pd || rdma_pd_destroy(dev->pd) == 0);
    FUZZ_REQUIRE(!dev->dev || roce_dev_destroy(dev->dev) == 0);
    FUZZ_REQUIRE(dev->allocator.live == 0);
    ASAN_UNPOISON_MEMORY_REGION(dev->arena, FUZZ_ARENA_BYTES);
    check_read_only(dev);
    free(dev->arena);
}

static void check_counters(const struct fuzz_dev *dev)
{
    const struct roce_dev_counters *c = roce_dev_counters(dev->dev);
    uint64_t judged = 0;
    for (unsigned i = 0; i < ROCE_RX_VERDICT_COUNT; i++)
        judged += c->verdicts[i];
    FUZZ_REQUIRE(judged == dev->given);
}

void fuzz_world_end(struct fuzz_world *world)
{
    fuzz_flush(world);
    for (unsigned d = 0; d < 2; d++) {
        if (world->dev[d].dev)
            check_counters(&world->dev[d]);
        if (world->dev[d].arena)
            dev_end(&world->dev[d]);
    }
}

static struct net_frame copy_of(const uint8_t *frame, uint32_t len_bytes)
{
    uint8_t *copy = malloc(len_bytes ? len_bytes : 1);
    memcpy(copy, frame, len_bytes);
    return (struct net_frame){.data = copy, .len_bytes = len_bytes, .cap_bytes = len_bytes};
}

static void hand_over(struct fuzz_world *world, unsigned d, struct net_frame *f)
{
    world->dev[d].given += net_train_size(f).pkts;
    roce_dev_rx(world->dev[d].dev, f, 1, world->now_ns);
    free(f->data);
}

void fuzz_flush(struct fuzz_world *world)
{
    unsigned n = test_train_couple(world->burst, world->burst_count, &world->train_random);
    world->burst_count = 0;
    for (unsigned i = 0; i < n; i++)
        hand_over(world, world->burst_to, &world->burst[i]);
}

void fuzz_give(struct fuzz_world *world, unsigned d, const uint8_t *frame, uint32_t len_bytes)
{
    if (world->burst_to != d || world->burst_count == FUZZ_BURST)
        fuzz_flush(world);
    world->burst_to = d;
    world->burst[world->burst_count++] = copy_of(frame, len_bytes);
    if (!world->trains)
        fuzz_flush(world);
}

void fuzz_give_train(struct fuzz_world *world, unsigned d, const uint8_t *frame, uint32_t len_bytes,
                     uint32_t seg_bytes)
{
    struct net_frame f = copy_of(frame, len_bytes);
    f.seg_bytes = seg_bytes;
    fuzz_flush(world);
    hand_over(world, d, &f);
}

/* What a packet that a QP sent says about its PSNs. */
static void learn(struct fuzz_dev *dev, const struct roce_pkt *pkt)
{
    for (unsigned q = 0; q < FUZZ_QPS; q++) {
        struct fuzz_qp *qp = &dev->qp[q];
        if (!qp->qp || qp->dest_qpn != pkt->bth.dest_qpn)
            continue;
        if (pkt->op->flags & ROCE_PKT_REQUEST) {
            memmove(qp->request_psns + 1, qp->request_psns, (FUZZ_REQUESTS - 1) * sizeof *qp->request_psns);
            qp->request_psns[0] = pkt->bth.psn;
        } else if (pkt->op->flags & (ROCE_PKT_ONLY | ROCE_PKT_LAST)) {
            bool ack = roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
            qp->expected_psn = roce_psn_add(pkt->bth.psn, ack);
        }
    }
}

static void into_flight(struct fuzz_world *world, unsigned to, const struct net_frame *frame)
{
    if (world->flight_count == FUZZ_FLIGHT) {
        world->flight_first++;
        world->flight_count--;
    }
    struct fuzz_flight *f = &world->flight[(world->flight_first + world->flight_count++) % FUZZ_FLIGHT];
    memcpy(f->bytes, frame->data, frame->len_bytes);
    f->len_bytes = frame->len_bytes;
    f->to = to;
}

static void take_packet(struct fuzz_world *world, unsigned d, const struct net_frame *frame)
{
    struct roce_pkt pkt;
    FUZZ_REQUIRE(frame->len_bytes <= world->pmtu_bytes + 96 + 18);
    FUZZ_REQUIRE(roce_pkt_parse(&pkt, frame->data, frame->len_bytes, 0) == ROCE_RX_TAKEN);
    FUZZ_REQUIRE(pkt.op->flags & (ROCE_PKT_REQUEST | ROCE_PKT_RESPONSE | ROCE_PKT_CNP));
    FUZZ_REQUIRE(pkt.payload_bytes <= world->pmtu_bytes);
    learn(&world->dev[d], &pkt);
    into_flight(world, !d, frame);
}

void fuzz_take(struct fuzz_world *world, unsigned d, unsigned n)
{
    uint32_t cap_bytes = world->trains ? FUZZ_TRAIN_BYTES : world->pmtu_bytes + 96 + 18;
    struct net_frame frame = {.data = malloc(cap_bytes), .cap_bytes = cap_bytes};
    fuzz_flush(world);
    for (unsigned i = 0; i < n; i++) {
        frame.train_pkts = world->trains ? 1 + test_random_below(&world->train_random, FUZZ_FLIGHT) : 0;
        if (roce_dev_tx(world->dev[d].dev, &frame, 1, world->now_ns) == 0)
            break;
        struct net_train train;
        FUZZ_REQUIRE(frame.len_bytes <= cap_bytes);
        net_train_begin(&train, &frame);
        FUZZ_REQUIRE(train.count == 1 || train.count <= frame.train_pkts);
        FUZZ_REQUIRE((train.count > 1) == (frame.seg_bytes > 0));
        for (uint32_t k = 0; k < train.count; k++) {
            struct net_frame pkt = net_train_packet(&train, k);
            take_packet(world, d, &pkt);
        }
        net_train_end(&train);
    }
    free(frame.data);
}

void fuzz_wait(struct fuzz_world *world, uint64_t ns)
{
    world->now_ns += ns;
    for (unsigned d = 0; d < 2; d++) {
        struct roce_dev *dev = world->dev[d].dev;
        if (roce_dev_deadline_ns(dev) > world->now_ns)
            continue;
        roce_dev_expire(dev, world->now_ns);
        FUZZ_REQUIRE(roce_dev_deadline_ns(dev) > world->now_ns);
    }
}
