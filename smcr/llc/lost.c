/* SPDX-License-Identifier: BSD-2-Clause */
/* What becomes of an exchange whose awaited message does not come, or whose link is lost: SMCR-REC-02, and
 * the rows of SMCR-REC-04. */
#include "base/base.h"
#include "smcr/llc/flow.h"

/* Nothing of ours is on its way that the server could count on. */
static bool may_still_decline(enum smcr_llc_step step)
{
    return step == SMCR_LLC_FIRST_OUT || step == SMCR_LLC_FIRST_AWAITED || step == SMCR_LLC_OFFER_OUT ||
           step == SMCR_LLC_OFFER_AWAITED || step == SMCR_LLC_CONFIRM_OUT ||
           step == SMCR_LLC_CONFIRM_AWAITED || step == SMCR_LLC_TOKENS_AWAITED;
}

/* Rows 0, 1, 4, 5, 7, 10 and 11 of a first contact. A message that did not even leave may still be answered
 * with TCP (SMCR-FBK-01, rows 6 to 10); silence may not (row 15). */
static void first_contact_broken(struct smcr_group *group, bool by_loss, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    bool second = smcr_llc_exchange(group) != SMCR_LLC_FIRST_LINK;
    bool may_decline = by_loss && !llc->is_delivered && !group->past_fallback && may_still_decline(llc->step);
    smcr_llc_contact_over(group, may_decline ? SMCR_CONTACT_DECLINE : SMCR_CONTACT_RESET,
                          second ? SMCR_DIAG_ADD_LINK_TIMEOUT : SMCR_DIAG_CONFIRM_LINK_TIMEOUT,
                          second ? "the second link could not be agreed upon"
                                 : "the first link could not be confirmed",
                          now_ns);
}

/* Row 8. The server is to delete the link; until it has said so, no data flows. */
static void ask_to_delete(struct smcr_group *group, struct smcr_link *about, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *via = llc->via;
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_begin(group, SMCR_LLC_DELETE_AWAITED, via, about, now_ns);
    about->delete_step = SMCR_LINK_TOLD;
    about->delete_via = via;
    smcr_arm(group->smcr, &llc->notice_timer, now_ns + group->smcr->config.times.add_link_notice_ns);
    smcr_llc_build_delete_link(message, about->number, SMCR_DELETE_LOST_PATH, false);
    smcr_llc_send_step(via, message, SMCR_POST_LLC, now_ns);
}

/* The new link failed, the one that carries the exchange did not: rows 2, 3, 8 and 9. */
static void new_link_failed(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *about = llc->about;
    uint32_t reason = about->delete_reason ? about->delete_reason : SMCR_DELETE_LOST_PATH;
    smcr_link_take_down(about, "the new link could not be confirmed", now_ns);
    about->delete_reason = reason;
    group->failed_offer = about->port;
    if (smcr_llc_is_first_contact(group) && group->role == SMCR_SERVER) {
        smcr_llc_send_delete(about, now_ns);
    } else if (smcr_llc_is_first_contact(group)) {
        ask_to_delete(group, about, now_ns);
    } else {
        if (group->role == SMCR_CLIENT)
            smcr_arm(group->smcr, &llc->notice_timer, now_ns + group->smcr->config.times.add_link_notice_ns);
        smcr_llc_end(group, now_ns);
        smcr_llc_delete_link(about, reason, false, now_ns);
    }
}

/* Rows 6, 7, 10 and 12: nobody answers on the carrying link. */
static void carrier_is_silent(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *via = llc->via, *about = llc->about;
    smcr_llc_discard(about, now_ns);
    smcr_llc_end(group, now_ns);
    smcr_link_fail(via, "an LLC message was not answered", now_ns);
}

void smcr_llc_timed_out(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.timer);
    struct smcr_llc *llc = &group->llc;
    if (group->state == SMCR_GROUP_ENDING) { /* row 14 */
        smcr_llc_delete_all_timed_out(group, now_ns);
        return;
    }
    group->smcr->counters.llc_timeouts++;
    switch (smcr_llc_exchange(group)) {
    case SMCR_LLC_NONE:
        return;
    case SMCR_LLC_FIRST_LINK:
        first_contact_broken(group, false, now_ns);
        return;
    case SMCR_LLC_ADDING:
        if (llc->step == SMCR_LLC_CONFIRM_OUT || llc->step == SMCR_LLC_CONFIRM_AWAITED)
            new_link_failed(group, now_ns);
        else if (smcr_llc_is_first_contact(group))
            first_contact_broken(group, false, now_ns);
        else
            carrier_is_silent(group, now_ns);
        return;
    case SMCR_LLC_DELETING: /* rows 8, 13 and 16 */
        smcr_link_fail(llc->via, "a DELETE LINK was not answered", now_ns);
        return;
    }
}

/* All has been said over the carrying link: CONFIRM LINK goes over the new one (SMCR-LLC-04). */
static bool is_past_carrier(const struct smcr_group *group)
{
    const struct smcr_llc *llc = &group->llc;
    return (llc->step == SMCR_LLC_CONFIRM_OUT || llc->step == SMCR_LLC_CONFIRM_AWAITED ||
            llc->step == SMCR_LLC_CONFIRM_ANSWERED) &&
           llc->about->state == SMCR_LINK_CONFIRMING;
}

/* The link that carries the exchange is lost. */
static void carrier_lost(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    struct smcr_link *about = llc->about;
    if (smcr_llc_is_first_contact(group)) {
        first_contact_broken(group, true, now_ns);
        return;
    }
    if (is_past_carrier(group)) {
        llc->via = smcr_group_talking_link(group, llc->via);
        return;
    }
    if (smcr_llc_exchange(group) == SMCR_LLC_ADDING && about)
        smcr_llc_discard(about, now_ns);
    else if (smcr_llc_exchange(group) == SMCR_LLC_DELETING && about)
        about->delete_step = SMCR_LINK_DUE; /* over another one: row 16 */
    smcr_llc_end(group, now_ns);
}

/* SMCR-DLK-10, ALK-01: what was lost is replaced as soon as the peer knows. */
static void plan_replacement(struct smcr_group *group, struct smcr_link *link, bool was_told, uint64_t now_ns)
{
    if (link->state == SMCR_LINK_DOWN && !was_told)
        smcr_llc_delete_link(link, link->delete_reason ? link->delete_reason : SMCR_DELETE_LOST_PATH, false,
                             now_ns);
    smcr_group_links_changed(group, now_ns);
    if (group->role == SMCR_SERVER)
        smcr_group_want_link(group);
}

void smcr_llc_link_lost(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    llc->generation++;
    if (group->state == SMCR_GROUP_ENDING) {
        if (llc->delete_all == SMCR_DELETE_ALL_OUT && llc->delete_all_via == link)
            smcr_llc_delete_all_next(group, now_ns);
        return;
    }
    if (llc->rkey.rmb && llc->rkey.via == link)
        smcr_llc_rkey_lost(group);
    if (llc->peer_rkey.via == link)
        smcr_llc_peer_rkey_forget(group);
    if (llc->step != SMCR_LLC_IDLE && llc->via == link) {
        carrier_lost(group, now_ns);
    } else if (smcr_llc_exchange(group) == SMCR_LLC_ADDING && llc->about == link) {
        /* What the peer still owes over the carrying link comes first, or it would meet the next exchange. */
        if (llc->step != SMCR_LLC_OFFER_OUT && llc->step != SMCR_LLC_TOKENS_OUT &&
            llc->step != SMCR_LLC_TOKENS_AWAITED)
            new_link_failed(group, now_ns);
        return;
    }
    if (group->state != SMCR_GROUP_USABLE)
        return;
    if (group->role == SMCR_CLIENT)
        smcr_llc_resend_deletes(link, now_ns);
    if (link->delete_step == SMCR_LINK_DRAINS) /* nothing of its connections is left on it */
        smcr_llc_drained(link, now_ns);
    plan_replacement(group, link, link->delete_step >= SMCR_LINK_DUE, now_ns);
}
