/* SPDX-License-Identifier: BSD-2-Clause */
/* Random calls of libibverbs. A thread destroys its own objects alone, and no object that another thread
 * uses. All threads of a process also use one queue pair together. */
#include <fcntl.h>
#include <infiniband/verbs.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "test/verbs/random/random.h"

#define OBJECTS      16
#define MEMORY_BYTES (1u << 20)
#define SGES         16
#define REQUESTS     4
#define ACCESS                                                                                              \
    (IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC | \
     IBV_ACCESS_MW_BIND)
#define QKEY 0x1111

/* The objects of a thread. */
struct own {
    struct ibv_context *context[2];
    struct ibv_pd *pd[OBJECTS];
    struct ibv_mr *mr[OBJECTS];
    struct ibv_cq *cq[OBJECTS];
    struct ibv_qp *qp[OBJECTS];
    struct ibv_srq *srq[OBJECTS];
    struct ibv_ah *ah[OBJECTS];
    struct ibv_mw *mw[OBJECTS];
    struct ibv_comp_channel *channel[OBJECTS];
    uint8_t *memory;
};

/* The queue pair that all threads of the process use. */
static struct {
    pthread_once_t once;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_mr *mr;
    struct ibv_cq *cq;
    struct ibv_qp *qp;
    uint8_t memory[4096];
} common = {.once = PTHREAD_ONCE_INIT};

#define PICK(member) (own->member[random_below(p, OBJECTS)])

static struct ibv_context *open_first(void)
{
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    struct ibv_context *context = list && count > 0 ? ibv_open_device(list[0]) : NULL;
    if (list)
        ibv_free_device_list(list);
    if (context)
        (void)fcntl(context->async_fd, F_SETFL, O_NONBLOCK);
    return context;
}

static struct random_entry *any_entry(struct random_player *p)
{
    return &p->shared->board[random_below(p, RANDOM_BOARD)];
}

/* --- queue pairs --- */

/* Connects a queue pair to number `to` on this host. */
static int join(struct ibv_qp *qp, uint32_t to)
{
    const bool is_rc = qp->qp_type == IBV_QPT_RC;
    union ibv_gid gid;
    struct ibv_qp_attr a = {
        .qp_state = IBV_QPS_INIT, .port_num = 1, .qp_access_flags = ACCESS & ~IBV_ACCESS_MW_BIND};
    int err = ibv_query_gid(qp->context, 1, 0, &gid);
    if (!err)
        err = ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
    if (err)
        return err;
    a = (struct ibv_qp_attr){
        .qp_state = IBV_QPS_RTR,
        .path_mtu = IBV_MTU_1024,
        .dest_qp_num = to,
        .rq_psn = 0xffffe0,
        .max_dest_rd_atomic = 4,
        .min_rnr_timer = 1,
        .ah_attr = {.is_global = 1, .port_num = 1, .grh = {.dgid = gid, .hop_limit = 1}}};
    err = ibv_modify_qp(qp, &a,
                        IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
                            (is_rc ? IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER : 0));
    if (err)
        return err;
    a = (struct ibv_qp_attr){.qp_state = IBV_QPS_RTS,
                             .sq_psn = 0xffffe0,
                             .timeout = 8,
                             .retry_cnt = 3,
                             .rnr_retry = 2,
                             .max_rd_atomic = 4};
    return ibv_modify_qp(
        qp, &a,
        IBV_QP_STATE | IBV_QP_SQ_PSN |
            (is_rc ? IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC : 0));
}

static void make_common(void)
{
    common.context = open_first();
    common.pd = common.context ? ibv_alloc_pd(common.context) : NULL;
    common.mr = common.pd ? ibv_reg_mr(common.pd, common.memory, sizeof common.memory, ACCESS) : NULL;
    common.cq = common.mr ? ibv_create_cq(common.context, 1000, NULL, NULL, 0) : NULL;
    struct ibv_qp_init_attr init = {
        .send_cq = common.cq, .recv_cq = common.cq, .qp_type = IBV_QPT_RC, .cap = {64, 64, 1, 1, 64}};
    common.qp = common.cq ? ibv_create_qp(common.pd, &init) : NULL;
    if (common.qp)
        (void)join(common.qp, common.qp->qp_num);
}

static void publish(struct random_player *p, const struct ibv_qp *qp)
{
    atomic_store(&any_entry(p)->qpn, qp->qp_num);
}

static void make_qp(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_cq *send_cq = PICK(cq), *recv_cq = PICK(cq);
    struct ibv_pd *pd = PICK(pd);
    const enum ibv_qp_type types[] = {IBV_QPT_RC, IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, random_any(p)};
    struct ibv_qp_init_attr init = {.send_cq = send_cq,
                                    .recv_cq = recv_cq ? recv_cq : send_cq,
                                    .srq = random_one_in(p, 4) ? PICK(srq) : NULL,
                                    .qp_type = types[random_below(p, 5)],
                                    .sq_sig_all = random_one_in(p, 2),
                                    .cap = {(uint32_t)random_count(p, 64), (uint32_t)random_count(p, 64),
                                            (uint32_t)random_count(p, 4), (uint32_t)random_count(p, 4),
                                            (uint32_t)random_count(p, 256)}};
    if (!pd || !send_cq)
        return;
    own->qp[i] = ibv_create_qp(pd, &init);
    random_count_call(p, !own->qp[i]);
    if (own->qp[i])
        publish(p, own->qp[i]);
}

static void step_qp(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_qp *qp = own->qp[i], *other = PICK(qp);
    if (!qp) {
        make_qp(p, own, i);
    } else if (random_one_in(p, 8)) {
        int err = ibv_destroy_qp(qp);
        random_count_call(p, err);
        own->qp[i] = err ? qp : NULL;
    } else if (qp->state == IBV_QPS_ERR) {
        struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
        random_count_call(p, ibv_modify_qp(qp, &a, IBV_QP_STATE));
    } else if (other && qp->qp_type != IBV_QPT_UD && other->qp_type == qp->qp_type) {
        random_count_call(p, join(qp, other->qp_num));
        random_count_call(p, other == qp ? 0 : join(other, qp->qp_num));
    }
}

/* Any attributes with any mask. */
static void modify(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_qp_attr a;
    union ibv_gid gid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = 1}};
    struct ibv_qp_init_attr init;
    if (!own->qp[i])
        return;
    for (size_t at = 0; at < sizeof a; at++)
        ((uint8_t *)&a)[at] = random_one_in(p, 3) ? (uint8_t)random_any(p) : 0;
    a.qp_state = a.cur_qp_state = random_below(p, 8);
    a.path_mtu = 1 + random_below(p, 6);
    a.port_num = a.ah_attr.port_num = !random_one_in(p, 8);
    a.pkey_index = 0;
    a.dest_qp_num = atomic_load(&any_entry(p)->qpn);
    a.ah_attr.is_global = !random_one_in(p, 8);
    a.ah_attr.grh.dgid = gid;
    a.ah_attr.grh.sgid_index = random_one_in(p, 8) ? (uint8_t)random_any(p) : 0;
    a.timeout = 1 + random_below(p, 10);
    int mask = (int)(random_any(p) & random_any(p) & 0x3ffffff) | IBV_QP_STATE;
    random_count_call(p, ibv_modify_qp(own->qp[i], &a, mask));
    random_count_call(p, ibv_query_qp(own->qp[i], &a, (int)random_any(p), &init));
}

/* --- work requests --- */

static void fill_sges(struct random_player *p, struct own *own, struct ibv_sge *sges, bool is_inline)
{
    for (unsigned k = 0; k < SGES; k++) {
        const struct ibv_mr *mr = PICK(mr);
        uint32_t bytes = random_one_in(p, 12) ? random_any(p) : random_below(p, is_inline ? 300 : 9000);
        sges[k] = (struct ibv_sge){mr ? (uintptr_t)mr->addr + random_below(p, 4096) : random_any(p), bytes,
                                   mr && !random_one_in(p, 12) ? mr->lkey : random_any(p)};
        if (is_inline) /* is read in the call, so it is memory of the thread */
            sges[k] = (struct ibv_sge){(uintptr_t)own->memory + random_below(p, 4096),
                                       random_one_in(p, 12) ? random_below(p, 100000) : bytes % 300, 0};
    }
}

/* The remote side of a request, or the address handle, or the window. Returns whether it has all that it
 * needs. */
static bool fill_target(struct random_player *p, struct own *own, const struct ibv_qp *qp,
                        struct ibv_send_wr *wr)
{
    const struct random_entry *to = any_entry(p);
    uint32_t rkey = random_one_in(p, 12) ? random_any(p) : atomic_load(&to->rkey);
    uint64_t addr = atomic_load(&to->addr) + random_below(p, 4096);
    if (qp->qp_type == IBV_QPT_UD) {
        wr->wr.ud.ah = PICK(ah);
        wr->wr.ud.remote_qpn = atomic_load(&to->qpn);
        wr->wr.ud.remote_qkey = random_one_in(p, 5) ? random_any(p) : QKEY;
        return wr->wr.ud.ah != NULL;
    }
    if (wr->opcode == IBV_WR_BIND_MW || wr->opcode == IBV_WR_LOCAL_INV) {
        struct ibv_mr *mr = PICK(mr);
        wr->bind_mw.mw = PICK(mw);
        wr->bind_mw.rkey = random_any(p);
        wr->bind_mw.bind_info =
            (struct ibv_mw_bind_info){mr, mr ? (uintptr_t)mr->addr : 0, random_below(p, 9000), ACCESS};
        return wr->bind_mw.mw && mr;
    }
    if (wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
        wr->wr.atomic.remote_addr = random_one_in(p, 4) ? addr : addr & ~UINT64_C(7);
        wr->wr.atomic.rkey = rkey;
    } else {
        wr->wr.rdma.remote_addr = addr;
        wr->wr.rdma.rkey = rkey;
    }
    return true;
}

static void post_send(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_send_wr wrs[REQUESTS], *bad;
    struct ibv_sge sges[REQUESTS][SGES];
    unsigned count = 1 + random_below(p, REQUESTS);
    struct ibv_qp *qp = own->qp[i];
    if (!qp)
        return;
    memset(wrs, 0, sizeof wrs);
    for (unsigned n = 0; n < count; n++) {
        struct ibv_send_wr *wr = &wrs[n];
        wr->wr_id = random_any(p);
        wr->opcode = random_one_in(p, 20) ? random_any(p) : random_below(p, 12);
        wr->send_flags = random_one_in(p, 30) ? random_any(p) : random_below(p, 32);
        int sge_count = random_one_in(p, 15) ? random_count(p, SGES) : (int)random_below(p, 3);
        wr->num_sge = sge_count > SGES ? SGES : sge_count;
        wr->sg_list = sges[n];
        wr->next = n + 1 < count ? wr + 1 : NULL;
        wr->imm_data = random_any(p);
        fill_sges(p, own, sges[n], wr->send_flags & IBV_SEND_INLINE);
        if (!fill_target(p, own, qp, wr))
            return;
    }
    random_count_call(p, ibv_post_send(qp, wrs, &bad));
}

static void post_recv(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_sge sges[SGES];
    struct ibv_recv_wr wr = {.wr_id = random_any(p), .sg_list = sges}, *bad;
    int sge_count = random_one_in(p, 15) ? random_count(p, SGES) : (int)random_below(p, 3);
    wr.num_sge = sge_count > SGES ? SGES : sge_count;
    fill_sges(p, own, sges, false);
    if (own->qp[i] && !own->qp[i]->srq)
        random_count_call(p, ibv_post_recv(own->qp[i], &wr, &bad));
    else if (own->srq[i])
        random_count_call(p, ibv_post_srq_recv(own->srq[i], &wr, &bad));
}

static void poll_cq(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_wc wcs[16];
    struct ibv_cq *cq = random_one_in(p, 4) ? common.cq : own->cq[i];
    int count = cq ? ibv_poll_cq(cq, (int)random_below(p, 17), wcs) : 0;
    random_count_call(p, count < 0);
    for (int k = 0; k < count; k++)
        atomic_fetch_add(&p->shared->completions, 1);
}

/* The queue pair of all threads: traffic with itself, and states. */
static void use_common(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_sge sge = {(uintptr_t)common.memory, random_below(p, 2048), common.mr ? common.mr->lkey : 0};
    struct ibv_recv_wr recv = {.sg_list = &sge, .num_sge = 1}, *bad_recv;
    struct ibv_send_wr send = {.sg_list = &sge,
                               .num_sge = 1,
                               .opcode = random_one_in(p, 2) ? IBV_WR_SEND : IBV_WR_RDMA_WRITE,
                               .send_flags = IBV_SEND_SIGNALED},
                       *bad_send;
    struct ibv_qp_attr a = {.qp_state = IBV_QPS_RESET};
    (void)own;
    if (!common.qp)
        return;
    send.wr.rdma.remote_addr = (uintptr_t)common.memory + 2048;
    send.wr.rdma.rkey = common.mr->rkey;
    if (i == 0) {
        random_count_call(p, ibv_modify_qp(common.qp, &a, IBV_QP_STATE));
        random_count_call(p, join(common.qp, common.qp->qp_num));
    }
    random_count_call(p, ibv_post_recv(common.qp, &recv, &bad_recv));
    random_count_call(p, ibv_post_send(common.qp, &send, &bad_send));
}

/* --- the other objects --- */

/* Destroys `*slot` by `call` if it is there and chance wants it. Returns whether the place is free. */
#define GONE(slot, chance, call)             \
    (!(slot) || (random_one_in(p, chance) && \
                 (err = call(slot), random_count_call(p, err), (slot) = err ? (slot) : NULL, false)))

static void step_pd(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_context *context = own->context[random_below(p, 2)];
    int err;
    if (GONE(own->pd[i], 16, ibv_dealloc_pd) && context)
        random_count_call(p, !(own->pd[i] = ibv_alloc_pd(context)));
}

static void step_mr(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_pd *pd = PICK(pd);
    uint8_t *at = own->memory + random_below(p, MEMORY_BYTES / 2);
    size_t bytes = random_one_in(p, 20) ? random_any(p) : 1 + random_below(p, 32768);
    int access = random_one_in(p, 5) ? (int)random_below(p, 0x1000) : ACCESS;
    int err;
    if (!GONE(own->mr[i], 4, ibv_dereg_mr) || !pd)
        return;
    if (random_one_in(p, 20)) /* no memory of anybody */
        at = (uint8_t *)(uintptr_t)(random_one_in(p, 2) ? random_below(p, 65536)
                                                        : UINT64_C(0xffff800000000000) + random_any(p));
    own->mr[i] = ibv_reg_mr(pd, at, bytes, access);
    random_count_call(p, !own->mr[i]);
    if (!own->mr[i])
        return;
    struct random_entry *entry = any_entry(p);
    atomic_store(&entry->addr, (uintptr_t)at);
    atomic_store(&entry->rkey, own->mr[i]->rkey);
}

static void step_cq(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_context *context = own->context[random_below(p, 2)];
    struct ibv_comp_channel *channel = random_one_in(p, 2) ? PICK(channel) : NULL;
    int err;
    if (GONE(own->cq[i], 12, ibv_destroy_cq)) {
        if (context)
            own->cq[i] = ibv_create_cq(context, random_count(p, 200), p, channel,
                                       random_one_in(p, 10) ? random_count(p, 1) : 0);
        random_count_call(p, !own->cq[i]);
    } else if (own->cq[i]) {
        random_count_call(p, random_one_in(p, 2) ? ibv_req_notify_cq(own->cq[i], random_one_in(p, 2))
                                                 : ibv_resize_cq(own->cq[i], random_count(p, 300)));
    }
}

static void step_srq(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_srq_init_attr init = {
        .attr = {.max_wr = (uint32_t)random_count(p, 64), .max_sge = (uint32_t)random_count(p, 4)}};
    struct ibv_srq_attr attr = {
        .max_wr = (uint32_t)random_count(p, 64), .max_sge = 1, .srq_limit = (uint32_t)random_count(p, 64)};
    struct ibv_pd *pd = PICK(pd);
    int err;
    if (GONE(own->srq[i], 12, ibv_destroy_srq)) {
        if (pd)
            own->srq[i] = ibv_create_srq(pd, &init);
    } else if (own->srq[i]) {
        random_count_call(p, ibv_modify_srq(own->srq[i], &attr, (int)random_below(p, 8)));
        random_count_call(p, ibv_query_srq(own->srq[i], &attr));
    }
}

static void step_ah(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_ah_attr attr = {
        .is_global = !random_one_in(p, 20),
        .port_num = !random_one_in(p, 20),
        .sl = (uint8_t)random_below(p, 20),
        .grh = {.dgid = {.raw = {[10] = 0xff, [11] = 0xff, [12] = 127, [15] = (uint8_t)random_below(p, 4)}},
                .sgid_index = random_one_in(p, 10) ? (uint8_t)random_any(p) : 0,
                .hop_limit = (uint8_t)random_any(p)}};
    struct ibv_pd *pd = PICK(pd);
    int err;
    if (GONE(own->ah[i], 10, ibv_destroy_ah) && pd)
        random_count_call(p, !(own->ah[i] = ibv_create_ah(pd, &attr)));
}

static void step_mw(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_pd *pd = PICK(pd);
    int err;
    if (GONE(own->mw[i], 6, ibv_dealloc_mw) && pd)
        random_count_call(p, !(own->mw[i] = ibv_alloc_mw(pd, 1 + random_below(p, 2))));
}

static void step_channel(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_context *context = own->context[random_below(p, 2)];
    struct ibv_cq *cq;
    void *of;
    int err;
    if (GONE(own->channel[i], 10, ibv_destroy_comp_channel)) {
        own->channel[i] = context ? ibv_create_comp_channel(context) : NULL;
        if (own->channel[i])
            (void)fcntl(own->channel[i]->fd, F_SETFL, O_NONBLOCK);
    } else if (own->channel[i] && ibv_get_cq_event(own->channel[i], &cq, &of) == 0) {
        ibv_ack_cq_events(cq, 1);
        atomic_fetch_add(&p->shared->events, 1);
    }
}

static void query(struct random_player *p, struct own *own, unsigned i)
{
    struct ibv_context *context = own->context[i % 2];
    uint8_t port = random_one_in(p, 4) ? (uint8_t)random_any(p) : 1;
    struct ibv_device_attr device;
    struct ibv_port_attr port_attr;
    union ibv_gid gid;
    uint16_t pkey;
    if (!context)
        return;
    random_count_call(p, ibv_query_device(context, &device));
    random_count_call(p, ibv_query_port(context, port, &port_attr));
    random_count_call(p, ibv_query_gid(context, port, random_count(p, 20), &gid));
    random_count_call(p, ibv_query_pkey(context, port, random_count(p, 3), &pkey));
    struct pollfd wait = {context->async_fd, POLLIN, 0};
    struct ibv_async_event event;
    while (poll(&wait, 1, 0) > 0 && ibv_get_async_event(context, &event) == 0)
        ibv_ack_async_event(&event);
}

static void join_group(struct random_player *p, struct own *own, unsigned i)
{
    union ibv_gid group = {
        .raw = {
            [10] = 0xff, [11] = 0xff, [12] = 239, [13] = 1, [14] = 1, [15] = (uint8_t)random_below(p, 4)}};
    if (!own->qp[i] || own->qp[i]->qp_type != IBV_QPT_UD)
        return;
    random_count_call(p, random_one_in(p, 2) ? ibv_attach_mcast(own->qp[i], &group, 0)
                                             : ibv_detach_mcast(own->qp[i], &group, 0));
}

/* Calls of a child on inherited objects. */
static void in_child(struct random_player *p)
{
    struct ibv_device_attr device;
    const struct own *own = p->own;
    int count;
    struct ibv_device **list = ibv_get_device_list(&count);
    if (list)
        ibv_free_device_list(list);
    if (own->context[0])
        (void)ibv_query_device(own->context[0], &device);
}

static void make_child(struct random_player *p, struct own *own, unsigned i)
{
    (void)own;
    if (i == 0 && random_one_in(p, 20))
        random_fork(p, in_child);
}

/* --- the kind --- */

static void begin(struct random_player *p)
{
    struct own *own = calloc(1, sizeof *own);
    pthread_once(&common.once, make_common);
    p->own = own;
    if (!own)
        return;
    own->memory = mmap(NULL, MEMORY_BYTES * 2, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (unsigned k = 0; k < 2; k++)
        own->context[k] = open_first();
}

static void step(struct random_player *p)
{
    static void (*const calls[])(struct random_player *, struct own *, unsigned) = {
        step_pd,    step_mr,      step_mr,   step_cq,    step_cq,    step_qp,   step_qp,
        step_qp,    step_qp,      post_send, post_send,  modify,     modify,    step_srq,
        post_recv,  post_recv,    poll_cq,   poll_cq,    step_ah,    step_mw,   query,
        join_group, step_channel, post_send, use_common, use_common, make_child};
    if (p->own)
        calls[random_below(p, sizeof calls / sizeof *calls)](p, p->own, random_below(p, OBJECTS));
}

/* Half of the threads close their devices with all that is in them. The end of the process closes the
 * others. */
static void end(struct random_player *p)
{
    struct own *own = p->own;
    if (!own || !random_one_in(p, 2))
        return;
    for (unsigned k = 0; k < 2; k++)
        if (own->context[k])
            (void)ibv_close_device(own->context[k]);
    munmap(own->memory, MEMORY_BYTES * 2);
    free(own);
    p->own = NULL;
}

const struct random_kind random_verbs = {"verbs", begin, step, end};
