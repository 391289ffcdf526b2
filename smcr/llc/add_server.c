/* SPDX-License-Identifier: BSD-2-Clause */
/* The server adds a link: ADD LINK, the RTokens, CONFIRM LINK over the new one. SMCR-FC-09 to FC-19,
 * sections 10.1, 10.2 and 11.1. */
#include "smcr/llc/flow.h"

/* --- ADD LINK --- */

/* A first contact that has not got so far may still end in TCP (SMCR-FC-23); later the timer tries
 * again. */
static void cannot_offer(struct smcr_group *group, uint64_t now_ns)
{
    if (smcr_llc_is_first_contact(group))
        smcr_llc_contact_over(group, SMCR_CONTACT_DECLINE, SMCR_DIAG_NO_RESOURCES,
                              "no resources for a second link", now_ns);
    else
        smcr_group_links_changed(group, now_ns);
}

void smcr_llc_start_adding(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *via = smcr_group_talking_link(group, NULL), *about;
    struct smcr_port *port = smcr_group_port_to_offer(group);
    uint8_t number;
    if (smcr_group_symmetric_links(group) >= group->max_links) /* SMCR-ARC-17 */
        return;
    if (!via || !port || !(number = smcr_group_next_link_number(group)) ||
        smcr_link_create(group, port, number, &about)) {
        cannot_offer(group, now_ns);
        return;
    }
    group->llc.wish = SMCR_WISH_NONE;
    smcr_llc_begin(group, SMCR_LLC_OFFER_OUT, via, about, now_ns); /* T4 */
    if (group->version == 2) {
        smcr_llc_send_add_link2(via, false, now_ns);
        return;
    }
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_add_link(message, group, &about->local, number, false);
    smcr_llc_send_step(via, message, SMCR_POST_ADD_LINK, now_ns);
}

/* --- the RTokens --- */

static void send_tokens(struct smcr_group *group, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_cont(message, group, false);
    smcr_llc_enter(group, SMCR_LLC_TOKENS_OUT, now_ns);
    smcr_llc_send_step(group->llc.via, message, SMCR_POST_LLC, now_ns);
}

static void rejected(struct smcr_group *group, uint64_t now_ns)
{
    group->failed_offer = group->llc.about->port;
    smcr_llc_discard(group->llc.about, now_ns); /* SMCR-FC-16 */
    if (smcr_llc_is_first_contact(group)) {
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
        return;
    }
    smcr_llc_end(group, now_ns);
}

/* The new link is not to be: SMCR-ALK-06. In a first contact no data flows before the peer has agreed
 * (SMCR-FC-18). */
static void give_up(struct smcr_group *group, const char *cause, uint64_t now_ns)
{
    if (group->llc.about->state != SMCR_LINK_DOWN)
        group->llc.about->delete_reason = SMCR_DELETE_PROTOCOL;
    smcr_llc_drop_new_link(group, cause, now_ns);
}

/* --- CONFIRM LINK --- */

static void send_confirm_link(struct smcr_link *link, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_confirm_link(message, link, false);
    smcr_llc_send_step(link, message, SMCR_POST_LLC, now_ns);
}

/* All RTokens of the new link are told: SMCR-FC-17. */
static void confirm_added(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *about = group->llc.about;
    if (smcr_link_send_ready(about, now_ns)) {
        smcr_llc_drop_new_link(group, "the queue pair could not be connected", now_ns);
        return;
    }
    smcr_llc_enter(group, SMCR_LLC_CONFIRM_OUT, now_ns);
    send_confirm_link(about, now_ns);
}

/* --- answers --- */

static bool is_answer(const struct smcr_link *link, const struct smcr_llc_msg *m)
{
    const struct smcr_group *group = link->group;
    return group->role == SMCR_SERVER && group->llc.via == link && smcr_llc_awaits(group, m);
}

void smcr_llc_add_link_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (!is_answer(link, m) || m->add_link.link != llc->about->number) {
        smcr_llc_unmatched(link, m, now_ns);
        return;
    }
    smcr_llc_enter(group, SMCR_LLC_ANSWER_CAME, now_ns);
    if (smcr_llc_is_first_contact(group))
        group->past_fallback = true; /* SMCR-FBK-01 row 11 */
    if (m->add_link.rejected) {
        rejected(group, now_ns);
        return;
    }
    struct smcr_link_end peer = smcr_llc_end_of(&m->add_link);
    if (peer.qpn < SMCR_MIN_QPN || !nornic_mtu_bytes((enum nornic_mtu)peer.mtu)) {
        smcr_llc_wrong(link, m, "an ADD LINK response that cannot be", now_ns);
        return;
    }
    if (!smcr_group_pair_is_allowed(group, &llc->about->local, &peer, llc->about) ||
        smcr_link_receive(llc->about, &peer, now_ns)) {
        give_up(group, "the client's end of a new link cannot be used", now_ns);
        return;
    }
    if (group->version == 2 && !smcr_llc_take_rtokens2(group, m)) {
        smcr_llc_wrong(link, m, "RTokens of RMBs that are not there", now_ns);
    } else if (group->version == 2) {
        confirm_added(group, now_ns);
    } else {
        smcr_llc_begin_tokens(llc, smcr_rmb_count_known(group));
        send_tokens(group, now_ns);
    }
}

void smcr_llc_cont_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (!is_answer(link, m)) {
        smcr_llc_unmatched(link, m, now_ns);
        return;
    }
    smcr_llc_enter(group, SMCR_LLC_ANSWER_CAME, now_ns);
    if (!smcr_llc_take_tokens(group, &m->cont)) {
        smcr_llc_wrong(link, m, "RTokens that do not fit what was announced", now_ns);
    } else if (!smcr_llc_tokens_are_through(llc)) {
        send_tokens(group, now_ns);
    } else {
        confirm_added(group, now_ns);
    }
}

void smcr_llc_confirm_first(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *link = &group->links[0];
    smcr_llc_begin(group, SMCR_LLC_FIRST_OUT, link, link, now_ns); /* T2 */
    send_confirm_link(link, now_ns);
}

/* Takes the client's limit of links (SMCR-ARC-15): at least 2, at most the own one; 0: the own one. */
static void settle_max_links(struct smcr_group *group, uint8_t client_max)
{
    if (client_max == 0 || client_max > group->max_links)
        return;
    group->max_links = client_max < 2 ? 2 : client_max;
}

/* After a link was added: a superfluous link goes (SMCR-ALK-09), and perhaps another one comes. */
static void added(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *superfluous = smcr_group_superfluous_link(group);
    smcr_llc_end(group, now_ns);
    if (superfluous)
        smcr_llc_delete_link(superfluous, SMCR_DELETE_ASYMMETRIC, true, now_ns);
    smcr_group_want_link(group);
}

void smcr_llc_confirm_link_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    const struct smcr_confirm_link *confirm = &m->confirm_link;
    if (group->role != SMCR_SERVER || group->llc.about != link || !smcr_llc_awaits(group, m)) {
        smcr_llc_unmatched(link, m, now_ns);
        return;
    }
    bool has_cursors = group->version == 1 || m->no_eye_catcher == SMCR_NO_EYE_CATCHER;
    if (!smcr_llc_is_peer_end(link, confirm) || confirm->link != link->number || !has_cursors) { /* REC-20 */
        smcr_llc_wrong(link, m, "a CONFIRM LINK response for another link", now_ns);
        return;
    }
    smcr_llc_link_is_active(link, confirm->link_user_id, now_ns);
    if (smcr_llc_exchange(group) == SMCR_LLC_FIRST_LINK) {
        if (group->version == 1)
            settle_max_links(group, confirm->max_links);
        if (group->max_links > 1)
            smcr_llc_start_adding(group, now_ns); /* SMCR-FC-12: always */
        else                                      /* version 2.1: no second link is wanted */
            smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
    } else if (smcr_llc_is_first_contact(group)) {
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, NULL, now_ns);
    } else {
        added(group, now_ns);
    }
}

/* --- the client asks for a link: SMCR-ALK-03, ALK-04 --- */

void smcr_llc_notice(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    (void)now_ns;
    if (group->state != SMCR_GROUP_USABLE)
        return; /* the first contact brings a second link anyway */
    if (smcr_llc_exchange(group) == SMCR_LLC_ADDING)
        return; /* the client takes the ADD LINK that runs for the answer: SMCR-SER-03 */
    if (!smcr_llc_is_free(group)) {
        smcr_llc_queue(link, m);
        return;
    }
    group->num_client_gids = 0; /* it has found another one */
    if (smcr_group_symmetric_links(group) >= group->max_links)
        return;
    group->failed_offer = NULL;
    smcr_group_want_link(group);
}
