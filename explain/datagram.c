/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: UD, and the messages of the connection manager. */
#include <inttypes.h>
#include <stdio.h>

#include "explain/flow.h"
#include "roce/cm/mad.h"

static void describe_request(const uint8_t *message, const char *name, struct explain_meaning *m)
{
    struct roce_cm_req req;
    roce_cm_req_get(&req, message);
    snprintf(m->words, sizeof m->words,
             "CM %s, service 0x%016" PRIx64 ": QP 0x%06x, %s, first PSN for it 0x%06x, path MTU %u", name,
             req.service_id, req.qpn, roce_cm_transport_name(req.transport), req.starting_psn,
             128u << req.path_mtu);
}

static void describe_reject(const struct explain_packet *packet, const uint8_t *message,
                            struct explain_meaning *m)
{
    struct roce_cm_rej rej;
    roce_cm_rej_get(&rej, message);
    snprintf(m->words, sizeof m->words, "CM REJ of %s: %s", roce_cm_about_name(rej.about),
             roce_cm_rej_name(rej.reason));
    explain_remark(m, EXPLAIN_FIND_CM_REJECT, "", packet->number, 0, "rejected: %s",
                   roce_cm_rej_name(rej.reason));
}

static void describe_reply(const uint8_t *message, struct explain_meaning *m)
{
    struct roce_cm_rep rep;
    roce_cm_rep_get(&rep, message);
    snprintf(m->words, sizeof m->words, "CM REP: QP 0x%06x, first PSN for it 0x%06x", rep.qpn,
             rep.starting_psn);
}

static void describe_mad(const struct explain_packet *packet, struct explain_meaning *m)
{
    const uint8_t *envelope = packet->frame + packet->payload_offset,
                  *message = envelope + ROCE_MAD_HDR_BYTES;
    struct roce_mad mad;
    roce_mad_get(&mad, envelope);
    if (mad.mgmt_class != ROCE_MAD_CLASS_CM) {
        snprintf(m->words, sizeof m->words, "management datagram of class 0x%02x", mad.mgmt_class);
        return;
    }
    if (mad.attr_id == ROCE_CM_REQ)
        describe_request(message, "REQ", m);
    else if (mad.attr_id == ROCE_CM_REP)
        describe_reply(message, m);
    else if (mad.attr_id == ROCE_CM_REJ)
        describe_reject(packet, message, m);
    else
        snprintf(m->words, sizeof m->words, "CM %s", roce_cm_attr_name(mad.attr_id));
}

void explain_datagram(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (packet->kind == EXPLAIN_CM)
        describe_mad(packet, m);
    else
        snprintf(m->words, sizeof m->words, "UD SEND%s from QP 0x%06x, %u bytes, Q_Key 0x%08x",
                 pkt->op->flags & ROCE_PKT_IMMDT ? " with immediate" : "", pkt->deth.src_qpn,
                 pkt->payload_bytes, pkt->deth.qkey);
}
