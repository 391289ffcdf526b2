/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges of LLC messages in a link group: SMCR sections 10 to 12. At most one exclusive exchange runs at a
 * time (SMCR-SER-02), besides an RKey exchange of the peer's. */
#ifndef NORNIC_SMCR_LLC_H
#define NORNIC_SMCR_LLC_H

#include "rdma/timer.h"
#include "smcr/llc_wire.h"
#include "smcr/rmb.h"
#include "smcr/smcr.h"

struct smcr_group;
struct smcr_link;
struct smcr_rmb;

#define SMCR_LLC_QUEUE 8 /* messages that wait for the running exchange: SMCR-SER-05 */

struct smcr_llc_queued {
    uint8_t link_number;
    uint8_t message[SMCR_MSG_BYTES];
};

/* What is exclusive in a group, and runs for several messages (SMCR-SER-02); RKey exchanges have their own
 * places below. */
enum smcr_llc_exchange {
    SMCR_LLC_IDLE,
    SMCR_LLC_FIRST_LINK, /* CONFIRM LINK of link 1, up to the ADD LINK */
    SMCR_LLC_ADDING,     /* ADD LINK, CONTINUATIONs, CONFIRM LINK */
    SMCR_LLC_DELETING,   /* S: DELETE LINK of one link; C: only of the second link of a first contact */
};

/* Our CONFIRM RKEY, with its continuations, or DELETE RKEY. */
struct smcr_llc_rkey {
    struct smcr_rmb *rmb; /* NULL: none runs */
    struct smcr_link *via;
    bool deletes;
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

struct smcr_llc {
    enum smcr_llc_exchange exchange;
    uint8_t awaited;         /* the message that the timer waits for: enum smcr_llc_type; 0: none */
    bool awaits_response;    /* with R set */
    bool is_first_contact;   /* the exchange is part of it */
    uint32_t sent_head;      /* first four bytes of our last message of it */
    bool is_delivered;       /* that has arrived (SMCR-FBK-01, rows 5 to 12) */
    struct smcr_link *via;   /* the link that carries it */
    struct smcr_link *about; /* the link that it adds or deletes */
    unsigned own_told;       /* RTokens of ours that were told, of */
    unsigned own_total;
    unsigned peer_left;  /* RTokens that the peer still owes (SMCR-LLC-34) */
    bool peer_counted;   /* its first CONTINUATION has said how many */
    bool add_wanted;     /* S: ADD LINK when nothing runs; C: a notice */
    bool notice_came;    /* S: the client asked while a link was being added */
    uint32_t generation; /* counts changes of the links */
    struct rdma_timer timer;
    struct rdma_timer kick_timer;   /* something may begin: due at once */
    struct rdma_timer notice_timer; /* C: the next ADD LINK notice, SMCR-REC-04 rows 8 and 9 */
    struct smcr_llc_rkey rkey;
    struct smcr_llc_peer_rkey peer_rkey;
    struct smcr_llc_queued queue[SMCR_LLC_QUEUE];
    unsigned num_queued;

    /* The end of the group: DELETE LINK (all). */
    bool is_told;                     /* S: it has arrived */
    bool is_telling;                  /* it is out, or the server's answer is awaited */
    uint32_t tell_reason;             /* enum smcr_delete_link_reason */
    struct smcr_link *tell_via;       /* that carries it */
    bool tell_tried[SMCR_LINK_SLOTS]; /* links that failed */
};
/* --- in --- */

/* A message that came on a link: anything but a CDC. */
void smcr_llc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns);
/* The end of a post of ours: `head` its first four bytes. `ok` false: SMCR-REC-02. */
void smcr_llc_sent(struct smcr_link *link, uint32_t head, bool ok, uint64_t now_ns);
/* A link went DOWN: what ran on it, or about it, ends as section 12 says. */
void smcr_llc_link_lost(struct smcr_link *link, uint64_t now_ns);

/* --- orders --- */

/* First contact: the server's QP is in RTS, CONFIRM LINK goes out; the client's in RTR, T1 runs. Both then go
 * on to the end of the second link's exchange, which smcr_handshake_first_contact_ended() reports. */
void smcr_llc_first_contact(struct smcr_group *group, uint64_t now_ns);
/* Server: adds a link if there is a port for it and room (SMCR-ALK-01); client: asks for one (ALK-03). After
 * whatever runs, and never inside this call. */
void smcr_llc_want_link(struct smcr_group *group, uint64_t now_ns);
/* Deletes a link: the server's exchange, or the client's request (SMCR-DLK-01, DLK-05). A link that is DOWN
 * already is told over another. */
void smcr_llc_delete_link(struct smcr_link *link, uint32_t reason, bool orderly, uint64_t now_ns);
/* DELETE LINK (all), once, on every link until a send succeeds: SMCR-REC-04 rows 14 and 15. */
void smcr_llc_delete_all(struct smcr_group *group, uint32_t reason, uint64_t now_ns);
/* CONFIRM RKEY, DELETE RKEY: when nothing else runs, and never inside this call. Then smcr_rmb_confirmed(),
 * smcr_rmb_deleted(). */
void smcr_llc_confirm_rkey(struct smcr_rmb *rmb, uint64_t now_ns);
void smcr_llc_delete_rkey(struct smcr_rmb *rmb, uint64_t now_ns);
/* SMCR-KAL-02; the timed ones run by themselves. */
void smcr_llc_test_link(struct smcr_link *link, uint64_t now_ns);

/* --- with the group and its links --- */

void smcr_llc_init(struct smcr_group *group);
/* Nothing of it runs any more; the group ends. */
void smcr_llc_cancel(struct smcr_group *group);
void smcr_llc_deinit(struct smcr_group *group);
void smcr_llc_link_made(struct smcr_link *link);
/* The slot is freed: nobody names the link any more. */
void smcr_llc_forget_link(struct smcr_link *link);
/* Connections left a link that is to go, or a post on it ended: perhaps it can go now. */
void smcr_llc_drained(struct smcr_link *link, uint64_t now_ns);
/* DELETE LINK (all) is under way. */
bool smcr_llc_is_telling(const struct smcr_group *group);

/* --- out: called by smcr/llc_*.c --- */

void smcr_rmb_confirmed(struct smcr_rmb *rmb, bool ok, uint64_t now_ns);
void smcr_rmb_deleted(struct smcr_rmb *rmb, uint64_t now_ns);

#endif
