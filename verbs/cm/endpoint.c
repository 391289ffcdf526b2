/* SPDX-License-Identifier: BSD-2-Clause */
/* rdma_getaddrinfo(), and endpoints made of what it finds. */
#include <errno.h>
#include <netdb.h>
#include <rdma/rdma_verbs.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cma.h"

/* --- names into addresses --- */

static int copy_addr(const struct sockaddr *from, socklen_t bytes, struct sockaddr **out,
                     socklen_t *out_bytes)
{
    *out = bytes ? malloc(bytes) : NULL;
    if (bytes && !*out)
        return -1;
    if (bytes)
        memcpy(*out, from, bytes);
    *out_bytes = bytes;
    return 0;
}

static int lookup(const char *node, const char *service, const struct rdma_addrinfo *hints,
                  struct addrinfo **out)
{
    const int flags = hints ? hints->ai_flags : 0;
    const struct addrinfo wanted = {
        .ai_family = hints && (flags & RAI_FAMILY) ? hints->ai_family : AF_UNSPEC,
        .ai_socktype = hints && hints->ai_port_space == RDMA_PS_UDP ? SOCK_DGRAM : SOCK_STREAM,
        .ai_flags = (flags & RAI_PASSIVE ? AI_PASSIVE : 0) | (flags & RAI_NUMERICHOST ? AI_NUMERICHOST : 0),
    };
    return getaddrinfo(node, service, &wanted, out);
}

static void set_kind(struct rdma_addrinfo *out, const struct rdma_addrinfo *hints)
{
    int ps = hints ? hints->ai_port_space : 0, type = hints ? hints->ai_qp_type : 0;
    if (!ps)
        ps = type == IBV_QPT_UD ? RDMA_PS_UDP : RDMA_PS_TCP;
    if (!type)
        type = ps == RDMA_PS_UDP ? IBV_QPT_UD : IBV_QPT_RC;
    out->ai_port_space = ps;
    out->ai_qp_type = type;
    out->ai_flags = hints ? hints->ai_flags : 0;
}

int rdma_getaddrinfo(const char *node, const char *service, const struct rdma_addrinfo *hints,
                     struct rdma_addrinfo **res)
{
    struct addrinfo *found = NULL;
    bool is_passive = hints && (hints->ai_flags & RAI_PASSIVE);
    struct rdma_addrinfo *out = calloc(1, sizeof *out);
    if (!out)
        return cma_fail(ENOMEM, "no memory for an address");
    if (!node && !service && !hints) {
        free(out);
        return cma_fail(EINVAL, "neither a name nor a service");
    }
    set_kind(out, hints);
    int err = node || service ? lookup(node, service, hints, &found) : 0;
    if (err) {
        free(out);
        verbs_fail(EADDRNOTAVAIL, "%s, service %s: %s", node ? node : "any host", service ? service : "none",
                   gai_strerror(err));
        return err; /* getaddrinfo()'s, as programs expect */
    }
    out->ai_family = found ? found->ai_family : hints ? hints->ai_family : AF_UNSPEC;
    if (found)
        err = is_passive ? copy_addr(found->ai_addr, found->ai_addrlen, &out->ai_src_addr, &out->ai_src_len)
                         : copy_addr(found->ai_addr, found->ai_addrlen, &out->ai_dst_addr, &out->ai_dst_len);
    else if (hints && hints->ai_dst_len)
        err = copy_addr(hints->ai_dst_addr, hints->ai_dst_len, &out->ai_dst_addr, &out->ai_dst_len);
    if (!err && !out->ai_src_len && hints && hints->ai_src_len)
        err = copy_addr(hints->ai_src_addr, hints->ai_src_len, &out->ai_src_addr, &out->ai_src_len);
    if (found)
        freeaddrinfo(found);
    if (err) {
        rdma_freeaddrinfo(out);
        return cma_fail(ENOMEM, "no memory for an address");
    }
    *res = out;
    return 0;
}

void rdma_freeaddrinfo(struct rdma_addrinfo *res)
{
    while (res) {
        struct rdma_addrinfo *next = res->ai_next;
        free(res->ai_src_addr);
        free(res->ai_dst_addr);
        free(res->ai_src_canonname);
        free(res->ai_dst_canonname);
        free(res->ai_route);
        free(res->ai_connect);
        free(res);
        res = next;
    }
}

/* --- endpoints: synchronous ids with all that they need --- */

static int set_up_passive(struct cma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
                          const struct ibv_qp_init_attr *init)
{
    if (rdma_bind_addr(&id->base, res->ai_src_addr))
        return -1;
    if (pd)
        id->base.pd = pd;
    if (!init)
        return 0;
    id->ep_attr = malloc(sizeof *init);
    if (!id->ep_attr)
        return cma_fail(ENOMEM, "no memory for an endpoint");
    *id->ep_attr = *init;
    id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
    return 0;
}

static int set_up_active(struct cma_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
                         struct ibv_qp_init_attr *init)
{
    if (rdma_resolve_addr(&id->base, res->ai_src_addr, res->ai_dst_addr, CMA_RESOLVE_MS) ||
        rdma_resolve_route(&id->base, CMA_RESOLVE_MS))
        return -1;
    if (init) {
        init->qp_type = (enum ibv_qp_type)res->ai_qp_type;
        if (rdma_create_qp(&id->base, pd, init))
            return -1;
    }
    if (!res->ai_connect_len)
        return 0;
    if (res->ai_connect_len > UINT8_MAX)
        return cma_fail(EINVAL, "%zu bytes to connect with", (size_t)res->ai_connect_len);
    void *data = malloc(res->ai_connect_len);
    if (!data)
        return cma_fail(ENOMEM, "no memory for an endpoint");
    memcpy(data, res->ai_connect, res->ai_connect_len);
    id->ep_data = data;
    id->ep_data_bytes = (uint8_t)res->ai_connect_len;
    return 0;
}

/* Whether a port space has connections, or datagrams, of a type of queue pairs. */
static bool is_pair(int ps, int type)
{
    return (ps == RDMA_PS_TCP && type == IBV_QPT_RC) || (ps == RDMA_PS_UDP && type == IBV_QPT_UD) ||
           (ps == RDMA_PS_IB && (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND || type == IBV_QPT_XRC_RECV));
}

int rdma_create_ep(struct rdma_cm_id **out, struct rdma_addrinfo *res, struct ibv_pd *pd,
                   struct ibv_qp_init_attr *init)
{
    if (!is_pair(res->ai_port_space, res->ai_qp_type))
        return cma_fail(EINVAL, "queue pairs of type %d in port space 0x%04x", res->ai_qp_type,
                        (unsigned)res->ai_port_space);
    if (res->ai_route_len)
        return cma_fail(ENOSYS, "routes of InfiniBand are not taken: Ethernet has none");
    struct cma_id *id =
        cma_id_new(NULL, NULL, (enum rdma_port_space)res->ai_port_space, (enum ibv_qp_type)res->ai_qp_type);
    if (!id)
        return -1;
    int err =
        res->ai_flags & RAI_PASSIVE ? set_up_passive(id, res, pd, init) : set_up_active(id, res, pd, init);
    if (err) {
        err = errno;
        rdma_destroy_ep(&id->base);
        errno = err;
        return -1;
    }
    *out = &id->base;
    return 0;
}

void rdma_destroy_ep(struct rdma_cm_id *id)
{
    if (id->qp)
        rdma_destroy_qp(id);
    if (id->srq)
        rdma_destroy_srq(id);
    rdma_destroy_id(id);
}
