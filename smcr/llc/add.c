/* SPDX-License-Identifier: BSD-2-Clause */
/* What both sides do while a link is added: SMCR-FC-12 to FC-17, LLC-33 to LLC-37. */
#include <string.h>

#include "smcr/llc/flow.h"

struct smcr_link_end smcr_llc_end_of(const struct smcr_add_link *m)
{
    struct smcr_link_end end = {.qpn = m->qpn, .psn = m->psn, .mtu = m->mtu};
    memcpy(end.mac.b, m->mac, sizeof m->mac);
    memcpy(end.gid.b, m->gid, sizeof m->gid);
    return end;
}

bool smcr_llc_is_peer_end(const struct smcr_link *link, const struct smcr_confirm_link *m)
{
    return m->qpn == link->peer.qpn && memcmp(m->mac, link->peer.mac.b, sizeof m->mac) == 0 &&
           memcmp(m->gid, link->peer.gid.b, sizeof m->gid) == 0;
}

void smcr_llc_link_is_active(struct smcr_link *link, uint32_t peer_user_id, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    link->peer_user_id = peer_user_id;
    smcr_link_set_state(link, SMCR_LINK_ACTIVE, "confirmed", now_ns);
    group->llc.generation++;
    smcr_arm(group->smcr, &link->test_timer, now_ns + group->smcr->config.times.test_link_ns);
}

/* --- RTokens --- */

void smcr_llc_begin_tokens(struct smcr_llc *llc, unsigned own_total)
{
    llc->own_told = 0;
    llc->own_total = own_total;
    llc->peer_left = SMCR_TOKENS_UNCOUNTED;
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

/* A15: the first message of a side says how many there are. */
bool smcr_llc_take_tokens(struct smcr_group *group, const struct smcr_add_link_cont *m)
{
    struct smcr_llc *llc = &group->llc;
    bool is_counted = llc->peer_left != SMCR_TOKENS_UNCOUNTED;
    if (m->link != llc->about->number || (is_counted && m->rtokens_left != llc->peer_left))
        return false;
    unsigned n = min_u32(m->rtokens_left, SMCR_RTOKENS_PER_CONT);
    llc->peer_left = m->rtokens_left - n;
    return (n < 1 || take_pair(group, m->reference_rkey_1, m->rkey_1, m->va_1)) &&
           (n < 2 || take_pair(group, m->reference_rkey_2, m->rkey_2, m->va_2));
}

bool smcr_llc_take_rtokens2(struct smcr_group *group, const struct smcr_llc_msg *m)
{
    for (unsigned i = 0; i < m->num_rtokens; i++) {
        struct smcr_rtoken2 token;
        smcr_rtoken2_get(&token, m->rtokens + (size_t)i * SMCR_RTOKEN2_BYTES);
        if (!take_pair(group, token.reference_rkey, token.rkey, token.va))
            return false;
    }
    return true;
}

bool smcr_llc_tokens_are_through(const struct smcr_llc *llc)
{
    return llc->own_told == llc->own_total && llc->peer_left == 0;
}

/* --- it is not to be --- */

void smcr_llc_drop_new_link(struct smcr_group *group, const char *cause, uint64_t now_ns)
{
    struct smcr_link *about = group->llc.about;
    if (about->state == SMCR_LINK_DOWN) /* that was noticed while the peer's answer was awaited */
        smcr_link_effect(about, SMCR_LINK_LOST);
    else
        smcr_link_fail(about, cause, now_ns);
}
