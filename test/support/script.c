/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/script.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "net/wire/train.h"

#define ALL_REMOTE   (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define BURST        16u
#define BUFFER_BYTES (SCRIPT_TRAIN_PKTS * (ROCE_PMTU_MAX_BYTES + 256u))
#define MAX_EXPIRIES 100000u

static const struct nornic_mac dev_mac = {{2, 0, 0, 0, 0, 1}};
static const struct nornic_mac peer_mac = {{2, 0, 0, 0, 0, 2}};

static struct nornic_addr address(bool ipv6, uint8_t last)
{
    if (!ipv6)
        return nornic_addr_from_v4((const uint8_t[]){10, 0, 0, last});
    return (struct nornic_addr){{0x20, 0x01, 0x0d, 0xb8, [15] = last}};
}

struct script_config script_defaults(void)
{
    return (struct script_config){
        .attr = {.access_flags = ALL_REMOTE,
                 .port = 1,
                 .path_mtu = NORNIC_MTU_1024,
                 .timeout = 14,
                 .retry_cnt = 7,
                 .rnr_retry = 7,
                 .min_rnr_timer = 12,
                 .rq_psn = SCRIPT_PSN,
                 .sq_psn = SCRIPT_PSN,
                 .max_rd_atomic = 4,
                 .max_dest_rd_atomic = 4,
                 .dest_qpn = SCRIPT_PEER_QPN,
                 .av = {.hop_limit = 64, .dst_mac = peer_mac}},
        .caps = {.max_send_wr = 256,
                 .max_recv_wr = 256,
                 .max_send_sge = NORNIC_MAX_SGE,
                 .max_recv_sge = NORNIC_MAX_SGE,
                 .max_inline_bytes = 256},
        .state = NORNIC_QPS_RTS,
        .send_cq_capacity = 512,
        .recv_cq_capacity = 512,
    };
}

static void on_event(void *ctx, const struct roce_event *event)
{
    struct script *s = ctx;
    cr_assert_lt(s->event_count, SCRIPT_EVENTS, "too many events");
    s->events[s->event_count++] = *event;
}

static void on_reach(void *ctx, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer)
{
    struct script *s = ctx;
    reach_note(&s->reach, qpn, reach, peer);
}

static void count_wakeup(void *ctx, struct rdma_cq *cq, bool overflow)
{
    struct script *s = ctx;
    (void)cq;
    s->wakeups += !overflow;
}

static void make_device(struct script *s)
{
    struct roce_dev_config config = {.random = test_random_source(&s->rnd),
                                     .port_mtu_bytes = 9000,
                                     .window_pkts = s->config.window_pkts,
                                     .answer_bytes = s->config.answer_bytes,
                                     .masked_atomics = s->config.masked_atomics,
                                     .selective = s->config.selective,
                                     .path_migration = s->config.path_migration,
                                     .udp_socket = s->config.udp_socket,
                                     .src_port_count = s->config.src_port_count,
                                     .labels = s->config.labels,
                                     .roce_v1 = s->config.roce_v1 || s->config.also_v1,
                                     .num_pkeys = s->config.num_pkeys,
                                     .pkeys = s->config.pkeys,
                                     .cc = s->config.cc,
                                     .event = on_event,
                                     .reach = on_reach,
                                     .ctx = s};
    cr_assert_eq(roce_dev_create(&config, &s->dev), 0);
    struct nornic_gid own = {.addr = address(s->config.ipv6, 1),
                             .type = s->config.roce_v1 ? NORNIC_GID_V1 : NORNIC_GID_V2,
                             .mac = dev_mac,
                             .vlan_id = s->config.vlan_id};
    cr_assert_eq(roce_dev_gid_add(s->dev, &own), 0);
    expect_event(s, NORNIC_EVENT_GID_CHANGE);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &s->pd), 0);
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, SCRIPT_MEM_BYTES,
                             NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE | NORNIC_ACCESS_MW_BIND, &s->mr),
                 0);
    struct rdma_cq_config cq = {.capacity = s->config.send_cq_capacity};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &s->send_cq), 0);
    cq.capacity = s->config.recv_cq_capacity;
    cq.notify = count_wakeup;
    cq.ctx = s;
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &s->recv_cq), 0);
}

/* What the QP of a script can be; suites of other services make their own beside one of RC. */
static enum nornic_qp_type type_of(const struct script *s)
{
    enum nornic_qp_type type = s->config.type;
    bool known = type == NORNIC_QPT_UC || type == NORNIC_QPT_XRC_INI || type == NORNIC_QPT_XRC_TGT;
    return known ? type : NORNIC_QPT_RC;
}

static enum roce_service service_of(enum nornic_qp_type type)
{
    if (type == NORNIC_QPT_UC)
        return ROCE_SERVICE_UC;
    return type == NORNIC_QPT_XRC_INI || type == NORNIC_QPT_XRC_TGT ? ROCE_SERVICE_XRC : ROCE_SERVICE_RC;
}

/* Its PD is the one whose keys the peer uses. */
static void make_xrc_srq(struct script *s)
{
    struct rdma_srq_config config = {.max_wr = 256, .max_sge = NORNIC_MAX_SGE, .cq = s->recv_cq};
    cr_assert_eq(rdma_xrcd_create(roce_dev_domain(s->dev), &s->xrcd), 0);
    config.xrcd = s->xrcd;
    cr_assert_eq(rdma_srq_create(s->pd, &config, &s->srq), 0);
}

static void make_srq(struct script *s)
{
    struct rdma_srq_config config = {.max_wr = s->config.srq_wr, .max_sge = NORNIC_MAX_SGE};
    s->service = service_of(type_of(s));
    if (s->config.type == NORNIC_QPT_XRC_TGT)
        return make_xrc_srq(s);
    if (!config.max_wr)
        return;
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &s->srq_pd), 0);
    cr_assert_eq(rdma_mr_reg(s->srq_pd, s->mem, SCRIPT_MEM_BYTES, NORNIC_ACCESS_LOCAL_WRITE, &s->srq_mr), 0);
    cr_assert_eq(rdma_srq_create(s->srq_pd, &config, &s->srq), 0);
}

static void free_srq(struct script *s)
{
    if (!s->srq)
        return;
    cr_assert_eq(rdma_srq_destroy(s->srq), 0);
    if (s->xrcd) {
        cr_assert_eq(rdma_xrcd_destroy(s->xrcd), 0);
        return;
    }
    cr_assert_eq(rdma_mr_dereg(s->srq_mr), 0);
    cr_assert_eq(rdma_pd_destroy(s->srq_pd), 0);
}

static int modify(struct script *s, struct roce_qp *qp, enum nornic_qp_state state, uint32_t mask)
{
    struct nornic_qp_attr attr = s->config.attr;
    attr.state = state;
    return roce_qp_modify(qp, &attr, mask | NORNIC_QP_STATE, s->now_ns);
}

/* ROCE-QP-20..23: what all need, what who answers needs besides, and who asks. */
static void connect_qp(struct script *s, struct roce_qp *qp)
{
    enum nornic_qp_type type = type_of(s);
    bool asks = type == NORNIC_QPT_RC || type == NORNIC_QPT_XRC_INI;
    bool answers = type == NORNIC_QPT_RC || type == NORNIC_QPT_XRC_TGT;
    const struct {
        enum nornic_qp_state state;
        uint32_t mask, answers_mask, asks_mask;
    } steps[] = {
        {NORNIC_QPS_INIT, NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS, 0, 0},
        {NORNIC_QPS_RTR, NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN,
         NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER, 0},
        {NORNIC_QPS_RTS, NORNIC_QP_SQ_PSN, NORNIC_QP_TIMEOUT,
         NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC},
    };
    for (int i = 0; i < 3 && steps[i].state <= s->config.state; i++) {
        uint32_t mask = steps[i].mask | (answers ? steps[i].answers_mask : 0);
        mask |= asks ? steps[i].asks_mask : 0;
        cr_assert_eq(modify(s, qp, steps[i].state, mask), 0, "to state %d", steps[i].state);
    }
}

struct roce_qp *script_more_qp(struct script *s)
{
    struct roce_qp *qp = NULL;
    bool target = s->config.type == NORNIC_QPT_XRC_TGT, initiator = s->config.type == NORNIC_QPT_XRC_INI;
    struct roce_qp_config config = {.type = type_of(s),
                                    .pd = target ? NULL : s->pd,
                                    .send_cq = target ? NULL : s->send_cq,
                                    .recv_cq = target || initiator ? NULL : s->recv_cq,
                                    .srq = target ? NULL : s->srq,
                                    .xrcd = s->xrcd,
                                    .caps = s->config.caps,
                                    .e2e_credits = s->config.e2e_credits,
                                    .reorder_pkts = s->config.reorder_pkts,
                                    .sq_sig_all = s->config.sq_sig_all};
    cr_assert_eq(roce_qp_create(s->dev, &config, &qp), 0);
    s->config.attr.av.dgid = address(s->config.ipv6, 2);
    connect_qp(s, qp);
    return qp;
}

struct script *script_new(const struct script_config *config)
{
    struct script *s = calloc(1, sizeof *s);
    cr_assert_not_null(s);
    s->config = *config;
    s->rnd.state = 42;
    s->train_rnd.state = 4711;
    s->now_ns = SCRIPT_S;
    s->mem = malloc(SCRIPT_MEM_BYTES);
    cr_assert_not_null(s->mem);
    for (uint32_t i = 0; i < SCRIPT_MEM_BYTES; i++)
        s->mem[i] = (uint8_t)(i % 251);
    make_device(s);
    make_srq(s);
    s->qp = script_more_qp(s);
    s->from_peer = (struct roce_path){.v1 = config->roce_v1,
                                      .src_mac = peer_mac,
                                      .dst_mac = dev_mac,
                                      .vlan_tci = config->vlan_id ? config->vlan_id : -1,
                                      .src = address(config->ipv6, 2),
                                      .dst = address(config->ipv6, 1),
                                      .hop_limit = 64,
                                      .src_port = 0xc123};
    return s;
}

void script_free(struct script *s)
{
    uint32_t qpn = roce_qp_num(s->qp);
    roce_qp_destroy(s->qp);
    cr_assert_eq(reach_of(&s->reach, qpn).reach, ROCE_REACH_NOBODY);
    free_srq(s);
    cr_assert_eq(rdma_cq_destroy(s->send_cq), 0);
    cr_assert_eq(rdma_cq_destroy(s->recv_cq), 0);
    cr_assert_eq(rdma_mr_dereg(s->mr), 0);
    cr_assert_eq(rdma_pd_destroy(s->pd), 0);
    cr_assert_eq(roce_dev_destroy(s->dev), 0);
    for (unsigned i = 0; i < s->out_count; i++)
        free(s->out[i].bytes);
    free(s->mem);
    free(s);
}

int script_modify(struct script *s, enum nornic_qp_state state, uint32_t mask)
{
    return modify(s, s->qp, state, mask);
}

void script_restart(struct script *s)
{
    cr_assert_eq(modify(s, s->qp, NORNIC_QPS_RESET, 0), 0);
    connect_qp(s, s->qp);
}

uint32_t script_rq(const struct script *s, uint32_t i)
{
    return roce_psn_add(s->config.attr.rq_psn, i);
}

uint32_t script_sq(const struct script *s, uint32_t i)
{
    return roce_psn_add(s->config.attr.sq_psn, i);
}

/* Keeps a copy of its own size, so that a sanitizer sees a read past the end. */
static void keep_frame(struct script *s, const struct net_frame *frame)
{
    cr_assert_lt(s->out_count, SCRIPT_MAX_OUT, "the device does not stop sending");
    struct script_frame *f = &s->out[s->out_count++];
    f->bytes = malloc(frame->len_bytes);
    cr_assert_not_null(f->bytes);
    memcpy(f->bytes, frame->data, frame->len_bytes);
    f->len_bytes = frame->len_bytes;
    f->time_ns = s->now_ns;
    cr_assert_eq(roce_pkt_parse(&f->pkt, f->bytes, f->len_bytes, ROCE_PARSE_V1), ROCE_RX_TAKEN,
                 "a bad frame was built");
    if (s->config.any_dest)
        return;
    cr_assert_eq(f->pkt.l3_kind == ROCE_L3_GRH, s->config.roce_v1, "ROCE-FRM-52: protocols are never mixed");
    cr_assert_eq(f->pkt.bth.dest_qpn, SCRIPT_PEER_QPN);
    if (s->config.path_migration) /* the tests of that look at the addresses themselves */
        return;
    cr_assert(nornic_addr_equal(&f->pkt.src, &s->from_peer.dst));
    cr_assert(nornic_addr_equal(&f->pkt.dst, &s->config.attr.av.dgid));
}

/* The packets of what the device built, one by one. */
static void keep_frames(struct script *s, const struct net_frame *frame)
{
    struct net_train train;
    cr_assert_leq(frame->len_bytes, frame->cap_bytes);
    net_train_begin(&train, frame);
    cr_assert_leq(train.count, frame->train_pkts);
    cr_assert_eq(train.count > 1, frame->seg_bytes != 0);
    for (uint32_t i = 0; i < train.count; i++) {
        struct net_frame pkt = net_train_packet(&train, i);
        keep_frame(s, &pkt);
    }
    net_train_end(&train);
}

uint32_t script_train_pkts(struct script *s)
{
    if (s->config.train_pkts)
        return s->config.train_pkts;
    return test_random_below(&s->train_rnd, 2) ? 1 : 1 + test_random_below(&s->train_rnd, SCRIPT_TRAIN_PKTS);
}

void script_pump(struct script *s)
{
    static uint8_t buffers[BURST][BUFFER_BYTES];
    struct net_frame bufs[BURST];
    unsigned n;
    do {
        for (unsigned i = 0; i < BURST; i++)
            bufs[i] = (struct net_frame){
                .data = buffers[i], .cap_bytes = BUFFER_BYTES, .train_pkts = script_train_pkts(s)};
        n = roce_dev_tx(s->dev, bufs, BURST, s->now_ns);
        for (unsigned i = 0; i < n; i++)
            keep_frames(s, &bufs[i]);
    } while (n == BURST);
}

/* Fires timers up to `end_ns`, one deadline after the other. */
static void run_timers(struct script *s, uint64_t end_ns, bool stop_when_sent)
{
    for (unsigned i = 0; roce_dev_deadline_ns(s->dev) <= end_ns; i++) {
        cr_assert_lt(i, MAX_EXPIRIES, "a timer does not go away");
        uint64_t deadline = roce_dev_deadline_ns(s->dev);
        s->now_ns = deadline > s->now_ns ? deadline : s->now_ns;
        roce_dev_expire(s->dev, s->now_ns);
        script_pump(s);
        if (stop_when_sent && s->out_read < s->out_count)
            return;
    }
    s->now_ns = end_ns;
    script_pump(s);
}

void script_advance(struct script *s, uint64_t ns)
{
    run_timers(s, s->now_ns + ns, false);
}

bool script_until_sent(struct script *s, uint64_t max_ns)
{
    cr_assert_eq(s->out_read, s->out_count, "something was sent before");
    run_timers(s, s->now_ns + max_ns, true);
    return s->out_read < s->out_count;
}

const struct roce_pkt *script_next(struct script *s)
{
    return s->out_read < s->out_count ? &s->out[s->out_read++].pkt : NULL;
}

uint64_t script_last_ns(const struct script *s)
{
    cr_assert_gt(s->out_read, 0);
    return s->out[s->out_read - 1].time_ns;
}

void script_forget(struct script *s)
{
    s->out_read = s->out_count;
}

void script_recv(struct script *s, uint64_t wr_id, uint64_t mem_offset, uint32_t len_bytes)
{
    const struct rdma_mr *mr = s->srq_mr ? s->srq_mr : s->mr;
    struct nornic_sge sge = {(uintptr_t)s->mem + mem_offset, len_bytes, mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    if (s->srq)
        cr_assert_eq(rdma_srq_post(s->srq, &wr, NULL), 0);
    else
        cr_assert_eq(roce_post_recv(s->qp, &wr, NULL), 0);
}

struct nornic_send_wr script_wr(struct script *s, uint64_t wr_id, enum nornic_wr_opcode opcode,
                                struct nornic_sge *sge, uint64_t mem_offset, uint32_t len_bytes)
{
    *sge = (struct nornic_sge){(uintptr_t)s->mem + mem_offset, len_bytes, s->mr->lkey};
    return (struct nornic_send_wr){.wr_id = wr_id,
                                   .sg_list = sge,
                                   .num_sge = len_bytes != 0,
                                   .opcode = opcode,
                                   .send_flags = NORNIC_SEND_SIGNALED,
                                   .remote_srqn = SCRIPT_PEER_SRQN,
                                   .remote_addr = SCRIPT_PEER_VA,
                                   .rkey = SCRIPT_PEER_RKEY};
}

void script_post(struct script *s, uint64_t wr_id, enum nornic_wr_opcode opcode, uint64_t mem_offset,
                 uint32_t len_bytes)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, opcode, &sge, mem_offset, len_bytes);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}
