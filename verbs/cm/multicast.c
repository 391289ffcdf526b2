/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of ids. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/cm/cma.h"

static struct cma_group *find(struct cma_id *id, const struct nornic_addr *addr)
{
    struct cma_group *group;
    for (group = LIST_FIRST(&id->groups); group; group = LIST_NEXT(group, entry))
        if (nornic_addr_equal(&group->addr, addr))
            break;
    return group;
}

/* Why an id cannot join a group: 0 or an errno value, with a reason. */
static int obstacle(struct cma_id *id, const struct nornic_addr *group, unsigned ifindex, const char **why)
{
    struct nornic_addr own;
    *why = "the id is not of datagrams";
    if (id->base.qp_type != IBV_QPT_UD)
        return EINVAL;
    *why = "the id is on no device";
    if (!id->device)
        return EINVAL;
    *why = "its scope is another interface's";
    if (ifindex && !cma_device_is_on(id->device, ifindex, &own))
        return ENODEV;
    *why = "the id has joined it";
    if (find(id, group))
        return EEXIST;
    *why = "no connection manager's id can be had";
    return cma_need_nornic(id);
}

static int join(struct cma_id *id, const struct sockaddr *addr, bool is_send_only, void *context)
{
    struct nornic_error why = {""};
    const char *reason;
    struct nornic_addr wanted;
    uint16_t port;
    if (cma_need_own(id))
        return -1;
    if (!cma_addr_of(addr, &wanted, &port))
        return cma_fail(EINVAL, "the group cannot be joined: its address is neither IPv4 nor IPv6");
    int err = obstacle(id, &wanted, cma_scope_of(addr), &reason);
    if (err)
        return cma_fail(err, "the group cannot be joined: %s", reason);
    struct cma_group *group = calloc(1, sizeof *group);
    if (!group)
        return cma_fail(ENOMEM, "no memory for a group");
    *group = (struct cma_group){.addr = wanted, .context = context, .is_send_only = is_send_only};
    cma_lock();
    LIST_INSERT_HEAD(&id->groups, group, entry);
    cma_unlock();
    err = is_send_only ? -nornic_cm_id_join_mcast_to_send(id->nornic, &wanted, &why)
                       : -nornic_cm_id_join_mcast(id->nornic, &wanted, &why);
    if (err) {
        cma_lock();
        LIST_REMOVE(group, entry);
        cma_unlock();
        free(group);
        return cma_fail(err, "the group cannot be joined: %s", why.text);
    }
    return cma_complete(id);
}

int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
    return join(cma_id_of(id), addr, false, context);
}

int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr, void *context)
{
    const uint32_t needed = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
    if (attr->comp_mask & ~needed)
        return cma_fail(EOPNOTSUPP, "join_multicast_ex: comp_mask 0x%x", attr->comp_mask);
    if (attr->comp_mask != needed || attr->join_flags > RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER)
        return cma_fail(EINVAL, "join_multicast_ex: comp_mask 0x%x, flags %u", attr->comp_mask,
                        attr->join_flags);
    return join(cma_id_of(id), attr->addr, attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER,
                context);
}

int rdma_leave_multicast(struct rdma_cm_id *base, struct sockaddr *addr)
{
    struct cma_id *id = cma_id_of(base);
    struct nornic_addr wanted;
    uint16_t port;
    if (cma_is_inherited(id))
        return 0;
    if (!cma_addr_of(addr, &wanted, &port))
        return cma_fail(EINVAL, "a group's address is IPv4 or IPv6");
    struct cma_group *group = find(id, &wanted);
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
