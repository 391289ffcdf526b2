/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/pair.h"

#define MAX_DEPTH 6u

uint8_t pair_source_octet(int side, uint32_t at)
{
    return (uint8_t)(1 + (at * 2654435761u >> 13) % 255 + (side ? 77 : 0)) | 1;
}

/* --- the sides --- */

static uint16_t draw_depth(struct pair *p)
{
    return (uint16_t)(1 + test_random_below(&p->rnd, MAX_DEPTH));
}

/* A flip must fall behind the frames, which have no CRC, so these are short then. */
static void draw_private_data(struct pair *p, struct pair_side *side)
{
    side->private_bytes = test_random_below(&p->rnd, p->trouble == PAIR_FLIP ? 30 : PAIR_PRIVATE_BYTES);
    for (uint32_t n = 0; n < side->private_bytes; n++)
        side->private_data[n] = (uint8_t)test_random_next(&p->rnd);
}

static void draw_config(struct pair *p, int i)
{
    uint64_t bits = test_random_next(&p->rnd);
    p->sides[i].config = (struct iwarp_setup_config){
        .rev = i ? 2 : 1 + (bits & 1),
        .wants_markers = bits >> 1 & 1,
        .no_crc = p->trouble != PAIR_FLIP && bits >> 2 & 1,
        .ird = draw_depth(p),
        .ord = draw_depth(p),
        .rtr = bits >> 3 & 3,
        .no_rtr = !i && (bits >> 5 & 3) == 0,
        .leaves_depths = !i && (bits >> 7 & 3) == 0,
    };
    draw_private_data(p, &p->sides[i]);
}

static void make_side(struct pair *p, int i)
{
    static const uint32_t segments[] = {128, 536, 1448, 8948, 65483};
    static const struct side_options options = {.max_ird = MAX_DEPTH, .max_ord = MAX_DEPTH};
    struct pair_side *side = &p->sides[i];
    side_make(&side->s, p->seed * 2 + (uint64_t)i, &options);
    for (uint32_t at = 0; at < PAIR_SOURCE_BYTES; at++)
        side->s.memory[at] = pair_source_octet(i, at);
    side->word = test_random_next(&p->rnd);
    memcpy(side->s.memory + PAIR_WORD_AT, &side->word, 8);
    iwarp_qp_set_emss(side->s.qp, segments[test_random_below(&p->rnd, array_len(segments))]);
    for (uint32_t n = 0; n < PAIR_WORK; n++)
        side_post_recv(&side->s, 1000 + n, PAIR_RECVS_AT + n * PAIR_SLOT_BYTES, PAIR_SLOT_BYTES);
}

void pair_draw_sides(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        draw_config(p, i);
        make_side(p, i);
    }
    /* Depths that are not told are what the programs agreed on elsewhere. */
    struct iwarp_setup_config *one = &p->sides[0].config, *other = &p->sides[1].config;
    if (one->rev == 1 || one->leaves_depths)
        one->ord = other->ird = other->ord = one->ird;
}

/* --- the work --- */

static bool is_atomic(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD || opcode == NORNIC_WR_ATOMIC_CMP_AND_SWP ||
           opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD || opcode == NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP;
}

/* A region of the peer that a Send takes back. */
static void draw_key(const struct side *peers, struct work *w)
{
    cr_assert_eq(rdma_mr_alloc_fast(peers->pd, 4096, &w->fast), 0);
    const struct rdma_fast_reg reg = {.key = w->fast->rkey,
                                      .addr = peers->memory + PAIR_WRITES_AT,
                                      .len_bytes = 64,
                                      .access = NORNIC_ACCESS_REMOTE_READ};
    cr_assert_eq(rdma_mr_fast_reg(peers->domain, peers->pd, &reg), 0);
    w->wr.invalidate_rkey = w->fast->rkey;
}

/* Masks and values with many equal octets, so that a comparison comes out either way. */
static void draw_operands(struct pair *p, int i, struct work *w)
{
    bool is_likely = test_random_below(&p->rnd, 2);
    w->wr.compare_add = is_likely ? p->sides[!i].word : test_random_next(&p->rnd);
    w->wr.compare_mask = test_random_below(&p->rnd, 2) ? test_random_next(&p->rnd) : 0xff;
    w->wr.swap = test_random_next(&p->rnd);
    w->wr.swap_mask = test_random_next(&p->rnd);
}

static void draw_pieces(struct pair *p, const struct side *mine, struct work *w, uint32_t at, bool is_single)
{
    uint32_t count = w->len_bytes == 0 ? 0 : is_single ? 1 : 1 + test_random_below(&p->rnd, 3);
    for (uint32_t k = 0, done = 0; k < count; k++) {
        uint32_t left = w->len_bytes - done;
        uint32_t len = k + 1 == count ? left : test_random_below(&p->rnd, left + 1);
        w->sges[k] = side_sge(mine, at + done, len);
        done += len;
    }
    w->wr.sg_list = w->sges;
    w->wr.num_sge = count;
}

static uint32_t draw_flags(struct pair *p, const struct work *w, bool is_answered)
{
    uint32_t flags = test_random_below(&p->rnd, 6) ? 0 : NORNIC_SEND_FENCE;
    flags |= w->takes_recv && test_random_below(&p->rnd, 2) ? NORNIC_SEND_SOLICITED : 0;
    return flags |
           (!is_answered && w->len_bytes <= 64 && test_random_below(&p->rnd, 2) ? NORNIC_SEND_INLINE : 0);
}

/* One request of side `i`; those that take a receive take the peer's in order. */
static void draw_one(struct pair *p, int i, struct work *w, uint32_t n, uint32_t *recvs)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND,
                                                    NORNIC_WR_SEND_WITH_INV,
                                                    NORNIC_WR_RDMA_WRITE,
                                                    NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                                    NORNIC_WR_RDMA_READ,
                                                    NORNIC_WR_RDMA_READ,
                                                    NORNIC_WR_ATOMIC_FETCH_AND_ADD,
                                                    NORNIC_WR_ATOMIC_CMP_AND_SWP,
                                                    NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,
                                                    NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP};
    const struct side *mine = &p->sides[i].s, *peers = &p->sides[!i].s;
    enum nornic_wr_opcode opcode = opcodes[test_random_below(&p->rnd, array_len(opcodes))];
    bool is_send = opcode == NORNIC_WR_SEND || opcode == NORNIC_WR_SEND_WITH_INV;
    bool is_answered = opcode == NORNIC_WR_RDMA_READ || is_atomic(opcode);
    *w = (struct work){.slot = n,
                       .wr = {.wr_id = n, .opcode = opcode, .imm_data = n, .rkey = peers->mr->rkey}};
    w->len_bytes = test_random_below(&p->rnd, test_random_below(&p->rnd, 4) ? PAIR_SLOT_BYTES + 1 : 5);
    w->len_bytes = is_atomic(opcode) ? 8 : w->len_bytes;
    w->source = test_random_below(&p->rnd, PAIR_SOURCE_BYTES - PAIR_SLOT_BYTES);
    w->takes_recv = is_send || opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
    w->slot = is_send ? *recvs : n;
    *recvs += w->takes_recv;
    if (opcode == NORNIC_WR_SEND_WITH_INV)
        draw_key(peers, w);
    draw_operands(p, i, w);
    draw_pieces(p, mine, w, is_answered ? PAIR_READS_AT + n * PAIR_SLOT_BYTES : w->source, is_atomic(opcode));
    uint32_t remote = is_atomic(opcode)               ? PAIR_WORD_AT
                      : opcode == NORNIC_WR_RDMA_READ ? w->source
                                                      : PAIR_WRITES_AT + n * PAIR_SLOT_BYTES;
    w->wr.remote_addr = (uintptr_t)(peers->memory + remote);
    w->wr.send_flags = draw_flags(p, w, is_answered);
}

/* One READ of a key that is none, or of memory that is not in the region. */
static void spoil_one(struct pair *p)
{
    const struct side *mine = &p->sides[p->trouble_side].s, *peers = &p->sides[!p->trouble_side].s;
    uint32_t n = test_random_below(&p->rnd, PAIR_WORK);
    struct work *w = &p->sides[p->trouble_side].work[n];
    if (w->takes_recv || w->fast || w->len_bytes == 0) /* what takes a receive stays */
        return;
    w->is_refused = true;
    w->wr.opcode = NORNIC_WR_RDMA_READ;
    w->wr.send_flags = 0;
    w->slot = n;
    draw_pieces(p, mine, w, PAIR_READS_AT + n * PAIR_SLOT_BYTES, true);
    if (test_random_below(&p->rnd, 2))
        w->wr.rkey ^= 0x10000;
    else
        w->wr.remote_addr = (uintptr_t)(peers->memory + SIDE_BYTES) - w->len_bytes + 1;
}

void pair_draw_work(struct pair *p)
{
    for (int i = 0; i < 2; i++)
        for (uint32_t n = 0, recvs = 0; n < PAIR_WORK; n++)
            draw_one(p, i, &p->sides[i].work[n], n, &recvs);
    if (p->trouble == PAIR_REFUSED)
        spoil_one(p);
}
