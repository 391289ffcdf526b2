/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts about one peer of SMC-R in a capture: its ports, its links, its connections, and for each of
 * these the stream that it sent, with the CDC messages that told of it. */
#include "explain/replay/smc/learn.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/base.h"
#include "explain/replay/smc/rmbs.h"
#include "explain/replay/smc/who.h"
#include "explain/replay/smc/writes.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "roce/psn.h"

/* --- its assets --- */

static void know_port(struct smcplay *s, const struct smcplay_end *end, uint16_t vlan_id)
{
    for (unsigned i = 0; i < s->port_count; i++)
        if (nornic_addr_equal(&s->ports[i].gid, &end->gid))
            return;
    if (s->port_count == SMCPLAY_PORTS_MAX)
        return;
    unsigned at = s->port_count++;
    /* The first one gave the Peer ID its lower bytes: SMCR-ARC-21. */
    if (memcmp(end->mac.b, s->peer_id + 2, sizeof end->mac.b) == 0) {
        memmove(s->ports + 1, s->ports, at * sizeof *s->ports);
        at = 0;
    }
    s->ports[at] = (struct smcplay_port){.gid = end->gid, .mac = end->mac, .vlan_id = vlan_id};
}

/* `link` has its ends, group, number and VLAN. */
static bool know_link(struct smcplay *s, const struct smcplay_link *link)
{
    if (s->link_count == SMCPLAY_LINKS_MAX)
        return false;
    s->links[s->link_count++] = *link;
    know_port(s, &link->own, link->vlan_id);
    return true;
}

static struct smcplay_end end_of(const struct smcr_accept *a)
{
    struct smcplay_end end = {.qpn = a->qpn};
    memcpy(end.gid.b, a->gid, sizeof end.gid.b);
    memcpy(end.mac.b, a->mac, sizeof end.mac.b);
    return end;
}

/* NULL: it is not known. */
static const struct smcplay_link *find_link(const struct smcplay *s, const struct smcplay_end *own,
                                            const struct smcplay_end *peer)
{
    for (unsigned i = 0; i < s->link_count; i++) {
        const struct smcplay_link *l = &s->links[i];
        if (l->own.qpn == own->qpn && l->peer.qpn == peer->qpn && nornic_addr_equal(&l->own.gid, &own->gid) &&
            nornic_addr_equal(&l->peer.gid, &peer->gid))
            return l;
    }
    return NULL;
}

static uint16_t vlan_of(const struct explain_packet *p)
{
    uint16_t vid = 0;
    for (unsigned i = 0; i < p->layer_count; i++)
        if (p->layers[i].kind->id == EXPLAIN_LAYER_VLAN)
            vid = get_be16(p->frame + p->layers[i].offset) & 0xfff;
    return vid;
}

/* Both ends of a connection are known. */
static int settle(struct smcplay *s, struct smcplay_conn *c, uint16_t vlan_id)
{
    const struct smcr_accept *own = smcplay_own(c), *peer = smcplay_peer(c);
    struct smcplay_end own_end = end_of(own), peer_end = end_of(peer);
    struct smcplay_link first = {
        .own = own_end, .peer = peer_end, .vlan_id = vlan_id, .group = s->group_count};
    s->group_count += c->clc.accept.flag;
    if (c->clc.accept.flag && !know_link(s, &first))
        return -E2BIG;
    const struct smcplay_link *l = find_link(s, &own_end, &peer_end);
    c->is_older = !l;
    if (c->is_older)
        return 0;
    if (c->clc.accept.flag)
        s->mtu = own->mtu; /* of later contacts it means nothing: SMCR-CLC-33 */
    if (own->rmbe_index > 1)
        s->elems_per_rmb = 16;
    c->own_token[0] = own->alert_token;
    c->consumer.offset_bytes = smcplay_start(c);
    uint32_t elem_bytes = smcplay_elem_bytes(peer);
    c->elem_at = (uint64_t)(peer->rmbe_index > 0 ? peer->rmbe_index - 1 : 0) * elem_bytes;
    int err = smcplay_rmb_of(s, l, peer->rkey, peer->va, &c->rmb);
    if (!err)
        err = smcplay_image_init(&c->image, elem_bytes, smcplay_start(c));
    return err ? err : smcplay_image_init(&c->engine.image, elem_bytes, smcplay_start(c));
}

unsigned smcplay_networks(const struct explain_packet *p, const struct nornic_addr *local,
                          struct smcr_network *out, unsigned max)
{
    unsigned n = 0;
    for (unsigned i = 0; i < p->layer_count && n < max; i++) {
        const uint8_t *at = p->frame + p->layers[i].offset;
        struct smcr_subnet subnet;
        struct smcr_prefix prefix;
        if (p->layers[i].kind->id == EXPLAIN_LAYER_CLC_SUBNET && nornic_addr_is_v4(local)) {
            smcr_subnet_get(&subnet, at);
            out[n++] = (struct smcr_network){.addr = *local,
                                             .prefix_len = subnet.mask_len > 32 ? 32 : subnet.mask_len};
        } else if (p->layers[i].kind->id == EXPLAIN_LAYER_CLC_PREFIX) {
            smcr_prefix_get(&prefix, at);
            out[n].prefix_len = prefix.prefix_len > 128 ? 128 : prefix.prefix_len;
            memcpy(out[n++].addr.b, prefix.prefix, sizeof prefix.prefix);
        }
    }
    return n;
}

/* --- packet by packet --- */

static bool has_gid(const struct smcplay *s, const uint8_t gid[16])
{
    for (unsigned i = 0; i < s->port_count; i++)
        if (memcmp(s->ports[i].gid.b, gid, sizeof s->ports[i].gid.b) == 0)
            return true;
    return memcmp(s->addr.b, gid, sizeof s->addr.b) == 0;
}

/* Whether a Proposal is the endpoint's. One of version 2 alone does not name its sender: then the GID does,
 * or the address that it comes from. */
static bool is_own_proposal(const struct smcplay *s, const struct explain_packet *p, unsigned layer,
                            const struct explain_segment *g)
{
    static const uint8_t unnamed[SMCR_PEER_ID_BYTES];
    struct smcr_proposal m;
    smcr_proposal_get(&m, p->frame + p->layers[layer].offset);
    if (memcmp(m.peer_id, unnamed, sizeof unnamed) != 0)
        return memcmp(m.peer_id, s->peer_id, sizeof unnamed) == 0;
    for (unsigned i = layer; i < p->layer_count; i++) {
        struct smcr_proposal2_ext ext;
        if (p->layers[i].kind->id != EXPLAIN_LAYER_CLC2_EXTENSION)
            continue;
        smcr_proposal2_ext_get(&ext, p->frame + p->layers[i].offset);
        if (has_gid(s, ext.gid))
            return true;
    }
    return has_gid(s, g->addr[0].b);
}

static int begin_conn(struct smcplay *s, size_t i, const struct explain_segment *g, bool is_own_proposal,
                      bool is_version_2)
{
    bool is_own;
    const struct smcplay_conn *old = smcplay_conn_of(s, g, &is_own);
    if (old && !old->clc.has_confirm) /* TCP sends it again */
        return 0;
    if (s->conn_count == SMCPLAY_CONNS_MAX)
        return -E2BIG;
    struct smcplay_conn *c = &s->conns[s->conn_count++];
    *c = (struct smcplay_conn){.addr = {g->addr[0], g->addr[1]},
                               .port = {g->port[0], g->port[1]},
                               .clc.proposal = i,
                               .play = s,
                               .index = s->conn_count,
                               .is_version_2 = is_version_2,
                               .is_own_server = !is_own_proposal};
    c->is_own_known = !c->is_own_server;
    return 0;
}

/* A message that answers a Proposal. */
static int learn_answer(struct smcplay *s, struct smcplay_conn *c, size_t i, const struct explain_packet *p,
                        unsigned layer, bool is_own)
{
    enum explain_layer_id id = p->layers[layer].kind->id;
    unsigned type = smcplay_clc_type(id);
    if (is_own && c->clc.own_at == 0 && type != SMCR_CLC_DECLINE)
        c->clc.own_at = i;
    if (type == SMCR_CLC_DECLINE) {
        c->clc.has_own_declined |= is_own && c->is_own_known;
    } else if (type == SMCR_CLC_ACCEPT && !c->clc.has_accept) {
        c->clc.has_accept = true;
        c->is_version_2 = id == EXPLAIN_LAYER_CLC2_ACCEPT; /* whatever else the Proposal offered */
        smcr_accept_get(&c->clc.accept, p->frame + p->layers[layer].offset); /* version 2 begins alike */
    } else if (type == SMCR_CLC_CONFIRM && c->clc.has_accept && !c->clc.has_confirm) {
        c->clc.has_confirm = true;
        smcr_accept_get(&c->clc.confirm, p->frame + p->layers[layer].offset);
        return c->is_own_known ? settle(s, c, vlan_of(p)) : 0;
    }
    return 0;
}

/* --- version 2: the endpoint's configuration --- */

static void know_eid(struct smcplay *s, const uint8_t *eid)
{
    for (unsigned i = 0; i < s->v2.num_eids; i++)
        if (memcmp(s->v2.eids[i], eid, SMCR_EID_LEN) == 0)
            return;
    if (s->v2.num_eids < SMCR_MAX_EIDS)
        memcpy(s->v2.eids[s->v2.num_eids++], eid, SMCR_EID_LEN);
}

/* A layer of a message of its own. */
static void learn_v2(struct smcplay *s, const struct explain_layer *layer, const uint8_t *at)
{
    struct smcr_proposal2 proposal;
    struct smcr_proposal2_ext ext;
    struct smcr_accept2 accept;
    struct smcr_fce fce;
    if (layer->kind->id == EXPLAIN_LAYER_CLC2_PROPOSAL) {
        smcr_proposal2_get(&proposal, at);
        s->v2.offers_v1 |= proposal.offer_v1 != SMCR_CLC2_NONE;
        s->v2.is_spoken = true;
    } else if (layer->kind->id == EXPLAIN_LAYER_CLC2_EXTENSION) {
        smcr_proposal2_ext_get(&ext, at);
        s->v2.max_conns = ext.max_conns;
    } else if (layer->kind->id == EXPLAIN_LAYER_CLC2_EID) {
        know_eid(s, at);
    } else if (layer->kind->id == EXPLAIN_LAYER_CLC2_ACCEPT ||
               layer->kind->id == EXPLAIN_LAYER_CLC2_CONFIRM) {
        smcr_accept2_get(&accept, at);
        know_eid(s, accept.eid);
        s->v2.is_spoken = true;
    } else if (layer->kind->id == EXPLAIN_LAYER_CLC2_FIRST_CONTACT) {
        smcr_fce_get(&fce, at);
        memcpy(s->v2.host_name, fce.host_name, sizeof s->v2.host_name);
        if (s->v2.max_conns == 0)
            s->v2.max_conns = fce.max_conns;
    } else if (layer->kind->id == EXPLAIN_LAYER_CLC_PROPOSAL || layer->kind->id == EXPLAIN_LAYER_CLC_ACCEPT) {
        s->v2.offers_v1 = true;
    }
}

static int learn_clc(struct smcplay *s, size_t i, const struct explain_packet *p)
{
    struct explain_segment g;
    int err = 0;
    if (!explain_segment_get(&g, p))
        return 0;
    for (unsigned k = 0; k < p->layer_count && !err; k++) {
        enum explain_layer_id id = p->layers[k].kind->id;
        const uint8_t *at = p->frame + p->layers[k].offset;
        unsigned type = smcplay_clc_type(id);
        bool is_own;
        if (type == SMCR_CLC_PROPOSAL)
            err = begin_conn(s, i, &g, is_own_proposal(s, p, k, &g), id == EXPLAIN_LAYER_CLC2_PROPOSAL);
        struct smcplay_conn *c = smcplay_conn_of(s, &g, &is_own);
        if (err || !c)
            continue;
        if (is_own && type && memcmp(at + SMCR_CLC_BYTES, s->peer_id, SMCR_PEER_ID_BYTES) == 0)
            c->is_own_known = true;
        if (is_own && c->is_own_known)
            learn_v2(s, &p->layers[k], at);
        if (type && type != SMCR_CLC_PROPOSAL)
            err = learn_answer(s, c, i, p, k, is_own);
    }
    return err;
}

static bool is_shifted(const uint8_t *message)
{
    struct smcr_add_link m;
    smcr_add_link_get(&m, message);
    return !smcr_llc_is_v2(message[0]) && smcr_add_link_is_shifted(&m);
}

/* ADD LINK of one side, and of the other: a link, unless it was refused. */
static int learn_add_link(struct smcplay *s, const struct smcplay_link *via, size_t i,
                          const struct explain_packet *p, bool is_own)
{
    struct explain_packet request;
    struct smcr_add_link m = smcplay_add_link(p->roce.payload);
    struct smcplay_end end = {.qpn = m.qpn};
    uint8_t number = m.link;
    memcpy(end.mac.b, m.mac, sizeof end.mac.b);
    memcpy(end.gid.b, m.gid, sizeof end.gid.b);
    s->has_shifted_add_link |= is_own && is_shifted(p->roce.payload);
    bool is_answer =
        m.response && !m.rejected && s->offered[!is_own].is_there && s->offered[!is_own].number == number;
    s->offered[is_own].is_there = !m.response;
    s->offered[is_own].number = number;
    s->offered[is_own].end = end;
    s->offered[is_own].packet = i;
    if (!is_answer)
        return 0;
    s->offered[!is_own].is_there = false;
    const struct smcplay_end *other = &s->offered[!is_own].end;
    struct smcplay_link link = {.own = is_own ? end : *other,
                                .peer = is_own ? *other : end,
                                .vlan_id = via->vlan_id,
                                .group = via->group,
                                .number = number};
    if (!know_link(s, &link))
        return -E2BIG;
    explain_tape_packet(s->tape, s->offered[0].packet, &request); /* the peer's: request or answer */
    return smcplay_rmbs_learn(s, via, request.roce.payload);
}

static int keep_byte(struct smcplay_conn *c, uint8_t byte)
{
    uint8_t *stream = array_room(c->stream.bytes, &c->stream.cap, c->stream.len + 1, 1);
    if (!stream)
        return -ENOMEM;
    c->stream.bytes = stream;
    c->stream.bytes[c->stream.len++] = byte;
    return 0;
}

/* The stream up to the producer cursor of a CDC; `*is_whole`: the capture has all of it. */
static int learn_stream(struct smcplay_conn *c, const struct smcr_cursor *to, bool *is_whole)
{
    int64_t n = smcplay_image_ahead(&c->image, to);
    *is_whole = n >= 0 && !c->stream.is_broken;
    for (int64_t i = 0; i < n && *is_whole; i++) {
        uint8_t byte;
        *is_whole = smcplay_image_next(&c->image, &byte);
        if (*is_whole && keep_byte(c, byte) != 0)
            return -ENOMEM;
    }
    c->stream.is_broken = !*is_whole;
    return 0;
}

static int learn_cdc(struct smcplay *s, struct smcplay_link *l, size_t i, const uint8_t *message)
{
    struct smcplay_cdc cdc = {.packet = i};
    smcr_cdc_get(&cdc.cdc, message);
    struct smcplay_conn *c = smcplay_conn_by_peer_token(s, cdc.cdc.alert_token, i);
    if (!c)
        return 0;
    struct smcr_cursor to = {cdc.cdc.producer_cursor, cdc.cdc.producer_wrap},
                       read = {cdc.cdc.consumer_cursor, cdc.cdc.consumer_wrap};
    int err = 0;
    cdc.has_data = true;
    if (!cdc.cdc.failover_validation) {
        struct smcplay_place place;
        if (smcplay_place_of(s, c, l, &place))
            smcplay_image_place(&c->image, &place, &l->recorded, &to);
        err = learn_stream(c, &to, &cdc.has_data);
        uint32_t elem = smcplay_elem_bytes(smcplay_own(c)), start = smcplay_start(c);
        int64_t n = smcr_cursor_is_valid(start, &read, elem)
                        ? smcr_cursor_distance(start, &c->consumer, &read, elem)
                        : 0;
        if (n > 0 && n <= smcr_cap_bytes(start, elem)) {
            c->consumer = read;
            c->consumed += (uint64_t)n;
        }
    }
    cdc.produced = c->stream.len;
    cdc.consumed = c->consumed;
    if (err)
        return err;
    struct smcplay_cdc *cdcs = array_room(c->cdc.list, &c->cdc.cap, c->cdc.count + 1, sizeof *cdcs);
    if (!cdcs)
        return -ENOMEM;
    c->cdc.list = cdcs;
    c->cdc.list[c->cdc.count++] = cdc;
    return 0;
}

#define SOON_NS NS_PER_S /* as Linux gives an RMB back when its connection has ended; nornic waits a minute */

/* Returns whether the endpoint gives back at once the assets of its connections that have left. */
static void learn_thrift(struct smcplay *s, const uint8_t *message, uint64_t time_ns)
{
    struct smcr_cdc cdc;
    smcr_cdc_get(&cdc, message);
    if (cdc.type == SMCR_CDC && (cdc.connection_closed || cdc.abnormal_close)) {
        s->v2.closed_ns = time_ns;
        s->v2.is_closed = true;
    }
    if (message[0] == SMCR_LLC2_DELETE_RKEY && !net_bits_get(message, SMCR_LLC_RESPONSE_BIT, 1) &&
        s->v2.is_closed && time_ns - s->v2.closed_ns < SOON_NS)
        s->v2.gives_rmbs_back_soon = true;
}

static int learn_message(struct smcplay *s, struct smcplay_link *l, size_t i, const struct explain_packet *p,
                         bool is_own)
{
    const uint8_t *message = p->roce.payload;
    if (smcplay_type(message) == SMCR_LLC_ADD_LINK)
        return learn_add_link(s, l, i, p, is_own);
    if (!is_own)
        return smcplay_rmbs_learn(s, l, message);
    learn_thrift(s, message, p->time_ns);
    if (smcplay_type(message) == SMCR_LLC_CONFIRM_LINK) {
        struct smcr_confirm_link m;
        smcr_confirm_link_get(&m, message);
        if (!s->max_links && !smcr_llc_is_v2(message[0])) /* later ones repeat the agreement: SMCR-ARC-15 */
            s->max_links = m.max_links;
        l->number = m.link;
    }
    return message[0] == SMCR_CDC ? learn_cdc(s, l, i, message) : 0;
}

/* Of a capture in which TCP has no tag: the packets of the link tell. */
static void know_vlan(struct smcplay *s, struct smcplay_link *l, uint16_t vlan_id)
{
    l->vlan_id = vlan_id;
    for (unsigned i = 0; i < s->port_count; i++)
        if (nornic_addr_equal(&s->ports[i].gid, &l->own.gid))
            s->ports[i].vlan_id = vlan_id;
}

static int learn_roce(struct smcplay *s, size_t i, const struct explain_packet *p)
{
    bool is_own;
    struct smcplay_link *l = smcplay_link_of(s, &p->roce, &is_own);
    if (!l || !(p->roce.op->flags & ROCE_PKT_REQUEST))
        return 0;
    if (p->roce.vlan_tci >= 0)
        know_vlan(s, l, (uint16_t)(p->roce.vlan_tci & 0xfff));
    if (is_own) {
        if (l->is_sent_known && roce_psn_diff(p->roce.bth.psn, l->sent_psn) < 0)
            return 0; /* again */
        l->is_sent_known = true;
        l->sent_psn = roce_psn_add(p->roce.bth.psn, 1);
        if (p->roce.op->flags & ROCE_PKT_WRITE)
            return smcplay_writes_add(&l->recorded, &p->roce);
    }
    return smcplay_is_message(&p->roce) ? learn_message(s, l, i, p, is_own) : 0;
}

int smcplay_learn(struct smcplay *s, const struct nornic_addr *addr, struct nornic_error *why)
{
    struct explain_packet p;
    int err = 0;
    smcplay_find_endpoint(s, *addr);
    for (size_t i = 0; i < s->tape->count && s->is_found && !err; i++) {
        explain_tape_packet(s->tape, i, &p);
        if (p.kind == EXPLAIN_SMC_TCP)
            err = learn_clc(s, i, &p);
        else if (p.kind == EXPLAIN_ROCE && p.verdict == ROCE_RX_TAKEN && !p.cut.is_end)
            err = learn_roce(s, i, &p);
    }
    for (unsigned i = 0; i < s->link_count; i++)
        s->links[i].is_sent_known = false;
    if (err == -E2BIG)
        return net_error_set(why, E2BIG, "more than %d connections, or %d links, of SMC-R", SMCPLAY_CONNS_MAX,
                             SMCPLAY_LINKS_MAX);
    return err ? net_error_set(why, -err, "no memory for the connections of SMC-R") : 0;
}
