/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections of the CM, followed from the REQ to the DREP: which message belongs to which, what was sent
 * again, and what REQ and REP tell of the queue pairs before their first packet. */
#include "explain/flow/connection.h"

#include <inttypes.h>

#include "explain/flow/pair/find.h"
#include "explain/flow/pair/table.h"
#include "net/bytes.h"
#include "roce/cm/mad.h"

static bool asks_first(uint16_t attr)
{
    return attr == ROCE_CM_REQ || attr == ROCE_CM_SIDR_REQ;
}

/* Every CM message begins with the sender's id, and all but REQ and SIDR name the receiver's next (ROCE-CM-10
 * to CM-21); a SIDR_REP repeats the id of its request. */
static bool has_ids(const struct explain_layer *message, uint16_t attr)
{
    bool is_sidr = attr == ROCE_CM_SIDR_REQ || attr == ROCE_CM_SIDR_REP;
    return explain_layer_has(message, is_sidr               ? "request_id"
                                      : attr == ROCE_CM_REQ ? "local_comm_id"
                                                            : "remote_comm_id");
}

/* The connection that the message is of, and who of its ends sent it; NULL: none that was seen. */
static struct explain_cm *find(struct explain_flows *f, const struct explain_packet *packet, uint16_t attr,
                               uint32_t local, uint32_t remote, unsigned *sender)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t asker_id = attr == ROCE_CM_SIDR_REP ? local : remote;
    for (unsigned age = 1; age <= EXPLAIN_CM_MAX; age++) {
        struct explain_cm *c = &f->cms[(f->next_cm - age) % EXPLAIN_CM_MAX];
        if (!c->number)
            return NULL;
        if (!explain_network_equal(&c->network, &packet->network))
            continue;
        bool from_asker =
            nornic_addr_equal(&c->addr[0], &pkt->src) && nornic_addr_equal(&c->addr[1], &pkt->dst);
        bool to_asker =
            nornic_addr_equal(&c->addr[1], &pkt->src) && nornic_addr_equal(&c->addr[0], &pkt->dst);
        if (from_asker && local == c->comm_id[0] && attr != ROCE_CM_SIDR_REP) {
            *sender = 0;
            return c;
        }
        if (to_asker && !asks_first(attr) && asker_id == c->comm_id[0]) {
            *sender = 1;
            return c;
        }
    }
    return NULL;
}

static uint8_t service_of(enum roce_cm_transport transport, uint8_t ext_transport)
{
    if (transport == ROCE_CM_TRANSPORT_UC)
        return ROCE_SERVICE_UC;
    return transport == ROCE_CM_TRANSPORT_RC || ext_transport == 0 ? ROCE_SERVICE_RC : ROCE_SERVICE_XRC;
}

/* Begins a connection at its REQ. Where the capture cut off the transport, no pair begins. */
static struct explain_cm *begin(struct explain_flows *f, const struct explain_packet *packet, uint16_t attr,
                                const uint8_t *message, const struct explain_layer *layer)
{
    struct explain_cm *c = &f->cms[f->next_cm++ % EXPLAIN_CM_MAX];
    *c = (struct explain_cm){.number = packet->number,
                             .id = ++f->cm_count,
                             .network = packet->network,
                             .addr = {packet->roce.src, packet->roce.dst},
                             .comm_id = {get_be32(message), 0},
                             .service = ROCE_SERVICE_UD};
    if (attr != ROCE_CM_REQ)
        return c;
    struct roce_cm_req req;
    roce_cm_req_get(&req, message);
    bool is_extended = req.transport == ROCE_CM_TRANSPORT_EXTENDED;
    if (!explain_layer_has(layer, is_extended ? "ext_transport" : "transport"))
        return c;
    c->service = service_of((enum roce_cm_transport)req.transport, req.ext_transport);
    c->qpn[0] = req.qpn;
    c->starting_psn[1] = explain_layer_has(layer, "starting_psn") ? req.starting_psn : EXPLAIN_PSN_UNKNOWN;
    struct roce_cm_path_block path;
    roce_cm_path_block_get(&path, req.primary);
    bool has_timeout = explain_layer_has(layer, "primary") && path.ack_timeout;
    c->ack_timeout_ns = has_timeout ? explain_timeout_of_code(path.ack_timeout) : 0;
    c->pmtu_bytes = req.path_mtu >= 1 && req.path_mtu <= 5 ? 128u << req.path_mtu : 0;
    return c;
}

struct explain_pair *explain_pair_begin(struct explain_flows *f, const struct explain_network *network,
                                        const struct nornic_addr addr[2], const uint32_t qpn[2],
                                        const uint32_t starting_psn[2], uint8_t service)
{
    struct explain_pair *pair = explain_pair_know(f, network, addr, qpn, service);
    for (unsigned d = 0; pair && d < 2; d++) {
        if (starting_psn[d] == EXPLAIN_PSN_UNKNOWN)
            continue;
        pair->half[d].asks.has_any = true;
        pair->half[d].asks.first_psn = pair->half[d].asks.next_psn = starting_psn[d];
    }
    return pair;
}

/* Both ends are known: the pair begins with the PSNs that each was told to use first (ROCE-CM-30). */
static void take_rep(struct explain_flows *f, struct explain_cm *c, const uint8_t *message,
                     const struct explain_layer *layer)
{
    struct roce_cm_rep rep;
    roce_cm_rep_get(&rep, message);
    bool is_xrc = c->service == ROCE_SERVICE_XRC; /* ROCE-XRC-4 */
    if (c->is_answered || c->service == ROCE_SERVICE_UD || !explain_layer_has(layer, is_xrc ? "eecn" : "qpn"))
        return;
    c->is_answered = true;
    c->comm_id[1] = rep.local_comm_id;
    c->qpn[1] = is_xrc ? rep.eecn : rep.qpn;
    c->starting_psn[0] = explain_layer_has(layer, "starting_psn") ? rep.starting_psn : EXPLAIN_PSN_UNKNOWN;
    struct explain_pair *pair =
        explain_pair_begin(f, &c->network, c->addr, c->qpn, c->starting_psn, c->service);
    if (!pair)
        return;
    c->flow = pair->index;
    pair->shown.pmtu_bytes = c->pmtu_bytes;
    for (unsigned d = 0; d < 2; d++)
        pair->half[d].timer = (struct explain_timer_terms){c->ack_timeout_ns, c->number, 0, 0};
}

static void note_closed(struct explain_pair *pair, const struct explain_packet *packet)
{
    if (!pair || pair->closed_number)
        return;
    pair->closed_number = packet->number;
    pair->closed_ns = packet->time_ns;
}

struct explain_cm *explain_connection(struct explain_flows *f, const struct explain_packet *packet,
                                      const struct explain_mad *mad, struct explain_meaning *m)
{
    const uint8_t *message = mad->bytes + ROCE_MAD_HDR_BYTES;
    struct roce_mad envelope;
    unsigned sender = 0;
    roce_mad_get(&envelope, mad->bytes);
    uint16_t attr = envelope.attr_id;
    unsigned kind = attr - ROCE_CM_ATTR_FIRST;
    if (kind >= EXPLAIN_CM_KINDS || !mad->message || !has_ids(mad->message, attr))
        return NULL;
    struct explain_cm *c = find(f, packet, attr, get_be32(message), get_be32(message + 4), &sender);
    /* another transaction with an id that was used before is a new connection */
    if (asks_first(attr) && (!c || c->tid[0][kind] != envelope.tid))
        c = begin(f, packet, attr, message, mad->message);
    if (!c)
        return NULL;
    if (attr == ROCE_CM_REP)
        take_rep(f, c, message, mad->message);
    if (attr == ROCE_CM_DREQ && c->flow)
        note_closed(explain_pair_by_index(f, c->flow), packet);
    uint64_t before = c->message[sender][kind];
    if (before && c->tid[sender][kind] == envelope.tid) {
        m->answers = before;
        explain_remark(m, EXPLAIN_FIND_CM_RETRY, "ROCE-CM-34", 0, before,
                       "the %s of connection %" PRIu64 " again, first seen in #%" PRIu64,
                       roce_cm_attr_name(attr), c->id, before);
    } else {
        c->message[sender][kind] = packet->number;
        c->tid[sender][kind] = envelope.tid;
    }
    m->flow = c->flow;
    m->direction = sender;
    return c;
}
