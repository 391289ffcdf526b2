/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/ring.h"
#include "test/iwarp/pair.h"

/* --- what was agreed on --- */

/* What a side may have under way: what it wants, or what it was told that the peer serves. */
static uint16_t depth_of(uint16_t own, uint16_t peers, bool is_told)
{
    return is_told && peers < own ? peers : own;
}

void pair_check_session(const struct pair *p, int i)
{
    const struct iwarp_setup_config *mine = &p->sides[i].config, *peers = &p->sides[!i].config;
    const struct iwarp_qp *qp = p->sides[i].s.qp;
    const struct iwarp_session *session = &qp->session;
    bool is_told = p->sides[0].config.rev == 2 && !p->sides[0].config.leaves_depths;
    size_t len;
    const uint8_t *said = iwarp_setup_private_data(&qp->setup, &len);
    cr_assert_eq(len, p->sides[!i].private_bytes, "seed %lu", p->seed);
    cr_assert(!len || !memcmp(said, p->sides[!i].private_data, len), "seed %lu: private data", p->seed);
    cr_assert_eq(session->rev, p->sides[0].config.rev, "seed %lu", p->seed);
    cr_assert_eq(session->tx_markers, peers->wants_markers, "seed %lu", p->seed);
    cr_assert_eq(session->rx_markers, mine->wants_markers, "seed %lu", p->seed);
    cr_assert_eq(session->has_crc, !mine->no_crc || !peers->no_crc, "seed %lu", p->seed);
    cr_assert_eq(session->ord, depth_of(mine->ord, peers->ird, is_told), "seed %lu", p->seed);
    cr_assert_geq(session->ird, depth_of(peers->ord, mine->ird, is_told), "seed %lu", p->seed);
    bool has_rtr = session->rev == 2 && !p->sides[0].config.no_rtr;
    cr_assert_eq(session->rtr != IWARP_RTR_NONE, has_rtr, "seed %lu: RTR %u", p->seed, session->rtr);
}

void pair_check_depths(const struct pair *p, int i)
{
    const struct iwarp_qp *qp = p->sides[i].s.qp;
    cr_assert_leq(iwarp_ring_count(&qp->source.asked_at), qp->session.ord, "seed %lu", p->seed);
    cr_assert_leq(iwarp_ring_count(&qp->sink.owed_at), qp->session.ird, "seed %lu", p->seed);
}

static void watch_segment(struct pair *p, int i, const struct iwarp_ulpdu *ulpdu)
{
    struct pair_side *side = &p->sides[i];
    struct iwarp_ctrl ctrl;
    iwarp_ctrl_get(&ctrl, ulpdu->bytes);
    if (ctrl.opcode == IWARP_OP_TERMINATE)
        return;
    cr_assert(!side->is_amid_message || side->amid_opcode == ctrl.opcode,
              "seed %lu: a message of opcode %u in one of %u", p->seed, ctrl.opcode, side->amid_opcode);
    bool is_empty_write = ctrl.opcode == IWARP_OP_WRITE && ulpdu->len_bytes == IWARP_DDP_TAGGED_BYTES;
    cr_assert(!side->is_amid_message || !is_empty_write, "seed %lu: an empty Write in a Write", p->seed);
    side->is_amid_message = !ctrl.l;
    side->amid_opcode = ctrl.opcode;
}

void pair_watch(struct pair *p, int i, const uint8_t *bytes, size_t len_bytes)
{
    struct pair_side *side = &p->sides[i];
    const struct iwarp_session *session = &side->s.qp->session;
    if (!side->is_watched) {
        const struct iwarp_fpdu_rules rules = {session->tx_markers, session->has_crc};
        iwarp_fpdu_rx_init(&side->watcher, &rules, side->watched);
        side->is_watched = true;
    }
    for (size_t at = 0, n; at < len_bytes; at += n) {
        struct iwarp_ulpdu ulpdu = {0};
        if (iwarp_fpdu_rx_take(&side->watcher, bytes + at, len_bytes - at, &n, &ulpdu) == IWARP_FPDU_WHOLE)
            watch_segment(p, i, &ulpdu);
    }
}

/* --- octets --- */

static void check_octets(const struct pair *p, int of, uint32_t at, uint32_t source, uint32_t len,
                         bool may_lack)
{
    const uint8_t *memory = p->sides[of].s.memory;
    for (uint32_t i = 0; i < len; i++) {
        bool is_right = memory[at + i] == pair_source_octet(!of, source + i);
        cr_assert(is_right || (may_lack && memory[at + i] == 0), "seed %lu: octet %u", p->seed, i);
    }
    for (uint32_t i = len; i < PAIR_SLOT_BYTES; i++)
        cr_assert_eq(memory[at + i], 0, "seed %lu: behind the end", p->seed);
}

/* Where the data of a request of side `i` is to be, whether it has come or not. */
static void check_target(const struct pair *p, int i, const struct work *w, bool may_lack)
{
    uint32_t len = w->is_refused ? 0 : w->len_bytes;
    switch (w->wr.opcode) {
    case NORNIC_WR_SEND:
    case NORNIC_WR_SEND_WITH_INV:
        check_octets(p, !i, PAIR_RECVS_AT + w->slot * PAIR_SLOT_BYTES, w->source, len, may_lack);
        break;
    case NORNIC_WR_RDMA_READ:
        check_octets(p, i, PAIR_READS_AT + w->slot * PAIR_SLOT_BYTES, w->source, len, may_lack);
        break;
    case NORNIC_WR_RDMA_WRITE:
    case NORNIC_WR_RDMA_WRITE_WITH_IMM:
        check_octets(p, !i, PAIR_WRITES_AT + w->slot * PAIR_SLOT_BYTES, w->source, len, may_lack);
        break;
    default:
        break;
    }
}

/* --- words --- */

/* Bit by bit, with no carry out of a bit of `ends`. */
static uint64_t add_serially(uint64_t a, uint64_t b, uint64_t ends)
{
    uint64_t sum = 0, carry = 0;
    for (unsigned n = 0; n < 64; n++) {
        uint64_t bits = (a >> n & 1) + (b >> n & 1) + carry;
        sum |= (bits & 1) << n;
        carry = ends >> n & 1 ? 0 : bits >> 1;
    }
    return sum;
}

/* What a word is after a request: no other than atomics change it. */
static uint64_t after(uint64_t word, const struct nornic_send_wr *wr)
{
    uint64_t all = UINT64_MAX, compare_mask = all, swap_mask = all;
    switch (wr->opcode) {
    case NORNIC_WR_ATOMIC_FETCH_AND_ADD:
        return word + wr->compare_add;
    case NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        return add_serially(word, wr->compare_add, wr->compare_mask);
    case NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP:
        compare_mask = wr->compare_mask;
        swap_mask = wr->swap_mask;
        break;
    case NORNIC_WR_ATOMIC_CMP_AND_SWP:
        break;
    default:
        return word;
    }
    bool is_equal = (word & compare_mask) == (wr->compare_add & compare_mask);
    return is_equal ? (word & ~swap_mask) | (wr->swap & swap_mask) : word;
}

static bool is_atomic(const struct work *w)
{
    return w->wr.opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD || w->wr.opcode == NORNIC_WR_ATOMIC_CMP_AND_SWP ||
           w->wr.opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD ||
           w->wr.opcode == NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP;
}

/* The word at the peer of side `i`: as after the atomics that are complete, and perhaps some of the next. */
static void check_word(const struct pair *p, int i)
{
    const struct pair_side *side = &p->sides[i];
    uint64_t word, wanted = p->sides[!i].word;
    memcpy(&word, p->sides[!i].s.memory + PAIR_WORD_AT, 8);
    for (uint32_t n = 0; n < side->posted && word != wanted; n++)
        if (!side->work[n].is_complete || side->work[n].status != NORNIC_WC_SUCCESS)
            wanted = after(wanted, &side->work[n].wr);
    cr_assert_eq(word, wanted, "seed %lu: %lx", p->seed, word);
}

/* --- completions --- */

/* IWARP-ORD-03: in posting order. A READ's data is here by now; an atomic was executed once, and in its
 * turn. */
static void check_sent(struct pair *p, int i, const struct nornic_wc *wc)
{
    struct pair_side *side = &p->sides[i];
    struct work *w = &side->work[side->completed++];
    cr_assert_eq(wc->wr_id, w->wr.wr_id, "seed %lu", p->seed);
    w->is_complete = true;
    w->status = wc->status;
    if (wc->status != NORNIC_WC_SUCCESS)
        return;
    cr_assert_not(w->is_refused, "seed %lu", p->seed);
    if (w->wr.opcode == NORNIC_WR_RDMA_READ)
        check_target(p, i, w, false);
    if (is_atomic(w)) {
        uint64_t original, *word = &p->sides[!i].word;
        memcpy(&original, side->s.memory + PAIR_READS_AT + w->slot * PAIR_SLOT_BYTES, 8);
        cr_assert_eq(original, *word, "seed %lu: %lx instead of %lx", p->seed, original, *word);
        *word = after(*word, &w->wr);
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

static void check_invalidated(const struct pair *p, const struct work *w, const struct nornic_wc *wc)
{
    bool is_told = wc->wc_flags & NORNIC_WC_WITH_INV;
    cr_assert_eq(is_told, w->fast != NULL, "seed %lu", p->seed);
    if (!is_told)
        return;
    cr_assert_eq(wc->invalidated_rkey, w->fast->rkey, "seed %lu", p->seed);
    cr_assert_not(w->fast->is_valid, "seed %lu", p->seed);
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
    check_invalidated(p, w, wc);
    for (const struct work *before = p->sides[!i].work; before <= w; before++)
        if (before->wr.opcode != NORNIC_WR_RDMA_READ)
            check_target(p, !i, before, false);
}

void pair_poll(struct pair *p, int i)
{
    struct nornic_wc wc;
    while (side_poll(&p->sides[i].s, &wc)) {
        if (wc.wr_id >= 1000)
            check_received(p, i, &wc);
        else
            check_sent(p, i, &wc);
    }
}

/* --- at the end --- */

static void judge_fine(struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        const struct pair_side *side = &p->sides[i];
        uint64_t word;
        cr_assert_eq(side->s.qp->state, IWARP_QP_RTS, "seed %lu: %04x", p->seed, side->s.qp->end.code);
        for (const struct work *w = side->work; w < side->work + PAIR_WORK; w++) {
            cr_assert(w->is_complete && w->status == NORNIC_WC_SUCCESS, "seed %lu", p->seed);
            check_target(p, i, w, false);
        }
        memcpy(&word, side->s.memory + PAIR_WORD_AT, 8);
        cr_assert_eq(word, side->word, "seed %lu", p->seed);
    }
}

/* Whatever happened: nothing is wrong or in a wrong place, and where a stream has ended each request that
 * was posted has been told of once. */
static void judge_trouble(struct pair *p, bool has_struck)
{
    for (int i = 0; i < 2; i++) {
        struct pair_side *side = &p->sides[i];
        for (uint32_t n = 0; n < side->posted; n++)
            check_target(p, i, &side->work[n], true);
        check_word(p, i);
        if (has_struck && side->s.qp->state != IWARP_QP_RTS)
            cr_assert_eq(side->completed, side->posted, "seed %lu", p->seed);
    }
}

/* What ends a stream ends both sides of it, and TCP. */
static void judge_end(const struct pair *p)
{
    for (int i = 0; i < 2; i++) {
        const struct iwarp_qp *qp = p->sides[i].s.qp;
        cr_assert_neq(qp->state, IWARP_QP_RTS, "seed %lu: side %d", p->seed, i);
        cr_assert(qp->tcp == IWARP_TCP_CLOSE || qp->tcp == IWARP_TCP_RESET, "seed %lu: side %d", p->seed, i);
        cr_assert_eq(iwarp_qp_deadline_ns(qp), UINT64_MAX, "seed %lu: side %d", p->seed, i);
    }
}

/* The side that asked for too much hears why, and the other has said it. */
static void judge_refusal(const struct pair *p)
{
    const struct iwarp_end *heard = &p->sides[p->trouble_side].s.qp->end;
    const struct iwarp_end *said = &p->sides[!p->trouble_side].s.qp->end;
    cr_assert(heard->has_received && said->has_sent, "seed %lu", p->seed);
    cr_assert_eq(heard->code, said->code, "seed %lu", p->seed);
    cr_assert(said->code == IWARP_TERM_RDMAP_STAG || said->code == IWARP_TERM_RDMAP_BOUNDS, "seed %lu: %04x",
              p->seed, said->code);
}

void pair_judge(struct pair *p, bool has_struck)
{
    bool ends_both = p->trouble == PAIR_CLOSE || p->trouble == PAIR_RESET || p->trouble == PAIR_REFUSED;
    if (p->trouble == PAIR_FINE || (ends_both && !has_struck)) {
        judge_fine(p);
        return;
    }
    judge_trouble(p, has_struck);
    if (ends_both)
        judge_end(p);
    if (p->trouble == PAIR_REFUSED)
        judge_refusal(p);
    if (p->trouble == PAIR_CUT && has_struck)
        cr_assert_neq(p->sides[!p->trouble_side].s.qp->state, IWARP_QP_RTS, "seed %lu", p->seed);
}
