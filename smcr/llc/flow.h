/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of smcr/llc/ share. */
#ifndef NORNIC_SMCR_LLC_FLOW_H
#define NORNIC_SMCR_LLC_FLOW_H

#include "base/base.h"
#include "smcr/group/group.h"
#include "smcr/llc/messages2.h"

#define SMCR_MIN_QPN 2 /* SMCR-QP-05 */

/* --- smcr/llc/exchange.c: sending, and the one exchange that runs --- */

/* Posts a message of SMCR_MSG_BYTES as version 1 has it, in the group's version; `kind`: what follows when it
 * has arrived. False: it could not be, and the link has failed. */
bool smcr_llc_send(struct smcr_link *link, const uint8_t *message, enum smcr_post_kind kind, uint64_t now_ns);
/* The same for a message of the running exchange. */
bool smcr_llc_send_step(struct smcr_link *link, const uint8_t *message, enum smcr_post_kind kind,
                        uint64_t now_ns);
/* The same for the ADD LINK of version 2 about llc->about, request or response. */
bool smcr_llc_send_add_link2(struct smcr_link *link, bool is_response, uint64_t now_ns);
enum smcr_llc_exchange smcr_llc_exchange(const struct smcr_group *group);
/* The exchange is part of a first contact. */
static inline bool smcr_llc_is_first_contact(const struct smcr_group *group)
{
    return group->state == SMCR_GROUP_FIRST_CONTACT;
}
/* Nothing else ran. `about` may be NULL. */
void smcr_llc_begin(struct smcr_group *group, enum smcr_llc_step step, struct smcr_link *via,
                    struct smcr_link *about, uint64_t now_ns);
/* The exchange goes on with that step, whose message is awaited from now on. */
void smcr_llc_enter(struct smcr_group *group, enum smcr_llc_step step, uint64_t now_ns);
/* Whether the exchange awaits a message of that type, request or response; on any link. */
bool smcr_llc_awaits(const struct smcr_group *group, const struct smcr_llc_msg *m);
/* It is over; what waited may begin. */
void smcr_llc_end(struct smcr_group *group, uint64_t now_ns);
/* The first contact is over, for good or bad: SMCR_GROUP_CONTACT. */
void smcr_llc_contact_over(struct smcr_group *group, enum smcr_contact_end how, uint32_t diagnosis,
                           const char *cause, uint64_t now_ns);
/* Nothing runs that excludes an exchange of our own (SMCR-SER-02). */
bool smcr_llc_is_free(const struct smcr_group *group);
/* A link that the peer does not have, or not any more: it goes down, and is freed after this step. */
void smcr_llc_discard(struct smcr_link *link, uint64_t now_ns);

void smcr_llc_trace(struct smcr_link *link, enum smcr_trace_type type, const uint8_t *message,
                    const char *cause, uint64_t now_ns);
/* A response that answers nothing (SMCR-SER-06). */
void smcr_llc_unmatched(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns);
/* A message that cannot be, or not now: the link is down (SMCR-REC-29). `cause`: static words. */
void smcr_llc_wrong(struct smcr_link *link, const struct smcr_llc_msg *m, const char *cause, uint64_t now_ns);
/* Taken again when what runs now is over (SMCR-SER-05). */
void smcr_llc_queue(struct smcr_link *link, const struct smcr_llc_msg *m);

/* --- what messages do: requests and responses --- */

typedef void smcr_llc_handler(struct smcr_link *link, const struct smcr_llc_msg *m, uint64_t now_ns);
smcr_llc_handler smcr_llc_confirm_link_rsp, smcr_llc_add_link_rsp, smcr_llc_cont_rsp; /* add_server.c */
smcr_llc_handler smcr_llc_notice;                                                     /* add_server.c */
smcr_llc_handler smcr_llc_request_refused;                                            /* add_client.c */
smcr_llc_handler smcr_llc_confirm_link_req, smcr_llc_offer, smcr_llc_cont_req;        /* add_client.c */
smcr_llc_handler smcr_llc_delete_link_req, smcr_llc_delete_link_rsp;                  /* delete.c */
smcr_llc_handler smcr_llc_delete_all_req;                                             /* delete_all.c */
smcr_llc_handler smcr_llc_confirm_rkey_rsp, smcr_llc_rkey_cont_rsp, smcr_llc_delete_rkey_rsp; /* rkey.c */
smcr_llc_handler smcr_llc_confirm_rkey_req, smcr_llc_rkey_cont_req,
    smcr_llc_delete_rkey_req;                                    /* rkey_peer.c */
smcr_llc_handler smcr_llc_test_link_req, smcr_llc_test_link_rsp; /* test.c */

/* --- smcr/llc/add.c: what both sides of adding a link do --- */

struct smcr_link_end smcr_llc_end_of(const struct smcr_add_link *m);
/* SMCR-LLC-21: CONFIRM LINK names the end that ADD LINK, or CLC, has told. */
bool smcr_llc_is_peer_end(const struct smcr_link *link, const struct smcr_confirm_link *m);
/* It is confirmed: data may go over it. */
void smcr_llc_link_is_active(struct smcr_link *link, uint32_t peer_user_id, uint64_t now_ns);
/* ADD LINK CONTINUATION begins: nothing is told yet. `own_total`: RTokens of ours. */
void smcr_llc_begin_tokens(struct smcr_llc *llc, unsigned own_total);
/* SMCR-LLC-37, REC-24. False: they do not fit what was announced. */
bool smcr_llc_take_tokens(struct smcr_group *group, const struct smcr_add_link_cont *m);
/* The same for all RTokens of the peer's ADD LINK of version 2, which names each RMB that we know. */
bool smcr_llc_take_rtokens2(struct smcr_group *group, const struct smcr_llc_msg *m);
bool smcr_llc_tokens_are_through(const struct smcr_llc *llc);
/* The link that is being added cannot be: it fails, or has failed already; rows 2, 3, 8 and 9 follow. */
void smcr_llc_drop_new_link(struct smcr_group *group, const char *cause, uint64_t now_ns);

/* --- smcr/llc/add_server.c --- */

/* CONFIRM LINK on link 1 of a first contact. */
void smcr_llc_confirm_first(struct smcr_group *group, uint64_t now_ns);
/* Begins to add a link, if there is one to add. */
void smcr_llc_start_adding(struct smcr_group *group, uint64_t now_ns);

/* --- smcr/llc/add_client.c --- */

/* Our response to CONFIRM LINK arrived. */
void smcr_llc_confirm_link_sent(struct smcr_link *link, uint64_t now_ns);
/* Tells the server of an RNIC that no link uses. */
void smcr_llc_notify(struct smcr_group *group, uint64_t now_ns);

/* --- smcr/llc/delete.c --- */

/* Server: DELETE LINK for the first link that is due. */
void smcr_llc_start_deleting(struct smcr_group *group, uint64_t now_ns);
/* And for this one, whose slot waits for the response. */
void smcr_llc_send_delete(struct smcr_link *link, uint64_t now_ns);
/* A response to DELETE LINK arrived that went over `via`. */
void smcr_llc_delete_answered(struct smcr_link *via);
/* Client: requests that went over `via` go over another link. */
void smcr_llc_resend_deletes(struct smcr_link *via, uint64_t now_ns);

/* --- smcr/llc/delete_all.c: DELETE LINK (all) was lost, or the timer ran out; it has arrived --- */

void smcr_llc_delete_all_next(struct smcr_group *group, uint64_t now_ns);
void smcr_llc_delete_all_timed_out(struct smcr_group *group, uint64_t now_ns);
void smcr_llc_delete_all_sent(struct smcr_group *group, uint64_t now_ns);

/* --- smcr/llc/lost.c: SMCR-REC-04, by expiry of llc->timer --- */

void smcr_llc_timed_out(struct rdma_timer *timer, uint64_t now_ns);

/* --- smcr/llc/rkey.c, rkey_peer.c --- */

/* Begins what RKey exchange is due. */
void smcr_llc_start_rkey(struct smcr_group *group, uint64_t now_ns);
/* It has to be done again. */
void smcr_llc_rkey_lost(struct smcr_group *group);
void smcr_llc_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns);
void smcr_llc_peer_rkey_timed_out(struct rdma_timer *timer, uint64_t now_ns);
/* What the peer has told so far of an RMB is forgotten. */
void smcr_llc_peer_rkey_forget(struct smcr_group *group);

#endif
