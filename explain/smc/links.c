/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages: links and RTokens of a group. A message is decoded once, by the lists of its layer; what
 * follows works on the values. */
#include "explain/smc/links.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "explain/smc/ask.h"
#include "explain/smc/doubt.h"
#include "explain/smc/llc_message.h"
#include "explain/smc/world.h"
#include "net/bytes.h"
#include "smcr/cursor.h"
#include "smcr/wire/clc2.h"
#include "smcr/wire/llc2.h"

#define SIDE_NAME(side) ((side) ? "server" : "client")

/* --- what a message says by itself, whatever is known of its group --- */

static const char *rejected(bool is)
{
    return is ? ", refused" : "";
}

static const char *plural(unsigned count)
{
    return count == 1 ? "" : "s";
}

static const char *add_link_reason(const struct smcr_add_link_shifted *a)
{
    return a->reason == SMCR_ADD_LINK_NO_PATH   ? ": no alternate path"
           : a->reason == SMCR_ADD_LINK_BAD_MTU ? ": the MTU is reserved"
                                                : "";
}

/* How many parts of that kind stand behind the message. */
static unsigned count_parts(const struct smc_view *v, enum explain_layer_id id)
{
    unsigned count = 0;
    for (unsigned i = 0; i < v->packet->layer_count; i++)
        count += v->packet->layers[i].kind->id == id && explain_layer_is_whole(&v->packet->layers[i]);
    return count;
}

static void say_add_link(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_add_link_shifted *a = &msg->add_link;
    const char *mtu = smcr_mtu_name(a->mtu);
    unsigned rtokens = count_parts(v, EXPLAIN_LAYER_LLC2_RTOKEN);
    char text[NORNIC_ADDR_STR_SIZE];
    struct nornic_addr gid;
    memcpy(gid.b, a->gid, sizeof gid.b);
    if (a->rejected) {
        explain_smc_say(v, "%s%s", rejected(true), add_link_reason(a));
        return;
    }
    if (v->group && v->side == 0 && !msg->is_response) { /* SMCR-LLC-32 */
        explain_smc_say(v, ": the client has a further RNIC, %s", nornic_addr_str(&gid, text));
        return;
    }
    explain_smc_say(v, ": link %u, QP 0x%06x at %s, MTU %s, wants PSNs to it from 0x%06x", a->link, a->qpn,
                    nornic_addr_str(&gid, text), mtu ? mtu : "reserved", a->psn);
    if (!explain_smc_message_is_whole(v->packet, msg))
        explain_smc_say(v, " (cut)");
    else if (msg->is_v2)
        explain_smc_say(v, ", %u RToken%s", rtokens, plural(rtokens));
}

static void say_request_add_link(struct smc_view *v)
{
    const char *before = ": the client has further GIDs: ";
    char text[NORNIC_ADDR_STR_SIZE];
    struct smcr_gid g;
    struct nornic_addr gid;
    for (unsigned i = 0; i < v->packet->layer_count; i++) {
        if (v->packet->layers[i].kind->id != EXPLAIN_LAYER_LLC2_GID ||
            !explain_layer_is_whole(&v->packet->layers[i]))
            continue;
        smcr_gid_get(&g, v->packet->frame + v->packet->layers[i].offset);
        memcpy(gid.b, g.gid, sizeof gid.b);
        explain_smc_say(v, "%s%s", before, nornic_addr_str(&gid, text));
        before = ", ";
    }
}

static void say_delete_link(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_delete_link *d = &msg->delete_link;
    const char *why = smcr_delete_link_reason_name(d->reason);
    if (d->all)
        explain_smc_say(v, ": all links");
    else
        explain_smc_say(v, ": link %u", d->link);
    if (!msg->is_response)
        explain_smc_say(v, ", %s%s%s", d->orderly ? "orderly" : "at once", why ? ", " : "", why ? why : "");
    else if (d->reason)
        explain_smc_say(v, ", %s", why ? why : "reserved reason");
}

static void say_rkeys(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_confirm_rkey *c = &msg->confirm_rkey;
    const struct smcr_delete_rkey *d = &msg->delete_rkey;
    if (msg->type == SMCR_LLC_CONFIRM_RKEY) {
        explain_smc_say(v, ": R_Key 0x%08x at 0x%" PRIx64, c->rkey, c->va);
        if (c->other_links)
            explain_smc_say(v, ", and on %u other link%s", c->other_links, plural(c->other_links));
        explain_smc_say(v, "%s", rejected(c->negative));
        return;
    }
    explain_smc_say(v, ": %u key%s, 0x%08x%s%s", d->count, plural(d->count), get_be32(d->rkeys),
                    d->count > 1 ? ", ..." : "", rejected(d->negative));
}

static void say(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_confirm_link2 *c = &msg->confirm_link;
    switch (msg->type) {
    case SMCR_LLC_CONFIRM_LINK:
        explain_smc_say(v, ": link %u, QP 0x%06x, user id 0x%08x, at most %u link%s", c->link, c->qpn,
                        c->link_user_id, c->max_links, plural(c->max_links));
        break;
    case SMCR_LLC_ADD_LINK:
        say_add_link(v, msg);
        break;
    case SMCR_LLC_ADD_LINK_CONT:
        explain_smc_say(v, ": link %u, %u RToken%s to come", msg->add_link_cont.link,
                        msg->add_link_cont.rtokens_left, plural(msg->add_link_cont.rtokens_left));
        break;
    case SMCR_LLC_DELETE_LINK:
        say_delete_link(v, msg);
        break;
    case SMCR_LLC_CONFIRM_RKEY:
    case SMCR_LLC_DELETE_RKEY:
        say_rkeys(v, msg);
        break;
    case SMCR_LLC_CONFIRM_RKEY_CONT:
        explain_smc_say(v, ": %u further link%s", msg->confirm_rkey_cont.links_left,
                        plural(msg->confirm_rkey_cont.links_left));
        break;
    case SMCR_LLC_TEST_LINK:
        if (v->group)
            explain_smc_say(v, ": link %u", v->group->links[v->link].number);
        break;
    default: /* REQUEST ADD LINK is in version 2 only */
        say_request_add_link(v);
    }
}

/* --- requests and their responses --- */

/* Who must answer which request: SMCR-LLC-05, DLK-06, LGT-02. The client's DELETE LINK makes the server
 * ask for the same, or say that it knows no such link. */
static bool is_answer_due(const struct smc_view *v, const struct smc_message *msg)
{
    if (msg->type == SMCR_LLC_ADD_LINK)
        return v->side == 1;
    if (msg->type == SMCR_LLC_DELETE_LINK)
        return v->side == 1 && !msg->delete_link.all;
    return msg->type != smcr_llc2_v1_type(SMCR_LLC2_REQUEST_ADD_LINK);
}

static void ask(struct smc_view *v, const struct smc_message *msg)
{
    struct smc_request *r = explain_smc_ask(v, msg->type, is_answer_due(v, msg));
    if (msg->type == SMCR_LLC_CONFIRM_RKEY)
        r->rkey = msg->confirm_rkey.rkey;
    r->has_user_data = msg->type == SMCR_LLC_TEST_LINK && explain_smc_message_has(msg, "user_data");
    if (r->has_user_data)
        memcpy(r->user_data, msg->test_link.user_data, sizeof r->user_data);
}

static void refuse(struct smc_view *v, const struct smc_message *msg, const char *why)
{
    explain_remark(v->m, EXPLAIN_FIND_SMC_REFUSED, "", 0, v->m->answers, "%s was refused%s",
                   smcr_llc_type_name(msg->type), why);
}

/* --- CONFIRM LINK --- */

static void judge_link(struct smc_view *v, const struct smc_link *l, const struct smcr_confirm_link2 *c)
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

static void ask_to_confirm_link(struct smc_view *v, const struct smc_message *msg, struct smc_link *l)
{
    if (v->side == 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-20", 0, 0,
                       "the client asks for CONFIRM LINK: that is the server's");
    if (msg->confirm_link.max_links < 2 && !msg->is_v2 && v->group->shown.max_links == 0)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-22", 0, 0, "at most %u links: 2 is the least",
                       msg->confirm_link.max_links);
    if (l->state != SMC_LINK_ACTIVE)
        l->state = SMC_LINK_CONFIRMING;
}

static void confirm_link(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_confirm_link2 *c = &msg->confirm_link;
    struct smc_link *l = &v->group->links[v->link];
    if (c->no_eye_catcher) /* smcrv2-notes 5: cursors begin at 0 */
        v->group->start = 0;
    if (l->has_both_ends)
        judge_link(v, l, c);
    if (!l->number)
        l->number = c->link;
    if (!msg->is_response) {
        ask_to_confirm_link(v, msg, l);
        return;
    }
    if (l->state != SMC_LINK_ACTIVE)
        v->group->shown.links_active++;
    l->state = SMC_LINK_ACTIVE;
    if (!v->group->shown.max_links)
        v->group->shown.max_links = c->max_links;
}

/* --- ADD LINK --- */

/* An RMB as the link that carries the message knows it, and on another one. */
static void translate(struct smc_view *v, unsigned link, uint32_t reference, uint32_t rkey, uint64_t va)
{
    unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, reference);
    if (rmb < SMC_RMBS_MAX)
        v->group->rmbs[v->side][rmb].on[link] = (struct smc_rtoken){.is_known = true, .rkey = rkey, .va = va};
    else if (!explain_smc_may_lack_conns(v->w, v->group))
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK, "SMCR-LLC-37", 0, 0,
                       "R_Key 0x%08x is that of no RMB of the %s", reference, SIDE_NAME(v->side));
}

/* The RTokens of an ADD LINK of version 2 stand behind it. */
static void take_rtokens(struct smc_view *v, unsigned link)
{
    for (unsigned i = 0; i < v->packet->layer_count; i++) {
        struct smcr_rtoken2 r;
        if (v->packet->layers[i].kind->id != EXPLAIN_LAYER_LLC2_RTOKEN ||
            !explain_layer_is_whole(&v->packet->layers[i]))
            continue;
        smcr_rtoken2_get(&r, v->packet->frame + v->packet->layers[i].offset);
        translate(v, link, r.reference_rkey, r.rkey, r.va);
    }
}

/* What was announced is no more. */
static void refuse_link(struct smc_view *v, const struct smc_message *msg, unsigned slot)
{
    struct smc_group *g = v->group;
    if (slot < SMC_LINKS_MAX && g->links[slot].state == SMC_LINK_ANNOUNCED) {
        g->links[slot] = (struct smc_link){0};
        g->shown.links--;
    }
    v->w->links_version++;
    refuse(v, msg, add_link_reason(&msg->add_link));
}

/* The slot of a link that the server asks for; SMC_LINKS_MAX: there is no room for one more. */
static unsigned announce_link(struct smc_group *g, uint8_t number)
{
    unsigned slot = explain_smc_link_free(g);
    if (slot < SMC_LINKS_MAX)
        g->links[slot] = (struct smc_link){.state = SMC_LINK_ANNOUNCED, .number = number};
    g->shown.links++;
    return slot;
}

/* One end of the link is known now; with the response both are. */
static void set_end(struct smc_view *v, const struct smc_message *msg, unsigned slot,
                    const struct nornic_addr *gid)
{
    struct smc_link *l = &v->group->links[slot];
    l->gid[v->side] = *gid;
    memcpy(l->mac[v->side].b, msg->add_link.mac, sizeof l->mac[v->side].b);
    l->qpn[v->side] = msg->add_link.qpn;
    l->starting_psn[v->side] = msg->add_link.psn;
    v->begun = msg->is_response && !l->has_both_ends ? l : NULL;
    l->has_both_ends = msg->is_response;
    v->w->links_version++;
}

static void add_link(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_add_link_shifted *a = &msg->add_link;
    struct nornic_addr gid;
    memcpy(gid.b, a->gid, sizeof gid.b);
    unsigned slot = explain_smc_link_by_number(v->group, a->link);
    if (a->rejected) {
        refuse_link(v, msg, slot);
        return;
    }
    if (!msg->is_response && v->side == 0) /* SMCR-LLC-32 */
        return;
    if (!msg->is_response && slot == SMC_LINKS_MAX)
        slot = announce_link(v->group, a->link);
    if (slot == SMC_LINKS_MAX)
        return;
    set_end(v, msg, slot, &gid);
    take_rtokens(v, slot);
}

static void add_link_cont(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_add_link_cont *c = &msg->add_link_cont;
    unsigned slot = explain_smc_link_by_number(v->group, c->link);
    if (slot == SMC_LINKS_MAX && !explain_smc_may_lack(v->group)) {
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_LINK, "SMCR-REC-24", 0, "link %u is not being added", c->link);
        return;
    }
    if (slot < SMC_LINKS_MAX && c->rtokens_left >= 1 && explain_smc_message_has(msg, "va_1"))
        translate(v, slot, c->reference_rkey_1, c->rkey_1, c->va_1);
    if (slot < SMC_LINKS_MAX && c->rtokens_left >= 2 && explain_smc_message_has(msg, "va_2"))
        translate(v, slot, c->reference_rkey_2, c->rkey_2, c->va_2);
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

static void delete_link(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_delete_link *d = &msg->delete_link;
    const char *why = smcr_delete_link_reason_name(d->reason);
    if (d->all) {
        v->group->has_ended = v->group->shown.has_ended = true;
        if (!msg->is_response)
            explain_remark(v->m, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-LGT-02", 0, 0,
                           "the %s ends group %" PRIu32 "%s%s", SIDE_NAME(v->side), v->group->id,
                           why ? ": " : "", why ? why : "");
        return;
    }
    unsigned slot = explain_smc_link_by_number(v->group, d->link);
    if (slot == SMC_LINKS_MAX) {
        if (!explain_smc_may_lack(v->group) && !msg->is_response)
            explain_smc_doubt(v, EXPLAIN_FIND_SMC_LINK, "SMCR-DLK-07", 0, "there is no link %u", d->link);
        return;
    }
    if (!msg->is_response)
        explain_remark(v->m, EXPLAIN_FIND_SMC_LINK_GONE, "SMCR-DLK-03", 0, 0,
                       "the %s gives up link %u of group %" PRIu32 "%s%s", SIDE_NAME(v->side), d->link,
                       v->group->id, why ? ": " : "", why ? why : "");
    else
        lose_link(v, slot);
}

/* --- RKeys --- */

static void learn_rtoken(struct smc_view *v, unsigned rmb, uint8_t number, uint32_t rkey, uint64_t va)
{
    unsigned slot = explain_smc_link_by_number(v->group, number);
    if (slot < SMC_LINKS_MAX)
        v->group->rmbs[v->side][rmb].on[slot] = (struct smc_rtoken){.is_known = true, .rkey = rkey, .va = va};
}

static void confirm_rkey(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_confirm_rkey *c = &msg->confirm_rkey;
    if (msg->is_response) {
        if (c->negative)
            refuse(v, msg, c->retry ? ": to be tried again" : "");
        return;
    }
    unsigned rmb = explain_smc_rmb_know(v->group, v->side, v->link, c->rkey, c->va);
    if (rmb == SMC_RMBS_MAX)
        return;
    if (c->other_links >= 1 && explain_smc_message_has(msg, "va_1"))
        learn_rtoken(v, rmb, c->link_1, c->rkey_1, c->va_1);
    if (c->other_links >= 2 && explain_smc_message_has(msg, "va_2"))
        learn_rtoken(v, rmb, c->link_2, c->rkey_2, c->va_2);
}

static void confirm_rkey_cont(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_confirm_rkey_cont *c = &msg->confirm_rkey_cont;
    const struct smc_request *first = &v->group->requests[v->side][SMCR_LLC_CONFIRM_RKEY];
    unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, first->rkey);
    if (msg->is_response || rmb == SMC_RMBS_MAX)
        return;
    if (c->links_left >= 1 && explain_smc_message_has(msg, "va_1"))
        learn_rtoken(v, rmb, c->link_1, c->rkey_1, c->va_1);
    if (c->links_left >= 2 && explain_smc_message_has(msg, "va_2"))
        learn_rtoken(v, rmb, c->link_2, c->rkey_2, c->va_2);
    if (c->links_left >= 3 && explain_smc_message_has(msg, "va_3"))
        learn_rtoken(v, rmb, c->link_3, c->rkey_3, c->va_3);
}

static void delete_rkey(struct smc_view *v, const struct smc_message *msg)
{
    const struct smcr_delete_rkey *d = &msg->delete_rkey;
    if (msg->is_response) {
        if (d->negative)
            refuse(v, msg, ": not all keys are known");
        return;
    }
    unsigned keys = explain_smc_message_keys(v->packet, msg);
    uint32_t rkey;
    for (unsigned i = 0; i < keys && explain_smc_message_key(v->packet, msg, i, &rkey); i++) {
        unsigned rmb = explain_smc_rmb_by_rkey(v->group, v->side, v->link, rkey);
        if (rmb < SMC_RMBS_MAX)
            v->group->rmbs[v->side][rmb] = (struct smc_rmb){.is_used = false};
    }
}

/* Other user data may be those of a later request, which the capture lacks. */
static void test_link(struct smc_view *v, const struct smc_message *msg, const struct smc_request *asked)
{
    if (asked && asked->has_user_data && asked->lost == v->group->lost[!v->side] &&
        explain_smc_message_has(msg, "user_data") &&
        memcmp(asked->user_data, msg->test_link.user_data, sizeof asked->user_data) != 0)
        explain_smc_doubt(v, EXPLAIN_FIND_SMC_LINK, "SMCR-REC-28", asked->number,
                          "other user data than in the request");
}

/* What is known of the group too. */
static void follow(struct smc_view *v, const struct smc_message *msg)
{
    struct smc_request *asked = msg->is_response && !v->is_repeat ? explain_smc_answer(v, msg->type) : NULL;
    switch (explain_smc_message_is_told(v->packet, msg) ? msg->type
                                                        : 0) { /* 0: the capture cut it too short */
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
    if (!msg->is_response && !v->is_repeat)
        ask(v, msg);
    else if (asked)
        asked->number = 0;
}

void explain_smc_llc(struct smc_view *v, const struct explain_layer *layer)
{
    struct smc_message msg = explain_smc_message(v->packet, layer);
    explain_smc_say(v, ": SMC%s LLC %s %s", msg.is_v2 ? "v2" : "", msg.name,
                    msg.is_response ? "response" : "request");
    if (!v->is_repeat && !explain_smc_message_is_told(v->packet, &msg))
        explain_smc_say(v, " (cut)");
    else if (!v->is_repeat)
        say(v, &msg);
    if (!v->group)
        return;
    v->group->shown.last_number = v->packet->number;
    v->group->is_partial |= !explain_smc_message_is_whole(v->packet, &msg);
    if (!v->is_repeat)
        follow(v, &msg);
}
