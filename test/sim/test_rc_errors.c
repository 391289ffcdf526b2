/* SPDX-License-Identifier: BSD-2-Clause */
/* What ends a connection: the right status on both sides, then flushes in order, and nothing else touched.
 * Each runs on clean and on lossy wires. */
#include <criterion/criterion.h>

#include "test/sim/traffic.h"

/* The receive queues are flushed on both sides; node 1 is stopped by its own NAK. A lost NAK is not repeated
 * (ROCE-RS-12): then node 0 gives up by itself. */
static void expect_fatal(struct sim_plan *plan, enum nornic_wc_status status)
{
    plan->end[0][0].may_fail =
        SIM_MAY(status) | (plan->config.link[1].loss_ppm ? SIM_MAY(NORNIC_WC_RETRY_EXC_ERR) : 0);
    plan->end[0][0].receive_may_fail = SIM_MAY(NORNIC_WC_WR_FLUSH_ERR);
    plan->end[0][1].may_fail = SIM_MAY(NORNIC_WC_WR_FLUSH_ERR);
    plan->end[0][1].receive_may_fail = SIM_MAY(NORNIC_WC_WR_FLUSH_ERR);
}

/* Node 0 ends with this status at its send `at`. When the NAK or an answer before it is lost, nobody repeats
 * it any more, and node 0 gives up there: at an earlier send when its answer is lost as well. */
static void check_failed_at(struct sim_run *run, unsigned at, enum nornic_wc_status status)
{
    const struct sim_end *end = &run->end[0][0];
    bool gave_up = end->error == NORNIC_WC_RETRY_EXC_ERR && sim_link_counters(run->sim.link[1])->lost > 0;
    if (!end->failed)
        sim_fail(&run->sim, "no send failed");
    else if (gave_up ? end->failed_at > at : end->failed_at != at || end->error != status)
        sim_fail(&run->sim, "send %u failed with %s, expected %u with %s", end->failed_at,
                 nornic_wc_status_name(end->error), at, nornic_wc_status_name(status));
    if (roce_qp_state(run->end[0][1].qp) != NORNIC_QPS_ERR)
        sim_fail(&run->sim, "the responder is not in ERR");
}

static void check_victim(struct sim_run *run, enum nornic_wc_status status)
{
    check_failed_at(run, SIM_TRAFFIC_VICTIM, status);
}

static void check_event(struct sim_run *run, enum nornic_event_type type)
{
    if (run->sim.node[1].events[type] != 1)
        sim_fail(&run->sim, "the responder raised event %d %u times", (int)type,
                 run->sim.node[1].events[type]);
}

static void bad_rkey(struct sim_plan *plan)
{
    plan->end[0][0].messages[SIM_TRAFFIC_VICTIM].bad_rkey = 0x00010000;
    expect_fatal(plan, NORNIC_WC_REM_ACCESS_ERR);
}

static void stale_rkey(struct sim_plan *plan)
{
    plan->end[0][0].messages[SIM_TRAFFIC_VICTIM].bad_rkey = 1; /* the variant of the key only: ROCE-MR-2 */
    expect_fatal(plan, NORNIC_WC_REM_ACCESS_ERR);
}

static void check_access(struct sim_run *run)
{
    check_victim(run, NORNIC_WC_REM_ACCESS_ERR);
    check_event(run, NORNIC_EVENT_QP_ACCESS_ERR);
}

/* covers: ROCE-RS-5, ROCE-RC-50, ROCE-RC-63, ROCE-RS-15, ROCE-EV-4 */
Test(rc_errors, bad_rkey_of_a_write)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_WRITE, .spoil = bad_rkey, .check = check_access});
}

Test(rc_errors, bad_rkey_of_a_read)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = stale_rkey, .check = check_access});
}

Test(rc_errors, bad_rkey_of_an_atomic)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_ATOMIC_FETCH_AND_ADD, .spoil = bad_rkey, .check = check_access});
}

/* One byte beyond the end of the region: found on the first packet, nothing is written. */
static void beyond_the_end(struct sim_plan *plan)
{
    struct sim_message *m = &plan->end[0][0].messages[SIM_TRAFFIC_VICTIM];
    uint32_t last = plan->region[1][m->remote_region].used_bytes;
    m->bad_offset = (int64_t)last - m->remote.offset - m->len_bytes + 1;
    expect_fatal(plan, NORNIC_WC_REM_ACCESS_ERR);
}

static void before_the_start(struct sim_plan *plan)
{
    struct sim_message *m = &plan->end[0][0].messages[SIM_TRAFFIC_VICTIM];
    m->bad_offset = -(int64_t)m->remote.offset - 1;
    expect_fatal(plan, NORNIC_WC_REM_ACCESS_ERR);
}

/* covers: ROCE-RS-5, ROCE-MR-3 */
Test(rc_errors, write_beyond_the_end)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_RDMA_WRITE, .spoil = beyond_the_end, .check = check_access});
}

/* covers: ROCE-RS-5, ROCE-MR-3 */
Test(rc_errors, read_beyond_the_end)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = beyond_the_end, .check = check_access});
}

Test(rc_errors, write_before_the_start)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_RDMA_WRITE, .spoil = before_the_start, .check = check_access});
}

static void missing_right(struct sim_plan *plan)
{
    plan->region[1][SIM_TARGET].access = NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ;
    expect_fatal(plan, NORNIC_WC_REM_ACCESS_ERR);
}

/* The first WRITE of the traffic is message 1. */
static void check_first_write(struct sim_run *run)
{
    check_failed_at(run, 1, NORNIC_WC_REM_ACCESS_ERR);
    check_event(run, NORNIC_EVENT_QP_ACCESS_ERR);
}

/* covers: ROCE-RS-5, ROCE-MR-1 */
Test(rc_errors, write_to_a_region_without_the_right)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_RDMA_WRITE, .spoil = missing_right, .check = check_first_write});
}

static void not_enabled(struct sim_plan *plan)
{
    plan->end[0][1].attr.access_flags = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE;
    expect_fatal(plan, NORNIC_WC_REM_INV_REQ_ERR);
}

static void check_invalid(struct sim_run *run)
{
    check_victim(run, NORNIC_WC_REM_INV_REQ_ERR);
    check_event(run, NORNIC_EVENT_QP_REQ_ERR);
}

/* covers: ROCE-RS-3, ROCE-EV-3 */
Test(rc_errors, an_atomic_that_the_qp_does_not_allow)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_ATOMIC_CMP_AND_SWP, .spoil = not_enabled, .check = check_invalid});
}

static void misaligned(struct sim_plan *plan)
{
    plan->end[0][0].messages[SIM_TRAFFIC_VICTIM].bad_offset = -4;
    expect_fatal(plan, NORNIC_WC_REM_INV_REQ_ERR);
}

/* covers: ROCE-RS-46 */
Test(rc_errors, a_misaligned_atomic)
{
    sim_traffic_run(&(struct sim_traffic){
        .victim = NORNIC_WR_ATOMIC_FETCH_AND_ADD, .spoil = misaligned, .check = check_invalid});
}

static void short_buffer(struct sim_plan *plan)
{
    struct sim_end_plan *receiver = &plan->end[0][1];
    for (unsigned i = 0; i < receiver->receive_count; i++)
        if (receiver->receives[i].message == SIM_TRAFFIC_VICTIM)
            receiver->receives[i].local = sim_plan_gather(
                plan, 1, SIM_SINK, plan->end[0][0].messages[SIM_TRAFFIC_VICTIM].len_bytes - 1, 2);
    expect_fatal(plan, NORNIC_WC_REM_INV_REQ_ERR);
    receiver->receive_may_fail |= SIM_MAY(NORNIC_WC_LOC_LEN_ERR);
}

static void check_short_buffer(struct sim_run *run)
{
    check_victim(run, NORNIC_WC_REM_INV_REQ_ERR);
    if (run->end[0][1].receive_error != NORNIC_WC_LOC_LEN_ERR)
        sim_fail(&run->sim, "the receive did not fail with LOC_LEN_ERR");
}

/* covers: ROCE-RS-6, ROCE-RS-15 */
Test(rc_errors, a_receive_buffer_that_is_too_small)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_SEND, .spoil = short_buffer, .check = check_short_buffer});
}

static void bad_lkey(struct sim_plan *plan)
{
    plan->end[0][0].messages[SIM_TRAFFIC_VICTIM].bad_lkey = 0x00010000;
    expect_fatal(plan, NORNIC_WC_LOC_PROT_ERR);
    /* the peer learns nothing of it: it gives up when it still sends, or stays as it is */
    plan->end[0][1].may_fail = SIM_MAY(NORNIC_WC_RETRY_EXC_ERR);
}

static void check_local(struct sim_run *run)
{
    const struct sim_end *end = &run->end[0][0];
    if (!end->failed || end->failed_at != SIM_TRAFFIC_VICTIM || end->error != NORNIC_WC_LOC_PROT_ERR)
        sim_fail(&run->sim, "send %u ended with %s", end->failed_at, nornic_wc_status_name(end->error));
}

/* covers: ROCE-RC-17 */
Test(rc_errors, a_bad_lkey_of_a_send)
{
    sim_traffic_run(&(struct sim_traffic){.victim = NORNIC_WR_SEND, .spoil = bad_lkey, .check = check_local});
}

/* covers: ROCE-RC-37, ROCE-MR-4 */
Test(rc_errors, a_bad_lkey_of_a_read)
{
    sim_traffic_run(
        &(struct sim_traffic){.victim = NORNIC_WR_RDMA_READ, .spoil = bad_lkey, .check = check_local});
}
