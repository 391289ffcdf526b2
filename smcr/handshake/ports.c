/* SPDX-License-Identifier: BSD-2-Clause */
/* Which port of ours a first contact uses: the one in the network of the TCP connection. A named physical
 * network joins ports and connections too, whatever their addresses. SMCR-CLC-24, FC-02, FC-03. */
#include <string.h>

#include "smcr/handshake/flow.h"
#include "smcr/clc/networks.h"

static bool is_reachable(const struct smcr_port *port, const struct smcr_conn *conn)
{
    return port->is_up && port->vlan_id == conn->config.vlan_id &&
           strcmp(port->config.pnetid, conn->config.pnetid) == 0;
}

static bool holds(const struct smcr_port *port, const struct nornic_addr *addr)
{
    for (unsigned i = 0; i < port->config.num_networks; i++) {
        if (smcr_network_has(&port->config.networks[i], addr))
            return true;
    }
    return false;
}

static bool shares_network(const struct smcr_port *port, const struct smcr_conn *conn)
{
    if (holds(port, &conn->config.local))
        return true;
    for (unsigned i = 0; i < conn->config.num_networks; i++) {
        const struct nornic_addr *addr = &conn->config.networks[i].addr;
        if (!nornic_addr_is_link_local(addr) && holds(port, addr))
            return true;
    }
    return false;
}

/* The better of two. Two fabrics are told apart by where the peer's GID lies; until that is known (NULL), a
 * GID of the family of the TCP connection is the better one to propose: that is the one that the peer has,
 * too. */
static struct smcr_port *better(struct smcr_port *a, struct smcr_port *b, const struct smcr_conn *conn,
                                const struct nornic_addr *peer_gid)
{
    if (!a)
        return b;
    bool a_fits = smcr_gids_fit(&a->gid, &conn->config.local);
    if (!peer_gid && a_fits != smcr_gids_fit(&b->gid, &conn->config.local))
        return a_fits ? a : b;
    bool a_is_local = nornic_addr_is_link_local(&a->gid), b_is_local = nornic_addr_is_link_local(&b->gid);
    if (a_is_local != b_is_local)
        return a_is_local ? b : a;
    bool a_holds = peer_gid && holds(a, peer_gid), b_holds = peer_gid && holds(b, peer_gid);
    if (a_holds != b_holds)
        return a_holds ? a : b;
    return b->num_links < a->num_links ? b : a;
}

struct smcr_port *smcr_handshake_client_port(const struct smcr_conn *conn,
                                             const struct nornic_addr *server_gid)
{
    struct smcr_port *best = NULL;
    for (struct smcr_port *port = conn->smcr->ports; port; port = port->next) {
        if (is_reachable(port, conn) && (!server_gid || smcr_gids_fit(&port->gid, server_gid)) &&
            (conn->config.pnetid[0] || shares_network(port, conn)))
            best = better(best, port, conn, server_gid);
    }
    return best;
}

struct smcr_port *smcr_handshake_server_port(const struct smcr_conn *conn,
                                             const struct smcr_clc_proposal *proposal)
{
    const struct smcr_conn_config *c = &conn->config;
    bool joined = c->pnetid[0] && smcr_networks_match(c->networks, c->num_networks, proposal, &c->remote);
    struct smcr_port *best = NULL;
    for (struct smcr_port *port = conn->smcr->ports; port; port = port->next) {
        const struct smcr_port_config *p = &port->config;
        if (is_reachable(port, conn) && smcr_gids_fit(&port->gid, &proposal->gid) &&
            (joined || smcr_networks_match(p->networks, p->num_networks, proposal, &c->remote)))
            best = better(best, port, conn, &proposal->gid);
    }
    return best;
}

bool smcr_handshake_is_direct(const struct smcr_port *port, const struct nornic_addr *gid)
{
    return holds(port, gid);
}

unsigned smcr_handshake_gids(const struct smcr_conn *conn, const struct smcr_port *port,
                             struct nornic_addr *out, unsigned max)
{
    unsigned n = 0;
    out[n++] = port->gid;
    for (const struct smcr_port *other = conn->smcr->ports; other && n < max; other = other->next)
        if (other != port && is_reachable(other, conn) && smcr_gids_fit(&other->gid, &port->gid))
            out[n++] = other->gid;
    return n;
}

bool smcr_handshake_has_port(const struct smcr_conn *conn)
{
    for (const struct smcr_port *port = conn->smcr->ports; port; port = port->next) {
        if (is_reachable(port, conn))
            return true;
    }
    return false;
}
