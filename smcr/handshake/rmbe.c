/* SPDX-License-Identifier: BSD-2-Clause */
/* What a connection gets before its end is told to the peer, and what it takes from the peer: SMCR-FC-04,
 * FC-07, SC-01 to SC-05. */
#include <errno.h>
#include <string.h>

#include "rdma/mr.h"
#include "smcr/conn/data.h"
#include "smcr/handshake/flow.h"

int smcr_handshake_new_group(struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                             struct smcr_port *port, uint64_t now_ns)
{
    enum smcr_role role = conn->config.role;
    struct smcr_group *group =
        smcr_group_create(conn->smcr, role, peer_id, conn->config.vlan_id, conn->config.pnetid);
    if (!group)
        return -ENOMEM;
    smcr_llc_init(group);
    group->tcp.peer = conn->config.remote;
    group->tcp.own = conn->config.local;
    group->version = conn->terms.version;
    if (group->version == SMCR_CLC2_VERSION) {
        group->release = conn->terms.release;
        memcpy(group->eid, conn->terms.eid, sizeof group->eid);
        group->max_conns = conn->terms.max_conns;
        group->max_links = conn->terms.max_links;
    }
    /* The server numbers the links; the client learns it from CONFIRM LINK. */
    uint8_t number = role == SMCR_SERVER ? smcr_group_next_link_number(group) : 0;
    int err = smcr_link_create(group, port, number, &conn->link_accepted);
    if (!err)
        err = smcr_handshake_join(conn, group, now_ns);
    if (err) {
        conn->link_accepted = NULL;
        smcr_group_end(group, false, "no resources for a first contact", now_ns);
        return err;
    }
    group->first = conn;
    conn->contact = SMCR_CONTACT_FIRST;
    return 0;
}

int smcr_handshake_join(struct smcr_conn *conn, struct smcr_group *group, uint64_t now_ns)
{
    conn->group = group;
    conn->peer_id = group->peer_id;
    conn->cursor_start = smcr_cursor_start(group->version);
    smcr_group_add_conn(group, conn);
    conn->token = smcr_token_get(group, conn);
    int err = conn->token ? smcr_rmb_get_elem(group, conn) : -ENOMEM;
    if (err && err != -EINPROGRESS)
        smcr_conn_detach(conn, now_ns);
    return err;
}

int smcr_handshake_own_end(struct smcr_conn *conn, const struct smcr_link *link, struct smcr_clc_accept *out,
                           uint64_t now_ns)
{
    const struct rdma_mr *mr = conn->rmb->mr[link->slot];
    *out = (struct smcr_clc_accept){
        .first_contact = conn->contact == SMCR_CONTACT_FIRST,
        .peer_id = conn->smcr->peer_id,
        .end = link->local,
        .rkey = mr->rkey,
        .va = mr->iova,
        .rmbe_index = conn->rmb_index,
        .alert_token = conn->token,
        .bsize = smcr_bsize_of(conn->rmb->elem_bytes),
        .terms = conn->terms,
        .is_direct = true, /* no gateway is used, or the contact would have been declined */
        .host_name = conn->smcr->config.host_name,
    };
    if (conn->terms.version == SMCR_CLC2_VERSION && link->port)
        out->num_gids = smcr_handshake_gids(conn, link->port, out->gids, SMCR_CLC2_MAX_GIDS);
    return smcr_conn_prepare(conn, now_ns); /* SMCR-SC-08: before it is told */
}

bool smcr_handshake_peer_end(struct smcr_conn *conn, const struct smcr_link *link,
                             const struct smcr_clc_accept *peer, bool may_add, uint64_t now_ns)
{
    struct smcr_peer_rmb *rmb = smcr_peer_rmb_find(conn->group, link, peer->rkey, peer->va, may_add);
    if (!rmb)
        return false;
    struct smcr_conn **elem = &rmb->elems[peer->rmbe_index - 1];
    if (*elem && *elem != conn)
        smcr_end_kill(*elem, -ECONNRESET, "the peer gave the buffer to another connection", now_ns);
    *elem = conn;
    conn->peer_rmb = rmb;
    conn->peer_index = peer->rmbe_index;
    conn->peer_elem_bytes = smcr_elem_bytes_of(peer->bsize);
    conn->peer_token = peer->alert_token;
    return true;
}
