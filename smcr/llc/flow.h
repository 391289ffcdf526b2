/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files smcr/llc*.c share. */
#ifndef NORNIC_SMCR_LLC_FLOW_H
#define NORNIC_SMCR_LLC_FLOW_H

#include <stddef.h>

#include "smcr/conn/conn.h"
#include "smcr/handshake/handshake.h"

#define SMCR_MIN_QPN 2 /* SMCR-QP-05 */

/* --- messages of the group's version: smcr/llc/build.c --- */

/* Each fills SMCR_MSG_BYTES. */
void smcr_llc_build_confirm_link(uint8_t *message, const struct smcr_link *link, bool is_response);
void smcr_llc_build_add_link(uint8_t *message, const struct smcr_group *group,
                             const struct smcr_link_end *end, uint8_t number, bool is_response);
/* `end`: of ours, of the link that the request came on; `reason`: enum smcr_add_link_reason. */
void smcr_llc_build_reject(uint8_t *message, const struct smcr_group *group, const struct smcr_link_end *end,
                           uint8_t number, uint8_t reason);
/* The next RTokens of ours for llc->about, which count as told from now on. */
void smcr_llc_build_cont(uint8_t *message, struct smcr_group *group, bool is_response);
void smcr_llc_build_delete_link(uint8_t *message, uint8_t number, uint32_t reason, bool orderly);
void smcr_llc_build_delete_all(uint8_t *message, uint32_t reason, bool orderly);
void smcr_llc_build_delete_rsp(uint8_t *message, uint8_t number, uint32_t reason);
void smcr_llc_build_test_link(uint8_t *message, const uint8_t user_data[16]);
/* smcr/llc/build_rkey.c: the first message of `x`, the next, and DELETE RKEY. */
void smcr_llc_build_confirm_rkey(uint8_t *message, struct smcr_llc_rkey *x);
void smcr_llc_build_rkey_cont(uint8_t *message, struct smcr_llc_rkey *x);
void smcr_llc_build_delete_rkey(uint8_t *message, struct smcr_llc_rkey *x);
/* ADD LINK in whichever layout it came (A5). */
void smcr_llc_parse_add_link(const struct smcr_group *group, const uint8_t *message,
                             struct smcr_add_link *out);

/* --- smcr/llc/llc.c --- */

static inline bool smcr_llc_is_response(const uint8_t *message)
{
    return message[3] & 0x80;
}

/* Posts a message. False: it could not be, and the link has failed with all that this brings: the caller
 * returns. */
bool smcr_llc_send(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);
/* The same for a message of the running exchange. */
bool smcr_llc_send_step(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);

/* Nothing else ran. `about` may be NULL. */
void smcr_llc_begin(struct smcr_group *group, enum smcr_llc_exchange exchange, struct smcr_link *via,
                    struct smcr_link *about);
/* The exchange goes on with that message; type 0: it only needs our last message to arrive. */
void smcr_llc_await(struct smcr_group *group, uint8_t type, bool is_response, uint64_t now_ns);
static inline bool smcr_llc_awaits(const struct smcr_llc *llc, uint8_t type, bool is_response)
{
    return llc->exchange != SMCR_LLC_IDLE && llc->awaited == type && llc->awaits_response == is_response;
}
/* It is over; what waited may begin. */
void smcr_llc_end(struct smcr_group *group, uint64_t now_ns);
/* Whatever may run now begins in the next smcr_expire(), where nobody is in the middle of anything. */
void smcr_llc_kick(struct smcr_group *group, uint64_t now_ns);
/* Server: nothing runs that excludes an exchange of its own (SMCR-SER-02). */
bool smcr_llc_is_free(const struct smcr_group *group);

/* A response that answers nothing (SMCR-SER-06). */
void smcr_llc_unmatched(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);
/* A message that cannot be, or not now: the link is down (SMCR-REC-29). `cause`: static words. */
void smcr_llc_wrong(struct smcr_link *link, const uint8_t *message, const char *cause, uint64_t now_ns);
/* Taken again when what runs now is over (SMCR-SER-05). */
void smcr_llc_queue(struct smcr_link *link, const uint8_t *message);
/* A message of 44 bytes. */
void smcr_llc_take(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);

/* --- what messages do: requests and responses --- */

typedef void smcr_llc_handler(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);
smcr_llc_handler smcr_llc_confirm_link_req, smcr_llc_confirm_link_rsp; /* smcr/llc/confirm.c */
smcr_llc_handler smcr_llc_add_link_req, smcr_llc_add_link_rsp;         /* llc_add.c */
smcr_llc_handler smcr_llc_cont_req, smcr_llc_cont_rsp;                 /* llc_cont.c */
smcr_llc_handler smcr_llc_delete_link_req, smcr_llc_delete_link_rsp;   /* llc_delete.c */
smcr_llc_handler smcr_llc_confirm_rkey_req, smcr_llc_confirm_rkey_rsp; /* llc_rkey*.c */
smcr_llc_handler smcr_llc_rkey_cont_req, smcr_llc_rkey_cont_rsp;
smcr_llc_handler smcr_llc_delete_rkey_req, smcr_llc_delete_rkey_rsp;
smcr_llc_handler smcr_llc_test_link_req, smcr_llc_test_link_rsp; /* llc_test.c */

/* --- steps of flows --- */

/* llc_confirm.c. Server: CONFIRM LINK on `llc->about`, or on link 1. */
void smcr_llc_send_confirm_link(struct smcr_group *group, struct smcr_link *link, uint64_t now_ns);
/* Client: its response to that arrived. */
void smcr_llc_confirm_link_sent(struct smcr_link *link, uint64_t now_ns);
/* The first contact is over, for good or bad; then the group is usable, or ends. */
void smcr_llc_first_contact_over(struct smcr_group *group, enum smcr_first_contact how, uint32_t diagnosis,
                                 const char *cause, uint64_t now_ns);

/* llc_add.c. Server: begins to add a link, if there is one to add. */
void smcr_llc_start_adding(struct smcr_group *group, uint64_t now_ns);
/* Client: tells the server of an RNIC that no link uses. */
void smcr_llc_notify(struct smcr_group *group, uint64_t now_ns);
void smcr_llc_notice_due(struct rdma_timer *timer, uint64_t now_ns);
/* llc_cont.c. Server: the next CONTINUATION. */
void smcr_llc_send_cont(struct smcr_group *group, uint64_t now_ns);

/* llc_lost.c: SMCR-REC-04, by expiry of llc->timer and by the loss of a link. */
void smcr_llc_timed_out(struct rdma_timer *timer, uint64_t now_ns);
/* The link that is being added cannot be, or has failed already: rows 2, 3, 8 and 9. */
void smcr_llc_drop_new_link(struct smcr_group *group, const char *cause, uint64_t now_ns);

/* llc_delete.c. Server: DELETE LINK for the first link that is due. False: none is. */
bool smcr_llc_start_deleting(struct smcr_group *group, uint64_t now_ns);
/* And for this one, whose slot waits for the response. */
void smcr_llc_send_delete(struct smcr_link *link, uint64_t now_ns);
void smcr_llc_delete_due(struct rdma_timer *timer, uint64_t now_ns);
/* A response to DELETE LINK arrived that went over `via`. */
void smcr_llc_delete_answered(struct smcr_link *via, uint64_t now_ns);
/* Client: requests that went over `via` go over another link. */
void smcr_llc_resend_deletes(struct smcr_link *via, uint64_t now_ns);
/* llc_end.c: DELETE LINK (all) arrived, was lost, or was not answered. */
void smcr_llc_delete_all_req(struct smcr_link *link, const uint8_t *message, uint64_t now_ns);
void smcr_llc_delete_all_sent(struct smcr_group *group, uint64_t now_ns);
void smcr_llc_delete_all_next(struct smcr_group *group, uint64_t now_ns);

/* llc_rkey.c. Begins what RKey exchange is due. */
void smcr_llc_start_rkey(struct smcr_group *group, uint64_t now_ns);
/* It has to be done again. */
void smcr_llc_rkey_lost(struct smcr_group *group, uint64_t now_ns);
void smcr_llc_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns);
void smcr_llc_peer_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns);
/* Whether the peer's RKey exchange is refused now (SMCR-SER-03, SER-04). */
bool smcr_llc_refuses_rkeys(const struct smcr_group *group);

/* llc_test.c */
void smcr_llc_test_due(struct rdma_timer *timer, uint64_t now_ns);

#endif
