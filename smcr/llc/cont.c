/* SPDX-License-Identifier: BSD-2-Clause */
/* ADD LINK CONTINUATION: the RTokens of all RMBs of both sides for a new link. The server sends requests
 * until both are through (SMCR-LLC-33 to LLC-37, ALK-07). */
#include "smcr/llc/flow.h"

void smcr_llc_send_cont(struct smcr_group *group, uint64_t now_ns)
{
    uint8_t message[SMCR_MSG_BYTES];
    smcr_llc_build_cont(message, group, false);
    smcr_llc_await(group, SMCR_LLC_ADD_LINK_CONT, true, now_ns);
    smcr_llc_send_step(group->llc.via, message, now_ns);
}

/* A key of the carrying link that we know, and no token of the new link yet. */
static bool take_pair(struct smcr_group *group, uint32_t reference_rkey, uint32_t rkey, uint64_t va)
{
    const struct smcr_llc *llc = &group->llc;
    struct smcr_peer_rmb *rmb = smcr_peer_rmb_by_key(group, llc->via, reference_rkey);
    if (!rmb || rmb->token[llc->about->slot].is_known)
        return false;
    rmb->token[llc->about->slot] = (struct smcr_rtoken){.rkey = rkey, .va = va, .is_known = true};
    return true;
}

/* SMCR-LLC-37, REC-24 (A15): the first message of a side says how many there are. */
static bool take_tokens(struct smcr_group *group, const struct smcr_add_link_cont *m)
{
    struct smcr_llc *llc = &group->llc;
    if (m->link != llc->about->number || (llc->peer_counted && m->rtokens_left != llc->peer_left))
        return false;
    llc->peer_counted = true;
    unsigned n = m->rtokens_left < SMCR_RTOKENS_PER_CONT ? m->rtokens_left : SMCR_RTOKENS_PER_CONT;
    llc->peer_left = m->rtokens_left - n;
    return (n < 1 || take_pair(group, m->reference_rkey_1, m->rkey_1, m->va_1)) &&
           (n < 2 || take_pair(group, m->reference_rkey_2, m->rkey_2, m->va_2));
}

static bool both_are_through(const struct smcr_llc *llc)
{
    return llc->own_told == llc->own_total && llc->peer_left == 0;
}

void smcr_llc_cont_rsp(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    struct smcr_add_link_cont m;
    smcr_add_link_cont_get(&m, message);
    if (group->role != SMCR_SERVER || llc->via != link ||
        !smcr_llc_awaits(llc, SMCR_LLC_ADD_LINK_CONT, true)) {
        smcr_llc_unmatched(link, message, now_ns);
        return;
    }
    smcr_llc_await(group, 0, false, now_ns);
    if (!take_tokens(group, &m)) {
        smcr_llc_wrong(link, message, "RTokens that do not fit what was announced", now_ns);
        return;
    }
    if (!both_are_through(llc))
        smcr_llc_send_cont(group, now_ns);
    else if (smcr_link_send_ready(llc->about, now_ns))
        smcr_llc_drop_new_link(group, "the queue pair could not be connected", now_ns);
    else
        smcr_llc_send_confirm_link(group, llc->about, now_ns); /* SMCR-FC-17 */
}

void smcr_llc_cont_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    struct smcr_add_link_cont m;
    smcr_add_link_cont_get(&m, message);
    if (group->role != SMCR_CLIENT || llc->via != link ||
        !smcr_llc_awaits(llc, SMCR_LLC_ADD_LINK_CONT, false)) {
        smcr_llc_wrong(link, message, "an ADD LINK CONTINUATION that nothing led to", now_ns);
        return;
    }
    if (llc->rkey.rmb) { /* whether the server knows that RMB decides the list: its response comes at once */
        smcr_llc_queue(link, message);
        return;
    }
    if (!take_tokens(group, &m)) {
        smcr_llc_wrong(link, message, "RTokens that do not fit what was announced", now_ns);
        return;
    }
    if (llc->own_told == 0)
        llc->own_total = smcr_rmb_count_known(group);
    uint8_t answer[SMCR_MSG_BYTES];
    smcr_llc_build_cont(answer, group, true);
    smcr_llc_await(group, both_are_through(llc) ? SMCR_LLC_CONFIRM_LINK : SMCR_LLC_ADD_LINK_CONT, false,
                   now_ns);
    bool is_sent = smcr_llc_send_step(link, answer, now_ns);
    if (is_sent && llc->about && both_are_through(llc) && llc->about->state == SMCR_LINK_DOWN)
        smcr_llc_drop_new_link(group, "its port went down meanwhile", now_ns);
}
