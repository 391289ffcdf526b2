/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's part: it lends its memory, keeps receives posted, and compares what the client wrote. */
#include "cli/perf/perf.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/pattern.h"
#include "cli/stop.h"

#define BATCH    32
#define LOOK_NS  2000000ull /* how often the TCP connection is looked at */
#define FIRST_NS 60000000000ull

static uint32_t receive_slot(const struct perf_side *side, uint64_t seq)
{
    return (uint32_t)(seq % side->slots);
}

static int post_receive(struct perf_side *side, unsigned qp_index, struct nornic_error *why)
{
    struct perf_qp *p = &side->qps[qp_index];
    uint8_t *slot = p->region + perf_slot_bytes(&side->test) * receive_slot(side, p->posted);
    struct nornic_sge sge = {
        .addr = (uintptr_t)slot, .len_bytes = side->test.size_bytes, .lkey = side->memory.lkey};
    /* The immediate of a WRITE needs a receive, but no room in it. */
    struct nornic_recv_wr wr = {
        .wr_id = qp_index, .sg_list = &sge, .num_sge = side->test.op == PERF_OP_SEND ? 1 : 0};
    int err = nornic_qp_post_recv(p->qp, &wr, NULL);
    if (err)
        return net_error_set(why, -err, "the server cannot post a receive: %s", strerror(-err));
    p->posted++;
    return 0;
}

/* Fills the receive queues: as many as they take. */
static int post_all_receives(struct perf_side *side, struct nornic_error *why)
{
    if (!perf_op_takes_receive(side->test.op) && !perf_side_marks_end(side))
        return 0;
    for (uint32_t q = 0; q < side->test.qps; q++) {
        struct nornic_qp_caps caps;
        nornic_qp_query(side->qps[q].qp, NULL, &caps);
        uint32_t most = side->test.op == PERF_OP_WRITE_IMM ? caps.max_recv_wr : side->receives;
        for (uint32_t i = 0; i < most; i++) {
            int err = post_receive(side, q, why);
            if (err)
                return err;
        }
    }
    return 0;
}

/* Memory as the client's operations expect it before the first one. */
static void prepare_memory(struct perf_side *side)
{
    if (!side->test.verify || side->test.op != PERF_OP_READ)
        return;
    for (uint32_t q = 0; q < side->test.qps; q++)
        for (uint32_t s = 0; s < side->slots; s++)
            cli_pattern_fill(perf_key(q, s), side->qps[q].region + perf_slot_bytes(&side->test) * s,
                             side->test.size_bytes);
}

static int compare(struct perf_side *side, unsigned qp_index, uint64_t seq, struct nornic_error *why)
{
    const struct perf_test *t = &side->test;
    const uint8_t *slot = side->qps[qp_index].region + perf_slot_bytes(t) * (seq % side->slots);
    size_t same = cli_pattern_compare(perf_key(qp_index, seq), slot, t->size_bytes);
    side->checked++;
    return same == t->size_bytes
               ? 0
               : net_error_set(why, EIO,
                               "message %" PRIu64 " of queue pair %u holds wrong data from byte %zu on",
                               seq + 1, qp_index, same);
}

static int on_message(struct perf_side *side, const struct nornic_wc *wc, struct nornic_error *why)
{
    if (wc->status == NORNIC_WC_WR_FLUSH_ERR && side->iwarp.cm)
        return net_error_set(why, ECONNRESET, "an iWARP connection ended before its messages had come");
    if (wc->status != NORNIC_WC_SUCCESS)
        return net_error_set(why, EIO, "the server's receive failed with %s",
                             nornic_wc_status_name(wc->status));
    if (wc->wr_id & PERF_WR_CREDIT) /* sent */
        return 0;
    unsigned q = (unsigned)wc->wr_id;
    uint64_t seq = side->qps[q].done++;
    if (side->test.op == PERF_OP_WRITE) /* perf_side_marks_end() */
        return 0;
    if (wc->byte_len != side->test.size_bytes)
        return net_error_set(why, EIO, "message %" PRIu64 " of queue pair %u has %u bytes and not %u",
                             seq + 1, q, wc->byte_len, side->test.size_bytes);
    if (side->test.op == PERF_OP_WRITE_IMM && wc->imm_data != (uint32_t)seq)
        return net_error_set(why, EIO, "the write with immediate %u of queue pair %u came as number %" PRIu64,
                             wc->imm_data, q, seq);
    int err = side->test.verify && side->test.op == PERF_OP_SEND ? compare(side, q, seq, why) : 0;
    if (!err)
        err = post_receive(side, q, why);
    return !err ? perf_credit_give(side, q, why) : err;
}

static bool readable(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    return poll(&p, 1, 0) > 0;
}

/* Serves until the client says something on TCP. */
static int serve_messages(struct perf_side *side, int fd, struct nornic_error *why)
{
    uint64_t looked_ns = host_now_ns();
    for (;;) {
        struct nornic_wc wcs[BATCH];
        int n = cli_cq_wait(&side->cq, wcs, BATCH, LOOK_NS);
        if (n < 0)
            return net_error_set(why, EIO, "the server's completion queue overflowed");
        for (int i = 0; i < n; i++) {
            int err = on_message(side, &wcs[i], why);
            if (err)
                return err;
        }
        if (cli_stopped())
            return net_error_set(why, EINTR, "the server was stopped");
        uint64_t now_ns = host_now_ns();
        if (n == 0 || now_ns - looked_ns > LOOK_NS) {
            looked_ns = now_ns;
            if (readable(fd))
                return 0;
        }
    }
}

/* Whether all that the client sent has come. */
static bool has_all(const struct perf_side *side, const uint64_t *ops)
{
    bool counts = perf_op_takes_receive(side->test.op);
    for (uint32_t q = 0; q < side->test.qps; q++)
        if (side->qps[q].done < (counts ? ops[q] : perf_side_marks_end(side)))
            return false;
    return true;
}

/* What was sent before the client's last line is in the queue where it was acknowledged; over iWARP it may
 * still be on its way. */
static int drain(struct perf_side *side, const uint64_t *ops, struct nornic_error *why)
{
    struct nornic_wc wcs[BATCH];
    int n, rc = 0;
    uint64_t wait_ns = side->is_iwarp ? side->timeout_ns : 0;
    while (rc == 0 && !has_all(side, ops) && (n = cli_cq_wait(&side->cq, wcs, BATCH, wait_ns)) > 0)
        for (int i = 0; i < n && rc == 0; i++)
            rc = on_message(side, &wcs[i], why);
    return rc;
}

/* A queue pair's memory after `ops` operations: each slot's last WRITE, or the counted word. */
static int check_memory(struct perf_side *side, unsigned q, uint64_t ops, struct nornic_error *why)
{
    const struct perf_test *t = &side->test;
    if (perf_op_is_atomic(t->op)) {
        uint64_t word;
        memcpy(&word, side->qps[q].region, sizeof word);
        side->checked++;
        return word == perf_op_word(t->op, ops)
                   ? 0
                   : net_error_set(why, EIO,
                                   "the word of queue pair %u is %" PRIu64 " after %" PRIu64 " atomics", q,
                                   word, ops);
    }
    if (t->op != PERF_OP_WRITE && t->op != PERF_OP_WRITE_IMM)
        return 0;
    int err = 0;
    for (uint64_t seq = ops > side->slots ? ops - side->slots : 0; seq < ops && !err; seq++)
        err = compare(side, q, seq, why);
    return err;
}

static int check_end(struct perf_side *side, int fd, struct nornic_error *why)
{
    uint64_t *ops = calloc(side->test.qps, sizeof *ops);
    if (!ops)
        return net_error_set(why, ENOMEM, "no memory for the final check");
    int err = perf_control_read_ops(fd, side, ops, why);
    if (!err)
        err = drain(side, ops, why);
    for (uint32_t q = 0; q < side->test.qps && !err; q++) {
        if (perf_op_takes_receive(side->test.op) && side->qps[q].done != ops[q])
            err = net_error_set(why, EIO, "queue pair %u received %" PRIu64 " of %" PRIu64 " messages", q,
                                side->qps[q].done, ops[q]);
        if (!err && side->test.verify)
            err = check_memory(side, q, ops[q], why);
    }
    free(ops);
    return err;
}

/* Reads what the client wants and makes this side ready for it. On failure nothing is left open. */
static int accept_test(const struct perf_options *options, struct cli_node *node, int fd,
                       struct perf_side *side, struct nornic_error *why)
{
    struct perf_test test;
    struct nornic_addr gid;
    struct perf_peer peers[PERF_MAX_QPS];
    int err = perf_control_read_test(fd, FIRST_NS, cli_node_is_iwarp(node), &test, &gid, peers, why);
    if (!err)
        err = perf_side_open(side, node, &test, false, options->timeout_ns, why);
    if (err)
        return err;
    side->peer_gid = gid;
    for (uint32_t q = 0; q < test.qps; q++) {
        side->qps[q].peer_qpn = peers[q].qpn;
        side->qps[q].peer_psn = peers[q].psn;
    }
    prepare_memory(side);
    err = post_all_receives(side, why);
    if (!err && (cli_node_check_pmtu(node, test.pmtu_bytes) != CLI_OK ||
                 cli_node_pick_gid(node, &options->node, &gid, &side->sgid_index, &side->gid) != CLI_OK ||
                 perf_side_connect(side) != CLI_OK))
        err = net_error_set(why, EINVAL,
                            "the server cannot connect: path MTU %u, GID or address, as it says there",
                            test.pmtu_bytes);
    if (err)
        perf_side_close(side);
    return err;
}

static void print_served(const struct perf_side *side)
{
    const struct perf_test *test = &side->test;
    printf("served %s of %u byte%s on %u queue pair%s", perf_op_name(test->op), test->size_bytes,
           plural_s(test->size_bytes), test->qps, plural_s(test->qps));
    if (test->verify)
        printf("; %" PRIu64 " message%s compared", side->checked, plural_s(side->checked));
    putchar('\n');
}

int perf_server(const struct perf_options *options, struct cli_node *node, int fd, bool quiet)
{
    struct perf_side side;
    struct nornic_error why;
    if (accept_test(options, node, fd, &side, &why) != 0) {
        perf_control_send_error(fd, why.text);
        return quiet ? CLI_ERROR : cli_fail("%s", why.text);
    }
    int err = perf_control_send_answer(fd, &side, &why);
    if (!err && perf_side_accept(&side) != CLI_OK)
        err = net_error_set(&why, ECONNABORTED, "the client's iWARP connections did not come to the server");
    if (!err)
        err = serve_messages(&side, fd, &why);
    if (!err)
        err = check_end(&side, fd, &why);
    if (!err)
        err = perf_control_send_checked(fd, side.checked, &why);
    else
        perf_control_send_error(fd, why.text);
    if (!err && !quiet && !options->json)
        print_served(&side);
    perf_side_close(&side);
    if (!err)
        return CLI_OK;
    return quiet ? CLI_NEGATIVE : cli_negative("%s", why.text);
}
