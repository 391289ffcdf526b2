/* SPDX-License-Identifier: BSD-2-Clause */
/* The steps between the states of an id that every exchange takes. */
#include "roce/cm/id.h"
#include "roce/cm/note.h"

void roce_cm_await(struct roce_cm_id *id, enum roce_cm_state state, uint64_t now_ns)
{
    roce_cm_set_state(id, state);
    id->retries_left = id->max_retries;
    id->wait_ns = id->base_wait_ns;
    rdma_timer_arm(&id->cm->timers, &id->timer, now_ns + id->wait_ns);
}

void roce_cm_to_idle(struct roce_cm_id *id)
{
    rdma_timer_cancel(&id->cm->timers, &id->timer);
    roce_cm_peer_unbind(id);
    roce_cm_qp_unbind(id);
    roce_cm_set_state(id, ROCE_CM_IDLE_STATE);
    if (!id->is_owned)
        roce_cm_id_free(id);
}

void roce_cm_to_timewait(struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_set_state(id, ROCE_CM_TIMEWAIT_STATE);
    rdma_timer_arm(&id->cm->timers, &id->timer, now_ns + id->timewait_ns);
}

void roce_cm_to_established(struct roce_cm_id *id)
{
    roce_cm_set_state(id, ROCE_CM_ESTABLISHED_STATE);
    rdma_timer_cancel(&id->cm->timers, &id->timer);
}
