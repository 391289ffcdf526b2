/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages about links, made by hand: not every kernel that runs the tests has VLAN interfaces. */
#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>

#include "base/base.h"
#include "net/kernel/query.h"

struct vlan_case {
    const char *what, *kind;
    int id, protocol; /* -1: no such attribute */
    bool elsewhere;   /* the interface below is in another namespace */
    uint16_t vlan_id;
    unsigned parent;
};

static struct net_kernel_link link_of(const struct vlan_case *c, unsigned *parent)
{
    struct net_netlink_request message;
    struct ifinfomsg *head = net_netlink_begin(&message, RTM_NEWLINK, 0, sizeof *head);
    struct nlmsghdr *header = &message.header;
    head->ifi_index = 12;
    head->ifi_flags = IFF_UP | IFF_RUNNING;
    mnl_attr_put_strz(header, IFLA_IFNAME, "nn0.7");
    mnl_attr_put_u32(header, IFLA_MTU, 1496);
    mnl_attr_put(header, IFLA_ADDRESS, 6, "\2\0\0\0\0\7");
    mnl_attr_put_u32(header, IFLA_LINK, 5);
    if (c->elsewhere)
        mnl_attr_put_u32(header, IFLA_LINK_NETNSID, 0);
    struct nlattr *info = mnl_attr_nest_start(header, IFLA_LINKINFO);
    mnl_attr_put_strz(header, IFLA_INFO_KIND, c->kind);
    struct nlattr *data = mnl_attr_nest_start(header, IFLA_INFO_DATA);
    if (c->id >= 0)
        mnl_attr_put_u16(header, IFLA_VLAN_ID, (uint16_t)c->id);
    if (c->protocol >= 0)
        mnl_attr_put_u16(header, IFLA_VLAN_PROTOCOL, htons((uint16_t)c->protocol));
    mnl_attr_nest_end(header, data);
    mnl_attr_nest_end(header, info);
    struct net_kernel_link link;
    net_kernel_read_link(header, &link, parent);
    return link;
}

/* covers: ROCE-FRM-3 */
Test(kernel_link, vlan_interfaces_are_told_from_others)
{
    static const struct vlan_case cases[] = {
        {"a VLAN interface", "vlan", 7, ETH_P_8021Q, false, 7, 5},
        {"the highest id", "vlan", 4094, ETH_P_8021Q, false, 4094, 5},
        {"no id that frames carry", "vlan", 4095, ETH_P_8021Q, false, 0, 0},
        {"priority tagged only", "vlan", 0, ETH_P_8021Q, false, 0, 0},
        {"a service tag", "vlan", 7, ETH_P_8021AD, false, 0, 0},
        {"no protocol: 802.1Q", "vlan", 7, -1, false, 7, 5},
        {"no id", "vlan", -1, ETH_P_8021Q, false, 0, 0},
        {"another kind", "macvlan", 7, ETH_P_8021Q, false, 0, 0},
        {"an interface below that is elsewhere", "vlan", 7, ETH_P_8021Q, true, 7, 0},
    };
    for (size_t i = 0; i < array_len(cases); i++) {
        unsigned parent = 99;
        struct net_kernel_link link = link_of(&cases[i], &parent);
        cr_expect_eq(link.vlan_id, cases[i].vlan_id, "%s", cases[i].what);
        cr_expect_eq(parent, cases[i].parent, "%s", cases[i].what);
        cr_expect_str_eq(link.interface.name, "nn0.7");
        cr_expect_eq(link.interface.index, 12);
        cr_expect_eq(link.interface.mtu_bytes, 1496);
        cr_expect(link.interface.is_up);
        cr_expect(link.interface.is_running);
        cr_expect_arr_eq(link.interface.mac.b, "\2\0\0\0\0\7", 6);
    }
}
