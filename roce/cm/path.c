/* SPDX-License-Identifier: BSD-2-Clause */
/* LAP and APR: alternate paths are not offered (ROCE-CM-43), and who asks is told so. LIDs are not looked at,
 * and no status is about them (ROCE-CM-42). */
#include "roce/cm/id.h"

static void answer(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                   enum roce_cm_apr_status status, uint64_t now_ns)
{
    struct roce_cm_mad apr = {.hdr = roce_cm_hdr(ROCE_CM_APR, mad->hdr.tid)};
    apr.apr.local_comm_id = mad->lap.remote_comm_id;
    apr.apr.remote_comm_id = mad->lap.local_comm_id;
    apr.apr.status = (uint8_t)status;
    roce_cm_put(cm, path, &apr, now_ns);
}

void roce_cm_rx_lap(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    const struct roce_cm_lap *lap = &mad->lap;
    struct roce_cm_id *id = roce_cm_rx_find(cm, path, lap->remote_comm_id, lap->local_comm_id);
    if (!id) {
        answer(cm, path, mad, ROCE_CM_APR_INVALID_COMM_ID, now_ns);
        return;
    }
    if (id->state != ROCE_CM_ESTABLISHED_STATE) {
        roce_cm_count(cm, rx_unexpected);
        return;
    }
    bool right = lap->remote_qpn == id->local_qpn;
    answer(cm, path, mad, right ? ROCE_CM_APR_UNSUPPORTED : ROCE_CM_APR_QPN_MISMATCH, now_ns);
}

/* Nothing here sends a LAP. */
void roce_cm_rx_apr(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    (void)now_ns;
    if (roce_cm_rx_find(cm, path, mad->apr.remote_comm_id, mad->apr.local_comm_id))
        roce_cm_count(cm, rx_unexpected);
}
