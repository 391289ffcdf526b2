/* SPDX-License-Identifier: BSD-2-Clause */
/* Exchanges of LLC messages in a link group: SMCR sections 10 to 12. At most one exclusive exchange runs at a
 * time (SMCR-SER-02), besides an RKey exchange of the peer's. */
#ifndef NORNIC_SMCR_LLC_H
#define NORNIC_SMCR_LLC_H

#include "roce/timer.h"
#include "smcr/llc_wire.h"
#include "smcr/smcr.h"

struct smcr_group;
struct smcr_link;
struct smcr_rmb;

#define SMCR_LLC_QUEUE 8 /* messages that wait for the running exchange: SMCR-SER-05 */

/* What runs in the group. The files smcr/llc_*.c own what is in it. */
struct smcr_llc_queued {
    uint8_t link_number;
    uint8_t message[SMCR_MSG_BYTES];
};
enum smcr_llc_exchange {
    SMCR_LLC_IDLE,
    SMCR_LLC_FIRST_LINK, /* CONFIRM LINK of link 1, up to the ADD LINK */
    SMCR_LLC_ADDING,     /* ADD LINK, CONTINUATIONs, CONFIRM LINK */
    SMCR_LLC_DELETING,   /* DELETE LINK of one link, the server's */
    SMCR_LLC_RKEY,       /* our CONFIRM RKEY or DELETE RKEY */
};
struct smcr_llc {
    enum smcr_llc_exchange exchange;
    uint8_t awaited;         /* the message that the timer waits for: enum smcr_llc_type; 0: none */
    bool awaits_response;    /* with R set */
    bool is_first_contact;   /* the exchange is part of it */
    struct smcr_link *via;   /* the link that carries it */
    struct smcr_link *about; /* the link that it adds or deletes */
    struct smcr_rmb *rmb;    /* the RMB that it confirms or deletes */
    unsigned position;       /* next RMB, or link, of a sequence */
    unsigned peer_left;      /* RTokens that the peer still owes (SMCR-LLC-34) */
    struct roce_timer timer;
    struct smcr_llc_queued queue[SMCR_LLC_QUEUE];
    unsigned num_queued;
    struct roce_timer notice_timer; /* the client's ADD LINK notice, SMCR-REC-04 rows 8 and 9 */
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
 * whatever runs. */
void smcr_llc_want_link(struct smcr_group *group, uint64_t now_ns);
/* Deletes a link: the server's exchange, or the client's request (SMCR-DLK-01, DLK-05). A link that is DOWN
 * already is told over another. */
void smcr_llc_delete_link(struct smcr_link *link, uint32_t reason, bool orderly, uint64_t now_ns);
/* DELETE LINK (all), once, on every link until a send succeeds: SMCR-REC-04 rows 14 and 15. */
void smcr_llc_delete_all(struct smcr_group *group, uint32_t reason, uint64_t now_ns);
/* CONFIRM RKEY, DELETE RKEY: when nothing else runs. Then smcr_rmb_confirmed(), smcr_rmb_deleted(). */
void smcr_llc_confirm_rkey(struct smcr_rmb *rmb, uint64_t now_ns);
void smcr_llc_delete_rkey(struct smcr_rmb *rmb, uint64_t now_ns);
/* SMCR-KAL-02; the timed ones run by themselves. */
void smcr_llc_test_link(struct smcr_link *link, uint64_t now_ns);

/* --- out: called by smcr/llc_*.c --- */

void smcr_rmb_confirmed(struct smcr_rmb *rmb, bool ok, uint64_t now_ns);
void smcr_rmb_deleted(struct smcr_rmb *rmb, uint64_t now_ns);

#endif
