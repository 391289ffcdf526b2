/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's transfer: `depth` operations under way on every queue pair, each completion posts the next.
 *
 * * Completions of a queue pair come in the order of its operations, so operation n uses slot n modulo
 * depth, and a completion belongs to the oldest one. */
#include "base/base.h"
#include "cli/perf/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/node/pattern.h"
#include "cli/node/rc.h"
#include "cli/stop.h"

#define BATCH 32

struct phase {
    struct perf_side *side;
    uint64_t limit;    /* operations to post */
    uint64_t until_ns; /* and none after this */
    uint64_t posted, done;
    struct histogram *latency; /* NULL: not wanted */
    bool live;
    uint64_t start_ns, shown_ns, shown_done;
};

static uint8_t *slot_of(const struct perf_side *side, const struct perf_qp *p, uint64_t seq)
{
    return p->region + perf_slot_bytes(&side->test) * (seq % side->slots);
}

/* The remote address of operation `seq`: the server's atomics have one word a queue pair, all else a slot. */
static uint64_t remote_of(const struct perf_side *side, unsigned qp_index, uint64_t seq)
{
    uint64_t slot_bytes = perf_slot_bytes(&side->test);
    uint64_t slot = perf_op_is_atomic(side->test.op) ? 0 : seq % side->slots;
    return side->peer_addr + slot_bytes * ((uint64_t)qp_index * side->test.depth + slot);
}

static bool client_writes(enum perf_op op)
{
    return op == PERF_OP_SEND || op == PERF_OP_WRITE || op == PERF_OP_WRITE_IMM;
}

static int post_one(struct phase *phase, unsigned qp_index)
{
    struct perf_side *side = phase->side;
    const struct perf_test *t = &side->test;
    struct perf_qp *p = &side->qps[qp_index];
    uint64_t seq = p->posted;
    uint8_t *slot = slot_of(side, p, seq);
    if (t->verify && client_writes(t->op))
        cli_pattern_fill(perf_key(qp_index, seq), slot, t->size_bytes);
    else if (t->verify)
        memset(slot, 0xa5, t->size_bytes); /* what the answer has to overwrite */
    struct nornic_sge sge = {.addr = (uintptr_t)slot, .len_bytes = t->size_bytes, .lkey = side->memory.lkey};
    struct nornic_send_wr wr = {
        .wr_id = qp_index,
        .sg_list = &sge,
        .num_sge = 1,
        .opcode = perf_op_opcode(t->op),
        .send_flags = NORNIC_SEND_SIGNALED,
        .imm_data = (uint32_t)seq,
        .remote_addr = remote_of(side, qp_index, seq),
        .rkey = side->peer_rkey,
    };
    perf_op_operands(t->op, seq, &wr);
    p->posted_at_ns[seq % t->depth] = host_now_ns();
    int err = nornic_qp_post_send(p->qp, &wr, NULL);
    if (err)
        return cli_fail("cannot post operation %" PRIu64 ": %s", phase->posted + 1, strerror(-err));
    p->posted++;
    phase->posted++;
    return CLI_OK;
}

/* What came back is what must come back: the read slot's bytes, or the word before this atomic. */
static int check_answer(struct perf_side *side, unsigned qp_index, uint64_t seq)
{
    const struct perf_test *t = &side->test;
    const uint8_t *slot = slot_of(side, &side->qps[qp_index], seq);
    side->checked++;
    if (perf_op_is_atomic(t->op)) {
        uint64_t before, wanted = perf_op_word(t->op, seq);
        memcpy(&before, slot, sizeof before);
        return before == wanted ? CLI_OK
                                : cli_negative("atomic %" PRIu64 " of queue pair %u returned %" PRIu64,
                                               seq + 1, qp_index, before);
    }
    size_t same = cli_pattern_compare(perf_key(qp_index, seq % t->depth), slot, t->size_bytes);
    return same == t->size_bytes
               ? CLI_OK
               : cli_negative("read %" PRIu64 " of queue pair %u holds wrong data from byte %zu on", seq + 1,
                              qp_index, same);
}

static int on_completion(struct phase *phase, const struct nornic_wc *wc)
{
    struct perf_side *side = phase->side;
    struct nornic_error why;
    if (wc->status != NORNIC_WC_SUCCESS)
        return cli_negative("%s (%s) after %" PRIu64 " operations", cli_rc_status_words(wc->status),
                            nornic_wc_status_name(wc->status), phase->done);
    if (wc->wr_id & PERF_WR_CREDIT)
        return perf_credit_take(side, (uint32_t)wc->wr_id, &why) == 0 ? CLI_OK : cli_fail("%s", why.text);
    struct perf_qp *p = &side->qps[wc->wr_id];
    uint64_t seq = p->done++;
    phase->done++;
    if (phase->latency)
        histogram_add(phase->latency, host_now_ns() - p->posted_at_ns[seq % side->test.depth]);
    if (!side->test.verify || client_writes(side->test.op))
        return CLI_OK;
    return check_answer(side, (unsigned)wc->wr_id, seq);
}

static bool wants_more(const struct phase *phase)
{
    return phase->posted < phase->limit && !cli_stopped() && host_now_ns() < phase->until_ns;
}

static void show_progress(struct phase *phase)
{
    uint64_t now_ns = host_now_ns();
    if (!phase->live || now_ns - phase->shown_ns < NS_PER_S)
        return;
    double ops_per_s = (double)(phase->done - phase->shown_done) * 1e9 / (double)(now_ns - phase->shown_ns);
    fprintf(stderr, "\r\033[K  %3.0f s: %.3f Gbit/s, %.4f Mmsg/s", (double)(now_ns - phase->start_ns) / 1e9,
            ops_per_s * phase->side->test.size_bytes * 8 / 1e9, ops_per_s / 1e6);
    phase->shown_ns = now_ns;
    phase->shown_done = phase->done;
}

static int no_completion(const struct phase *phase, int polled)
{
    if (polled < 0)
        return cli_negative("the completion queue overflowed after %" PRIu64 " operations", phase->done);
    if (cli_stopped())
        return cli_negative("stopped after %" PRIu64 " operations", phase->done);
    return cli_negative("no operation completed for %g s after %" PRIu64 " of them (-t waits longer)",
                        (double)phase->side->timeout_ns / 1e9, phase->done);
}

static bool has_room(const struct phase *phase, const struct perf_qp *p)
{
    return p->posted - p->done < phase->side->test.depth && perf_credit_is_left(phase->side, p);
}

/* Nothing is under way, and the server's receives are awaited. */
static bool waits_for_credits(const struct phase *phase)
{
    const struct perf_side *side = phase->side;
    for (uint32_t q = 0; q < side->test.qps; q++)
        if (!perf_credit_is_left(side, &side->qps[q]))
            return wants_more(phase);
    return false;
}

/* Round robin, so that a limit below the depth is spread over the queue pairs. */
static int fill(struct phase *phase)
{
    const struct perf_test *t = &phase->side->test;
    for (uint32_t d = 0; d < t->depth; d++)
        for (uint32_t q = 0; q < t->qps && wants_more(phase); q++) {
            int err = has_room(phase, &phase->side->qps[q]) ? post_one(phase, q) : CLI_OK;
            if (err != CLI_OK)
                return err;
        }
    return CLI_OK;
}

/* What a completion or a credit has made room for. */
static int top_up(struct phase *phase, uint32_t qp_index)
{
    int err = CLI_OK;
    while (err == CLI_OK && has_room(phase, &phase->side->qps[qp_index]) && wants_more(phase))
        err = post_one(phase, qp_index);
    return err;
}

static int run_phase(struct phase *phase)
{
    phase->start_ns = phase->shown_ns = host_now_ns();
    int err = fill(phase);
    while (err == CLI_OK && (phase->done < phase->posted || waits_for_credits(phase))) {
        struct nornic_wc wcs[BATCH];
        int n = cli_cq_wait(&phase->side->cq, wcs, BATCH, phase->side->timeout_ns);
        if (n <= 0)
            return no_completion(phase, n);
        for (int i = 0; i < n && err == CLI_OK; i++) {
            err = on_completion(phase, &wcs[i]);
            if (err == CLI_OK)
                err = top_up(phase, (uint32_t)wcs[i].wr_id);
        }
        show_progress(phase);
    }
    return err;
}

static uint64_t retransmitted(const struct perf_side *side)
{
    if (side->is_iwarp) /* the kernel's TCP counts its own */
        return 0;
    host_dev_lock(side->node->dev);
    uint64_t n = roce_dev_counters(host_dev_engine(side->node->dev))->qps.retransmitted_pkts;
    host_dev_unlock(side->node->dev);
    return n;
}

/* Behind the last WRITE of each queue pair: perf_side_marks_end(). */
static int mark_end(struct phase *phase)
{
    struct perf_side *side = phase->side;
    for (uint32_t q = 0; q < side->test.qps; q++) {
        const struct nornic_send_wr wr = {
            .wr_id = q, .opcode = NORNIC_WR_SEND, .send_flags = NORNIC_SEND_SIGNALED};
        int err = nornic_qp_post_send(side->qps[q].qp, &wr, NULL);
        if (err)
            return cli_fail("cannot post a SEND behind the WRITEs: %s", strerror(-err));
    }
    for (uint32_t left = side->test.qps; left > 0;) {
        struct nornic_wc wcs[BATCH];
        int n = cli_cq_wait(&side->cq, wcs, BATCH, side->timeout_ns);
        if (n <= 0)
            return no_completion(phase, n);
        for (int i = 0; i < n; i++)
            if (wcs[i].status != NORNIC_WC_SUCCESS)
                return on_completion(phase, &wcs[i]);
        left -= (uint32_t)n;
    }
    return CLI_OK;
}

int perf_transfer(struct perf_side *side, const struct perf_options *options, struct perf_result *result)
{
    struct phase warmup = {.side = side, .limit = options->warmup, .until_ns = NET_TIME_NONE};
    int err = run_phase(&warmup);
    if (err != CLI_OK)
        return err;
    uint64_t before_pkts = retransmitted(side);
    struct phase phase = {.side = side,
                          .limit = options->iters ? options->iters : UINT64_MAX,
                          .until_ns = options->iters ? NET_TIME_NONE : host_now_ns() + options->time_ns,
                          .latency = &result->latency,
                          .live = !options->json && isatty(STDERR_FILENO)};
    err = run_phase(&phase);
    if (phase.live)
        fputs("\r\033[K", stderr);
    result->start_ns = phase.start_ns;
    result->end_ns = host_now_ns();
    result->ops = phase.done;
    result->retransmitted_pkts = retransmitted(side) - before_pkts;
    if (err == CLI_OK && perf_side_marks_end(side))
        err = mark_end(&phase);
    if (err == CLI_OK && cli_stopped())
        err = cli_negative("stopped after %" PRIu64 " operations", phase.done);
    return err;
}
