/* SPDX-License-Identifier: BSD-2-Clause */
/* Service id resolution: which QPN and Q_Key serve a port of the UDP space (ROCE-CM-62). */
#include <errno.h>

#include "base/base.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

/* --- the side that is asked --- */

static void refuse(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                   enum roce_cm_sidr_status status, uint64_t now_ns)
{
    struct roce_cm_mad answer = {.hdr = roce_cm_hdr(ROCE_CM_SIDR_REP, mad->hdr.tid)};
    if (!roce_cm_may_refuse(cm, mad->sidr_req.service_id))
        return;
    answer.sidr_rep.request_id = mad->sidr_req.request_id;
    answer.sidr_rep.service_id = mad->sidr_req.service_id;
    answer.sidr_rep.status = (uint8_t)status;
    roce_cm_put(cm, path, &answer, now_ns);
}

/* How long an answer is kept, in case that it was lost: for four tries of the peer, one of its round trips
 * each. What comes later is a request of its own. */
static uint64_t linger_ns(const struct roce_cm *cm)
{
    return 4 * roce_cm_round_trip_ns(&cm->config);
}

static void rx_duplicate(struct roce_cm *cm, struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_count(cm, rx_duplicate);
    if (id->state != ROCE_CM_SIDR_REP_SENT_STATE)
        return;
    roce_cm_resend(id, now_ns);
    rdma_timer_arm(&cm->timers, &id->timer, now_ns + linger_ns(cm));
}

static void begin(struct roce_cm_id *id, struct roce_cm_id *listener, const struct roce_cm_path *path,
                  const struct roce_cm_mad *mad, uint16_t src_port)
{
    const struct roce_cm_sidr_req *req = &mad->sidr_req;
    struct roce_cm *cm = id->cm;
    id->was_used = true;
    roce_cm_set_state(id, ROCE_CM_SIDR_REQ_RCVD_STATE);
    id->ctx = listener->ctx;
    id->path = *path;
    id->local_addr = roce_dev_gid_get(cm->dev, path->av.sgid_index)->addr;
    id->local_port = listener->local_port;
    id->remote_port = src_port;
    id->service_id = req->service_id;
    id->remote_comm_id = req->request_id;
    id->tid = mad->hdr.tid;
    roce_cm_table_add(&cm->by_request, &id->by_request, roce_cm_sidr_key(&path->av.dgid, req->request_id),
                      id);
    roce_cm_child_add(listener, id);
    struct roce_cm_event *event = roce_cm_event_new(id, NORNIC_CM_EVENT_CONNECT_REQUEST, 0);
    roce_cm_event_private(event, req->private_data + ROCE_CM_IP_HDR_BYTES, ROCE_CM_SIDR_REQ_USER_BYTES);
}

void roce_cm_rx_sidr_req(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                         uint64_t now_ns)
{
    const struct roce_cm_sidr_req *req = &mad->sidr_req;
    const struct nornic_gid *here = roce_dev_gid_get(cm->dev, path->av.sgid_index);
    struct roce_cm_id *id =
        roce_cm_table_find(&cm->by_request, roce_cm_sidr_key(&path->av.dgid, req->request_id));
    if (id) {
        rx_duplicate(cm, id, now_ns);
        return;
    }
    struct roce_cm_id *listener = here ? roce_cm_listener(cm, req->service_id, &here->addr) : NULL;
    if (!listener || listener->space != NORNIC_PS_UDP) {
        refuse(cm, path, mad, ROCE_CM_SIDR_UNSUPPORTED, now_ns);
        return;
    }
    struct roce_cm_ip ip;
    struct nornic_addr dst;
    roce_cm_ip_get(&ip, req->private_data);
    if (ip.major != 0 || !roce_cm_ip_addr_get(&dst, ip.dst, ip.ip_version) ||
        !nornic_addr_equal(&dst, &here->addr)) {
        refuse(cm, path, mad, ROCE_CM_SIDR_REJECTED, now_ns);
        return;
    }
    if (listener->pending >= listener->backlog) {
        roce_cm_count(cm, drop_backlog);
        return;
    }
    id = roce_cm_id_new(cm, NORNIC_PS_UDP);
    if (!id) {
        roce_cm_count(cm, drop_no_id);
        return;
    }
    begin(id, listener, path, mad, ip.src_port);
}

static void answered(struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_set_state(id, ROCE_CM_SIDR_REP_SENT_STATE);
    rdma_timer_arm(&id->cm->timers, &id->timer, now_ns + linger_ns(id->cm));
    roce_cm_child_settle(id);
}

int roce_cm_sidr_accept(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns)
{
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    if (!roce_cm_private_fits(param->private_data, param->private_data_len, ROCE_CM_SIDR_REP_PRIVATE_BYTES))
        return -EINVAL;
    for (unsigned i = 0; i < array_len(steps); i++) {
        int err = roce_cm_qp_move(id, steps[i], now_ns);
        if (err)
            return err;
    }
    roce_cm_send_sidr_rep(id, ROCE_CM_SIDR_VALID, param->private_data, param->private_data_len, now_ns);
    answered(id, now_ns);
    return 0;
}

int roce_cm_sidr_reject(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns)
{
    if (!roce_cm_private_fits(data, len_bytes, ROCE_CM_SIDR_REP_PRIVATE_BYTES))
        return -EINVAL;
    roce_cm_send_sidr_rep(id, ROCE_CM_SIDR_REJECTED, data, len_bytes, now_ns);
    answered(id, now_ns);
    return 0;
}

/* --- the side that asks --- */

void roce_cm_rx_sidr_rep(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                         uint64_t now_ns)
{
    const struct roce_cm_sidr_rep *rep = &mad->sidr_rep;
    struct roce_cm_id *id = roce_cm_rx_find_ours(cm, path, rep->request_id);
    (void)now_ns;
    if (!id)
        return;
    if (id->state != ROCE_CM_SIDR_REQ_SENT_STATE) {
        roce_cm_count(cm, rx_unexpected);
        return;
    }
    if (rep->status == ROCE_CM_SIDR_VALID) {
        id->remote_qpn = rep->qpn;
        id->remote_qkey = rep->qkey;
    }
    roce_cm_event_tell(
        id, rep->status == ROCE_CM_SIDR_VALID ? NORNIC_CM_EVENT_ESTABLISHED : NORNIC_CM_EVENT_UNREACHABLE,
        rep->status, rep->private_data, ROCE_CM_SIDR_REP_PRIVATE_BYTES);
    roce_cm_to_idle(id);
}
