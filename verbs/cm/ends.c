/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses: their forms, and the ends that an id shows. */
#include <arpa/inet.h>
#include <string.h>

#include "verbs/cm/cma.h"

/* --- forms --- */

bool cma_addr_of(const struct sockaddr *from, struct nornic_addr *addr, uint16_t *port)
{
    if (from && from->sa_family == AF_INET) {
        const struct sockaddr_in *v4 = (const struct sockaddr_in *)(const void *)from;
        uint8_t bytes[4];
        memcpy(bytes, &v4->sin_addr, sizeof bytes);
        *addr = nornic_addr_from_v4(bytes);
        *port = ntohs(v4->sin_port);
        return true;
    }
    if (from && from->sa_family == AF_INET6) {
        const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)from;
        memcpy(addr->b, &v6->sin6_addr, sizeof addr->b);
        *port = ntohs(v6->sin6_port);
        return true;
    }
    return false;
}

unsigned cma_scope_of(const struct sockaddr *addr)
{
    const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)(const void *)addr;
    const bool is_local = addr && addr->sa_family == AF_INET6 &&
                          (IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr) || IN6_IS_ADDR_MC_LINKLOCAL(&v6->sin6_addr));
    return is_local ? v6->sin6_scope_id : 0;
}

void cma_sockaddr_of(const struct nornic_addr *addr, uint16_t port, struct sockaddr *out)
{
    if (nornic_addr_is_v4(addr)) {
        struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
        memcpy(&v4.sin_addr, addr->b + 12, sizeof v4.sin_addr);
        memcpy(out, &v4, sizeof v4);
    } else {
        struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
        memcpy(&v6.sin6_addr, addr->b, sizeof v6.sin6_addr);
        memcpy(out, &v6, sizeof v6);
    }
}

socklen_t cma_sockaddr_bytes(const struct sockaddr *addr)
{
    return addr->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);
}

void cma_sockaddr_set_port(struct sockaddr *addr, uint16_t port)
{
    if (addr->sa_family == AF_INET6)
        ((struct sockaddr_in6 *)(void *)addr)->sin6_port = htons(port);
    else
        ((struct sockaddr_in *)(void *)addr)->sin_port = htons(port);
}

bool cma_is_any(const struct nornic_addr *addr)
{
    return nornic_addr_is_v4_any(addr) || nornic_addr_is_zero(addr);
}

/* --- addresses as programs see them --- */

int cma_find_addr(const struct cma_device *device, const struct nornic_addr *addr, unsigned ifindex)
{
    struct nornic_addr own;
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++)
        if (nornic_dev_query_addr(device->nornic, i, &own) == 0 && nornic_addr_equal(&own, addr) &&
            (!ifindex || nornic_dev_query_ifindex(device->nornic, i) == ifindex))
            return (int)i;
    return -1;
}

static unsigned ifindex_of(const struct cma_device *device, const struct nornic_addr *addr)
{
    int index = cma_find_addr(device, addr, 0);
    return index < 0 ? 0 : nornic_dev_query_ifindex(device->nornic, (unsigned)index);
}

/* A link-local address says of which interface it is. */
static void show_scope(struct sockaddr *addr, unsigned ifindex)
{
    struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)(void *)addr;
    if (addr->sa_family == AF_INET6 && IN6_IS_ADDR_LINKLOCAL(&v6->sin6_addr))
        v6->sin6_scope_id = ifindex;
}

/* Returns the P_Key of an id, in network order. Before the peer has chosen one it is entry 0 of the table. */
static __be16 pkey_of(const struct cma_id *id)
{
    struct nornic_qp_attr attr;
    uint32_t mask;
    uint16_t pkey = NORNIC_PKEY_DEFAULT;
    if (nornic_cm_id_qp_attr(id->nornic, NORNIC_QPS_INIT, &attr, &mask) != 0)
        attr.pkey_index = 0;
    (void)nornic_dev_query_pkey(id->device->nornic, attr.pkey_index, &pkey); /* each device has entry 0 */
    return htons(pkey);
}

void cma_show_ends(struct cma_id *id)
{
    struct nornic_cm_endpoints ends;
    struct rdma_addr *addr = &id->base.route.addr;
    nornic_cm_id_endpoints(id->nornic, &ends);
    if (!nornic_addr_is_zero(&ends.local)) {
        cma_sockaddr_of(&ends.local, ends.local_port, &addr->src_addr);
        memcpy(addr->addr.ibaddr.sgid.raw, ends.local.b, sizeof ends.local.b);
    }
    if (!nornic_addr_is_zero(&ends.remote)) {
        cma_sockaddr_of(&ends.remote, ends.remote_port, &addr->dst_addr);
        memcpy(addr->addr.ibaddr.dgid.raw, ends.remote.b, sizeof ends.remote.b);
    }
    const unsigned ifindex = ifindex_of(id->device, &ends.local);
    show_scope(&addr->src_addr, ifindex);
    show_scope(&addr->dst_addr, ifindex);
    addr->addr.ibaddr.pkey = pkey_of(id);
}

/* Writes the path of an id. Ethernet has no records of paths: the values are the port's. */
void cma_show_path(struct cma_id *id)
{
    struct nornic_port_attr port;
    nornic_dev_query_port(id->device->nornic, &port, sizeof port);
    id->path = (struct ibv_sa_path_rec){
        .dgid = id->base.route.addr.addr.ibaddr.dgid,
        .sgid = id->base.route.addr.addr.ibaddr.sgid,
        .hop_limit = 64,
        .reversible = 1,
        .numb_path = 1,
        .pkey = pkey_of(id),
        .mtu_selector = 2, /* exactly */
        .mtu = (uint8_t)port.active_mtu,
        .rate_selector = 2,
        .rate = IBV_RATE_100_GBPS,
        .packet_life_time_selector = 2,
        .packet_life_time = 16,
    };
    id->base.route.path_rec = &id->path;
    id->base.route.num_paths = 1;
}

__be16 rdma_get_src_port(struct rdma_cm_id *id)
{
    const struct rdma_addr *addr = &id->route.addr;
    return addr->src_addr.sa_family == AF_INET6 ? addr->src_sin6.sin6_port : addr->src_sin.sin_port;
}

__be16 rdma_get_dst_port(struct rdma_cm_id *id)
{
    const struct rdma_addr *addr = &id->route.addr;
    return addr->dst_addr.sa_family == AF_INET6 ? addr->dst_sin6.sin6_port : addr->dst_sin.sin_port;
}
