/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages out of ids. What may have to be sent again is kept in the id. */
#include <string.h>

#include "net/bytes.h"
#include "roce/cm/id.h"

#define LID_NONE 0xffff /* ROCE-CM-40: as Linux writes it */

struct roce_mad roce_cm_hdr(enum roce_cm_attr attr, uint64_t tid)
{
    return (struct roce_mad){
        .base_version = ROCE_MAD_BASE_VERSION,
        .mgmt_class = ROCE_MAD_CLASS_CM,
        .class_version = ROCE_MAD_CM_VERSION,
        .method = ROCE_MAD_METHOD_SEND,
        .tid = tid,
        .attr_id = (uint16_t)attr,
    };
}

static void transmit(struct roce_cm *cm, const struct roce_cm_path *path, const uint8_t *bytes, uint16_t attr,
                     uint64_t now_ns)
{
    cm->counters.tx[attr - ROCE_CM_ATTR_FIRST]++;
    cm->wire.send(cm->wire.ctx, path, bytes, now_ns);
}

void roce_cm_put(struct roce_cm *cm, const struct roce_cm_path *path, const struct roce_cm_mad *mad,
                 uint64_t now_ns)
{
    uint8_t bytes[ROCE_MAD_BYTES];
    roce_cm_mad_put(bytes, mad);
    transmit(cm, path, bytes, mad->hdr.attr_id, now_ns);
}

static void put_and_keep(struct roce_cm_id *id, const struct roce_cm_mad *mad, uint64_t now_ns)
{
    roce_cm_mad_put(id->sent, mad);
    transmit(id->cm, &id->path, id->sent, mad->hdr.attr_id, now_ns);
}

void roce_cm_resend(struct roce_cm_id *id, uint64_t now_ns)
{
    roce_cm_count(id->cm, resent);
    transmit(id->cm, &id->path, id->sent, roce_cm_sent_attr(id), now_ns);
}

uint16_t roce_cm_sent_attr(const struct roce_cm_id *id)
{
    return get_be16(id->sent + 16);
}

/* Transaction id of an exchange that this end begins. */
static uint64_t own_tid(const struct roce_cm_id *id)
{
    return id->cm->tid_high << 32 | id->comm_id;
}

static void copy_private(uint8_t *to, const void *data, size_t len_bytes)
{
    if (len_bytes > 0)
        memcpy(to, data, len_bytes);
}

/* ROCE-CM-61. */
static void put_ip_header(const struct roce_cm_id *id, uint8_t *p)
{
    struct roce_cm_ip ip = {.ip_version = nornic_addr_is_v4(&id->local_addr) ? 4 : 6,
                            .src_port = id->local_port};
    roce_cm_ip_addr_put(ip.src, &id->local_addr);
    roce_cm_ip_addr_put(ip.dst, &id->path.av.dgid);
    roce_cm_ip_put(p, &ip);
}

static void put_path(const struct roce_cm_id *id, uint8_t *p)
{
    const struct roce_cm_config *config = &id->cm->config;
    struct roce_cm_path_block block = {
        .local_lid = LID_NONE,
        .remote_lid = LID_NONE,
        .flow_label = id->path.av.flow_label & 0xfffff,
        .traffic_class = id->path.av.traffic_class,
        .hop_limit = id->path.av.hop_limit,
        .sl = id->path.av.sl,
        .ack_timeout = roce_cm_ack_timeout(config->packet_life_time, config->ack_delay),
    };
    memcpy(block.local_gid, id->local_addr.b, sizeof block.local_gid);
    memcpy(block.remote_gid, id->path.av.dgid.b, sizeof block.remote_gid);
    roce_cm_path_block_put(p, &block);
}

/* ROCE-XRC-4: who only sends takes no READs, and the other end, which has none of its own, need not know how
 * often to repeat them. */
static void make_xrc_req(struct roce_cm_req *req)
{
    req->transport = ROCE_CM_TRANSPORT_EXTENDED;
    req->ext_transport = ROCE_CM_EXT_TRANSPORT_XRC;
    req->responder_resources = 0;
    req->retry_count = 0;
    req->rnr_retry_count = 0;
    req->srq = 0;
}

void roce_cm_send_req(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns)
{
    const struct roce_cm_config *config = &id->cm->config;
    id->tid = own_tid(id);
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_REQ, id->tid)};
    mad.req = (struct roce_cm_req){
        .local_comm_id = id->comm_id,
        .service_id = id->service_id,
        .ca_guid = config->ca_guid,
        .qpn = id->local_qpn,
        .responder_resources = id->terms.responder_resources,
        .initiator_depth = id->terms.initiator_depth,
        .remote_resp_timeout = config->response_timeout,
        .transport = ROCE_CM_TRANSPORT_RC,
        .flow_control = param->flow_control,
        .starting_psn = id->terms.rq_psn,
        .local_resp_timeout = config->response_timeout,
        .retry_count = id->terms.retry_count,
        .pkey = roce_dev_pkey_get(id->cm->dev, id->path.pkey_index),
        .path_mtu = id->terms.path_mtu,
        .rnr_retry_count = param->rnr_retry_count,
        .max_cm_retries = config->max_retries,
        .srq = id->srq,
    };
    if (id->qp_type == NORNIC_QPT_XRC_INI)
        make_xrc_req(&mad.req);
    put_path(id, mad.req.primary);
    put_ip_header(id, mad.req.private_data);
    copy_private(mad.req.private_data + ROCE_CM_IP_HDR_BYTES, param->private_data, param->private_data_len);
    put_and_keep(id, &mad, now_ns);
}

/* ROCE-XRC-4: a target sends nothing of its own, takes its receives from SRQs, and has its number elsewhere.
 */
static void make_xrc_rep(struct roce_cm_rep *rep)
{
    rep->eecn = rep->qpn;
    rep->qpn = 0;
    rep->initiator_depth = 0;
    rep->flow_control = 0;
    rep->srq = 1;
}

void roce_cm_send_rep(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns)
{
    const struct roce_cm_config *config = &id->cm->config;
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_REP, id->tid)};
    mad.rep = (struct roce_cm_rep){
        .local_comm_id = id->comm_id,
        .remote_comm_id = id->remote_comm_id,
        .qpn = id->local_qpn,
        .starting_psn = id->terms.rq_psn,
        .responder_resources = id->terms.responder_resources,
        .initiator_depth = id->terms.initiator_depth,
        .target_ack_delay = config->ack_delay,
        .failover = id->has_alternate ? ROCE_CM_FAILOVER_UNSUPPORTED : ROCE_CM_FAILOVER_NONE,
        .flow_control = param->flow_control,
        .rnr_retry_count = param->rnr_retry_count,
        .srq = id->srq,
        .ca_guid = config->ca_guid,
    };
    if (id->qp_type == NORNIC_QPT_XRC_TGT)
        make_xrc_rep(&mad.rep);
    copy_private(mad.rep.private_data, param->private_data, param->private_data_len);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_send_rtu(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_RTU, id->tid)};
    mad.rtu.local_comm_id = id->comm_id;
    mad.rtu.remote_comm_id = id->remote_comm_id;
    copy_private(mad.rtu.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_send_dreq(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_DREQ, own_tid(id))};
    mad.dreq.local_comm_id = id->comm_id;
    mad.dreq.remote_comm_id = id->remote_comm_id;
    mad.dreq.remote_qpn = id->remote_qpn;
    copy_private(mad.dreq.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_send_drep(struct roce_cm_id *id, const void *data, uint8_t len_bytes, uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_DREP, id->dreq_tid)};
    mad.drep.local_comm_id = id->comm_id;
    mad.drep.remote_comm_id = id->remote_comm_id;
    copy_private(mad.drep.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}

/* Whether the id is the side that was asked and has not answered. */
static bool is_asked(const struct roce_cm_id *id)
{
    return id->state == ROCE_CM_REQ_RCVD_STATE || id->state == ROCE_CM_MRA_REQ_SENT_STATE;
}

static bool is_answered(const struct roce_cm_id *id)
{
    return id->state == ROCE_CM_REP_RCVD_STATE || id->state == ROCE_CM_MRA_REP_SENT_STATE;
}

void roce_cm_send_mra(struct roce_cm_id *id, uint8_t service_timeout, const void *data, uint8_t len_bytes,
                      uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_MRA, id->tid)};
    mad.mra.local_comm_id = id->comm_id;
    mad.mra.remote_comm_id = id->remote_comm_id;
    mad.mra.mraed_message = is_asked(id) ? ROCE_CM_MESSAGE_REQ : ROCE_CM_MESSAGE_REP;
    mad.mra.service_timeout = service_timeout;
    copy_private(mad.mra.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_send_rej(struct roce_cm_id *id, uint16_t reason, const void *data, uint8_t len_bytes,
                      uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_REJ, id->tid)};
    mad.rej.local_comm_id = id->state == ROCE_CM_REQ_RCVD_STATE ? 0 : id->comm_id;
    mad.rej.remote_comm_id = id->remote_comm_id;
    mad.rej.rejected_message = is_asked(id)      ? ROCE_CM_MESSAGE_REQ
                               : is_answered(id) ? ROCE_CM_MESSAGE_REP
                                                 : ROCE_CM_MESSAGE_OTHER;
    mad.rej.reason = reason;
    if (reason == ROCE_CM_REJ_TIMEOUT) {
        put_be64(mad.rej.info, id->cm->config.ca_guid);
        mad.rej.info_bytes = sizeof id->cm->config.ca_guid;
    }
    copy_private(mad.rej.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_refuse(struct roce_cm *cm, const struct roce_cm_path *path, uint64_t tid,
                    const struct roce_cm_refusal *refusal, uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_REJ, tid)};
    mad.rej.local_comm_id = refusal->local_comm_id;
    mad.rej.remote_comm_id = refusal->remote_comm_id;
    mad.rej.rejected_message = refusal->rejected_message;
    mad.rej.reason = refusal->reason;
    mad.rej.info_bytes = refusal->info_bytes;
    copy_private(mad.rej.info, refusal->info, refusal->info_bytes);
    roce_cm_put(cm, path, &mad, now_ns);
}

void roce_cm_send_sidr_req(struct roce_cm_id *id, const struct nornic_conn_param *param, uint64_t now_ns)
{
    id->tid = own_tid(id);
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_SIDR_REQ, id->tid)};
    mad.sidr_req.request_id = id->comm_id;
    mad.sidr_req.pkey = roce_dev_pkey_get(id->cm->dev, id->path.pkey_index);
    mad.sidr_req.service_id = id->service_id;
    put_ip_header(id, mad.sidr_req.private_data);
    copy_private(mad.sidr_req.private_data + ROCE_CM_IP_HDR_BYTES, param->private_data,
                 param->private_data_len);
    put_and_keep(id, &mad, now_ns);
}

void roce_cm_send_sidr_rep(struct roce_cm_id *id, uint8_t status, const void *data, uint8_t len_bytes,
                           uint64_t now_ns)
{
    struct roce_cm_mad mad = {.hdr = roce_cm_hdr(ROCE_CM_SIDR_REP, id->tid)};
    mad.sidr_rep.request_id = id->remote_comm_id;
    mad.sidr_rep.status = status;
    mad.sidr_rep.service_id = id->service_id;
    if (status == ROCE_CM_SIDR_VALID) {
        mad.sidr_rep.qpn = id->local_qpn;
        mad.sidr_rep.qkey = id->qkey;
    }
    copy_private(mad.sidr_rep.private_data, data, len_bytes);
    put_and_keep(id, &mad, now_ns);
}
