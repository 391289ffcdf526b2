/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses of the machine's interfaces, as of the last news: which networks an interface is attached to,
 * and whose an address is. */
#include "sock/addrs.h"

#include <ifaddrs.h>
#include <netinet/in.h>
#include <string.h>

static struct ifaddrs *addrs; /* NULL: not known */

/* Address and prefix length of an entry; false: neither IPv4 nor IPv6. */
static bool read_network(const struct ifaddrs *entry, struct smcr_network *out)
{
    uint8_t mask[16] = {0};
    unsigned len = 0, n;
    if (!entry->ifa_addr || !entry->ifa_netmask)
        return false;
    if (entry->ifa_addr->sa_family == AF_INET) {
        const struct sockaddr_in *a = (const void *)entry->ifa_addr, *m = (const void *)entry->ifa_netmask;
        out->addr = nornic_addr_from_v4((const uint8_t *)&a->sin_addr);
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

void smcr_addrs_read(void)
{
    struct ifaddrs *list;
    if (getifaddrs(&list) != 0)
        return;
    smcr_addrs_forget();
    addrs = list;
}

void smcr_addrs_forget(void)
{
    if (addrs)
        freeifaddrs(addrs);
    addrs = NULL;
}

unsigned smcr_addrs_networks(const char *ifname, struct smcr_network out[SMCR_MAX_NETWORKS])
{
    unsigned n = 0;
    for (const struct ifaddrs *e = addrs; e && n < SMCR_MAX_NETWORKS; e = e->ifa_next)
        if (strcmp(e->ifa_name, ifname) == 0 && read_network(e, &out[n]))
            n++;
    return n;
}

const char *smcr_addrs_owner(const struct nornic_addr *addr)
{
    struct smcr_network network;
    for (const struct ifaddrs *e = addrs; e; e = e->ifa_next)
        if (read_network(e, &network) && nornic_addr_equal(&network.addr, addr))
            return e->ifa_name;
    return NULL;
}
