/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer's host that says that nobody there takes packets. */
#include "base/base.h"
#include "roce/cm/id.h"

#define REFUSED_NS (100 * NS_PER_MS) /* for an answer, which would show that it was not so */

/* A peer that has asked for time by an MRA is left the time. */
static bool awaits(const struct roce_cm_id *id, const struct nornic_addr *peer)
{
    bool is_asking = id->state == ROCE_CM_REQ_SENT_STATE || id->state == ROCE_CM_REP_SENT_STATE ||
                     id->state == ROCE_CM_SIDR_REQ_SENT_STATE || id->state == ROCE_CM_DREQ_SENT_STATE;
    return is_asking && nornic_addr_equal(&id->path.av.dgid, peer) && rdma_timer_armed(&id->timer);
}

void roce_cm_refused(struct roce_cm *cm, const struct nornic_addr *peer, uint64_t now_ns)
{
    for (uint32_t i = 0; i < cm->config.max_ids; i++) {
        struct roce_cm_id *id = cm->slots[i];
        if (!id || !awaits(id, peer))
            continue;
        id->retries_left = 0;
        if (id->timer.deadline_ns > now_ns + REFUSED_NS)
            rdma_timer_arm(&cm->timers, &id->timer, now_ns + REFUSED_NS);
    }
}
