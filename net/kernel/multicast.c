/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/multicast.h"

#include <errno.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

/* A socket for each group: one socket holds only so many (igmp_max_memberships, 20), and closing it leaves.
 * The sockets are bound to no port, so the kernel queues nothing for them. */
struct member {
    struct nornic_addr group;
    int fd;
    unsigned holders;
    struct member *next;
};

struct net_multicast {
    unsigned ifindex;
    struct member *members;
};

int net_multicast_open(unsigned ifindex, struct net_multicast **out)
{
    struct net_multicast *multicast = calloc(1, sizeof *multicast);
    if (!multicast)
        return -ENOMEM;
    multicast->ifindex = ifindex;
    *out = multicast;
    return 0;
}

/* The pointer that points to the group's member, or to NULL at the end. */
static struct member **find(struct net_multicast *multicast, const struct nornic_addr *group)
{
    struct member **at = &multicast->members;
    while (*at && !nornic_addr_equal(&(*at)->group, group))
        at = &(*at)->next;
    return at;
}

static int set_membership(int fd, unsigned ifindex, const struct nornic_addr *group)
{
    struct ip_mreqn v4 = {.imr_ifindex = (int)ifindex};
    struct ipv6_mreq v6 = {.ipv6mr_interface = ifindex};
    memcpy(&v4.imr_multiaddr, group->b + 12, 4);
    memcpy(&v6.ipv6mr_multiaddr, group->b, 16);
    int err = nornic_addr_is_v4(group) ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof v4)
                                       : setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof v6);
    return !err ? 0 : -errno;
}

/* A socket that is a member. The descriptor or -errno. */
static int join(unsigned ifindex, const struct nornic_addr *group)
{
    int fd = socket(nornic_addr_is_v4(group) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    int err = fd < 0 ? -errno : set_membership(fd, ifindex, group);
    if (err < 0 && fd >= 0)
        close(fd);
    return err < 0 ? err : fd;
}

int net_multicast_join(struct net_multicast *multicast, const struct nornic_addr *group,
                       struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE], ifname[IF_NAMESIZE] = "?";
    nornic_addr_str(group, text);
    if_indextoname(multicast->ifindex, ifname);
    if (!nornic_addr_is_multicast(group))
        return net_error_set(why, EINVAL, "%s is no multicast group: give one of 224.0.0.0/4 or ff00::/8",
                             text);
    struct member **at = find(multicast, group);
    if (*at) {
        (*at)->holders++;
        return 0;
    }
    struct member *member = calloc(1, sizeof *member);
    int err = member ? join(multicast->ifindex, group) : -ENOMEM;
    if (err < 0) {
        free(member);
        return net_error_set(why, -err, "%s cannot join group %s: %s", ifname, text, strerror(-err));
    }
    *member = (struct member){.group = *group, .fd = err, .holders = 1};
    *at = member;
    return 0;
}

static void leave(struct member **at)
{
    struct member *member = *at;
    *at = member->next;
    close(member->fd);
    free(member);
}

int net_multicast_leave(struct net_multicast *multicast, const struct nornic_addr *group)
{
    struct member **at = find(multicast, group);
    if (!*at)
        return -ENOENT;
    unsigned left = --(*at)->holders;
    if (left == 0)
        leave(at);
    return (int)left;
}

void net_multicast_close(struct net_multicast *multicast)
{
    while (multicast->members)
        leave(&multicast->members);
    free(multicast);
}
