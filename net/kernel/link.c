/* SPDX-License-Identifier: BSD-2-Clause */
/* Interfaces as the kernel has them, with the VLAN interfaces on top. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <stdlib.h>

#include "net/kernel/query.h"

#define DUMP_TRIES  10
#define VLAN_ID_MAX 4094 /* IEEE 802.1Q: 4095 is reserved */

/* The id of an 802.1Q VLAN interface; 0: it is no such interface. */
static uint16_t read_vlan(const struct nlattr *linkinfo)
{
    const struct nlattr *a, *data = NULL;
    bool is_vlan = false;
    mnl_attr_for_each_nested(a, linkinfo)
    {
        if (mnl_attr_get_type(a) == IFLA_INFO_KIND)
            is_vlan =
                mnl_attr_validate(a, MNL_TYPE_NUL_STRING) >= 0 && strcmp(mnl_attr_get_str(a), "vlan") == 0;
        else if (mnl_attr_get_type(a) == IFLA_INFO_DATA)
            data = a;
    }
    uint16_t id = 0, protocol = ETH_P_8021Q;
    if (!is_vlan || !data)
        return 0;
    mnl_attr_for_each_nested(a, data)
    {
        if (mnl_attr_get_type(a) == IFLA_VLAN_ID && mnl_attr_get_payload_len(a) == 2)
            id = mnl_attr_get_u16(a);
        else if (mnl_attr_get_type(a) == IFLA_VLAN_PROTOCOL && mnl_attr_get_payload_len(a) == 2)
            protocol = ntohs(mnl_attr_get_u16(a));
    }
    return protocol == ETH_P_8021Q && id <= VLAN_ID_MAX ? id : 0;
}

void net_kernel_read_link(const struct nlmsghdr *message, struct net_kernel_link *link,
                          unsigned *parent_ifindex)
{
    const struct ifinfomsg *head = mnl_nlmsg_get_payload(message);
    struct net_interface *interface = &link->interface;
    const struct nlattr *a;
    bool is_parent_elsewhere = false; /* then its index means nothing here */
    unsigned below = 0;
    memset(link, 0, sizeof *link);
    interface->index = (unsigned)head->ifi_index;
    interface->is_up = (head->ifi_flags & IFF_UP) != 0;
    interface->is_running = (head->ifi_flags & IFF_RUNNING) != 0;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        uint16_t type = mnl_attr_get_type(a), len = mnl_attr_get_payload_len(a);
        if (type == IFLA_MTU && len == 4)
            interface->mtu_bytes = mnl_attr_get_u32(a);
        else if (type == IFLA_ADDRESS && len == NORNIC_MAC_BYTES)
            memcpy(interface->mac.b, mnl_attr_get_payload(a), NORNIC_MAC_BYTES);
        else if (type == IFLA_IFNAME)
            net_netlink_get_str(a, interface->name, sizeof interface->name);
        else if (type == IFLA_LINK && len == 4)
            below = mnl_attr_get_u32(a);
        else if (type == IFLA_LINK_NETNSID)
            is_parent_elsewhere = true;
        else if (type == IFLA_LINKINFO)
            link->vlan_id = read_vlan(a);
    }
    *parent_ifindex = link->vlan_id && !is_parent_elsewhere ? below : 0;
}

static void read_interface(const struct nlmsghdr *message, void *ctx)
{
    struct net_kernel_link link;
    unsigned parent;
    if (!net_netlink_head(message, RTM_NEWLINK, sizeof(struct ifinfomsg)))
        return;
    net_kernel_read_link(message, &link, &parent);
    *(struct net_interface *)ctx = link.interface;
}

int net_interface_get(const char *name, struct net_interface *out, struct nornic_error *why)
{
    struct net_netlink_request request;
    memset(out, 0, sizeof *out);
    if (name[0] == '\0' || strlen(name) >= sizeof out->name)
        return net_error_set(why, ENODEV, "\"%s\" is no name of an interface; `ip link` lists them", name);
    net_netlink_begin(&request, RTM_GETLINK, 0, sizeof(struct ifinfomsg));
    mnl_attr_put_strz(&request.header, IFLA_IFNAME, name);
    int err = net_netlink_ask(&request, read_interface, out, why);
    if (err == -ENODEV)
        return net_error_set(why, ENODEV, "no interface %s here; `ip link` lists them", name);
    if (err < 0)
        return net_error_set(why, -err, "cannot look up interface %s: %s", name, strerror(-err));
    return 0;
}

struct link_list {
    unsigned ifindex;
    struct net_kernel_link *links;
    unsigned count;
    bool is_out_of_memory;
};

static bool has_link(const struct link_list *list, unsigned ifindex)
{
    for (unsigned i = 0; i < list->count; i++)
        if (list->links[i].interface.index == ifindex)
            return true;
    return false;
}

/* Takes the interface to the front, and its VLAN interfaces behind it: the kernel's order is that of the
 * indexes. */
static void take_link(const struct nlmsghdr *message, void *ctx)
{
    struct link_list *list = ctx;
    struct net_kernel_link link;
    unsigned parent;
    if (!net_netlink_head(message, RTM_NEWLINK, sizeof(struct ifinfomsg)))
        return;
    net_kernel_read_link(message, &link, &parent);
    bool is_itself = link.interface.index == list->ifindex;
    if ((!is_itself && parent != list->ifindex) || has_link(list, link.interface.index))
        return;
    struct net_kernel_link *links = realloc(list->links, (list->count + 1) * sizeof link);
    if (!links) {
        list->is_out_of_memory = true;
        return;
    }
    list->links = links;
    unsigned at = is_itself ? 0 : list->count;
    memmove(links + at + 1, links + at, (list->count - at) * sizeof link);
    if (is_itself)
        link.vlan_id = 0; /* seen from above: it is the port that carries untagged frames */
    links[at] = link;
    list->count++;
}

int net_kernel_links(struct mnl_socket *socket, unsigned ifindex, struct net_kernel_link **out)
{
    struct link_list list = {.ifindex = ifindex};
    int err = -EINTR;
    for (int i = 0; i < DUMP_TRIES && err == -EINTR; i++) {
        struct net_netlink_request request;
        net_netlink_begin(&request, RTM_GETLINK, NLM_F_DUMP, sizeof(struct ifinfomsg));
        list.count = 0;
        err = net_netlink_ask_on(socket, &request, take_link, &list);
    }
    if (!err && list.is_out_of_memory)
        err = -ENOMEM;
    if (err < 0) {
        free(list.links);
        *out = NULL;
        return err;
    }
    *out = list.links;
    return (int)list.count;
}
