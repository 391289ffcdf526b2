/* SPDX-License-Identifier: BSD-2-Clause */
/* Our CONFIRM RKEY and DELETE RKEY: SMCR-LLC-51, LLC-52, RKY-02 to RKY-09, REC-04 rows 17 and 19. */
#include "base/base.h"
#include "net/bytes.h"
#include "smcr/llc/flow.h"

#define MAX_REFUSALS  32 /* of one RMB, then its connections have to do without */
#define REFUSAL_PARTS 16 /* of llc_ns: the pause after each */
#define ALL_KEYS_FAIL 0xff

/* --- the exchange --- */

static void post(struct smcr_group *group, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    smcr_arm(group->smcr, &x->timer, now_ns + group->smcr->config.times.llc_ns);
    smcr_llc_send(x->via, message, SMCR_POST_LLC, now_ns);
}

static void begin(struct smcr_group *group, struct smcr_rmb *rmb, uint8_t type, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_link *via = smcr_group_pick_link(group, NULL);
    uint8_t message[SMCR_MSG_BYTES];
    if (!via)
        return;
    x->rmb = rmb;
    x->via = via;
    x->type = type;
    x->generation = group->llc.generation;
    x->num_others = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (&group->links[i] != via && group->links[i].state == SMCR_LINK_ACTIVE)
            x->others[x->num_others++] = group->links[i].number;
    if (type == SMCR_LLC_DELETE_RKEY)
        smcr_llc_build_delete_rkey(message, x);
    else
        smcr_llc_build_confirm_rkey(message, x);
    post(group, message, now_ns);
}

/* RMBs whose connections wait come first. */
void smcr_llc_start_rkey(struct smcr_group *group, uint64_t now_ns)
{
    if (rdma_timer_armed(&group->llc.rkey.timer))
        return; /* the pause after a refusal */
    struct smcr_rmb *rmb = group->rmbs;
    while (rmb && rmb->is_confirmed)
        rmb = rmb->next;
    uint8_t type = rmb ? SMCR_LLC_CONFIRM_RKEY : SMCR_LLC_DELETE_RKEY;
    if (!rmb)
        for (rmb = group->rmbs; rmb && !rmb->is_deleting; rmb = rmb->next)
            ;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].delete_step == SMCR_LINK_ANSWERS || group->links[i].delete_step == SMCR_LINK_GONE)
            return; /* a link is being deleted, and the end of that kicks again (SMCR-RKY-09) */
    group->llc.rkey.is_lost = false;
    if (rmb)
        begin(group, rmb, type, now_ns);
}

/* It is over; the next one, and whatever waited for its end, may begin. */
static struct smcr_rmb *finish(struct smcr_group *group)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_rmb *rmb = x->rmb;
    x->rmb = NULL;
    x->via = NULL;
    smcr_cancel(group->smcr, &x->timer);
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
    return rmb;
}

void smcr_llc_rkey_lost(struct smcr_group *group)
{
    bool deletes = group->llc.rkey.type == SMCR_LLC_DELETE_RKEY;
    finish(group)->is_doubtful |= deletes; /* SMCR-REC-31: from the start */
    group->llc.rkey.is_lost = true;
}

static void refused(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_rmb *rmb = finish(group);
    if (++x->refusals >= MAX_REFUSALS) {
        x->refusals = 0;
        smcr_rmb_deleted(rmb);
        return;
    }
    /* The change that it is refused for may not be known here yet. */
    smcr_arm(group->smcr, &x->timer, now_ns + group->smcr->config.times.llc_ns / REFUSAL_PARTS);
}

void smcr_llc_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.rkey.timer);
    struct smcr_llc_rkey *x = &group->llc.rkey;
    if (!x->rmb) { /* the pause after a refusal is over */
        smcr_group_effect(group, SMCR_GROUP_ADVANCE);
        return;
    }
    group->smcr->counters.llc_timeouts++;
    smcr_link_fail(x->via, "an RKey message was not answered", now_ns); /* rows 17 and 19 */
}

/* --- responses --- */

static bool is_awaited(const struct smcr_link *link, uint8_t type, uint32_t rkey)
{
    const struct smcr_llc_rkey *x = &link->group->llc.rkey;
    return x->rmb && x->via == link && x->type == type && x->head_rkey == rkey;
}

/* A message of the sequence was answered. */
static void answered(struct smcr_link *link, bool negative, bool retry, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_rkey *x = &group->llc.rkey;
    bool is_stale = x->generation != group->llc.generation; /* links came or went: SMCR-RKY-05 */
    if (negative && !retry && !is_stale) {
        x->refusals = 0;
        smcr_rmb_deleted(finish(group));
    } else if (negative) {
        refused(group, now_ns);
    } else if (is_stale) {
        finish(group);
    } else if (x->next_other < x->num_others) {
        uint8_t message[SMCR_MSG_BYTES];
        smcr_llc_build_rkey_cont(message, x);
        post(group, message, now_ns);
    } else {
        x->refusals = 0;
        smcr_rmb_confirmed(finish(group));
    }
}

void smcr_llc_confirm_rkey_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    if (is_awaited(link, SMCR_LLC_CONFIRM_RKEY, m->confirm_rkey.rkey))
        answered(link, m->confirm_rkey.negative, m->confirm_rkey.retry, now_ns);
    else
        smcr_llc_unmatched(link, m, now_ns);
}

void smcr_llc_rkey_cont_rsp(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    if (is_awaited(link, SMCR_LLC_CONFIRM_RKEY, m->rkey_cont.rkey_1))
        answered(link, m->rkey_cont.negative, m->rkey_cont.retry, now_ns);
    else
        smcr_llc_unmatched(link, m, now_ns);
}

void smcr_llc_delete_rkey_rsp(struct smcr_link *link, const struct smcr_llc_msg *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_rkey *x = &group->llc.rkey;
    const struct smcr_delete_rkey *m = &message->delete_rkey;
    /* Of version 2 the answer does not say which keys it is about. */
    uint32_t rkey = group->version == 2 ? x->head_rkey : get_be32(m->rkeys);
    if (m->count == 0 || !is_awaited(link, SMCR_LLC_DELETE_RKEY, rkey)) {
        smcr_llc_unmatched(link, message, now_ns);
        return;
    }
    /* There is no flag for "later" (A11): a mask beyond our one key, or links that changed, mean it. One that
     * the peer does not know is gone there. Of version 2 the mask is a number, and the peer answers later. */
    if (m->negative && group->version == 1 &&
        (m->error_mask == ALL_KEYS_FAIL || x->generation != group->llc.generation)) {
        refused(group, now_ns);
        return;
    }
    x->refusals = 0;
    smcr_rmb_deleted(finish(group));
}
