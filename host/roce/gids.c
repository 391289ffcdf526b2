/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/roce/gids.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/base.h"
#include "base/notice.h"
#include "host/dev/dev.h"
#include "net/error.h"

#define RETRY_NS 250000000 /* to an address that another program has */

/* --- the table --- */

static int find(const struct host_gids *gids, const struct net_watch_addr *addr, enum nornic_gid_type type)
{
    return roce_dev_gid_find(gids->dev->engine, &addr->addr, &type, &addr->vlan_id);
}

static void tell_changed(const struct host_gids *gids, unsigned index)
{
    struct host_dev_client *client = gids->dev->client;
    if (client)
        client->ops->gid_changed(client, index);
}

/* Addresses of VLAN interfaces are none for a port of UDP sockets: their own interface's name opens one. */
static bool is_for_port(const struct host_gids *gids, const struct net_watch_addr *addr)
{
    return addr->ifindex == gids->dev->ifindex || !gids->dev->port->limits.is_udp_socket;
}

/* Tells the user once, and notes it for commands that fail, unless the device has a notice already. */
static void tell(const struct host_gids *gids, const struct nornic_error *why)
{
    struct nornic_error *notice = &gids->dev->notice;
    if (notice->text[0] == '\0')
        *notice = *why;
    base_notice("%s", why->text);
}

/* Returns whether the address has no entry, and finds no room for one. */
static bool is_left_out(const struct host_gids *gids, const struct net_watch_addr *addr)
{
    return gids->is_full && find(gids, addr, NORNIC_GID_V2) < 0;
}

static void add(struct host_gids *gids, const struct net_watch_addr *addr)
{
    if (!is_for_port(gids, addr) || is_left_out(gids, addr))
        return;
    int err = net_port_listen(gids->dev->port, &addr->addr, &gids->refusal);
    if (err == -EMFILE)
        tell(gids, &gids->refusal);
    if (err == -ENOSPC) { /* a port has room for as many as the table */
        gids->is_full = true;
        return;
    }
    if (err) {
        gids->is_refused |= err != -EADDRNOTAVAIL; /* the port has one address, and it is another */
        gids->refused = addr->addr;
        gids->refused_err = err;
        return;
    }
    for (enum nornic_gid_type type = NORNIC_GID_V2; type <= (gids->roce_v1 ? NORNIC_GID_V1 : NORNIC_GID_V2);
         type++) {
        struct nornic_gid gid = {
            .addr = addr->addr, .type = type, .mac = addr->mac, .vlan_id = addr->vlan_id};
        if (roce_dev_gid_add(gids->dev->engine, &gid) == -ENOSPC)
            gids->is_full = true;
    }
    if (is_left_out(gids, addr))
        net_port_unlisten(gids->dev->port, &addr->addr);
}

static void remove_addr(struct host_gids *gids, const struct net_watch_addr *addr, uint64_t now_ns)
{
    if (!is_for_port(gids, addr)) /* the interface may have the same one */
        return;
    for (enum nornic_gid_type type = NORNIC_GID_V2; type <= NORNIC_GID_V1; type++) {
        int index = find(gids, addr, type);
        if (index < 0)
            continue;
        tell_changed(gids, (unsigned)index);
        roce_dev_gid_remove(gids->dev->engine, (unsigned)index, now_ns);
    }
    net_port_unlisten(gids->dev->port, &addr->addr);
}

static void set_mac(struct host_gids *gids, const struct net_watch_addr *addr)
{
    for (enum nornic_gid_type type = NORNIC_GID_V2; type <= NORNIC_GID_V1; type++) {
        int index = find(gids, addr, type);
        if (index < 0)
            continue;
        roce_dev_gid_set_mac(gids->dev->engine, (unsigned)index, &addr->mac);
        tell_changed(gids, (unsigned)index);
    }
}

/* Connections from now on fit the interface; of those that stand the kernel drops packets that are too long,
 * without a word to anybody, so that they end as if the peer were gone. */
static void set_mtu(struct host_dev *dev, const struct net_interface *interface)
{
    uint32_t before = roce_dev_port_mtu(dev->engine);
    roce_dev_set_port_mtu(dev->engine, interface->mtu_bytes);
    if (interface->mtu_bytes < before)
        net_error_set(
            &dev->notice, EMSGSIZE,
            "the MTU of %s was lowered from %u to %u in between: connections that were made before may "
            "send what does not fit any more",
            interface->name, before, interface->mtu_bytes);
}

/* --- the kernel's news --- */

static void on_change(void *ctx, const struct net_watch_change *change)
{
    struct host_gids *gids = ctx;
    struct host_event fatal = {.type = NORNIC_EVENT_DEVICE_FATAL};
    atomic_fetch_add(&gids->changes, 1);
    switch (change->kind) {
    case NET_WATCH_ADDR_ADDED:
        add(gids, &change->addr);
        break;
    case NET_WATCH_ADDR_REMOVED:
        remove_addr(gids, &change->addr, host_now_ns());
        break;
    case NET_WATCH_ADDR_MAC:
        set_mac(gids, &change->addr);
        break;
    case NET_WATCH_LINK_UP:
    case NET_WATCH_LINK_DOWN:
        roce_dev_port_state(gids->dev->engine, change->kind == NET_WATCH_LINK_UP);
        break;
    case NET_WATCH_GONE:
        gids->is_gone = true;
        host_event_queue_push(&gids->dev->events, &fatal); /* ROCE-EV-8 */
        if (gids->dev->client)
            gids->dev->client->ops->removed(gids->dev->client);
        break;
    case NET_WATCH_MTU:
        set_mtu(gids->dev, &change->interface);
        break;
    case NET_WATCH_MAC: /* the addresses say so too */
        break;
    }
}

/* Addresses that found no room get the entries that removals have left. Refused ones are tried again. */
static void fill_up(struct host_gids *gids)
{
    unsigned count;
    const struct net_watch_addr *addrs = net_watch_addrs(gids->watch, &count);
    gids->is_full = gids->is_refused = false;
    for (unsigned i = 0; i < count; i++)
        add(gids, &addrs[i]);
}

static void tell_full(const struct host_gids *gids)
{
    struct nornic_error why;
    if (!gids->is_full)
        return;
    net_error_set(&why, ENOSPC,
                  "%s has more addresses than the %d entries of a GID table: the last ones have none. Name "
                  "one of them as the port, as in udp:ADDRESS",
                  gids->dev->port->name, NORNIC_GID_MAX);
    tell(gids, &why);
}

/* Nobody says when a program ends that has an address. Setting the timer makes it unreadable, too. */
static void run_timer(const struct host_gids *gids)
{
    const struct timespec again = {.tv_nsec = gids->is_refused ? RETRY_NS : 0};
    timerfd_settime(gids->retry.fd, 0, &(struct itimerspec){.it_value = again}, NULL);
}

static int read_news(struct host_gids *gids)
{
    host_dev_assert_held(gids->dev);
    int err = net_watch_read(gids->watch, on_change, gids);
    if (!err && gids->is_full)
        fill_up(gids);
    tell_full(gids);
    run_timer(gids);
    return err;
}

static void on_ready(struct host_source *source, uint64_t now_ns)
{
    struct host_gids *gids = (struct host_gids *)source; /* its first member */
    (void)now_ns;
    /* Without memory for the lists nothing changes until the next news: then all is compared again. */
    (void)read_news(gids);
}

static void on_time(struct host_source *source, uint64_t now_ns)
{
    struct host_gids *gids = container_of(source, struct host_gids, retry);
    (void)now_ns;
    fill_up(gids);
    run_timer(gids);
}

/* A loopback address may be in use without being listed. */
static void add_only(struct host_gids *gids, const struct nornic_addr *only)
{
    struct nornic_gid gid = {.addr = *only, .mac = gids->dev->port->mac};
    if (!nornic_addr_is_zero(only)) /* -EEXIST: it was listed */
        (void)roce_dev_gid_add(gids->dev->engine, &gid);
}

static int fill_and_follow(struct host_gids *gids, const struct nornic_addr *only)
{
    struct host_sources *sources = &gids->dev->sources;
    host_dev_lock(gids->dev);
    int err = read_news(gids);
    if (!err) {
        add_only(gids, only);
        err = host_source_add(sources, &gids->source);
    }
    if (!err) {
        err = host_source_add(sources, &gids->retry);
        if (err)
            host_source_remove(sources, &gids->source);
    }
    host_dev_unlock(gids->dev);
    return err;
}

int host_gids_open(struct host_dev *dev, const struct nornic_addr *only, struct host_gids **out, bool roce_v1,
                   struct nornic_error *why)
{
    struct host_gids *gids = calloc(1, sizeof *gids);
    if (!gids)
        return net_error_set(why, ENOMEM, "no memory for the GID table");
    *gids = (struct host_gids){.source.ready = on_ready, .dev = dev, .roce_v1 = roce_v1};
    int err = net_watch_open(dev->ifindex, &gids->watch, why);
    if (err)
        goto free_gids;
    gids->source.fd = net_watch_fd(gids->watch);
    gids->retry = (struct host_source){.ready = on_time,
                                       .fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)};
    err = gids->retry.fd < 0 ? -errno : fill_and_follow(gids, only);
    if (err) {
        net_error_set(why, -err, "cannot list the addresses of interface %u: %s", dev->ifindex,
                      strerror(-err));
        goto close_timer;
    }
    *out = gids;
    return 0;

close_timer:
    if (gids->retry.fd >= 0)
        close(gids->retry.fd);
    net_watch_close(gids->watch);
free_gids:
    free(gids);
    return err;
}

void host_gids_close(struct host_gids *gids)
{
    host_source_remove(&gids->dev->sources, &gids->source);
    host_source_remove(&gids->dev->sources, &gids->retry);
    close(gids->retry.fd);
    net_watch_close(gids->watch);
    free(gids);
}

unsigned host_gids_ifindex(const struct host_gids *gids, unsigned index)
{
    unsigned count;
    const struct net_watch_addr *addrs = net_watch_addrs(gids->watch, &count);
    const struct nornic_gid *gid = roce_dev_gid_get(gids->dev->engine, index);
    for (unsigned i = 0; gid && i < count; i++)
        if (addrs[i].vlan_id == gid->vlan_id && nornic_addr_equal(&addrs[i].addr, &gid->addr))
            return addrs[i].ifindex;
    return 0;
}

unsigned host_gids_ifindexes(const struct host_gids *gids, unsigned *out, unsigned max)
{
    unsigned count, taken = 0;
    const struct net_watch_addr *addrs = net_watch_addrs(gids->watch, &count);
    for (unsigned i = 0; i < count; i++) {
        bool is_new =
            taken < max && roce_dev_gid_find(gids->dev->engine, &addrs[i].addr, NULL, &addrs[i].vlan_id) >= 0;
        for (unsigned k = 0; is_new && k < taken; k++)
            is_new = out[k] != addrs[i].ifindex;
        if (is_new)
            out[taken++] = addrs[i].ifindex;
    }
    return taken;
}

unsigned host_dev_interface_changes(const struct host_dev *dev)
{
    return dev->gids ? atomic_load(&dev->gids->changes) : 0;
}

bool host_dev_interface(struct host_dev *dev, struct net_interface *out)
{
    const struct net_interface *interface = NULL;
    host_dev_lock(dev);
    if (dev->gids && !dev->gids->is_gone)
        interface = net_watch_interface(dev->gids->watch);
    if (interface)
        *out = *interface;
    host_dev_unlock(dev);
    return interface != NULL;
}
