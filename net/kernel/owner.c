/* SPDX-License-Identifier: BSD-2-Clause */
/* Which interface has an address. */
#include <errno.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "net/kernel/kernel.h"

static bool addr_of(const struct sockaddr *from, struct nornic_addr *out)
{
    if (from && from->sa_family == AF_INET) {
        *out = nornic_addr_from_v4((const uint8_t *)&((const struct sockaddr_in *)from)->sin_addr);
        return true;
    }
    if (!from || from->sa_family != AF_INET6)
        return false;
    memcpy(out->b, &((const struct sockaddr_in6 *)from)->sin6_addr, sizeof out->b);
    return true;
}

/* Every address of a loopback interface's IPv4 prefix is the machine's own (RFC 1122, 3.2.1.3), listed or
 * not. */
static bool is_within(const struct ifaddrs *entry, const struct nornic_addr *own,
                      const struct nornic_addr *addr)
{
    struct nornic_addr mask;
    if (!(entry->ifa_flags & IFF_LOOPBACK) || !nornic_addr_is_v4(own) || !nornic_addr_is_v4(addr) ||
        !addr_of(entry->ifa_netmask, &mask))
        return false;
    for (unsigned i = 12; i < 16; i++)
        if ((own->b[i] ^ addr->b[i]) & mask.b[i])
            return false;
    return true;
}

int net_interface_of_addr(const struct nornic_addr *addr, struct net_interface *out, struct nornic_error *why)
{
    struct ifaddrs *list;
    char text[NORNIC_ADDR_STR_SIZE], name[IF_NAMESIZE] = "";
    if (getifaddrs(&list) != 0)
        return net_error_set(why, errno, "cannot list this machine's addresses: %s", strerror(errno));
    for (const struct ifaddrs *i = list; i && !name[0]; i = i->ifa_next) {
        struct nornic_addr own;
        if (addr_of(i->ifa_addr, &own) && (nornic_addr_equal(&own, addr) || is_within(i, &own, addr)))
            memccpy(name, i->ifa_name, '\0', sizeof name - 1);
        name[strcspn(name, ":")] = '\0'; /* the rest is an address's label: "eth0:web" */
    }
    freeifaddrs(list);
    if (!name[0])
        return net_error_set(why, EADDRNOTAVAIL, "%s is no address of this machine: `ip addr` lists them",
                             nornic_addr_str(addr, text));
    return net_interface_get(name, out, why);
}
