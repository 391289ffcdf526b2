/* SPDX-License-Identifier: BSD-2-Clause */
/* Interfaces, addresses and routes as the kernel has them. Neighbours are in net/kernel_neigh.c. */
#include "net/kernel.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdio.h>

#include "net/netlink.h"

static int read_link(const struct nlmsghdr *message, void *ctx)
{
    struct net_interface *out = ctx;
    const struct ifinfomsg *link = mnl_nlmsg_get_payload(message);
    const struct nlattr *a;
    out->index = (unsigned)link->ifi_index;
    out->up = (link->ifi_flags & IFF_UP) != 0;
    mnl_attr_for_each(a, message, sizeof *link)
    {
        if (mnl_attr_get_type(a) == IFLA_MTU && mnl_attr_get_payload_len(a) == 4)
            out->mtu_bytes = mnl_attr_get_u32(a);
        else if (mnl_attr_get_type(a) == IFLA_ADDRESS && mnl_attr_get_payload_len(a) == NET_MAC_BYTES)
            memcpy(out->mac.b, mnl_attr_get_payload(a), NET_MAC_BYTES);
        else if (mnl_attr_get_type(a) == IFLA_IFNAME)
            snprintf(out->name, sizeof out->name, "%s", mnl_attr_get_str(a));
    }
    return MNL_CB_OK;
}

int net_interface_get(const char *name, struct net_interface *out, struct net_error *err)
{
    struct net_netlink_request request;
    memset(out, 0, sizeof *out);
    if (name[0] == '\0' || strlen(name) >= sizeof out->name)
        return net_error_set(err, ENODEV, "\"%s\" is no name of an interface; `ip link` lists them", name);
    net_netlink_begin(&request, RTM_GETLINK, 0, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(&request.header, IFLA_IFNAME, name);
    int result = net_netlink_ask(&request, read_link, out, err);
    if (result == -ENODEV)
        return net_error_set(err, ENODEV, "no interface %s here; `ip link` lists them", name);
    if (result < 0)
        return net_error_set(err, -result, "cannot look up interface %s: %s", name, strerror(-result));
    return 0;
}

/* --- addresses --- */

#define DUMP_TRIES 10

enum addr_class { ADDR_V6_LINK_LOCAL, ADDR_V4, ADDR_V6_OTHER, ADDR_CLASS_COUNT };

struct addr_list {
    unsigned ifindex;
    enum addr_class class; /* of those to take this time */
    struct net_addr *addrs;
    unsigned count, max;
};

static enum addr_class class_of(const struct net_addr *a)
{
    if (net_addr_is_v4(a))
        return ADDR_V4;
    return a->b[0] == 0xfe && (a->b[1] & 0xc0) == 0x80 ? ADDR_V6_LINK_LOCAL : ADDR_V6_OTHER;
}

static int take_addr(const struct nlmsghdr *message, void *ctx)
{
    struct addr_list *list = ctx;
    const struct ifaddrmsg *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *a;
    struct net_addr local, peer;
    bool has_local = false, has_peer = false;
    uint32_t flags = head->ifa_flags;
    if (head->ifa_index != list->ifindex)
        return MNL_CB_OK;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        if (mnl_attr_get_type(a) == IFA_LOCAL)
            has_local = net_netlink_get_addr(a, &local);
        else if (mnl_attr_get_type(a) == IFA_ADDRESS) /* of a point-to-point link: the other end's */
            has_peer = net_netlink_get_addr(a, &peer);
        else if (mnl_attr_get_type(a) == IFA_FLAGS && mnl_attr_get_payload_len(a) == 4)
            flags = mnl_attr_get_u32(a);
    }
    if (flags & (IFA_F_TENTATIVE | IFA_F_DADFAILED) || (!has_local && !has_peer))
        return MNL_CB_OK;
    const struct net_addr *own = has_local ? &local : &peer;
    if (class_of(own) == list->class && list->count < list->max)
        list->addrs[list->count++] = *own;
    return MNL_CB_OK;
}

/* Takes the addresses of one class. A dump under which the table changed may lack some or have some twice,
 * and is EINTR to libmnl: then it is asked for again. */
static int list_class(struct addr_list *list, struct net_error *err)
{
    unsigned count = list->count;
    int result = -EINTR;
    for (int i = 0; i < DUMP_TRIES && result == -EINTR; i++) {
        struct net_netlink_request request;
        struct ifaddrmsg *head = net_netlink_begin(&request, RTM_GETADDR, NLM_F_DUMP, sizeof *head);
        head->ifa_family = list->class == ADDR_V4 ? AF_INET : AF_INET6;
        list->count = count;
        result = net_netlink_ask(&request, take_addr, list, err);
    }
    return result;
}

int net_interface_addrs(unsigned ifindex, struct net_addr *addrs, unsigned max, struct net_error *err)
{
    struct addr_list list = {.ifindex = ifindex, .addrs = addrs, .max = max};
    for (list.class = 0; list.class < ADDR_CLASS_COUNT; list.class ++) {
        int result = list_class(&list, err);
        if (result < 0)
            return net_error_set(err, -result, "cannot list the addresses of interface %u: %s", ifindex,
                                 strerror(-result));
    }
    return (int)list.count;
}

/* --- routes --- */

struct route {
    unsigned ifindex;
    uint8_t type; /* RTN_... */
    bool has_gateway;
    struct net_addr gateway;
};

static int read_route(const struct nlmsghdr *message, void *ctx)
{
    struct route *route = ctx;
    const struct rtmsg *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *a;
    route->type = head->rtm_type;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        const uint8_t *payload = mnl_attr_get_payload(a);
        uint16_t len = mnl_attr_get_payload_len(a);
        if (mnl_attr_get_type(a) == RTA_OIF && len == 4) {
            route->ifindex = mnl_attr_get_u32(a);
        } else if (mnl_attr_get_type(a) == RTA_GATEWAY) {
            route->has_gateway = net_netlink_get_addr(a, &route->gateway);
        } else if (mnl_attr_get_type(a) == RTA_VIA && len == sizeof(struct rtvia) + 16) {
            /* struct rtvia: an IPv4 route whose gateway has an IPv6 address */
            memcpy(route->gateway.b, payload + sizeof(struct rtvia), 16);
            route->has_gateway = true;
        }
    }
    return MNL_CB_OK;
}

static int ask_route(unsigned ifindex, const struct net_addr *dst, uint32_t flags, struct route *route,
                     struct net_error *err)
{
    struct net_netlink_request request;
    struct rtmsg *head = net_netlink_begin(&request, RTM_GETROUTE, 0, sizeof *head);
    memset(route, 0, sizeof *route);
    head->rtm_family = net_netlink_family(dst);
    head->rtm_dst_len = head->rtm_family == AF_INET ? 32 : 128;
    head->rtm_flags = flags;
    net_netlink_put_addr(&request, RTA_DST, dst);
    mnl_attr_put_u32(&request.header, RTA_OIF, ifindex);
    return net_netlink_ask(&request, read_route, route, err);
}

int net_route_next_hop(unsigned ifindex, const struct net_addr *dst, struct net_addr *next_hop,
                       struct net_error *err)
{
    char text[NET_ADDR_STR_SIZE], ifname[IF_NAMESIZE] = "?";
    struct route route;
    int result = 0;
    if_indextoname(ifindex, ifname);
    /* Told an interface, the kernel takes any IPv4 destination for on-link when no route matches; asked for
     * the matching entry of its table it says the truth. */
    if (net_addr_is_v4(dst))
        result = ask_route(ifindex, dst, RTM_F_FIB_MATCH, &route, err);
    if (result == 0)
        result = ask_route(ifindex, dst, 0, &route, err);
    if (result == 0 && route.type == RTN_LOCAL)
        return net_error_set(err, EHOSTUNREACH, "%s is an address of this host, not of a peer",
                             net_addr_str(dst, text));
    if (result < 0 || route.type != RTN_UNICAST || route.ifindex != ifindex)
        return net_error_set(err, EHOSTUNREACH,
                             "no route to %s through %s: give %s an address in its network, or a route with "
                             "`ip route add`",
                             net_addr_str(dst, text), ifname, ifname);
    *next_hop = route.has_gateway ? route.gateway : *dst;
    return 0;
}
