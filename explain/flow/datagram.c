/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: UD, and the messages of the connection manager. */
#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/flow/flow.h"
#include "nornic/cm.h"
#include "roce/cm/mad.h"

/* A service id of the RDMA CM is a port space and a port (ROCE-CM-60); others are numbers. */
static void put_service(uint64_t service_id, char *text, size_t size)
{
    uint64_t space = service_id >> 16;
    unsigned port = service_id & 0xffff;
    if (space == NORNIC_PS_TCP || space == NORNIC_PS_UDP)
        snprintf(text, size, "%s port %u", space == NORNIC_PS_TCP ? "TCP" : "UDP", port);
    else if (space == NORNIC_PS_IB)
        snprintf(text, size, "port %u of the IB port space", port);
    else
        snprintf(text, size, "service 0x%016" PRIx64, service_id);
}

static void describe_request(const uint8_t *message, const char *name, struct explain_meaning *m)
{
    struct roce_cm_req req;
    char service[40];
    roce_cm_req_get(&req, message);
    put_service(req.service_id, service, sizeof service);
    snprintf(m->words, sizeof m->words,
             "CM %s for %s: QP 0x%06x, %s, wants PSNs to it from 0x%06x, path MTU %u", name, service, req.qpn,
             roce_cm_transport_name(req.transport), req.starting_psn, 128u << req.path_mtu);
}

static void describe_reject(const uint8_t *message, struct explain_meaning *m)
{
    struct roce_cm_rej rej;
    roce_cm_rej_get(&rej, message);
    if (rej.rejected_message == ROCE_CM_MESSAGE_REQ || rej.rejected_message == ROCE_CM_MESSAGE_REP)
        snprintf(m->words, sizeof m->words, "CM REJ of %s: %s", roce_cm_message_name(rej.rejected_message),
                 roce_cm_rej_name(rej.reason));
    else /* of none of these: who gave up says so */
        snprintf(m->words, sizeof m->words, "CM REJ: %s", roce_cm_rej_name(rej.reason));
    explain_remark(m, EXPLAIN_FIND_CM_REJECT, "ROCE-CM-13", 0, m->answers, "rejected: %s",
                   roce_cm_rej_name(rej.reason));
}

static void describe_reply(const uint8_t *message, struct explain_meaning *m)
{
    struct roce_cm_rep rep;
    roce_cm_rep_get(&rep, message);
    snprintf(m->words, sizeof m->words, "CM REP: QP 0x%06x, wants PSNs to it from 0x%06x", rep.qpn,
             rep.starting_psn);
}

/* What the message answers, or goes on from; 0: nothing that was seen. */
static uint64_t answered_by(const struct explain_cm *c, uint16_t attr, unsigned sender)
{
    static const struct {
        uint16_t attr, to;
    } rows[] = {{ROCE_CM_MRA, ROCE_CM_REQ}, {ROCE_CM_REP, ROCE_CM_REQ},          {ROCE_CM_REJ, ROCE_CM_REP},
                {ROCE_CM_REJ, ROCE_CM_REQ}, {ROCE_CM_RTU, ROCE_CM_REP},          {ROCE_CM_DREP, ROCE_CM_DREQ},
                {ROCE_CM_APR, ROCE_CM_LAP}, {ROCE_CM_SIDR_REP, ROCE_CM_SIDR_REQ}};
    for (unsigned i = 0; i < array_len(rows); i++)
        if (rows[i].attr == attr && c->message[!sender][rows[i].to - ROCE_CM_ATTR_FIRST])
            return c->message[!sender][rows[i].to - ROCE_CM_ATTR_FIRST];
    return 0;
}

static void describe_mad(struct explain_flows *f, const struct explain_packet *packet,
                         struct explain_meaning *m)
{
    const uint8_t *envelope = packet->frame + packet->payload_offset,
                  *message = envelope + ROCE_MAD_HDR_BYTES;
    struct roce_mad mad;
    roce_mad_get(&mad, envelope);
    if (mad.mgmt_class != ROCE_MAD_CLASS_CM) {
        snprintf(m->words, sizeof m->words, "management datagram of class 0x%02x", mad.mgmt_class);
        return;
    }
    struct explain_cm *c = explain_connection(f, packet, envelope, m);
    if (c && !m->answers)
        m->answers = answered_by(c, mad.attr_id, m->direction);
    if (mad.attr_id == ROCE_CM_REQ)
        describe_request(message, "REQ", m);
    else if (mad.attr_id == ROCE_CM_REP)
        describe_reply(message, m);
    else if (mad.attr_id == ROCE_CM_REJ)
        describe_reject(message, m);
    else
        snprintf(m->words, sizeof m->words, "CM %s", roce_cm_attr_name(mad.attr_id));
    size_t used = strlen(m->words);
    if (c)
        snprintf(m->words + used, sizeof m->words - used, ", connection %" PRIu64, c->id);
}

static void describe_ud(struct explain_flows *f, const struct explain_packet *packet,
                        struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    unsigned direction = 0;
    struct explain_pair *pair = explain_pair_of_datagram(f, packet, &direction);
    if (pair) {
        explain_pair_count(pair, direction, packet);
        m->flow = pair->index;
        m->direction = direction;
        m->message = ++pair->shown.messages[direction];
        m->piece = m->pieces = 1;
        m->bytes_done = m->bytes_total = pkt->payload_bytes;
        explain_carried_datagram(pair, direction, packet, m);
    }
    snprintf(m->words, sizeof m->words, "UD SEND%s from QP 0x%06x, %u byte%s, Q_Key 0x%08x",
             pkt->op->flags & ROCE_PKT_IMMDT ? " with immediate" : "", pkt->deth.src_qpn, pkt->payload_bytes,
             pkt->payload_bytes == 1 ? "" : "s", pkt->deth.qkey);
}

void explain_datagram(struct explain_flows *f, const struct explain_packet *packet, struct explain_meaning *m)
{
    if (packet->kind == EXPLAIN_CM)
        describe_mad(f, packet, m);
    else
        describe_ud(f, packet, m);
}
