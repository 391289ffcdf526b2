/* SPDX-License-Identifier: BSD-2-Clause */
/* DELETE LINK of one link: SMCR sections 10.3 and 11.2. The server's is an exchange; the client asks for it
 * and answers it at any time. */
#include "smcr/llc/flow.h"

/* Its connections leave it first, as soon as nothing of them is posted there (SMCR-FOV-15). */
static void drain(struct smcr_link *link, uint64_t patience_ns, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    smcr_link_set_state(link, SMCR_LINK_DELETING, "its connections leave", now_ns);
    link->delete_step = SMCR_LINK_DRAINS;
    link->group->llc.generation++;
    smcr_cancel(smcr, &link->test_timer);
    smcr_arm(smcr, &link->delete_timer, now_ns + patience_ns);
    smcr_group_links_changed(link->group, now_ns);
    smcr_link_effect(link, SMCR_LINK_LEAVE);
    smcr_link_effect(link, SMCR_LINK_EMPTY);
}

/* --- our wish --- */

static void ask_server(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_link *via = smcr_group_talking_link(group, link);
    uint8_t message[SMCR_MSG_BYTES];
    link->delete_step = SMCR_LINK_TOLD;
    link->delete_via = via;
    smcr_arm(group->smcr, &link->delete_timer, now_ns + group->smcr->config.times.llc_ns);
    smcr_llc_build_delete_link(message, link->number, link->delete_reason, link->is_delete_orderly);
    if (via)
        smcr_llc_send(via, message, SMCR_POST_LLC, now_ns);
}

void smcr_llc_delete_link(struct smcr_link *link, uint32_t reason, bool orderly, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    if (link->delete_step != SMCR_LINK_STAYS || link->state == SMCR_LINK_FREE)
        return;
    link->delete_reason = reason;
    link->is_delete_orderly = orderly;
    bool others = smcr_group_pick_link(group, link) != NULL;
    if (link->state != SMCR_LINK_DOWN && (!orderly || !others)) {
        smcr_link_fail(link, "the link was given up", now_ns);
        return; /* and so it comes here again, or was the last */
    }
    if (link->state != SMCR_LINK_DOWN && group->role == SMCR_SERVER) {
        drain(link, group->smcr->config.times.llc_ns, now_ns);
        return;
    }
    if (group->role == SMCR_CLIENT) {
        ask_server(link, now_ns);
        return;
    }
    link->delete_step = SMCR_LINK_DUE;
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

/* Row 13 of SMCR-REC-04: the server does not go on. */
static void ask_again(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_link *via = link->delete_via;
    if (!smcr_llc_is_free(group)) { /* it waits there for the end of what runs: SMCR-SER-03 */
        smcr_arm(group->smcr, &link->delete_timer, now_ns + group->smcr->config.times.llc_ns);
        return;
    }
    group->smcr->counters.llc_timeouts++;
    if (via && smcr_link_talks(via))
        smcr_link_fail(via, "a DELETE LINK was not answered", now_ns); /* and so it is asked again */
    else
        ask_server(link, now_ns);
}

void smcr_llc_resend_deletes(struct smcr_link *via, uint64_t now_ns)
{
    struct smcr_group *group = via->group;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS && group->state == SMCR_GROUP_USABLE; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state == SMCR_LINK_FREE || link->delete_via != via)
            continue;
        if (link->delete_step == SMCR_LINK_TOLD)
            ask_server(link, now_ns);
        else if (link->delete_step == SMCR_LINK_ANSWERS) /* as in answer() */
            link->delete_step = SMCR_LINK_GONE;
    }
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

void smcr_llc_delete_due(struct smcr_link *link, uint64_t now_ns)
{
    if (link->delete_step == SMCR_LINK_TOLD && link->group->role == SMCR_CLIENT)
        ask_again(link, now_ns);
    else if (link->delete_step == SMCR_LINK_DRAINS)
        smcr_link_fail(link, "its connections did not leave in time", now_ns);
}

/* --- the server's exchange --- */

void smcr_llc_send_delete(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_link *via = smcr_group_talking_link(group, link); /* SMCR-DLK-03, DLK-09 */
    uint8_t message[SMCR_MSG_BYTES];
    if (!via)
        return;
    link->delete_step = SMCR_LINK_TOLD;
    smcr_llc_begin(group, SMCR_LLC_DELETE_OUT, via, link, now_ns);
    smcr_llc_build_delete_link(message, link->number, link->delete_reason, link->is_delete_orderly);
    smcr_llc_send_step(via, message, SMCR_POST_LLC, now_ns);
}

void smcr_llc_start_deleting(struct smcr_group *group, uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state != SMCR_LINK_FREE && link->delete_step == SMCR_LINK_DUE) {
            smcr_llc_send_delete(link, now_ns);
            return;
        }
    }
}

static void deleted(struct smcr_group *group, uint64_t now_ns)
{
    smcr_llc_discard(group->llc.about, now_ns);
    if (smcr_llc_is_first_contact(group)) /* SMCR-FC-18, FC-19 */
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
    else
        smcr_llc_end(group, now_ns);
}

/* The server does not know the link that the client wanted deleted. */
static bool is_unknown_there(struct smcr_link *via, const struct smcr_delete_link *m)
{
    struct smcr_group *group = via->group;
    struct smcr_link *link = smcr_group_link(group, m->link);
    if (group->role != SMCR_CLIENT || m->reason != SMCR_DELETE_UNKNOWN_LINK || !link ||
        link->delete_step != SMCR_LINK_TOLD || link->delete_via != via)
        return false;
    link->delete_step = SMCR_LINK_GONE;
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
    return true;
}

void smcr_llc_delete_link_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (group->role == SMCR_SERVER && llc->via == link && smcr_llc_awaits(group, m) &&
        m->delete_link.link == llc->about->number)
        deleted(group, now_ns);
    else if (!is_unknown_there(link, &m->delete_link))
        smcr_llc_unmatched(link, m, now_ns);
}

/* --- the client's answer: SMCR-LLC-42, DLK-04 --- */

static void answer(struct smcr_link *link, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    struct smcr_link *via = link->delete_via;
    smcr_cancel(link->group->smcr, &link->delete_timer);
    if (!via || !smcr_link_talks(via)) { /* the server asks again, and is told that it is unknown */
        link->delete_step = SMCR_LINK_GONE;
        smcr_group_effect(link->group, SMCR_GROUP_ADVANCE);
        return;
    }
    link->delete_step = SMCR_LINK_ANSWERS;
    smcr_llc_build_delete_rsp(message, link->number, 0);
    smcr_llc_send(via, message, SMCR_POST_DELETE_RSP, now_ns);
}

static void answer_over(struct smcr_link *link, struct smcr_link *via, uint64_t now_ns)
{
    link->delete_via = via;
    answer(link, now_ns);
}

void smcr_llc_drained(struct smcr_link *link, uint64_t now_ns)
{
    if (link->delete_step != SMCR_LINK_DRAINS || link->conns > 0 || link->num_posts > 0)
        return;
    smcr_cancel(link->group->smcr, &link->delete_timer);
    if (link->group->role == SMCR_CLIENT) {
        answer(link, now_ns);
        return;
    }
    link->delete_step = SMCR_LINK_DUE;
    smcr_group_effect(link->group, SMCR_GROUP_ADVANCE);
}

void smcr_llc_delete_answered(struct smcr_link *via)
{
    struct smcr_group *group = via->group;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state != SMCR_LINK_FREE && link->delete_step == SMCR_LINK_ANSWERS &&
            link->delete_via == via) {
            link->delete_step = SMCR_LINK_GONE;
            smcr_group_effect(group, SMCR_GROUP_ADVANCE);
            return;
        }
    }
}

/* The server gave up the link that is being added: rows 2 and 3. */
static void adding_is_given_up(struct smcr_group *group, uint64_t now_ns)
{
    smcr_llc_enter(group, SMCR_LLC_DELETE_ANSWERED, now_ns);
    smcr_arm(group->smcr, &group->llc.notice_timer, now_ns + group->smcr->config.times.add_link_notice_ns);
    if (!smcr_llc_is_first_contact(group))
        smcr_llc_end(group, now_ns);
}

static void client_deletes(struct smcr_link *via, struct smcr_link *link, bool orderly, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    smcr_cancel(group->smcr, &link->delete_timer);
    link->delete_via = via;
    if (llc->step != SMCR_LLC_IDLE && llc->about == link)
        adding_is_given_up(group, now_ns);
    bool others = smcr_group_pick_link(group, link) != NULL;
    /* What carries its own end can be drained, and has to: the response goes back over it (SMCR-LLC-05). */
    if ((orderly || via == link) && others && link->state == SMCR_LINK_ACTIVE) {
        drain(link, group->smcr->config.times.llc_ns / 2, now_ns);
        return;
    }
    link->delete_step = SMCR_LINK_ANSWERS; /* so that its failure is not told */
    smcr_link_fail(link, "the server deleted the link", now_ns);
    if (others || group->state != SMCR_GROUP_USABLE) /* else the group ends with it */
        answer(link, now_ns);
}

static void unknown_link(struct smcr_link *via, uint8_t number, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_delete_rsp(message, number, SMCR_DELETE_UNKNOWN_LINK); /* SMCR-DLK-07, A8 */
    smcr_llc_send(via, message, SMCR_POST_DELETE_RSP, now_ns);
}

/* --- the client's wish: SMCR-DLK-05, DLK-06 --- */

static void server_is_asked(struct smcr_link *via, const struct smcr_llc_msg *message, uint64_t now_ns)
{
    struct smcr_group *group = via->group;
    const struct smcr_delete_link *m = &message->delete_link;
    struct smcr_link *link = smcr_group_link(group, m->link);
    if (link && link->delete_step != SMCR_LINK_STAYS)
        return;                                                       /* it is being deleted: SMCR-DLK-07 */
    if (smcr_llc_is_first_contact(group) || !smcr_llc_is_free(group)) /* SMCR-SER-03 */
        smcr_llc_queue(via, message);
    else if (!link)
        unknown_link(via, m->link, now_ns);
    else
        smcr_llc_delete_link(link, m->reason, m->orderly, now_ns);
}

void smcr_llc_delete_link_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    if (group->role == SMCR_SERVER) {
        server_is_asked(link, m, now_ns);
        return;
    }
    struct smcr_link *target = smcr_group_link(group, m->delete_link.link);
    if (!target || target->delete_step == SMCR_LINK_GONE)
        unknown_link(link, m->delete_link.link, now_ns);
    else if (target->delete_step == SMCR_LINK_DRAINS)
        target->delete_via = link; /* again, over another link: the response follows it */
    else if (target->delete_step == SMCR_LINK_ANSWERS)
        answer_over(target, link, now_ns);
    else
        client_deletes(link, target, m->delete_link.orderly, now_ns);
}
