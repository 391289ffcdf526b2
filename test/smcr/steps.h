/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps of the core that a test takes itself, each with what it leaves. */
#ifndef NORNIC_TEST_SMCR_STEPS_H
#define NORNIC_TEST_SMCR_STEPS_H

#include "smcr/conn/data.h"
#include "smcr/progress.h"

static inline void step_want_link(struct smcr_group *group, uint64_t now_ns)
{
    smcr_group_want_link(group);
    smcr_settle(group->smcr, now_ns);
}

static inline void step_delete_link(struct smcr_link *link, uint32_t reason, bool orderly, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    smcr_llc_delete_link(link, reason, orderly, now_ns);
    smcr_settle(smcr, now_ns);
}

static inline void step_test_link(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    smcr_llc_test_link(link, now_ns);
    smcr_settle(smcr, now_ns);
}

static inline void step_group_end(struct smcr_group *group, bool tell, const char *cause, uint64_t now_ns)
{
    struct smcr *smcr = group->smcr;
    smcr_group_end(group, tell, cause, now_ns);
    smcr_settle(smcr, now_ns);
}

static inline void step_link_fail(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    smcr_link_fail(link, cause, now_ns);
    smcr_settle(smcr, now_ns);
}

/* Frees it, as if its end had been agreed upon. */
static inline void step_link_free(struct smcr_link *link, uint64_t now_ns)
{
    smcr_progress_stop(link, "the test frees it", now_ns);
    link->delete_step = SMCR_LINK_GONE;
    smcr_group_effect(link->group, SMCR_GROUP_ADVANCE);
    smcr_settle(link->group->smcr, now_ns);
}

static inline void step_move(struct smcr_conn *conn, struct smcr_link *to, uint64_t now_ns)
{
    smcr_move_to(conn, to, now_ns);
    smcr_settle(conn->smcr, now_ns);
}

#endif
