/* SPDX-License-Identifier: BSD-2-Clause */
/* CLC messages: the handshake of each connection, and the link groups that come of them. Accept and
 * Confirm of version 2 have in their first 64 bytes the fields of version 1, and a Decline in its first
 * 24, so that the lists of version 1 read both (test/explain/smc/test_layout.c). */
#include "explain/smc/handshake.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/smc/world.h"
#include "explain/tcp/segment.h"
#include "smcr/cursor.h"
#include "smcr/wire/clc2.h"

static bool is_of(const struct smc_handshake *h, const struct explain_segment *e, bool from_client)
{
    const struct nornic_addr *client = from_client ? &e->addr[0] : &e->addr[1],
                             *server = from_client ? &e->addr[1] : &e->addr[0];
    return h->number && nornic_addr_equal(&h->addr[0], client) && nornic_addr_equal(&h->addr[1], server) &&
           h->port[0] == (from_client ? e->port[0] : e->port[1]) &&
           h->port[1] == (from_client ? e->port[1] : e->port[0]);
}

/* The slot of the handshake between these ends; SMC_HANDSHAKES_MAX: there is none. */
static unsigned slot_of(const struct explain_smc *w, const struct explain_segment *e, bool from_client)
{
    unsigned i = 0;
    while (i < SMC_HANDSHAKES_MAX && !is_of(&w->handshakes[i], e, from_client))
        i++;
    return i;
}

static struct smc_handshake *find(struct explain_smc *w, const struct explain_segment *e, bool from_client)
{
    unsigned i = slot_of(w, e, from_client);
    return i < SMC_HANDSHAKES_MAX ? &w->handshakes[i] : NULL;
}

/* The handshake between these ends, made when it is new: then `last` is 0. */
static struct smc_handshake *find_or_begin(const struct smc_view *v, const struct explain_segment *e,
                                           bool from_client)
{
    struct explain_smc *w = v->w;
    unsigned i = slot_of(w, e, from_client);
    if (i < SMC_HANDSHAKES_MAX)
        return &w->handshakes[i];
    struct smc_handshake *h = &w->handshakes[w->next_handshake++ % SMC_HANDSHAKES_MAX];
    *h = (struct smc_handshake){
        .number = v->packet->number,
        .addr = {from_client ? e->addr[0] : e->addr[1], from_client ? e->addr[1] : e->addr[0]},
        .port = {from_client ? e->port[0] : e->port[1], from_client ? e->port[1] : e->port[0]}};
    return h;
}

/* --- the TCP option --- */

void explain_smc_offer(struct smc_view *v)
{
    struct explain_segment e;
    (void)explain_segment_get(&e, v->packet); /* its TCP header is whole, or nothing of SMC-R were seen */
    struct smc_handshake *h = find_or_begin(v, &e, true);
    if (h->last && h->last != SMCR_CLC_CONFIRM) /* the network made a copy of the SYN */
        return;
    h->number = v->packet->number;
    h->last = 0;
}

void explain_smc_no_answer(struct smc_view *v)
{
    struct explain_segment e;
    (void)explain_segment_get(&e, v->packet); /* its TCP header is whole, or nothing of SMC-R were seen */
    struct smc_handshake *h = find(v->w, &e, false);
    if (!h || h->last)
        return;
    v->m->answers = h->number;
    explain_smc_say(v, "SYN-ACK: the server does not speak SMC-R: plain TCP");
    explain_remark(v->m, EXPLAIN_FIND_SMC_DECLINE, "SMCR-REN-05", 0, h->number,
                   "the offer in SYN #%" PRIu64 " has no answer: plain TCP", h->number);
    h->number = 0;
}

/* --- link groups --- */

static struct nornic_addr gid_of(const struct smcr_accept *a)
{
    struct nornic_addr gid;
    memcpy(gid.b, a->gid, sizeof gid.b);
    return gid;
}

static void set_end(struct smc_link *l, unsigned side, const struct smc_accepted *accepted)
{
    const struct smcr_accept *a = &accepted->message;
    l->gid[side] = gid_of(a);
    memcpy(l->mac[side].b, a->mac, sizeof l->mac[side].b);
    l->qpn[side] = a->qpn;
    l->starting_psn[side] = accepted->reach >= SMC_REACH_PSN ? a->psn : EXPLAIN_PSN_UNKNOWN; /* SMCR-CLC-35 */
}

/* A group with the link that Accept and Confirm name. */
static struct smc_group *make_group(struct smc_view *v, const struct smc_accepted *accepted,
                                    const struct smc_accepted *confirmed)
{
    const struct smcr_accept *accept = &accepted->message, *confirm = &confirmed->message;
    struct smc_group *g = explain_smc_group_new(v->w);
    if (!g)
        return NULL;
    g->is_partial = !accept->flag;
    g->start = accept->version == 1 ? SMCR_CURSOR_START : 0; /* smcrv2: no eye catchers */
    g->shown.version = accept->version;
    g->shown.first_number = v->packet->number;
    memcpy(g->shown.peer_id[0], confirm->peer_id, sizeof confirm->peer_id);
    memcpy(g->shown.peer_id[1], accept->peer_id, sizeof accept->peer_id);
    g->shown.gid[0] = gid_of(confirm);
    g->shown.gid[1] = gid_of(accept);
    struct smc_link *l = &g->links[0];
    l->state = accept->flag ? SMC_LINK_ANNOUNCED : SMC_LINK_ACTIVE;
    l->has_both_ends = true;
    set_end(l, 0, confirmed);
    set_end(l, 1, accepted);
    v->begun = accept->flag ? l : NULL;
    v->w->links_version++;
    g->shown.links = 1;
    g->shown.links_active = g->is_partial;
    return g;
}

/* The group and link on which a side has that QP: SMCR-FC-05. `is_gone`: a link that was deleted
 * meanwhile, between Accept and Confirm. */
static struct smc_group *group_by_end(struct explain_smc *w, unsigned side, const struct smcr_accept *a,
                                      bool is_gone, unsigned *link)
{
    struct nornic_addr gid = gid_of(a);
    uint32_t oldest = w->group_count > SMC_GROUPS_MAX ? w->group_count - SMC_GROUPS_MAX : 0;
    for (uint32_t id = w->group_count; id > oldest; id--) {
        struct smc_group *g = &w->groups[id % SMC_GROUPS_MAX];
        for (unsigned i = 0; i < SMC_LINKS_MAX && !g->has_ended; i++) {
            const struct smc_link *l = &g->links[i];
            if (l->state != SMC_LINK_FREE && (l->state == SMC_LINK_GONE) == is_gone &&
                l->qpn[side] == a->qpn && nornic_addr_equal(&l->gid[side], &gid) &&
                memcmp(g->shown.peer_id[side], a->peer_id, sizeof a->peer_id) == 0) {
                *link = i;
                return g;
            }
        }
    }
    return NULL;
}

/* A group that is older than the capture has links that were not seen yet, and a handshake may name one of
 * them. Two peers may have several such groups, and nothing tells them apart: it is the newest. */
static struct smc_group *older_group(struct explain_smc *w, const struct smcr_accept *accept,
                                     const struct smcr_accept *confirm)
{
    uint32_t oldest = w->group_count > SMC_GROUPS_MAX ? w->group_count - SMC_GROUPS_MAX : 0;
    for (uint32_t id = w->group_count; id > oldest; id--) {
        struct smc_group *g = &w->groups[id % SMC_GROUPS_MAX];
        if (g->is_partial && !g->has_ended && g->shown.version == accept->version &&
            memcmp(g->shown.peer_id[0], confirm->peer_id, sizeof confirm->peer_id) == 0 &&
            memcmp(g->shown.peer_id[1], accept->peer_id, sizeof accept->peer_id) == 0)
            return g;
    }
    return NULL;
}

/* The link that Accept and Confirm name, in a group that is older than the capture; SMC_LINKS_MAX: it has as
 * many as there can be. */
static unsigned add_older_link(struct smc_view *v, struct smc_group *g, const struct smc_accepted *accept,
                               const struct smc_accepted *confirm)
{
    unsigned slot = explain_smc_link_free(g);
    if (slot == SMC_LINKS_MAX)
        return slot;
    struct smc_link *l = &g->links[slot];
    l->state = SMC_LINK_ACTIVE;
    l->has_both_ends = true;
    set_end(l, 0, confirm);
    set_end(l, 1, accept);
    g->shown.links++;
    g->shown.links_active++;
    v->w->links_version++;
    return slot;
}

/* The group of a subsequent contact, and the slot of the link that the server names; NULL: not known. */
static struct smc_group *known_group(struct smc_view *v, const struct smc_accepted *accept,
                                     const struct smc_accepted *confirm, unsigned *link)
{
    struct smc_group *g = group_by_end(v->w, 1, &accept->message, false, link);
    if (!g)
        g = group_by_end(v->w, 1, &accept->message, true, link);
    if (g)
        return g;
    g = older_group(v->w, &accept->message, &confirm->message);
    if (!g)
        return NULL;
    *link = add_older_link(v, g, accept, confirm);
    return *link < SMC_LINKS_MAX ? g : NULL;
}

static void place_half(struct smc_group *g, struct smc_conn *c, unsigned side, unsigned link,
                       const struct smc_accepted *accepted)
{
    const struct smcr_accept *a = &accepted->message;
    struct smc_half *h = &c->half[side];
    unsigned rmb =
        accepted->reach >= SMC_REACH_VA ? explain_smc_rmb_know(g, side, link, a->rkey, a->va) : SMC_RMBS_MAX;
    h->token = c->shown.token[side] = a->alert_token;
    h->index = a->rmbe_index;
    h->rmb = rmb;
    h->elem_bytes = a->bsize <= 5 ? 16384u << a->bsize : 0; /* SMCR-CLC-31 */
    c->shown.buffer_bytes[side] = h->elem_bytes;
    h->producer.offset = h->consumer.offset = g->start;
    if (rmb == SMC_RMBS_MAX)
        return;
    g->rmbs[side][rmb].elem_bytes = h->elem_bytes;
    g->rmbs[side][rmb].conns[h->index] = c->id;
}

/* Returns the group that Accept and Confirm name, made if it is new, and the slots of the links of either
 * side; NULL: no memory, or the capture cut the names. */
static struct smc_group *settle_group(struct smc_view *v, const struct smc_handshake *h,
                                      const struct smc_accepted *confirmed, unsigned links[2], bool *is_new)
{
    const struct smc_accepted *accepted = &h->accepted;
    const struct smcr_accept *confirm = &confirmed->message;
    struct smc_group *g = NULL;
    if (accepted->reach < SMC_REACH_QPN || confirmed->reach < SMC_REACH_QPN)
        return NULL;
    if (!accepted->message.flag)
        g = known_group(v, accepted, confirmed, &links[1]);
    if (g && group_by_end(v->w, 0, confirm, false, &links[0]) != g &&
        group_by_end(v->w, 0, confirm, true, &links[0]) != g)
        links[0] = links[1];
    *is_new = !g;
    g = g ? g : make_group(v, accepted, confirmed);
    if (g && !(accepted->reach >= SMC_REACH_VA && confirmed->reach >= SMC_REACH_VA))
        g->is_partial = true;
    return g;
}

/* Accept and Confirm were seen: the connection is there. */
static void connect(struct smc_view *v, const struct smc_handshake *h, const struct smc_accepted *confirmed)
{
    unsigned links[2] = {0, 0};
    bool is_new = false, is_first = h->accepted.message.flag;
    struct smc_group *g = settle_group(v, h, confirmed, links, &is_new);
    bool is_named = h->accepted.reach >= SMC_REACH_BSIZE && confirmed->reach >= SMC_REACH_BSIZE;
    v->w->is_clc_holey |= !g || !is_named;
    if (g)
        v->m->smc.group = g->id;
    if (!g || !is_named)
        return;
    struct smc_conn *c = explain_smc_conn_new(v->w);
    c->group = c->shown.group = g->id;
    for (unsigned side = 0; side < 2; side++) {
        c->shown.addr[side] = h->addr[side];
        c->shown.port[side] = h->port[side];
    }
    place_half(g, c, 0, links[0], confirmed);
    place_half(g, c, 1, links[1], &h->accepted);
    explain_smc_conn_index(v->w, c);
    g->shown.conns++;
    g->shown.last_number = v->packet->number;
    c->shown.first_number = c->shown.last_number = v->packet->number;
    c->shown.first_ns = c->shown.last_ns = v->packet->time_ns;
    v->m->smc.conn = c->id;
    explain_smc_say(v, "; connection %" PRIu32 " of %sgroup %" PRIu32 "%s", c->id,
                    is_new && is_first ? "the new " : "", g->id,
                    is_new && !is_first ? ", which is older than this capture" : "");
}

/* --- messages --- */

static void judge_trailer(struct smc_view *v, uint32_t trailer)
{
    explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-02", 0, 0,
                   "0x%08x at the end of the message, not the eye catcher", trailer);
}

static void judge_accept(struct smc_view *v, const struct smc_accepted *accepted)
{
    const struct smcr_accept *a = &accepted->message;
    if (a->version == 1 && accepted->reach >= SMC_REACH_TRAILER && a->trailer != SMCR_EYE_CATCHER)
        judge_trailer(v, a->trailer);
    if (accepted->reach >= SMC_REACH_BSIZE && a->rmbe_index == 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-34", 0, 0,
                       "RMBE index 0: they count from 1");
    if (accepted->reach >= SMC_REACH_QPN && a->qpn < 2)
        explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-QP-05", 0, 0,
                       "QP %" PRIu32 " is none for SMC-R", a->qpn);
    if (a->bsize > 5)
        explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-31", 0, 0, "Bsize %u is reserved",
                       a->bsize);
    if (accepted->reach >= SMC_REACH_BSIZE && (a->mtu == 0 || a->mtu > 5) &&
        (a->flag || a->type == SMCR_CLC_CONFIRM))
        explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-33", 0, 0, "MTU %u is reserved", a->mtu);
}

/* Returns an Accept or Confirm, as far as the capture holds it. */
static struct smc_accepted get_accept(const struct smc_view *v, const struct explain_layer *layer)
{
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    static const char *const fields[] = {
        [SMC_REACH_QPN] = "qpn", [SMC_REACH_RKEY] = "rkey", [SMC_REACH_BSIZE] = "bsize",
        [SMC_REACH_VA] = "va",   [SMC_REACH_PSN] = "psn",   [SMC_REACH_TRAILER] = "trailer"};
    struct smc_accepted accepted = {.reach = SMC_REACH_NOTHING};
    while (accepted.reach < SMC_REACH_TRAILER && explain_layer_has(layer, fields[accepted.reach + 1]))
        accepted.reach++;
    smcr_accept_get(&accepted.message, explain_layer_bytes(v->packet, layer, room));
    return accepted;
}

static void say_accept(struct smc_view *v, const struct smc_accepted *accepted)
{
    const struct smcr_accept *a = &accepted->message;
    const char *size = smcr_bsize_name(a->bsize);
    explain_smc_say(v, "SMC%s CLC %s%s", a->version == 2 ? "v2" : "", smcr_clc_type_name(a->type),
                    a->flag ? " (first contact)" : "");
    if (accepted->reach >= SMC_REACH_QPN)
        explain_smc_say(v, ": QP 0x%06x", a->qpn);
    if (accepted->reach >= SMC_REACH_BSIZE)
        explain_smc_say(v, ", RMBE %u of %s", a->rmbe_index, size ? size : "a reserved size");
    if (accepted->reach >= SMC_REACH_VA)
        explain_smc_say(v, " at 0x%" PRIx64, a->va);
    if (accepted->reach >= SMC_REACH_RKEY)
        explain_smc_say(v, ", R_Key 0x%08x", a->rkey);
    if (accepted->reach >= SMC_REACH_BSIZE)
        explain_smc_say(v, ", token 0x%08x", a->alert_token);
    if (accepted->reach < SMC_REACH_VA)
        explain_smc_say(v, " (cut)");
    judge_accept(v, accepted);
}

static void out_of_order(struct smc_view *v, const char *what, const char *before)
{
    explain_remark(v->m, EXPLAIN_FIND_SMC_HANDSHAKE, "SMCR-CLC-08", 0, 0, "%s without %s before it", what,
                   before);
}

static void take_accept(struct smc_view *v, const struct explain_layer *layer,
                        const struct explain_segment *e)
{
    struct smc_accepted a = get_accept(v, layer);
    struct smc_handshake *h = find_or_begin(v, e, false);
    say_accept(v, &a);
    if (h->last == SMCR_CLC_ACCEPT) { /* TCP sent it again */
        v->m->answers = h->number;
        return;
    }
    bool is_same_stream = e->seq == h->ack_seq; /* or another connection has these ports now */
    if (h->last && h->last != SMCR_CLC_PROPOSAL && is_same_stream) /* 0: the capture begins here */
        out_of_order(v, "Accept", "a Proposal");
    v->m->answers = h->number == v->packet->number ? 0 : h->number;
    h->number = v->packet->number;
    h->last = SMCR_CLC_ACCEPT;
    h->accepted = a;
}

static void take_confirm(struct smc_view *v, const struct explain_layer *layer,
                         const struct explain_segment *e)
{
    struct smc_accepted a = get_accept(v, layer);
    a.message.flag = a.message.version == 2 && a.message.flag; /* reserved in version 1: SMCR-CLC-30 */
    say_accept(v, &a);
    struct smc_handshake *h = find(v->w, e, true);
    if (h && h->last == SMCR_CLC_CONFIRM)
        return;           /* TCP sent it again */
    if (!h || !h->last) { /* without its Accept nothing is known of the connection */
        explain_smc_note_lack(v->w);
        return;
    }
    if (h->last != SMCR_CLC_ACCEPT && e->ack != h->ack_seq) { /* the client had it */
        explain_smc_note_lack(v->w);
        return;
    }
    if (h->last != SMCR_CLC_ACCEPT) {
        out_of_order(v, "Confirm", "an Accept");
        return;
    }
    v->m->answers = h->number;
    h->last = SMCR_CLC_CONFIRM;
    h->ack_seq = e->ack;
    connect(v, h, &a);
}

static void say_decline(struct smc_view *v, const struct smcr_decline *d, const struct smc_handshake *h)
{
    /* before any Proposal it is of version 1, whatever its sender could not offer */
    bool is_known_v1 = d->version != 2 && h && h->last;
    const char *why = is_known_v1 && d->diagnosis == SMCR_DIAG_NO_RNIC
                          ? smcr_clc_diagnosis_name(d->diagnosis)
                          : smcr_clc2_diagnosis_name(d->diagnosis);
    explain_smc_say(v, "SMC%s CLC Decline, 0x%08x%s%s%s", d->version == 2 ? "v2" : "", d->diagnosis,
                    why ? ": " : "", why ? why : "", d->flag ? ", out of sync" : "");
    explain_remark(v->m, EXPLAIN_FIND_SMC_DECLINE, "SMCR-CLC-42", 0, 0,
                   "declined (0x%08x%s%s): TCP goes on alone", d->diagnosis, why ? ": " : "", why ? why : "");
}

static void take_decline(struct smc_view *v, const struct explain_layer *layer,
                         const struct explain_segment *e)
{
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    struct smcr_decline d;
    smcr_decline_get(&d, explain_layer_bytes(v->packet, layer, room));
    struct smc_handshake *h = find(v->w, e, true);
    h = h ? h : find(v->w, e, false);
    if (explain_layer_has(layer, "diagnosis")) {
        say_decline(v, &d, h);
    } else {
        explain_smc_say(v, "SMC%s CLC Decline (cut)", d.version == 2 ? "v2" : "");
        explain_remark(v->m, EXPLAIN_FIND_SMC_DECLINE, "SMCR-CLC-42", 0, 0, "declined: TCP goes on alone");
    }
    if (h)
        h->number = 0;
}

static void say_gid(struct smc_view *v, const uint8_t bytes[16], const char *before)
{
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_addr gid;
    memcpy(gid.b, bytes, sizeof gid.b);
    if (!nornic_addr_is_zero(&gid)) /* an end that offers SMC-D only has none */
        explain_smc_say(v, "%sGID %s", before, nornic_addr_str(&gid, text));
}

static void say_offers(struct smc_view *v, const struct smcr_proposal2 *p)
{
    const struct {
        bool is_offered;
        const char *name;
    } rows[] = {{p->offer_v2 == SMCR_CLC2_SMCR || p->offer_v2 == SMCR_CLC2_BOTH, "SMC-Rv2"},
                {p->offer_v2 == SMCR_CLC2_SMCD || p->offer_v2 == SMCR_CLC2_BOTH, "SMC-Dv2"},
                {p->offer_v1 == SMCR_CLC2_SMCR || p->offer_v1 == SMCR_CLC2_BOTH, "SMC-Rv1"},
                {p->offer_v1 == SMCR_CLC2_SMCD || p->offer_v1 == SMCR_CLC2_BOTH, "SMC-Dv1"}};
    unsigned count = 0;
    for (unsigned i = 0; i < array_len(rows); i++)
        if (rows[i].is_offered)
            explain_smc_say(v, "%s%s", count++ ? ", " : "offers ", rows[i].name);
    explain_smc_say(v, "%s", count == 0 ? "offers nothing" : count == 1 ? " only" : "");
}

static unsigned count_eids(const struct smc_view *v)
{
    unsigned count = 0;
    for (unsigned i = 0; i < v->packet->layer_count; i++)
        count += v->packet->layers[i].kind->id == EXPLAIN_LAYER_CLC2_EID &&
                 explain_layer_is_whole(&v->packet->layers[i]);
    return count;
}

/* Writes the EIDs, without the blanks behind them; returns the text before a word that follows. */
static const char *say_eids(struct smc_view *v)
{
    const char *before = "; EID ";
    for (unsigned i = 0; i < v->packet->layer_count; i++) {
        struct smcr_eid e;
        if (v->packet->layers[i].kind->id != EXPLAIN_LAYER_CLC2_EID ||
            !explain_layer_is_whole(&v->packet->layers[i]))
            continue;
        smcr_eid_get(&e, v->packet->frame + v->packet->layers[i].offset);
        int len = sizeof e.eid;
        while (len > 0 && (e.eid[len - 1] == ' ' || e.eid[len - 1] == 0))
            len--;
        for (int k = 0; k < len; k++)
            e.eid[k] = e.eid[k] >= 0x20 && e.eid[k] <= 0x7e ? e.eid[k] : '.';
        explain_smc_say(v, "%s%.*s", before, len, (const char *)e.eid);
        before = ", ";
    }
    return before[0] == ',' ? before : "; ";
}

static void say_proposal1(struct smc_view *v, const struct explain_layer *layer)
{
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    struct smcr_proposal p;
    smcr_proposal_get(&p, explain_layer_bytes(v->packet, layer, room));
    explain_smc_say(v, "SMC CLC Proposal: offers SMC-Rv1 only");
    if (explain_layer_has(layer, "gid"))
        say_gid(v, p.gid, "; ");
    else
        explain_smc_say(v, " (cut)");
}

static void say_proposal2(struct smc_view *v, const struct explain_layer *layer)
{
    uint8_t room[EXPLAIN_LAYER_BYTES_MAX];
    struct smcr_proposal2 p;
    struct smcr_proposal2_ext ext = {.eid_count = 0};
    smcr_proposal2_get(&p, explain_layer_bytes(v->packet, layer, room));
    explain_smc_say(v, "SMCv2 CLC Proposal: ");
    say_offers(v, &p);
    const char *before = say_eids(v);
    const struct explain_layer *extension = explain_layer_from(v->packet, 0, EXPLAIN_LAYER_CLC2_EXTENSION);
    bool has_gid = extension && explain_layer_has(extension, "gid");
    if (has_gid) {
        smcr_proposal2_ext_get(&ext, explain_layer_bytes(v->packet, extension, room));
        say_gid(v, ext.gid, before);
    }
    bool is_cut = v->packet->len_bytes < v->packet->wire_bytes;
    if (is_cut && (!has_gid || ext.eid_count > count_eids(v)) && p.offer_v2 != SMCR_CLC2_NONE)
        explain_smc_say(v, " (cut)");
}

static void take_proposal(struct smc_view *v, const struct explain_layer *layer,
                          const struct explain_segment *e)
{
    struct smc_handshake *h = find_or_begin(v, e, true);
    if (h->last != SMCR_CLC_PROPOSAL)
        h->number = v->packet->number;
    h->last = SMCR_CLC_PROPOSAL;
    h->ack_seq = e->ack;
    if (layer->kind->id == EXPLAIN_LAYER_CLC_PROPOSAL)
        say_proposal1(v, layer);
    else
        say_proposal2(v, layer);
}

static void take_trailer(struct smc_view *v, const struct explain_layer *layer)
{
    struct smcr_trailer t;
    if (!explain_layer_is_whole(layer))
        return;
    smcr_trailer_get(&t, v->packet->frame + layer->offset);
    if (t.trailer != SMCR_EYE_CATCHER)
        judge_trailer(v, t.trailer);
}

static void take_unknown(struct smc_view *v, const uint8_t *at)
{
    struct smcr_clc clc;
    smcr_clc_get(&clc, at);
    explain_smc_say(v, "SMC CLC message, version %u, %u bytes", clc.version, clc.length);
}

void explain_smc_clc(struct smc_view *v, const struct explain_layer *layer)
{
    enum explain_layer_id id = layer->kind->id;
    struct explain_segment e;
    (void)explain_segment_get(&e, v->packet); /* its TCP header is whole, or nothing of SMC-R were seen */
    if (id == EXPLAIN_LAYER_CLC_PROPOSAL || id == EXPLAIN_LAYER_CLC2_PROPOSAL)
        take_proposal(v, layer, &e);
    else if (id == EXPLAIN_LAYER_CLC_ACCEPT || id == EXPLAIN_LAYER_CLC2_ACCEPT)
        take_accept(v, layer, &e);
    else if (id == EXPLAIN_LAYER_CLC_CONFIRM || id == EXPLAIN_LAYER_CLC2_CONFIRM)
        take_confirm(v, layer, &e);
    else if (id == EXPLAIN_LAYER_CLC_DECLINE || id == EXPLAIN_LAYER_CLC2_DECLINE)
        take_decline(v, layer, &e);
    else if (id == EXPLAIN_LAYER_CLC_TRAILER)
        take_trailer(v, layer);
    else if (id == EXPLAIN_LAYER_CLC)
        take_unknown(v, v->packet->frame + layer->offset);
}
