/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/sockaddr.h"

#include <string.h>

socklen_t net_sockaddr_set(union net_sockaddr *out, const struct nornic_addr *addr, uint16_t port,
                           unsigned ifindex)
{
    *out = (union net_sockaddr){.v6 = {.sin6_family = AF_INET6}};
    if (nornic_addr_is_v4(addr)) {
        out->v4 = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&out->v4.sin_addr, addr->b + 12, 4);
        return sizeof out->v4;
    }
    bool has_scope =
        nornic_addr_is_link_local(addr) ||
        (addr->b[0] == 0xff && (addr->b[1] & 0xf) <= 2); /* RFC 4291, 2.7: of link or interface */
    out->v6.sin6_port = htons(port);
    out->v6.sin6_scope_id = has_scope ? ifindex : 0;
    memcpy(&out->v6.sin6_addr, addr->b, 16);
    return sizeof out->v6;
}

struct nornic_addr net_sockaddr_get(const union net_sockaddr *from, uint16_t *port)
{
    struct nornic_addr addr;
    if (from->any.sa_family == AF_INET) {
        *port = ntohs(from->v4.sin_port);
        return nornic_addr_from_v4((const uint8_t *)&from->v4.sin_addr);
    }
    *port = ntohs(from->v6.sin6_port);
    memcpy(addr.b, &from->v6.sin6_addr, sizeof addr.b);
    return addr;
}
