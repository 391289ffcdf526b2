/* SPDX-License-Identifier: BSD-2-Clause */
/* The server's steps: Proposal to Accept, Confirm to data or to the LLC part of a first contact. SMCR
 * sections 6 and 7. */
#include <errno.h>

#include "smcr/handshake/flow.h"

void smcr_server_accept(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_link *link = conn->link_accepted;
    if (link->state != SMCR_LINK_ACTIVE && conn->contact != SMCR_CONTACT_FIRST)
        link = conn->link_accepted = smcr_group_pick_link(conn->group, NULL); /* it died in a pause */
    if (!link) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_ACTIVE_LINK, "no link is left in the link group", now_ns);
        return;
    }
    struct smcr_clc_accept accept;
    if (smcr_handshake_own_end(conn, link, &accept, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no memory for the connection", now_ns);
        return;
    }
    uint8_t message[SMCR_CLC2_ACCEPT_BYTES];
    size_t len_bytes = smcr_clc_build_accept(message, SMCR_CLC_ACCEPT, &accept);
    smcr_handshake_await(conn, SMCR_STAGE_CONFIRM, conn->smcr->config.times.clc_ns, now_ns);
    smcr_handshake_tell(conn, message, len_bytes, now_ns);
}

static bool is_peer(const struct smcr_peer_id *a, const struct smcr_peer_id *b)
{
    return memcmp(a->b, b->b, sizeof a->b) == 0;
}

static bool has_peer_gid(const struct smcr_group *group, const struct nornic_addr *gid)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_counts(&group->links[i]) && nornic_addr_equal(&group->links[i].peer.gid, gid))
            return true;
    return nornic_addr_equal(&group->client_gid, gid);
}

/* A Proposal that offers version 2 alone need not name the client: then its GID does. */
static bool is_of_client(const struct smcr_group *group, const struct smcr_clc_proposal *proposal)
{
    static const struct smcr_peer_id unnamed;
    if (group->version == SMCR_CLC2_VERSION && is_peer(&proposal->peer_id, &unnamed))
        return has_peer_gid(group, &proposal->v2.gid);
    return is_peer(&group->peer_id, &proposal->peer_id);
}

static bool is_for(const struct smcr_group *group, const struct smcr_conn *conn,
                   const struct smcr_clc_proposal *proposal)
{
    return group->role == SMCR_SERVER && group->version == conn->terms.version &&
           is_of_client(group, proposal) && smcr_group_is_with(group, conn) &&
           smcr_group_is_at(group, &conn->config.local) && group->vlan_id == conn->config.vlan_id &&
           strcmp(group->pnetid, conn->config.pnetid) == 0;
}

/* Joins a group that the peer has already, if there is one with room (SMCR-FC-01, SC-12). As
 * smcr_rmb_get_elem(), or -ENOENT, or -EAGAIN: one that is in its first contact may soon be one. */
static int join_known_group(struct smcr_conn *conn, const struct smcr_clc_proposal *proposal, uint64_t now_ns)
{
    int result = -ENOENT;
    for (struct smcr_group *group = conn->smcr->groups; group; group = group->next) {
        if (!is_for(group, conn, proposal))
            continue;
        if (group->state == SMCR_GROUP_FIRST_CONTACT)
            result = -EAGAIN;
        bool has_room = group->state == SMCR_GROUP_USABLE && group->num_conns < group->max_conns;
        struct smcr_link *link = has_room ? smcr_group_pick_link(group, NULL) : NULL;
        if (!link)
            continue;
        int err = smcr_handshake_join(conn, group, now_ns);
        if (err == -ENOSPC)
            continue; /* 255 RMBs: another group, or a new one beside it */
        conn->link_accepted = link;
        return err;
    }
    return result;
}

/* The port for a first contact; NULL: declined. */
static struct smcr_port *choose_port(struct smcr_conn *conn, const struct smcr_clc_proposal *proposal,
                                     uint64_t now_ns)
{
    bool is_v2 = conn->terms.version == SMCR_CLC2_VERSION;
    struct smcr_port *port = is_v2 ? smcr_handshake_client_port(conn, &proposal->v2.gid)
                                   : smcr_handshake_server_port(conn, proposal);
    if (port && (!is_v2 || smcr_handshake_is_direct(port, &proposal->v2.gid)))
        return port;
    if (!smcr_handshake_has_port(conn) || (is_v2 && !port))
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RNIC, "no usable RNIC", now_ns);
    else if (is_v2)
        smcr_handshake_decline(conn, SMCR_DIAG_NO_ROUTE, "the client's RNIC is behind a gateway", now_ns);
    else
        smcr_handshake_decline(conn, SMCR_DIAG_NO_COMMON_SUBNET, "no common subnet or prefix", now_ns);
    return NULL;
}

static void begin_first_contact(struct smcr_conn *conn, const struct smcr_clc_proposal *proposal,
                                uint64_t now_ns)
{
    struct smcr_port *port = choose_port(conn, proposal, now_ns);
    if (!port)
        return;
    if (smcr_handshake_new_group(conn, &proposal->peer_id, port, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no resources for a link group", now_ns);
        return;
    }
    conn->group->client_gid = proposal->v2.gid;
    smcr_server_accept(conn, now_ns);
}

static void choose_group(struct smcr_conn *conn, const struct smcr_clc_proposal *proposal, uint64_t now_ns)
{
    switch (join_known_group(conn, proposal, now_ns)) {
    case 0:
        smcr_server_accept(conn, now_ns);
        return;
    case -EINPROGRESS: /* SMCR-SC-02 */
        smcr_handshake_hold(conn, SMCR_STAGE_ACCEPT_RMB);
        return;
    case -EAGAIN: /* SMCR-FC-21 */
        smcr_handshake_hold(conn, SMCR_STAGE_GROUP);
        return;
    case -ENOENT:
        begin_first_contact(conn, proposal, now_ns);
        return;
    }
    smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no memory for the connection", now_ns);
}

/* The best version that both have: 2 wants an EID in common. False: none, and the diagnosis. */
static bool choose_version(struct smcr_conn *conn, const struct smcr_clc_proposal *proposal,
                           uint32_t *diagnosis, const char **reason)
{
    bool speaks_v2 = conn->smcr->config.num_eids > 0;
    bool takes_v1 = proposal->offers_v1 && !conn->smcr->config.only_v2;
    if (speaks_v2 && proposal->offers_v2 && smcr_terms_answer(conn, &proposal->v2))
        return true;
    if (speaks_v2 && proposal->version > SMCR_CLC_VERSION && !takes_v1)
        conn->terms.version = SMCR_CLC2_VERSION; /* of the Decline */
    if (takes_v1)
        return true;
    *diagnosis = SMCR_DIAG_VERSION;
    *reason = proposal->offers_v1 ? "the peer offers version 1 alone" : "the peer does not offer version 1";
    if (speaks_v2 && proposal->offers_v2) {
        *diagnosis = proposal->v2.num_eids ? SMCR_DIAG_NO_RNIC : SMCR_DIAG_NO_UEID; /* as Linux says it */
        *reason = "no enterprise id (EID) in common";
    }
    return false;
}

void smcr_server_proposal(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr *smcr = conn->smcr;
    struct smcr_clc_proposal proposal;
    uint32_t diagnosis;
    const char *reason;
    if (!smcr_clc_parse_proposal(smcr_clc_message(&conn->clc), conn->clc.len_bytes, &proposal)) {
        smcr_handshake_broken(conn, "a Proposal that cannot be", now_ns);
        return;
    }
    bool has_version = choose_version(conn, &proposal, &diagnosis, &reason);
    if (smcr->config.disabled || smcr->is_retiring) {
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, "SMC-R is switched off", now_ns);
        return;
    }
    if (conn->config.declines) {
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, conn->config.declines, now_ns);
        return;
    }
    if (conn->contact == SMCR_CONTACT_SURPLUS) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, SMCR_NO_ROOM, now_ns);
        return;
    }
    if (!has_version) {
        smcr_handshake_decline(conn, diagnosis, reason, now_ns);
        return;
    }
    choose_group(conn, &proposal, now_ns);
    if (conn->state == SMCR_CONN_HANDSHAKE && conn->stage != SMCR_STAGE_GROUP)
        smcr_clc_reader_clear(&conn->clc, &smcr->mem);
}

/* The active link of the group whose far end the client names: SMCR-SC-05. */
static struct smcr_link *named_link(struct smcr_group *group, const struct smcr_link_end *end)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state == SMCR_LINK_ACTIVE && smcr_link_end_equal(&link->peer, end))
            return link;
    }
    return NULL;
}

/* SMCR-FC-09. */
static void confirm_first_contact(struct smcr_conn *conn, const struct smcr_clc_accept *confirm,
                                  uint64_t now_ns)
{
    struct smcr_link *link = conn->link_accepted;
    if (smcr_link_receive(link, &confirm->end, now_ns) || smcr_link_send_ready(link, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_QP_NOT_READY, "the queue pair could not be connected", now_ns);
        return;
    }
    if (!smcr_handshake_peer_end(conn, link, confirm, true, now_ns)) {
        smcr_handshake_decline(conn, SMCR_DIAG_NO_RESOURCES, "no memory for the peer's buffer", now_ns);
        return;
    }
    memcpy(conn->group->client_gids, confirm->gids, confirm->num_gids * sizeof confirm->gids[0]);
    conn->group->num_client_gids = confirm->num_gids;
    smcr_handshake_await(conn, SMCR_STAGE_FIRST_CONTACT, 0, now_ns);
    smcr_llc_first_contact(conn->group, now_ns);
}

/* SMCR-SC-05, SC-09: after Accept there is no way back to TCP. */
static void confirm_subsequent(struct smcr_conn *conn, const struct smcr_clc_accept *confirm, uint64_t now_ns)
{
    const struct smcr_link *link = named_link(conn->group, &confirm->end);
    struct smcr_clc_accept instead = *confirm;
    if (!link &&
        smcr_group_had_link(conn->group, &confirm->end)) /* it went while the Confirm was under way */
        link = smcr_group_replacement_link(conn->group, confirm->va, &instead.rkey);
    if (!link || !smcr_handshake_peer_end(conn, link, &instead, false, now_ns))
        smcr_handshake_broken(conn, "a Confirm for a link or a buffer that is not there", now_ns);
    else
        smcr_handshake_succeed(conn, now_ns);
}

/* SMCR-ARC-21. A client that its Proposal did not name is known from now on. */
static bool is_the_client(struct smcr_conn *conn, const struct smcr_clc_accept *confirm)
{
    static const struct smcr_peer_id unnamed;
    struct smcr_group *group = conn->group;
    if (conn->contact == SMCR_CONTACT_FIRST && group->version == SMCR_CLC2_VERSION &&
        is_peer(&group->peer_id, &unnamed))
        group->peer_id = conn->peer_id = confirm->peer_id;
    return is_peer(&confirm->peer_id, &group->peer_id);
}

void smcr_server_confirm(struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_clc_accept confirm;
    bool is_first = conn->contact == SMCR_CONTACT_FIRST;
    bool sound = smcr_clc_parse_accept(smcr_clc_message(&conn->clc), &confirm) &&
                 confirm.terms.version == conn->terms.version && is_the_client(conn, &confirm);
    bool defined = sound && smcr_clc_is_defined(&confirm, is_first);
    if (!sound || (!defined && !is_first)) { /* SMCR-SC-10 */
        smcr_handshake_broken(conn, "a Confirm that cannot be", now_ns);
        return;
    }
    smcr_clc_reader_clear(&conn->clc, &conn->smcr->mem);
    uint32_t diagnosis = is_first ? smcr_terms_check(conn, &confirm) : 0;
    if (!defined) /* SMCR-CLC-07, SMCR-FBK-01 row 5 */
        smcr_handshake_decline(conn, SMCR_DIAG_CONFIG, "a buffer size or MTU that SMC-R does not have",
                               now_ns);
    else if (diagnosis)
        smcr_handshake_decline(conn, diagnosis, "the client does not confirm what it was told", now_ns);
    else if (is_first)
        confirm_first_contact(conn, &confirm, now_ns);
    else
        confirm_subsequent(conn, &confirm, now_ns);
}
