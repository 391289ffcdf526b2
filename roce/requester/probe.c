/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/requester/probe.h"

#include "base/base.h"
#include "roce/dev/inner.h"
#include "roce/responder/sack.h"

#define FIRST_WAIT_NS 1000000ull /* before a round trip was measured */
#define SLACK_NS      50000ull   /* a peer's thread may have to wake up first */
#define MAX_TRIES     6          /* then the ack timer decides */

/* As RFC 6298 computes a retransmission timeout, and not below two round trips. */
static uint64_t wait_ns(const struct roce_probe *probe)
{
    if (!probe->rtt_ns)
        return FIRST_WAIT_NS;
    return probe->rtt_ns + max_u64(probe->rtt_ns, 4 * probe->deviation_ns) + SLACK_NS;
}

/* The peer is known to be selective. */
static void arm(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_probe *probe = &qp->req.probe;
    bool waits = qp->req.una_psn != qp->req.hi_psn && !qp->req.is_rnr_waiting && probe->tries < MAX_TRIES;
    if (waits)
        rdma_timer_arm(&qp->dev->timers, &probe->timer, now_ns + (wait_ns(probe) << probe->tries));
    else
        rdma_timer_cancel(&qp->dev->timers, &probe->timer);
}

static void expire(struct rdma_timer *timer, uint64_t now_ns)
{
    struct roce_qp *qp = container_of(timer, struct roce_qp, req.probe.timer);
    qp->req.probe.is_due = true;
    qp->req.probe.tries++;
    arm(qp, now_ns);
    roce_dev_ready(qp->dev, qp);
}

void roce_probe_stop(struct roce_qp *qp)
{
    rdma_timer_cancel(&qp->dev->timers, &qp->req.probe.timer);
    qp->req.probe.is_due = false;
}

void roce_probe_reset(struct roce_qp *qp)
{
    roce_probe_stop(qp);
    qp->req.probe = (struct roce_probe){.timer = {.fire = expire}};
}

void roce_probe_restart(struct roce_qp *qp, uint64_t now_ns)
{
    qp->req.probe.tries = 0;
    arm(qp, now_ns);
}

void roce_probe_sent(struct roce_qp *qp, uint32_t psn, bool again, uint64_t now_ns)
{
    struct roce_probe *probe = &qp->req.probe;
    if (!qp->peer.is_selective)
        return;
    if (again && !probe->is_of_probe)
        probe->is_timing = false; /* an answer would not tell which of the two it is for */
    if (!again && !probe->is_timing) {
        probe->is_timing = true;
        probe->is_of_probe = false;
        probe->timed_psn = psn;
        probe->timed_ns = now_ns;
    }
    if (!rdma_timer_armed(&probe->timer))
        arm(qp, now_ns);
}

bool roce_probe_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    struct roce_probe *probe = &qp->req.probe;
    uint32_t stamp = roce_board_stamp(&qp->req.board);
    if (!roce_sack_build_probe(qp, stamp, run))
        return false;
    roce_count(qp, probe_sent);
    probe->is_due = false;
    probe->is_timing = probe->is_of_probe = true;
    probe->timed_stamp = stamp;
    probe->timed_ns = now_ns;
    return true;
}

/* RFC 6298, section 2. */
static void take_sample(struct roce_probe *probe, uint64_t rtt_ns)
{
    probe->is_timing = false;
    rtt_ns = max_u64(rtt_ns, 1);
    if (!probe->rtt_ns) {
        probe->rtt_ns = rtt_ns;
        probe->deviation_ns = rtt_ns / 2;
        return;
    }
    uint64_t error_ns = rtt_ns > probe->rtt_ns ? rtt_ns - probe->rtt_ns : probe->rtt_ns - rtt_ns;
    probe->deviation_ns = (3 * probe->deviation_ns + error_ns) / 4;
    probe->rtt_ns = (7 * probe->rtt_ns + rtt_ns) / 8;
}

void roce_probe_acked(struct roce_qp *qp, uint32_t una_psn, uint64_t now_ns)
{
    struct roce_probe *probe = &qp->req.probe;
    if (probe->is_timing && !probe->is_of_probe && roce_psn_diff(una_psn, probe->timed_psn) > 0)
        take_sample(probe, now_ns - probe->timed_ns);
}

void roce_probe_answered(struct roce_qp *qp, uint32_t stamp, uint64_t now_ns)
{
    struct roce_probe *probe = &qp->req.probe;
    if (probe->is_timing && probe->is_of_probe && stamp == probe->timed_stamp)
        take_sample(probe, now_ns - probe->timed_ns);
}
