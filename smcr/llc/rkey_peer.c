/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer's CONFIRM RKEY and DELETE RKEY: SMCR-RKY-01, RKY-06, RKY-08, RKY-11, SER-03, SER-04. */
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/llc/flow.h"

#define R_FLAG 0x80
#define Z_FLAG 0x20
#define C_FLAG 0x10

bool smcr_llc_refuses_rkeys(const struct smcr_group *group)
{
    return group->state != SMCR_GROUP_USABLE || group->llc.exchange != SMCR_LLC_IDLE;
}

/* SMCR-LLC-52: the request with R, and Z and C where it is refused. */
static bool echo(struct smcr_link *link, const uint8_t *message, uint8_t flags, uint64_t now_ns)
{
    uint8_t answer[SMCR_MSG_BYTES];
    memcpy(answer, message, sizeof answer);
    answer[3] |= R_FLAG | flags;
    return smcr_llc_send(link, answer, now_ns);
}

static void forget(struct smcr_group *group)
{
    group->llc.peer_rkey.via = NULL;
    smcr_cancel(group->smcr, &group->llc.peer_rkey.timer);
}

void smcr_llc_peer_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.peer_rkey.timer);
    group->smcr->counters.llc_timeouts++;
    smcr_link_failed(group->llc.peer_rkey.via, "a CONFIRM RKEY CONTINUATION did not come", now_ns);
}

/* A link that we do not have (any more) needs no token. */
static void note_token(struct smcr_group *group, uint8_t number, uint32_t rkey, uint64_t va)
{
    const struct smcr_link *link = smcr_group_link(group, number);
    if (link)
        group->llc.peer_rkey.tokens[link->slot] =
            (struct smcr_rtoken){.rkey = rkey, .va = va, .is_known = true};
}

/* All links are told: the RMB is known, or known anew (SMCR-RKY-11). False: too many, or no memory. */
static bool take_over(struct smcr_group *group)
{
    const struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    const struct smcr_rtoken *token = &x->tokens[x->via->slot];
    struct smcr_peer_rmb *rmb = smcr_peer_rmb_by_key(group, x->via, token->rkey);
    if (!rmb)
        rmb = smcr_peer_rmb_find(group, x->via, token->rkey, token->va, true);
    if (rmb)
        memcpy(rmb->token, x->tokens, sizeof rmb->token);
    return rmb != NULL;
}

/* SMCR-RKY-06, REC-26. */
static void fail_untold(struct smcr_group *group, const bool untold[SMCR_LINK_SLOTS], uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (untold[i] && group->links[i].state == SMCR_LINK_ACTIVE)
            smcr_link_failed(&group->links[i], "the peer has no RKey for it", now_ns);
}

static void take_and_answer(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    if (x->left > 0) {
        smcr_arm(group->smcr, &x->timer, now_ns + group->smcr->config.times.llc_ns);
        echo(link, message, 0, now_ns);
        return;
    }
    bool untold[SMCR_LINK_SLOTS];
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        untold[i] = !x->tokens[i].is_known;
    bool ok = take_over(group);
    forget(group);
    if (echo(link, message, ok ? 0 : Z_FLAG, now_ns) && ok)
        fail_untold(group, untold, now_ns);
    smcr_llc_kick(group, now_ns);
}

void smcr_llc_confirm_rkey_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    struct smcr_confirm_rkey m;
    smcr_confirm_rkey_get(&m, message);
    if (m.other_links >= SMCR_LINK_SLOTS) {
        smcr_llc_wrong(link, message, "a CONFIRM RKEY for more links than there can be", now_ns);
        return;
    }
    forget(group); /* it begins anew: SMCR-RKY-05 */
    if (smcr_llc_refuses_rkeys(group)) {
        echo(link, message, Z_FLAG | C_FLAG, now_ns);
        return;
    }
    memset(x->tokens, 0, sizeof x->tokens);
    x->via = link;
    x->tokens[link->slot] = (struct smcr_rtoken){.rkey = m.rkey, .va = m.va, .is_known = true};
    if (m.other_links > 0)
        note_token(group, m.link_1, m.rkey_1, m.va_1);
    if (m.other_links > 1)
        note_token(group, m.link_2, m.rkey_2, m.va_2);
    x->left = m.other_links > SMCR_LINKS_PER_CONFIRM_RKEY ? m.other_links - SMCR_LINKS_PER_CONFIRM_RKEY : 0;
    take_and_answer(link, message, now_ns);
}

void smcr_llc_rkey_cont_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    struct smcr_confirm_rkey_cont m;
    smcr_confirm_rkey_cont_get(&m, message);
    if (x->via != link || m.links_left != x->left) { /* A7: counts down by three */
        smcr_llc_wrong(link, message, "a CONFIRM RKEY CONTINUATION that nothing led to", now_ns);
        return;
    }
    if (smcr_llc_refuses_rkeys(group)) {
        forget(group);
        echo(link, message, Z_FLAG | C_FLAG, now_ns);
        return;
    }
    note_token(group, m.link_1, m.rkey_1, m.va_1);
    if (x->left > 1)
        note_token(group, m.link_2, m.rkey_2, m.va_2);
    if (x->left > 2)
        note_token(group, m.link_3, m.rkey_3, m.va_3);
    x->left = x->left > SMCR_LINKS_PER_CONFIRM_RKEY_CONT ? x->left - SMCR_LINKS_PER_CONFIRM_RKEY_CONT : 0;
    take_and_answer(link, message, now_ns);
}

/* SMCR-LLC-60, LLC-61. Returns the mask of those that are unknown. */
static uint8_t delete_keys(struct smcr_link *link, const struct smcr_delete_rkey *m, uint64_t now_ns)
{
    uint8_t unknown = 0;
    for (unsigned i = 0; i < m->count; i++) {
        struct smcr_peer_rmb *rmb = smcr_peer_rmb_by_key(link->group, link, get_be32(m->rkeys + 4 * i));
        if (rmb)
            smcr_peer_rmb_remove(link->group, rmb, now_ns);
        else
            unknown |= (uint8_t)(0x80 >> i);
    }
    return unknown;
}

void smcr_llc_delete_rkey_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_delete_rkey m;
    smcr_delete_rkey_get(&m, message);
    if (m.count == 0 || m.count > SMCR_RKEYS_PER_DELETE) {
        smcr_llc_wrong(link, message, "a DELETE RKEY for a number of keys that cannot be", now_ns);
        return;
    }
    uint8_t answer[SMCR_MSG_BYTES] = {0};
    m.error_mask =
        smcr_llc_refuses_rkeys(link->group) ? 0xff : delete_keys(link, &m, now_ns); /* SMCR-SER-04 */
    m.negative = m.error_mask != 0;
    m.response = 1;
    smcr_delete_rkey_put(answer, &m);
    smcr_llc_send(link, answer, now_ns);
}
