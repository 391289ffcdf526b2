/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/cc/cc.h"

#include <errno.h>

#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

#define UNCONNECTED_SLOTS 32

/* A flow may be so far behind its rate: what a timer that wakes late has cost is made good, in packets of
 * the largest size. */
#define CREDIT_BYTES (2 * (ROCE_PMTU_MAX_BYTES + ROCE_FRAME_OVERHEAD_BYTES))

static const struct roce_cc_config *config_of(const struct roce_qp *qp)
{
    return &qp->dev->config.cc;
}

static void wake(struct rdma_timer *timer, uint64_t now_ns)
{
    struct roce_cc *cc = container_of(timer, struct roce_cc, pace);
    (void)now_ns;
    roce_dev_ready(cc->qp->dev, cc->qp);
}

int roce_cc_init(struct roce_qp *qp)
{
    if (!config_of(qp)->on)
        return 0;
    uint32_t slots = qp->transport->is_connected ? 1 : UNCONNECTED_SLOTS;
    qp->cc = roce_alloc(qp->dev, sizeof *qp->cc + slots * sizeof qp->cc->slots[0]);
    if (!qp->cc)
        return -ENOMEM;
    qp->cc->qp = qp;
    qp->cc->num_slots = slots;
    qp->cc->pace.fire = wake;
    return 0;
}

void roce_cc_deinit(struct roce_qp *qp)
{
    if (qp->cc)
        rdma_timer_cancel(&qp->dev->timers, &qp->cc->pace);
    roce_free(qp->dev, qp->cc);
    qp->cc = NULL;
}

void roce_cc_reset(struct roce_qp *qp)
{
    struct roce_cc *cc = qp->cc;
    if (!cc)
        return;
    rdma_timer_cancel(&qp->dev->timers, &cc->pace);
    roce_dcqcn_init(&cc->flow, config_of(qp));
    cc->next_ns = 0;
    cc->cnps_due = 0;
    for (uint32_t i = 0; i < cc->num_slots; i++)
        cc->slots[i].next_ns = 0;
}

static uint64_t duration_ns(uint64_t len_bytes, uint64_t rate_bps)
{
    return len_bytes * 8 * 1000000000 / rate_bps;
}

/* Makes the steps of the time up to `now_ns`. What is left of a wait until `*next_ns` shrinks as the rate
 * grows: at the floor a packet would else wait for milliseconds while the rate has long recovered. */
static void advance(struct roce_dcqcn *flow, uint64_t *next_ns, const struct roce_cc_config *config,
                    uint64_t now_ns)
{
    while (flow->is_limited && flow->increase_deadline_ns <= now_ns &&
           flow->increase_deadline_ns < *next_ns) {
        uint64_t at_ns = flow->increase_deadline_ns, before_bps = flow->rate_bps;
        roce_dcqcn_advance(flow, config, at_ns);
        /* a few frames' bits times 10^9: no overflow */
        *next_ns = at_ns + (*next_ns - at_ns) * before_bps / flow->rate_bps;
    }
    roce_dcqcn_advance(flow, config, now_ns);
}

void roce_cc_take_cnp(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_cc *cc = qp->cc;
    if (!cc) { /* ROCE-CC-1 */
        roce_count(qp, rp_cnp_ignored);
        return;
    }
    roce_count(qp, rp_cnp_handled);
    advance(&cc->flow, &cc->next_ns, config_of(qp), now_ns);
    roce_dcqcn_cnp(&cc->flow, config_of(qp), now_ns);
    if (cc->next_ns < now_ns)
        cc->next_ns = now_ns; /* what was not used at line rate is no credit */
}

/* When the packet that waits may leave, if no CNP comes before: one wake-up, however many steps are made
 * until then. */
static uint64_t leave_ns(const struct roce_cc *cc, const struct roce_cc_config *config)
{
    struct roce_dcqcn ahead = cc->flow;
    uint64_t next_ns = cc->next_ns;
    advance(&ahead, &next_ns, config, next_ns);
    return next_ns;
}

bool roce_cc_must_wait(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_cc *cc = qp->cc;
    if (!cc || !cc->flow.is_limited)
        return false;
    advance(&cc->flow, &cc->next_ns, config_of(qp), now_ns);
    if (!cc->flow.is_limited || now_ns >= cc->next_ns)
        return false;
    if (!rdma_timer_armed(&cc->pace))
        rdma_timer_arm(&qp->dev->timers, &cc->pace, leave_ns(cc, config_of(qp)));
    return true;
}

void roce_cc_sent(struct roce_qp *qp, uint32_t frame_bytes, uint64_t now_ns)
{
    struct roce_cc *cc = qp->cc;
    if (!cc || !cc->flow.is_limited)
        return;
    uint64_t credit_ns = duration_ns(CREDIT_BYTES, cc->flow.rate_bps);
    uint64_t from_ns = cc->next_ns + credit_ns < now_ns ? now_ns - credit_ns : cc->next_ns;
    cc->gap_ns = duration_ns(frame_bytes, cc->flow.rate_bps);
    cc->next_ns = from_ns + cc->gap_ns;
    roce_dcqcn_sent(&cc->flow, config_of(qp), frame_bytes);
}
