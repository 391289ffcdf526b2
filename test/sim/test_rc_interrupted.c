/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that are interrupted: a peer that is gone, a receiver that never comes, applications that
 * drain, close and deregister in the middle of it all. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "test/sim/traffic.h"

#define FLUSH SIM_MAY(NORNIC_WC_WR_FLUSH_ERR)

static void both_may(struct sim_plan *plan, uint32_t send, uint32_t receive)
{
    for (unsigned node = 0; node < 2; node++) {
        plan->end[0][node].may_fail = send;
        plan->end[0][node].receive_may_fail = receive;
    }
}

static void no_check(struct sim_run *run)
{
    (void)run;
}

/* --- the wire goes dark for good --- */

static void dark_for_good(struct sim_plan *plan)
{
    for (unsigned node = 0; node < 2; node++) {
        plan->config.link[node].dark_from_ns = NS_PER_MS + plan->rtt_ns;
        plan->config.link[node].dark_until_ns = NS_PER_S * 100;
        plan->config.link[node].loss_ppm = 0; /* a NAK would use up a retry at once */
        plan->end[0][node].attr.retry_cnt = (uint8_t)(plan->config.seed % 8);
        plan->end[0][node].send_pace = (struct sim_pace){.gap_ns = plan->rtt_ns / 4 + 1, .batch = 1};
    }
    both_may(plan, SIM_MAY(NORNIC_WC_RETRY_EXC_ERR), FLUSH);
}

/* 1 + retry_cnt attempts, Tr to 4 Tr apart, then exactly one RETRY_EXC_ERR: the judge saw the flushes. */
static void check_dark(struct sim_run *run)
{
    for (unsigned node = 0; node < 2; node++) {
        const struct sim_end *end = &run->end[0][node];
        uint64_t attempts = 1u + end->want->attr.retry_cnt;
        uint64_t timeout_ns = UINT64_C(4096) << end->want->attr.timeout;
        uint64_t dark_ns = run->plan->config.link[0].dark_from_ns - run->plan->rtt_ns;
        if (!end->failed || end->error != NORNIC_WC_RETRY_EXC_ERR)
            sim_fail(&run->sim, "node %u did not give up", node);
        else if (end->done_ns < dark_ns + attempts * timeout_ns ||
                 end->done_ns > dark_ns + 2 * run->plan->quiet_ns + attempts * 4 * timeout_ns)
            sim_fail(&run->sim, "node %u gave up after %llu ns", node,
                     (unsigned long long)(end->done_ns - dark_ns));
        if (roce_qp_counters(end->qp)->retry_exceeded != 1)
            sim_fail(&run->sim, "node %u: retry_exceeded is not 1", node);
    }
}

/* covers: ROCE-RC-47, ROCE-RC-63, ROCE-RC-41 */
Test(rc_interrupted, a_dead_peer)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = dark_for_good, .check = check_dark});
}

/* A blackout that retries outlast. */
static void dark_for_a_while(struct sim_plan *plan)
{
    for (unsigned node = 0; node < 2; node++) {
        uint64_t timeout_ns = UINT64_C(4096) << plan->end[0][node].attr.timeout;
        plan->config.link[node].dark_from_ns = NS_PER_MS + plan->rtt_ns / 2;
        plan->config.link[node].dark_until_ns = plan->config.link[node].dark_from_ns + 4 * timeout_ns;
        plan->config.link[node].loss_ppm = 0;
    }
}

Test(rc_interrupted, a_blackout_shorter_than_the_retries)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = dark_for_a_while, .check = no_check});
}

/* --- no receives --- */

static void never_ready(struct sim_plan *plan)
{
    plan->end[0][1].receive_count = 1;
    plan->end[0][0].attr.rnr_retry = (uint8_t)(plan->config.seed % 7);
    plan->end[0][0].may_fail = SIM_MAY(NORNIC_WC_RNR_RETRY_EXC_ERR);
    /* the other direction loses its peer */
    plan->end[0][1].may_fail = SIM_MAY(NORNIC_WC_RETRY_EXC_ERR);
    plan->end[0][0].receive_may_fail = plan->end[0][1].receive_may_fail = FLUSH;
}

static void check_never_ready(struct sim_run *run)
{
    const struct sim_end *end = &run->end[0][0];
    const struct roce_counters *c = roce_qp_counters(end->qp);
    if (!end->failed || end->error != NORNIC_WC_RNR_RETRY_EXC_ERR || end->failed_at != 3)
        sim_fail(&run->sim, "send %u ended with %s", end->failed_at, nornic_wc_status_name(end->error));
    if (c->rnr_retry_exceeded != 1 || c->rnr_nak_received < 1u + end->want->attr.rnr_retry)
        sim_fail(&run->sim, "gave up after %llu RNR NAKs", (unsigned long long)c->rnr_nak_received);
}

/* covers: ROCE-RC-49 */
Test(rc_interrupted, a_receiver_that_is_never_ready)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_RDMA_READ, .spoil = never_ready, .check = check_never_ready});
}

/* --- completion queues that are too short --- */

static void short_cq(struct sim_plan *plan)
{
    for (unsigned node = 0; node < 2; node++) {
        plan->end[0][node].caps.max_send_wr = plan->end[0][node].caps.max_recv_wr = 16;
        plan->end[0][node].sq_sig_all = true;
    }
    plan->cq_short = 14;
    both_may(plan, SIM_MAY(NORNIC_WC_RETRY_EXC_ERR) | FLUSH | SIM_MAY(NORNIC_WC_REM_OP_ERR), FLUSH);
}

static void check_short_cq(struct sim_run *run)
{
    unsigned lost = 0;
    for (unsigned node = 0; node < 2; node++) {
        if (!run->end[0][node].cq_lost)
            continue;
        lost++;
        if (roce_qp_state(run->end[0][node].qp) != NORNIC_QPS_ERR)
            sim_fail(&run->sim, "node %u: the CQ overflowed, but the QP is not in ERR", node);
        if (run->sim.node[node].events[NORNIC_EVENT_CQ_ERR] == 0)
            sim_fail(&run->sim, "node %u: no CQ_ERR event", node);
    }
    if (lost == 0)
        sim_fail(&run->sim, "no CQ overflowed");
}

/* covers: ROCE-CQ-2, ROCE-EV-1, ROCE-RS-16 */
Test(rc_interrupted, a_completion_queue_that_overflows)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = short_cq, .check = check_short_cq});
}

/* --- SQD --- */

static void modify(struct sim_run *run, unsigned node, enum nornic_qp_state state)
{
    struct nornic_qp_attr attr = {.state = state, .en_sqd_async_notify = true};
    uint32_t mask = NORNIC_QP_STATE | (state == NORNIC_QPS_SQD ? NORNIC_QP_EN_SQD_ASYNC_NOTIFY : 0);
    int err = roce_qp_modify(run->end[0][node].qp, &attr, mask, run->sim.now_ns);
    if (err)
        sim_fail(&run->sim, "a change to %s returned %d", nornic_qp_state_name(state), err);
}

static void drain(struct sim_run *run)
{
    modify(run, 0, NORNIC_QPS_SQD);
}

/* Long enough afterwards everything that was begun is done, and nothing was begun since. */
static void resume(struct sim_run *run)
{
    const struct sim_node *node = &run->sim.node[0];
    if (node->events[NORNIC_EVENT_SQ_DRAINED] != 1)
        sim_fail(&run->sim, "SQ_DRAINED was raised %u times", node->events[NORNIC_EVENT_SQ_DRAINED]);
    modify(run, 0, NORNIC_QPS_RTS);
}

static void pause(struct sim_plan *plan)
{
    plan->end[0][0].attr.max_rd_atomic = 1; /* so that some are begun and some are not */
    plan->quiet_ns += NS_PER_S;
}

/* covers: ROCE-RC-62, ROCE-QP-5, ROCE-QP-11, ROCE-EV-6 */
Test(rc_interrupted, draining_and_going_on)
{
    sim_traffic_run(&(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ,
                                          .spoil = pause,
                                          .actions = {{30 * NS_PER_US, drain}, {NS_PER_S, resume}},
                                          .check = no_check});
}

/* --- ERR and destruction by the application --- */

static void to_error(struct sim_run *run)
{
    run->end[0][0].quiet = true;
    modify(run, 0, NORNIC_QPS_ERR);
}

static void peer_goes(struct sim_plan *plan)
{
    plan->end[0][0].may_fail = plan->end[0][0].receive_may_fail = FLUSH;
    plan->end[0][1].may_fail = SIM_MAY(NORNIC_WC_RETRY_EXC_ERR);
    plan->end[0][1].receive_may_fail = FLUSH;
}

static void check_error(struct sim_run *run)
{
    const struct sim_end *end = &run->end[0][0];
    if (roce_qp_state(end->qp) != NORNIC_QPS_ERR || end->sends_done != end->sends_posted ||
        end->receives_done != end->receives_posted)
        sim_fail(&run->sim, "ERR did not flush everything");
}

/* covers: ROCE-RC-63, ROCE-QP-7 */
Test(rc_interrupted, to_error_in_the_middle)
{
    sim_traffic_run(&(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ,
                                          .spoil = peer_goes,
                                          .actions = {{35 * NS_PER_US, to_error}},
                                          .check = check_error});
}

static void destroy(struct sim_run *run)
{
    struct sim_end *end = &run->end[0][0];
    end->quiet = true;
    roce_qp_destroy(end->qp);
    end->qp = NULL;
}

Test(rc_interrupted, destroyed_in_the_middle)
{
    sim_traffic_run(&(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ,
                                          .spoil = peer_goes,
                                          .actions = {{35 * NS_PER_US, destroy}},
                                          .check = no_check});
}

/* --- regions that go away --- */

static void deregister(struct sim_run *run)
{
    sim_region_deregister(&run->plan->region[1][SIM_TARGET]);
    sim_region_deregister(&run->plan->region[1][SIM_EXPORT]);
}

static void may_lose_access(struct sim_plan *plan)
{
    plan->end[0][0].may_fail = SIM_MAY(NORNIC_WC_REM_ACCESS_ERR) | SIM_MAY(NORNIC_WC_RETRY_EXC_ERR);
    plan->end[0][1].may_fail = FLUSH;
    plan->end[0][0].receive_may_fail = plan->end[0][1].receive_may_fail = FLUSH;
}

static void check_access_lost(struct sim_run *run)
{
    const struct sim_end *end = &run->end[0][0];
    bool lossy = run->plan->config.link[0].loss_ppm > 0;
    if (end->failed && end->error != NORNIC_WC_REM_ACCESS_ERR && !lossy)
        sim_fail(&run->sim, "the status is %s", nornic_wc_status_name(end->error));
    if (!end->failed && end->sends_done != end->want->message_count)
        sim_fail(&run->sim, "neither done nor failed");
}

/* covers: ROCE-MR-5, ROCE-RS-8 */
Test(rc_interrupted, regions_deregistered_in_the_middle)
{
    sim_traffic_run(&(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ,
                                          .spoil = may_lose_access,
                                          .actions = {{35 * NS_PER_US, deregister}},
                                          .check = check_access_lost});
}
