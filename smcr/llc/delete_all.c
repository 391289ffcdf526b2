/* SPDX-License-Identifier: BSD-2-Clause */
/* DELETE LINK of all links: the end of a group that the peer is told of. SMCR section 18, rows 14 and 15. */
#include "smcr/llc/flow.h"

#define LINGER_PART 4 /* of llc_ns */

static struct smcr_link *next_to_try(struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_talks(&group->links[i]) && !(group->llc.delete_all_tried & 1u << i))
            return &group->links[i];
    return NULL;
}

static void is_told(struct smcr_group *group, enum smcr_delete_all how)
{
    group->llc.delete_all = how;
    smcr_cancel(group->smcr, &group->llc.timer);
    smcr_group_effect(group, SMCR_GROUP_FINISH);
}

/* The peer knows. */
static void has_arrived(struct smcr_group *group, uint64_t now_ns)
{
    if (group->version == 1) {
        is_told(group, SMCR_DELETE_ALL_TOLD);
        return;
    }
    group->llc.delete_all = SMCR_DELETE_ALL_LINGERS;
    smcr_arm(group->smcr, &group->llc.timer, now_ns + group->smcr->config.times.llc_ns / LINGER_PART);
}

void smcr_llc_delete_all_timed_out(struct smcr_group *group, uint64_t now_ns)
{
    if (group->llc.delete_all == SMCR_DELETE_ALL_LINGERS) {
        is_told(group, SMCR_DELETE_ALL_TOLD);
        return;
    }
    group->smcr->counters.llc_timeouts++;
    smcr_llc_delete_all_next(group, now_ns);
}

void smcr_llc_delete_all_next(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *via = next_to_try(group);
    llc->delete_all_via = via;
    if (!via) {
        is_told(group, SMCR_DELETE_ALL_NOT);
        return;
    }
    uint8_t message[SMCR_MSG_BYTES];
    llc->delete_all_tried |= 1u << via->slot;
    if (group->role == SMCR_CLIENT) /* SMCR-LGT-04: the server answers with its own */
        smcr_arm(group->smcr, &llc->timer, now_ns + group->smcr->config.times.llc_ns);
    smcr_llc_build_delete_all(message, group->ending.reason, group->num_conns == 0);
    smcr_llc_send(via, message, SMCR_POST_DELETE_ALL, now_ns); /* or over the next: smcr_llc_link_lost() */
}

void smcr_llc_delete_all(struct smcr_group *group, uint64_t now_ns)
{
    group->llc.delete_all = SMCR_DELETE_ALL_OUT;
    group->llc.delete_all_tried = 0;
    smcr_llc_delete_all_next(group, now_ns);
}

void smcr_llc_delete_all_sent(struct smcr_group *group, uint64_t now_ns)
{
    if (group->role == SMCR_SERVER && group->llc.delete_all == SMCR_DELETE_ALL_OUT) /* SMCR-LGT-02 */
        has_arrived(group, now_ns);
}

void smcr_llc_delete_all_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    if (group->state == SMCR_GROUP_ENDING) {
        if (group->role == SMCR_CLIENT && group->llc.delete_all == SMCR_DELETE_ALL_OUT)
            has_arrived(group, now_ns);
    } else if (group->role == SMCR_CLIENT) { /* SMCR-LGT-03 */
        smcr_group_end(group, false, "the server deleted the link group", now_ns);
    } else { /* SMCR-LGT-04 */
        smcr_group_end_for(group, m->delete_link.reason, "the client gave the link group up", now_ns);
    }
}
