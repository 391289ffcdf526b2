/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses and routes as the kernel has them. Interfaces are in net/kernel/link.c, neighbours in
 * net/kernel/neigh.c. */
#include "net/kernel/kernel.h"

#include <errno.h>
#include <linux/if_addr.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>

#include "base/array.h"
#include "net/kernel/query.h"

/* --- addresses --- */

#define DUMP_TRIES 10

enum addr_class { ADDR_V6_LINK_LOCAL, ADDR_V4, ADDR_V6_OTHER, ADDR_CLASS_COUNT };

struct addr_list {
    struct net_kernel_addr *addrs;
    unsigned count;
    size_t room;
    bool is_out_of_memory;
};

static enum addr_class class_of(const struct nornic_addr *a)
{
    if (nornic_addr_is_v4(a))
        return ADDR_V4;
    return nornic_addr_is_link_local(a) ? ADDR_V6_LINK_LOCAL : ADDR_V6_OTHER;
}

static void append_addr(struct addr_list *list, const struct net_kernel_addr *addr)
{
    struct net_kernel_addr *addrs = array_room(list->addrs, &list->room, list->count + 1, sizeof *addrs);
    if (!addrs) {
        list->is_out_of_memory = true;
        return;
    }
    list->addrs = addrs;
    list->addrs[list->count++] = *addr;
}

static void take_addr(const struct nlmsghdr *message, void *ctx)
{
    struct addr_list *list = ctx;
    const struct ifaddrmsg *head = net_netlink_head(message, RTM_NEWADDR, sizeof *head);
    const struct nlattr *a;
    struct nornic_addr local, peer;
    bool has_local = false, has_peer = false;
    if (!head)
        return;
    uint32_t flags = head->ifa_flags;
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
        return;
    append_addr(list,
                &(struct net_kernel_addr){.ifindex = head->ifa_index, .addr = has_local ? local : peer});
}

/* Within a class the kernel's order stays. */
static int sort_by_class(struct addr_list *list)
{
    struct addr_list sorted = {.count = 0};
    for (enum addr_class class = 0; class < ADDR_CLASS_COUNT; class ++)
        for (unsigned i = 0; i < list->count; i++)
            if (class_of(&list->addrs[i].addr) == class)
                append_addr(&sorted, &list->addrs[i]);
    free(list->addrs);
    *list = sorted;
    return sorted.is_out_of_memory ? -ENOMEM : 0;
}

int net_kernel_addrs(struct mnl_socket *socket, struct net_kernel_addr **out)
{
    struct addr_list list = {.count = 0};
    int err = -EINTR;
    for (int i = 0; i < DUMP_TRIES && err == -EINTR; i++) {
        struct net_netlink_request request;
        net_netlink_begin(&request, RTM_GETADDR, NLM_F_DUMP, sizeof(struct ifaddrmsg));
        list.count = 0;
        err = net_netlink_ask_on(socket, &request, take_addr, &list);
    }
    if (!err && list.is_out_of_memory)
        err = -ENOMEM;
    if (!err)
        err = sort_by_class(&list);
    if (err < 0) {
        free(list.addrs);
        *out = NULL;
        return err;
    }
    *out = list.addrs;
    return (int)list.count;
}

int net_interface_addr_list(unsigned ifindex, struct nornic_addr **out, struct nornic_error *why)
{
    struct net_kernel_addr *all;
    unsigned taken = 0;
    struct mnl_socket *socket = net_netlink_open(why);
    if (!socket)
        return -errno;
    int count = net_kernel_addrs(socket, &all);
    mnl_socket_close(socket);
    if (count >= 0) {
        *out = calloc((size_t)count + 1, sizeof **out);
        for (int i = 0; *out && i < count; i++)
            if (all[i].ifindex == ifindex)
                (*out)[taken++] = all[i].addr;
        free(all);
        count = *out ? count : -ENOMEM;
    }
    if (count < 0)
        return net_error_set(why, -count, "cannot list the addresses of interface %u: %s", ifindex,
                             strerror(-count));
    return (int)taken;
}

int net_interface_addrs(unsigned ifindex, struct nornic_addr *addrs, unsigned max, struct nornic_error *why)
{
    struct nornic_addr *list = NULL;
    int count = net_interface_addr_list(ifindex, &list, why);
    if (count > 0) {
        count = (unsigned)count < max ? count : (int)max;
        memcpy(addrs, list, (size_t)count * sizeof *addrs);
    }
    free(list);
    return count;
}

/* --- routes --- */

struct route {
    unsigned ifindex;
    uint8_t type; /* RTN_... */
    bool has_gateway;
    struct nornic_addr gateway;
    struct nornic_addr src; /* the address to send from; zero: the kernel names none */
};

static void read_route(const struct nlmsghdr *message, void *ctx)
{
    struct route *route = ctx;
    const struct rtmsg *head = net_netlink_head(message, RTM_NEWROUTE, sizeof *head);
    const struct nlattr *a;
    if (!head)
        return;
    route->type = head->rtm_type;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        const uint8_t *payload = mnl_attr_get_payload(a);
        uint16_t len = mnl_attr_get_payload_len(a);
        if (mnl_attr_get_type(a) == RTA_OIF && len == 4) {
            route->ifindex = mnl_attr_get_u32(a);
        } else if (mnl_attr_get_type(a) == RTA_GATEWAY) {
            route->has_gateway = net_netlink_get_addr(a, &route->gateway);
        } else if (mnl_attr_get_type(a) == RTA_PREFSRC) {
            net_netlink_get_addr(a, &route->src);
        } else if (mnl_attr_get_type(a) == RTA_VIA && len == sizeof(struct rtvia) + 16 &&
                   ((const struct rtvia *)payload)->rtvia_family == AF_INET6) {
            /* struct rtvia: an IPv4 route whose gateway has an IPv6 address */
            memcpy(route->gateway.b, payload + sizeof(struct rtvia), 16);
            route->has_gateway = true;
        }
    }
}

static int ask_route(unsigned ifindex, const struct nornic_addr *dst, uint32_t flags, struct route *route,
                     struct nornic_error *why)
{
    struct net_netlink_request request;
    struct rtmsg *head = net_netlink_begin(&request, RTM_GETROUTE, 0, sizeof *head);
    memset(route, 0, sizeof *route);
    head->rtm_family = net_netlink_family(dst);
    head->rtm_dst_len = head->rtm_family == AF_INET ? 32 : 128;
    head->rtm_flags = flags;
    net_netlink_put_addr(&request, RTA_DST, dst);
    mnl_attr_put_u32(&request.header, RTA_OIF, ifindex);
    return net_netlink_ask(&request, read_route, route, why);
}

int net_route_get(unsigned ifindex, const struct nornic_addr *dst, struct net_route *out,
                  struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE], ifname[IF_NAMESIZE] = "?";
    struct route route;
    int err = 0;
    if_indextoname(ifindex, ifname);
    /* Told an interface, the kernel takes any IPv4 destination for on-link when no route matches; asked for
     * the matching entry of its table it says the truth. */
    if (nornic_addr_is_v4(dst))
        err = ask_route(ifindex, dst, RTM_F_FIB_MATCH, &route, why);
    if (!err)
        err = ask_route(ifindex, dst, 0, &route, why);
    if (!err && route.type == RTN_LOCAL)
        return net_error_set(why, EHOSTUNREACH, "%s is an address of this host, not of a peer",
                             nornic_addr_str(dst, text));
    if (err < 0 || route.type != RTN_UNICAST || route.ifindex != ifindex)
        return net_error_set(why, EHOSTUNREACH,
                             "no route to %s through %s: give %s an address in its network, or a route with "
                             "`ip route add`",
                             nornic_addr_str(dst, text), ifname, ifname);
    out->next_hop = route.has_gateway ? route.gateway : *dst;
    out->src = route.src;
    return 0;
}

int net_route_next_hop(unsigned ifindex, const struct nornic_addr *dst, struct nornic_addr *next_hop,
                       struct nornic_error *why)
{
    struct net_route route;
    int err = net_route_get(ifindex, dst, &route, why);
    if (!err)
        *next_hop = route.next_hop;
    return err;
}
