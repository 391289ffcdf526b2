/* SPDX-License-Identifier: BSD-2-Clause */
/* A pass of the demo with both sides as threads: what stands on the board after it, and how one ends that
 * cannot go well. */
#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/demo/demo.h"
#include "cli/demo/lab.h"
#include "cli/stop.h"
#include "line.h"

static struct demo_board *board;
static int board_fd;
static unsigned ticks, ticks_after_both;

static void make_board(void)
{
    board = demo_board_create(&board_fd);
    cr_assert_not_null(board);
    board->plan = (struct demo_plan){
        .pmtu_bytes = 1024, .size_bytes = 3000, .depth = 4, .count = 20, .op_time_ns = NS_PER_S, .seed = 7};
    demo_lab_addrs(false, board->plan.addr);
    ticks = ticks_after_both = 0;
}

static void drop_board(void)
{
    demo_board_unmap(board);
    close(board_fd);
}

TestSuite(demo_pass, .init = make_board, .fini = drop_board, .timeout = 60);

static void on_tick(void *ctx, struct demo_board *b)
{
    cr_expect_eq(ctx, (void *)&ticks);
    cr_expect_eq(b, board);
    ticks++;
    ticks_after_both += atomic_load(&b->sides[0].ended) && atomic_load(&b->sides[1].ended);
}

static void run(void)
{
    demo_pass_run(board, board_fd, false, on_tick, &ticks);
}

static void expect_right(void)
{
    for (int i = 0; i < 2; i++) {
        cr_expect(board->sides[i].ok, "side %d: %s", i, board->sides[i].error.text);
        cr_expect(atomic_load(&board->sides[i].ended));
        cr_expect_eq(board->sides[i].counters.verdicts[ROCE_RX_DROP_ICRC], 0);
    }
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        const struct demo_op_result *r = &board->ops[op];
        cr_expect_eq(atomic_load(&r->ops), 20, "%s", demo_op_name[op]);
        cr_expect_eq(r->wrong_ops, 0, "%s", demo_op_name[op]);
        cr_expect_gt(r->checked_ops, 0, "%s", demo_op_name[op]);
        cr_expect_gt(r->latency.samples, 0, "%s", demo_op_name[op]);
        cr_expect_leq(r->latency.min_ns, r->latency.p50_ns);
        cr_expect_leq(r->latency.p50_ns, r->latency.p99_ns);
        cr_expect_leq(r->latency.p99_ns, r->latency.p999_ns);
    }
    cr_expect(demo_is_right(board));
}

Test(demo_pass, a_clean_line)
{
    run();
    expect_right();
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        bool atomic = op == DEMO_CMP_SWAP || op == DEMO_FETCH_ADD;
        cr_expect_eq(atomic_load(&board->ops[op].bytes), 20u * (atomic ? 8 : 3000), "%s", demo_op_name[op]);
    }
    cr_expect_eq(board->sides[DEMO_A].lost_frames, 0);
    cr_expect_gt(ticks, 0);
    cr_expect_gt(ticks_after_both, 0, "the end is drawn, too");
    cr_expect_gt(demo_board_log(board, DEMO_A)->count, 0);
    cr_expect_gt(demo_board_log(board, DEMO_B)->count, 0);
}

/* What is lost is sent again, and the ladder has it. */
Test(demo_pass, a_line_that_loses)
{
    board->plan.loss_ppm = 50000;
    board->plan.count = 20;
    run();
    expect_right();
    cr_expect_gt(board->sides[DEMO_A].lost_frames, 0);
    uint64_t again = 0;
    for (int op = 0; op < DEMO_OP_COUNT; op++)
        again += board->ops[op].retransmitted_pkts;
    cr_expect_gt(again, 0);
}

Test(demo_pass, over_ipv6_and_with_the_least_packets)
{
    demo_lab_addrs(true, board->plan.addr);
    board->plan.pmtu_bytes = 256;
    board->plan.size_bytes = 257;
    run();
    expect_right();
}

Test(demo_pass, a_capture_that_cannot_be_made)
{
    strcpy(board->plan.capture, "/nonexistent/x.pcapng");
    run();
    cr_expect_not(board->sides[DEMO_A].ok);
    cr_expect_not_null(strstr(board->sides[DEMO_A].error.text, "/nonexistent/x.pcapng"), "%s",
                       board->sides[DEMO_A].error.text);
    cr_expect(atomic_load(&board->sides[DEMO_A].ended));
    cr_expect(atomic_load(&board->sides[DEMO_B].ended), "B does not wait for what never comes");
    cr_expect_not(demo_is_right(board));
}

Test(demo_pass, one_that_the_front_ends)
{
    board->plan.count = 0;
    board->plan.op_time_ns = UINT64_C(3600) * NS_PER_S;
    atomic_store(&board->stop, true);
    run();
    for (int i = 0; i < 2; i++)
        cr_expect(atomic_load(&board->sides[i].ended));
    cr_expect_not(demo_is_right(board));
}

Test(demo_pass, one_that_the_user_ends)
{
    board->plan.count = 0;
    board->plan.op_time_ns = UINT64_C(3600) * NS_PER_S;
    cr_assert_eq(cli_stop_install(), 0);
    raise(SIGINT);
    run();
    cr_expect_not(demo_is_right(board));
}

/* --- a side's process, called by somebody --- */

Test(demo_pass, a_side_without_a_board)
{
    int pipe_ends[2];
    cr_assert_eq(pipe(pipe_ends), 0);
    cli_command_set("demo");
    for (int i = 0; i < 2; i++) {
        line_catch();
        int status = demo_side_main(i ? "b" : "a", i ? pipe_ends[0] : -1, -1);
        const struct line_result *r = line_caught();
        cr_expect_eq(status, CLI_ERROR);
        cr_expect_eq(strncmp(r->err, "nornic demo: --side is for the demo's own processes: ", 53), 0, "%s",
                     r->err);
    }
    close(pipe_ends[0]);
    close(pipe_ends[1]);
}

Test(demo_pass, a_side_whose_namespace_is_gone)
{
    strcpy(board->plan.netns[DEMO_B], "nn-demo-0-none");
    cr_expect_eq(demo_side_main("b", board_fd, -1), CLI_ERROR);
    cr_expect_str_eq(board->sides[DEMO_B].error.text, "cannot enter the network namespace nn-demo-0-none: No "
                                                      "such file or directory");
    cr_expect_str_empty(board->sides[DEMO_A].error.text);
}

/* --- the board --- */

Test(demo_pass, a_board_is_empty_and_has_room_for_both_ladders)
{
    struct stat st;
    cr_assert_eq(fstat(board_fd, &st), 0);
    cr_expect_geq((size_t)st.st_size, sizeof *board + 2 * ladder_log_bytes(DEMO_LOG_EVENTS));
    cr_expect_neq(fcntl(board_fd, F_GETFD) & FD_CLOEXEC, 0, "no other program inherits it");
    for (int i = 0; i < 2; i++) {
        struct ladder_log *log = demo_board_log(board, (enum demo_role)i);
        cr_expect_eq((uintptr_t)log % 64, 0);
        cr_expect_eq(log->count, 0);
        cr_expect_eq(log->capacity, DEMO_LOG_EVENTS);
    }
    struct ladder_log *a = demo_board_log(board, DEMO_A), *b = demo_board_log(board, DEMO_B);
    for (uint32_t i = 0; i <= DEMO_LOG_EVENTS; i++)
        ladder_note(a, i, 1);
    cr_expect_eq(a->count, DEMO_LOG_EVENTS);
    cr_expect_eq(a->missed, 1);
    cr_expect_eq(b->count, 0, "one that is full does not write into the other");
    cr_expect_eq(b->capacity, DEMO_LOG_EVENTS);
}

Test(demo_pass, every_operation_has_its_own_words)
{
    for (int i = 0; i < DEMO_OP_COUNT; i++)
        for (int j = 0; j < i; j++) {
            cr_expect_str_neq(demo_op_name[i], demo_op_name[j]);
            cr_expect_str_neq(demo_op_json[i], demo_op_json[j]);
            cr_expect_str_neq(demo_op_lesson[i], demo_op_lesson[j]);
        }
    for (int i = 0; i < DEMO_OP_COUNT; i++)
        cr_expect_eq(strspn(demo_op_json[i], "abcdefghijklmnopqrstuvwxyz_"), strlen(demo_op_json[i]));
}
