/* SPDX-License-Identifier: BSD-2-Clause */
/* The links of a group: which one to use, their numbers, and what follows when they change. */
#include "smcr/conn/conn.h"

struct smcr_link *smcr_group_pick_link(struct smcr_group *group, const struct smcr_link *not_this)
{
    struct smcr_link *best = NULL;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link != not_this && link->state == SMCR_LINK_ACTIVE && (!best || link->conns < best->conns))
            best = link;
    }
    return best;
}

struct smcr_link *smcr_group_link(struct smcr_group *group, uint8_t number)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state != SMCR_LINK_FREE && group->links[i].number == number)
            return &group->links[i];
    return NULL;
}

struct smcr_link *smcr_group_talking_link(struct smcr_group *group, const struct smcr_link *not_this)
{
    struct smcr_link *link = smcr_group_pick_link(group, not_this);
    for (unsigned i = 0; i < SMCR_LINK_SLOTS && !link; i++)
        if (&group->links[i] != not_this && group->links[i].state == SMCR_LINK_DELETING)
            link = &group->links[i];
    return link;
}

uint8_t smcr_group_next_link_number(struct smcr_group *group)
{
    if (group->last_link_number < 255)
        return ++group->last_link_number;
    for (unsigned number = 1; number <= 255; number++) /* the lowest free: SMCR-ARC-19 */
        if (!smcr_group_link(group, (uint8_t)number))
            return (uint8_t)number;
    return 0;
}

void smcr_group_links_changed(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr *smcr = group->smcr;
    enum smcr_redundancy redundancy = smcr_group_redundancy(group);
    if (redundancy != group->redundancy_traced) {
        smcr_trace(smcr,
                   (struct smcr_trace){.type = SMCR_TRACE_GROUP,
                                       .group = group,
                                       .from = smcr_redundancy_name(group->redundancy_traced),
                                       .to = smcr_redundancy_name(redundancy)},
                   now_ns);
        group->redundancy_traced = redundancy;
    }
    /* A single link wants a second (SMCR-REC-30). A free port can replace an asymmetric link
     * (SMCR-ARC-13). */
    bool wants_repair =
        redundancy == SMCR_SINGLE || (redundancy == SMCR_ASYMMETRIC_LOCAL && smcr_group_unused_port(group));
    if (!wants_repair) {
        smcr_cancel(smcr, &group->repair_timer);
        group->repair_ns = smcr->config.times.redundancy_ns;
        group->llc.notice_ns = 0;
        group->failed_offer = NULL;
    } else if (group->role == SMCR_SERVER && group->state == SMCR_GROUP_USABLE &&
               !rdma_timer_armed(&group->repair_timer)) {
        smcr_arm(smcr, &group->repair_timer, now_ns + group->repair_ns);
    }
}

void smcr_group_want_link(struct smcr_group *group)
{
    group->llc.wish = SMCR_WISH_LINK;
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

void smcr_group_port_up(struct smcr_group *group, const struct smcr_port *port, uint64_t now_ns)
{
    if (group->state != SMCR_GROUP_USABLE || !smcr_group_may_use(group, port))
        return;
    group->repair_ns = group->smcr->config.times.redundancy_ns;
    group->llc.notice_ns = 0;
    group->failed_offer = NULL;
    if (rdma_timer_armed(&group->repair_timer)) /* the wait after this try, should it fail: RFC 7609 C.8 */
        smcr_arm(group->smcr, &group->repair_timer, now_ns + group->repair_ns);
    smcr_group_want_link(group);
}
