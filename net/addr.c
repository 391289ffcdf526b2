/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/addr.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

const char *net_addr_str(const struct net_addr *a, char *buf)
{
    if (net_addr_is_v4(a))
        inet_ntop(AF_INET, a->b + 12, buf, NET_ADDR_STR_SIZE);
    else
        inet_ntop(AF_INET6, a->b, buf, NET_ADDR_STR_SIZE);
    return buf;
}

int net_addr_parse(const char *text, struct net_addr *out)
{
    uint8_t v4[4];
    if (inet_pton(AF_INET, text, v4) == 1) {
        *out = net_addr_from_v4(v4);
        return 0;
    }
    struct net_addr v6;
    if (inet_pton(AF_INET6, text, v6.b) == 1) {
        *out = v6;
        return 0;
    }
    return -EINVAL;
}

const char *net_mac_str(const struct net_mac *m, char *buf)
{
    const uint8_t *b = m->b;
    snprintf(buf, NET_MAC_STR_SIZE, "%02x:%02x:%02x:%02x:%02x:%02x", b[0], b[1], b[2], b[3], b[4], b[5]);
    return buf;
}
