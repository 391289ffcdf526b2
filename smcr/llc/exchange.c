/* SPDX-License-Identifier: BSD-2-Clause */
/* What all LLC flows stand on: sending a message, the steps of the one exchange that runs, and the queue of
 * what has to wait for it (SMCR section 11.4). */
#include <assert.h>

#include "smcr/llc/flow.h"

/* --- sending --- */

static void trace_bytes(struct smcr_link *link, enum smcr_trace_type type, const uint8_t *message,
                        size_t len_bytes, const char *cause, uint64_t now_ns)
{
    smcr_trace(link->group->smcr,
               (struct smcr_trace){.type = type,
                                   .group = link->group,
                                   .link = link,
                                   .message = message,
                                   .len_bytes = len_bytes,
                                   .cause = cause},
               now_ns);
}

void smcr_llc_trace(struct smcr_link *link, enum smcr_trace_type type, const uint8_t *message,
                    const char *cause, uint64_t now_ns)
{
    trace_bytes(link, type, message, SMCR_MSG_BYTES, cause, now_ns);
}

static bool send_bytes(struct smcr_link *link, const uint8_t *message, size_t len_bytes,
                       enum smcr_post_kind kind, uint64_t now_ns)
{
    struct smcr_post what = {.kind = kind, .value = ++link->group->llc.serial};
    if (smcr_link_post_message(link, message, len_bytes, what)) {
        smcr_link_fail(link, "an LLC message could not be sent", now_ns);
        return false;
    }
    link->group->smcr->counters.tx_llc++;
    trace_bytes(link, SMCR_TRACE_LLC_TX, message, len_bytes, NULL, now_ns);
    return true;
}

bool smcr_llc_send(struct smcr_link *link, const uint8_t *message, enum smcr_post_kind kind, uint64_t now_ns)
{
    uint8_t v2[SMCR_MSG_BYTES];
    if (link->group->version == 2) {
        smcr_llc2_from_v1(link->group, message, v2);
        message = v2;
    }
    return send_bytes(link, message, SMCR_MSG_BYTES, kind, now_ns);
}

/* What is sent next belongs to the exchange. */
static void begin_step_message(struct smcr_llc *llc)
{
    llc->step_serial = llc->serial + 1;
    llc->is_delivered = false;
}

bool smcr_llc_send_step(struct smcr_link *link, const uint8_t *message, enum smcr_post_kind kind,
                        uint64_t now_ns)
{
    begin_step_message(&link->group->llc);
    return smcr_llc_send(link, message, kind, now_ns);
}

bool smcr_llc_send_add_link2(struct smcr_link *link, bool is_response, uint64_t now_ns)
{
    uint8_t message[SMCR_ADD_LINK2_MAX_BYTES];
    const struct smcr_group *group = link->group;
    size_t len_bytes = smcr_llc2_build_add_link(message, group, link, group->llc.about, is_response);
    begin_step_message(&link->group->llc);
    return send_bytes(link, message, len_bytes, SMCR_POST_ADD_LINK, now_ns);
}

/* --- the exchange --- */

static const struct step {
    enum smcr_llc_exchange exchange;
    uint8_t type;
    bool is_response;
} steps[SMCR_LLC_STEP_COUNT] = {
#define STEP(name, exchange, type, is_response) {SMCR_LLC_##exchange, type, is_response},
    SMCR_LLC_STEPS(STEP)
#undef STEP
};

/* Which steps may follow a step; IDLE may follow all. The server's and the client's never mix. */
#define TO(step) (1u << SMCR_LLC_##step)
static const uint32_t legal_next[SMCR_LLC_STEP_COUNT] = {
    [SMCR_LLC_IDLE] = TO(FIRST_OUT) | TO(FIRST_AWAITED) | TO(OFFER_OUT) | TO(TOKENS_AWAITED) | TO(DELETE_OUT),
    /* server */
    [SMCR_LLC_FIRST_OUT] = TO(OFFER_OUT),
    [SMCR_LLC_OFFER_OUT] = TO(ANSWER_CAME),
    [SMCR_LLC_ANSWER_CAME] = TO(TOKENS_OUT) | TO(CONFIRM_OUT) | TO(DELETE_OUT),
    [SMCR_LLC_TOKENS_OUT] = TO(ANSWER_CAME),
    [SMCR_LLC_CONFIRM_OUT] = TO(DELETE_OUT), /* the new link failed in a first contact */
    [SMCR_LLC_DELETE_OUT] = TO(DELETE_OUT),
    /* client; the server may give the new link up at any time: DELETE_ANSWERED */
    [SMCR_LLC_FIRST_AWAITED] = TO(OFFER_AWAITED) | TO(DELETE_ANSWERED),
    [SMCR_LLC_OFFER_AWAITED] = TO(TOKENS_AWAITED) | TO(DELETE_ANSWERED),
    [SMCR_LLC_TOKENS_AWAITED] =
        TO(TOKENS_AWAITED) | TO(CONFIRM_AWAITED) | TO(DELETE_AWAITED) | TO(DELETE_ANSWERED),
    [SMCR_LLC_CONFIRM_AWAITED] = TO(CONFIRM_ANSWERED) | TO(DELETE_AWAITED) | TO(DELETE_ANSWERED),
    [SMCR_LLC_CONFIRM_ANSWERED] = TO(DELETE_AWAITED) | TO(DELETE_ANSWERED),
    [SMCR_LLC_DELETE_AWAITED] = TO(DELETE_ANSWERED),
    [SMCR_LLC_DELETE_ANSWERED] = TO(DELETE_ANSWERED),
};

enum smcr_llc_exchange smcr_llc_exchange(const struct smcr_group *group)
{
    return steps[group->llc.step].exchange;
}

/* The timer waits for the message: SMCR-REC-01, REC-03. */
void smcr_llc_enter(struct smcr_group *group, enum smcr_llc_step step, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    const struct smcr_times *times = &group->smcr->config.times;
    assert(step == SMCR_LLC_IDLE || legal_next[llc->step] & 1u << step);
    llc->step = step;
    if (steps[step].type)
        smcr_arm(group->smcr, &llc->timer,
                 now_ns + (smcr_llc_is_first_contact(group) ? times->first_contact_ns : times->llc_ns));
    else
        smcr_cancel(group->smcr, &llc->timer);
}

void smcr_llc_begin(struct smcr_group *group, enum smcr_llc_step step, struct smcr_link *via,
                    struct smcr_link *about, uint64_t now_ns)
{
    struct smcr_llc *llc = &group->llc;
    llc->via = via;
    llc->about = about;
    llc->is_delivered = false;
    smcr_llc_enter(group, step, now_ns);
}

bool smcr_llc_awaits(const struct smcr_group *group, const struct smcr_llc_msg *m)
{
    const struct step *step = &steps[group->llc.step];
    return step->type == m->type && step->is_response == m->is_response;
}

static void clear(struct smcr_group *group)
{
    struct smcr_llc *llc = &group->llc;
    llc->step = SMCR_LLC_IDLE;
    llc->via = llc->about = NULL;
    smcr_cancel(group->smcr, &llc->timer);
}

void smcr_llc_end(struct smcr_group *group, uint64_t now_ns)
{
    clear(group);
    if (!group->llc.rkey.rmb) /* what was refused for the sake of it need not wait longer: SMCR-RKY-05 */
        smcr_cancel(group->smcr, &group->llc.rkey.timer);
    smcr_group_links_changed(group, now_ns);
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

void smcr_llc_contact_over(struct smcr_group *group, enum smcr_contact_end how, uint32_t diagnosis,
                           const char *cause, uint64_t now_ns)
{
    clear(group);
    group->contact.how = how;
    group->contact.diagnosis = diagnosis;
    group->contact.cause = cause;
    smcr_group_effect(group, SMCR_GROUP_CONTACT);
    if (how != SMCR_CONTACT_OK)
        return;
    group->state = SMCR_GROUP_USABLE;
    group->smcr->counters.first_contacts++;
    smcr_group_links_changed(group, now_ns);
    /* More than two links come one by one after this. */
    if (group->role == SMCR_SERVER && smcr_group_redundancy(group) != SMCR_SINGLE)
        smcr_group_want_link(group);
    smcr_group_effect(group, SMCR_GROUP_ADVANCE);
}

bool smcr_llc_is_free(const struct smcr_group *group)
{
    const struct smcr_llc *llc = &group->llc;
    return llc->step == SMCR_LLC_IDLE && !llc->rkey.rmb && !llc->peer_rkey.via;
}

void smcr_llc_discard(struct smcr_link *link, uint64_t now_ns)
{
    smcr_link_take_down(link, "stopped", now_ns);
    link->delete_step = SMCR_LINK_GONE;
    smcr_group_effect(link->group, SMCR_GROUP_ADVANCE);
}

/* --- messages that do not go on with it --- */

void smcr_llc_unmatched(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns)
{
    link->group->smcr->counters.llc_unmatched++;
    smcr_llc_trace(link, SMCR_TRACE_DROP, m->bytes, "it answers nothing", now_ns);
}

void smcr_llc_wrong(struct smcr_link *link, const struct smcr_llc_msg *m, const char *cause, uint64_t now_ns)
{
    link->group->smcr->counters.llc_malformed++;
    smcr_llc_trace(link, SMCR_TRACE_DROP, m->bytes, cause, now_ns);
    link->delete_reason = SMCR_DELETE_PROTOCOL;
    smcr_link_fail(link, cause, now_ns);
}

void smcr_llc_queue(struct smcr_link *link, const struct smcr_llc_msg *m)
{
    struct smcr_llc *llc = &link->group->llc;
    if (llc->num_queued == SMCR_LLC_QUEUE)
        return; /* the peer repeats what it needs, or finds a link dead */
    struct smcr_llc_queued *q = &llc->queue[llc->num_queued++];
    *q = (struct smcr_llc_queued){.link_number = link->number, .message = *m};
    if (m->rtokens) {
        memcpy(llc->queued_rtokens, m->rtokens, (size_t)m->num_rtokens * SMCR_RTOKEN2_BYTES);
        q->message.rtokens = llc->queued_rtokens;
    }
}
