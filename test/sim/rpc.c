/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "rdma/transport.h"
#include "test/sim/rpc.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/region.h"
#include "test/support/rc_masks.h"

#define SLOT        (UINT64_C(1) << 63) /* in wr_id: a receive */
#define READ        (UINT64_C(1) << 62) /* in wr_id: the callee's READ */
#define FAST_IOVA   UINT64_C(0x7000000000)
#define REMOTE      (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE)
#define GUARD_BYTES 16u
#define END_BYTES   (2 * (RPC_DATA_BYTES + GUARD_BYTES) + RPC_SEND_WR_MAX * RPC_SLOT_BYTES)
#define SLOTS_BYTES (RPC_SLOTS_MAX * RPC_SLOT_BYTES)
#define LIMIT_NS    (3 * NS_PER_S)

static_assert(sizeof(struct rpc_message) <= RPC_SLOT_BYTES, "a message fits a receive");

/* --- making and undoing --- */

static void check(struct rpc *rpc, int err, const char *what)
{
    if (err)
        sim_fail(rpc->sim, "%s returned %d", what, err);
}

static void make_node(struct rpc *rpc, struct rpc_node *node, unsigned index)
{
    const struct rpc_config *c = &rpc->config;
    struct rdma_pd *pd = rpc->sim->node[index].pd;
    size_t bytes = SLOTS_BYTES + (size_t)c->pairs * END_BYTES;
    node->sim = &rpc->sim->node[index];
    node->memory = calloc(1, bytes);
    if (!node->memory)
        abort();
    check(rpc,
          rdma_mr_reg(pd, node->memory, bytes, NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND, &node->mr),
          "rdma_mr_reg");
    struct rdma_cq_config cq = {.capacity = c->pairs * RPC_SEND_WR_MAX + RPC_SLOTS_MAX};
    check(rpc, rdma_cq_create(&node->sim->alloc.mem, &cq, &node->cq), "rdma_cq_create");
    struct rdma_srq_config srq = {.max_wr = c->srq_slots, .max_sge = 1};
    check(rpc, rdma_srq_create(pd, &srq, &node->srq), "rdma_srq_create");
    for (uint32_t i = 0; i < c->srq_slots; i++)
        node->idle[node->idle_count++] = i;
}

static void make_end(struct rpc *rpc, struct rpc_node *node, unsigned pair)
{
    struct rpc_end *end = &node->end[pair];
    struct rdma_pd *pd = node->sim->pd;
    end->data = node->memory + SLOTS_BYTES + (size_t)pair * END_BYTES;
    end->work = end->data + RPC_DATA_BYTES + GUARD_BYTES;
    end->notes = end->work + RPC_DATA_BYTES + GUARD_BYTES;
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = pd,
                                    .send_cq = node->cq,
                                    .recv_cq = node->cq,
                                    .srq = node->srq,
                                    .caps = {.max_send_wr = RPC_SEND_WR_MAX, .max_send_sge = 1},
                                    .sq_sig_all = rpc->config.signal_all,
                                    .reorder_pkts = rpc->config.reorder_pkts};
    check(rpc, roce_qp_create(node->sim->dev, &config, &end->qp), "roce_qp_create");
    check(rpc, rdma_mr_alloc_fast(pd, RPC_DATA_BYTES, &end->fast), "rdma_mr_alloc_fast");
    check(rpc, rdma_mw_alloc(pd, NORNIC_MW_TYPE_2, &end->windows[0]), "rdma_mw_alloc");
    check(rpc, rdma_mw_alloc(pd, NORNIC_MW_TYPE_1, &end->windows[1]), "rdma_mw_alloc");
}

static void connect_end(struct rpc *rpc, unsigned index, unsigned pair)
{
    struct rpc_end *end = &rpc->node[index].end[pair];
    struct nornic_qp_attr attr = rpc->config.attr;
    static const struct {
        enum nornic_qp_state state;
        uint32_t mask;
    } steps[] = {
        {NORNIC_QPS_INIT, RC_INIT_MASK},
        {NORNIC_QPS_RTR, RC_RTR_MASK},
        {NORNIC_QPS_RTS, RC_RTS_MASK},
    };
    sim_address(rpc->sim, index, &attr.av);
    attr.dest_qpn = roce_qp_num(rpc->node[!index].end[pair].qp);
    for (int i = 0; i < 3; i++) {
        attr.state = steps[i].state;
        check(rpc, roce_qp_modify(end->qp, &attr, steps[i].mask | NORNIC_QP_STATE, rpc->sim->now_ns),
              "roce_qp_modify");
    }
}

static void undo_node(struct rpc *rpc, struct rpc_node *node)
{
    for (unsigned i = 0; i < rpc->config.pairs; i++) {
        struct rpc_end *end = &node->end[i];
        roce_qp_destroy(end->qp);
        check(rpc, rdma_mr_dereg(end->fast), "rdma_mr_dereg of a fast region");
        rdma_mw_dealloc(end->windows[0]);
        rdma_mw_dealloc(end->windows[1]);
    }
    check(rpc, rdma_srq_destroy(node->srq), "rdma_srq_destroy");
    check(rpc, rdma_cq_destroy(node->cq), "rdma_cq_destroy");
    check(rpc, rdma_mr_dereg(node->mr), "rdma_mr_dereg");
    free(node->memory);
}

/* --- contents --- */

static void fill(uint8_t *at, uint32_t len_bytes, uint64_t key)
{
    for (uint32_t i = 0; i < len_bytes; i++)
        at[i] = sim_pattern(key, i);
}

static bool holds(const uint8_t *at, uint32_t len_bytes, uint64_t key)
{
    for (uint32_t i = 0; i < len_bytes; i++)
        if (at[i] != sim_pattern(key, i))
            return false;
    return true;
}

/* What the callee of this call writes, or reads. */
static uint64_t content(const struct rpc *rpc, unsigned caller_node, unsigned pair, uint32_t call)
{
    return rpc->config.sim.seed + ((uint64_t)caller_node << 40 | (uint64_t)pair << 32 | call);
}

/* --- posting --- */

static struct nornic_send_wr *add(struct rpc_end *end, struct nornic_send_wr *wrs, unsigned *n,
                                  enum nornic_wr_opcode opcode)
{
    struct nornic_send_wr *wr = &wrs[*n];
    *wr = (struct nornic_send_wr){.wr_id = end->posted + *n + 1, .opcode = opcode};
    if (*n)
        wrs[*n - 1].next = wr;
    ++*n;
    return wr;
}

static void post(struct rpc *rpc, struct rpc_end *end, struct nornic_send_wr *wrs, unsigned n)
{
    check(rpc, roce_post_send(end->qp, wrs, NULL), "roce_post_send");
    end->posted += n;
}

static void add_message(struct rpc_node *node, struct rpc_end *end, struct nornic_send_wr *wrs, unsigned *n,
                        const struct rpc_message *message, struct nornic_sge *sge, uint32_t flags)
{
    uint8_t *note = end->notes + (end->posted + *n) % RPC_SEND_WR_MAX * RPC_SLOT_BYTES;
    bool gives_back = message->is_answer && message->give_back;
    struct nornic_send_wr *wr = add(end, wrs, n, gives_back ? NORNIC_WR_SEND_WITH_INV : NORNIC_WR_SEND);
    memcpy(note, message, sizeof *message);
    *sge = (struct nornic_sge){(uintptr_t)note, sizeof *message, node->mr->lkey};
    wr->sg_list = sge;
    wr->num_sge = 1;
    wr->invalidate_rkey = message->rkey;
    wr->send_flags = NORNIC_SEND_SIGNALED | flags;
}

static bool has_room(const struct rpc_end *end, uint32_t wrs)
{
    return end->posted - end->released + wrs <= RPC_SEND_WR_MAX;
}

/* The request that makes the caller's memory reachable; returns the remote address of its first byte. */
static uint64_t add_exposure(struct rpc *rpc, struct rpc_node *node, struct rpc_end *end,
                             struct nornic_send_wr *wrs, unsigned *n, uint32_t len_bytes)
{
    bool fast = end->kind == RPC_FAST, one = end->kind == RPC_WINDOW_1;
    struct nornic_bind bind = {.lkey = node->mr->lkey,
                               .addr = (uintptr_t)end->data,
                               .len_bytes = len_bytes,
                               .iova = FAST_IOVA,
                               .access = REMOTE | (fast ? NORNIC_ACCESS_LOCAL_WRITE : 0)};
    uint32_t flags = test_random_chance(&rpc->sim->random, 300000) ? NORNIC_SEND_SIGNALED : 0;
    if (one) {
        check(rpc, roce_bind_mw(end->qp, end->windows[1], end->posted + 1, flags, &bind), "roce_bind_mw");
        end->posted++;
        end->key = end->windows[1]->rkey;
        return bind.addr;
    }
    uint32_t name = fast ? end->fast->rkey : end->windows[0]->rkey;
    end->key = (name & ~0xffu) | ++end->keys_given;
    struct nornic_send_wr *wr = add(end, wrs, n, fast ? NORNIC_WR_REG_MR : NORNIC_WR_BIND_MW);
    wr->rkey = end->key;
    wr->bind = bind;
    wr->send_flags = flags;
    return fast ? FAST_IOVA : bind.addr;
}

static void begin_call(struct rpc *rpc, unsigned index, unsigned pair)
{
    struct rpc_node *node = &rpc->node[index];
    struct rpc_end *end = &node->end[pair];
    struct test_random *random = &rpc->sim->random;
    struct nornic_send_wr wrs[3];
    struct nornic_sge sge;
    unsigned n = 0;
    bool takes_back = end->call > 0 && end->kind != RPC_WINDOW_1 && !end->message.give_back;
    if (takes_back) { /* LOCAL_INV of the call before: what follows may use the same object again */
        struct nornic_send_wr *wr = add(end, wrs, &n, NORNIC_WR_LOCAL_INV);
        wr->invalidate_rkey = end->key;
        post(rpc, end, wrs, n);
        n = 0;
    }
    end->kind = (enum rpc_kind)test_random_below(random, RPC_KIND_COUNT);
    uint32_t len_bytes = 1 + test_random_below(random, test_random_below(random, 4) ? 3000 : RPC_DATA_BYTES);
    end->message = (struct rpc_message){.call = end->call, .len_bytes = len_bytes};
    end->message.callee_reads = test_random_chance(random, 400000);
    end->message.give_back = end->kind != RPC_WINDOW_1 && test_random_chance(random, 600000);
    uint64_t key = content(rpc, index, pair, end->call);
    fill(end->data, RPC_DATA_BYTES + GUARD_BYTES, ~key);
    if (end->message.callee_reads)
        fill(end->data, len_bytes, key);
    end->message.va = add_exposure(rpc, node, end, wrs, &n, len_bytes);
    end->message.rkey = end->key;
    add_message(node, end, wrs, &n, &end->message, &sge, 0);
    post(rpc, end, wrs, n);
    end->in_flight = true;
}

/* The callee: WRITE and answer, or READ and, behind a fence, answer (ROCE-RC-14). */
static void serve(struct rpc *rpc, unsigned index, unsigned pair)
{
    struct rpc_node *node = &rpc->node[index];
    struct rpc_end *end = &node->end[pair];
    const struct rpc_message *request = &end->request;
    struct nornic_send_wr wrs[2];
    struct nornic_sge sges[2] = {{(uintptr_t)end->work, request->len_bytes, node->mr->lkey}};
    unsigned n = 0;
    if (request->callee_reads)
        fill(end->work, request->len_bytes, 0);
    else
        fill(end->work, request->len_bytes, content(rpc, !index, pair, request->call));
    struct nornic_send_wr *wr =
        add(end, wrs, &n, request->callee_reads ? NORNIC_WR_RDMA_READ : NORNIC_WR_RDMA_WRITE);
    wr->sg_list = &sges[0];
    wr->num_sge = 1;
    wr->remote_addr = request->va;
    wr->rkey = request->rkey;
    if (request->callee_reads) {
        wr->wr_id |= READ;
        wr->send_flags = NORNIC_SEND_SIGNALED;
        end->reading = true;
    }
    struct rpc_message answer = *request;
    answer.is_answer = true;
    add_message(node, end, wrs, &n, &answer, &sges[1], request->callee_reads ? NORNIC_SEND_FENCE : 0);
    post(rpc, end, wrs, n);
    end->asked = false;
}

static void post_slots(struct rpc *rpc, struct rpc_node *node)
{
    unsigned limits = node->sim->events[NORNIC_EVENT_SRQ_LIMIT_REACHED];
    if (rpc->config.lazy && node->begun && limits == node->limits_seen)
        return;
    node->begun = true;
    node->limits_seen = limits;
    while (node->idle_count) {
        uint32_t slot = node->idle[--node->idle_count];
        struct nornic_sge sge = {(uintptr_t)node->memory + slot * RPC_SLOT_BYTES, RPC_SLOT_BYTES,
                                 node->mr->lkey};
        struct nornic_recv_wr wr = {.wr_id = SLOT | slot, .sg_list = &sge, .num_sge = 1};
        check(rpc, rdma_srq_post(node->srq, &wr, NULL), "rdma_srq_post");
    }
    if (rpc->config.lazy)
        check(rpc, rdma_srq_set_limit(node->srq, 1 + rpc->config.srq_slots / 3), "rdma_srq_set_limit");
}

/* --- completions --- */

static bool is_reachable(const struct rpc_node *node, const struct rpc_end *end)
{
    return rdma_mr_remote(roce_dev_domain(node->sim->dev), node->sim->pd, roce_qp_num(end->qp), end->key,
                          end->message.va, 1, NORNIC_ACCESS_REMOTE_READ) != NULL;
}

static void take_answer(struct rpc *rpc, unsigned index, unsigned pair, const struct rpc_message *answer,
                        const struct nornic_wc *wc)
{
    struct rpc_node *node = &rpc->node[index];
    struct rpc_end *end = &node->end[pair];
    uint64_t key = content(rpc, index, pair, end->call);
    if (!end->in_flight || answer->call != end->call || answer->rkey != end->key)
        return sim_fail(rpc->sim, "node %u pair %u: an answer to call %u while %u waits", index, pair,
                        answer->call, end->call);
    bool with_inv = wc->wc_flags & NORNIC_WC_WITH_INV;
    if (with_inv != end->message.give_back || (with_inv && wc->invalidated_rkey != end->key))
        sim_fail(rpc->sim, "node %u pair %u call %u: flags %u, key %08x", index, pair, end->call,
                 wc->wc_flags, wc->invalidated_rkey);
    if (is_reachable(node, end) == with_inv)
        sim_fail(rpc->sim, "node %u pair %u call %u: the key is %s", index, pair, end->call,
                 with_inv ? "still good" : "gone");
    uint32_t len = end->message.len_bytes;
    if (!holds(end->data, len, key))
        sim_fail(rpc->sim, "node %u pair %u call %u: the data are not what was %s", index, pair, end->call,
                 end->message.callee_reads ? "read" : "written");
    fill(end->data, len, ~key);
    if (!holds(end->data, RPC_DATA_BYTES + GUARD_BYTES, ~key))
        sim_fail(rpc->sim, "node %u pair %u call %u: bytes beside the data changed", index, pair, end->call);
    end->in_flight = false;
    end->call++;
    rpc->answers++;
}

static unsigned find_pair(struct rpc *rpc, unsigned index, uint32_t qpn)
{
    for (unsigned i = 0; i < rpc->config.pairs; i++)
        if (roce_qp_num(rpc->node[index].end[i].qp) == qpn)
            return i;
    sim_fail(rpc->sim, "node %u: a completion names QP %u, which there is not", index, qpn);
    return 0;
}

static void complete(struct rpc *rpc, unsigned index, const struct nornic_wc *wc)
{
    struct rpc_node *node = &rpc->node[index];
    unsigned pair = find_pair(rpc, index, wc->qp_num);
    struct rpc_end *end = &node->end[pair];
    if (wc->status != NORNIC_WC_SUCCESS)
        return sim_fail(rpc->sim, "node %u pair %u: %s", index, pair, nornic_wc_status_name(wc->status));
    if (wc->wr_id & SLOT) {
        struct rpc_message message;
        uint32_t slot = (uint32_t)wc->wr_id;
        memcpy(&message, node->memory + slot * RPC_SLOT_BYTES, sizeof message);
        node->idle[node->idle_count++] = slot;
        if (message.is_answer)
            return take_answer(rpc, index, pair, &message, wc);
        if (end->asked)
            sim_fail(rpc->sim, "node %u pair %u: two requests at once", index, pair);
        end->request = message;
        end->asked = true;
        return;
    }
    end->released = (uint32_t)wc->wr_id;
    if (wc->wr_id & READ) {
        end->reading = false;
        if (!holds(end->work, end->request.len_bytes, content(rpc, !index, pair, end->request.call)))
            sim_fail(rpc->sim, "node %u pair %u: the READ did not fetch what was there", index, pair);
    }
}

static void resize(struct rpc *rpc, struct rpc_node *node)
{
    uint32_t size = test_random_chance(&rpc->sim->random, 500000) ? RPC_SLOTS_MAX : rpc->config.srq_slots;
    check(rpc, rdma_srq_resize(node->srq, size), "rdma_srq_resize");
}

static bool application(struct rpc *rpc, unsigned index)
{
    struct rpc_node *node = &rpc->node[index];
    struct nornic_wc wcs[8];
    int n = rdma_cq_poll(node->cq, wcs, 1 + test_random_below(&rpc->sim->random, 8));
    uint32_t idle_before = node->idle_count;
    if (n < 0)
        sim_fail(rpc->sim, "rdma_cq_poll returned %d", n);
    for (int i = 0; i < n && !rpc->sim->failed; i++)
        complete(rpc, index, &wcs[i]);
    if (rpc->config.resize && n > 0 && test_random_chance(&rpc->sim->random, 50000))
        resize(rpc, node);
    post_slots(rpc, node);
    bool moved = n > 0 || node->idle_count != idle_before;
    for (unsigned pair = 0; pair < rpc->config.pairs && !rpc->sim->failed; pair++) {
        struct rpc_end *end = &node->end[pair];
        if (end->asked && !end->reading && has_room(end, 2)) {
            serve(rpc, index, pair);
            moved = true;
        }
        if (!end->in_flight && end->call < rpc->config.calls && has_room(end, 3)) {
            begin_call(rpc, index, pair);
            moved = true;
        }
    }
    return moved;
}

/* --- the whole --- */

static void run(struct rpc *rpc)
{
    struct sim *sim = rpc->sim;
    while (!sim->failed) {
        bool moved = true;
        while (moved && !sim->failed) {
            moved = application(rpc, 0);
            moved |= application(rpc, 1);
            moved |= sim_step(sim);
        }
        uint64_t next = sim_next_ns(sim);
        if (next == NET_TIME_NONE)
            return;
        if (next > LIMIT_NS)
            return sim_fail(sim, "not done after %u of %u calls", rpc->answers,
                            2 * rpc->config.pairs * rpc->config.calls);
        sim_jump(sim, next);
    }
}

static void judge(struct rpc *rpc)
{
    unsigned want = 2 * rpc->config.pairs * rpc->config.calls;
    if (rpc->answers != want)
        sim_fail(rpc->sim, "%u of %u calls were answered", rpc->answers, want);
    for (unsigned i = 0; i < 2; i++) {
        const struct rpc_node *node = &rpc->node[i];
        for (unsigned e = 0; e < NORNIC_EVENT_COUNT; e++)
            if (node->sim->events[e] && e != NORNIC_EVENT_SRQ_LIMIT_REACHED && e != NORNIC_EVENT_COMM_EST &&
                e != NORNIC_EVENT_GID_CHANGE)
                sim_fail(rpc->sim, "node %u: event %s", i, nornic_event_name((enum nornic_event_type)e));
        if (rdma_srq_count(node->srq) + node->idle_count != rpc->config.srq_slots)
            sim_fail(rpc->sim, "node %u: %u receives in the SRQ and %u idle", i, rdma_srq_count(node->srq),
                     node->idle_count);
    }
}

void rpc_run(struct rpc *rpc, struct sim *sim, const struct rpc_config *config)
{
    *rpc = (struct rpc){.config = *config, .sim = sim};
    sim_init(sim, &config->sim);
    for (unsigned i = 0; i < 2; i++) {
        make_node(rpc, &rpc->node[i], i);
        for (unsigned pair = 0; pair < config->pairs; pair++)
            make_end(rpc, &rpc->node[i], pair);
    }
    for (unsigned i = 0; i < 2 * config->pairs; i++)
        connect_end(rpc, i % 2, i / 2);
    run(rpc);
    if (!sim->failed)
        judge(rpc);
    for (unsigned i = 0; i < 2; i++)
        undo_node(rpc, &rpc->node[i]);
    sim_deinit(sim);
}
