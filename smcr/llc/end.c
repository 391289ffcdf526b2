/* SPDX-License-Identifier: BSD-2-Clause */
/* DELETE LINK of all links: the end of a group that the peer is told of. SMCR section 18, rows 14 and 15. */
#include <string.h>

#include "smcr/llc/flow.h"

bool smcr_llc_is_telling(const struct smcr_group *group)
{
    return group->llc.is_telling;
}

static struct smcr_link *next_to_try(struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_talks(&group->links[i]) && !group->llc.tell_tried[i])
            return &group->links[i];
    return NULL;
}

void smcr_llc_delete_all_next(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *via = next_to_try(group);
    llc->tell_via = via;
    if (!via) {
        llc->is_telling = false;
        smcr_group_finish(group, now_ns);
        return;
    }
    uint8_t message[SMCR_MSG_BYTES];
    llc->tell_tried[via->slot] = true;
    if (group->role == SMCR_CLIENT) /* SMCR-LGT-04: the server answers with its own */
        smcr_arm(group->smcr, &llc->timer, now_ns + group->smcr->config.times.llc_ns);
    smcr_llc_build_delete_all(message, llc->tell_reason, group->num_conns == 0);
    smcr_llc_send(via, message, now_ns); /* or over the next one: smcr_llc_link_lost() */
}

void smcr_llc_delete_all(struct smcr_group *group, uint32_t reason, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    llc->is_telling = true;
    llc->is_told = false;
    llc->tell_reason = reason;
    memset(llc->tell_tried, 0, sizeof llc->tell_tried);
    smcr_llc_delete_all_next(group, now_ns);
}

static void told(struct smcr_group *group, uint64_t now_ns)
{
    group->llc.is_telling = false;
    group->llc.is_told = true;
    smcr_cancel(group->smcr, &group->llc.timer);
    smcr_llc_kick(group, now_ns);
}

void smcr_llc_delete_all_sent(struct smcr_group *group, uint64_t now_ns)
{
    if (group->role == SMCR_SERVER && group->llc.is_telling) /* SMCR-LGT-02 */
        told(group, now_ns);
}

void smcr_llc_delete_all_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, message);
    if (group->state == SMCR_GROUP_ENDING) {
        if (group->role == SMCR_CLIENT && group->llc.is_telling)
            told(group, now_ns);
    } else if (group->role == SMCR_CLIENT) { /* SMCR-LGT-03 */
        smcr_group_end(group, false, "the server deleted the link group", now_ns);
    } else { /* SMCR-LGT-04 */
        smcr_group_end_for(group, m.reason, "the client gave the link group up", now_ns);
    }
}
