/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/iwarp/pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"

/* A side's memory: data that nobody writes, the slots of the peer's Writes, those of its own READs, those of
 * its receives, and the word of the atomics. */
#define SLOT_BYTES   4096u
#define SOURCE_BYTES (64u << 10)
#define WRITES_AT    SOURCE_BYTES
#define READS_AT     (WRITES_AT + PAIR_WORK * SLOT_BYTES)
#define RECVS_AT     (READS_AT + PAIR_WORK * SLOT_BYTES)
#define WORD_AT      (RECVS_AT + PAIR_WORK * SLOT_BYTES)
#define WIRE_BYTES   (8u << 20)

static uint8_t source_octet(int side, uint32_t at)
{
    return (uint8_t)(1 + (at * 2654435761u >> 13) % 255 + (side ? 77 : 0)) | 1; /* never 0 */
}

static void make_side(struct pair *p, int i, uint16_t depth)
{
    struct pair_side *side = &p->sides[i];
    const struct side_options options = {.max_ird = depth, .max_ord = depth};
    side_make(&side->s, p->seed * 2 + (uint64_t)i, &options);
    for (uint32_t at = 0; at < SOURCE_BYTES; at++)
        side->s.memory[at] = source_octet(i, at);
    side->out.bytes = malloc(WIRE_BYTES);
    static const uint32_t segments[] = {128, 536, 1448, 8948, 65483};
    iwarp_qp_set_emss(side->s.qp, segments[test_random_below(&p->rnd, array_len(segments))]);
    for (uint32_t n = 0; n < PAIR_WORK; n++)
        side_post_recv(&side->s, 1000 + n, RECVS_AT + n * SLOT_BYTES, SLOT_BYTES);
}

/* One request of side `i`; those that take a receive take the peer's in order. */
static void draw_work(struct pair *p, int i, struct work *w, uint32_t n, uint32_t *recvs)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND,      NORNIC_WR_RDMA_WRITE,
                                                    NORNIC_WR_RDMA_READ, NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                                    NORNIC_WR_RDMA_READ, NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    struct side *mine = &p->sides[i].s, *peers = &p->sides[!i].s;
    enum nornic_wr_opcode opcode = opcodes[test_random_below(&p->rnd, array_len(opcodes))];
    bool is_read = opcode == NORNIC_WR_RDMA_READ, is_atomic = opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD;
    *w = (struct work){.slot = n};
    w->len_bytes = test_random_below(&p->rnd, test_random_below(&p->rnd, 4) ? SLOT_BYTES + 1 : 5);
    w->len_bytes = is_atomic ? 8 : w->len_bytes;
    w->source = test_random_below(&p->rnd, SOURCE_BYTES - SLOT_BYTES);
    w->takes_recv = opcode == NORNIC_WR_SEND || opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
    uint32_t local = is_read || is_atomic ? READS_AT + n * SLOT_BYTES : w->source;
    uint32_t remote = is_atomic ? WORD_AT : is_read ? w->source : WRITES_AT + n * SLOT_BYTES;
    if (opcode == NORNIC_WR_SEND)
        w->slot = *recvs;
    *recvs += w->takes_recv;
    uint32_t count = is_atomic || w->len_bytes == 0 ? w->len_bytes != 0 : 1 + test_random_below(&p->rnd, 3);
    for (uint32_t k = 0, at = 0; k < count; k++) {
        uint32_t left = w->len_bytes - at, len = k + 1 == count ? left : test_random_below(&p->rnd, left + 1);
        w->sges[k] = side_sge(mine, local + at, len);
        at += len;
    }
    w->wr = (struct nornic_send_wr){.wr_id = n,
                                    .opcode = opcode,
                                    .sg_list = w->sges,
                                    .num_sge = count,
                                    .send_flags = test_random_below(&p->rnd, 6) ? 0 : NORNIC_SEND_FENCE,
                                    .imm_data = n,
                                    .remote_addr = (uintptr_t)(peers->memory + remote),
                                    .rkey = peers->mr->rkey,
                                    .compare_add = 1};
}

static void meet(struct pair *p, uint16_t depth)
{
    struct iwarp_setup_config config[2];
    for (int i = 0; i < 2; i++) {
        uint64_t bits = test_random_next(&p->rnd);
        config[i] = (struct iwarp_setup_config){
            .rev = i ? 2 : 1 + (bits & 1),
            .wants_markers = bits >> 1 & 1,
            .no_crc = p->trouble != PAIR_FLIP && bits >> 2 & 1,
            .ird = depth,
            .ord = depth,
            .rtr = bits >> 3 & 3,
        };
    }
    cr_assert_eq(iwarp_qp_connect(p->sides[0].s.qp, &config[0], "abc", 3, 0), 0);
    cr_assert_eq(iwarp_qp_listen(p->sides[1].s.qp, &config[1], 0), 0);
}

/* --- the stream --- */

/* TCP takes some of what there is. */
static bool write_some(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    uint32_t count, took = 0,
                    room = test_random_below(&p->rnd, 3) ? UINT32_MAX : test_random_below(&p->rnd, 3000);
    const struct iwarp_piece *pieces = iwarp_qp_output(side->s.qp, &count, 0);
    for (uint32_t k = 0; k < count && room; k++) {
        uint32_t n = min_u32(pieces[k].len_bytes, room);
        cr_assert_leq(side->out.to + n, WIRE_BYTES);
        memcpy(side->out.bytes + side->out.to, pieces[k].bytes, n);
        side->out.to += n;
        took += n;
        room -= n;
    }
    iwarp_qp_sent(side->s.qp, took, 0);
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

/* The other side reads some of it. */
static bool read_some(struct pair *p, int i)
{
    struct wire *wire = &p->sides[i].out;
    struct iwarp_qp *to = p->sides[!i].s.qp;
    size_t left = wire->to - wire->from;
    if (is_cut(p, i) || !left)
        return false;
    size_t n = 1 + test_random_below(&p->rnd, test_random_below(&p->rnd, 3) ? (uint32_t)left : 7);
    n = min_u64(n, left);
    if (p->trouble == PAIR_CUT && p->trouble_side == i)
        n = min_u64(n, p->trouble_at - wire->carried);
    spoil(p, i, wire->bytes + wire->from, n);
    iwarp_qp_input(to, wire->bytes + wire->from, n);
    wire->from += n;
    wire->carried += n;
    if (to->setup.state == IWARP_SETUP_REQUESTED)
        cr_assert_eq(iwarp_qp_accept(to, NULL, 0), 0);
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

/* Ends of TCP, as a kernel hands them on. */
static bool end_some(struct pair *p, int i)
{
    struct pair_side *side = &p->sides[i];
    struct iwarp_qp *to = p->sides[!i].s.qp;
    bool is_over = side->s.qp->tcp != IWARP_TCP_OPEN && side->out.from == side->out.to;
    if (side->has_ended || (!is_over && !is_cut(p, i)))
        return false;
    side->has_ended = true;
    if (is_cut(p, i) && p->seed & 1)
        iwarp_qp_lost(to);
    else
        iwarp_qp_fin(to, 0);
    return true;
}

/* --- the model --- */

static void check_octets(struct pair *p, int of, uint32_t at, uint32_t source, uint32_t len, bool may_lack)
{
    const uint8_t *memory = p->sides[of].s.memory;
    for (uint32_t i = 0; i < len; i++) {
        bool is_right = memory[at + i] == source_octet(!of, source + i);
        cr_assert(is_right || (may_lack && memory[at + i] == 0), "seed %lu: octet %u", p->seed, i);
    }
    for (uint32_t i = len; i < SLOT_BYTES; i++)
        cr_assert_eq(memory[at + i], 0, "seed %lu: behind the end", p->seed);
}

/* Where the data of a request of side `i` is to be, whether it has come or not. */
static void check_target(struct pair *p, int i, const struct work *w, bool may_lack)
{
    switch (w->wr.opcode) {
    case NORNIC_WR_SEND:
        check_octets(p, !i, RECVS_AT + w->slot * SLOT_BYTES, w->source, w->len_bytes, may_lack);
        break;
    case NORNIC_WR_RDMA_READ:
        check_octets(p, i, READS_AT + w->slot * SLOT_BYTES, w->source, w->len_bytes, may_lack);
        break;
    case NORNIC_WR_RDMA_WRITE:
    case NORNIC_WR_RDMA_WRITE_WITH_IMM:
        check_octets(p, !i, WRITES_AT + w->slot * SLOT_BYTES, w->source, w->len_bytes, may_lack);
        break;
    default:
        break;
    }
}

/* IWARP-ORD-03: in posting order. A READ's data is here by now. */
static void check_sent(struct pair *p, int i, const struct nornic_wc *wc)
{
    struct pair_side *side = &p->sides[i];
    struct work *w = &side->work[side->completed++];
    cr_assert_eq(wc->wr_id, w->wr.wr_id, "seed %lu", p->seed);
    w->is_complete = true;
    w->status = wc->status;
    if (wc->status == NORNIC_WC_SUCCESS && w->wr.opcode == NORNIC_WR_RDMA_READ)
        check_target(p, i, w, false);
    if (wc->status == NORNIC_WC_SUCCESS && w->wr.opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD) {
        uint64_t original;
        memcpy(&original, side->s.memory + READS_AT + w->slot * SLOT_BYTES, 8);
        cr_assert(original + 1 > side->last_original, "seed %lu: each once, in order", p->seed);
        side->last_original = original + 1;
    }
}

/* The request of side `i` that took the peer's receive number `n`. */
static const struct work *sender_of(const struct pair *p, int i, uint32_t n)
{
    const struct work *w = p->sides[i].work;
    for (; w < p->sides[i].work + PAIR_WORK; w++)
        if (w->takes_recv && n-- == 0)
            return w;
    return NULL;
}

/* IWARP-ORD-05: in the order of the Sends, and all that was written before them is here. */
static void check_received(struct pair *p, int i, const struct nornic_wc *wc)
{
    struct pair_side *side = &p->sides[i];
    cr_assert_eq(wc->wr_id, 1000 + side->received, "seed %lu", p->seed);
    const struct work *w = sender_of(p, !i, side->received++);
    if (wc->status != NORNIC_WC_SUCCESS)
        return;
    cr_assert_not_null(w);
    cr_assert_eq(wc->byte_len, w->len_bytes, "seed %lu: %u octets of %u", p->seed, wc->byte_len,
                 w->len_bytes);
    if (wc->opcode == NORNIC_WC_RECV_RDMA_WITH_IMM)
        cr_assert_eq(wc->imm_data, w->wr.wr_id, "seed %lu", p->seed);
    for (const struct work *before = p->sides[!i].work; before <= w; before++)
        if (before->wr.opcode != NORNIC_WR_RDMA_READ)
            check_target(p, !i, before, false);
}

static void poll_all(struct pair *p, int i)
{
    struct nornic_wc wc;
    while (side_poll(&p->sides[i].s, &wc)) {
        if (wc.wr_id >= 1000)
            check_received(p, i, &wc);
        else
            check_sent(p, i, &wc);
    }
}

/* --- the run --- */

static bool step(struct pair *p)
{
    bool did = false;
    for (int i = 0; i < 2; i++) {
        if (!test_random_below(&p->rnd, 3))
            did |= post_some(p, i);
        did |= write_some(p, i);
        did |= read_some(p, i);
        did |= end_some(p, i);
        poll_all(p, i);
        did |= p->sides[i].s.qp->state == IWARP_QP_RTS && p->sides[i].posted < PAIR_WORK;
    }
    return did;
}

static void judge_fine(struct pair *p)
{
    uint64_t added[2] = {0};
    for (int i = 0; i < 2; i++) {
        const struct pair_side *side = &p->sides[i];
        cr_assert_eq(side->s.qp->state, IWARP_QP_RTS, "seed %lu: %04x", p->seed, side->s.qp->end.code);
        for (const struct work *w = side->work; w < side->work + PAIR_WORK; w++) {
            cr_assert(w->is_complete && w->status == NORNIC_WC_SUCCESS, "seed %lu", p->seed);
            check_target(p, i, w, false);
            added[!i] += w->wr.opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD;
        }
    }
    for (int i = 0; i < 2; i++) {
        uint64_t word;
        memcpy(&word, p->sides[i].s.memory + WORD_AT, 8);
        cr_assert_eq(word, added[i], "seed %lu", p->seed);
    }
}

/* Whatever happened: nothing is wrong or in a wrong place, and with both sides at their end each request that
 * was posted has been told of once. */
static void judge_trouble(struct pair *p)
{
    bool is_over = is_cut(p, p->trouble_side);
    for (int i = 0; i < 2; i++) {
        struct pair_side *side = &p->sides[i];
        for (uint32_t n = 0; n < side->posted; n++)
            check_target(p, i, &side->work[n], true);
        if (is_over && side->s.qp->state != IWARP_QP_RTS)
            cr_assert_eq(side->completed, side->posted, "seed %lu", p->seed);
    }
    if (is_over)
        cr_assert_neq(p->sides[!p->trouble_side].s.qp->state, IWARP_QP_RTS, "seed %lu", p->seed);
}

void pair_run(uint64_t seed, enum pair_trouble trouble)
{
    struct pair *p = calloc(1, sizeof *p);
    p->seed = seed;
    p->rnd.state = seed;
    p->trouble = trouble;
    p->trouble_side = seed >> 1 & 1;
    p->trouble_at = (trouble == PAIR_FLIP ? 64 : 0) + test_random_below(&p->rnd, 20000);
    uint16_t depth = 1 + (uint16_t)test_random_below(&p->rnd, 6);
    for (int i = 0; i < 2; i++)
        make_side(p, i, depth);
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0, recvs = 0; n < PAIR_WORK; n++)
            draw_work(p, i, &p->sides[i].work[n], n, &recvs);
    meet(p, depth);
    for (unsigned idle = 0, steps = 0; idle < 4; idle = step(p) ? 0 : idle + 1)
        cr_assert_lt(steps++, 2000000, "seed %lu: it does not end", seed);
    if (trouble == PAIR_FINE)
        judge_fine(p);
    else
        judge_trouble(p);
    for (int i = 0; i < 2; i++) {
        free(p->sides[i].out.bytes);
        side_free(&p->sides[i].s);
    }
    free(p);
}
