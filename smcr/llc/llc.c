/* SPDX-License-Identifier: BSD-2-Clause */
/* LLC messages: sent, taken to whom they concern, and the order of exchanges (SMCR section 11.4). */
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "smcr/llc/flow.h"

/* --- sending --- */

static void trace_message(struct smcr_link *link, enum smcr_trace_type type, const uint8_t *message,
                          const char *cause, uint64_t now_ns)
{
    smcr_trace(link->group->smcr,
               (struct smcr_trace){.type = type,
                                   .group = link->group,
                                   .link = link,
                                   .message = message,
                                   .len_bytes = SMCR_MSG_BYTES,
                                   .cause = cause},
               now_ns);
}

bool smcr_llc_send(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    struct smcr_post what = {.kind = SMCR_POST_LLC, .value = get_be32(message)};
    if (smcr_link_post_message(link, message, what)) {
        smcr_link_failed(link, "an LLC message could not be sent", now_ns);
        return false;
    }
    link->group->smcr->counters.tx_llc++;
    trace_message(link, SMCR_TRACE_LLC_TX, message, NULL, now_ns);
    return true;
}

bool smcr_llc_send_step(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    link->group->llc.sent_head = get_be32(message);
    link->group->llc.is_delivered = false;
    return smcr_llc_send(link, message, now_ns);
}

/* --- exchanges --- */

void smcr_llc_begin(struct smcr_group *group, enum smcr_llc_exchange exchange, struct smcr_link *via,
                    struct smcr_link *about)
{
    struct smcr_llc *llc = &group->llc;
    llc->exchange = exchange;
    llc->is_first_contact = group->state == SMCR_GROUP_FIRST_CONTACT;
    llc->via = via;
    llc->about = about;
    llc->is_delivered = false;
}

void smcr_llc_await(struct smcr_group *group, uint8_t type, bool is_response, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    const struct smcr_times *times = &group->smcr->config.times;
    llc->awaited = type;
    llc->awaits_response = is_response;
    /* SMCR-REC-01, REC-03. */
    if (type)
        smcr_arm(group->smcr, &llc->timer,
                 now_ns + (llc->is_first_contact ? times->first_contact_ns : times->llc_ns));
    else
        smcr_cancel(group->smcr, &llc->timer);
}

void smcr_llc_end(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    llc->exchange = SMCR_LLC_IDLE;
    llc->awaited = 0;
    llc->via = llc->about = NULL;
    smcr_cancel(group->smcr, &llc->timer);
    if (!llc->rkey.rmb) /* what was refused for the sake of it need not wait longer: SMCR-RKY-05 */
        smcr_cancel(group->smcr, &llc->rkey.timer);
    smcr_group_links_changed(group, now_ns);
    smcr_llc_kick(group, now_ns);
}

bool smcr_llc_is_free(const struct smcr_group *group)
{
    const struct smcr_llc *llc = &group->llc;
    return llc->exchange == SMCR_LLC_IDLE && !llc->rkey.rmb && !llc->peer_rkey.via;
}

void smcr_llc_kick(struct smcr_group *group, uint64_t now_ns)
{
    smcr_arm(group->smcr, &group->llc.kick_timer, now_ns);
}

/* --- the queue: SMCR-SER-05 --- */

void smcr_llc_queue(struct smcr_link *link, const uint8_t *message)
{
    struct smcr_llc *llc = &link->group->llc;
    if (llc->num_queued == SMCR_LLC_QUEUE)
        return; /* the peer repeats what it needs, or finds a link dead */
    struct smcr_llc_queued *q = &llc->queue[llc->num_queued++];
    q->link_number = link->number;
    memcpy(q->message, message, SMCR_MSG_BYTES);
}

static void drop_queued(struct smcr_llc *llc, const struct smcr_link *link)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < llc->num_queued; i++)
        if (llc->queue[i].link_number != link->number)
            llc->queue[kept++] = llc->queue[i];
    llc->num_queued = kept;
}

/* Each of them may have to wait again. */
static void replay_queue(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    for (unsigned n = llc->num_queued; n > 0 && llc->num_queued > 0; n--) {
        struct smcr_llc_queued q = llc->queue[0];
        llc->num_queued--;
        memmove(llc->queue, llc->queue + 1, llc->num_queued * sizeof *llc->queue);
        struct smcr_link *link = smcr_group_link(group, q.link_number);
        if (link)
            smcr_llc_take(link, q.message, now_ns);
    }
}

/* --- what may begin --- */

/* One that was drained carries what the server began over it meanwhile, or an RKey exchange of ours. */
static void free_link(struct smcr_link *link, uint64_t now_ns)
{
    if (link->state != SMCR_LINK_DOWN) {
        smcr_link_stop_for(link, "deleted", now_ns);
        smcr_llc_link_lost(link, now_ns);
    }
    smcr_link_destroy(link, now_ns);
}

static void free_gone(struct smcr_group *group, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    bool ends_first_contact = false, any = false;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        struct smcr_link *link = &group->links[i];
        if (link->state == SMCR_LINK_FREE || link->delete_step != SMCR_LINK_GONE)
            continue;
        ends_first_contact |= llc->is_first_contact && llc->about == link;
        any = true;
        free_link(link, now_ns);
    }
    if (ends_first_contact) /* SMCR-FC-19 */
        smcr_llc_first_contact_over(group, SMCR_FIRST_CONTACT_OK, 0, "the second link failed", now_ns);
    else if (any)
        smcr_group_links_changed(group, now_ns);
}

/* SMCR-SER-02. */
static void kicked(struct rdma_timer *timer, uint64_t now_ns)
{
    struct smcr_group *group = container_of(timer, struct smcr_group, llc.kick_timer);
    struct smcr_llc *llc = &group->llc;
    if (group->state == SMCR_GROUP_ENDING) {
        if (llc->is_told)
            smcr_group_finish(group, now_ns);
        return;
    }
    free_gone(group, now_ns);
    if (!llc->rkey.rmb && (group->role == SMCR_CLIENT || smcr_llc_is_free(group)))
        replay_queue(group, now_ns);
    if (group->state != SMCR_GROUP_USABLE)
        return;
    if (group->role == SMCR_SERVER && smcr_llc_is_free(group))
        smcr_llc_start_deleting(group, now_ns);
    if (llc->rkey.is_lost && smcr_llc_is_free(group)) /* what the peer knows is settled before it is listed */
        smcr_llc_start_rkey(group, now_ns);
    if (llc->add_wanted && smcr_llc_is_free(group)) {
        llc->add_wanted = false;
        if (group->role == SMCR_SERVER)
            smcr_llc_start_adding(group, now_ns);
        else
            smcr_llc_notify(group, now_ns);
    }
    if (group->state == SMCR_GROUP_USABLE && smcr_llc_is_free(group))
        smcr_llc_start_rkey(group, now_ns);
}

void smcr_llc_want_link(struct smcr_group *group, uint64_t now_ns)
{
    group->llc.add_wanted = true;
    smcr_llc_kick(group, now_ns);
}

/* --- messages that come --- */

void smcr_llc_unmatched(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    link->group->smcr->counters.llc_unmatched++;
    trace_message(link, SMCR_TRACE_DROP, message, "it answers nothing", now_ns);
}

void smcr_llc_wrong(struct smcr_link *link, const uint8_t *message, const char *cause, uint64_t now_ns)
{
    link->group->smcr->counters.llc_malformed++;
    trace_message(link, SMCR_TRACE_DROP, message, cause, now_ns);
    link->delete_reason = SMCR_DELETE_PROTOCOL;
    smcr_link_failed(link, cause, now_ns);
}

static const struct {
    uint8_t type;
    smcr_llc_handler *request, *response;
} handlers[] = {
    {SMCR_LLC_CONFIRM_LINK, smcr_llc_confirm_link_req, smcr_llc_confirm_link_rsp},
    {SMCR_LLC_ADD_LINK, smcr_llc_add_link_req, smcr_llc_add_link_rsp},
    {SMCR_LLC_ADD_LINK_CONT, smcr_llc_cont_req, smcr_llc_cont_rsp},
    {SMCR_LLC_DELETE_LINK, smcr_llc_delete_link_req, smcr_llc_delete_link_rsp},
    {SMCR_LLC_CONFIRM_RKEY, smcr_llc_confirm_rkey_req, smcr_llc_confirm_rkey_rsp},
    {SMCR_LLC_TEST_LINK, smcr_llc_test_link_req, smcr_llc_test_link_rsp},
    {SMCR_LLC_CONFIRM_RKEY_CONT, smcr_llc_rkey_cont_req, smcr_llc_rkey_cont_rsp},
    {SMCR_LLC_DELETE_RKEY, smcr_llc_delete_rkey_req, smcr_llc_delete_rkey_rsp},
};

static bool is_delete_all(const uint8_t *message)
{
    struct smcr_delete_link m;
    smcr_delete_link_get(&m, message);
    return m.type == SMCR_LLC_DELETE_LINK && !m.response && m.all;
}

/* What a link that goes, or a group, still listens to: SMCR-DLK-08, LLC-62, LGT-05. */
static bool is_heard(const struct smcr_link *link, const uint8_t *message)
{
    const struct smcr_group *group = link->group;
    if (is_delete_all(message))
        return true;
    if (link->state == SMCR_LINK_DOWN || (group->role == SMCR_CLIENT && link->delete_step == SMCR_LINK_TOLD))
        return false;
    return group->state != SMCR_GROUP_ENDING || message[0] == SMCR_LLC_TEST_LINK;
}

/* The client only waits for its response to arrive; when the server goes on, it has. */
static void finish_tail(struct smcr_group *group, uint8_t type, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    if (group->role == SMCR_CLIENT && llc->exchange == SMCR_LLC_ADDING && llc->awaited == 0 &&
        type != SMCR_LLC_TEST_LINK && llc->about->state == SMCR_LINK_CONFIRMING)
        smcr_llc_confirm_link_sent(llc->about, now_ns);
}

void smcr_llc_take(struct smcr_link *link, const uint8_t *message, uint64_t now_ns)
{
    bool is_response = smcr_llc_is_response(message);
    if (!is_heard(link, message))
        return;
    for (size_t i = 0; i < array_len(handlers); i++) {
        if (handlers[i].type != message[0])
            continue;
        if (!is_response)
            finish_tail(link->group, message[0], now_ns);
        (is_response ? handlers[i].response : handlers[i].request)(link, message, now_ns);
        return;
    }
    if ((message[0] & 0xc0) == 0x80) /* SMCR-LLC-02 */
        link->group->smcr->counters.llc_discarded++;
    else
        smcr_llc_wrong(link, message, "an LLC message of a type that is not known", now_ns);
}

void smcr_llc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns)
{
    struct smcr *smcr = link->group->smcr;
    smcr->counters.rx_llc++;
    smcr_trace(smcr,
               (struct smcr_trace){.type = SMCR_TRACE_LLC_RX,
                                   .group = link->group,
                                   .link = link,
                                   .message = message,
                                   .len_bytes = len_bytes},
               now_ns);
    if (len_bytes == SMCR_MSG_BYTES && message[1] == SMCR_MSG_BYTES) {
        smcr_llc_take(link, message, now_ns);
        return;
    }
    uint8_t padded[SMCR_MSG_BYTES] = {0}; /* SMCR-LLC-01 */
    memcpy(padded, message, len_bytes < sizeof padded ? len_bytes : sizeof padded);
    smcr_llc_wrong(link, padded, "an LLC message that is not 44 bytes long", now_ns);
}

/* --- ends of posts --- */

void smcr_llc_sent(struct smcr_link *link, uint32_t head, bool ok, uint64_t now_ns)
{
    struct smcr_group *group = link->group;
    struct smcr_llc *llc = &group->llc;
    uint8_t type = (uint8_t)(head >> 24);
    bool is_response = head & 0x80, flag_a = head & 0x40;
    if (!ok)
        return; /* the link is lost, and that says it: SMCR-REC-02 */
    if (llc->exchange != SMCR_LLC_IDLE && head == llc->sent_head) {
        llc->is_delivered = true;
        /* SMCR-FBK-01, rows 11 and 12: the server's request, the client's positive response. */
        if (type == SMCR_LLC_ADD_LINK && llc->is_first_contact)
            group->past_fallback = true;
    }
    if (type == SMCR_LLC_DELETE_LINK && is_response)
        smcr_llc_delete_answered(link, now_ns);
    else if (type == SMCR_LLC_DELETE_LINK && flag_a)
        smcr_llc_delete_all_sent(group, now_ns);
    else if (type == SMCR_LLC_CONFIRM_LINK && is_response && link->state != SMCR_LINK_DOWN)
        smcr_llc_confirm_link_sent(link, now_ns);
}

/* --- with the group --- */

void smcr_llc_init(struct smcr_group *group)
{
    struct smcr_llc *llc = &group->llc;
    llc->timer.fire = smcr_llc_timed_out;
    llc->kick_timer.fire = kicked;
    llc->notice_timer.fire = smcr_llc_notice_due;
    llc->rkey.timer.fire = smcr_llc_rkey_timed_out;
    llc->peer_rkey.timer.fire = smcr_llc_peer_rkey_timed_out;
}

void smcr_llc_cancel(struct smcr_group *group)
{
    struct smcr *smcr = group->smcr;
    struct smcr_llc *llc = &group->llc;
    smcr_cancel(smcr, &llc->timer);
    smcr_cancel(smcr, &llc->kick_timer);
    smcr_cancel(smcr, &llc->notice_timer);
    smcr_cancel(smcr, &llc->rkey.timer);
    smcr_cancel(smcr, &llc->peer_rkey.timer);
    llc->exchange = SMCR_LLC_IDLE;
    llc->awaited = 0;
    llc->is_first_contact = false;
    llc->via = llc->about = llc->rkey.via = llc->peer_rkey.via = NULL;
    llc->rkey.rmb = NULL;
    llc->num_queued = 0;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++) {
        smcr_cancel(smcr, &group->links[i].test_timer);
        smcr_cancel(smcr, &group->links[i].delete_timer);
    }
}

void smcr_llc_deinit(struct smcr_group *group)
{
    smcr_llc_cancel(group);
}

void smcr_llc_link_made(struct smcr_link *link)
{
    link->test_timer.fire = smcr_llc_test_due;
    link->delete_timer.fire = smcr_llc_delete_due;
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
        llc->peer_rkey.via = NULL;
    if (llc->tell_via == link)
        llc->tell_via = NULL;
    for (unsigned i = 0; i < SMCR_LINK_SLOTS; i++)
        if (group->links[i].delete_via == link)
            group->links[i].delete_via = NULL;
}
