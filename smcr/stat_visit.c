/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of an instance. */
#include "smcr/stat.h"

#include <string.h>

#include "smcr/conn/data.h"

static void visit_links(const struct smcr_group *group, const struct smcr_group_stat *g,
                        const struct smcr_stat_visitor *v)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *link = &group->links[i];
        if (link->state == SMCR_LINK_FREE)
            continue;
        struct smcr_link_stat s = {
            .number = link->number,
            .state = smcr_link_state_name(link->state),
            .port = link->port ? link->port->config.name : "",
            .qpn = link->local.qpn,
            .peer_qpn = link->peer.qpn,
            .gid = link->local.gid,
            .peer_gid = link->peer.gid,
            .mac = link->local.mac,
            .peer_mac = link->peer.mac,
            .path_mtu_bytes =
                link->write_max_bytes ? link->write_max_bytes : nornic_mtu_bytes(smcr_link_mtu(link)),
            .user_id = link->user_id,
            .peer_user_id = link->peer_user_id,
            .conns = link->conns,
        };
        v->link(v->ctx, g, &s);
    }
}

static void visit_rmbs(const struct smcr_group *group, const struct smcr_group_stat *g,
                       const struct smcr_stat_visitor *v)
{
    for (const struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next) {
        struct smcr_rmb_stat s = {.elem_bytes = rmb->elem_bytes, .elems = rmb->num_elems, .used = rmb->used};
        v->rmb(v->ctx, g, &s);
    }
}

static const char *stage_name(enum smcr_stage stage)
{
    switch (stage) {
    case SMCR_STAGE_PROPOSAL:
        return "waits for Proposal";
    case SMCR_STAGE_GROUP:
        return "waits for another first contact";
    case SMCR_STAGE_ACCEPT_RMB:
    case SMCR_STAGE_CONFIRM_RMB:
        return "waits for CONFIRM RKEY";
    case SMCR_STAGE_CONFIRM:
        return "waits for Confirm";
    case SMCR_STAGE_ACCEPT:
        return "waits for Accept";
    case SMCR_STAGE_FIRST_CONTACT:
        return "first contact";
    case SMCR_STAGE_DECLINE:
        return "declines";
    }
    return "";
}

static void visit_conn(const struct smcr_conn *conn, const struct smcr_group_stat *g,
                       const struct smcr_stat_visitor *v)
{
    struct smcr_conn_stat s = {
        .state =
            conn->state == SMCR_CONN_HANDSHAKE ? stage_name(conn->stage) : smcr_conn_state_name(conn->state),
        .local = conn->config.local,
        .remote = conn->config.remote,
        .local_port = conn->config.local_port,
        .remote_port = conn->config.remote_port,
        .owner_pid = conn->config.owner_pid,
        .alert_token = conn->token,
        .peer_alert_token = conn->peer_token,
        .link = conn->link ? conn->link->number : 0,
    };
    smcr_conn_data_stat(conn, &s);
    v->conn(v->ctx, g, &s);
}

static void visit_group(const struct smcr_group *group, const struct smcr_stat_visitor *v)
{
    struct smcr_group_stat g = {
        .id = group->id,
        .server = group->role == SMCR_SERVER,
        .vlan_id = group->vlan_id,
        .redundancy = smcr_redundancy_name(smcr_group_redundancy(group)),
        .max_links = group->max_links,
        .version = group->version,
        .release = group->release,
        .max_conns = group->max_conns,
    };
    for (unsigned i = 0; i < SMCR_EID_BYTES && group->eid[i] > ' '; i++)
        g.eid[i] = (char)group->eid[i];
    memcpy(g.peer_id, group->peer_id.b, sizeof g.peer_id);
    if (v->group)
        v->group(v->ctx, &g);
    if (v->link)
        visit_links(group, &g, v);
    if (v->rmb)
        visit_rmbs(group, &g, v);
    for (const struct smcr_conn *conn = v->conn ? group->conns : NULL; conn; conn = conn->group_next)
        visit_conn(conn, &g, v);
}

void smcr_stat_visit(const struct smcr *smcr, const struct smcr_stat_visitor *v)
{
    for (const struct smcr_group *group = smcr->groups; group; group = group->next)
        visit_group(group, v);
    for (const struct smcr_conn *conn = v->conn ? smcr->conns : NULL; conn; conn = conn->all_next)
        if (!conn->group)
            visit_conn(conn, NULL, v);
}
