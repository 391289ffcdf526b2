/* SPDX-License-Identifier: BSD-2-Clause */
/* The client's steps: the Proposal; Accept to Confirm, and to data or to the LLC part of a first contact.
 * SMCR sections 6 and 7. */
#include <errno.h>

#include "smcr/handshake/flow.h"
#include "smcr/clc/networks.h"

/* Nothing is reserved for it (SMCR-REN-07), and it is the same for first and subsequent contact
 * (SMCR-CLC-25). */
void smcr_client_propose(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr *smcr = conn->smcr;
    const struct smcr_conn_config *c = &conn->config;
    const struct smcr_port *port = smcr_handshake_client_port(conn, NULL);
    struct smcr_clc_proposal proposal = {.peer_id = smcr->peer_id, .offers_v1 = !smcr->config.only_v2};
    if (smcr->config.disabled || smcr->is_retiring) {
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, "SMC-R is switched off", now_ns);
        return;
    }
    if (c->declines) {
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, c->declines, now_ns);
        return;
    }
    if (conn->contact == SMCR_CONTACT_SURPLUS) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, SMCR_NO_ROOM, now_ns);
        return;
    }
    if (!port) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RNIC, "no usable RNIC", now_ns);
        return;
    }
    smcr_terms_offer(conn, port, &proposal);
    if (proposal.offers_v1 && !smcr_networks_propose(c->networks, c->num_networks, &c->local,
                                                     smcr->config.interop.literal_subnet_mask, &proposal)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_COMMON_SUBNET, "the connection's network is not known",
                               now_ns);
        return;
    }
    proposal.gid = port->gid;
    proposal.mac = port->mac;
    uint8_t message[SMCR_CLC_PROPOSAL_BYTES];
    size_t len_bytes = smcr_clc_build_proposal(message, &proposal);
    smcr_handshake_await(conn, SMCR_STAGE_ACCEPT, smcr->config.times.clc_ns, now_ns);
    smcr_handshake_tell(conn, message, len_bytes, now_ns);
}

/* The server calls a link active, and a group usable, when our last response arrived; we, when it is
 * acknowledged. Its Accept may overtake that acknowledgement, since it comes by TCP. */
static struct smcr_link *almost_active_link(const struct smcr_conn *conn,
                                            const struct smcr_clc_accept *accept)
{
    for (struct smcr_group *group = conn->smcr->groups; group; group = group->next) {
        if (group->state == SMCR_GROUP_ENDING || !smcr_group_is_to(group, conn, &accept->peer_id))
            continue;
        for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
            struct smcr_link *link = &group->links[i];
            if ((link->state == SMCR_LINK_CONFIRMING || link->state == SMCR_LINK_ACTIVE) &&
                smcr_link_end_equal(&link->peer, &accept->end))
                return link;
        }
    }
    return NULL;
}

static void send_confirm(struct smcr_conn *conn, const struct smcr_link *link, uint64_t now_ns)
{
    struct smcr_clc_accept confirm;
    if (smcr_handshake_own_end(conn, link, &confirm, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no memory for the connection", now_ns);
        return;
    }
    uint8_t message[SMCR_CLC2_ACCEPT_BYTES];
    size_t len_bytes = smcr_clc_build_accept(message, SMCR_CLC_CONFIRM, &confirm);
    if (!smcr_handshake_tell(conn, message, len_bytes, now_ns))
        return;
    if (conn->contact != SMCR_CONTACT_FIRST) {
        smcr_handshake_succeed(conn, now_ns); /* SMCR-SC-07 */
        return;
    }
    smcr_handshake_await(conn, SMCR_STAGE_FIRST_CONTACT, 0, now_ns);
    smcr_llc_first_contact(conn->group, now_ns); /* T1 */
}

void smcr_client_confirm(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_link *link = conn->link_accepted;
    if (link->state != SMCR_LINK_ACTIVE)
        link = smcr_group_pick_link(conn->group, NULL); /* SMCR-SC-11: any other will do */
    if (link)
        send_confirm(conn, link, now_ns);
    else
        smcr_handshake_decline(conn, SMCR_DIAG_NO_ACTIVE_LINK, "no link is left in the link group", now_ns);
}

/* SMCR-FC-07, FC-08: everything is ready to receive before Confirm leaves. */
static void begin_first_contact(struct smcr_conn *conn, const struct smcr_clc_accept *accept, uint64_t now_ns)
{
    struct smcr_port *port = smcr_handshake_client_port(conn, &accept->end.gid);
    if (!port) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RNIC, "no usable RNIC", now_ns);
        return;
    }
    if (conn->terms.version == SMCR_CLC2_VERSION &&
        (!accept->is_direct || !smcr_handshake_is_direct(port, &accept->end.gid))) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_ROUTE, "the server's RNIC is behind a gateway", now_ns);
        return;
    }
    if (smcr_handshake_new_group(conn, &accept->peer_id, port, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no resources for a link group", now_ns);
        return;
    }
    struct smcr_link *link = conn->link_accepted;
    if (smcr_link_receive(link, &accept->end, now_ns))
        smcr_handshake_decline(conn, SMCR_DIAG_QP_NOT_READY, "the queue pair could not be connected", now_ns);
    else if (!smcr_handshake_peer_end(conn, link, accept, true, now_ns))
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no memory for the peer's buffer", now_ns);
    else
        send_confirm(conn, link, now_ns);
}

/* SMCR-SC-03, SC-04. */
static void begin_subsequent(struct smcr_conn *conn, struct smcr_link *link,
                             const struct smcr_clc_accept *accept, uint64_t now_ns)
{
    int err = smcr_handshake_join(conn, link->group, now_ns);
    conn->link_accepted = link;
    if (err && err != -EINPROGRESS)
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no receive buffer for the connection", now_ns);
    else if (!smcr_handshake_peer_end(conn, link, accept, false, now_ns))
        smcr_handshake_decline(conn, SMCR_DIAG_RTOKEN, "the server's buffer is not known", now_ns);
    else if (err)
        smcr_handshake_hold(conn, SMCR_STAGE_CONFIRM_RMB);
    else
        smcr_client_confirm(conn, now_ns);
}

/* Returns whether the Accept names a link of a group that belongs to another address of the server. */
static bool is_elsewhere(const struct smcr_group *group, const struct smcr_conn *conn,
                         const struct smcr_clc_accept *accept)
{
    bool is_other = group->role == SMCR_CLIENT && group->state != SMCR_GROUP_ENDING &&
                    memcmp(&group->peer_id, &accept->peer_id, sizeof group->peer_id) == 0 &&
                    !smcr_group_is_with(group, conn);
    for (unsigned i = 0; is_other && i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_counts(&group->links[i]) && smcr_link_end_equal(&group->links[i].peer, &accept->end))
            return true;
    return is_other && smcr_group_had_link(group, &accept->end);
}

/* Declines an Accept of a link that is not there. A server with several addresses may name its group from
 * each of them. It is not out of sync, and keeps the group. */
static void refuse_link(struct smcr_conn *conn, const struct smcr_clc_accept *accept, uint64_t now_ns)
{
    const struct smcr_group *group = conn->smcr->groups;
    while (group && !is_elsewhere(group, conn, accept))
        group = group->next;
    if (group)
        smcr_handshake_decline(conn, SMCR_DIAG_NO_SUCH_LINK,
                               "the server named a link group of another address", now_ns);
    else /* SMCR-SC-06 */
        smcr_handshake_decline(conn, SMCR_DIAG_OUT_OF_SYNC, "the server named a link that is not there",
                               now_ns);
}

/* The table of SMCR-FC-05. */
static void classify(struct smcr_conn *conn, const struct smcr_clc_accept *accept, uint64_t now_ns)
{
    struct smcr_link *link = smcr_link_find(conn, &accept->peer_id, &accept->end);
    if (accept->first_contact) {
        if (link)
            smcr_group_end(link->group, false, "the server has dropped the link group", now_ns);
        begin_first_contact(conn, accept, now_ns);
        return;
    }
    if (!link)
        link = almost_active_link(conn, accept);
    struct smcr_clc_accept instead = *accept;
    struct smcr_group *group = link ? NULL : smcr_group_find_gone(conn, &accept->peer_id, &accept->end);
    if (group) /* SMCR-SC-11 */
        link = smcr_group_replacement_link(group, accept->va, &instead.rkey);
    if (!link && group)
        smcr_handshake_decline(conn, SMCR_DIAG_NO_SUCH_LINK, "the link that the server named has just gone",
                               now_ns);
    else if (!link)
        refuse_link(conn, accept, now_ns);
    else if (link->group->state == SMCR_GROUP_FIRST_CONTACT)
        smcr_handshake_hold(conn, SMCR_STAGE_GROUP);
    else
        begin_subsequent(conn, link, &instead, now_ns);
}

void smcr_client_accept(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_clc_accept accept;
    if (!smcr_clc_parse_accept(smcr_clc_message(&conn->clc), &accept)) {
        smcr_handshake_broken(conn, "an Accept that cannot be", now_ns);
        return;
    }
    if (!smcr_clc_is_defined(&accept, accept.first_contact)) { /* SMCR-CLC-07 */
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, "a buffer size or MTU that SMC-R does not have",
                               now_ns);
        return;
    }
    uint32_t diagnosis = smcr_terms_take(conn, &accept);
    if (diagnosis) {
        smcr_handshake_decline(conn, diagnosis, "the server's terms are not those that were offered", now_ns);
        return;
    }
    struct smcr_clc_reader done = conn->clc;
    memset(&conn->clc, 0, sizeof conn->clc);
    classify(conn, &accept, now_ns);
    if (conn->state == SMCR_CONN_HANDSHAKE && conn->stage == SMCR_STAGE_GROUP)
        conn->clc = done;
    else
        smcr_clc_reader_clear(&done, &conn->smcr->mem);
}
