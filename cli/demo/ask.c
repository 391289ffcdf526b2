/* SPDX-License-Identifier: BSD-2-Clause */
/* Side A: keeps `depth` operations under way until the phase is over, and compares what comes back. */
#include <arpa/inet.h>
#include <string.h>

#include "cli/demo/side.h"
#include "cli/node/pattern.h"

struct asker {
    struct demo_side *side;
    const struct demo_phase *phase;
    struct demo_op_result *result;
    bool is_bulk;
    uint64_t posted, completed;
    uint64_t checked; /* messages that B has compared: their places may be written again */
    uint64_t started_ns, moved_ns;
    uint64_t posted_ns[DEMO_MAX_DEPTH];
    struct histogram *latency; /* NULL: not wanted */
};

/* Whether B must have compared a message before its place is overwritten. */
static bool is_written(enum demo_op op)
{
    return op == DEMO_WRITE || op == DEMO_WRITE_IMM;
}

static const enum nornic_wr_opcode wr_opcode[DEMO_OP_COUNT] = {
    [DEMO_SEND] = NORNIC_WR_SEND,
    [DEMO_SEND_IMM] = NORNIC_WR_SEND_WITH_IMM,
    [DEMO_WRITE] = NORNIC_WR_RDMA_WRITE,
    [DEMO_WRITE_IMM] = NORNIC_WR_RDMA_WRITE_WITH_IMM,
    [DEMO_READ] = NORNIC_WR_RDMA_READ,
    [DEMO_CMP_SWAP] = NORNIC_WR_ATOMIC_CMP_AND_SWP,
    [DEMO_FETCH_ADD] = NORNIC_WR_ATOMIC_FETCH_AND_ADD,
};

/* Where in B's memory operation `index` works. */
static uint64_t remote_offset(const struct asker *a, uint64_t index)
{
    const struct demo_phase *phase = a->phase;
    if (demo_op_is_atomic(phase->op))
        return 0;
    uint64_t slot =
        phase->op == DEMO_READ ? demo_read_source(phase, index) : index % (2 * (uint64_t)phase->half);
    return DEMO_DATA_OFFSET + slot * phase->size_bytes;
}

static bool post(struct asker *a)
{
    const struct demo_phase *phase = a->phase;
    uint64_t i = a->posted;
    uint8_t *data = demo_slot(a->side, phase, i);
    struct nornic_sge sge = {(uintptr_t)data, phase->size_bytes, a->side->mr->lkey};
    struct nornic_send_wr wr = {
        .wr_id = i,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = wr_opcode[phase->op],
        .send_flags = NORNIC_SEND_SIGNALED,
        .imm_data = htonl((uint32_t)i),
        .remote_addr = a->side->remote.va + remote_offset(a, i),
        .rkey = a->side->remote.rkey,
        .compare_add = phase->op == DEMO_CMP_SWAP ? i : 1,
        .swap = i + 1,
    };

    if (phase->op != DEMO_READ && !demo_op_is_atomic(phase->op))
        cli_pattern_fill(phase->stream + i, data, phase->size_bytes);
    a->posted_ns[i % phase->depth] = host_now_ns();
    int err = roce_post_send(a->side->qp, &wr, NULL);
    if (err)
        return demo_side_fail(a->side, "%s number %llu could not be posted: %s", demo_op_name[phase->op],
                              (unsigned long long)i, strerror(-err));
    a->posted++;
    return true;
}

static bool may_post(const struct asker *a, uint64_t now_ns)
{
    const struct demo_phase *phase = a->phase;
    if (a->posted - a->completed >= phase->depth)
        return false;
    if (is_written(phase->op) && a->posted - a->checked >= 2 * (uint64_t)phase->half)
        return false;
    return phase->count ? a->posted < phase->count : now_ns - a->started_ns < phase->time_ns;
}

static bool is_over(const struct asker *a, uint64_t now_ns)
{
    const struct demo_phase *phase = a->phase;
    bool last_posted = phase->count ? a->posted == phase->count : now_ns - a->started_ns >= phase->time_ns;
    return last_posted && a->completed == a->posted;
}

/* Whether the data that operation `index` brought is right; what B received, B compares. */
static bool is_right(const struct asker *a, uint64_t index)
{
    const struct demo_phase *phase = a->phase;
    const uint8_t *data = demo_slot(a->side, phase, index);
    uint64_t original;

    if (phase->op == DEMO_READ)
        return cli_pattern_compare(phase->stream + demo_read_source(phase, index), data, phase->size_bytes) ==
               phase->size_bytes;
    if (!demo_op_is_atomic(phase->op))
        return true;
    /* The word starts at 0, and every operation makes it one more. */
    memcpy(&original, data, sizeof original);
    return original == index;
}

static bool complete(struct asker *a, const struct nornic_wc *wc, uint64_t now_ns)
{
    const struct demo_phase *phase = a->phase;
    const char *name = demo_op_name[phase->op];

    if (wc->status != NORNIC_WC_SUCCESS)
        return demo_side_fail(a->side, "%s number %llu ended with %s", name, (unsigned long long)wc->wr_id,
                              nornic_wc_status_name(wc->status));
    if (wc->wr_id != a->completed)
        return demo_side_fail(a->side, "%s number %llu completed out of order", name,
                              (unsigned long long)wc->wr_id);
    if (a->latency)
        histogram_add(a->latency, now_ns - a->posted_ns[a->completed % phase->depth]);
    if (phase->op == DEMO_READ || demo_op_is_atomic(phase->op)) {
        a->result->checked_ops++;
        a->result->checked_bytes += phase->size_bytes;
        a->result->wrong_ops += !is_right(a, a->completed);
    }
    a->completed++;
    /* A WRITE is silent: B learns on the other channel when half of the places are full. */
    if (phase->op == DEMO_WRITE && a->completed % phase->half == 0)
        return demo_side_send(a->side, &(struct demo_msg){.type = DEMO_MSG_CHECK, .count = a->completed});
    return true;
}

static void publish(const struct asker *a, uint64_t now_ns)
{
    if (!a->is_bulk)
        return;
    atomic_store_explicit(&a->result->ops, a->completed, memory_order_relaxed);
    atomic_store_explicit(&a->result->bytes, a->completed * a->phase->size_bytes, memory_order_relaxed);
    atomic_store_explicit(&a->result->elapsed_ns, now_ns - a->started_ns, memory_order_relaxed);
}

/* Takes completions, posts what may be posted. 1: something moved; 0: nothing; -1: it failed. */
static int turn(struct asker *a)
{
    struct nornic_wc wcs[16];
    uint64_t now_ns = host_now_ns();
    int n = rdma_cq_poll(a->side->cq, wcs, 16);
    bool moved = n > 0;

    for (int i = 0; i < n; i++)
        if (!complete(a, &wcs[i], now_ns))
            return -1;
    if (n < 0) {
        demo_side_fail(a->side, "the completion queue overflowed");
        return -1;
    }
    if (moved)
        publish(a, now_ns);
    for (; may_post(a, now_ns); moved = true)
        if (!post(a))
            return -1;
    if (moved)
        a->moved_ns = now_ns;
    if (now_ns - a->moved_ns > DEMO_PATIENCE_NS) {
        demo_side_fail(a->side, "%s: no completion for 10 seconds", demo_op_name[a->phase->op]);
        return -1;
    }
    return moved;
}

/* B's word that places may be written again. False: B has gone. */
static bool take_checked(struct asker *a)
{
    struct demo_msg msg;
    int n;

    if (!is_written(a->phase->op) || a->posted - a->checked < a->phase->half)
        return true;
    while ((n = demo_side_poll(a->side, &msg)) > 0)
        if (msg.type == DEMO_MSG_CHECKED)
            a->checked = msg.count;
    return n == 0;
}

static bool run(struct asker *a)
{
    for (;;) {
        int moved = turn(a);
        if (moved < 0)
            return false;
        if (is_over(a, host_now_ns()))
            return true;
        if (!demo_side_round(a->side, moved > 0) || !take_checked(a))
            return false;
    }
}

/* Lets B finish comparing, and takes over what it found. */
static bool finish(struct asker *a)
{
    struct demo_msg msg = {.type = DEMO_MSG_END, .count = a->completed};
    struct demo_side *side = a->side;

    if (!demo_side_send(side, &msg))
        return false;
    do {
        msg.type = DEMO_MSG_CHECKED;
        /* those that were under way when the phase ended */
        int n = demo_side_poll(side, &msg);
        if (n < 0)
            return false;
        if (n > 0 && msg.type == DEMO_MSG_RESULT)
            break;
        if (host_now_ns() - a->moved_ns > DEMO_PATIENCE_NS)
            return demo_side_fail(side, "%s: side B compared nothing for 10 seconds",
                                  demo_op_name[a->phase->op]);
    } while (demo_side_round(side, false));
    if (msg.type != DEMO_MSG_RESULT)
        return false;
    a->result->checked_ops += msg.count;
    a->result->checked_bytes += msg.count * a->phase->size_bytes;
    a->result->wrong_ops += msg.wrong;
    return true;
}

bool demo_ask(struct demo_side *side, const struct demo_phase *phase, struct demo_op_result *result,
              bool is_bulk, struct histogram *latency)
{
    struct asker a = {.side = side, .phase = phase, .result = result, .is_bulk = is_bulk, .latency = latency};
    struct demo_msg msg = {.type = DEMO_MSG_BEGIN, .phase = *phase};

    if (!demo_side_send(side, &msg) || !demo_side_await(side, DEMO_MSG_READY, &msg))
        return false;
    a.started_ns = a.moved_ns = host_now_ns();
    return run(&a) && finish(&a);
}
