/* SPDX-License-Identifier: BSD-2-Clause */
/* The client takes part in adding a link, and asks for one. SMCR-FC-09 to FC-19, sections 10.1, 10.2 and
 * 11.1. */
#include "smcr/llc/flow.h"

#define FIRST_NOTICE_AGAIN_NS 1000000000u /* doubles, up to smcr_times.add_link_notice_ns */

/* --- CONFIRM LINK --- */

static void answer_confirm(struct smcr_link *link, uint32_t peer_user_id, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    bool is_first = smcr_llc_exchange(group) == SMCR_LLC_FIRST_LINK;
    uint8_t message[SMCR_MSG_BYTES];
    link->peer_user_id = peer_user_id;
    if (smcr_link_send_ready(link, now_ns)) {
        smcr_link_fail(link, "the queue pair could not be connected", now_ns);
        return;
    }
    smcr_llc_build_confirm_link(message, link, true);
    smcr_llc_enter(group, is_first ? SMCR_LLC_OFFER_AWAITED : SMCR_LLC_CONFIRM_ANSWERED, now_ns); /* T3 */
    smcr_llc_send_step(link, message, SMCR_POST_CONFIRM_RSP, now_ns);
}

/* The number that the server gave it, and the most links that there may be: SMCR-ARC-15, LLC-22. */
static bool takes_server_values(struct smcr_link *link, const struct smcr_confirm_link *m)
{
    struct smcr_group *group = link->group;
    if (group->version == 2 && smcr_llc_exchange(group) == SMCR_LLC_FIRST_LINK) { /* CLC settled the rest */
        link->number = group->last_link_number = m->link;
        return m->link != 0;
    }
    if (smcr_llc_exchange(group) != SMCR_LLC_FIRST_LINK)
        return m->link == link->number;
    if (m->link == 0 || m->max_links < 2)
        return false;
    link->number = group->last_link_number = m->link;
    if (m->max_links < group->max_links)
        group->max_links = m->max_links;
    return true;
}

void smcr_llc_confirm_link_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    const struct smcr_confirm_link *confirm = &m->confirm_link;
    if (group->role != SMCR_CLIENT || group->llc.about != link || !smcr_llc_awaits(group, m)) {
        smcr_llc_wrong(link, m, "a CONFIRM LINK that nothing led to", now_ns);
        return;
    }
    if (group->llc.rkey.rmb) { /* SMCR-SER-03, A9 */
        smcr_llc_queue(link, m);
        return;
    }
    bool has_cursors = group->version == 1 || m->no_eye_catcher == SMCR_NO_EYE_CATCHER;
    if (!smcr_llc_is_peer_end(link, confirm) || !has_cursors ||
        !takes_server_values(link, confirm)) { /* SMCR-REC-20 */
        smcr_llc_wrong(link, m, "a CONFIRM LINK for another link", now_ns);
        return;
    }
    answer_confirm(link, confirm->link_user_id, now_ns);
}

void smcr_llc_confirm_link_sent(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    if (link->state != SMCR_LINK_CONFIRMING)
        return;
    smcr_llc_link_is_active(link, link->peer_user_id, now_ns); /* SMCR-ALK-08 */
    if (smcr_llc_exchange(group) == SMCR_LLC_FIRST_LINK &&
        group->max_links == 1) { /* version 2.1: that is all */
        group->past_fallback = true;
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
        return;
    }
    if (smcr_llc_exchange(group) != SMCR_LLC_ADDING || group->llc.about != link)
        return;
    if (smcr_llc_is_first_contact(group))
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
    else
        smcr_llc_end(group, now_ns);
}

/* --- ADD LINK --- */

static void reject(struct smcr_link *link, const struct smcr_llc_msg *m, uint8_t reason, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    bool is_first = smcr_llc_is_first_contact(group);
    uint8_t message[SMCR_MSG_BYTES];
    if (group->version == 2)
        smcr_llc2_build_reject(message, m);
    else
        smcr_llc_build_reject(message, group, &link->local, m->add_link.link, reason);
    if (!smcr_llc_send_step(link, message, SMCR_POST_ADD_LINK, now_ns) || !is_first)
        return;
    group->past_fallback = true; /* SMCR-FBK-01 row 12 */
    smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
}

/* SMCR-FC-14, FC-15: our end of the link, or NULL. */
static struct smcr_link *make_end(struct smcr_group *group, const struct smcr_add_link *m, uint64_t now_ns)
{
    struct smcr_link_end peer = smcr_llc_end_of(m);
    struct smcr_port *port = smcr_group_port_to_answer(group, &peer);
    struct smcr_link *about;
    if (smcr_group_symmetric_links(group) >= group->max_links || !port ||
        smcr_link_create(group, port, m->link, &about))
        return NULL;
    if (smcr_link_receive(about, &peer, now_ns)) {
        smcr_llc_discard(about, now_ns);
        return NULL;
    }
    return about;
}

static void accept(struct smcr_link *link, struct smcr_link *about, const struct smcr_llc_msg *m,
                   uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_begin(group, SMCR_LLC_TOKENS_AWAITED, link, about, now_ns);
    if (group->version == 2) {
        if (!smcr_llc_take_rtokens2(group, m)) {
            smcr_llc_wrong(link, m, "RTokens of RMBs that are not there", now_ns);
            return;
        }
        smcr_llc_enter(group, SMCR_LLC_CONFIRM_AWAITED, now_ns);
        smcr_llc_send_add_link2(link, true, now_ns);
        return;
    }
    smcr_llc_begin_tokens(&group->llc, 0);
    smcr_llc_build_add_link(message, group, &about->local, about->number, true);
    smcr_llc_send_step(link, message, SMCR_POST_ADD_LINK, now_ns);
}

/* What runs here although the server begins anew: it has given that up. */
static void drop_running(struct smcr_group *group, uint64_t now_ns)
{
    if (smcr_llc_exchange(group) != SMCR_LLC_ADDING)
        return;
    smcr_llc_discard(group->llc.about, now_ns);
    smcr_llc_end(group, now_ns);
}

static bool has_link(struct smcr_group *group, uint8_t number)
{
    const struct smcr_link *link = smcr_group_link(group, number);
    return link && link->delete_step != SMCR_LINK_GONE;
}

void smcr_llc_offer(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    const struct smcr_add_link *offer = &m->add_link;
    smcr_llc_confirm_link_sent(link, now_ns); /* its response has arrived, or this would not have come */
    bool is_in_time = group->state == SMCR_GROUP_USABLE || smcr_llc_awaits(group, m);
    if (is_in_time) /* else the exchange ends with its link, and what waits for it hears so */
        drop_running(group, now_ns);
    if (!is_in_time || offer->qpn < SMCR_MIN_QPN || offer->link == 0 || has_link(group, offer->link)) {
        smcr_llc_wrong(link, m, "an ADD LINK that cannot be", now_ns);
        return;
    }
    if (group->version == 2 && group->llc.rkey.rmb) { /* whether the server knows that RMB decides the list */
        smcr_llc_queue(link, m);
        return;
    }
    if (!nornic_mtu_bytes((enum nornic_mtu)offer->mtu)) { /* SMCR-LLC-31, REC-21 */
        reject(link, m, SMCR_ADD_LINK_BAD_MTU, now_ns);
        return;
    }
    struct smcr_link *about = make_end(group, offer, now_ns);
    if (about)
        accept(link, about, m, now_ns);
    else
        reject(link, m, SMCR_ADD_LINK_NO_PATH, now_ns);
}

/* --- the RTokens --- */

void smcr_llc_cont_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (group->role != SMCR_CLIENT || llc->via != link || !smcr_llc_awaits(group, m)) {
        smcr_llc_wrong(link, m, "an ADD LINK CONTINUATION that nothing led to", now_ns);
        return;
    }
    if (llc->rkey.rmb) { /* whether the server knows that RMB decides the list: its response comes at once */
        smcr_llc_queue(link, m);
        return;
    }
    if (!smcr_llc_take_tokens(group, &m->cont)) {
        smcr_llc_wrong(link, m, "RTokens that do not fit what was announced", now_ns);
        return;
    }
    if (llc->own_told == 0)
        llc->own_total = smcr_rmb_count_known(group);
    uint8_t answer[SMCR_MSG_BYTES];
    smcr_llc_build_cont(answer, group, true);
    bool are_through = smcr_llc_tokens_are_through(llc);
    smcr_llc_enter(group, are_through ? SMCR_LLC_CONFIRM_AWAITED : SMCR_LLC_TOKENS_AWAITED, now_ns);
    smcr_llc_send_step(link, answer, SMCR_POST_LLC, now_ns);
    if (are_through && llc->about->state == SMCR_LINK_DOWN)
        smcr_llc_drop_new_link(group, "its port went down meanwhile", now_ns);
}

/* --- a notice --- */

/* A server may let a notice be (SMCR-SER-03), and Linux drops one that comes while it still frees the link
 * that went, with no retry timer of its own: so it is given again, more and more seldom, until there is
 * redundancy. */
static void plan_next_notice(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    uint64_t most = group->smcr->config.times.add_link_notice_ns;
    uint64_t wait = llc->notice_ns > 0 ? 2 * llc->notice_ns : FIRST_NOTICE_AGAIN_NS;
    llc->notice_ns = wait < most ? wait : most;
    smcr_arm(group->smcr, &llc->notice_timer, now_ns + llc->notice_ns);
}

void smcr_llc_notify(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *via = smcr_group_talking_link(group, NULL);
    struct smcr_port *port = smcr_group_unused_port(group);
    if (!via || !port || smcr_group_symmetric_links(group) >= group->max_links) /* SMCR-ARC-17 */
        return;
    struct smcr_link_end end = {.mac = port->mac, .gid = port->gid}; /* SMCR-LLC-32 */
    uint8_t message[SMCR_MSG_BYTES];
    if (group->version == 2)
        smcr_llc2_build_request(message, &port->gid);
    else
        smcr_llc_build_add_link(message, group, &end, 0, false);
    smcr_llc_send(via, message, SMCR_POST_LLC, now_ns);
    plan_next_notice(group, now_ns);
}

/* The notice is not awaited: one that the server will not follow is given again by its timer. */
void smcr_llc_request_refused(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    (void)m, (void)now_ns;
    link->group->smcr->counters.llc_discarded++;
}
