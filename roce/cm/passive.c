/* SPDX-License-Identifier: BSD-2-Clause */
/* The side that is asked: REQ, the application's answer, RTU. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "roce/cm/id.h"
#include "roce/cm/note.h"

/* Response timeouts that a peer may choose for us, as codes: 34 ms to 17 s, so that it can make us neither
 * send without pause nor wait for hours. */
#define PEER_TIMEOUT_MIN 13
#define PEER_TIMEOUT_MAX 22

static uint8_t clamp(uint8_t value, uint8_t low, uint8_t high)
{
    return value < low ? low : value > high ? high : value;
}

/* --- REQ --- */

/* ROCE-CM-50: the peer has not heard from us. */
static void rx_duplicate(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_path *path,
                         const struct roce_cm_mad *mad, uint64_t now_ns)
{
    roce_cm_count(cm, rx_duplicate);
    if (id->state == ROCE_CM_REQ_RCVD_STATE && !cm->config.no_mra) {
        roce_cm_set_state(id, ROCE_CM_MRA_REQ_SENT_STATE);
        roce_cm_send_mra(id, cm->config.mra_timeout, NULL, 0, now_ns);
    } else if (id->state == ROCE_CM_MRA_REQ_SENT_STATE) {
        roce_cm_resend(id, now_ns);
    } else if (id->state == ROCE_CM_TIMEWAIT_STATE) {
        struct roce_cm_refusal refusal = {.remote_comm_id = mad->req.local_comm_id,
                                          .reason = ROCE_CM_REJ_STALE_CONN};
        roce_cm_refuse(cm, path, mad->hdr.tid, &refusal, now_ns);
    }
}

static int find_pkey(const struct roce_cm *cm, uint16_t pkey)
{
    for (unsigned i = 0; i < NORNIC_PKEY_MAX; i++) {
        uint16_t ours = roce_dev_pkey_get(cm->dev, i);
        if (ours != 0 && (ours & 0x7fff) == (pkey & 0x7fff) && ((ours | pkey) & 0x8000))
            return (int)i;
    }
    return -1;
}

/* What a REQ asks for, once it is found good. */
struct request {
    struct roce_cm_path_block primary;
    struct roce_cm_path path; /* of the connection */
    struct nornic_addr local_addr;
    uint16_t src_port;
    struct roce_cm_id *listener;
};

/* The addresses of the first path: ROCE-CM-44; LIDs are not looked at (ROCE-CM-40). Returns a reason, or 0.
 */
static uint16_t judge_path(const struct roce_cm *cm, const struct roce_cm_path *path,
                           const struct roce_cm_req *req, struct request *r)
{
    const struct roce_cm_path_block *b = &r->primary;
    memcpy(r->local_addr.b, b->remote_gid, sizeof r->local_addr.b);
    r->path = *path;
    int index = roce_dev_gid_find(cm->dev, &r->local_addr, NULL, NULL);
    if (index < 0)
        return ROCE_CM_REJ_INVALID_GID;
    const struct nornic_gid *here = roce_dev_gid_get(cm->dev, path->av.sgid_index);
    if (!here || !nornic_addr_equal(&here->addr, &r->local_addr))
        r->path.av.sgid_index = (uint8_t)index;
    if (memcmp(b->local_gid, path->av.dgid.b, sizeof b->local_gid) != 0)
        return ROCE_CM_REJ_UNSUPPORTED; /* data would go where the request did not come from */
    int pkey_index = find_pkey(cm, req->pkey);
    if (pkey_index < 0)
        return ROCE_CM_REJ_UNSUPPORTED;
    r->path.pkey_index = (uint16_t)pkey_index;
    r->path.av.traffic_class = b->traffic_class;
    r->path.av.hop_limit = b->hop_limit ? b->hop_limit : path->av.hop_limit;
    r->path.av.flow_label = b->flow_label;
    r->path.av.sl = b->sl & 7;
    return 0;
}

/* Whether the listener's queue pairs are such as the request asks for (ROCE-XRC-4). */
static bool is_of_type(const struct roce_cm_id *listener, const struct roce_cm_req *req)
{
    if (listener->qp_type == NORNIC_QPT_XRC_TGT)
        return req->transport == ROCE_CM_TRANSPORT_EXTENDED &&
               req->ext_transport == ROCE_CM_EXT_TRANSPORT_XRC;
    return req->transport == ROCE_CM_TRANSPORT_RC;
}

/* ROCE-CM-60, ROCE-CM-61. */
static uint16_t judge_service(struct roce_cm *cm, const struct roce_cm_req *req, struct request *r)
{
    struct roce_cm_ip ip;
    struct nornic_addr dst;
    r->listener = roce_cm_listener(cm, req->service_id, &r->local_addr);
    if (!r->listener || r->listener->space == NORNIC_PS_UDP)
        return ROCE_CM_REJ_INVALID_SERVICE_ID;
    if (!is_of_type(r->listener, req))
        return ROCE_CM_REJ_INVALID_TRANSPORT;
    roce_cm_ip_get(&ip, req->private_data);
    if (ip.major != 0 || !roce_cm_ip_addr_get(&dst, ip.dst, ip.ip_version) ||
        !nornic_addr_equal(&dst, &r->local_addr))
        return ROCE_CM_REJ_CONSUMER;
    r->src_port = ip.src_port;
    return 0;
}

static uint16_t judge(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_req *req,
                      struct request *r)
{
    roce_cm_path_block_get(&r->primary, req->primary);
    if (req->transport != ROCE_CM_TRANSPORT_RC && req->transport != ROCE_CM_TRANSPORT_EXTENDED)
        return ROCE_CM_REJ_INVALID_TRANSPORT;
    if (!roce_cm_qpn_is_good(req->qpn))
        return ROCE_CM_REJ_UNSUPPORTED;
    uint16_t reason = judge_path(cm, path, req, r);
    if (reason == 0)
        reason = judge_service(cm, req, r);
    if (reason != 0)
        return reason;
    /* ROCE-CM-36 */
    if (req->path_mtu == 0 || req->path_mtu > roce_cm_path_mtu(cm))
        return ROCE_CM_REJ_INVALID_MTU;
    return 0;
}

static void refuse(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                   uint16_t reason, uint64_t now_ns)
{
    const struct nornic_gid *gid = roce_dev_gid_get(cm->dev, path->av.sgid_index);
    struct roce_cm_refusal refusal = {.remote_comm_id = mad->req.local_comm_id, .reason = reason};
    if (!roce_cm_may_refuse(cm, mad->req.service_id))
        return;
    if (reason == ROCE_CM_REJ_INVALID_GID && gid) {
        refusal.info = gid->addr.b;
        refusal.info_bytes = sizeof gid->addr.b;
    }
    roce_cm_refuse(cm, path, mad->hdr.tid, &refusal, now_ns);
}

/* ROCE-CM-30 to 34: what the peer's fields mean here. */
static void take_terms(struct roce_cm_id *id, const struct roce_cm_req *req,
                       const struct roce_cm_path_block *primary)
{
    const struct roce_cm_config *config = &id->cm->config;
    id->terms = (struct roce_cm_terms){
        .responder_resources = req->initiator_depth,
        .initiator_depth = req->responder_resources,
        .retry_count = req->retry_count,
        .rnr_retry_count = req->rnr_retry_count,
        .ack_timeout = primary->ack_timeout,
        .path_mtu = req->path_mtu,
        .rq_psn = (uint32_t)roce_cm_random(id->cm) & 0xffffff,
        .sq_psn = req->starting_psn,
    };
    id->base_wait_ns = roce_cm_code_ns(clamp(req->local_resp_timeout, PEER_TIMEOUT_MIN, PEER_TIMEOUT_MAX));
    id->max_retries = req->max_cm_retries;
    /* an ACK timeout is twice the packet lifetime or more; the peer's delay is not known: ours stands for
     * it */
    uint8_t twice = primary->ack_timeout ? primary->ack_timeout : config->packet_life_time + 1;
    id->timewait_ns = roce_cm_code_ns(clamp(twice, 1, PEER_TIMEOUT_MAX)) + roce_cm_code_ns(config->ack_delay);
}

static void begin(struct roce_cm_id *id, const struct roce_cm_mad *mad, const struct request *r)
{
    const struct roce_cm_req *req = &mad->req;
    static const uint8_t none[ROCE_CM_PATH_BYTES];
    id->was_used = true;
    id->qp_type = r->listener->qp_type;
    id->ctx = r->listener->ctx;
    id->path = r->path;
    id->local_addr = r->local_addr;
    id->local_port = r->listener->local_port;
    id->remote_port = r->src_port;
    id->service_id = req->service_id;
    id->remote_comm_id = req->local_comm_id;
    id->remote_guid = req->ca_guid;
    id->remote_qpn = req->qpn;
    id->tid = mad->hdr.tid;
    id->flow_control = req->flow_control;
    id->has_alternate = memcmp(req->alternate, none, sizeof none) != 0;
    take_terms(id, req, &r->primary);
    roce_cm_set_state(id, ROCE_CM_REQ_RCVD_STATE);
    roce_cm_peer_bind(id);
    roce_cm_child_add(r->listener, id);
    struct roce_cm_event *event = roce_cm_event_new(id, NORNIC_CM_EVENT_CONNECT_REQUEST, 0);
    event->srq = req->srq;
    roce_cm_event_private(event, req->private_data + ROCE_CM_IP_HDR_BYTES, ROCE_CM_REQ_USER_BYTES);
}

void roce_cm_rx_req(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    const struct roce_cm_req *req = &mad->req;
    struct request r;
    struct roce_cm_id *old =
        roce_cm_table_find(&cm->by_peer, roce_cm_peer_key(req->ca_guid, req->local_comm_id));
    if (old) {
        rx_duplicate(cm, old, path, mad, now_ns);
        return;
    }
    old = roce_cm_table_find(&cm->by_peer_qpn, roce_cm_qpn_key(req->ca_guid, req->qpn));
    if (old) {
        refuse(cm, path, mad, ROCE_CM_REJ_STALE_CONN, now_ns);
        roce_cm_stale(old, now_ns);
        return;
    }
    uint16_t reason = judge(cm, path, req, &r);
    if (reason != 0) {
        refuse(cm, path, mad, reason, now_ns);
        return;
    }
    if (r.listener->pending >= r.listener->backlog) {
        roce_cm_count(cm, drop_backlog);
        return;
    }
    struct roce_cm_id *id = roce_cm_id_new(cm, r.listener->space);
    if (!id) {
        roce_cm_count(cm, drop_no_id);
        return;
    }
    begin(id, mad, &r);
}

/* --- the application's answer --- */

static uint8_t smaller(uint8_t a, uint8_t b)
{
    return a < b ? a : b;
}

static bool is_asked(const struct roce_cm_id *id)
{
    return id->state == ROCE_CM_REQ_RCVD_STATE || id->state == ROCE_CM_MRA_REQ_SENT_STATE;
}

/* ROCE-CM-53: ready for data before the peer may send any. */
static int ready_qp(struct roce_cm_id *id, uint64_t now_ns)
{
    static const enum nornic_qp_state steps[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    int err = 0;
    for (unsigned i = 0; i < array_len(steps) && !err; i++)
        err = roce_cm_qp_move(id, steps[i], now_ns);
    return err;
}

int roce_cm_accept(struct roce_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param,
                   uint64_t now_ns)
{
    const struct nornic_conn_param of_request = {
        .responder_resources = id->terms.responder_resources,
        .initiator_depth = id->terms.initiator_depth,
        .flow_control = id->flow_control,
        .rnr_retry_count = 7,
    };
    param = param ? param : &of_request;
    if (id->state == ROCE_CM_SIDR_REQ_RCVD_STATE)
        return roce_cm_qp_bind(id, qp, param) ?: roce_cm_sidr_accept(id, param, now_ns);
    if (!is_asked(id) || param->rnr_retry_count > 7 || param->ack_timeout > 31 ||
        !roce_cm_private_fits(param->private_data, param->private_data_len, ROCE_CM_REP_PRIVATE_BYTES))
        return -EINVAL;
    struct roce_cm_terms asked = id->terms;
    id->terms.responder_resources =
        smaller(smaller(param->responder_resources, asked.responder_resources), NORNIC_MAX_RD_ATOMIC);
    id->terms.initiator_depth =
        smaller(smaller(param->initiator_depth, asked.initiator_depth), NORNIC_MAX_RD_ATOMIC);
    roce_cm_take_options(id, param);
    int err = roce_cm_qp_bind(id, qp, param);
    if (!err && (err = ready_qp(id, now_ns)))
        roce_cm_qp_unbind(id);
    if (err) {
        id->terms = asked;
        return err;
    }
    roce_cm_send_rep(id, param, now_ns);
    roce_cm_await(id, ROCE_CM_REP_SENT_STATE, now_ns);
    roce_cm_child_settle(id);
    return 0;
}

/* --- RTU --- */

void roce_cm_rx_rtu(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    (void)now_ns;
    struct roce_cm_id *id = roce_cm_rx_find(cm, path, mad->rtu.remote_comm_id, mad->rtu.local_comm_id);
    if (!id)
        return;
    if (id->state != ROCE_CM_REP_SENT_STATE && id->state != ROCE_CM_MRA_REP_RCVD_STATE) {
        roce_cm_count(cm, rx_duplicate);
        return;
    }
    roce_cm_to_established(id);
    roce_cm_event_tell(id, NORNIC_CM_EVENT_ESTABLISHED, 0, mad->rtu.private_data, ROCE_CM_RTU_PRIVATE_BYTES);
}

int roce_cm_notify_established(struct roce_cm_id *id, uint64_t now_ns)
{
    (void)now_ns;
    if (id->state == ROCE_CM_ESTABLISHED_STATE)
        return -EISCONN;
    if (id->state != ROCE_CM_REP_SENT_STATE && id->state != ROCE_CM_MRA_REP_RCVD_STATE)
        return -EINVAL;
    roce_cm_to_established(id);
    roce_cm_event_tell(id, NORNIC_CM_EVENT_ESTABLISHED, 0, NULL, 0);
    return 0;
}
