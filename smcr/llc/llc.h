/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges of LLC messages in a link group: SMCR sections 10 to 12.
 *
 * An LLC exchange is a sequence of requests and responses that changes the links of a group: the server adds
 * a link (ADD LINK, the RTokens of all RMBs by ADD LINK CONTINUATION, CONFIRM LINK over the new link), or
 * deletes one (DELETE LINK). The server leads; the client asks it to begin. At most one runs in a group at a
 * time (SMCR-SER-02): `step` says where it is, and with that which message is awaited. `via` is the link that
 * carries it, `about` the link that it adds or deletes. What comes meanwhile and does not belong to it waits
 * in a queue, or is refused (SMCR-SER-03 to SER-05); what we want to begin waits as a wish or a mark on its
 * object, until SMCR_GROUP_ADVANCE finds that nothing runs.
 *
 * RKey exchanges (CONFIRM RKEY, DELETE RKEY) change keys, not links; both sides may begin one, and each has a
 * place of its own here. TEST LINK belongs to its link.
 *
 * An exchange whose message does not come, or whose link is lost, ends as the rows of SMCR-REC-04 say:
 * smcr/llc/lost.c. */
#ifndef NORNIC_SMCR_LLC_LLC_H
#define NORNIC_SMCR_LLC_LLC_H

#include "rdma/timer.h"
#include "smcr/llc/messages.h"
#include "smcr/wire/llc2.h"
#include "smcr/group/rmb.h"
#include "smcr/smcr.h"

struct smcr_group;
struct smcr_link;
struct smcr_post;

#define SMCR_LLC_QUEUE 8 /* messages that wait for the running exchange: SMCR-SER-05 */

struct smcr_llc_queued {
    uint8_t link_number;
    struct smcr_llc_msg message;
};

/* Which exchange runs. */
enum smcr_llc_exchange {
    SMCR_LLC_NONE,
    SMCR_LLC_FIRST_LINK, /* CONFIRM LINK of link 1, up to the ADD LINK */
    SMCR_LLC_ADDING,     /* ADD LINK, CONTINUATIONs, CONFIRM LINK */
    SMCR_LLC_DELETING,   /* S: DELETE LINK of one link; C: only of the second link of a first contact */
};

/* Where it is: name, exchange, the message that is awaited (0: none; our last one only has to arrive),
 * whether as a response. Which step may follow which: smcr/llc/exchange.c. */
/* clang-format off */
#define SMCR_LLC_STEPS(S)                                                                                  \
    S(IDLE,             NONE,       0,                      false)                                         \
    S(FIRST_OUT,        FIRST_LINK, SMCR_LLC_CONFIRM_LINK,  true)  /* S: CONFIRM LINK of link 1 is out */  \
    S(FIRST_AWAITED,    FIRST_LINK, SMCR_LLC_CONFIRM_LINK,  false) /* C: it is to come */                  \
    S(OFFER_AWAITED,    FIRST_LINK, SMCR_LLC_ADD_LINK,      false) /* C: it was answered */                \
    S(OFFER_OUT,        ADDING,     SMCR_LLC_ADD_LINK,      true)  /* S: ADD LINK is out */                \
    S(ANSWER_CAME,      ADDING,     0,                      false) /* S: an answer is being looked at */   \
    S(TOKENS_OUT,       ADDING,     SMCR_LLC_ADD_LINK_CONT, true)  /* S: CONTINUATION is out */            \
    S(TOKENS_AWAITED,   ADDING,     SMCR_LLC_ADD_LINK_CONT, false) /* C: ADD LINK was answered */          \
    S(CONFIRM_OUT,      ADDING,     SMCR_LLC_CONFIRM_LINK,  true)  /* S: CONFIRM LINK is out */            \
    S(CONFIRM_AWAITED,  ADDING,     SMCR_LLC_CONFIRM_LINK,  false) /* C: all tokens are told */            \
    S(CONFIRM_ANSWERED, ADDING,     0,                      false) /* C: its response is to arrive */      \
    S(DELETE_OUT,       DELETING,   SMCR_LLC_DELETE_LINK,   true)  /* S: DELETE LINK is out */             \
    S(DELETE_AWAITED,   DELETING,   SMCR_LLC_DELETE_LINK,   false) /* C: the server was asked to */        \
    S(DELETE_ANSWERED,  DELETING,   0,                      false) /* C: the link is freed */
/* clang-format on */
enum smcr_llc_step {
#define SMCR_LLC_STEP_ENUM_(name, exchange, type, is_response) SMCR_LLC_##name,
    SMCR_LLC_STEPS(SMCR_LLC_STEP_ENUM_)
#undef SMCR_LLC_STEP_ENUM_
        SMCR_LLC_STEP_COUNT
};

/* S: ADD LINK when nothing runs; C: a notice that asks for it. */
enum smcr_llc_wish {
    SMCR_WISH_NONE,
    SMCR_WISH_AGAIN, /* C: it was given while something ran, and is to be given again after that */
    SMCR_WISH_LINK,
};

/* Our CONFIRM RKEY, with its continuations, or DELETE RKEY. */
struct smcr_llc_rkey {
    struct smcr_rmb *rmb; /* NULL: none runs */
    struct smcr_link *via;
    uint8_t type; /* SMCR_LLC_CONFIRM_RKEY or DELETE_RKEY */
    bool is_lost; /* the last one was lost with its link: the next comes before a link is added */
    uint8_t others[SMCR_LINK_SLOTS]; /* link numbers that CONFIRM RKEY names besides `via` */
    unsigned num_others, next_other; /* those not told yet come from `next_other` on */
    uint32_t head_rkey;              /* what the awaited response repeats */
    uint32_t generation;             /* of the links, when it began */
    unsigned refusals;               /* in a row, of this RMB */
    struct rdma_timer timer;         /* for the response; while none runs: until the next try */
};

/* A CONFIRM RKEY of the peer's whose continuations are still to come. */
struct smcr_llc_peer_rkey {
    struct smcr_link *via; /* NULL: none runs */
    unsigned left;         /* links that are still to be told */
    struct smcr_rtoken tokens[SMCR_LINK_SLOTS];
    struct rdma_timer timer;
};

/* DELETE LINK (all), the end of a group that the peer is told of. LINGERS: it was, and the links still
 * acknowledge what it sends: Linux says A on each connection then, and waits for ever for that to arrive
 * (version 2). */
enum smcr_delete_all {
    SMCR_DELETE_ALL_NOT,
    SMCR_DELETE_ALL_OUT,
    SMCR_DELETE_ALL_LINGERS,
    SMCR_DELETE_ALL_TOLD
};

#define SMCR_TOKENS_UNCOUNTED UINT32_MAX

struct smcr_llc {
    enum smcr_llc_step step;
    uint32_t serial;      /* of the last message that was sent in the group */
    uint32_t step_serial; /* and of the last one of the exchange */
    bool is_delivered;    /* that one has arrived (SMCR-FBK-01, rows 5 to 12) */
    struct smcr_link *via;
    struct smcr_link *about;
    unsigned own_told; /* RTokens of ours that were told, of */
    unsigned own_total;
    uint32_t
        peer_left; /* RTokens that the peer still owes (SMCR-LLC-34); UNCOUNTED: it has not said how many */
    enum smcr_llc_wish wish;
    uint32_t generation; /* counts changes of the links */
    struct rdma_timer timer;
    struct rdma_timer notice_timer; /* C: the next ADD LINK notice, SMCR-REC-04 rows 8 and 9 */
    uint64_t notice_ns;             /* C: between the last notice and the next; 0: none was given yet */
    struct smcr_llc_rkey rkey;
    struct smcr_llc_peer_rkey peer_rkey;
    struct smcr_llc_queued queue[SMCR_LLC_QUEUE];
    unsigned num_queued;
    /* Of an ADD LINK of version 2 in the queue. A second one means that the server has given the first up. */
    uint8_t queued_rtokens[SMCR_ADD_LINK2_MAX_RTOKENS * SMCR_RTOKEN2_BYTES];

    enum smcr_delete_all delete_all;
    struct smcr_link *delete_all_via; /* that carries it */
    uint32_t delete_all_tried;        /* slots of links that it went over: a bit each */
};

/* --- with the group and its links --- */

void smcr_llc_init(struct smcr_group *group);
/* Nothing of it runs any more; the group ends. */
void smcr_llc_cancel(struct smcr_group *group);
/* A link is about to be freed: nobody names it any more. */
void smcr_llc_forget_link(struct smcr_link *link);

/* --- steps --- */

/* A message that came on a link: anything but a CDC. */
void smcr_llc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns);
/* One of ours was delivered. */
void smcr_llc_sent(struct smcr_link *link, const struct smcr_post *post, uint64_t now_ns);
/* First contact: the server's QP is in RTS, CONFIRM LINK goes out; the client's in RTR, T1 runs. Both then go
 * on to the end of the second link's exchange, which SMCR_GROUP_CONTACT reports. */
void smcr_llc_first_contact(struct smcr_group *group, uint64_t now_ns);
/* SMCR_GROUP_ADVANCE: whatever may begin now begins (SMCR-SER-02). */
void smcr_llc_advance(struct smcr_group *group, uint64_t now_ns);
/* SMCR_LINK_LOST: what ran on it, or about it, ends as section 12 says. */
void smcr_llc_link_lost(struct smcr_link *link, uint64_t now_ns);
/* A link that is GONE was freed; `was_about`: the exchange was about it. */
void smcr_llc_link_freed(struct smcr_group *group, bool was_about, uint64_t now_ns);
/* SMCR_LINK_EMPTY: perhaps its orderly end can go on. And SMCR_LINK_DELETE_DUE. */
void smcr_llc_drained(struct smcr_link *link, uint64_t now_ns);
void smcr_llc_delete_due(struct smcr_link *link, uint64_t now_ns);
/* Deletes a link: the server's exchange, or the client's request (SMCR-DLK-01, DLK-05). A link that is DOWN
 * already is told over another. */
void smcr_llc_delete_link(struct smcr_link *link, uint32_t reason, bool orderly, uint64_t now_ns);
/* DELETE LINK (all), once, on every link until a send succeeds: SMCR-REC-04 rows 14 and 15. Then
 * SMCR_GROUP_FINISH. */
void smcr_llc_delete_all(struct smcr_group *group, uint64_t now_ns);
/* SMCR_LINK_TEST, SMCR_LINK_TEST_DUE: SMCR-KAL-02. */
void smcr_llc_test_link(struct smcr_link *link, uint64_t now_ns);
void smcr_llc_test_due(struct smcr_link *link, uint64_t now_ns);

#endif
