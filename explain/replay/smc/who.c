/* SPDX-License-Identifier: BSD-2-Clause */
/* Who is who: which endpoint an address belongs to, whose a segment or a packet is, what kind of message. */
#include "explain/replay/smc/who.h"

#include <string.h>

#include "base/base.h"
#include "explain/replay/tape.h"

#define DETOURS_MAX 8 /* from an address to the one that its link came from, and so on */

unsigned smcplay_clc_type(enum explain_layer_id id)
{
    static const struct {
        enum explain_layer_id layer;
        enum smcr_clc_type type;
    } types[] = {
        {EXPLAIN_LAYER_CLC_PROPOSAL, SMCR_CLC_PROPOSAL}, {EXPLAIN_LAYER_CLC2_PROPOSAL, SMCR_CLC_PROPOSAL},
        {EXPLAIN_LAYER_CLC_ACCEPT, SMCR_CLC_ACCEPT},     {EXPLAIN_LAYER_CLC2_ACCEPT, SMCR_CLC_ACCEPT},
        {EXPLAIN_LAYER_CLC_CONFIRM, SMCR_CLC_CONFIRM},   {EXPLAIN_LAYER_CLC2_CONFIRM, SMCR_CLC_CONFIRM},
        {EXPLAIN_LAYER_CLC_DECLINE, SMCR_CLC_DECLINE},   {EXPLAIN_LAYER_CLC2_DECLINE, SMCR_CLC_DECLINE},
    };
    for (size_t i = 0; i < array_len(types); i++)
        if (types[i].layer == id)
            return types[i].type;
    return 0;
}

static bool is_llc2(const struct roce_pkt *pkt)
{
    struct smcr_llc2_head head;
    smcr_llc2_head_get(&head, pkt->payload);
    return smcr_llc2_type_name(head.type) && smcr_llc2_length(head.length) == pkt->payload_bytes;
}

bool smcplay_is_message(const struct roce_pkt *pkt)
{
    struct smcr_llc_head head;
    if (pkt->bth.opcode != ROCE_OPCODE(ROCE_SERVICE_RC, ROCE_OP_SEND_ONLY) ||
        pkt->payload_bytes < SMCR_MSG_BYTES) /* a REQUEST ADD LINK without a GID asks for nothing */
        return false;
    smcr_llc_head_get(&head, pkt->payload);
    if (smcr_llc_is_v2(head.type))
        return is_llc2(pkt);
    return pkt->payload_bytes == SMCR_MSG_BYTES && head.length == SMCR_MSG_BYTES &&
           (head.type == SMCR_CDC || smcr_llc_type_name(head.type));
}

bool smcplay_has_message(const struct explain_packet *p)
{
    return p->kind == EXPLAIN_ROCE && p->verdict == ROCE_RX_TAKEN && !p->cut.is_end &&
           smcplay_is_message(&p->roce);
}

struct smcr_add_link smcplay_add_link(const uint8_t *message)
{
    struct smcr_add_link m;
    struct smcr_add_link_shifted shifted; /* as version 2 has it, too */
    smcr_add_link_get(&m, message);
    if (!smcr_llc_is_v2(message[0]) && !smcr_add_link_is_shifted(&m))
        return m;
    smcr_add_link_shifted_get(&shifted, message);
    memcpy(m.gid, shifted.gid, sizeof m.gid);
    m.qpn = shifted.qpn;
    m.link = shifted.link;
    return m;
}

/* --- who is who --- */

static bool is_between(const struct smcplay_conn *c, const struct explain_segment *g, bool from_client)
{
    unsigned src = !from_client, dst = from_client;
    return nornic_addr_equal(&c->addr[src], &g->addr[0]) && c->port[src] == g->port[0] &&
           nornic_addr_equal(&c->addr[dst], &g->addr[1]) && c->port[dst] == g->port[1];
}

struct smcplay_conn *smcplay_conn_of(struct smcplay *s, const struct explain_segment *g, bool *is_own)
{
    for (unsigned i = s->conn_count; i-- > 0;)
        for (unsigned from_client = 0; from_client < 2; from_client++)
            if (is_between(&s->conns[i], g, from_client)) {
                *is_own = s->conns[i].is_own_server != from_client;
                return &s->conns[i];
            }
    return NULL;
}

static bool is_end(const struct smcplay_end *end, const struct roce_pkt *pkt)
{
    return end->qpn == pkt->bth.dest_qpn && nornic_addr_equal(&end->gid, &pkt->dst);
}

struct smcplay_link *smcplay_link_of(struct smcplay *s, const struct roce_pkt *pkt, bool *is_own)
{
    for (unsigned i = s->link_count; i-- > 0;) {
        struct smcplay_link *l = &s->links[i];
        *is_own = is_end(&l->peer, pkt) && nornic_addr_equal(&l->own.gid, &pkt->src);
        if (*is_own || (is_end(&l->own, pkt) && nornic_addr_equal(&l->peer.gid, &pkt->src)))
            return l;
    }
    return NULL;
}

const struct smcr_accept *smcplay_own(const struct smcplay_conn *c)
{
    return c->is_own_server ? &c->clc.accept : &c->clc.confirm;
}

const struct smcr_accept *smcplay_peer(const struct smcplay_conn *c)
{
    return c->is_own_server ? &c->clc.confirm : &c->clc.accept;
}

struct smcplay_conn *smcplay_conn_by_peer_token(struct smcplay *s, uint32_t token, size_t before)
{
    for (unsigned i = s->conn_count; i-- > 0;) {
        struct smcplay_conn *c = &s->conns[i];
        if (c->image.elem_bytes && c->clc.proposal < before && smcplay_peer(c)->alert_token == token)
            return c;
    }
    return NULL;
}

/* Who has that address: it sends CLC messages from it, or names it as a GID. */
static void find_in_clc(struct smcplay *s, const struct explain_packet *p, const struct nornic_addr *addr)
{
    struct explain_segment g;
    if (!explain_segment_get(&g, p))
        return;
    for (unsigned i = 0; i < p->layer_count && !s->is_found; i++) {
        static const uint8_t unnamed[SMCR_PEER_ID_BYTES];
        struct smcr_proposal m; /* Accept and Confirm, of both versions, begin alike: Peer ID, GID, MAC */
        unsigned type = smcplay_clc_type(p->layers[i].kind->id);
        if (type == 0 || type == SMCR_CLC_DECLINE)
            continue;
        smcr_proposal_get(&m, p->frame + p->layers[i].offset);
        s->is_found = (nornic_addr_equal(&g.addr[0], addr) || memcmp(m.gid, addr->b, sizeof m.gid) == 0) &&
                      memcmp(m.peer_id, unnamed, sizeof unnamed) != 0;
        if (!s->is_found)
            continue;
        memcpy(s->peer_id, m.peer_id, sizeof m.peer_id);
        s->addr = g.addr[0];
    }
}

/* The address of the link over which whoever has `addr` has named it as the GID of another. */
static bool find_detour(const struct explain_packet *p, struct nornic_addr *addr)
{
    if (!smcplay_has_message(p) || smcplay_type(p->roce.payload) != SMCR_LLC_ADD_LINK)
        return false;
    struct smcr_add_link m = smcplay_add_link(p->roce.payload);
    if (memcmp(m.gid, addr->b, sizeof m.gid) != 0 || nornic_addr_equal(&p->roce.src, addr))
        return false;
    *addr = p->roce.src;
    return true;
}

void smcplay_find_endpoint(struct smcplay *s, struct nornic_addr addr)
{
    struct explain_packet p;
    for (unsigned detour = 0; detour < DETOURS_MAX && !s->is_found; detour++) {
        for (size_t i = 0; i < s->tape->count && !s->is_found; i++) {
            explain_tape_packet(s->tape, i, &p);
            if (p.kind == EXPLAIN_SMC_TCP)
                find_in_clc(s, &p, &addr);
        }
        bool turned = false;
        for (size_t i = 0; i < s->tape->count && !s->is_found && !turned; i++) {
            explain_tape_packet(s->tape, i, &p);
            turned = find_detour(&p, &addr);
        }
        if (!turned)
            return;
    }
}
