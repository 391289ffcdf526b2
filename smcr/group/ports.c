/* SPDX-License-Identifier: BSD-2-Clause */
/* Redundancy of a group, and which RNICs one more link may join: SMCR-ARC-11 to ARC-17, FC-14, ALK-05. */
#include <limits.h>
#include <string.h>

#include "smcr/conn/conn.h"
#include "smcr/clc/networks.h"

const char *smcr_redundancy_name(enum smcr_redundancy redundancy)
{
    static const char *const names[] = {
#define NAME(name) #name,
        SMCR_REDUNDANCIES(NAME)
#undef NAME
    };
    return names[redundancy];
}

/* Different RNICs at both ends: SMCR-ARC-11. */
static bool is_disjoint(const struct smcr_link *link, const struct smcr_link_end *local,
                        const struct smcr_link_end *peer)
{
    return !smcr_rnic_equal(&link->local, local) && !smcr_rnic_equal(&link->peer, peer);
}

static bool is_parallel(const struct smcr_link *link, const struct smcr_link_end *local,
                        const struct smcr_link_end *peer)
{
    return smcr_rnic_equal(&link->local, local) && smcr_rnic_equal(&link->peer, peer);
}

enum smcr_redundancy smcr_group_redundancy(const struct smcr_group *group)
{
    const struct smcr_link *first = NULL;
    bool shares_local = false;
    unsigned count = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *link = &group->links[i];
        if (link->state != SMCR_LINK_ACTIVE)
            continue;
        for (unsigned k = 0; k < i; k++)
            if (group->links[k].state == SMCR_LINK_ACTIVE &&
                is_disjoint(&group->links[k], &link->local, &link->peer))
                return SMCR_SYMMETRIC;
        if (first)
            shares_local = smcr_rnic_equal(&first->local, &link->local);
        else
            first = link;
        count++;
    }
    if (count < 2)
        return count ? SMCR_SINGLE : SMCR_NONE;
    return shares_local ? SMCR_ASYMMETRIC_LOCAL : SMCR_ASYMMETRIC_PEER;
}

struct smcr_link *smcr_group_superfluous_link(struct smcr_group *group)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        bool shares_local = false, shares_peer = false;
        for (unsigned k = 0; k < SMCR_LINK_SLOTS; k++) {
            const struct smcr_link *other = &group->links[k];
            if (k == i || other->state != SMCR_LINK_ACTIVE)
                continue;
            shares_local |= smcr_rnic_equal(&other->local, &link->local);
            shares_peer |= smcr_rnic_equal(&other->peer, &link->peer);
        }
        if (link->state == SMCR_LINK_ACTIVE && shares_local && shares_peer)
            return link;
    }
    return NULL;
}

unsigned smcr_group_symmetric_links(const struct smcr_group *group)
{
    unsigned active = 0;
    bool has_asymmetric = false;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *link = &group->links[i];
        if (link->state != SMCR_LINK_ACTIVE)
            continue;
        active++;
        for (unsigned k = 0; k < i; k++)
            has_asymmetric |= group->links[k].state == SMCR_LINK_ACTIVE &&
                              !is_disjoint(&group->links[k], &link->local, &link->peer);
    }
    return active - (has_asymmetric ? 1 : 0);
}

bool smcr_group_pair_is_allowed(const struct smcr_group *group, const struct smcr_link_end *local,
                                const struct smcr_link_end *peer, const struct smcr_link *not_this)
{
    bool disjoint_of_all = true, disjoint_of_one = false;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        const struct smcr_link *link = &group->links[i];
        if (link == not_this || !smcr_link_counts(link))
            continue;
        if (is_parallel(link, local, peer))
            return false; /* SMCR-ARC-12 */
        bool disjoint = is_disjoint(link, local, peer);
        disjoint_of_all &= disjoint;
        disjoint_of_one |= disjoint;
    }
    switch (smcr_group_redundancy(group)) {
    case SMCR_NONE:
    case SMCR_SINGLE:
        return true;
    case SMCR_ASYMMETRIC_LOCAL:
    case SMCR_ASYMMETRIC_PEER:
        return disjoint_of_one; /* one asymmetric link at the most: SMCR-ARC-16 */
    case SMCR_SYMMETRIC:
        return disjoint_of_all; /* SMCR-ALK-02 */
    }
    return false;
}

bool smcr_group_may_use(const struct smcr_group *group, const struct smcr_port *port)
{
    return port->is_up && port->vlan_id == group->vlan_id && strcmp(port->config.pnetid, group->pnetid) == 0;
}

/* On the RNIC of that port, by whichever GID. */
static unsigned links_on(const struct smcr_group *group, const struct smcr_port *port)
{
    struct smcr_link_end local = {.mac = port->mac};
    unsigned count = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        count += smcr_link_counts(&group->links[i]) && smcr_rnic_equal(&group->links[i].local, &local);
    return count;
}

/* Whether its GID is of the family that the links of the group have: the peer has one of these, too. */
static bool fits_links(const struct smcr_group *group, const struct smcr_port *port)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_counts(&group->links[i]))
            return smcr_gids_fit(&group->links[i].local.gid, &port->gid);
    return true;
}

static bool is_peer_gid_used(const struct smcr_group *group, const struct nornic_addr *gid)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_counts(&group->links[i]) && nornic_addr_equal(&group->links[i].peer.gid, gid))
            return true;
    return false;
}

/* Whether the client may have an RNIC that no link is on. Of version 2 its Confirm has told of all
 * (smcrv2-notes 2.5). */
static bool may_have_another(const struct smcr_group *group)
{
    bool has_unused = group->num_client_gids == 0;
    for (unsigned i = 0; i < group->num_client_gids; i++)
        has_unused |= !is_peer_gid_used(group, &group->client_gids[i]);
    return has_unused;
}

/* Whether a link on that port could be of use whatever RNIC the client answers with. */
static bool is_worth_offering(const struct smcr_group *group, const struct smcr_port *port)
{
    if (!smcr_group_may_use(group, port))
        return false;
    bool is_used = links_on(group, port) > 0;
    switch (smcr_group_redundancy(group)) {
    case SMCR_NONE:
        return true;
    case SMCR_SINGLE: /* the first contact offers one always: SMCR-FC-12 */
        return !is_used || group->state == SMCR_GROUP_FIRST_CONTACT || may_have_another(group);
    case SMCR_ASYMMETRIC_PEER:
        return may_have_another(group);
    case SMCR_ASYMMETRIC_LOCAL:
    case SMCR_SYMMETRIC:
        return !is_used;
    }
    return false;
}

static bool has_network_of(const struct smcr_port *port, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < port->config.num_networks; i++)
        if (smcr_network_has(&port->config.networks[i], addr))
            return true;
    return false;
}

/* Tells whether the port knows a LAN of the family of `addr`: a network of one address is none, nor is a
 * link-local one. */
static bool knows_lan(const struct smcr_port *port, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < port->config.num_networks; i++) {
        const struct smcr_network *network = &port->config.networks[i];
        bool is_v4 = nornic_addr_is_v4(&network->addr);
        if (is_v4 == nornic_addr_is_v4(addr) && network->prefix_len < (is_v4 ? 32 : 128) &&
            !nornic_addr_is_link_local(&network->addr))
            return true;
    }
    return false;
}

/* Tells whether the port may be in the LAN of `addr` (RFC 7609 3.5.1.6). A PNETID says so. A port that
 * knows of no LAN may be in each. */
static bool may_reach(const struct smcr_port *port, const struct nornic_addr *addr)
{
    return port->config.pnetid[0] || !knows_lan(port, addr) || has_network_of(port, addr);
}

/* Tells whether the port may be in the LAN of an RNIC of the peer's: of those that links have, and of those
 * that its Confirm has told. */
static bool may_reach_peer(const struct smcr_group *group, const struct smcr_port *port)
{
    for (unsigned i = 0; i < group->num_client_gids; i++)
        if (may_reach(port, &group->client_gids[i]))
            return true;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (smcr_link_counts(&group->links[i]) && may_reach(port, &group->links[i].peer.gid))
            return true;
    return false;
}

struct smcr_port *smcr_group_port_to_offer(const struct smcr_group *group)
{
    struct smcr_port *best = NULL;
    unsigned best_cost = UINT_MAX;
    for (struct smcr_port *port = group->smcr->ports; port; port = port->next) {
        bool is_near = may_reach_peer(group, port);
        if (!is_worth_offering(group, port) || (!is_near && group->num_client_gids > 0))
            continue;
        /* The least used one of the peer's LANs (SMCR-FC-12). Next is another LAN, since a client of
         * version 1 has not told of all its RNICs; it refuses at once where it has none there. A
         * port that has just failed comes last. */
        unsigned uses = links_on(group, port) + (port == group->failed_offer ? SMCR_LINK_SLOTS : 0);
        unsigned cost = 4 * uses + (is_near ? 0 : 2) + !fits_links(group, port);
        if (cost < best_cost) {
            best = port;
            best_cost = cost;
        }
    }
    return best;
}

struct smcr_port *smcr_group_port_to_answer(const struct smcr_group *group, const struct smcr_link_end *peer)
{
    struct smcr_port *best = NULL;
    int best_score = -1;
    for (struct smcr_port *port = group->smcr->ports; port; port = port->next) {
        struct smcr_link_end local = {.mac = port->mac, .gid = port->gid};
        if (!smcr_group_may_use(group, port) || !smcr_gids_fit(&port->gid, &peer->gid) ||
            !may_reach(port, &peer->gid) || !smcr_group_pair_is_allowed(group, &local, peer, NULL))
            continue;
        int score = (has_network_of(port, &peer->gid) ? 2 : 0) + (links_on(group, port) == 0 ? 1 : 0);
        if (score > best_score) {
            best = port;
            best_score = score;
        }
    }
    return best;
}

struct smcr_port *smcr_group_unused_port(const struct smcr_group *group)
{
    for (struct smcr_port *port = group->smcr->ports; port; port = port->next)
        if (smcr_group_may_use(group, port) && links_on(group, port) == 0)
            return port;
    return NULL;
}
