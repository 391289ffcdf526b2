/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cma.h"

/* The connection manager's id of an id that is bound and has none. */
static int need_nornic(struct cma_id *id)
{
    if (id->nornic)
        return 0;
    return id->device
               ? -nornic_cm_id_create(id->device->cm, (enum nornic_port_space)id->base.ps, id, &id->nornic)
               : EINVAL;
}

static struct cma_group *find(struct cma_id *id, const struct nornic_addr *addr)
{
    struct cma_group *group;
    for (group = LIST_FIRST(&id->groups); group; group = LIST_NEXT(group, entry))
        if (nornic_addr_equal(&group->addr, addr))
            break;
    return group;
}

int rdma_join_multicast(struct rdma_cm_id *base, struct sockaddr *addr, void *context)
{
    struct cma_id *id = cma_id_of(base);
    struct nornic_error why = {""};
    uint16_t port;
    if (cma_need_own(id))
        return -1;
    struct cma_group *group = calloc(1, sizeof *group);
    if (!group)
        return cma_fail(ENOMEM, "no memory for a group");
    bool is_ip = cma_addr_of(addr, &group->addr, &port);
    int err = is_ip ? need_nornic(id) : EAFNOSUPPORT;
    const char *reason = is_ip ? "the id is on no device" : "its address is neither IPv4 nor IPv6";
    if (!err && find(id, &group->addr)) {
        err = EEXIST;
        reason = "the id has joined it";
    }
    if (err) {
        free(group);
        return cma_fail(err, "the group cannot be joined: %s", reason);
    }
    group->context = context;
    cma_lock();
    LIST_INSERT_HEAD(&id->groups, group, entry);
    cma_unlock();
    err = -nornic_cm_id_join_mcast(id->nornic, &group->addr, &why);
    if (err) {
        cma_lock();
        LIST_REMOVE(group, entry);
        cma_unlock();
        free(group);
        return cma_fail(err, "the group cannot be joined: %s", why.text);
    }
    return cma_complete(id);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if (attr->comp_mask != needed || attr->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
        return cma_fail(EINVAL, "join_multicast_ex: comp_mask 0x%x, flags %u", attr->comp_mask,
                        attr->join_flags);
    return rdma_join_multicast(id, attr->addr, context);
}

int rdma_leave_multicast(struct rdma_cm_id *base, struct sockaddr *addr)
{
    struct cma_id *id = cma_id_of(base);
    struct nornic_addr wanted;
    uint16_t port;
    if (cma_is_inherited(id))
        return 0;
    struct cma_group *group = cma_addr_of(addr, &wanted, &port) ? find(id, &wanted) : NULL;
    if (!group)
        return cma_fail(EADDRNOTAVAIL, "the id has not joined that group");
    if (group->is_attached && base->qp) {
        union ibv_gid gid;
        memcpy(gid.raw, wanted.b, sizeof gid.raw);
        (void)ibv_detach_mcast(base->qp, &gid, 0); /* the group goes all the same */
    }
    cma_lock();
    LIST_REMOVE(group, entry);
    cma_unlock();
    int err = -nornic_cm_id_leave_mcast(id->nornic, &wanted);
    free(group);
    return err ? cma_fail(err, "the group cannot be left") : 0;
}
