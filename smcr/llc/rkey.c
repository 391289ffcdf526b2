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
    smcr_llc_send(x->via, message, now_ns);
}

static void begin(struct smcr_group *group, struct smcr_rmb *rmb, bool deletes, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_link *via = smcr_group_pick_link(group, NULL);
    uint8_t message[SMCR_MSG_BYTES];
    if (!via)
        return;
    x->rmb = rmb;
    x->via = via;
    x->deletes = deletes;
    x->generation = group->llc.generation;
    x->num_others = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (&group->links[i] != via && group->links[i].state == SMCR_LINK_ACTIVE)
            x->others[x->num_others++] = group->links[i].number;
    if (deletes)
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
    bool deletes = !rmb;
    if (!rmb)
        for (rmb = group->rmbs; rmb && !rmb->is_deleting; rmb = rmb->next)
            ;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].delete_step == SMCR_LINK_ANSWERS || group->links[i].delete_step == SMCR_LINK_GONE)
            return; /* a link is being deleted, and the end of that kicks again (SMCR-RKY-09) */
    group->llc.rkey.is_lost = false;
    if (rmb)
        begin(group, rmb, deletes, now_ns);
}

void smcr_llc_confirm_rkey(struct smcr_rmb *rmb, uint64_t now_ns)
{
    smcr_llc_kick(rmb->group, now_ns);
}

void smcr_llc_delete_rkey(struct smcr_rmb *rmb, uint64_t now_ns)
{
    rmb->is_deleting = true;
    smcr_llc_kick(rmb->group, now_ns);
}

/* It is over; the next one, and whatever waited for its end, may begin. */
static struct smcr_rmb *finish(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_rmb *rmb = x->rmb;
    x->rmb = NULL;
    x->via = NULL;
    smcr_cancel(group->smcr, &x->timer);
    smcr_llc_kick(group, now_ns);
    return rmb;
}

void smcr_llc_rkey_lost(struct smcr_group *group, uint64_t now_ns)
{
    bool deletes = group->llc.rkey.deletes;
    struct smcr_rmb *rmb = finish(group, now_ns); /* SMCR-REC-31: from the start */
    rmb->is_doubtful |= deletes;
    group->llc.rkey.is_lost = true;
}

static void refused(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc_rkey *x = &group->llc.rkey;
    bool deletes = x->deletes;
    struct smcr_rmb *rmb = finish(group, now_ns);
    if (++x->refusals >= MAX_REFUSALS) {
        x->refusals = 0;
        if (deletes)
            smcr_rmb_deleted(rmb, now_ns);
        else
            smcr_rmb_confirmed(rmb, false, now_ns);
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
        smcr_llc_kick(group, now_ns);
        return;
    }
    group->smcr->counters.llc_timeouts++;
    smcr_link_failed(x->via, "an RKey message was not answered", now_ns); /* rows 17 and 19 */
}

/* --- responses --- */

static bool is_awaited(const struct smcr_link *link, bool deletes, uint32_t rkey)
{
    const struct smcr_llc_rkey *x = &link->group->llc.rkey;
    return x->rmb && x->via == link && x->deletes == deletes && x->head_rkey == rkey;
}

/* A message of the sequence was answered. */
static void answered(struct smcr_link *link, bool negative, bool retry, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_rkey *x = &group->llc.rkey;
    bool is_stale = x->generation != group->llc.generation; /* links came or went: SMCR-RKY-05 */
    if (negative && !retry && !is_stale) {
        x->refusals = 0;
        smcr_rmb_confirmed(finish(group, now_ns), false, now_ns);
    } else if (negative) {
        refused(group, now_ns);
    } else if (is_stale) {
        finish(group, now_ns);
    } else if (x->next_other < x->num_others) {
        uint8_t message[SMCR_MSG_BYTES];
        smcr_llc_build_rkey_cont(message, x);
        post(group, message, now_ns);
    } else {
        x->refusals = 0;
        smcr_rmb_confirmed(finish(group, now_ns), true, now_ns);
    }
}

void smcr_llc_confirm_rkey_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_confirm_rkey m;
    smcr_confirm_rkey_get(&m, message);
    if (is_awaited(link, false, m.rkey))
        answered(link, m.negative, m.retry, now_ns);
    else
        smcr_llc_unmatched(link, message, now_ns);
}

void smcr_llc_rkey_cont_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_confirm_rkey_cont m;
    smcr_confirm_rkey_cont_get(&m, message);
    if (is_awaited(link, false, m.rkey_1))
        answered(link, m.negative, m.retry, now_ns);
    else
        smcr_llc_unmatched(link, message, now_ns);
}

void smcr_llc_delete_rkey_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_rkey *x = &group->llc.rkey;
    struct smcr_delete_rkey m;
    smcr_delete_rkey_get(&m, message);
    if (m.count == 0 || !is_awaited(link, true, get_be32(m.rkeys))) {
        smcr_llc_unmatched(link, message, now_ns);
        return;
    }
    /* There is no flag for "later" (A11): a mask beyond our one key, or links that changed, mean it. One that
     * the peer does not know is gone there. */
    if (m.negative && (m.error_mask == ALL_KEYS_FAIL || x->generation != group->llc.generation)) {
        refused(group, now_ns);
        return;
    }
    x->refusals = 0;
    smcr_rmb_deleted(finish(group, now_ns), now_ns);
}
