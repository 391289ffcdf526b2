/* SPDX-License-Identifier: BSD-2-Clause */
/* The failure of a link: SMCR-FOV-01 to FOV-04, FOV-16. */
#include "smcr/conn/conn.h"

/* Each connection chooses anew where it sends: SMCR-FOV-03, FOV-17. */
static void move_conns(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_conn *next;
    for (struct smcr_conn *conn = link->group->conns; conn; conn = next) {
        next = conn->group_next;
        if (conn->link == link)
            smcr_conn_link_lost(conn, now_ns);
    }
}

void smcr_link_failed(struct smcr_link *link, const char *cause, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    bool was_active = link->state == SMCR_LINK_ACTIVE || link->state == SMCR_LINK_DELETING;
    if (link->state == SMCR_LINK_FREE || link->state == SMCR_LINK_DOWN)
        return;
    group->smcr->counters.links_failed++;
    smcr_link_stop_for(link, cause, now_ns);
    if (group->state == SMCR_GROUP_USABLE && was_active) {
        if (!smcr_group_pick_link(group, link)) {
            smcr_group_end(group, false, cause, now_ns);
            return;
        }
        move_conns(link, now_ns);
    }
    smcr_llc_link_lost(link, now_ns);
}
