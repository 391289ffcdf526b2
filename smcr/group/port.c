/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports: they come, go, and change state. */
#include <errno.h>
#include <string.h>

#include "smcr/group/group.h"
#include "smcr/progress.h"

/* Inside the engine's progress. An overflow cannot be, and would end in the poll that sees it. */
static void completed(void *ctx, struct rdma_cq *cq, bool overflow)
{
    struct smcr_port *port = ctx;
    (void)cq;
    (void)overflow;
    if (port->config.wake)
        port->config.wake(port->config.ctx);
}

/* --- coming and going --- */

static int check(const struct smcr_port_config *config)
{
    const struct nornic_gid *gid = config->dev ? roce_dev_gid_get(config->dev, config->sgid_index) : NULL;
    if (!gid || gid->type != NORNIC_GID_V2 || !nornic_mtu_bytes(config->path_mtu) ||
        config->num_networks > SMCR_MAX_NETWORKS)
        return -EINVAL;
    return 0;
}

/* SMCR-ARC-21: the MAC of one of our RNICs, the same in all messages of the instance. */
static void settle_peer_id(struct smcr *smcr, const struct nornic_mac *mac)
{
    static const struct smcr_peer_id none;
    if (memcmp(&smcr->peer_id, &none, sizeof none) != 0)
        return;
    smcr->peer_id.b[0] = (uint8_t)(smcr->config.instance_id >> 8);
    smcr->peer_id.b[1] = (uint8_t)smcr->config.instance_id;
    memcpy(smcr->peer_id.b + 2, mac->b, sizeof mac->b);
}

static void port_appeared(struct smcr_port *port, uint64_t now_ns)
{
    for (struct smcr_group *group = port->smcr->groups; group; group = group->next)
        smcr_group_port_up(group, port, now_ns);
    smcr_settle(port->smcr, now_ns);
}

int smcr_port_add(struct smcr *smcr, const struct smcr_port_config *config, uint64_t now_ns,
                  struct smcr_port **out)
{
    int err = check(config);
    if (err)
        return err;
    struct smcr_port *port = smcr->mem.alloc(smcr->mem.ctx, sizeof *port);
    if (!port)
        return -ENOMEM;
    const struct nornic_gid *gid = roce_dev_gid_get(config->dev, config->sgid_index);
    *port = (struct smcr_port){.smcr = smcr,
                               .config = *config,
                               .mac = gid->mac,
                               .gid = gid->addr,
                               .vlan_id = gid->vlan_id,
                               .is_up = true};
    struct rdma_cq_config cq = {.capacity = 1, .notify = completed, .ctx = port};
    err = rdma_cq_create(&smcr->mem, &cq, &port->cq);
    if (err) {
        smcr->mem.free(smcr->mem.ctx, port);
        return err;
    }
    rdma_cq_req_notify(port->cq, false);
    struct smcr_port **end = &smcr->ports;
    while (*end)
        end = &(*end)->next;
    *end = port;
    settle_peer_id(smcr, &port->mac);
    *out = port;
    port_appeared(port, now_ns);
    return 0;
}

static void fail_links(struct smcr_port *port, const char *cause, uint64_t now_ns)
{
    for (struct smcr_link *link = port->links; link; link = link->next_on_port)
        smcr_link_fail(link, cause, now_ns);
    smcr_settle(port->smcr, now_ns);
}

/* The port lets through less than the packets of this link may have. Nothing can change the path MTU of a
 * queue pair that is connected, and no second link may join the same RNICs (SMCR-ARC-12). If the group has
 * another link, this one is given up and a new one will fit. The only one stays, as long as it works: what is
 * one packet of at most the new size is as good as before, whatever the path MTU (an ONLY packet may have
 * any length up to it), so new data goes in such writes. What was on its way in longer packets cannot be cut
 * anew, since its PSNs are given; if it got lost, RC's retries end the link. */
static void narrow(struct smcr_link *link, enum nornic_mtu path_mtu, uint64_t now_ns)
{
    if (smcr_group_pick_link(link->group, link))
        smcr_link_fail(link, "the MTU of the port is smaller", now_ns);
    else
        link->write_max_bytes = nornic_mtu_bytes(path_mtu);
}

void smcr_port_state(struct smcr_port *port, bool up, uint64_t now_ns)
{
    if (port->is_up == up)
        return;
    port->is_up = up;
    if (up)
        port_appeared(port, now_ns);
    else
        fail_links(port, "the port went down", now_ns);
}

void smcr_port_set_mtu(struct smcr_port *port, enum nornic_mtu path_mtu, uint64_t now_ns)
{
    if (path_mtu == port->config.path_mtu || !nornic_mtu_bytes(path_mtu))
        return;
    port->config.path_mtu = path_mtu;
    for (struct smcr_link *link = port->links; link; link = link->next_on_port)
        if (smcr_link_mtu(link) > path_mtu)
            narrow(link, path_mtu, now_ns);
        else
            link->write_max_bytes = 0;
    smcr_settle(port->smcr, now_ns);
    if (port->is_up)
        port_appeared(port, now_ns);
}

void smcr_port_remove(struct smcr_port *port, uint64_t now_ns)
{
    struct smcr *smcr = port->smcr;
    port->is_up = false;
    fail_links(port, "the port was removed", now_ns);
    while (port->links) /* their slots and numbers stay until the peer was told */
        smcr_progress_unplug(port->links, now_ns);
    smcr_settle(smcr, now_ns);
    struct smcr_port **at = &smcr->ports;
    while (*at != port)
        at = &(*at)->next;
    *at = port->next;
    rdma_cq_destroy(port->cq);
    smcr->mem.free(smcr->mem.ctx, port->inbox.ring);
    smcr->mem.free(smcr->mem.ctx, port->table);
    smcr->mem.free(smcr->mem.ctx, port);
}
