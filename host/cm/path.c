/* SPDX-License-Identifier: BSD-2-Clause */
/* Which GID a connection is made from, and its path. Under the device's lock. */
#include <errno.h>

#include "host/cm/inner.h"
#include "host/dev/dev.h"

#define HOP_LIMIT 64 /* as Linux connects (ROCE-CM-90) and sends to groups (ROCE-UD-24) */

struct roce_cm_path host_cm_path(unsigned sgid_index, const struct nornic_addr *dst,
                                 const struct nornic_mac *mac)
{
    return (struct roce_cm_path){
        .av = {.dgid = *dst, .sgid_index = (uint8_t)sgid_index, .hop_limit = HOP_LIMIT, .dst_mac = *mac},
        .remote_qpn = 1,
    };
}

int host_cm_find_gid(const struct host_cm *cm, const struct nornic_addr *addr)
{
    host_dev_assert_held(cm->dev);
    return roce_dev_gid_find(cm->dev->engine, addr, &cm->config.gid_type, NULL);
}

/* A group of link-local scope, or smaller (RFC 4291, 2.7). */
static bool is_local_group(const struct nornic_addr *group)
{
    return !nornic_addr_is_v4(group) && (group->b[1] & 0xf) <= 2;
}

int host_cm_gid_for(const struct host_cm *cm, const struct nornic_addr *dst)
{
    int any = -ENOENT;
    bool local = nornic_addr_is_multicast(dst) ? is_local_group(dst) : nornic_addr_is_link_local(dst);
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        const struct nornic_gid *gid = roce_dev_gid_get(cm->dev->engine, i);
        if (!gid || gid->type != cm->config.gid_type ||
            nornic_addr_is_v4(&gid->addr) != nornic_addr_is_v4(dst))
            continue;
        if (nornic_addr_is_link_local(&gid->addr) == local)
            return (int)i;
        any = any < 0 ? (int)i : any;
    }
    return nornic_addr_is_multicast(dst) ? any : -ENOENT;
}
