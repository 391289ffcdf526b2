/* SPDX-License-Identifier: BSD-2-Clause */
/* What is seen while a pass runs: the ladder, and how fast it goes. */
#include <inttypes.h>
#include <stdlib.h>

#include "cli/demo/demo.h"

#define BAR_COLUMNS 24
#define CLEAR_LINE  "\r\033[K"

static void explain_ladder(FILE *out, const struct demo_board *board)
{
    fprintf(out, "Port: %s.\n", board->sides[DEMO_A].mode);
    fprintf(out,
            "\nWhat crossed the wire, each packet with the time at which either side had it. The PSN counts\n"
            "packets, the MSN messages; an ACK says \"everything up to this PSN is here\". Path MTU %u.\n\n",
            board->plan.pmtu_bytes);
}

/* The rows of the lesson: up to the remark that it is over. */
static uint32_t lesson_rows(const struct ladder *ladder)
{
    for (uint32_t i = 0; i < ladder->count; i++) {
        const struct ladder_event *e = ladder->rows[i].left;
        if (e && e->kind == LADDER_NOTE && e->note == DEMO_LESSON_OVER)
            return i;
    }
    return ladder->count;
}

static void show_recovery(const struct demo_screen *screen, const struct ladder *ladder,
                          const struct ladder_style *style)
{
    uint32_t first, count;

    if (!ladder_find_recovery(ladder, ROCE_CAUSE_NAK_SEQ, &first, &count) &&
        !ladder_find_recovery(ladder, ROCE_CAUSE_COUNT, &first, &count)) {
        fprintf(screen->out, "\nNo packet was lost among the first ones, so there is no recovery to draw.\n");
        return;
    }
    fprintf(
        screen->out,
        "\nOne recovery, as it happened: a packet is lost; B misses its PSN and says so, or else A's timer\n"
        "runs out; A goes back to it and sends everything from there again.\n\n");
    ladder_print(screen->out, ladder, first, count, style);
    if (!ladder_find_recovery(ladder, ROCE_CAUSE_SELECTIVE_ACK, &first, &count))
        return;
    fprintf(screen->out,
            "\nNow either knows that the other is a nornic too, and from then on only what is lost is sent\n"
            "again: a selective ACK says what is there of the packets behind its PSN, which B keeps.\n\n");
    ladder_print(screen->out, ladder, first, count, style);
}

static void show_ladder(const struct demo_screen *screen, struct demo_board *board)
{
    struct ladder_style style = {.left = screen->names[DEMO_A],
                                 .right = screen->names[DEMO_B],
                                 .width = DEMO_COLUMNS,
                                 .colour = screen->colour,
                                 .notes = demo_op_lesson,
                                 .note_count = DEMO_OP_COUNT,
                                 .fold = true};
    struct ladder *ladder = ladder_merge(demo_board_log(board, DEMO_A), demo_board_log(board, DEMO_B));

    if (!ladder)
        return;
    if (board->plan.loss_ppm) {
        show_recovery(screen, ladder, &style);
    } else {
        explain_ladder(screen->out, board);
        ladder_print(screen->out, ladder, 0, lesson_rows(ladder), &style);
    }
    free(ladder);
    fprintf(screen->out, "\nNow as fast as it goes, %" PRIu32 " bytes an operation, %" PRIu32 " at a time:\n",
            board->plan.size_bytes, board->plan.depth);
    fflush(screen->out);
}

/* How much of the operation's share is done, 0..1. */
static double share_done(const struct demo_plan *plan, uint64_t ops, uint64_t elapsed_ns)
{
    double done = plan->count ? (double)ops / (double)plan->count
                              : (double)elapsed_ns / ((double)plan->op_time_ns * 3 / 4);
    return done < 1 ? done : 1;
}

static void draw(const struct demo_screen *screen, struct demo_board *board, int op, bool final)
{
    const struct demo_op_result *result = &board->ops[op];
    uint64_t ops = atomic_load(&result->ops), bytes = atomic_load(&result->bytes);
    uint64_t ns = atomic_load(&result->elapsed_ns);
    char count[32], size[32];

    fprintf(screen->out, "%s  %-12s", screen->is_terminal ? CLEAR_LINE : "", demo_op_name[op]);
    if (screen->is_terminal) {
        int filled = final ? BAR_COLUMNS : (int)(share_done(&board->plan, ops, ns) * BAR_COLUMNS);
        fputs(" [", screen->out);
        for (int i = 0; i < BAR_COLUMNS; i++)
            putc(i < filled ? '#' : '.', screen->out);
        putc(']', screen->out);
    }
    fprintf(screen->out, "%11s operations %11s %8.3f Gbit/s%s", demo_count_str(ops, count),
            demo_bytes_str(bytes, size), ns ? (double)bytes * 8 / (double)ns : 0, final ? "\n" : "");
    fflush(screen->out);
}

void demo_progress(void *ctx, struct demo_board *board)
{
    struct demo_screen *screen = ctx;
    int now = atomic_load(&board->running);
    bool ended = atomic_load(&board->sides[DEMO_A].ended);

    if (!screen->out || now < 0)
        return;
    if (!screen->ladder_shown) {
        screen->ladder_shown = true;
        show_ladder(screen, board);
    }
    for (; screen->running < now; screen->running++)
        if (screen->running >= 0)
            draw(screen, board, screen->running, true);
    if (ended && screen->running < DEMO_OP_COUNT) {
        draw(screen, board, now, true);
        screen->running = DEMO_OP_COUNT;
    } else if (!ended && screen->is_terminal) {
        draw(screen, board, now, false);
    }
}
