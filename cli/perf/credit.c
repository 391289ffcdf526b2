/* SPDX-License-Identifier: BSD-2-Clause */
/* Credits. Over RoCE a message that finds no receive is sent again (RNR NAK), and a completion says that the
 * message is there; over iWARP the first ends the stream (IWARP-DDP-21), and the second only that TCP has it.
 * So there the server says by an empty SEND that it has posted `credit_every` receives anew, and the client
 * has no more messages under way than the server had receives for. */
#include "cli/perf/perf.h"

#include <string.h>

#include "base/base.h"

#define SHARE 4u /* of the server's receives that a credit stands for: one of so many */

void perf_credit_init(struct perf_side *side)
{
    if (side->is_iwarp && perf_op_takes_receive(side->test.op))
        side->credit_every = side->receives / SHARE;
}

bool perf_credit_is_left(const struct perf_side *side, const struct perf_qp *p)
{
    return !side->credit_every || p->posted - p->credited < side->receives;
}

/* A receive of the client, for one credit. */
static int await(const struct perf_side *side, uint32_t qp_index, struct nornic_error *why)
{
    const struct nornic_recv_wr wr = {.wr_id = qp_index | PERF_WR_CREDIT};
    int err = nornic_qp_post_recv(side->qps[qp_index].qp, &wr, NULL);
    return !err ? 0 : net_error_set(why, -err, "cannot post a receive for credits: %s", strerror(-err));
}

int perf_credit_await_all(const struct perf_side *side, struct nornic_error *why)
{
    int err = 0;
    for (uint32_t q = 0; side->credit_every && q < side->test.qps; q++)
        for (uint32_t i = 0; i < PERF_CREDITS && !err; i++)
            err = await(side, q, why);
    return err;
}

int perf_credit_take(struct perf_side *side, uint32_t qp_index, struct nornic_error *why)
{
    side->qps[qp_index].credited += side->credit_every;
    return await(side, qp_index, why);
}

int perf_credit_give(const struct perf_side *side, uint32_t qp_index, struct nornic_error *why)
{
    const struct perf_qp *p = &side->qps[qp_index];
    const struct nornic_send_wr wr = {
        .wr_id = qp_index | PERF_WR_CREDIT, .opcode = NORNIC_WR_SEND, .send_flags = NORNIC_SEND_SIGNALED};
    if (!side->credit_every || p->done % side->credit_every)
        return 0;
    int err = nornic_qp_post_send(p->qp, &wr, NULL);
    return !err ? 0 : net_error_set(why, -err, "the server cannot post a credit: %s", strerror(-err));
}
