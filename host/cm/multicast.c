/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of ids: the interface is a member, the application learns where to send (ROCE-UD-24). */
#include <errno.h>
#include <stdlib.h>

#include "host/cm/inner.h"
#include "host/dev/dev.h"
#include "host/roce/multicast.h"
#include "roce/wire.h"

static struct host_cm_group **find(struct host_cm_id *id, const struct nornic_addr *addr)
{
    struct host_cm_group **at = &id->groups;
    while (*at && !nornic_addr_equal(&(*at)->addr, addr))
        at = &(*at)->next;
    return at;
}

/* Under the device's lock. */
static int join(struct host_cm_id *id, const struct nornic_addr *addr, struct host_cm_group *group,
                struct host_cm_record *record, struct nornic_error *why)
{
    struct nornic_mac mac = nornic_addr_mcast_mac(addr);
    struct host_cm_group **at = find(id, addr);
    bool has_gid = id->step == HOST_CM_ADDR_RESOLVED || id->step == HOST_CM_ROUTE_RESOLVED;
    int sgid_index = has_gid ? id->route.path.av.sgid_index : host_cm_gid_for(id->cm, addr);
    if (id->step == HOST_CM_USED || id->step == HOST_CM_ADDR_QUERY)
        return net_error_set(why, EINVAL, "the id is in use");
    if (*at)
        return net_error_set(why, EEXIST, "the id is in that group already");
    if (sgid_index < 0)
        return net_error_set(why, EADDRNOTAVAIL, "%s has no address of the group's family",
                             id->cm->dev->port->name);
    if (!nornic_addr_is_multicast(addr))
        return net_error_set(why, EINVAL, "that is no multicast group");
    int err = group->is_send_only ? 0 : host_multicast_join(id->cm->dev, addr, why);
    if (err)
        return err;
    group->addr = *addr;
    *at = group;
    record->event.values.path = host_cm_path((unsigned)sgid_index, addr, &mac);
    record->event.values.path.remote_qpn = record->event.values.qpn = ROCE_MULTICAST_QPN; /* ROCE-UD-20 */
    record->event.values.qkey = NORNIC_CM_QKEY;
    host_cm_raise(record);
    return 0;
}

int host_cm_join_multicast(struct host_cm_id *id, const struct nornic_addr *group, bool is_send_only,
                           struct nornic_error *why)
{
    struct host_cm_record *record = host_cm_record_new(id->cm, id, NORNIC_CM_EVENT_MULTICAST_JOIN);
    struct host_cm_group *member = calloc(1, sizeof *member);
    int err = net_error_set(why, ENOMEM, "no memory for a multicast group");
    if (record && member) {
        member->is_send_only = is_send_only;
        host_dev_lock(id->cm->dev);
        err = join(id, group, member, record, why);
        host_dev_unlock(id->cm->dev);
    }
    if (err) {
        free(record);
        free(member);
    }
    return err;
}

static void leave(struct host_cm_id *id, struct host_cm_group **at)
{
    struct host_cm_group *group = *at;
    *at = group->next;
    if (!group->is_send_only)
        host_multicast_leave(id->cm->dev, &group->addr);
    free(group);
}

int host_cm_leave_multicast(struct host_cm_id *id, const struct nornic_addr *group)
{
    host_dev_lock(id->cm->dev);
    struct host_cm_group **at = find(id, group);
    bool is_member = *at != NULL;
    if (is_member)
        leave(id, at);
    host_dev_unlock(id->cm->dev);
    return is_member ? 0 : -ENOENT;
}

void host_cm_leave_all(struct host_cm_id *id)
{
    while (id->groups)
        leave(id, &id->groups);
}
