/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/watch.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>

#include "net/kernel/news.h"
#include "net/kernel/query.h"

/* What there is at a moment. */
struct state {
    bool is_there;
    struct net_interface interface;
    struct net_watch_addr *addrs;
    unsigned addr_count;
    unsigned *vlan_ifindexes; /* the VLAN interfaces, also those without an address */
    unsigned vlan_count;
};

struct net_watch {
    unsigned ifindex;
    bool is_first; /* nothing was reported yet */
    bool is_dirty; /* something may have changed since `known` */
    struct state known;
    struct net_news *news;
    struct mnl_socket *asker;
};

static void free_state(struct state *state)
{
    free(state->addrs);
    free(state->vlan_ifindexes);
}

/* --- notifications --- */

static bool is_known_interface(const struct net_watch *watch, unsigned ifindex)
{
    bool is_known = ifindex == watch->ifindex;
    for (unsigned i = 0; i < watch->known.vlan_count; i++)
        is_known |= watch->known.vlan_ifindexes[i] == ifindex;
    return is_known;
}

static bool is_relevant(void *ctx, const struct nlmsghdr *message)
{
    const struct net_watch *watch = ctx;
    struct net_kernel_link link;
    unsigned parent;
    switch (message->nlmsg_type) {
    case RTM_NEWADDR:
    case RTM_DELADDR:
        return message->nlmsg_len >= mnl_nlmsg_size(sizeof(struct ifaddrmsg)) &&
               is_known_interface(watch, ((struct ifaddrmsg *)mnl_nlmsg_get_payload(message))->ifa_index);
    case RTM_NEWLINK:
    case RTM_DELLINK:
        if (message->nlmsg_len < mnl_nlmsg_size(sizeof(struct ifinfomsg)))
            return false;
        net_kernel_read_link(message, &link, &parent);
        return parent == watch->ifindex || is_known_interface(watch, link.interface.index);
    }
    return false;
}

/* Sets `is_dirty` if news came that may concern us. 0 or -errno. */
static int read_news(struct net_watch *watch)
{
    int news = net_news_read(watch->news, is_relevant, watch);
    watch->is_dirty |= news > 0;
    return news < 0 ? news : 0;
}

/* --- the state now --- */

static void take_addrs(struct state *state, const struct net_kernel_link *links, unsigned link_count,
                       const struct net_kernel_addr *addrs, unsigned addr_count)
{
    for (unsigned l = 0; l < link_count; l++)
        for (unsigned i = 0; i < addr_count; i++)
            if (addrs[i].ifindex == links[l].interface.index)
                state->addrs[state->addr_count++] = (struct net_watch_addr){
                    addrs[i].addr, links[l].interface.mac, links[l].vlan_id, links[l].interface.index};
}

static int read_state(struct net_watch *watch, struct state *state)
{
    struct net_kernel_link *links = NULL;
    struct net_kernel_addr *addrs = NULL;
    *state = (struct state){.is_there = false};
    int link_count = net_kernel_links(watch->asker, watch->ifindex, &links), addr_count = 0;
    int err = link_count;
    if (link_count > 0 && links[0].interface.index == watch->ifindex) {
        err = addr_count = net_kernel_addrs(watch->asker, &addrs);
        state->is_there = true;
        state->interface = links[0].interface;
    }
    if (state->is_there && err >= 0) {
        state->addrs = calloc((size_t)addr_count + 1, sizeof *state->addrs);
        state->vlan_ifindexes = calloc((size_t)link_count, sizeof *state->vlan_ifindexes);
        err = state->addrs && state->vlan_ifindexes ? 0 : -ENOMEM;
    }
    if (state->is_there && !err) {
        take_addrs(state, links, (unsigned)link_count, addrs, (unsigned)addr_count);
        for (int i = 1; i < link_count; i++)
            state->vlan_ifindexes[state->vlan_count++] = links[i].interface.index;
    }
    free(links);
    free(addrs);
    if (err < 0)
        free_state(state);
    return err < 0 ? err : 0;
}

/* --- the difference --- */

struct report {
    net_watch_hook *hook;
    void *ctx;
    const struct net_interface *interface;
};

static void say(const struct report *report, enum net_watch_kind kind, const struct net_watch_addr *addr)
{
    struct net_watch_change change = {.kind = kind, .interface = *report->interface};
    if (addr)
        change.addr = *addr;
    report->hook(report->ctx, &change);
}

static const struct net_watch_addr *find(const struct state *state, const struct net_watch_addr *addr)
{
    for (unsigned i = 0; i < state->addr_count; i++) {
        const struct net_watch_addr *a = &state->addrs[i];
        if (a->ifindex == addr->ifindex && a->vlan_id == addr->vlan_id &&
            nornic_addr_equal(&a->addr, &addr->addr))
            return a;
    }
    return NULL;
}

static void report_addrs(const struct report *report, const struct state *before, const struct state *now)
{
    for (unsigned i = 0; i < before->addr_count; i++)
        if (!find(now, &before->addrs[i]))
            say(report, NET_WATCH_ADDR_REMOVED, &before->addrs[i]);
    for (unsigned i = 0; i < now->addr_count; i++) {
        const struct net_watch_addr *was = find(before, &now->addrs[i]);
        if (!was)
            say(report, NET_WATCH_ADDR_ADDED, &now->addrs[i]);
        else if (!nornic_mac_equal(&was->mac, &now->addrs[i].mac))
            say(report, NET_WATCH_ADDR_MAC, &now->addrs[i]);
    }
}

static void report_all(const struct net_watch *watch, const struct state *now, net_watch_hook *hook,
                       void *ctx)
{
    const struct state *before = &watch->known;
    struct report report = {hook, ctx, now->is_there ? &now->interface : &before->interface};
    bool was_running = before->is_there && before->interface.is_running;
    bool is_running = now->is_there && now->interface.is_running;
    if (is_running != was_running || watch->is_first)
        say(&report, is_running ? NET_WATCH_LINK_UP : NET_WATCH_LINK_DOWN, NULL);
    if (before->is_there && now->is_there && !nornic_mac_equal(&before->interface.mac, &now->interface.mac))
        say(&report, NET_WATCH_MAC, NULL);
    /* The first one too: it may be another by now than when the port was opened. */
    if (now->is_there && before->interface.mtu_bytes != now->interface.mtu_bytes)
        say(&report, NET_WATCH_MTU, NULL);
    report_addrs(&report, before, now);
    if (!now->is_there && (before->is_there || watch->is_first))
        say(&report, NET_WATCH_GONE, NULL);
}

int net_watch_read(struct net_watch *watch, net_watch_hook *hook, void *ctx)
{
    struct state now;
    int err = read_news(watch);
    if (err < 0 || !watch->is_dirty)
        return err;
    /* What happens from here on notifies again. */
    err = read_state(watch, &now);
    if (err < 0)
        return err;
    watch->is_dirty = false;
    report_all(watch, &now, hook, ctx);
    watch->is_first = false;
    free_state(&watch->known);
    watch->known = now;
    return 0;
}

const struct net_interface *net_watch_interface(const struct net_watch *watch)
{
    return watch->known.is_there ? &watch->known.interface : NULL;
}

const struct net_watch_addr *net_watch_addrs(const struct net_watch *watch, unsigned *count)
{
    *count = watch->known.addr_count;
    return watch->known.addrs;
}

/* --- opening --- */

int net_watch_open(unsigned ifindex, struct net_watch **out, struct nornic_error *why)
{
    struct net_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return net_error_set(why, ENOMEM, "no memory to watch interface %u", ifindex);
    watch->ifindex = ifindex;
    watch->is_first = watch->is_dirty = true;
    int err = net_news_open(NULL, &watch->news, why);
    watch->asker = !err ? net_netlink_open(why) : NULL;
    if (!watch->asker) {
        err = !err ? -errno : err;
        net_watch_close(watch);
        return err;
    }
    *out = watch;
    return 0;
}

void net_watch_close(struct net_watch *watch)
{
    if (watch->news)
        net_news_close(watch->news);
    if (watch->asker)
        mnl_socket_close(watch->asker);
    free_state(&watch->known);
    free(watch);
}

int net_watch_fd(const struct net_watch *watch)
{
    return net_news_fd(watch->news);
}
