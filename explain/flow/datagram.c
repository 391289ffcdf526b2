/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams: UD, and the messages of the connection manager. */
#include "explain/flow/datagram.h"

#include <inttypes.h>
#include <stdio.h>

#include "base/base.h"
#include "explain/flow/connection.h"
#include "explain/flow/pair/count.h"
#include "explain/flow/pair/find.h"
#include "explain/meaning/words.h"
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

/* XRC is told from other extended services by a field that comes later, which a capture may have cut off. */
static const char *transport_words(const struct explain_layer *layer, const struct roce_cm_req *req)
{
    bool is_xrc = req->transport == ROCE_CM_TRANSPORT_EXTENDED && explain_layer_has(layer, "ext_transport") &&
                  req->ext_transport == ROCE_CM_EXT_TRANSPORT_XRC;
    return is_xrc ? "XRC" : roce_cm_transport_name(req->transport);
}

/* The describe_ functions say what the capture holds of their message, and return whether that is all that
 * there is to say. Fields are told in the order in which they are sent, so that one that is missing is the
 * last. */
static bool describe_request(const struct explain_layer *layer, const uint8_t *message,
                             struct explain_meaning *m)
{
    struct roce_cm_req req;
    char service[40];
    roce_cm_req_get(&req, message);
    put_service(req.service_id, service, sizeof service);
    explain_add_words(m, "CM REQ");
    if (explain_layer_has(layer, "service_id"))
        explain_add_words(m, " for %s", service);
    if (explain_layer_has(layer, "qpn"))
        explain_add_words(m, ": QP 0x%06x", req.qpn);
    if (explain_layer_has(layer, "transport"))
        explain_add_words(m, ", %s", transport_words(layer, &req));
    if (explain_layer_has(layer, "starting_psn"))
        explain_add_words(m, ", wants PSNs to it from 0x%06x", req.starting_psn);
    if (!explain_layer_has(layer, "path_mtu"))
        return false;
    explain_add_words(m, ", path MTU %u", 128u << req.path_mtu);
    return true;
}

static bool describe_reject(const struct explain_layer *layer, const uint8_t *message,
                            struct explain_meaning *m)
{
    struct roce_cm_rej rej;
    roce_cm_rej_get(&rej, message);
    bool has_reason = explain_layer_has(layer, "reason");
    explain_add_words(m, "CM REJ");
    bool is_of_one =
        rej.rejected_message == ROCE_CM_MESSAGE_REQ || rej.rejected_message == ROCE_CM_MESSAGE_REP;
    if (is_of_one && explain_layer_has(layer, "rejected_message")) /* else who gave up says so */
        explain_add_words(m, " of %s", roce_cm_message_name(rej.rejected_message));
    if (has_reason)
        explain_add_words(m, ": %s", roce_cm_rej_name(rej.reason));
    explain_remark(m, EXPLAIN_FIND_CM_REJECT, "ROCE-CM-13", 0, m->answers, "rejected%s%s",
                   has_reason ? ": " : "", has_reason ? roce_cm_rej_name(rej.reason) : "");
    return has_reason;
}

static bool describe_reply(const struct explain_layer *layer, const uint8_t *message,
                           struct explain_meaning *m)
{
    struct roce_cm_rep rep;
    roce_cm_rep_get(&rep, message);
    explain_add_words(m, "CM REP");
    bool is_xrc = explain_layer_has(layer, "eecn") && rep.qpn == 0; /* ROCE-XRC-4 */
    if (explain_layer_has(layer, "qpn"))
        explain_add_words(m, ": QP 0x%06x", is_xrc ? rep.eecn : rep.qpn);
    if (!explain_layer_has(layer, "starting_psn"))
        return false;
    explain_add_words(m, ", wants PSNs to it from 0x%06x", rep.starting_psn);
    return true;
}

static bool describe_message(const struct explain_mad *mad, uint16_t attr, struct explain_meaning *m)
{
    const uint8_t *message = mad->bytes + ROCE_MAD_HDR_BYTES;
    if (mad->message && attr == ROCE_CM_REQ)
        return describe_request(mad->message, message, m);
    if (mad->message && attr == ROCE_CM_REP)
        return describe_reply(mad->message, message, m);
    if (mad->message && attr == ROCE_CM_REJ)
        return describe_reject(mad->message, message, m);
    explain_add_words(m, "CM %s", roce_cm_attr_name(attr));
    return attr != ROCE_CM_REQ && attr != ROCE_CM_REP && attr != ROCE_CM_REJ;
}

/* Returns the number of the packet that the message answers, or continues; 0: none was seen. */
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

static struct explain_mad mad_of(const struct explain_packet *packet)
{
    struct explain_mad mad = {.message = NULL};
    memcpy(mad.bytes, packet->frame + packet->payload_offset,
           min_u32(packet->payload_bytes, sizeof mad.bytes));
    mad.is_head_whole = packet->payload_bytes >= ROCE_MAD_HDR_BYTES;
    for (unsigned i = 0; i + 1 < packet->layer_count && !mad.message; i++)
        if (packet->layers[i].kind->id == EXPLAIN_LAYER_MAD)
            mad.message = &packet->layers[i + 1];
    return mad;
}

static void describe_mad(struct explain_flows *f, const struct explain_packet *packet,
                         struct explain_meaning *m)
{
    struct explain_mad mad = mad_of(packet);
    struct roce_mad envelope;
    roce_mad_get(&envelope, mad.bytes);
    if (!mad.is_head_whole) {
        explain_add_words(m, "management datagram (cut)");
        return;
    }
    if (envelope.mgmt_class != ROCE_MAD_CLASS_CM) {
        explain_add_words(m, "management datagram of class 0x%02x", envelope.mgmt_class);
        return;
    }
    struct explain_cm *c = explain_connection(f, packet, &mad, m);
    if (c && !m->answers)
        m->answers = answered_by(c, envelope.attr_id, m->direction);
    bool is_all_said = describe_message(&mad, envelope.attr_id, m);
    if (c)
        explain_add_words(m, ", connection %" PRIu64, c->id);
    if (!is_all_said)
        explain_add_words(m, " (cut)");
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
        explain_pair_carry_datagram(pair, direction, packet, m);
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
