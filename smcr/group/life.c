/* SPDX-License-Identifier: BSD-2-Clause */
/* Link groups: made, found, ended and freed. SMCR sections 2, 6, 7 and 18. */
#include "base/base.h"
#include "smcr/group/group.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "smcr/conn/conn.h"

static void trace_group(struct smcr_group *group, const char *from, const char *to, const char *cause,
                        uint64_t now_ns)
{
    smcr_trace(
        group->smcr,
        (struct smcr_trace){.type = SMCR_TRACE_GROUP, .group = group, .from = from, .to = to, .cause = cause},
        now_ns);
}

static void idle_too_long(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, idle_timer);
    if (group->smcr->is_retiring) /* SMCR-ABT-09 */
        smcr_group_end_for(group, SMCR_DELETE_OPERATOR, "the instance retires", now_ns);
    else /* SMCR-LGT-01, with the reason of SMCR-LLC-40 */
        smcr_group_end_for(group, SMCR_DELETE_INACTIVE, "no connection used it", now_ns);
}

static void repair_due(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, repair_timer);
    uint64_t most = group->smcr->config.times.redundancy_max_ns;
    group->repair_ns = 2 * group->repair_ns < most ? 2 * group->repair_ns : most;
    (void)now_ns;
    smcr_group_want_link(group);
}

struct smcr_group *smcr_group_create(struct smcr *smcr, enum smcr_role role,
                                     const struct smcr_peer_id *peer_id, uint16_t vlan_id, const char *pnetid)
{
    if (smcr->num_groups >= smcr->config.max_groups)
        return NULL;
    struct smcr_group *group = smcr->mem.alloc(smcr->mem.ctx, sizeof *group);
    if (!group)
        return NULL;
    group->smcr = smcr;
    group->id = ++smcr->last_group_id;
    group->role = role;
    group->state = SMCR_GROUP_FIRST_CONTACT;
    group->peer_id = *peer_id;
    group->vlan_id = vlan_id;
    snprintf(group->pnetid, sizeof group->pnetid, "%s", pnetid);
    group->version = 1;
    group->max_conns = UINT32_MAX;
    group->max_links = smcr->config.max_links;
    group->idle_timer.fire = idle_too_long;
    group->repair_timer.fire = repair_due;
    group->effects.of = SMCR_OF_GROUP;
    group->repair_ns = smcr->config.times.redundancy_ns;
    smcr_rmb_init(group);
    group->next = smcr->groups;
    smcr->groups = group;
    smcr->num_groups++;
    return group;
}

static void unlink_group(struct smcr_group *group)
{
    struct smcr_group **at = &group->smcr->groups;
    while (*at != group)
        at = &(*at)->next;
    *at = group->next;
    group->smcr->num_groups--;
}

void smcr_group_free(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr *smcr = group->smcr;
    smcr_cancel(smcr, &group->idle_timer);
    smcr_cancel(smcr, &group->repair_timer);
    smcr_effect_take(smcr, &group->effects);
    smcr_rmb_deinit(group);
    smcr_token_deinit(group);
    trace_group(group, smcr_redundancy_name(group->redundancy_traced), "freed", NULL, now_ns);
    unlink_group(group);
    smcr->mem.free(smcr->mem.ctx, group);
}

/* --- finding one --- */

bool smcr_group_is_to(const struct smcr_group *group, const struct smcr_conn *conn,
                      const struct smcr_peer_id *peer_id)
{
    return group->role == SMCR_CLIENT && group->vlan_id == conn->config.vlan_id &&
           memcmp(&group->peer_id, peer_id, sizeof *peer_id) == 0 && smcr_group_is_with(group, conn);
}

struct smcr_link *smcr_link_find(const struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                                 const struct smcr_link_end *peer)
{
    for (struct smcr_group *group = conn->smcr->groups; group; group = group->next) {
        if (group->state != SMCR_GROUP_USABLE || !smcr_group_is_to(group, conn, peer_id))
            continue;
        for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
            struct smcr_link *link = &group->links[i];
            if (link->state == SMCR_LINK_ACTIVE && smcr_link_end_equal(&link->peer, peer))
                return link;
        }
    }
    return NULL;
}

bool smcr_group_is_with(const struct smcr_group *group, const struct smcr_conn *conn)
{
    const struct nornic_addr *remote = &conn->config.remote;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE &&
            nornic_addr_equal(&group->links[i].peer.gid, remote) && !nornic_addr_is_link_local(remote))
            return true;
    /* Each LAN has link-local addresses of its own; the address of this end tells the LAN. */
    return nornic_addr_equal(&group->tcp.peer, remote) &&
           (!nornic_addr_is_link_local(remote) || nornic_addr_equal(&group->tcp.own, &conn->config.local));
}

bool smcr_group_is_at(const struct smcr_group *group, const struct nornic_addr *own)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state == SMCR_LINK_ACTIVE && nornic_addr_equal(&group->links[i].local.gid, own))
            return true;
    return nornic_addr_equal(&group->tcp.own, own);
}

bool smcr_group_had_link(const struct smcr_group *group, const struct smcr_link_end *peer)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].state > SMCR_LINK_ACTIVE && smcr_link_end_equal(&group->links[i].peer, peer))
            return true;
    for (unsigned i = 0; i < group->num_gone && i < SMCR_GONE_LINKS; i++)
        if (smcr_link_end_equal(&group->gone[i], peer))
            return true;
    return false;
}

struct smcr_group *smcr_group_find_gone(const struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                                        const struct smcr_link_end *peer)
{
    for (struct smcr_group *group = conn->smcr->groups; group; group = group->next)
        if (group->state == SMCR_GROUP_USABLE && smcr_group_is_to(group, conn, peer_id) &&
            smcr_group_had_link(group, peer))
            return group;
    return NULL;
}

static bool is_at(const struct smcr_peer_rmb *rmb, uint64_t va)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (rmb->token[i].is_known && rmb->token[i].va == va)
            return true;
    return false;
}

struct smcr_link *smcr_group_replacement_link(struct smcr_group *group, uint64_t va, uint32_t *rkey)
{
    struct smcr_link *link = smcr_group_pick_link(group, NULL);
    const struct smcr_peer_rmb *found = NULL;
    for (const struct smcr_peer_rmb *rmb = group->peer_rmbs; rmb; rmb = rmb->next) {
        if (!is_at(rmb, va))
            continue;
        if (found)
            return NULL;
        found = rmb;
    }
    if (!link || !found || found->token[link->slot].va != va)
        return NULL;
    *rkey = found->token[link->slot].rkey;
    return link;
}

/* --- its connections --- */

void smcr_group_add_conn(struct smcr_group *group, struct smcr_conn *conn)
{
    conn->group = group;
    conn->group_next = group->conns;
    group->conns = conn;
    group->num_conns++;
    smcr_cancel(group->smcr, &group->idle_timer);
}

void smcr_group_remove_conn(struct smcr_group *group, struct smcr_conn *conn, uint64_t now_ns)
{
    struct smcr_conn **at = &group->conns;
    while (*at && *at != conn)
        at = &(*at)->group_next;
    if (!*at)
        return;
    *at = conn->group_next;
    conn->group_next = NULL;
    group->num_conns--;
    if (group->first == conn)
        group->first = NULL;
    if (group->conns)
        return;
    bool retires = group->smcr->is_retiring;
    if (group->state == SMCR_GROUP_USABLE && (group->role == SMCR_SERVER || retires))
        smcr_arm(group->smcr, &group->idle_timer,
                 now_ns + (retires ? 0 : group->smcr->config.times.group_idle_ns));
    if (group->state == SMCR_GROUP_ENDING)
        smcr_group_effect(group, SMCR_GROUP_EMPTY);
}

/* --- ending it --- */

static void end(struct smcr_group *group, bool tell, uint32_t reason, const char *cause, uint64_t now_ns)
{
    if (group->state == SMCR_GROUP_ENDING)
        return;
    group->ending.tells = tell && group->state == SMCR_GROUP_USABLE;
    group->ending.reason = reason;
    group->ending.cause = cause;
    group->state = SMCR_GROUP_ENDING;
    smcr_cancel(group->smcr, &group->idle_timer);
    smcr_cancel(group->smcr, &group->repair_timer);
    trace_group(group, smcr_redundancy_name(group->redundancy_traced), "ending", cause, now_ns);
    smcr_group_effect(group, SMCR_GROUP_END);
}

void smcr_group_end(struct smcr_group *group, bool tell, const char *cause, uint64_t now_ns)
{
    end(group, tell, SMCR_DELETE_OPERATOR, cause, now_ns);
}

void smcr_group_end_for(struct smcr_group *group, uint32_t reason, const char *cause, uint64_t now_ns)
{
    end(group, true, reason, cause, now_ns);
}
