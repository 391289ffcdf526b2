/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages: links and RTokens of a group. Both versions lay most of them out alike, from byte 3 on; types
 * of version 2 are those of version 1 with 0x20. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain/smc/world.h"
#include "net/bytes.h"
#include "smcr/cursor.h"
#include "smcr/llc2_wire.h"

#define SIDE_NAME(side) ((side) ? "server" : "client")

struct message {
    const uint8_t *at;
    uint8_t type; /* of version 1 */
    bool is_v2, response;
    const struct explain_layer *layer;
};

static const char *rejected(bool is)
{
    return is ? ", refused" : "";
}

/* --- requests and their responses --- */

/* Who answers which request: SMCR-LLC-05, DLK-06, LGT-02. */
static bool is_answered(const struct smc_view *v, const struct message *msg)
{
    if (msg->type == SMCR_LLC_ADD_LINK)
        return v->side == 1;
    if (msg->type == SMCR_LLC_DELETE_LINK)
        return v->side == 1 && !net_bits_get(msg->at, 25, 1);
    return msg->type != (SMCR_LLC2_REQUEST_ADD_LINK & 0xf);
}

static void ask(struct smc_view *v, const struct message *msg)
{
    struct smc_request *r = &v->group->requests[v->side][msg->type];
    if (!is_answered(v, msg))
        return;
    *r = (struct smc_request){.number = v->packet->number, .time_ns = v->packet->time_ns, .link = v->link};
    memcpy(r->bytes, msg->at, SMCR_MSG_BYTES);
}

/* The request that a response is to, or NULL. */
static struct smc_request *answer(struct smc_view *v, const struct message *msg)
{
    struct smc_request *r = &v->group->requests[!v->side][msg->type];
    if (r->number) {
        v->m->answers = r->number;
        if (r->link != v->link) /* SMCR-LLC-05 */
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-05", 0, r->number,
                           "the response uses another link than its request #%" PRIu64, r->number);
        return r;
    }
    if (!v->group->late)
        explain_remark(v->m, EXPLAIN_FIND_SMC_UNASKED, "SMCR-SER-06", 0, 0, "no %s was asked for",
                       smcr_llc_type_name(msg->type));
    return NULL;
}

static void refuse(struct smc_view *v, const struct message *msg, const char *why)
{
    explain_remark(v->m, EXPLAIN_FIND_SMC_REFUSED, "", 0, v->m->answers, "%s was refused%s",
                   smcr_llc_type_name(msg->type), why);
}

/* --- CONFIRM LINK --- */

static void judge_link(struct smc_view *v, const struct smc_link *l, const struct smcr_confirm_link *c)
{
    char gid[NORNIC_ADDR_STR_SIZE];
    unsigned s = v->side;
    if (c->qpn != l->qpn[s])
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-21", 0, 0,
                       "QP 0x%06x, but QP 0x%06x was announced", c->qpn, l->qpn[s]);
    if (memcmp(c->gid, l->gid[s].b, sizeof c->gid) != 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-21", 0, 0, "another GID than %s, as announced",
                       nornic_addr_str(&l->gid[s], gid));
    if (memcmp(c->mac, l->mac[s].b, sizeof c->mac) != 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-21", 0, 0,
                       "another MAC address than the one announced");
    if (l->number && c->link != l->number)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-21", 0, 0, "link %u, but it is link %u",
                       c->link, l->number);
}

static void confirm_link(struct smc_view *v, const struct message *msg)
{
    struct smcr_confirm_link c;
    struct smc_link *l = &v->group->links[v->link];
    smcr_confirm_link_get(&c, msg->at);
    explain_smc_say(v, ": link %u, QP 0x%06x, user id 0x%08x, at most %u links", c.link, c.qpn,
                    c.link_user_id, c.max_links);
    if (msg->at[3] & 3) /* smcrv2-notes 5: cursors begin at 0 */
        v->group->start = 0;
    if (l->both)
        judge_link(v, l, &c);
    if (!l->number)
        l->number = c.link;
    if (!msg->response) {
        if (v->side == 0)
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-20", 0, 0,
                           "the client asks for CONFIRM LINK: that is the server's");
        if (c.max_links < 2 && !msg->is_v2 && v->group->shown.max_links == 0)
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-22", 0, 0,
                           "at most %u links: 2 is the least", c.max_links);
        l->state = l->state == SMC_LINK_ACTIVE ? l->state : SMC_LINK_CONFIRMING;
        return;
    }
    if (l->state != SMC_LINK_ACTIVE)
        v->group->shown.links_active++;
    l->state = SMC_LINK_ACTIVE;
    if (!v->group->shown.max_links)
        v->group->shown.max_links = c.max_links;
}

/* --- ADD LINK --- */

/* Both layouts as one. */
static void get_add_link(struct smcr_add_link_shifted *a, const struct message *msg)
{
    struct smcr_add_link plain;
    smcr_add_link_shifted_get(a, msg->at);
    if (msg->is_v2 || strcmp(msg->layer->key, "llc_add_link_shifted") == 0)
        return;
    smcr_add_link_get(&plain, msg->at);
    memcpy(a->gid, plain.gid, sizeof a->gid);
    a->qpn = plain.qpn;
    a->link = plain.link;
    a->mtu = plain.mtu;
    a->psn = plain.psn;
}

/* An RMB as the link that carries the message knows it, and on another one. */
static void translate(struct smc_view *v, unsigned link, uint32_t reference, uint32_t rkey, uint64_t va)
{
    unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, reference);
    if (rmb < SMC_RMBS_MAX)
        v->group->rmbs[v->side][rmb].on[link] = (struct smc_rtoken){.known = true, .rkey = rkey, .va = va};
    else if (!v->group->late)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-37", 0, 0,
                       "R_Key 0x%08x is that of no RMB of the %s", reference, SIDE_NAME(v->side));
}

/* The RTokens of an ADD LINK of version 2 stand behind it. */
static unsigned take_rtokens(struct smc_view *v, unsigned link)
{
    unsigned count = 0;
    for (unsigned i = 0; i < v->packet->layer_count; i++) {
        struct smcr_rtoken2 r;
        if (strcmp(v->packet->layers[i].key, "llc2_rtoken") != 0)
            continue;
        smcr_rtoken2_get(&r, v->packet->frame + v->packet->layers[i].offset);
        translate(v, link, r.reference_rkey, r.rkey, r.va);
        count++;
    }
    return count;
}

static void add_link(struct smc_view *v, const struct message *msg)
{
    struct smcr_add_link_shifted a;
    char gid[NORNIC_ADDR_STR_SIZE];
    struct nornic_addr addr;
    struct smc_group *g = v->group;
    get_add_link(&a, msg);
    memcpy(addr.b, a.gid, sizeof addr.b);
    unsigned slot = explain_smc_link_by_number(g, a.link);
    if (a.rejected) {
        if (slot < SMC_LINKS_MAX && g->links[slot].state == SMC_LINK_ANNOUNCED)
            g->links[slot] = (struct smc_link){0};
        v->w->links_version++;
        g->shown.links -= slot < SMC_LINKS_MAX && g->links[slot].state == SMC_LINK_FREE;
        explain_smc_say(v, "%s", rejected(true));
        refuse(v, msg,
               a.reason == SMCR_ADD_LINK_NO_PATH   ? ": no alternate path"
               : a.reason == SMCR_ADD_LINK_BAD_MTU ? ": the MTU is reserved"
                                                   : "");
        return;
    }
    if (!msg->response && v->side == 0) { /* SMCR-LLC-32 */
        explain_smc_say(v, ": the client has a further RNIC, %s", nornic_addr_str(&addr, gid));
        return;
    }
    if (!msg->response && slot == SMC_LINKS_MAX) {
        slot = explain_smc_link_free(g);
        if (slot < SMC_LINKS_MAX)
            g->links[slot] = (struct smc_link){.state = SMC_LINK_ANNOUNCED, .number = a.link};
        g->shown.links++;
    }
    const char *mtu = smcr_mtu_name(a.mtu);
    explain_smc_say(v, ": link %u, QP 0x%06x at %s, MTU %s, PSN 0x%06x", a.link, a.qpn,
                    nornic_addr_str(&addr, gid), mtu ? mtu : "reserved", a.psn);
    if (slot == SMC_LINKS_MAX)
        return;
    struct smc_link *l = &g->links[slot];
    l->gid[v->side] = addr;
    memcpy(l->mac[v->side].b, a.mac, sizeof a.mac);
    l->qpn[v->side] = a.qpn;
    l->both = msg->response;
    v->w->links_version++;
    unsigned rtokens = take_rtokens(v, slot);
    if (msg->is_v2)
        explain_smc_say(v, ", %u RToken%s", rtokens, rtokens == 1 ? "" : "s");
}

static void add_link_cont(struct smc_view *v, const struct message *msg)
{
    struct smcr_add_link_cont c;
    smcr_add_link_cont_get(&c, msg->at);
    unsigned slot = explain_smc_link_by_number(v->group, c.link);
    explain_smc_say(v, ": link %u, %u RTokens to come", c.link, c.rtokens_left);
    if (slot == SMC_LINKS_MAX && !v->group->late) {
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-REC-24", 0, 0, "link %u is not being added",
                       c.link);
        return;
    }
    if (slot < SMC_LINKS_MAX && c.rtokens_left >= 1)
        translate(v, slot, c.reference_rkey_1, c.rkey_1, c.va_1);
    if (slot < SMC_LINKS_MAX && c.rtokens_left >= 2)
        translate(v, slot, c.reference_rkey_2, c.rkey_2, c.va_2);
}

/* --- DELETE LINK --- */

static void lose_link(struct smc_view *v, unsigned slot)
{
    struct smc_link *l = &v->group->links[slot];
    if (l->state == SMC_LINK_ACTIVE)
        v->group->shown.links_active--;
    if (l->state != SMC_LINK_GONE)
        v->group->shown.links_gone++;
    l->state = SMC_LINK_GONE;
}

static void delete_link(struct smc_view *v, const struct message *msg)
{
    struct smcr_delete_link d;
    smcr_delete_link_get(&d, msg->at);
    const char *why = smcr_delete_link_reason_name(d.reason);
    if (d.all)
        explain_smc_say(v, ": all links");
    else
        explain_smc_say(v, ": link %u", d.link);
    if (!msg->response)
        explain_smc_say(v, ", %s%s%s", d.orderly ? "orderly" : "at once", why ? ", " : "", why ? why : "");
    else if (d.reason)
        explain_smc_say(v, ", %s", why ? why : "reserved reason");
    if (d.all) {
        v->group->ended = v->group->shown.ended = true;
        if (!msg->response)
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-LGT-02", 0, 0,
                           "the %s ends group %" PRIu32 "%s%s", SIDE_NAME(v->side), v->group->id,
                           why ? ": " : "", why ? why : "");
        return;
    }
    unsigned slot = explain_smc_link_by_number(v->group, d.link);
    if (slot == SMC_LINKS_MAX) {
        if (!v->group->late && !msg->response)
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-DLK-07", 0, 0, "there is no link %u", d.link);
        return;
    }
    if (!msg->response)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-DLK-03", 0, 0,
                       "the %s gives up link %u of group %" PRIu32 "%s%s", SIDE_NAME(v->side), d.link,
                       v->group->id, why ? ": " : "", why ? why : "");
    else
        lose_link(v, slot);
}

/* --- RKeys --- */

static void learn_rtoken(struct smc_view *v, unsigned rmb, uint8_t number, uint32_t rkey, uint64_t va)
{
    unsigned slot = explain_smc_link_by_number(v->group, number);
    if (slot < SMC_LINKS_MAX)
        v->group->rmbs[v->side][rmb].on[slot] = (struct smc_rtoken){.known = true, .rkey = rkey, .va = va};
}

static void confirm_rkey(struct smc_view *v, const struct message *msg)
{
    struct smcr_confirm_rkey c;
    smcr_confirm_rkey_get(&c, msg->at);
    explain_smc_say(v, ": R_Key 0x%08x at 0x%" PRIx64 ", and %u other links%s", c.rkey, c.va, c.other_links,
                    rejected(c.negative));
    if (msg->response) {
        if (c.negative)
            refuse(v, msg, c.retry ? ": to be tried again" : "");
        return;
    }
    unsigned rmb = explain_smc_rmb_know(v->group, v->side, v->link, c.rkey, c.va);
    if (rmb == SMC_RMBS_MAX)
        return;
    if (c.other_links >= 1)
        learn_rtoken(v, rmb, c.link_1, c.rkey_1, c.va_1);
    if (c.other_links >= 2)
        learn_rtoken(v, rmb, c.link_2, c.rkey_2, c.va_2);
}

static void confirm_rkey_cont(struct smc_view *v, const struct message *msg)
{
    struct smcr_confirm_rkey_cont c;
    struct smcr_confirm_rkey first;
    const struct smc_request *r = &v->group->requests[v->side][SMCR_LLC_CONFIRM_RKEY];
    smcr_confirm_rkey_cont_get(&c, msg->at);
    smcr_confirm_rkey_get(&first, r->bytes);
    explain_smc_say(v, ": %u further links", c.links_left);
    unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, first.rkey);
    if (msg->response || rmb == SMC_RMBS_MAX)
        return;
    if (c.links_left >= 1)
        learn_rtoken(v, rmb, c.link_1, c.rkey_1, c.va_1);
    if (c.links_left >= 2)
        learn_rtoken(v, rmb, c.link_2, c.rkey_2, c.va_2);
    if (c.links_left >= 3)
        learn_rtoken(v, rmb, c.link_3, c.rkey_3, c.va_3);
}

static void delete_rkey(struct smc_view *v, const struct message *msg)
{
    struct smcr_delete_rkey d;
    smcr_delete_rkey_get(&d, msg->at);
    explain_smc_say(v, ": %u key%s, 0x%08x%s%s", d.count, d.count == 1 ? "" : "s", get_be32(d.rkeys),
                    d.count > 1 ? ", ..." : "", rejected(d.negative));
    if (msg->response) {
        if (d.negative)
            refuse(v, msg, ": not all keys are known");
        return;
    }
    for (unsigned i = 0; i < d.count && i < SMCR_RKEYS_PER_DELETE; i++) {
        unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, get_be32(d.rkeys + 4 * (size_t)i));
        if (rmb < SMC_RMBS_MAX)
            v->group->rmbs[v->side][rmb] = (struct smc_rmb){.used = false};
    }
}

static void test_link(struct smc_view *v, const struct message *msg, const struct smc_request *asked)
{
    explain_smc_say(v, ": link %u", v->group->links[v->link].number);
    if (msg->response && asked && memcmp(asked->bytes + 4, msg->at + 4, 16) != 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-REC-28", 0, asked->number,
                       "other user data than in the request");
}

/* What is known of the group too. */
static void follow(struct smc_view *v, const struct message *msg)
{
    struct smc_request *asked = msg->response && !v->again ? answer(v, msg) : NULL;
    switch (msg->type) {
    case SMCR_LLC_CONFIRM_LINK:
        confirm_link(v, msg);
        break;
    case SMCR_LLC_ADD_LINK:
        add_link(v, msg);
        break;
    case SMCR_LLC_ADD_LINK_CONT:
        add_link_cont(v, msg);
        break;
    case SMCR_LLC_DELETE_LINK:
        delete_link(v, msg);
        break;
    case SMCR_LLC_CONFIRM_RKEY:
        confirm_rkey(v, msg);
        break;
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        confirm_rkey_cont(v, msg);
        break;
    case SMCR_LLC_TEST_LINK:
        test_link(v, msg, asked);
        break;
    case SMCR_LLC_DELETE_RKEY:
        delete_rkey(v, msg);
        break;
    }
    if (!msg->response && !v->again)
        ask(v, msg);
    else if (asked)
        asked->number = 0;
}

void explain_smc_llc(struct smc_view *v, const struct explain_layer *layer)
{
    const uint8_t *at = v->packet->frame + layer->offset;
    struct message msg = {.at = at,
                          .type = at[0] & 0xf,
                          .is_v2 = at[0] >> 4 == 2,
                          .response = net_bits_get(at, SMCR_LLC_RESPONSE_BIT, 1),
                          .layer = layer};
    const char *name = msg.is_v2 ? smcr_llc2_type_name(at[0]) : smcr_llc_type_name(at[0]);
    explain_smc_say(v, ": SMC%s LLC %s %s", msg.is_v2 ? "v2" : "", name,
                    msg.response ? "response" : "request");
    if (!v->group)
        return;
    v->group->shown.last_number = v->packet->number;
    if (!v->again)
        follow(v, &msg);
}
