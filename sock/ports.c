/* SPDX-License-Identifier: BSD-2-Clause */
/* The ports of the instance follow the interfaces of the machine. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <time.h>

#include "net/kernel.h"
#include "roce/query.h"
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

/* Address and prefix length of an entry; false: neither IPv4 nor IPv6. */
static bool read_network(const struct ifaddrs *entry, struct smcr_network *out)
{
    uint8_t mask[16] = {0};
    unsigned len = 0, n;
    if (!entry->ifa_addr || !entry->ifa_netmask)
        return false;
    if (entry->ifa_addr->sa_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)entry->ifa_addr, *m = (const void *)entry->ifa_netmask;
        out->addr = nornic_addr_from_v4((const uint8_t *)&a->sin_addr);
        memcpy(mask, &m->sin_addr, n = 4);
    } else if (entry->ifa_addr->sa_family == AF_INET6) {
        const struct sockaddr_in6 *a = (const void *)entry->ifa_addr, *m = (const void *)entry->ifa_netmask;
        memcpy(out->addr.b, &a->sin6_addr, sizeof out->addr.b);
        memcpy(mask, &m->sin6_addr, n = 16);
    } else {
        return false;
    }
    while (len < n * 8 && mask[len / 8] & 0x80 >> len % 8)
        len++;
    out->prefix_len = (uint8_t)len;
    return true;
}

/* All networks that interface `ifname` is attached to. Returns how many. */
static unsigned networks_of(const char *ifname, struct smcr_network *out)
{
    unsigned n = 0;
    for (const struct ifaddrs *e = smcr_rt.addrs; e && n < SMCR_MAX_NETWORKS; e = e->ifa_next)
        if (strcmp(e->ifa_name, ifname) == 0 && read_network(e, &out[n]))
            n++;
    return n;
}

/* The interface that owns an address; NULL: none. */
static const char *owner_of(const struct nornic_addr *addr)
{
    struct smcr_network network;
    for (const struct ifaddrs *e = smcr_rt.addrs; e; e = e->ifa_next)
        if (read_network(e, &network) && nornic_addr_equal(&network.addr, addr))
            return e->ifa_name;
    return NULL;
}

static void read_addrs(void)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    if (smcr_rt.addrs)
        freeifaddrs(smcr_rt.addrs);
    smcr_rt.addrs = list;
}

/* The GID to use on a VLAN: its first IPv4 one, else the first. Under the device's lock. */
static const struct nornic_gid *choose_gid(struct host_dev *dev, uint16_t vlan_id, unsigned *index)
{
    const struct nornic_gid *chosen = NULL;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        const struct nornic_gid *gid = roce_dev_gid_get(host_dev_engine(dev), i);
        if (!gid || gid->type != NORNIC_GID_V2 || gid->vlan_id != vlan_id)
            continue;
        if (!chosen || (nornic_addr_is_v4(&gid->addr) && !nornic_addr_is_v4(&chosen->addr))) {
            chosen = gid;
            *index = i;
        }
    }
    return chosen;
}

static void add_port(struct smcr_rt_port *p, struct smcr_rt_vlan *v)
{
    struct smcr_port_config config = {.dev = host_dev_engine(p->dev),
                                      .sgid_index = v->sgid_index,
                                      .lock = lock_dev,
                                      .unlock = unlock_dev,
                                      .ctx = p->dev};
    struct nornic_port_attr attr;
    const char *ifname = owner_of(&v->gid);
    roce_dev_query_port(config.dev, &attr);
    config.path_mtu = attr.active_mtu;
    config.num_networks = networks_of(ifname ? ifname : p->ifname, config.networks);
    snprintf(config.name, sizeof config.name, "%s", ifname ? ifname : p->ifname);
    snprintf(config.pnetid, sizeof config.pnetid, "%s", p->pnetid);
    if (smcr_port_add(smcr_rt.core, &config, host_now_ns(), &v->port) != 0)
        v->port = NULL;
}

/* The addresses that ports use and that are there no more. */
static void remove_ports(struct smcr_rt_port *p)
{
    for (unsigned i = 0; i < SMCR_RT_VLANS; i++) {
        struct smcr_rt_vlan *v = &p->vlans[i];
        if (!v->port)
            continue;
        host_dev_lock(p->dev);
        const struct nornic_gid *now = roce_dev_gid_get(host_dev_engine(p->dev), v->sgid_index);
        bool is_same = now && now->vlan_id == v->vlan_id && nornic_addr_equal(&now->addr, &v->gid);
        host_dev_unlock(p->dev);
        if (!is_same) {
            smcr_port_remove(v->port, host_now_ns());
            v->port = NULL;
        }
    }
}

static struct smcr_rt_vlan *find_vlan(struct smcr_rt_port *p, uint16_t vlan_id,
                                      struct smcr_rt_vlan **free_one)
{
    *free_one = NULL;
    for (unsigned i = 0; i < SMCR_RT_VLANS; i++) {
        struct smcr_rt_vlan *v = &p->vlans[i];
        if (v->port && v->vlan_id == vlan_id)
            return v;
        if (!v->port && !*free_one)
            *free_one = v;
    }
    return NULL;
}

/* VLANs that have an address, and no port yet. */
static void add_ports(struct smcr_rt_port *p)
{
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        struct smcr_rt_vlan *v = NULL;
        host_dev_lock(p->dev);
        const struct nornic_gid *gid = roce_dev_gid_get(host_dev_engine(p->dev), i);
        if (gid && gid->type == NORNIC_GID_V2 && !find_vlan(p, gid->vlan_id, &v) && v) {
            v->vlan_id = gid->vlan_id;
            v->gid = choose_gid(p->dev, v->vlan_id, &v->sgid_index)->addr;
        } else {
            v = NULL;
        }
        host_dev_unlock(p->dev);
        if (v)
            add_port(p, v);
    }
}

static void follow_link(struct smcr_rt_port *p)
{
    struct net_interface interface;
    bool up = net_interface_get(p->ifname, &interface, NULL) == 0 && interface.up && interface.running;
    for (unsigned i = 0; i < SMCR_RT_VLANS; i++)
        if (p->vlans[i].port)
            smcr_port_state(p->vlans[i].port, up, host_now_ns());
}

void smcr_rt_follow_interfaces(void)
{
    read_addrs();
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        host_dev_set_ready(p->dev); /* its GID table follows the same news */
        host_dev_progress(p->dev);
        remove_ports(p);
        add_ports(p);
        follow_link(p);
    }
}

bool smcr_rt_has_port(void)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        for (unsigned k = 0; k < SMCR_RT_VLANS; k++)
            if (smcr_rt.ports[i].vlans[k].port)
                return true;
    return false;
}

/* The VLAN and physical network of an interface, if a port is on it (SMCR-ARC-05, SEC-01). */
static void find_fabric(const char *ifname, struct smcr_conn_config *config)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        for (unsigned k = 0; k < SMCR_RT_VLANS; k++) {
            const struct smcr_rt_vlan *v = &smcr_rt.ports[i].vlans[k];
            const char *owner = v->port ? owner_of(&v->gid) : NULL;
            if (!owner || strcmp(owner, ifname) != 0)
                continue;
            config->vlan_id = v->vlan_id;
            snprintf(config->pnetid, sizeof config->pnetid, "%s", smcr_rt.ports[i].pnetid);
            return;
        }
}

void smcr_rt_find_networks(const struct nornic_addr *addr, struct smcr_conn_config *config)
{
    const char *ifname = owner_of(addr);
    if (!ifname) { /* it is newer than the last news */
        read_addrs();
        ifname = owner_of(addr);
    }
    config->num_networks = ifname ? networks_of(ifname, config->networks) : 0;
    if (ifname)
        find_fabric(ifname, config);
}

void smcr_rt_arm_ports(bool on)
{
    if (smcr_rt.ports_armed == on)
        return;
    smcr_rt.ports_armed = on;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        struct epoll_event event = {.events = on ? EPOLLIN : 0, .data.ptr = &p->source};
        for (unsigned k = 0; k < p->num_fds; k++)
            epoll_ctl(smcr_rt.epfd, EPOLL_CTL_MOD, p->fds[k], &event);
    }
}

static int open_port(struct smcr_rt_port *p, const struct smcr_sock_port *wanted, struct nornic_error *why)
{
    struct host_dev_config config = {.port = wanted->port,
                                     .capture_path = wanted->capture_path,
                                     .impair = wanted->impair,
                                     .no_thread = true};
    const char *colon = strchr(wanted->port, ':');
    int err = host_dev_open(&config, &p->dev, why);
    /* A process that has just ended: the kernel takes its sockets off the queue a little later. */
    for (int tries = 0; err == -EBUSY && tries < BUSY_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = BUSY_NS}, NULL);
        err = host_dev_open(&config, &p->dev, why);
    }
    if (err)
        return err;
    snprintf(p->ifname, sizeof p->ifname, "%s", colon ? colon + 1 : wanted->port);
    snprintf(p->pnetid, sizeof p->pnetid, "%s", wanted->pnetid ? wanted->pnetid : "");
    p->source = (struct smcr_rt_source){.kind = SMCR_RT_DEV, .of = p->dev};
    p->num_fds = host_dev_fds(p->dev, p->fds);
    for (unsigned i = 0; i < p->num_fds && !err; i++)
        err = smcr_rt_watch(p->fds[i], EPOLLIN, &p->source);
    if (err) {
        net_error_set(why, -err, "cannot watch %s: %s", wanted->port, strerror(-err));
        host_dev_close(p->dev, NULL);
    }
    return err;
}

int smcr_rt_open_ports(const struct smcr_sock_config *config, struct nornic_error *why)
{
    int err = config->num_ports <= SMCR_SOCK_MAX_PORTS
                  ? 0
                  : net_error_set(why, EINVAL, "%u ports are too many for SMC-R: at most %u",
                                  config->num_ports, SMCR_SOCK_MAX_PORTS);
    for (unsigned i = 0; i < config->num_ports && !err; i++) {
        memset(&smcr_rt.ports[i], 0, sizeof smcr_rt.ports[i]);
        err = open_port(&smcr_rt.ports[i], &config->ports[i], why);
        smcr_rt.num_ports += !err;
    }
    if (err)
        smcr_rt_close_ports(NULL);
    else
        smcr_rt_follow_interfaces();
    smcr_rt.ports_armed = true;
    return err;
}

int smcr_rt_close_ports(struct nornic_error *why)
{
    int first = 0;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        int err = host_dev_capture_flush(p->dev);
        if (err && first == 0)
            first =
                net_error_set(why, -err, "the capture of %s ends too early: %s", p->ifname, strerror(-err));
        struct nornic_error busy;
        err = host_dev_close(p->dev, &busy);
        if (err && first == 0)
            first = net_error_set(why, -err, "%s", busy.text);
    }
    smcr_rt.num_ports = 0;
    if (smcr_rt.addrs)
        freeifaddrs(smcr_rt.addrs);
    smcr_rt.addrs = NULL;
    return first;
}
