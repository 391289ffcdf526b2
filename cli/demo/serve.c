/* SPDX-License-Identifier: BSD-2-Clause */
/* Side B: has buffers and data ready, and compares what A put there. To READs and atomics its program has
 * nothing to say: its device answers them. */
#include <arpa/inet.h>
#include <string.h>

#include "cli/demo/side.h"
#include "cli/node/pattern.h"

/* How often B looks for A's messages while packets keep coming. */
#define ROUNDS_PER_LOOK 16u

struct server {
    struct demo_side *side;
    struct demo_phase phase;
    uint64_t compared, wrong; /* messages of this phase */
    uint64_t total;           /* operations of the phase; UINT64_MAX: not yet known */
    bool over;                /* A said BYE */
};

static bool takes_receive(enum demo_op op)
{
    return op == DEMO_SEND || op == DEMO_SEND_IMM || op == DEMO_WRITE_IMM;
}

static bool has_imm(enum demo_op op)
{
    return op == DEMO_SEND_IMM || op == DEMO_WRITE_IMM;
}

static bool post_receive(struct demo_side *side, uint64_t i)
{
    uint8_t *data = side->receives + i * side->message_bytes;
    struct nornic_sge sge = {(uintptr_t)data, side->message_bytes, side->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
    int err = roce_post_recv(side->qp, &wr, NULL);
    return !err || demo_side_fail(side, "a receive could not be posted: %s", strerror(-err));
}

static bool begin(struct server *s, const struct demo_phase *phase)
{
    uint64_t places = 2 * (uint64_t)phase->half;

    *s = (struct server){.side = s->side, .phase = *phase, .total = UINT64_MAX};
    memset(s->side->memory, 0, sizeof(uint64_t));
    for (uint64_t i = 0; phase->op == DEMO_READ && i < places; i++)
        cli_pattern_fill(phase->stream + i, demo_slot(s->side, phase, i), phase->size_bytes);
    return demo_side_send(s->side, &(struct demo_msg){.type = DEMO_MSG_READY});
}

/* Compares the next message of the phase, which lies at `data`. */
static bool compare(struct server *s, const uint8_t *data)
{
    const struct demo_phase *phase = &s->phase;

    assert(phase->half > 0);
    s->wrong +=
        cli_pattern_compare(phase->stream + s->compared, data, phase->size_bytes) != phase->size_bytes;
    s->compared++;
    bool half_full = s->compared % phase->half == 0;
    if (!half_full || (phase->op != DEMO_WRITE && phase->op != DEMO_WRITE_IMM))
        return true;
    return demo_side_send(s->side, &(struct demo_msg){.type = DEMO_MSG_CHECKED, .count = s->compared});
}

/* A receive completed: a SEND is in its buffer, a WRITE with immediate in its place. */
static bool take(struct server *s, const struct nornic_wc *wc)
{
    const struct demo_phase *phase = &s->phase;
    struct demo_side *side = s->side;

    if (wc->status != NORNIC_WC_SUCCESS)
        return demo_side_fail(side, "a receive ended with %s", nornic_wc_status_name(wc->status));
    bool imm_right = !has_imm(phase->op) ||
                     ((wc->wc_flags & NORNIC_WC_WITH_IMM) && wc->imm_data == htonl((uint32_t)s->compared));
    if (wc->byte_len != phase->size_bytes || !imm_right)
        s->wrong++;
    const uint8_t *data = phase->op == DEMO_WRITE_IMM ? demo_slot(side, phase, s->compared)
                                                      : side->receives + wc->wr_id * side->message_bytes;
    return compare(s, data) && post_receive(side, wc->wr_id);
}

static bool compare_written(struct server *s, uint64_t until)
{
    while (s->compared < until)
        if (!compare(s, demo_slot(s->side, &s->phase, s->compared)))
            return false;
    return true;
}

/* Every operation of the phase has arrived: the last comparison, and the result. */
static bool finish(struct server *s)
{
    uint64_t word;

    memcpy(&word, s->side->memory, sizeof word);
    if (demo_op_is_atomic(s->phase.op) && word != s->total)
        s->wrong++;
    struct demo_msg result = {.type = DEMO_MSG_RESULT, .count = s->compared, .wrong = s->wrong};
    s->total = UINT64_MAX;
    return demo_side_send(s->side, &result);
}

static bool obey(struct server *s, const struct demo_msg *msg)
{
    switch (msg->type) {
    case DEMO_MSG_BEGIN:
        return begin(s, &msg->phase);
    case DEMO_MSG_CHECK:
        return compare_written(s, msg->count);
    case DEMO_MSG_END:
        s->total = msg->count;
        return s->phase.op != DEMO_WRITE || compare_written(s, msg->count);
    case DEMO_MSG_BYE:
        s->over = true;
        return true;
    case DEMO_MSG_HELLO:
    case DEMO_MSG_READY:
    case DEMO_MSG_CHECKED:
    case DEMO_MSG_RESULT:
        break;
    }
    return demo_side_fail(s->side, "side A sent a message out of turn");
}

/* Takes completions. 1: something came; 0: nothing; -1: it failed. */
static int turn(struct server *s)
{
    struct nornic_wc wcs[16];
    int n = rdma_cq_poll(s->side->cq, wcs, 16);

    for (int i = 0; i < n; i++)
        if (!take(s, &wcs[i]))
            return -1;
    if (n < 0)
        demo_side_fail(s->side, "the completion queue overflowed");
    return n < 0 ? -1 : n > 0;
}

bool demo_serve(struct demo_side *side)
{
    struct server s = {.side = side, .phase = {.half = 1}, .total = UINT64_MAX};
    struct demo_msg msg;

    for (uint64_t i = 0; i < side->receive_count; i++)
        if (!post_receive(side, i))
            return false;
    for (unsigned round = 0; !s.over; round++) {
        int moved = turn(&s), n = 0;
        if (moved < 0)
            return false;
        bool waits = s.total != UINT64_MAX && takes_receive(s.phase.op) && s.compared < s.total;
        if (s.total != UINT64_MAX && !waits && !finish(&s))
            return false;
        if (!demo_side_round(side, moved > 0))
            return false;
        if (side->idle_rounds > 0 || round % ROUNDS_PER_LOOK == 0)
            n = demo_side_poll(side, &msg);
        if (n < 0 || (n > 0 && !obey(&s, &msg)))
            return false;
    }
    return true;
}
