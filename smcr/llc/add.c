/* SPDX-License-Identifier: BSD-2-Clause */
/* ADD LINK: SMCR-FC-12 to FC-17, sections 10.2 and 11.1. */
#include <string.h>

#include "base/base.h"
#include "smcr/llc/flow.h"

static struct smcr_link_end end_of(const struct smcr_add_link *m)
{
    struct smcr_link_end end = {.qpn = m->qpn, .psn = m->psn, .mtu = m->mtu};
    memcpy(end.mac.b, m->mac, sizeof m->mac);
    memcpy(end.gid.b, m->gid, sizeof m->gid);
    return end;
}

/* --- server --- */

/* A first contact that has not got so far may still end in TCP (SMCR-FC-23); later the timer tries again. */
static void cannot_offer(struct smcr_group *group, uint64_t now_ns)
{
    if (group->state == SMCR_GROUP_FIRST_CONTACT)
        smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_DECLINE, SMCR_DIAG_NO_RESOURCES,
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
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_add_link(message, group, &about->local, number, false);
    smcr_llc_begin(group, SMCR_LLC_ADDING, via, about);
    group->llc.notice_came = false;
    smcr_llc_await(group, SMCR_LLC_ADD_LINK, true, now_ns); /* T4 */
    smcr_llc_send_step(via, message, now_ns);
}

static void rejected(struct smcr_group *group, uint64_t now_ns)
{
    bool again = group->llc.notice_came;
    group->failed_offer = group->llc.about->port;
    smcr_link_destroy(group->llc.about, now_ns); /* SMCR-FC-16 */
    if (group->llc.is_first_contact) {
        smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_OK, 0, NULL, now_ns);
        return;
    }
    smcr_llc_end(group, now_ns);
    if (again) /* it has found another RNIC meanwhile */
        smcr_llc_want_link(group, now_ns);
}

/* The new link is not to be: SMCR-ALK-06. In a first contact no data flows before the peer has agreed
 * (SMCR-FC-18). */
static void give_up(struct smcr_group *group, const char *cause, uint64_t now_ns)
{
    if (group->llc.about->state != SMCR_LINK_DOWN)
        group->llc.about->delete_reason = SMCR_DELETE_PROTOCOL;
    smcr_llc_drop_new_link(group, cause, now_ns);
}

void smcr_llc_add_link_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    struct smcr_add_link m;
    smcr_llc_parse_add_link(group, message, &m);
    if (group->role != SMCR_SERVER || llc->via != link || !smcr_llc_awaits(llc, SMCR_LLC_ADD_LINK, true) ||
        m.link != llc->about->number) {
        smcr_llc_unmatched(link, message, now_ns);
        return;
    }
    smcr_llc_await(group, 0, false, now_ns);
    if (llc->is_first_contact)
        group->past_fallback = true; /* SMCR-FBK-01 row 11 */
    if (m.rejected) {
        rejected(group, now_ns);
        return;
    }
    struct smcr_link_end peer = end_of(&m);
    if (peer.qpn < SMCR_MIN_QPN || !nornic_mtu_bytes((enum nornic_mtu)peer.mtu)) {
        smcr_llc_wrong(link, message, "an ADD LINK response that cannot be", now_ns);
        return;
    }
    if (!smcr_group_pair_is_allowed(group, &llc->about->local, &peer, llc->about) ||
        smcr_link_receive(llc->about, &peer, now_ns)) {
        give_up(group, "the client's end of a new link cannot be used", now_ns);
        return;
    }
    llc->own_told = llc->peer_left = 0;
    llc->own_total = smcr_rmb_count_known(group);
    llc->peer_counted = false;
    smcr_llc_send_cont(group, now_ns);
}

/* A notice: SMCR-ALK-03, ALK-04. */
static void notice(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    if (group->state != SMCR_GROUP_USABLE)
        return;                                   /* the first contact brings a second link anyway */
    if (group->llc.exchange == SMCR_LLC_ADDING) { /* SMCR-SER-03 */
        group->llc.notice_came = true;
        return;
    }
    if (!smcr_llc_is_free(group)) {
        smcr_llc_queue(link, message);
        return;
    }
    if (smcr_group_symmetric_links(group) >= group->max_links)
        return;
    group->failed_offer = NULL;
    smcr_llc_want_link(group, now_ns);
}

/* --- client --- */

static void reject(struct smcr_link *link, uint8_t number, uint8_t reason, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    bool is_first = group->state == SMCR_GROUP_FIRST_CONTACT;
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_reject(message, group, &link->local, number, reason);
    if (!smcr_llc_send_step(link, message, now_ns) || !is_first)
        return;
    group->past_fallback = true; /* SMCR-FBK-01 row 12 */
    smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_OK, 0, NULL, now_ns);
}

/* SMCR-FC-14, FC-15: our end of the link, or NULL. */
static struct smcr_link *make_end(struct smcr_group *group, const struct smcr_add_link *m, uint64_t now_ns)
{
    struct smcr_link_end peer = end_of(m);
    struct smcr_port *port = smcr_group_port_to_answer(group, &peer);
    struct smcr_link *about;
    if (smcr_group_symmetric_links(group) >= group->max_links || !port ||
        smcr_link_create(group, port, m->link, &about))
        return NULL;
    if (smcr_link_receive(about, &peer, now_ns)) {
        smcr_link_destroy(about, now_ns);
        return NULL;
    }
    return about;
}

static void accept(struct smcr_link *link, struct smcr_link *about, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_begin(group, SMCR_LLC_ADDING, link, about);
    llc->own_told = llc->own_total = llc->peer_left = 0;
    llc->peer_counted = false;
    smcr_llc_build_add_link(message, group, &about->local, about->number, true);
    smcr_llc_await(group, SMCR_LLC_ADD_LINK_CONT, false, now_ns);
    smcr_llc_send_step(link, message, now_ns);
}

/* What runs here although the server begins anew: it has given that up. */
static void drop_running(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    if (llc->exchange == SMCR_LLC_ADDING && llc->about)
        smcr_link_destroy(llc->about, now_ns);
    if (llc->exchange == SMCR_LLC_ADDING)
        smcr_llc_end(group, now_ns);
}

static bool is_offer_in_time(const struct smcr_group *group)
{
    return group->state == SMCR_GROUP_USABLE || (group->llc.exchange == SMCR_LLC_FIRST_LINK &&
                                                 smcr_llc_awaits(&group->llc, SMCR_LLC_ADD_LINK, false));
}

static void offered(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_add_link m;
    smcr_llc_parse_add_link(group, message, &m);
    smcr_llc_confirm_link_sent(link, now_ns); /* its response has arrived, or this would not have come */
    bool is_in_time = is_offer_in_time(group);
    if (is_in_time)
        drop_running(group,
                     now_ns); /* else the exchange ends with its link, and what waits for it hears so */
    if (!is_in_time || m.qpn < SMCR_MIN_QPN || m.link == 0 || smcr_group_link(group, m.link)) {
        smcr_llc_wrong(link, message, "an ADD LINK that cannot be", now_ns);
        return;
    }
    if (!nornic_mtu_bytes((enum nornic_mtu)m.mtu)) { /* SMCR-LLC-31, REC-21 */
        reject(link, m.link, SMCR_ADD_LINK_BAD_MTU, now_ns);
        return;
    }
    struct smcr_link *about = make_end(group, &m, now_ns);
    if (about)
        accept(link, about, now_ns);
    else
        reject(link, m.link, SMCR_ADD_LINK_NO_PATH, now_ns);
}

void smcr_llc_add_link_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    if (link->group->role == SMCR_SERVER)
        notice(link, message, now_ns);
    else
        offered(link, message, now_ns);
}

void smcr_llc_notify(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *via = smcr_group_talking_link(group, NULL);
    struct smcr_port *port = smcr_group_unused_port(group);
    if (!via || !port || smcr_group_symmetric_links(group) >= group->max_links) /* SMCR-ARC-17 */
        return;
    struct smcr_link_end end = {.mac = port->mac, .gid = port->gid}; /* SMCR-LLC-32 */
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_add_link(message, group, &end, 0, false);
    smcr_llc_send(via, message, now_ns);
}

void smcr_llc_notice_due(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.notice_timer);
    if (smcr_group_redundancy(group) != SMCR_SYMMETRIC)
        smcr_llc_want_link(group, now_ns);
}
