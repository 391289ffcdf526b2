/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/requester/board.h"

#include "base/base.h"
#include "roce/psn.h"
#include "roce/qp/spare.h"

/* A slot: has it arrived, was it sent more than once, the stamp of the last time. */
#define ARRIVED    (1u << 31)
#define AGAIN      (1u << 30)
#define STAMP_MASK (AGAIN - 1)

/* How far stamp `a` is after `b`. They wrap as PSNs do, at 30 bits. */
static int32_t stamp_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 2) >> 2;
}

bool roce_board_covers(const struct roce_board *board, uint32_t psn)
{
    return board->slots && ((psn - board->base_psn) & ROCE_PSN_MASK) < board->size;
}

static uint32_t *slot_of(const struct roce_board *board, uint32_t psn)
{
    return &board->slots[psn & (board->size - 1)];
}

static void has_come(struct roce_board *board, uint32_t slot)
{
    if (!(slot & AGAIN) && stamp_diff(slot & STAMP_MASK, board->newest) > 0)
        board->newest = slot & STAMP_MASK;
}

bool roce_board_open(struct roce_board *board, struct roce_spare *spare, uint32_t base_psn, uint32_t cur_psn,
                     uint32_t hi_psn)
{
    if (board->slots)
        return true;
    board->slots = roce_spare_take_table(spare);
    if (!board->slots)
        return false;
    board->size = spare->table_words;
    board->base_psn = base_psn;
    roce_board_sent(board, cur_psn, (hi_psn - cur_psn) & ROCE_PSN_MASK, true);
    board->newest = roce_board_stamp(board);
    roce_board_sent(board, base_psn, (cur_psn - base_psn) & ROCE_PSN_MASK, false);
    return true;
}

void roce_board_close(struct roce_board *board, struct roce_spare *spare)
{
    if (board->slots)
        roce_spare_give_table(spare, board->slots);
    board->slots = NULL;
    board->marks = 0;
}

uint32_t roce_board_stamp(struct roce_board *board)
{
    return board->stamp = (board->stamp + 1) & STAMP_MASK;
}

void roce_board_sent(struct roce_board *board, uint32_t psn, uint32_t count, bool again)
{
    if (!board->slots)
        return;
    for (uint32_t i = 0; i < min_u32(count, board->size) && roce_board_covers(board, psn + i); i++)
        *slot_of(board, psn + i) =
            (*slot_of(board, psn + i) & ARRIVED) | (again ? AGAIN : 0) | roce_board_stamp(board);
}

void roce_board_mark(struct roce_board *board, uint32_t psn)
{
    if (!roce_board_covers(board, psn) || *slot_of(board, psn) & ARRIVED)
        return;
    has_come(board, *slot_of(board, psn));
    *slot_of(board, psn) |= ARRIVED;
    board->marks++;
}

void roce_board_expects(struct roce_board *board, uint32_t psn)
{
    if (!roce_board_covers(board, psn) || !(*slot_of(board, psn) & ARRIVED))
        return;
    for (uint32_t i = 0; i < board->size; i++)
        board->slots[i] &= ~ARRIVED;
    board->marks = 0;
}

void roce_board_reach(struct roce_board *board, uint32_t psn)
{
    if (roce_board_covers(board, psn))
        has_come(board, *slot_of(board, psn));
}

void roce_board_renew(struct roce_board *board, uint32_t psn, uint32_t count)
{
    roce_board_reach(board, psn);
    roce_board_sent(board, psn, count, true);
}

void roce_board_echo(struct roce_board *board, uint32_t stamp)
{
    bool is_given = stamp != 0 && stamp <= STAMP_MASK && stamp_diff(stamp, board->stamp) <= 0;
    if (is_given && stamp_diff(stamp, board->newest) > 0)
        board->newest = stamp;
}

void roce_board_pass(struct roce_board *board, uint32_t una_psn, uint32_t hi_psn)
{
    uint32_t end_psn = board->base_psn + board->size;
    uint32_t count = min_u32((una_psn - board->base_psn) & ROCE_PSN_MASK, board->size);
    for (uint32_t i = 0; i < count && board->slots; i++) {
        uint32_t *slot = slot_of(board, board->base_psn + i);
        has_come(board, *slot);
        board->marks -= *slot >> 31;
        *slot = 0;
    }
    board->base_psn = una_psn;
    if (roce_psn_diff(end_psn, una_psn) < 0)
        end_psn = una_psn;
    if (roce_psn_diff(hi_psn, end_psn) > 0)
        roce_board_sent(board, end_psn, (hi_psn - end_psn) & ROCE_PSN_MASK, true);
}

bool roce_board_is_lost(const struct roce_board *board, uint32_t psn)
{
    return roce_board_covers(board, psn) && !(*slot_of(board, psn) & ARRIVED) &&
           stamp_diff(*slot_of(board, psn) & STAMP_MASK, board->newest) < 0;
}

uint32_t roce_board_missing_row(const struct roce_board *board, uint32_t psn, uint32_t most)
{
    uint32_t row = 0;
    while (row < most && !(roce_board_covers(board, psn + row) && *slot_of(board, psn + row) & ARRIVED))
        row++;
    return row;
}
