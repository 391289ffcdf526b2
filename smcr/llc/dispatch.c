/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC: messages come in, and go to whom they concern; what may begin begins (SMCR section 11.4). */
#include <string.h>

#include "smcr/llc/flow.h"

/* --- messages that come --- */

static void add_link_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    if (link->group->role == SMCR_SERVER)
        smcr_llc_notice(link, m, now_ns);
    else
        smcr_llc_offer(link, m, now_ns);
}

static void request_add_link(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    if (link->group->role == SMCR_SERVER)
        smcr_llc_notice(link, m, now_ns);
    else
        smcr_llc_wrong(link, m, "a REQUEST ADD LINK from the server", now_ns);
}

static bool is_delete_all(const struct smcr_llc_msg *m)
{
    return m->type == SMCR_LLC_DELETE_LINK && !m->is_response && m->delete_link.all;
}

static void delete_req(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    if (is_delete_all(m))
        smcr_llc_delete_all_req(link, m, now_ns);
    else
        smcr_llc_delete_link_req(link, m, now_ns);
}

static const struct {
    uint8_t type;
    smcr_llc_handler *request, *response;
} handlers[] = {
    {SMCR_LLC_CONFIRM_LINK, smcr_llc_confirm_link_req, smcr_llc_confirm_link_rsp},
    {SMCR_LLC_ADD_LINK, add_link_req, smcr_llc_add_link_rsp},
    {SMCR_LLC_ADD_LINK_CONT, smcr_llc_cont_req, smcr_llc_cont_rsp},
    {SMCR_LLC_DELETE_LINK, delete_req, smcr_llc_delete_link_rsp},
    {SMCR_LLC_REQUEST_ADD_LINK, request_add_link, smcr_llc_request_refused},
    {SMCR_LLC_CONFIRM_RKEY, smcr_llc_confirm_rkey_req, smcr_llc_confirm_rkey_rsp},
    {SMCR_LLC_TEST_LINK, smcr_llc_test_link_req, smcr_llc_test_link_rsp},
    {SMCR_LLC_CONFIRM_RKEY_CONT, smcr_llc_rkey_cont_req, smcr_llc_rkey_cont_rsp},
    {SMCR_LLC_DELETE_RKEY, smcr_llc_delete_rkey_req, smcr_llc_delete_rkey_rsp},
};

/* What a link that goes, or a group, still listens to: SMCR-DLK-08, LLC-62, LGT-05. */
static bool is_heard(const struct smcr_link *link, enum smcr_llc_decoded decoded,
                     const struct smcr_llc_msg *m)
{
    const struct smcr_group *group = link->group;
    if (decoded == SMCR_LLC_DECODED && is_delete_all(m))
        return true;
    if (link->state == SMCR_LINK_DOWN || (group->role == SMCR_CLIENT && link->delete_step == SMCR_LINK_TOLD))
        return false;
    return group->state != SMCR_GROUP_ENDING || m->type == SMCR_LLC_TEST_LINK;
}

/* The client only waits for its response to arrive; when the server goes on, it has. */
static void finish_tail(struct smcr_group *group, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    if (!m->is_response && m->type != SMCR_LLC_TEST_LINK && llc->step == SMCR_LLC_CONFIRM_ANSWERED)
        smcr_llc_confirm_link_sent(llc->about, now_ns);
}

static void take(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    for (size_t i = 0; i < array_len(handlers); i++) {
        if (handlers[i].type != m->type)
            continue;
        finish_tail(link->group, m, now_ns);
        (m->is_response ? handlers[i].response : handlers[i].request)(link, m, now_ns);
    }
}

void smcr_llc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    struct smcr_llc_msg m;
    smcr->counters.rx_llc++;
    smcr_trace(smcr,
               (struct smcr_trace){.type = SMCR_TRACE_LLC_RX,
                                   .group = link->group,
                                   .link = link,
                                   .message = message,
                                   .len_bytes = len_bytes},
               now_ns);
    enum smcr_llc_decoded decoded = smcr_llc_decode(link->group, message, len_bytes, &m);
    if (decoded != SMCR_LLC_MALFORMED && !is_heard(link, decoded, &m))
        return;
    switch (decoded) {
    case SMCR_LLC_DECODED:
        take(link, &m, now_ns);
        return;
    case SMCR_LLC_IGNORABLE: /* SMCR-LLC-02 */
        smcr->counters.llc_discarded++;
        return;
    case SMCR_LLC_UNKNOWN:
        smcr_llc_wrong(link, &m, "an LLC message of a type that is not known", now_ns);
        return;
    case SMCR_LLC_MALFORMED: /* SMCR-LLC-01 */
        smcr_llc_wrong(link, &m, "an LLC message of a wrong length", now_ns);
        return;
    }
}

/* --- messages that arrived --- */

void smcr_llc_sent(struct smcr_link *link, const struct smcr_post *post, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    if (llc->step != SMCR_LLC_IDLE && post->value == llc->step_serial) {
        llc->is_delivered = true;
        /* SMCR-FBK-01, rows 11 and 12: the server's request, the client's positive response. */
        if (post->kind == SMCR_POST_ADD_LINK && smcr_llc_is_first_contact(group))
            group->past_fallback = true;
    }
    switch (post->kind) {
    case SMCR_POST_CONFIRM_RSP:
        if (link->state != SMCR_LINK_DOWN)
            smcr_llc_confirm_link_sent(link, now_ns);
        return;
    case SMCR_POST_DELETE_RSP:
        smcr_llc_delete_answered(link);
        return;
    case SMCR_POST_DELETE_ALL:
        smcr_llc_delete_all_sent(group, now_ns);
        return;
    case SMCR_POST_CDC:
    case SMCR_POST_LLC:
    case SMCR_POST_ADD_LINK:
        return;
    }
}

/* --- what may begin --- */

/* Each of them may have to wait again. */
static void replay_queue(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    for (unsigned n = llc->num_queued; n > 0 && llc->num_queued > 0; n--) {
        struct smcr_llc_queued q = llc->queue[0];
        llc->num_queued--;
        memmove(llc->queue, llc->queue + 1, llc->num_queued * sizeof *llc->queue);
        struct smcr_link *link = smcr_group_link(group, q.link_number);
        if (link && is_heard(link, SMCR_LLC_DECODED, &q.message))
            take(link, &q.message, now_ns);
    }
}

/* C: a notice may be given at any time (SMCR-SER-01). One that comes while the server adds a link tells it
 * what to come back to if that fails; but a server may ignore it then (SMCR-SER-03), so it is given again. */
static void give_notice(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    bool is_free = smcr_llc_is_free(group);
    if (llc->wish == SMCR_WISH_LINK || is_free)
        smcr_llc_notify(group, now_ns);
    llc->wish = is_free ? SMCR_WISH_NONE : SMCR_WISH_AGAIN;
}

void smcr_llc_advance(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    if (!llc->rkey.rmb && (group->role == SMCR_CLIENT || smcr_llc_is_free(group)))
        replay_queue(group, now_ns);
    if (group->state != SMCR_GROUP_USABLE)
        return;
    if (group->role == SMCR_SERVER && smcr_llc_is_free(group))
        smcr_llc_start_deleting(group, now_ns);
    if (llc->rkey.is_lost && smcr_llc_is_free(group)) /* what the peer knows is settled before it is listed */
        smcr_llc_start_rkey(group, now_ns);
    if (group->role == SMCR_CLIENT && llc->wish != SMCR_WISH_NONE)
        give_notice(group, now_ns);
    if (group->role == SMCR_SERVER && llc->wish == SMCR_WISH_LINK && smcr_llc_is_free(group)) {
        llc->wish = SMCR_WISH_NONE;
        smcr_llc_start_adding(group, now_ns);
    }
    if (group->state == SMCR_GROUP_USABLE && smcr_llc_is_free(group))
        smcr_llc_start_rkey(group, now_ns);
}

void smcr_llc_link_freed(struct smcr_group *group, bool was_about, uint64_t now_ns)
{
    if (was_about && smcr_llc_is_first_contact(group)) /* SMCR-FC-19 */
        smcr_llc_contact_over(group, SMCR_CONTACT_OK, 0, "the second link failed", now_ns);
    else
        smcr_group_links_changed(group, now_ns);
}

void smcr_llc_first_contact(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_link *link = &group->links[0];
    if (group->role == SMCR_SERVER)
        smcr_llc_confirm_first(group, now_ns);
    else
        smcr_llc_begin(group, SMCR_LLC_FIRST_AWAITED, link, link, now_ns); /* T1 */
}

/* --- with the group and its links --- */

static void notice_due(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.notice_timer);
    (void)now_ns;
    if (smcr_group_redundancy(group) != SMCR_SYMMETRIC)
        smcr_group_want_link(group);
}

void smcr_llc_init(struct smcr_group *group)
{
    struct smcr_llc *llc = &group->llc;
    llc->timer.fire = smcr_llc_timed_out;
    llc->notice_timer.fire = notice_due;
    llc->rkey.timer.fire = smcr_llc_rkey_timed_out;
    llc->peer_rkey.timer.fire = smcr_llc_peer_rkey_timed_out;
}

void smcr_llc_cancel(struct smcr_group *group)
{
    struct smcr *smcr = group->smcr;
    struct smcr_llc *llc = &group->llc;
    smcr_cancel(smcr, &llc->timer);
    smcr_cancel(smcr, &llc->notice_timer);
    smcr_cancel(smcr, &llc->rkey.timer);
    smcr_cancel(smcr, &llc->peer_rkey.timer);
    llc->step = SMCR_LLC_IDLE;
    llc->via = llc->about = llc->rkey.via = llc->peer_rkey.via = NULL;
    llc->rkey.rmb = NULL;
    llc->num_queued = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        smcr_cancel(smcr, &group->links[i].test_timer);
        smcr_cancel(smcr, &group->links[i].delete_timer);
    }
}

static void drop_queued(struct smcr_llc *llc, const struct smcr_link *link)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < llc->num_queued; i++)
        if (llc->queue[i].link_number != link->number)
            llc->queue[kept++] = llc->queue[i];
    llc->num_queued = kept;
}

void smcr_llc_forget_link(struct smcr_link *link)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    drop_queued(llc, link);
    llc->generation++;
    if (llc->via == link)
        llc->via = NULL;
    if (llc->about == link)
        llc->about = NULL;
    if (llc->peer_rkey.via == link)
        smcr_llc_peer_rkey_forget(group);
    if (llc->delete_all_via == link)
        llc->delete_all_via = NULL;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].delete_via == link)
            group->links[i].delete_via = NULL;
}
