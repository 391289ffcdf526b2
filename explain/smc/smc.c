/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets of SMC-R, each handed to the file that knows its kind. */
#include "explain/smc/smc.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/smc/data.h"
#include "explain/smc/doubt.h"
#include "explain/smc/handshake.h"
#include "explain/smc/links.h"
#include "explain/smc/world.h"
#include "roce/psn.h"
#include "smcr/wire/llc2.h"

/* Whether the packet was taken before, or cannot be yet, as one before it is missing: that is sent again. */
static bool is_out_of_turn(struct smc_view *v, uint32_t psn)
{
    struct smc_link *l = &v->group->links[v->link];
    unsigned side = v->side;
    if (l->is_psn_known[side] && psn != l->next_psn[side]) {
        l->has_gap[side] |= roce_psn_diff(psn, l->next_psn[side]) > 0;
        return true;
    }
    v->group->lost[side] += !l->is_psn_known[side] && psn != l->starting_psn[side];
    l->is_psn_known[side] = true;
    l->has_gap[side] = false;
    l->next_psn[side] = roce_psn_add(psn, 1);
    return false;
}

/* Data that are acknowledged were taken, though the capture may lack them. */
static void take_ack(struct smc_view *v)
{
    const struct roce_pkt *pkt = &v->packet->roce;
    struct smc_link *l = &v->group->links[v->link];
    unsigned sender = !v->side;
    uint32_t next = roce_psn_add(pkt->bth.psn, 1);
    if (!(pkt->op->flags & ROCE_PKT_AETH) || roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK ||
        (l->is_psn_known[sender] && roce_psn_diff(next, l->next_psn[sender]) <= 0))
        return;
    l->is_psn_known[sender] = true;
    l->has_gap[sender] = false;
    l->next_psn[sender] = next;
    v->group->lost[sender]++;
}

/* Looks up which link the pair is, if that may have changed since it was done last. */
static const struct explain_smc_place *place_of(struct smc_view *v)
{
    struct explain_smc_place *place = &v->pair->smc;
    struct smc_group *g;
    unsigned link, side;
    if (place->version == v->w->links_version)
        return place;
    *place = (struct explain_smc_place){.version = v->w->links_version};
    if (explain_smc_link_of(v, &g, &link, &side)) {
        if (!g->links[link].flow)
            g->links[link].flow = v->pair->index;
        place->group = g->id;
        place->link = (uint8_t)link;
        place->side = (uint8_t)(side ^ v->m->direction);
    }
    return place;
}

static bool find_link(struct smc_view *v)
{
    if (!v->pair)
        return false;
    const struct explain_smc_place *place = place_of(v);
    v->group = explain_smc_group_of(v->w, place->group);
    if (!v->group)
        return false;
    v->link = place->link;
    v->side = place->side ^ v->m->direction;
    v->m->smc.group = v->group->id;
    v->m->smc.link = v->group->links[v->link].number;
    v->m->smc.side = (uint8_t)v->side;
    return true;
}

/* The message tells more than that it is a SEND; of one that is sent again that stays. */
static void take_message(struct smc_view *v, const struct explain_layer *layer)
{
    static const char plain[] = "SEND only, message ", parted[] = ": ";
    char *words = v->m->words;
    if (!v->m->answers && strncmp(words, plain, strlen(plain)) == 0)
        words[0] = '\0';
    if (layer->kind->id == EXPLAIN_LAYER_CDC)
        explain_smc_cdc(v, layer);
    else
        explain_smc_llc(v, layer);
    if (strncmp(words, parted, strlen(parted)) == 0)
        memmove(words, words + strlen(parted), strlen(words + strlen(parted)) + 1);
}

static bool is_message(enum explain_layer_id id)
{
    return id == EXPLAIN_LAYER_CDC || explain_layer_is_llc(id);
}

/* The LLC or CDC message in a SEND, or NULL. The parts of one come behind it. */
static const struct explain_layer *message_in(const struct explain_packet *p)
{
    for (unsigned i = 0; i < p->layer_count; i++)
        if (is_message(p->layers[i].kind->id))
            return &p->layers[i];
    return NULL;
}

/* A SEND on a link that begins as a message of version 2, with its own length, and cannot be one.
 * Elsewhere it is a program's. A SEND that does not even begin so may be of a program that uses the QPNs
 * again. */
static void take_no_message(struct smc_view *v)
{
    const struct roce_pkt *pkt = &v->packet->roce;
    const uint8_t *end = v->packet->frame + v->packet->len_bytes;
    struct smcr_llc2_head head;
    if (pkt->bth.opcode != ROCE_OP_SEND_ONLY || end - pkt->payload < SMCR_LLC2_HEAD_BYTES)
        return;
    smcr_llc2_head_get(&head, pkt->payload);
    const char *name = smcr_llc2_type_name(head.type);
    if (!smcr_llc_is_v2(head.type) || !name || smcr_llc2_length(head.length) != pkt->payload_bytes)
        return;
    explain_smc_say(v, ": SMCv2 LLC %s that cannot be", name);
    explain_remark(v->m, EXPLAIN_FIND_SMC_MESSAGE, "", 0, 0, "%s of %u bytes: its parts want another length",
                   name, pkt->payload_bytes);
}

static void take_roce(struct smc_view *v)
{
    const struct explain_packet *p = v->packet;
    uint32_t flags = p->roce.op->flags;
    if (find_link(v)) {
        if (flags & ROCE_PKT_RESPONSE) {
            take_ack(v);
            return;
        }
        v->is_repeat = is_out_of_turn(v, p->roce.bth.psn);
        if (!v->is_repeat)
            explain_smc_settle_doubts(v, p->roce.bth.psn);
        if (flags & ROCE_PKT_WRITE)
            explain_smc_rdma_write(v);
    }
    const struct explain_layer *message = flags & ROCE_PKT_SEND ? message_in(p) : NULL;
    if (message)
        take_message(v, message);
    else if (v->group && !v->is_repeat && flags & ROCE_PKT_SEND)
        take_no_message(v);
}

#define TCP_FLAGS_OFFSET 13
#define TCP_SYN          0x02
#define TCP_ACK          0x10

static void take_option(struct smc_view *v, uint8_t tcp_flags)
{
    if (tcp_flags & TCP_ACK) {
        explain_smc_say(v, "SYN-ACK: the server speaks SMC-R too");
        return;
    }
    explain_smc_say(v, "SYN that offers SMC-R");
    explain_smc_offer(v);
}

/* A segment with neither the option nor a CLC message is of SMC-R as the SYN-ACK that leaves an offer without
 * an answer. */
static void take_tcp(struct smc_view *v)
{
    uint8_t flags = 0;
    for (unsigned i = 0; i < v->packet->layer_count; i++) {
        const struct explain_layer *l = &v->packet->layers[i];
        if (l->kind->id == EXPLAIN_LAYER_TCP)
            flags = v->packet->frame[l->offset + TCP_FLAGS_OFFSET];
        else if (l->kind->id == EXPLAIN_LAYER_SMC_OPTION)
            take_option(v, flags);
        else if (explain_layer_is_clc(l->kind->id))
            explain_smc_clc(v, l);
    }
    bool is_whole = v->packet->len_bytes >= v->packet->wire_bytes; /* or its options may be cut off */
    if (v->packet->kind == EXPLAIN_OTHER && flags & TCP_SYN && flags & TCP_ACK && is_whole)
        explain_smc_no_answer(v);
}

bool explain_smc_has_layer(const struct explain_packet *p)
{
    if (p->kind == EXPLAIN_SMC_TCP)
        return true;
    return p->layer_count && is_message(p->layers[p->layer_count - 1].kind->id);
}

bool explain_smc_take(struct explain_smc *w, struct explain_pair *pair, const struct explain_packet *packet,
                      struct explain_meaning *m, struct explain_smc_begun *begun)
{
    struct smc_view v = {.w = w, .packet = packet, .m = m, .pair = pair};
    if (packet->kind == EXPLAIN_SMC_TCP || packet->kind == EXPLAIN_OTHER)
        take_tcp(&v);
    else if (packet->kind == EXPLAIN_ROCE && packet->verdict == ROCE_RX_TAKEN)
        take_roce(&v);
    if (!v.begun)
        return false;
    for (unsigned side = 0; side < 2; side++) {
        begun->addr[!side] = v.begun->gid[side];
        begun->qpn[!side] = v.begun->qpn[side];
        begun->starting_psn[!side] = v.begun->starting_psn[side];
    }
    return true;
}

bool explain_smc_next_unanswered(struct explain_smc *w, uint64_t last_ns, struct explain_finding *f)
{
    for (; w->ending[0] < SMC_GROUPS_MAX; w->ending[0]++, w->ending[1] = 0) {
        struct smc_group *g = &w->groups[w->ending[0]];
        for (; w->ending[1] < 2; w->ending[1]++, w->ending[2] = 0)
            while (w->ending[2] < SMC_LLC_TYPES) {
                unsigned type = w->ending[2]++;
                const struct smc_request *r = &g->requests[w->ending[1]][type];
                if (!r->number || !r->is_due || g->has_ended || last_ns - r->time_ns < EXPLAIN_ANSWER_NS)
                    continue;
                *f = (struct explain_finding){
                    .kind = EXPLAIN_FIND_SMC_UNANSWERED, .rule = "SMCR-REC-01", .number = r->number};
                snprintf(f->words, sizeof f->words, "%s was asked for, and no response is in this capture",
                         smcr_llc_type_name(type));
                return true;
            }
    }
    return false;
}

/* --- all of it --- */

struct explain_smc *explain_smc_create(void)
{
    struct explain_smc *w = calloc(1, sizeof *w);
    if (w)
        w->conns = calloc(SMC_CONNS_MAX, sizeof *w->conns);
    if (!w || !w->conns) {
        free(w);
        return NULL;
    }
    w->links_version = 1;
    return w;
}

void explain_smc_destroy(struct explain_smc *w)
{
    for (unsigned i = 0; i < SMC_GROUPS_MAX; i++) {
        free(w->groups[i].rmbs[0]);
        free(w->groups[i].rmbs[1]);
    }
    free(w->conns);
    free(w);
}

uint32_t explain_smc_conn_count(const struct explain_smc *w)
{
    return w->conn_count;
}

const struct explain_smc_conn *explain_smc_get_conn(struct explain_smc *w, uint32_t id)
{
    const struct smc_conn *c = explain_smc_conn_of(w, id);
    return c ? &c->shown : NULL;
}

uint32_t explain_smc_group_count(const struct explain_smc *w)
{
    return w->group_count;
}

const struct explain_smc_group *explain_smc_get_group(struct explain_smc *w, uint32_t id)
{
    const struct smc_group *g = explain_smc_group_of(w, id);
    return g ? &g->shown : NULL;
}
