/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports of the instance follow the interfaces of the machine.
 *
 * A device is open on each interface that the program named, for as long as that exists: one that is
 * deleted and made again gets a new device. Of each VLAN and each family of addresses that the device has
 * GIDs of, one port of the instance is made, so that a connection finds a GID of its own family
 * (SMCR-FC-03) and a port outlives what happens to the other family's addresses. What happens to an interface
 * its device watches (host/roce/gids.c); here it is looked at what that has become whenever a round of the
 * device has seen a change. Only interfaces that have no device, and whose addresses are whose, are asked
 * for when the kernel has news. */
#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/base.h"
#include "net/kernel/kernel.h"
#include "roce/query.h"
#include "sock/addrs.h"
#include "sock/ports.h"
#include "sock/runtime.h"

#define BUSY_NS    20000000
#define BUSY_TRIES 100

static void lock_dev(void *ctx)
{
    host_dev_lock(ctx);
}

static void unlock_dev(void *ctx)
{
    host_dev_unlock(ctx);
}

/* --- the GIDs of a device become ports --- */

static enum smcr_rt_family family_of(const struct nornic_addr *gid)
{
    if (nornic_addr_is_v4(gid))
        return SMCR_RT_V4;
    return nornic_addr_is_link_local(gid) ? SMCR_RT_V6_LINK_LOCAL : SMCR_RT_V6;
}

static void add_port(struct smcr_rt_port *p, struct smcr_rt_gid *g)
{
    struct smcr_port_config config = {.dev = host_dev_engine(p->dev),
                                      .sgid_index = g->sgid_index,
                                      .path_mtu = p->path_mtu,
                                      .moves_trains = host_dev_port(p->dev)->limits.train_tx_bytes > 0,
                                      .lock = lock_dev,
                                      .unlock = unlock_dev,
                                      .ctx = p->dev};
    const char *owner = smcr_addrs_owner(&g->gid), *ifname = owner ? owner : p->ifname;
    config.num_networks = smcr_addrs_networks(ifname, config.networks);
    snprintf(config.name, sizeof config.name, "%s", ifname);
    snprintf(config.pnetid, sizeof config.pnetid, "%s", p->pnetid);
    if (smcr_port_add(smcr_rt.core, &config, host_now_ns(), &g->port) != 0)
        g->port = NULL;
}

static void remove_port(struct smcr_rt_gid *g)
{
    if (g->port)
        smcr_port_remove(g->port, host_now_ns());
    g->port = NULL;
}

/* The addresses that ports use and that are there no more. */
static void remove_ports(struct smcr_rt_port *p)
{
    for (unsigned i = 0; i < SMCR_RT_GIDS; i++) {
        struct smcr_rt_gid *g = &p->gids[i];
        if (!g->port)
            continue;
        host_dev_lock(p->dev);
        const struct nornic_gid *now = roce_dev_gid_get(host_dev_engine(p->dev), g->sgid_index);
        bool is_same = now && now->vlan_id == g->vlan_id && nornic_addr_equal(&now->addr, &g->gid);
        host_dev_unlock(p->dev);
        if (!is_same)
            remove_port(g);
    }
}

static bool has_family(const struct smcr_rt_port *p, uint16_t vlan_id, enum smcr_rt_family family)
{
    for (unsigned i = 0; i < SMCR_RT_GIDS; i++)
        if (p->gids[i].port && p->gids[i].vlan_id == vlan_id && p->gids[i].family == family)
            return true;
    return false;
}

/* Whether a GID is to be a port: the first one of its family. One that reaches its own network alone only
 * where there is no other, so that links are rarely made by it. */
static bool is_wanted(const struct smcr_rt_port *p, const struct nornic_gid *gid, enum smcr_rt_family pass)
{
    enum smcr_rt_family family = family_of(&gid->addr);
    if (gid->type != NORNIC_GID_V2 || family != pass || has_family(p, gid->vlan_id, family))
        return false;
    return family != SMCR_RT_V6_LINK_LOCAL ||
           !(has_family(p, gid->vlan_id, SMCR_RT_V4) || has_family(p, gid->vlan_id, SMCR_RT_V6));
}

static struct smcr_rt_gid *free_gid(struct smcr_rt_port *p)
{
    for (unsigned i = 0; i < SMCR_RT_GIDS; i++)
        if (!p->gids[i].port)
            return &p->gids[i];
    return NULL;
}

/* Those of a family that have no port yet. */
static void add_ports(struct smcr_rt_port *p, enum smcr_rt_family family)
{
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        struct smcr_rt_gid *g = NULL;
        host_dev_lock(p->dev);
        const struct nornic_gid *gid = roce_dev_gid_get(host_dev_engine(p->dev), i);
        if (gid && is_wanted(p, gid, family) && (g = free_gid(p)))
            *g = (struct smcr_rt_gid){
                .family = family, .vlan_id = gid->vlan_id, .gid = gid->addr, .sgid_index = i};
        host_dev_unlock(p->dev);
        if (g)
            add_port(p, g);
    }
}

/* What the interface lets through now, and the device was opened for. */
static enum nornic_mtu mtu_of(const struct smcr_rt_port *p)
{
    struct nornic_port_attr attr;
    host_dev_lock(p->dev);
    roce_dev_query_port(host_dev_engine(p->dev), &attr);
    host_dev_unlock(p->dev);
    return attr.active_mtu;
}

static void follow_gids(struct smcr_rt_port *p, const struct net_interface *interface)
{
    p->path_mtu = mtu_of(p);
    remove_ports(p);
    for (unsigned i = 0; i < SMCR_RT_GIDS; i++)
        if (p->gids[i].port)
            smcr_port_set_mtu(p->gids[i].port, p->path_mtu, host_now_ns());
    for (enum smcr_rt_family family = SMCR_RT_V4; family <= SMCR_RT_V6_LINK_LOCAL; family++)
        add_ports(p, family);
    for (unsigned i = 0; i < SMCR_RT_GIDS; i++)
        if (p->gids[i].port)
            smcr_port_state(p->gids[i].port, interface->is_running && p->path_mtu, host_now_ns());
}

/* --- the interfaces have devices --- */

/* 0 or -errno with a sentence. */
static int open_dev(struct smcr_rt_port *p, struct nornic_error *why)
{
    struct host_dev_config config = {
        .port = p->name, .capture_path = p->capture_path, .impair = p->impair, .no_thread = true};
    int err = host_dev_open(&config, &p->dev, why);
    if (err) {
        p->dev = NULL;
        return err;
    }
    p->seen_changes = 0;
    p->num_fds = host_dev_fds(p->dev, p->fds);
    for (unsigned i = 0; i < p->num_fds && !err; i++)
        err = smcr_rt_watch(p->fds[i], i == 0 || smcr_rt.is_port_armed ? EPOLLIN : 0, &p->source);
    if (err) {
        net_error_set(why, -err, "cannot watch %s: %s", p->name, strerror(-err));
        host_dev_close(p->dev, NULL);
        p->dev = NULL;
    }
    return err;
}

/* What went wrong at the end of a device is told when all ends. */
static void note_end(struct smcr_rt_port *p, int err, const char *what)
{
    if (err && !p->end_err)
        p->end_err = net_error_set(&p->end_why, -err, "%s", what);
}

/* The capture ends with the first device: another one would begin the file anew. */
static void close_dev(struct smcr_rt_port *p)
{
    struct nornic_error why;
    for (unsigned i = 0; i < SMCR_RT_GIDS && smcr_rt.core; i++)
        remove_port(&p->gids[i]);
    for (unsigned i = 0; i < p->num_fds; i++)
        smcr_rt_unwatch(p->fds[i]);
    int err = host_dev_capture_flush(p->dev);
    net_error_set(&why, -err, "the capture of %s ends too early: %s", p->ifname, strerror(-err));
    note_end(p, err, why.text);
    err = host_dev_close(p->dev, &why);
    note_end(p, err, why.text);
    p->dev = NULL;
    p->num_fds = 0;
    p->capture_path = NULL;
}

/* What has happened to its interface. Where that is another one by now, of the same name, it has a device at
 * once. */
static void follow(struct smcr_rt_port *p)
{
    struct net_interface interface;
    p->seen_changes = host_dev_interface_changes(p->dev);
    if (!host_dev_interface(p->dev, &interface)) {
        close_dev(p);
        if (open_dev(p, NULL) || !host_dev_interface(p->dev, &interface))
            return; /* what cannot be yet is tried again with the next news */
        p->seen_changes = host_dev_interface_changes(p->dev);
    }
    smcr_addrs_read();
    follow_gids(p, &interface);
}

void smcr_rt_follow_interfaces(void)
{
    smcr_addrs_read();
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        if (p->dev || open_dev(p, NULL) == 0)
            follow(p);
    }
}

bool smcr_rt_has_port(void)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        for (unsigned k = 0; k < SMCR_RT_GIDS; k++)
            if (smcr_rt.ports[i].gids[k].port)
                return true;
    return false;
}

/* The VLAN and physical network of an interface, if a port is on it (SMCR-ARC-05, SEC-01). */
static void find_fabric(const char *ifname, struct smcr_conn_config *config)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        for (unsigned k = 0; k < SMCR_RT_GIDS; k++) {
            const struct smcr_rt_gid *g = &smcr_rt.ports[i].gids[k];
            const char *owner = g->port ? smcr_addrs_owner(&g->gid) : NULL;
            if (!owner || strcmp(owner, ifname) != 0)
                continue;
            config->vlan_id = g->vlan_id;
            snprintf(config->pnetid, sizeof config->pnetid, "%s", smcr_rt.ports[i].pnetid);
            return;
        }
}

void smcr_rt_find_networks(const struct nornic_addr *addr, struct smcr_conn_config *config)
{
    const char *ifname = smcr_addrs_owner(addr);
    if (!ifname) { /* it is newer than the last news */
        smcr_addrs_read();
        ifname = smcr_addrs_owner(addr);
    }
    config->num_networks = ifname ? smcr_addrs_networks(ifname, config->networks) : 0;
    if (ifname)
        find_fabric(ifname, config);
}

/* --- all of them, in a round --- */

static bool drive_ports(const struct host_round_policy *policy)
{
    bool did = false;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        if (!p->dev)
            continue;
        did |= host_round(p->dev, policy);
        if (host_dev_interface_changes(p->dev) != p->seen_changes)
            follow(p);
    }
    return did;
}

bool smcr_rt_ports_progress(void)
{
    return drive_ports(NULL);
}

bool smcr_rt_ports_progress_late(void)
{
    return drive_ports(&(struct host_round_policy){.kind = HOST_ROUND_LATE});
}

bool smcr_rt_ports_pending(void)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        if (smcr_rt.ports[i].dev && roce_dev_tx_pending(host_dev_engine(smcr_rt.ports[i].dev)))
            return true;
    return false;
}

uint64_t smcr_rt_ports_deadline_ns(void)
{
    uint64_t deadline_ns = NET_TIME_NONE;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        if (smcr_rt.ports[i].dev)
            deadline_ns = min_u64(deadline_ns, host_dev_deadline_ns(smcr_rt.ports[i].dev));
    return deadline_ns;
}

void smcr_rt_port_ready(struct smcr_rt_port *p)
{
    if (p->dev)
        host_dev_set_ready(p->dev);
}

/* News of the interfaces, the first descriptor, are always listened to: a peer may ask at once for what they
 * tell of. */
void smcr_rt_arm_ports(bool on)
{
    if (smcr_rt.is_port_armed == on)
        return;
    smcr_rt.is_port_armed = on;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = &p->source};
        for (unsigned k = 1; k < p->num_fds; k++)
            epoll_ctl(smcr_rt.epfd, EPOLL_CTL_MOD, p->fds[k], &event);
    }
}

/* --- the beginning and the end --- */

static int name_port(struct smcr_rt_port *p, const struct smcr_sock_port *wanted, struct nornic_error *why)
{
    const char *colon = strchr(wanted->port, ':'), *ifname = colon ? colon + 1 : wanted->port;
    *p = (struct smcr_rt_port){.capture_path = wanted->capture_path, .impair = wanted->impair};
    p->source = (struct smcr_rt_source){.kind = SMCR_RT_DEV, .of = p};
    snprintf(p->ifname, sizeof p->ifname, "%.*s", (int)strcspn(ifname, ":,"), ifname);
    snprintf(p->pnetid, sizeof p->pnetid, "%s", wanted->pnetid ? wanted->pnetid : "");
    if ((size_t)snprintf(p->name, sizeof p->name, "%s", wanted->port) < sizeof p->name)
        return 0;
    return net_error_set(why, ENAMETOOLONG, "%s: no interface has such a long name", wanted->port);
}

static int open_port(struct smcr_rt_port *p, const struct smcr_sock_port *wanted, struct nornic_error *why)
{
    int err = name_port(p, wanted, why);
    if (err)
        return err;
    err = open_dev(p, why);
    /* A process that has just ended: the kernel takes its sockets off the queue a little later. */
    for (int tries = 0; err == -EBUSY && tries < BUSY_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = BUSY_NS}, NULL);
        err = open_dev(p, why);
    }
    return err;
}

int smcr_rt_open_ports(const struct smcr_sock_config *config, struct nornic_error *why)
{
    int err = config->num_ports <= SMCR_SOCK_MAX_PORTS
                  ? 0
                  : net_error_set(why, EINVAL, "%u ports are too many for SMC-R: at most %u",
                                  config->num_ports, SMCR_SOCK_MAX_PORTS);
    smcr_rt.is_port_armed = true;
    for (unsigned i = 0; i < config->num_ports && !err; i++) {
        err = open_port(&smcr_rt.ports[i], &config->ports[i], why);
        smcr_rt.num_ports += !err;
    }
    if (err)
        smcr_rt_close_ports(NULL);
    else
        smcr_rt_follow_interfaces();
    return err;
}

int smcr_rt_close_ports(struct nornic_error *why)
{
    int first = 0;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        if (p->dev)
            close_dev(p);
        if (p->end_err && !first)
            first = net_error_set(why, -p->end_err, "%s", p->end_why.text);
    }
    smcr_rt.num_ports = 0;
    smcr_addrs_forget();
    return first;
}
