/* SPDX-License-Identifier: BSD-2-Clause */
#include <inttypes.h>
#include <stdio.h>

#include "cli/demo/demo.h"

const char *demo_count_str(uint64_t n, char *buf)
{
    char digits[24];
    int len = snprintf(digits, sizeof digits, "%" PRIu64, n), out = 0;

    for (int i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf[out++] = ',';
        buf[out++] = digits[i];
    }
    buf[out] = 0;
    return buf;
}

const char *demo_bytes_str(uint64_t bytes, char *buf)
{
    static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
    double value = (double)bytes;
    unsigned unit = 0;

    for (; value >= 1024 && unit < 4; unit++)
        value /= 1024;
    snprintf(buf, 32, unit ? "%.1f %s" : "%.0f %s", value, units[unit]);
    return buf;
}

uint64_t demo_icrc_good(const struct demo_side_result *side)
{
    uint64_t good = 0;

    /* The verdicts are in the order of the checks: whatever comes after the ICRC passed it. */
    for (int v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
        if (v == ROCE_RX_TAKEN || v > ROCE_RX_DROP_ICRC)
            good += side->counters.verdicts[v];
    return good;
}

static uint64_t icrc_bad(const struct demo_side_result *side)
{
    return side->counters.verdicts[ROCE_RX_DROP_ICRC];
}

bool demo_is_right(const struct demo_board *board)
{
    for (int i = 0; i < 2; i++)
        if (!board->sides[i].ok || icrc_bad(&board->sides[i]) || !demo_icrc_good(&board->sides[i]))
            return false;
    for (int op = 0; op < DEMO_OP_COUNT; op++)
        if (board->ops[op].wrong_ops || !board->ops[op].checked_ops)
            return false;
    return true;
}

static void put_op(FILE *out, const struct demo_op_result *r, const char *name)
{
    uint64_t ops = atomic_load(&r->ops), bytes = atomic_load(&r->bytes), ns = atomic_load(&r->elapsed_ns);
    const struct demo_latency *l = &r->latency;
    double per_ns = ns ? 1 / (double)ns : 0;
    char count[32], size[32], resent[32];

    fprintf(out, "  %-12s%10s %10s %8.1f %8.3f %9.1f %8.1f %8.1f %8.1f %8s\n", name,
            demo_count_str(ops, count), demo_bytes_str(bytes, size), (double)ops * per_ns * 1e6,
            (double)bytes * 8 * per_ns, (double)l->min_ns / 1e3, (double)l->p50_ns / 1e3,
            (double)l->p99_ns / 1e3, (double)l->p999_ns / 1e3, demo_count_str(r->retransmitted_pkts, resent));
}

static void put_compared(FILE *out, const struct demo_board *board)
{
    uint64_t ops = 0, bytes = 0, wrong = 0;
    char a[32], b[32], c[32];

    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        ops += board->ops[op].checked_ops;
        bytes += board->ops[op].checked_bytes;
        wrong += board->ops[op].wrong_ops;
    }
    fprintf(out, "  data       %s operations, %s, compared byte for byte where they arrived: ",
            demo_count_str(ops, a), demo_bytes_str(bytes, b));
    if (wrong)
        fprintf(out, "%s WRONG\n", demo_count_str(wrong, c));
    else
        fputs("all right\n", out);
}

static void put_icrc(FILE *out, const struct demo_board *board)
{
    uint64_t good = 0, bad = 0;
    char a[32], b[32];

    for (int i = 0; i < 2; i++) {
        good += demo_icrc_good(&board->sides[i]);
        bad += icrc_bad(&board->sides[i]);
    }
    fprintf(out, "  ICRC       %s packets checked on arrival: ", demo_count_str(good + bad, a));
    if (bad)
        fprintf(out, "%s BAD\n", demo_count_str(bad, b));
    else
        fputs("all good\n", out);
}

/* What A's requester and B's responder went through. */
static void put_recovery(FILE *out, const struct demo_board *board)
{
    const struct roce_counters *a = &board->sides[DEMO_A].counters.qps,
                               *b = &board->sides[DEMO_B].counters.qps;
    char s[4][32];

    fprintf(out, "  acks       %s sent by B, %s received by A\n", demo_count_str(b->acks_sent, s[0]),
            demo_count_str(a->acks_received, s[1]));
    if (board->plan.loss_ppm)
        fprintf(out, "  loss       %s frames thrown away, drawn from seed %" PRIu64 "\n",
                demo_count_str(board->sides[DEMO_A].lost_frames, s[0]), board->plan.seed);
    fprintf(out,
            "  recovery   packets sent again %s; NAKs received %s; gaps in responses %s; ack timeouts %s\n",
            demo_count_str(a->retransmitted_pkts, s[0]), demo_count_str(a->packet_seq_err, s[1]),
            demo_count_str(a->implied_nak_seq_err, s[2]), demo_count_str(a->local_ack_timeout, s[3]));
    if (board->plan.loss_ppm)
        fprintf(out, "             selective ACKs received %s, probes sent %s\n",
                demo_count_str(a->sack_received, s[0]), demo_count_str(a->probe_sent, s[1]));
    fprintf(out, "             READs answered again %s; atomics answered again %s; RNR NAKs %s\n",
            demo_count_str(b->read_replays, s[0]), demo_count_str(b->atomic_replays, s[1]),
            demo_count_str(a->rnr_nak_received, s[2]));
}

void demo_report(const struct demo_screen *screen, const struct demo_board *board)
{
    FILE *out = screen->out;

    fprintf(out, "\n%s  %-12s%10s %10s %8s %8s %9s %8s %8s %8s %8s%s\n", screen->colour ? "\033[1m" : "",
            "operation", "count", "data", "k op/s", "Gbit/s", "min us", "p50 us", "p99 us", "p99.9 us",
            "resent", screen->colour ? "\033[0m" : "");
    for (int op = 0; op < DEMO_OP_COUNT; op++)
        put_op(out, &board->ops[op], demo_op_name[op]);
    fputs("  Latency: from the post to its completion, 64 bytes (atomics: 8), one at a time.\n\n", out);
    put_compared(out, board);
    put_icrc(out, board);
    put_recovery(out, board);
    if (board->plan.capture[0])
        fprintf(out, "  capture    %s: the %sfirst messages of each operation\n", board->plan.capture,
                board->plan.loss_ppm ? "" : "exchanges above and the ");
}
