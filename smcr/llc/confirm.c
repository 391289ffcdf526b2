/* SPDX-License-Identifier: BSD-2-Clause */
/* CONFIRM LINK, and the frame of a first contact: SMCR-FC-09 to FC-19, LLC-20 to LLC-22. */
#include <string.h>

#include "smcr/llc/flow.h"

/* --- the frame --- */

void smcr_llc_first_contact(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *link = &group->links[0];
    smcr_llc_begin(group, SMCR_LLC_FIRST_LINK, link, link);
    if (group->role == SMCR_SERVER)
        smcr_llc_send_confirm_link(group, link, now_ns); /* T2 */
    else
        smcr_llc_await(group, SMCR_LLC_CONFIRM_LINK, false, now_ns); /* T1 */
}

void smcr_llc_first_contact_over(struct smcr_group *group, enum smcr_first_contact how, uint32_t diagnosis,
                                 const char *cause, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    bool ok = how == SMCR_FIRST_CONTACT_OK;
    llc->exchange = SMCR_LLC_IDLE;
    llc->awaited = 0;
    llc->is_first_contact = false;
    llc->via = llc->about = NULL;
    smcr_cancel(group->smcr, &llc->timer);
    if (ok) {
        group->state = SMCR_GROUP_USABLE;
        group->smcr->counters.first_contacts++;
        smcr_group_links_changed(group, now_ns);
        /* More than two links come one by one after this. */
        if (group->role == SMCR_SERVER && smcr_group_redundancy(group) != SMCR_SINGLE)
            smcr_llc_want_link(group, now_ns);
    }
    smcr_handshake_first_contact_ended(group, how, diagnosis, cause, now_ns);
    if (!ok)
        smcr_group_end(group, false, cause, now_ns);
    else if (group->state == SMCR_GROUP_USABLE)
        smcr_llc_kick(group, now_ns);
}

/* --- server --- */

void smcr_llc_send_confirm_link(struct smcr_group *group, struct smcr_link *link, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_confirm_link(message, link, false);
    smcr_llc_await(group, SMCR_LLC_CONFIRM_LINK, true, now_ns);
    smcr_llc_send_step(link, message, now_ns);
}

static void link_is_active(struct smcr_link *link, uint32_t peer_user_id, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    link->peer_user_id = peer_user_id;
    smcr_link_set_state(link, SMCR_LINK_ACTIVE, "confirmed", now_ns);
    group->llc.generation++;
    smcr_arm(group->smcr, &link->test_timer, now_ns + group->smcr->config.times.test_link_ns);
}

/* SMCR-LLC-21. */
static bool is_peer_end(const struct smcr_link *link, const struct smcr_confirm_link *m)
{
    return m->qpn == link->peer.qpn && memcmp(m->mac, link->peer.mac.b, sizeof m->mac) == 0 &&
           memcmp(m->gid, link->peer.gid.b, sizeof m->gid) == 0;
}

/* SMCR-ARC-15: 0 takes ours; what cannot be is brought into 2..ours. */
static void settle_max_links(struct smcr_group *group, uint8_t client_max)
{
    if (client_max == 0 || client_max > group->max_links)
        return;
    group->max_links = client_max < 2 ? 2 : client_max;
}

/* A link that was added: what it makes superfluous goes (SMCR-ALK-09), and perhaps another one comes. */
static void added(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *superfluous = smcr_group_superfluous_link(group);
    smcr_llc_end(group, now_ns);
    if (superfluous)
        smcr_llc_delete_link(superfluous, SMCR_DELETE_ASYMMETRIC, true, now_ns);
    smcr_llc_want_link(group, now_ns);
}

void smcr_llc_confirm_link_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    struct smcr_confirm_link m;
    smcr_confirm_link_get(&m, message);
    if (group->role != SMCR_SERVER || llc->about != link ||
        !smcr_llc_awaits(llc, SMCR_LLC_CONFIRM_LINK, true)) {
        smcr_llc_unmatched(link, message, now_ns);
        return;
    }
    if (!is_peer_end(link, &m) || m.link != link->number) { /* SMCR-REC-20 */
        smcr_llc_wrong(link, message, "a CONFIRM LINK response for another link", now_ns);
        return;
    }
    link_is_active(link, m.link_user_id, now_ns);
    if (llc->exchange == SMCR_LLC_FIRST_LINK) {
        settle_max_links(group, m.max_links);
        smcr_llc_start_adding(group, now_ns); /* SMCR-FC-12: always */
    } else if (llc->is_first_contact) {
        smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_OK, 0, NULL, now_ns);
    } else {
        added(group, now_ns);
    }
}

/* --- client --- */

static void answer(struct smcr_link *link, uint32_t peer_user_id, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    bool is_first = group->llc.exchange == SMCR_LLC_FIRST_LINK;
    uint8_t message[SMCR_MSG_BYTES];
    link->peer_user_id = peer_user_id;
    if (smcr_link_send_ready(link, now_ns)) {
        smcr_link_failed(link, "the queue pair could not be connected", now_ns);
        return;
    }
    smcr_llc_build_confirm_link(message, link, true);
    smcr_llc_await(group, is_first ? SMCR_LLC_ADD_LINK : 0, false, now_ns); /* T3 */
    smcr_llc_send_step(link, message, now_ns);
}

/* The number that the server gave it, and the most links that there may be: SMCR-ARC-15, LLC-22. */
static bool takes_server_values(struct smcr_link *link, const struct smcr_confirm_link *m)
{
    struct smcr_group *group = link->group;
    if (group->llc.exchange != SMCR_LLC_FIRST_LINK)
        return m->link == link->number;
    if (m->link == 0 || m->max_links < 2)
        return false;
    link->number = group->last_link_number = m->link;
    if (m->max_links < group->max_links)
        group->max_links = m->max_links;
    return true;
}

void smcr_llc_confirm_link_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    struct smcr_confirm_link m;
    smcr_confirm_link_get(&m, message);
    if (group->role != SMCR_CLIENT || llc->about != link ||
        !smcr_llc_awaits(llc, SMCR_LLC_CONFIRM_LINK, false)) {
        smcr_llc_wrong(link, message, "a CONFIRM LINK that nothing led to", now_ns);
        return;
    }
    if (llc->rkey.rmb) { /* SMCR-SER-03, A9 */
        smcr_llc_queue(link, message);
        return;
    }
    if (!is_peer_end(link, &m) || !takes_server_values(link, &m)) { /* SMCR-REC-20 */
        smcr_llc_wrong(link, message, "a CONFIRM LINK for another link", now_ns);
        return;
    }
    answer(link, m.link_user_id, now_ns);
}

void smcr_llc_confirm_link_sent(struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (link->state != SMCR_LINK_CONFIRMING)
        return;
    link_is_active(link, link->peer_user_id, now_ns); /* SMCR-ALK-08 */
    if (llc->exchange != SMCR_LLC_ADDING || llc->about != link)
        return;
    if (llc->is_first_contact)
        smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_OK, 0, NULL, now_ns);
    else
        smcr_llc_end(group, now_ns);
}
