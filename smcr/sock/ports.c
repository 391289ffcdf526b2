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
#include "smcr/sock/runtime.h"

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
        out->addr = net_addr_from_v4((const uint8_t *)&a->sin_addr);
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
static unsigned networks_of(const struct ifaddrs *list, const char *ifname, struct smcr_network *out)
{
    unsigned n = 0;
    for (const struct ifaddrs *e = list; e && n < SMCR_MAX_NETWORKS; e = e->ifa_next)
        if (strcmp(e->ifa_name, ifname) == 0 && read_network(e, &out[n]))
            n++;
    return n;
}

/* The GID to use: the first IPv4 one of the interface itself, else the first. Under the device's lock. */
static const struct roce_gid *choose_gid(const struct host_dev *dev_const, unsigned *index)
{
    struct host_dev *dev = (struct host_dev *)dev_const;
    const struct roce_gid *chosen = NULL;
    struct roce_port_attr attr;
    roce_dev_query_port(host_dev_engine(dev), &attr);
    for (unsigned i = 0; i < attr.gid_table_size; i++) {
        const struct roce_gid *gid = roce_dev_gid_get(host_dev_engine(dev), i);
        if (!gid || gid->type != ROCE_GID_V2 || gid->vlan_id != 0)
            continue;
        bool is_better = !chosen || (net_addr_is_v4(&gid->addr) && !net_addr_is_v4(&chosen->addr));
        if (is_better) {
            chosen = gid;
            *index = i;
        }
    }
    return chosen;
}

static void add_port(struct smcr_rt_port *p, const struct roce_gid *gid, unsigned index,
                     const struct ifaddrs *list)
{
    struct smcr_port_config config = {.dev = host_dev_engine(p->dev),
                                      .sgid_index = index,
                                      .lock = lock_dev,
                                      .unlock = unlock_dev,
                                      .ctx = p->dev};
    struct roce_port_attr attr;
    roce_dev_query_port(config.dev, &attr);
    config.path_mtu = attr.active_mtu;
    config.num_networks = networks_of(list, p->ifname, config.networks);
    snprintf(config.name, sizeof config.name, "%s", p->ifname);
    snprintf(config.pnetid, sizeof config.pnetid, "%s", p->pnetid);
    p->gid = gid->addr;
    p->sgid_index = index;
    if (smcr_port_add(smcr_rt.core, &config, host_now_ns(), &p->port) != 0)
        p->port = NULL;
}

/* The address that the port uses is there no more, or there is one now. */
static void follow_address(struct smcr_rt_port *p, const struct ifaddrs *list)
{
    unsigned index = 0;
    host_dev_lock(p->dev);
    const struct roce_gid *now = p->port ? roce_dev_gid_get(host_dev_engine(p->dev), p->sgid_index) : NULL;
    bool is_same = now && net_addr_equal(&now->addr, &p->gid);
    struct roce_gid copy = {0};
    const struct roce_gid *chosen = is_same ? NULL : choose_gid(p->dev, &index);
    if (chosen)
        copy = *chosen;
    host_dev_unlock(p->dev);
    if (is_same)
        return;
    if (p->port)
        smcr_port_remove(p->port, host_now_ns());
    p->port = NULL;
    if (chosen)
        add_port(p, &copy, index, list);
}

static void follow_link(struct smcr_rt_port *p)
{
    struct net_interface interface;
    bool up = net_interface_get(p->ifname, &interface, NULL) == 0 && interface.up && interface.running;
    if (p->port)
        smcr_port_state(p->port, up, host_now_ns());
}

void smcr_rt_follow_interfaces(void)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        struct smcr_rt_port *p = &smcr_rt.ports[i];
        host_dev_heed(p->dev); /* its GID table follows the same news */
        host_dev_progress(p->dev);
        follow_address(p, list);
        follow_link(p);
    }
    freeifaddrs(list);
}

bool smcr_rt_has_port(void)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        if (smcr_rt.ports[i].port)
            return true;
    return false;
}

void smcr_rt_find_networks(const struct net_addr *addr, struct smcr_conn_config *config)
{
    struct ifaddrs *list;
    struct smcr_network network;
    config->num_networks = 0;
    if (getifaddrs(&list) != 0)
        return;
    for (const struct ifaddrs *e = list; e; e = e->ifa_next) {
        if (!read_network(e, &network) || !net_addr_equal(&network.addr, addr))
            continue;
        config->num_networks = networks_of(list, e->ifa_name, config->networks);
        for (unsigned i = 0; i < smcr_rt.num_ports; i++)
            if (strcmp(smcr_rt.ports[i].ifname, e->ifa_name) == 0)
                snprintf(config->pnetid, sizeof config->pnetid, "%s", smcr_rt.ports[i].pnetid);
        break;
    }
    freeifaddrs(list);
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

static int open_port(struct smcr_rt_port *p, const struct smcr_sock_port *wanted, struct net_error *err)
{
    struct host_dev_config config = {.port = wanted->port,
                                     .capture_path = wanted->capture_path,
                                     .impair = wanted->impair,
                                     .no_thread = true};
    const char *colon = strchr(wanted->port, ':');
    int rc = host_dev_open(&config, &p->dev, err);
    /* A process that has just ended: the kernel takes its sockets off the queue a little later. */
    for (int tries = 0; rc == -EBUSY && tries < BUSY_TRIES; tries++) {
        nanosleep(&(struct timespec){.tv_nsec = BUSY_NS}, NULL);
        rc = host_dev_open(&config, &p->dev, err);
    }
    if (rc != 0)
        return rc;
    snprintf(p->ifname, sizeof p->ifname, "%s", colon ? colon + 1 : wanted->port);
    snprintf(p->pnetid, sizeof p->pnetid, "%s", wanted->pnetid ? wanted->pnetid : "");
    p->source = (struct smcr_rt_source){.kind = SMCR_RT_DEV, .of = p->dev};
    p->num_fds = host_dev_fds(p->dev, p->fds);
    for (unsigned i = 0; i < p->num_fds && rc == 0; i++)
        rc = smcr_rt_watch(p->fds[i], EPOLLIN, &p->source);
    if (rc != 0) {
        net_error_set(err, -rc, "cannot watch %s: %s", wanted->port, strerror(-rc));
        host_dev_close(p->dev);
    }
    return rc;
}

int smcr_rt_open_ports(const struct smcr_sock_config *config, struct net_error *err)
{
    int rc = config->num_ports <= SMCR_SOCK_MAX_PORTS
                 ? 0
                 : net_error_set(err, EINVAL, "%u ports are too many for SMC-R: at most %u",
                                 config->num_ports, SMCR_SOCK_MAX_PORTS);
    for (unsigned i = 0; i < config->num_ports && rc == 0; i++) {
        memset(&smcr_rt.ports[i], 0, sizeof smcr_rt.ports[i]);
        rc = open_port(&smcr_rt.ports[i], &config->ports[i], err);
        smcr_rt.num_ports += rc == 0;
    }
    if (rc != 0)
        smcr_rt_close_ports();
    else
        smcr_rt_follow_interfaces();
    smcr_rt.ports_armed = true;
    return rc;
}

void smcr_rt_close_ports(void)
{
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        host_dev_close(smcr_rt.ports[i].dev);
    smcr_rt.num_ports = 0;
}
