/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/iwarp/pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

#define WIRE_BYTES  (8u << 20)
#define STEPS_MAX   2000000
#define STEPS_ABOUT 200 /* in which most of the work is done */
#define PAUSE_EVERY 50  /* steps, about, so that empty Writes become due (IWARP_NUDGE_NS) */

static void meet(struct pair *p)
{
    struct pair_side *one = &p->sides[0], *other = &p->sides[1];
    cr_assert_eq(iwarp_qp_connect(one->s.qp, &one->config, one->private_data, one->private_bytes, 0), 0);
    cr_assert_eq(iwarp_qp_listen(other->s.qp, &other->config, 0), 0);
}

/* --- the stream --- */

/* TCP takes some of what there is. */
static bool write_some(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    uint32_t count, took = 0,
                    room = test_random_below(&p->rnd, 3) ? UINT32_MAX : test_random_below(&p->rnd, 3000);
    if (side->s.qp->tcp != IWARP_TCP_OPEN)
        return false;
    size_t frame_bytes;
    bool is_frame = iwarp_setup_output(&side->s.qp->setup, &frame_bytes);
    const struct iwarp_piece *pieces = iwarp_qp_output(side->s.qp, &count, p->now_ns);
    for (uint32_t k = 0; k < count && room; k++) {
        uint32_t n = min_u32(pieces[k].len_bytes, room);
        cr_assert_leq(side->out.to + n, WIRE_BYTES);
        memcpy(side->out.bytes + side->out.to, pieces[k].bytes, n);
        if (!is_frame)
            pair_watch(p, i, pieces[k].bytes, n);
        side->out.to += n;
        took += n;
        room -= n;
    }
    iwarp_qp_sent(side->s.qp, took, p->now_ns);
    return count != 0;
}

/* The bit that is to be flipped, if it is among these octets. */
static void spoil(struct pair *p, int i, uint8_t *bytes, size_t n)
{
    const struct wire *wire = &p->sides[i].out;
    if (p->trouble == PAIR_FLIP && p->trouble_side == i && p->trouble_at >= wire->carried &&
        p->trouble_at < wire->carried + n)
        bytes[p->trouble_at - wire->carried] ^= (uint8_t)(1 << test_random_below(&p->rnd, 8));
}

static bool is_cut(const struct pair *p, int i)
{
    return p->trouble == PAIR_CUT && p->trouble_side == i && p->sides[i].out.carried >= p->trouble_at;
}

static bool takes_in(const struct iwarp_qp *qp)
{
    return qp->tcp == IWARP_TCP_OPEN || qp->tcp == IWARP_TCP_SHUTDOWN;
}

/* The other side reads some of it. */
static bool read_some(struct pair *p, int i)
{
    struct wire *wire = &p->sides[i].out;
    struct pair_side *to = &p->sides[!i];
    size_t left = wire->to - wire->from;
    if (is_cut(p, i) || !left || !takes_in(to->s.qp))
        return false;
    size_t n = 1 + test_random_below(&p->rnd, test_random_below(&p->rnd, 3) ? (uint32_t)left : 7);
    n = min_u64(n, left);
    if (p->trouble == PAIR_CUT && p->trouble_side == i)
        n = min_u64(n, p->trouble_at - wire->carried);
    spoil(p, i, wire->bytes + wire->from, n);
    iwarp_qp_input(to->s.qp, wire->bytes + wire->from, n);
    wire->from += n;
    wire->carried += n;
    if (to->s.qp->setup.state == IWARP_SETUP_REQUESTED)
        cr_assert_eq(iwarp_qp_accept(to->s.qp, to->private_data, to->private_bytes), 0);
    return true;
}

static bool post_some(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    if (side->s.qp->state != IWARP_QP_RTS || side->posted == PAIR_WORK)
        return false;
    side_post_wr(&side->s, &side->work[side->posted++].wr);
    return true;
}

/* Ends of TCP, as a kernel hands them on: a reset at once, a FIN behind all octets; what nobody takes any
 * more is answered by a reset. */
static bool end_some(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    struct iwarp_qp *from = side->s.qp, *to = p->sides[!i].s.qp;
    bool is_reset = from->tcp == IWARP_TCP_RESET || (from->tcp == IWARP_TCP_CLOSE && takes_in(to) &&
                                                     p->sides[!i].out.to != p->sides[!i].out.from);
    bool is_over = is_reset || (from->tcp != IWARP_TCP_OPEN && side->out.from == side->out.to);
    if (side->has_ended || !takes_in(to) || (!is_over && !is_cut(p, i)))
        return false;
    side->has_ended = true;
    if (is_reset || (is_cut(p, i) && p->seed & 1))
        iwarp_qp_lost(to);
    else
        iwarp_qp_fin(to, p->now_ns);
    return true;
}

/* --- the run --- */

static bool is_time_of_trouble(const struct pair *p)
{
    return p->steps == p->trouble_at;
}

/* What a program does to its stream, once. */
static bool strike(struct pair *p)
{
    struct iwarp_qp *qp = p->sides[p->trouble_side].s.qp;
    if (!is_time_of_trouble(p) || !takes_in(qp))
        return false;
    if (p->trouble == PAIR_CLOSE)
        iwarp_qp_disconnect(qp, p->now_ns);
    if (p->trouble == PAIR_RESET)
        iwarp_qp_abort(qp);
    return p->trouble == PAIR_CLOSE || p->trouble == PAIR_RESET;
}

static void look(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    if (side->s.qp->state == IWARP_QP_RTS && !side->has_met) {
        side->has_met = true;
        pair_check_session(p, i);
    }
    if (side->s.qp->state == IWARP_QP_RTS)
        pair_check_depths(p, i);
    pair_poll(p, i);
}

static bool step_side(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    bool did = false;
    if (!test_random_below(&p->rnd, 3))
        did |= post_some(p, i);
    did |= write_some(p, i);
    did |= read_some(p, i);
    did |= end_some(p, i);
    if (takes_in(side->s.qp) && p->now_ns >= iwarp_qp_deadline_ns(side->s.qp))
        iwarp_qp_advance(side->s.qp, p->now_ns);
    look(p, i);
    return did || (side->s.qp->state == IWARP_QP_RTS && side->posted < PAIR_WORK);
}

static bool step(struct pair *p, bool *has_struck)
{
    bool did = strike(p);
    *has_struck |= did;
    for (int i = 0; i < 2; i++)
        did |= step_side(p, i);
    p->now_ns += test_random_below(&p->rnd, PAUSE_EVERY) ? PAIR_STEP_NS : IWARP_NUDGE_NS;
    p->steps++;
    return did;
}

/* The next deadline of either, when nothing else goes on. False: there is none. */
static bool skip_time(struct pair *p)
{
    uint64_t next_ns = UINT64_MAX;
    for (int i = 0; i < 2; i++)
        if (takes_in(p->sides[i].s.qp))
            next_ns = min_u64(next_ns, iwarp_qp_deadline_ns(p->sides[i].s.qp));
    if (next_ns == UINT64_MAX)
        return false;
    p->now_ns = next_ns < p->now_ns ? p->now_ns : next_ns;
    return true;
}

static void draw_trouble(struct pair *p)
{
    bool is_timed = p->trouble == PAIR_CLOSE || p->trouble == PAIR_RESET;
    p->trouble_side = p->seed >> 1 & 1;
    p->trouble_at = is_timed ? test_random_below(&p->rnd, STEPS_ABOUT)
                             : (p->trouble == PAIR_FLIP ? 64 : 0) + test_random_below(&p->rnd, 20000);
}

static bool asks_too_much(const struct pair *p)
{
    for (const struct work *w = p->sides[p->trouble_side].work;
         w < p->sides[p->trouble_side].work + PAIR_WORK; w++)
        if (w->is_refused)
            return true;
    return false;
}

static void free_side(struct pair *p, int i)
{
    for (struct work *w = p->sides[!i].work; w < p->sides[!i].work + PAIR_WORK; w++)
        if (w->fast)
            rdma_mr_dereg(w->fast);
    free(p->sides[i].out.bytes);
    side_free(&p->sides[i].s);
}

void pair_run(uint64_t seed, enum pair_trouble trouble)
{
    struct pair *p = calloc(1, sizeof *p);
    bool has_struck = false;
    p->seed = seed;
    p->rnd.state = seed;
    p->trouble = trouble;
    draw_trouble(p);
    pair_draw_sides(p);
    pair_draw_work(p);
    for (int i = 0; i < 2; i++)
        p->sides[i].out.bytes = malloc(WIRE_BYTES);
    meet(p);
    for (unsigned idle = 0; idle < 4; idle = step(p, &has_struck) ? 0 : idle + 1) {
        cr_assert_lt(p->steps, STEPS_MAX, "seed %lu: it does not end", seed);
        if (idle == 3 && skip_time(p))
            idle = 0;
    }
    has_struck |= is_cut(p, p->trouble_side) || (trouble == PAIR_REFUSED && asks_too_much(p));
    pair_judge(p, has_struck);
    for (int i = 0; i < 2; i++)
        free_side(p, i);
    free(p);
}
