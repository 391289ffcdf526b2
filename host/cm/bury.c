/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections that a dead process left, by a CM of the keeper. */
#include "host/cm/bury.h"

#include "host/cm/inner.h"
#include "host/dev/dev.h"

unsigned host_cm_bury(struct host_cm *cm, const struct roce_cm_connection *connections, unsigned count)
{
    unsigned begun = 0;
    host_dev_lock(cm->dev);
    for (unsigned i = 0; i < count; i++) {
        struct roce_cm_connection c = connections[i];
        int gid = host_cm_find_gid(cm, &c.local);
        if (gid < 0)
            continue;
        c.path.av.sgid_index = (uint8_t)gid;
        begun += roce_cm_bury(cm->engine, &c, host_now_ns()) == 0;
    }
    host_dev_unlock(cm->dev);
    return begun;
}

bool host_cm_is_burying(struct host_cm *cm)
{
    host_dev_lock(cm->dev);
    bool is_burying = roce_cm_is_sending(cm->engine) || roce_cm_count_ending(cm->engine) > 0;
    host_dev_unlock(cm->dev);
    return is_burying;
}
