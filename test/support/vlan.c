/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* RTLD_NEXT */
#include "test/support/vlan.h"

#include <arpa/inet.h>
#include <assert.h>
#include <dlfcn.h>
#include <libmnl/libmnl.h>
#include <linux/if_ether.h>
#include <linux/if_link.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <string.h>

#define MAX_STAND_INS 8

/* A macvlan interface that is to look like a VLAN interface. */
static struct stand_in {
    struct vlan vlan;
    unsigned parent_ifindex; /* that of a macvlan on a macvlan is the interface below both */
} stand_ins[MAX_STAND_INS];
static unsigned num_stand_ins;

bool vlan_add(const struct netns_veth *veth, int side, const struct vlan *vlan)
{
    if (netns_run(veth, side, "ip link add link %s name %s type vlan proto %s id %u 2>/dev/null",
                  vlan->parent, vlan->name, vlan->is_service_tag ? "802.1ad" : "802.1Q", vlan->id) == 0)
        return true;
    assert(num_stand_ins < MAX_STAND_INS);
    netns_enter(veth, side);
    stand_ins[num_stand_ins++] = (struct stand_in){*vlan, if_nametoindex(vlan->parent)};
    netns_enter(veth, -1);
    return netns_run(veth, side, "ip link add link %s name %s type macvlan mode bridge", vlan->parent,
                     vlan->name) == 0;
}

static struct nlattr *find(const struct nlattr *first, const void *end, uint16_t type)
{
    const struct nlattr *a = first;
    while (mnl_attr_ok(a, (int)((const char *)end - (const char *)a))) {
        if (mnl_attr_get_type(a) == type)
            return (struct nlattr *)a;
        a = mnl_attr_next(a);
    }
    return NULL;
}

static struct nlattr *find_in(const struct nlattr *nest, uint16_t type)
{
    return find(mnl_attr_get_payload(nest), (const char *)nest + nest->nla_len, type);
}

/* An attribute of two bytes at `at`; returns where the next one goes. */
static void *put_u16(void *at, uint16_t type, uint16_t value)
{
    struct nlattr *a = at;
    *a = (struct nlattr){.nla_len = MNL_ATTR_HDRLEN + sizeof value, .nla_type = type};
    memcpy(mnl_attr_get_payload(a), &value, sizeof value);
    return mnl_attr_next(a);
}

/* The kind is the shorter word; the data takes the place of the macvlan's first two, which are as long. */
static void rewrite(struct nlmsghdr *message, const struct stand_in *as)
{
    const struct nlattr *first = mnl_nlmsg_get_payload_offset(message, sizeof(struct ifinfomsg));
    struct nlattr *link = find(first, mnl_nlmsg_get_payload_tail(message), IFLA_LINK);
    struct nlattr *info = find(first, mnl_nlmsg_get_payload_tail(message), IFLA_LINKINFO);
    assert(link && info);
    struct nlattr *kind = find_in(info, IFLA_INFO_KIND), *data = find_in(info, IFLA_INFO_DATA);
    assert(kind && data && mnl_attr_get_payload_len(data) >= 16);
    memcpy(mnl_attr_get_payload(link), &as->parent_ifindex, sizeof as->parent_ifindex);
    memset(mnl_attr_get_payload(kind), 0, mnl_attr_get_payload_len(kind));
    memcpy(mnl_attr_get_payload(kind), "vlan", 4);
    void *next = put_u16(mnl_attr_get_payload(data), IFLA_VLAN_ID, as->vlan.id);
    put_u16(next, IFLA_VLAN_PROTOCOL, htons(as->vlan.is_service_tag ? ETH_P_8021AD : ETH_P_8021Q));
}

static void rewrite_link(struct nlmsghdr *message)
{
    const struct nlattr *first = mnl_nlmsg_get_payload_offset(message, sizeof(struct ifinfomsg));
    const struct nlattr *name = find(first, mnl_nlmsg_get_payload_tail(message), IFLA_IFNAME);
    for (unsigned i = 0; name && i < num_stand_ins; i++)
        if (strcmp(mnl_attr_get_str(name), stand_ins[i].vlan.name) == 0)
            rewrite(message, &stand_ins[i]);
}

/* Takes the place of libmnl's, through which nornic reads all that the kernel says of interfaces. */
ssize_t mnl_socket_recvfrom(const struct mnl_socket *socket, void *buf, size_t size)
{
    ssize_t (*receive)(const struct mnl_socket *, void *, size_t) = dlsym(RTLD_NEXT, "mnl_socket_recvfrom");
    ssize_t len = receive(socket, buf, size);
    int left = (int)len;
    for (struct nlmsghdr *m = buf; num_stand_ins && mnl_nlmsg_ok(m, left); m = mnl_nlmsg_next(m, &left))
        if (m->nlmsg_type == RTM_NEWLINK || m->nlmsg_type == RTM_DELLINK)
            rewrite_link(m);
    return len;
}
