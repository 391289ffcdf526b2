/* SPDX-License-Identifier: BSD-2-Clause */
/* What the demo says of a pass: the table, the JSON, the lines while it runs, and whether it was right. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "cli/demo/demo.h"
#include "cli/demo/smc.h"
#include "test/support/json.h"

static struct demo_board *board;
static int board_fd;
static char printed[65536];

/* A pass in which all went right. */
static void make_board(void)
{
    board = demo_board_create(&board_fd);
    cr_assert_not_null(board);
    board->plan = (struct demo_plan){.pmtu_bytes = 1024, .size_bytes = 65536, .depth = 16, .seed = 7};
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        struct demo_op_result *r = &board->ops[op];
        atomic_store(&r->ops, 12345);
        atomic_store(&r->bytes, UINT64_C(12345) * 65536);
        atomic_store(&r->elapsed_ns, NS_PER_S);
        r->retransmitted_pkts = (uint64_t)op;
        r->checked_ops = 1000;
        r->checked_bytes = 2048;
        r->latency = (struct demo_latency){
            .samples = 10, .min_ns = 1100, .p50_ns = 2200, .p99_ns = 3300, .p999_ns = 44400};
    }
    for (int i = 0; i < 2; i++) {
        board->sides[i].ok = true;
        board->sides[i].counters.verdicts[ROCE_RX_TAKEN] = 500000;
        board->sides[i].counters.qps.acks_sent = 100 + (uint64_t)i;
        board->sides[i].counters.qps.acks_received = 200 + (uint64_t)i;
        snprintf(board->sides[i].mode, sizeof board->sides[i].mode, "the port of %c", "AB"[i]);
    }
}

static void drop_board(void)
{
    demo_board_unmap(board);
    close(board_fd);
}

TestSuite(demo_report, .init = make_board, .fini = drop_board);

static struct demo_screen open_screen(void)
{
    printed[0] = 0; /* fmemopen() leaves what was there until something is written */
    FILE *out = fmemopen(printed, sizeof printed, "w");
    cr_assert_not_null(out);
    return (struct demo_screen){.out = out, .names = {"A", "B"}, .running = -1};
}

static const char *report(void)
{
    struct demo_screen screen = open_screen();
    demo_report(&screen, board);
    fclose(screen.out);
    return printed;
}

static void expect_part(const char *text, const char *part)
{
    cr_expect_not_null(strstr(text, part), "'%s' is not in:\n%s", part, text);
}

/* --- numbers --- */

Test(demo_numbers, counts_have_separators)
{
    static const struct {
        uint64_t n;
        const char *text;
    } cases[] = {{0, "0"},
                 {7, "7"},
                 {999, "999"},
                 {1000, "1,000"},
                 {12345, "12,345"},
                 {999999, "999,999"},
                 {1000000, "1,000,000"},
                 {UINT64_MAX, "18,446,744,073,709,551,615"}};
    char buf[32];
    for (size_t i = 0; i < array_len(cases); i++)
        cr_expect_str_eq(demo_count_str(cases[i].n, buf), cases[i].text);
}

Test(demo_numbers, bytes_have_a_unit)
{
    static const struct {
        uint64_t n;
        const char *text;
    } cases[] = {{0, "0 B"},
                 {1023, "1023 B"},
                 {1024, "1.0 KiB"},
                 {1536, "1.5 KiB"},
                 {UINT64_C(1) << 20, "1.0 MiB"},
                 {UINT64_C(532362035), "507.7 MiB"},
                 {UINT64_C(5) << 30, "5.0 GiB"},
                 {UINT64_C(3) << 40, "3.0 TiB"},
                 {UINT64_C(2048) << 40, "2048.0 TiB"}};
    char buf[32];
    for (size_t i = 0; i < array_len(cases); i++)
        cr_expect_str_eq(demo_bytes_str(cases[i].n, buf), cases[i].text);
}

/* --- the table --- */

static const char clean_pass[] =
    "\n  operation        count       data   k op/s   Gbit/s    min us   p50 us   p99 us p99.9 us   resent\n"
    "  SEND            12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        0\n"
    "  SEND + imm      12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        1\n"
    "  RDMA WRITE      12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        2\n"
    "  WRITE + imm     12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        3\n"
    "  RDMA READ       12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        4\n"
    "  CMP_SWAP        12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        5\n"
    "  FETCH_ADD       12,345  771.6 MiB     12.3    6.472       1.1      2.2      3.3     44.4        6\n"
    "  Latency: from the post to its completion, 64 bytes (atomics: 8), one at a time.\n"
    "\n"
    "  data       7,000 operations, 14.0 KiB, compared byte for byte where they arrived: all right\n"
    "  ICRC       1,000,000 packets checked on arrival: all good\n"
    "  acks       101 sent by B, 200 received by A\n"
    "  recovery   packets sent again 0; NAKs received 0; gaps in responses 0; ack timeouts 0\n"
    "             READs answered again 0; atomics answered again 0; RNR NAKs 0\n";

Test(demo_report, of_a_clean_pass)
{
    cr_expect_str_eq(report(), clean_pass);
}

Test(demo_report, of_a_pass_with_losses)
{
    struct roce_counters *a = &board->sides[DEMO_A].counters.qps, *b = &board->sides[DEMO_B].counters.qps;
    board->plan.loss_ppm = 10000;
    board->sides[DEMO_A].lost_frames = 4321;
    a->retransmitted_pkts = 11;
    a->packet_seq_err = 12;
    a->implied_nak_seq_err = 13;
    a->local_ack_timeout = 14;
    a->rnr_nak_received = 17;
    a->sack_received = 18;
    a->probe_sent = 19;
    b->read_replays = 15;
    b->atomic_replays = 16;
    snprintf(board->plan.capture, sizeof board->plan.capture, "x-loss.pcapng");
    report();
    expect_part(printed, "  loss       4,321 frames thrown away, drawn from seed 7\n");
    expect_part(printed, "  recovery   packets sent again 11; NAKs received 12; gaps in responses 13; "
                         "ack timeouts 14\n"
                         "             selective ACKs received 18, probes sent 19\n"
                         "             READs answered again 15; atomics answered again 16; RNR NAKs 17\n");
    expect_part(printed, "  capture    x-loss.pcapng: the first messages of each operation\n");
    board->plan.loss_ppm = 0;
    report();
    expect_part(printed, "the exchanges above and the first messages of each operation\n");
    cr_expect_null(strstr(printed, "thrown away"));
}

Test(demo_report, of_what_went_wrong)
{
    board->ops[DEMO_READ].wrong_ops = 1234;
    board->sides[DEMO_B].counters.verdicts[ROCE_RX_DROP_ICRC] = 3;
    report();
    expect_part(printed, "where they arrived: 1,234 WRONG\n");
    expect_part(printed, "1,000,003 packets checked on arrival: 3 BAD\n");
}

Test(demo_report, of_nothing_divides_by_nothing)
{
    atomic_store(&board->ops[DEMO_SEND].elapsed_ns, 0);
    report();
    expect_part(printed, "  SEND            12,345  771.6 MiB      0.0    0.000 ");
}

Test(demo_report, in_colours)
{
    struct demo_screen screen = open_screen();
    screen.colour = true;
    demo_report(&screen, board);
    fclose(screen.out);
    expect_part(printed, "\033[1m  operation ");
    expect_part(printed, "resent\033[0m\n");
    cr_expect_null(strchr(report(), '\033'));
}

/* --- right or wrong --- */

Test(demo_report, it_is_right_only_when_all_of_it_is)
{
    cr_expect(demo_is_right(board));
    for (int i = 0; i < 2; i++) {
        struct demo_side_result *side = &board->sides[i];
        side->ok = false;
        cr_expect_not(demo_is_right(board), "side %d failed", i);
        side->ok = true;
        side->counters.verdicts[ROCE_RX_DROP_ICRC] = 1;
        cr_expect_not(demo_is_right(board), "side %d saw a bad ICRC", i);
        side->counters.verdicts[ROCE_RX_DROP_ICRC] = 0;
        side->counters.verdicts[ROCE_RX_TAKEN] = 0;
        cr_expect_not(demo_is_right(board), "side %d saw no packet", i);
        side->counters.verdicts[ROCE_RX_TAKEN] = 1;
    }
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        board->ops[op].wrong_ops = 1;
        cr_expect_not(demo_is_right(board), "%s had wrong data", demo_op_name[op]);
        board->ops[op].wrong_ops = 0;
        board->ops[op].checked_ops = 0;
        cr_expect_not(demo_is_right(board), "nothing of %s was compared", demo_op_name[op]);
        board->ops[op].checked_ops = 1;
    }
    cr_expect(demo_is_right(board));
}

Test(demo_report, a_good_icrc_is_that_of_every_later_verdict)
{
    struct demo_side_result side = {.ok = true};
    for (int v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
        side.counters.verdicts[v] = 1;
    /* the taken one, and those that are judged after the ICRC */
    uint64_t later = ROCE_RX_VERDICT_COUNT - 1 - ROCE_RX_DROP_ICRC;
    cr_expect_eq(demo_icrc_good(&side), later + 1);
    side.counters.verdicts[ROCE_RX_TAKEN] = 0;
    cr_expect_eq(demo_icrc_good(&side), later);
}

/* --- for scripts --- */

static struct json_object *json_of(unsigned passes, struct json_object *smc, bool ok)
{
    struct demo_board *boards[] = {board, board};
    printed[0] = 0; /* fmemopen() leaves what was there until something is written */
    FILE *out = fmemopen(printed, sizeof printed, "w");
    cr_assert_eq(demo_print_json(out, "xdp", boards, passes, smc, NULL, ok), 0);
    fclose(out);
    struct json_object *o = json_tokener_parse(printed);
    cr_assert_not_null(o, "%s", printed);
    return o;
}

Test(demo_report, json_of_a_pass)
{
    board->sides[DEMO_B].counters.qps.read_replays = 5;
    board->sides[DEMO_A].counters.verdicts[ROCE_RX_DROP_ICRC] = 2;
    board->plan.loss_ppm = 10000;
    board->sides[DEMO_A].lost_frames = 77;
    struct json_object *o = json_of(2, NULL, true);
    cr_expect(json_object_get_boolean(json_member(o, "ok")));
    cr_expect_str_eq(json_object_get_string(json_member(o, "port")), "xdp");
    cr_expect_eq(json_count(o, "seed"), 7);
    cr_expect_not(json_object_object_get_ex(o, "smc", NULL));
    cr_assert_eq(json_object_array_length(json_member(o, "passes")), 2);
    struct json_object *pass = json_object_array_get_idx(json_member(o, "passes"), 0);
    cr_expect_eq(json_count(pass, "loss_ppm"), 10000);
    cr_expect_eq(json_count(pass, "lost_frames"), 77);
    cr_expect_eq(json_count(pass, "pmtu"), 1024);
    cr_expect_eq(json_count(pass, "size"), 65536);
    cr_expect_eq(json_count(pass, "depth"), 16);
    cr_expect_eq(json_count(json_member(pass, "icrc"), "good"), 1000000);
    cr_expect_eq(json_count(json_member(pass, "icrc"), "bad"), 2);
    cr_expect_eq(json_count(json_member(json_member(pass, "counters"), "b"), "read_replays"), 5);
    cr_expect_eq(json_count(json_member(json_member(pass, "counters"), "a"), "read_replays"), 0);
    cr_expect_not(json_object_object_get_ex(pass, "capture", NULL));
    json_object_put(o);
}

Test(demo_report, json_of_an_operation)
{
    struct json_object *o = json_of(1, NULL, false);
    cr_expect_not(json_object_get_boolean(json_member(o, "ok")));
    struct json_object *ops =
        json_member(json_object_array_get_idx(json_member(o, "passes"), 0), "operations");
    cr_assert_eq(json_object_array_length(ops), DEMO_OP_COUNT);
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        struct json_object *r = json_object_array_get_idx(ops, (size_t)op);
        cr_expect_str_eq(json_object_get_string(json_member(r, "operation")), demo_op_json[op]);
        cr_expect_eq(json_count(r, "operations"), 12345);
        cr_expect_eq(json_count(r, "bytes"), UINT64_C(12345) * 65536);
        cr_expect_eq(json_count(r, "elapsed_ns"), NS_PER_S);
        cr_expect_float_eq(json_object_get_double(json_member(r, "gbit_per_s")), 6.47, 0.01);
        cr_expect_eq(json_count(r, "retransmitted_pkts"), (uint64_t)op);
        cr_expect_eq(json_count(r, "compared_operations"), 1000);
        cr_expect_eq(json_count(r, "compared_bytes"), 2048);
        cr_expect_eq(json_count(r, "wrong_operations"), 0);
        cr_expect_eq(json_count(json_member(r, "latency_ns"), "samples"), 10);
        cr_expect_eq(json_count(json_member(r, "latency_ns"), "min"), 1100);
        cr_expect_eq(json_count(json_member(r, "latency_ns"), "p50"), 2200);
        cr_expect_eq(json_count(json_member(r, "latency_ns"), "p99"), 3300);
        cr_expect_eq(json_count(json_member(r, "latency_ns"), "p99.9"), 44400);
    }
    json_object_put(o);
}

Test(demo_report, json_of_the_second_act)
{
    struct demo_smc_result result = {.arrived_bytes = 1000,
                                     .sent_sum = "abc",
                                     .file_sum = "abd",
                                     .seconds = 1.5,
                                     .failover_ms = 20.25,
                                     .regain_ms = 30,
                                     .cut = "nn1"};
    struct json_object *smc = demo_smc_json(&result);
    struct json_object *o = json_of(0, smc, true);
    struct json_object *act = json_member(o, "smc");
    cr_expect_eq(json_count(act, "bytes"), 1000);
    cr_expect_str_eq(json_object_get_string(json_member(act, "sent_sha256")), "abc");
    cr_expect_str_eq(json_object_get_string(json_member(act, "arrived_sha256")), "abd");
    cr_expect_str_eq(json_object_get_string(json_member(act, "cut")), "nn1");
    cr_expect_float_eq(json_object_get_double(json_member(act, "seconds")), 1.5, 0.001);
    cr_expect_float_eq(json_object_get_double(json_member(act, "failover_ms")), 20.25, 0.001);
    cr_expect_float_eq(json_object_get_double(json_member(act, "regain_ms")), 30, 0.001);
    cr_expect_eq(json_object_array_length(json_member(o, "passes")), 0);
    cr_expect_eq(json_count(o, "seed"), 0);
    json_object_put(o);
    json_object_put(smc);
}

/* --- while it runs --- */

static const char *progress(struct demo_screen *screen)
{
    printed[0] = 0;
    screen->out = fmemopen(printed, sizeof printed, "w");
    demo_progress(screen, board);
    fclose(screen->out);
    return printed;
}

Test(demo_report, progress_of_what_is_no_terminal_is_a_line_an_operation)
{
    struct demo_screen screen = {.names = {"A", "B"}, .running = -1, .ladder_shown = true};
    cr_expect_str_empty(progress(&screen), "nothing runs yet");
    atomic_store(&board->running, DEMO_SEND);
    cr_expect_str_empty(progress(&screen));
    atomic_store(&board->running, DEMO_WRITE);
    cr_expect_str_eq(progress(&screen), "  SEND             12,345 operations   771.6 MiB    6.472 Gbit/s\n"
                                        "  SEND + imm       12,345 operations   771.6 MiB    6.472 Gbit/s\n");
    cr_expect_str_empty(progress(&screen), "each is told once");
    atomic_store(&board->sides[DEMO_A].ended, true);
    cr_expect_str_eq(progress(&screen), "  RDMA WRITE       12,345 operations   771.6 MiB    6.472 Gbit/s\n");
    cr_expect_str_empty(progress(&screen));
}

Test(demo_report, progress_on_a_terminal_is_a_bar)
{
    struct demo_screen screen = {
        .names = {"A", "B"}, .running = -1, .ladder_shown = true, .is_terminal = true};
    board->plan.count = 24690;
    atomic_store(&board->running, DEMO_SEND);
    cr_expect_str_eq(progress(&screen),
                     "\r\033[K  SEND         [############............]     12,345 operations   "
                     "771.6 MiB    6.472 Gbit/s");
    board->plan.count = 0; /* by time: three quarters of it for the bulk */
    board->plan.op_time_ns = 4 * NS_PER_S;
    cr_expect_str_eq(progress(&screen),
                     "\r\033[K  SEND         [########................]     12,345 operations   "
                     "771.6 MiB    6.472 Gbit/s");
    board->plan.op_time_ns = NS_PER_S / 10;
    expect_part(progress(&screen), "[########################]");
    atomic_store(&board->sides[DEMO_A].ended, true);
    expect_part(progress(&screen),
                "[########################]     12,345 operations   771.6 MiB    6.472 Gbit/s\n");
}

Test(demo_report, the_ladder_is_shown_once_and_first)
{
    struct demo_screen screen = {.names = {"A", "B"}, .running = -1};
    atomic_store(&board->running, DEMO_SEND);
    progress(&screen);
    expect_part(printed, "Port: the port of A.\n");
    expect_part(printed, "Path MTU 1024.\n");
    expect_part(printed, "Now as fast as it goes, 65536 bytes an operation, 16 at a time:\n");
    cr_expect(screen.ladder_shown);
    cr_expect_null(strstr(progress(&screen), "Port:"));
    board->plan.loss_ppm = 1;
    screen.ladder_shown = false;
    expect_part(progress(&screen),
                "No packet was lost among the first ones, so there is no recovery to draw.\n");
}

Test(demo_report, a_quiet_one_says_nothing)
{
    struct demo_screen screen = {.running = -1};
    atomic_store(&board->running, DEMO_WRITE);
    demo_progress(&screen, board);
    cr_expect_eq(screen.running, -1);
}

/* --- the board --- */

Test(demo_report, a_board_is_shared_by_its_descriptor)
{
    struct demo_board *other = demo_board_map(board_fd);
    cr_assert_not_null(other);
    cr_expect_neq((void *)other, (void *)board);
    cr_expect_eq(other->plan.seed, 7);
    other->plan.seed = 8;
    cr_expect_eq(board->plan.seed, 8);
    cr_expect_eq(atomic_load(&other->running), -1);
    ladder_note(demo_board_log(other, DEMO_A), 1, DEMO_SEND);
    struct ladder *a = ladder_merge(demo_board_log(board, DEMO_A), demo_board_log(board, DEMO_B));
    cr_assert_not_null(a);
    cr_expect_eq(a->count, 1, "the logs are behind the board, each its own");
    free(a);
    demo_board_unmap(other);
}
