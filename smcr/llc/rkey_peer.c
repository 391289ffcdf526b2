/* SPDX-License-Identifier: BSD-2-Clause */
/* The peer's CONFIRM RKEY and DELETE RKEY: SMCR-RKY-01, RKY-06, RKY-08, RKY-11, SER-03, SER-04. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/conn/data.h"
#include "smcr/llc/flow.h"

/* SMCR-SER-03, SER-04. Of version 2 the server takes them at any time: the client answers its ADD LINK or
 * DELETE LINK only when its own RKey exchange is over, and has begun none since. */
static bool refuses_rkeys(const struct smcr_group *group)
{
    if (group->version == 2 && group->role == SMCR_SERVER && group->state == SMCR_GROUP_USABLE)
        return false;
    return group->state != SMCR_GROUP_USABLE || group->llc.step != SMCR_LLC_IDLE;
}

/* Version 2 has no flag for "later" in DELETE RKEY, and Linux ends connections for a CONFIRM RKEY that is
 * refused: at the client it waits for the exchange that runs. */
static bool waits(struct smcr_link *link, const struct smcr_llc_msg *m)
{
    const struct smcr_group *group = link->group;
    bool does = group->version == 2 && group->state == SMCR_GROUP_USABLE && refuses_rkeys(group);
    if (does)
        smcr_llc_queue(link, m);
    return does;
}

static bool echo(struct smcr_link *link, const struct smcr_llc_msg *m, bool is_negative, bool is_retry,
                 uint64_t now_ns)
{
    uint8_t answer[SMCR_MSG_BYTES];
    smcr_llc_build_echo(answer, m, is_negative, is_retry);
    return smcr_llc_send(link, answer, SMCR_POST_LLC, now_ns);
}

void smcr_llc_peer_rkey_forget(struct smcr_group *group)
{
    group->llc.peer_rkey.via = NULL;
    smcr_cancel(group->smcr, &group->llc.peer_rkey.timer);
}

void smcr_llc_peer_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.peer_rkey.timer);
    group->smcr->counters.llc_timeouts++;
    smcr_link_fail(group->llc.peer_rkey.via, "a CONFIRM RKEY CONTINUATION did not come", now_ns);
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
            smcr_link_fail(&group->links[i], "the peer has no RKey for it", now_ns);
}

static void take_and_answer(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    if (x->left > 0) {
        smcr_arm(group->smcr, &x->timer, now_ns + group->smcr->config.times.llc_ns);
        echo(link, m, false, false, now_ns);
        return;
    }
    bool untold[SMCR_LINK_SLOTS];
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        untold[i] = !x->tokens[i].is_known;
    bool ok = take_over(group);
    smcr_llc_peer_rkey_forget(group);
    if (echo(link, m, !ok, false, now_ns) && ok)
        fail_untold(group, untold, now_ns);
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

void smcr_llc_confirm_rkey_req(struct smcr_link *link, const struct smcr_llc_msg *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    const struct smcr_confirm_rkey *m = &message->confirm_rkey;
    if (m->other_links >= SMCR_LINK_SLOTS) {
        smcr_llc_wrong(link, message, "a CONFIRM RKEY for more links than there can be", now_ns);
        return;
    }
    if (waits(link, message))
        return;
    smcr_llc_peer_rkey_forget(group); /* it begins anew: SMCR-RKY-05 */
    if (refuses_rkeys(group)) {
        echo(link, message, true, true, now_ns);
        return;
    }
    memset(x->tokens, 0, sizeof x->tokens);
    x->via = link;
    x->tokens[link->slot] = (struct smcr_rtoken){.rkey = m->rkey, .va = m->va, .is_known = true};
    if (m->other_links > 0)
        note_token(group, m->link_1, m->rkey_1, m->va_1);
    if (m->other_links > 1)
        note_token(group, m->link_2, m->rkey_2, m->va_2);
    x->left = m->other_links - min_u32(m->other_links, SMCR_LINKS_PER_CONFIRM_RKEY);
    take_and_answer(link, message, now_ns);
}

void smcr_llc_rkey_cont_req(struct smcr_link *link, const struct smcr_llc_msg *message, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc_peer_rkey *x = &group->llc.peer_rkey;
    const struct smcr_confirm_rkey_cont *m = &message->rkey_cont;
    if (x->via != link || m->links_left != x->left) { /* A7: counts down by three */
        smcr_llc_wrong(link, message, "a CONFIRM RKEY CONTINUATION that nothing led to", now_ns);
        return;
    }
    if (refuses_rkeys(group)) {
        smcr_llc_peer_rkey_forget(group);
        echo(link, message, true, true, now_ns);
        return;
    }
    note_token(group, m->link_1, m->rkey_1, m->va_1);
    if (x->left > 1)
        note_token(group, m->link_2, m->rkey_2, m->va_2);
    if (x->left > 2)
        note_token(group, m->link_3, m->rkey_3, m->va_3);
    x->left -= min_u32(x->left, SMCR_LINKS_PER_CONFIRM_RKEY_CONT);
    take_and_answer(link, message, now_ns);
}

/* The peer says that no connection uses it: one that writes there has no future (SMCR-RKY-07). */
static void delete_rmb(struct smcr_group *group, struct smcr_peer_rmb *rmb, uint64_t now_ns)
{
    for (unsigned i = 0; i < SMCR_MAX_ELEMS; i++)
        if (rmb->elems[i])
            smcr_end_kill(rmb->elems[i], -ECONNRESET, "the peer deleted the RMB that it writes to", now_ns);
    /* nor do those that are over already, and wait for the end of a post, keep anything of it */
    for (struct smcr_conn *conn = group->conns; conn; conn = conn->group_next)
        if (conn->peer_rmb == rmb)
            conn->peer_rmb = NULL;
    smcr_peer_rmb_free(group, rmb);
}

/* SMCR-LLC-60, LLC-61. Returns the mask of those that are unknown. */
static uint8_t delete_keys(struct smcr_link *link, const struct smcr_delete_rkey *m, uint64_t now_ns)
{
    uint8_t unknown = 0;
    for (unsigned i = 0; i < m->count; i++) {
        struct smcr_peer_rmb *rmb = smcr_peer_rmb_by_key(link->group, link, get_be32(m->rkeys + 4 * i));
        if (rmb)
            delete_rmb(link->group, rmb, now_ns);
        else
            unknown |= (uint8_t)(0x80 >> i);
    }
    return unknown;
}

static uint8_t count_bits(uint8_t mask)
{
    uint8_t n = 0;
    for (; mask; mask &= (uint8_t)(mask - 1))
        n++;
    return n;
}

void smcr_llc_delete_rkey_req(struct smcr_link *link, const struct smcr_llc_msg *message, uint64_t now_ns)
{
    struct smcr_delete_rkey m = message->delete_rkey;
    if (m.count == 0 || m.count > SMCR_RKEYS_PER_DELETE) {
        smcr_llc_wrong(link, message, "a DELETE RKEY for a number of keys that cannot be", now_ns);
        return;
    }
    if (waits(link, message))
        return;
    uint8_t answer[SMCR_MSG_BYTES] = {0};
    m.error_mask = refuses_rkeys(link->group) ? 0xff : delete_keys(link, &m, now_ns); /* SMCR-SER-04 */
    if (link->group->version == 2) { /* the number of unknown keys, and no keys */
        m.error_mask = count_bits(m.error_mask);
        memset(m.rkeys, 0, sizeof m.rkeys);
    }
    m.negative = m.error_mask != 0;
    m.response = 1;
    smcr_delete_rkey_put(answer, &m);
    smcr_llc_send(link, answer, SMCR_POST_LLC, now_ns);
}
