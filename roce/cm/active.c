/* SPDX-License-Identifier: BSD-2-Clause */
/* The side that asks: REQ, the peer's MRA and REP, RTU; and patience on either side. */
#include <errno.h>

#include "roce/cm/id.h"
#include "roce/cm/note.h"

/* No peer holds an id of ours in TIMEWAIT for longer than this code says: 17 s. */
#define DELAY_MAX 22

/* --- connect --- */

static bool param_is_good(const struct roce_cm_id *id, const struct nornic_conn_param *param)
{
    size_t max_bytes = id->space == NORNIC_PS_UDP ? ROCE_CM_SIDR_REQ_USER_BYTES : ROCE_CM_REQ_USER_BYTES;
    return param->retry_count <= 7 && param->rnr_retry_count <= 7 && param->ack_timeout <= 31 &&
           param->responder_resources <= NORNIC_MAX_RD_ATOMIC &&
           param->initiator_depth <= NORNIC_MAX_RD_ATOMIC &&
           roce_cm_private_fits(param->private_data, param->private_data_len, max_bytes);
}

static bool route_is_good(const struct roce_cm *cm, const struct roce_cm_route *route)
{
    const struct nornic_av *av = &route->path.av;
    const struct nornic_gid *gid = roce_dev_gid_get(cm->dev, av->sgid_index);
    return gid && nornic_addr_is_v4(&gid->addr) == nornic_addr_is_v4(&av->dgid) &&
           !nornic_addr_is_zero(&av->dgid) && !nornic_addr_is_multicast(&av->dgid) && route->dst_port != 0 &&
           av->sl < 8 && roce_dev_pkey_get(cm->dev, route->path.pkey_index) != 0;
}

static void take_route(struct roce_cm_id *id, const struct roce_cm_route *route)
{
    struct roce_cm *cm = id->cm;
    id->path = route->path;
    id->path.remote_qpn = route->path.remote_qpn ? route->path.remote_qpn : 1;
    id->local_addr = roce_dev_gid_get(cm->dev, route->path.av.sgid_index)->addr;
    id->local_port = route->src_port ? route->src_port : roce_cm_draw_port(cm, id->space);
    id->remote_port = route->dst_port;
    id->service_id = (uint64_t)id->space << 16 | route->dst_port;
}

/* What fits the port and, unless that is too small for RoCE, the way there. */
static enum nornic_mtu path_mtu_of(const struct roce_cm *cm, const struct roce_cm_route *route)
{
    enum nornic_mtu of_port = roce_cm_path_mtu(cm), of_way = nornic_mtu_for_port(route->mtu_bytes);
    return of_way && of_way < of_port ? of_way : of_port;
}

static void take_param(struct roce_cm_id *id, const struct nornic_conn_param *param,
                       const struct roce_cm_route *route)
{
    const struct roce_cm_config *config = &id->cm->config;
    id->terms = (struct roce_cm_terms){
        .responder_resources = param->responder_resources,
        .initiator_depth = param->initiator_depth,
        .retry_count = param->retry_count,
        .path_mtu = (uint8_t)path_mtu_of(id->cm, route),
        .rq_psn = (uint32_t)roce_cm_random(id->cm) & 0xffffff,
    };
    id->max_retries = config->max_retries;
    id->base_wait_ns = roce_cm_round_trip_ns(config);
    id->timewait_ns = 2 * roce_cm_code_ns(config->packet_life_time) + roce_cm_code_ns(config->ack_delay);
}

/* A UD QP has no peer: it goes all the way now. */
static int move_for_connect(struct roce_cm_id *id, uint64_t now_ns)
{
    int err = roce_cm_qp_move(id, NORNIC_QPS_INIT, now_ns);
    if (err || id->space != NORNIC_PS_UDP)
        return err;
    err = roce_cm_qp_move(id, NORNIC_QPS_RTR, now_ns);
    return err ? err : roce_cm_qp_move(id, NORNIC_QPS_RTS, now_ns);
}

int roce_cm_connect(struct roce_cm_id *id, const struct roce_cm_route *route, struct roce_qp *qp,
                    const struct nornic_conn_param *param, uint64_t now_ns)
{
    static const struct nornic_conn_param nothing;
    bool datagrams = id->space == NORNIC_PS_UDP;
    param = param ? param : &nothing;
    if (id->was_used || id->qp_type == NORNIC_QPT_XRC_TGT || !param_is_good(id, param) ||
        !route_is_good(id->cm, route))
        return -EINVAL;
    int err = 0;
    take_route(id, route);
    take_param(id, param, route);
    roce_cm_take_options(id, param);
    id->was_used = true;
    if (!datagrams || qp) /* asking for a QPN takes no QP */
        err = roce_cm_qp_bind(id, qp, param);
    if (!err && (err = move_for_connect(id, now_ns)))
        roce_cm_qp_unbind(id);
    if (err) {
        id->was_used = false;
        return err;
    }
    if (datagrams)
        roce_cm_send_sidr_req(id, param, now_ns);
    else
        roce_cm_send_req(id, param, now_ns);
    roce_cm_await(id, datagrams ? ROCE_CM_SIDR_REQ_SENT_STATE : ROCE_CM_REQ_SENT_STATE, now_ns);
    id->patient_until_ns = now_ns + id->patience_ns;
    return 0;
}

/* --- MRA --- */

void roce_cm_rx_mra(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    const struct roce_cm_mra *mra = &mad->mra;
    const struct roce_cm_config *config = &cm->config;
    struct roce_cm_id *id = roce_cm_rx_find(cm, path, mra->remote_comm_id, mra->local_comm_id);
    if (!id)
        return;
    if (id->state == ROCE_CM_REQ_SENT_STATE && mra->mraed_message == ROCE_CM_MESSAGE_REQ) {
        id->remote_comm_id = mra->local_comm_id;
        roce_cm_set_state(id, ROCE_CM_MRA_REQ_RCVD_STATE);
    } else if (id->state == ROCE_CM_REP_SENT_STATE && mra->mraed_message == ROCE_CM_MESSAGE_REP) {
        roce_cm_set_state(id, ROCE_CM_MRA_REP_RCVD_STATE);
    } else if (id->state == ROCE_CM_MRA_REQ_RCVD_STATE || id->state == ROCE_CM_MRA_REP_RCVD_STATE) {
        roce_cm_count(cm, rx_duplicate);
        return;
    } else {
        roce_cm_count(cm, rx_unexpected);
        return;
    }
    /* no peer may make us wait longer than we ask of others */
    uint8_t code = mra->service_timeout < config->mra_timeout ? mra->service_timeout : config->mra_timeout;
    id->wait_ns = roce_cm_code_ns(code) + roce_cm_code_ns(config->packet_life_time);
    if (id->wait_ns < id->base_wait_ns)
        id->wait_ns = id->base_wait_ns;
    rdma_timer_arm(&cm->timers, &id->timer, now_ns + id->wait_ns);
}

int roce_cm_mra(struct roce_cm_id *id, uint8_t service_timeout, const void *private_data, uint8_t len_bytes,
                uint64_t now_ns)
{
    if (service_timeout > 31 || !roce_cm_private_fits(private_data, len_bytes, ROCE_CM_MRA_PRIVATE_BYTES))
        return -EINVAL;
    /* one that went out by itself is no reason to refuse the application's */
    if (id->state == ROCE_CM_REQ_RCVD_STATE || id->state == ROCE_CM_MRA_REQ_SENT_STATE)
        roce_cm_set_state(id, ROCE_CM_MRA_REQ_SENT_STATE);
    else if (id->state == ROCE_CM_REP_RCVD_STATE || id->state == ROCE_CM_MRA_REP_SENT_STATE)
        roce_cm_set_state(id, ROCE_CM_MRA_REP_SENT_STATE);
    else
        return -EINVAL;
    roce_cm_send_mra(id, service_timeout, private_data, len_bytes, now_ns);
    return 0;
}

/* --- REP --- */

static void rx_duplicate_rep(struct roce_cm *cm, struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_count(cm, rx_duplicate);
    if (id->state == ROCE_CM_ESTABLISHED_STATE || id->state == ROCE_CM_MRA_REP_SENT_STATE) {
        roce_cm_resend(id, now_ns); /* the RTU, or the MRA */
    } else if (id->state == ROCE_CM_REP_RCVD_STATE && !cm->config.no_mra) {
        roce_cm_set_state(id, ROCE_CM_MRA_REP_SENT_STATE);
        roce_cm_send_mra(id, cm->config.mra_timeout, NULL, 0, now_ns);
    }
}

/* An XRC target's number stands where that of an end-to-end context would (ROCE-XRC-4). */
static uint32_t answering_qpn(const struct roce_cm_id *id, const struct roce_cm_rep *rep)
{
    return id->qp_type == NORNIC_QPT_XRC_INI ? rep->eecn : rep->qpn;
}

/* ROCE-CM-30 to 33. A peer that wants to issue more than we named gets it, as with Linux. */
static void take_rep(struct roce_cm_id *id, const struct roce_cm_rep *rep)
{
    const struct roce_cm_config *config = &id->cm->config;
    struct roce_cm_terms *t = &id->terms;
    if (rep->responder_resources < t->initiator_depth)
        t->initiator_depth = rep->responder_resources;
    t->responder_resources = rep->initiator_depth;
    t->rnr_retry_count = rep->rnr_retry_count;
    t->sq_psn = rep->starting_psn;
    t->ack_timeout = roce_cm_ack_timeout(config->packet_life_time, rep->target_ack_delay);
    uint8_t delay = rep->target_ack_delay < DELAY_MAX ? rep->target_ack_delay : DELAY_MAX;
    id->timewait_ns = 2 * roce_cm_code_ns(config->packet_life_time) + roce_cm_code_ns(delay);
    id->flow_control = rep->flow_control;
    id->remote_comm_id = rep->local_comm_id;
    id->remote_guid = rep->ca_guid;
    id->remote_qpn = answering_qpn(id, rep);
    roce_cm_peer_bind(id);
}

/* The answer cannot be used: the peer is told, the connection never was. */
static void decline(struct roce_cm_id *id, uint16_t reason, int status, const struct roce_cm_rep *rep,
                    uint64_t now_ns)
{
    id->remote_comm_id = rep->local_comm_id; /* the state's note names it */
    roce_cm_set_state(id, ROCE_CM_REP_RCVD_STATE);
    roce_cm_send_rej(id, reason, NULL, 0, now_ns);
    roce_cm_event_tell(id, NORNIC_CM_EVENT_CONNECT_ERROR, status, NULL, 0);
    roce_cm_qp_error(id, now_ns);
    roce_cm_to_timewait(id, now_ns);
}

static void rx_answer(struct roce_cm *cm, struct roce_cm_id *id, const struct roce_cm_rep *rep,
                      uint64_t now_ns)
{
    uint32_t qpn = answering_qpn(id, rep);
    struct roce_cm_id *old = roce_cm_table_find(&cm->by_peer_qpn, roce_cm_qpn_key(rep->ca_guid, qpn));
    if (!roce_cm_qpn_is_good(qpn)) {
        roce_cm_count(cm, rx_bad_value);
        decline(id, ROCE_CM_REJ_UNSUPPORTED, -EPROTO, rep, now_ns);
        return;
    }
    if (rep->initiator_depth > NORNIC_MAX_RD_ATOMIC) {
        decline(id, ROCE_CM_REJ_INSUFFICIENT_RESOURCES, -EPROTO, rep, now_ns);
        return;
    }
    if (old) { /* ROCE-CM-50 */
        decline(id, ROCE_CM_REJ_STALE_CONN, -ESTALE, rep, now_ns);
        roce_cm_stale(old, now_ns);
        return;
    }
    take_rep(id, rep);
    if (!id->qp) {
        roce_cm_set_state(id, ROCE_CM_REP_RCVD_STATE);
        rdma_timer_cancel(&cm->timers, &id->timer);
        roce_cm_event_tell(id, NORNIC_CM_EVENT_CONNECT_RESPONSE, 0, rep->private_data,
                           ROCE_CM_REP_PRIVATE_BYTES);
        return;
    }
    /* the access rights follow what was agreed on; then ROCE-CM-53 */
    int err = roce_cm_qp_move(id, NORNIC_QPS_INIT, now_ns);
    if (!err)
        err = roce_cm_qp_move(id, NORNIC_QPS_RTR, now_ns);
    if (!err)
        err = roce_cm_qp_move(id, NORNIC_QPS_RTS, now_ns);
    if (err) {
        decline(id, ROCE_CM_REJ_CONSUMER, err, rep, now_ns);
        return;
    }
    roce_cm_send_rtu(id, NULL, 0, now_ns);
    roce_cm_to_established(id);
    roce_cm_event_tell(id, NORNIC_CM_EVENT_ESTABLISHED, 0, rep->private_data, ROCE_CM_REP_PRIVATE_BYTES);
}

void roce_cm_rx_rep(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                    uint64_t now_ns)
{
    const struct roce_cm_rep *rep = &mad->rep;
    struct roce_cm_id *id = roce_cm_rx_find(cm, path, rep->remote_comm_id, rep->local_comm_id);
    if (!id)
        return;
    switch (id->state) {
    case ROCE_CM_REQ_SENT_STATE:
    case ROCE_CM_MRA_REQ_RCVD_STATE:
        rx_answer(cm, id, rep, now_ns);
        return;
    case ROCE_CM_ESTABLISHED_STATE:
    case ROCE_CM_REP_RCVD_STATE:
    case ROCE_CM_MRA_REP_SENT_STATE:
        rx_duplicate_rep(cm, id, now_ns);
        return;
    case ROCE_CM_TIMEWAIT_STATE: /* after a REJ, which was lost */
        if (roce_cm_sent_attr(id) == ROCE_CM_REJ) {
            roce_cm_resend(id, now_ns);
            return;
        }
        roce_cm_count(cm, rx_unexpected);
        return;
    case ROCE_CM_IDLE_STATE:
    case ROCE_CM_LISTEN_STATE:
    case ROCE_CM_REQ_RCVD_STATE:
    case ROCE_CM_MRA_REQ_SENT_STATE:
    case ROCE_CM_REP_SENT_STATE:
    case ROCE_CM_MRA_REP_RCVD_STATE:
    case ROCE_CM_DREQ_SENT_STATE:
    case ROCE_CM_DREQ_RCVD_STATE:
    case ROCE_CM_SIDR_REQ_SENT_STATE:
    case ROCE_CM_SIDR_REQ_RCVD_STATE:
    case ROCE_CM_SIDR_REP_SENT_STATE:
        roce_cm_count(cm, rx_unexpected);
    }
}

int roce_cm_establish(struct roce_cm_id *id, const void *private_data, uint8_t len_bytes, uint64_t now_ns)
{
    if ((id->state != ROCE_CM_REP_RCVD_STATE && id->state != ROCE_CM_MRA_REP_SENT_STATE) ||
        !roce_cm_private_fits(private_data, len_bytes, ROCE_CM_RTU_PRIVATE_BYTES))
        return -EINVAL;
    roce_cm_send_rtu(id, private_data, len_bytes, now_ns);
    roce_cm_to_established(id);
    return 0;
}
