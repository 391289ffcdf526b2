/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection: the handshake while it runs, then cursors, buffers and the states of SMCR sections 14 to 17.
 * The parts below belong to the files that their comments name. */
#ifndef NORNIC_SMCR_CONN_H
#define NORNIC_SMCR_CONN_H

#include "smcr/clc.h"
#include "smcr/cursor.h"
#include "smcr/group.h"

/* clang-format off */
#define SMCR_CONN_STATES(S)                                                                             \
    S(HANDSHAKE) S(FALLBACK) S(ACTIVE) S(PEER_CLOSE_WAIT_1) S(PEER_CLOSE_WAIT_2) S(APP_FIN_CLOSE_WAIT)  \
    S(APP_CLOSE_WAIT_1) S(APP_CLOSE_WAIT_2) S(PEER_FIN_CLOSE_WAIT) S(PEER_ABORT_WAIT) S(CLOSED)
/* clang-format on */
/* SMCR section 16.1. */
enum smcr_conn_state {
#define SMCR_CONN_STATE_ENUM_(name) SMCR_CONN_##name,
    SMCR_CONN_STATES(SMCR_CONN_STATE_ENUM_)
#undef SMCR_CONN_STATE_ENUM_
};
const char *smcr_conn_state_name(enum smcr_conn_state state);

/* Where the handshake is; smcr/handshake_*.c. */
enum smcr_stage {
    SMCR_STAGE_PROPOSAL,      /* S waits for it */
    SMCR_STAGE_GROUP,         /* both: a first contact of the same peer runs (SMCR-FC-21) */
    SMCR_STAGE_ACCEPT_RMB,    /* S: CONFIRM RKEY before Accept (SMCR-SC-02) */
    SMCR_STAGE_CONFIRM,       /* S waits for it */
    SMCR_STAGE_ACCEPT,        /* C waits for it */
    SMCR_STAGE_CONFIRM_RMB,   /* C: CONFIRM RKEY before Confirm (SMCR-SC-04) */
    SMCR_STAGE_FIRST_CONTACT, /* both: LLC of the first contact */
    SMCR_STAGE_DECLINE,       /* C: it failed; the server's Decline may be on its way (SMCR-CLC-11) */
};

struct smcr_conn {
    struct smcr *smcr;
    struct smcr_conn_config config;
    struct smcr_conn *all_next, **all_prev;
    struct smcr_conn *group_next;
    struct smcr_conn *changed_next, **changed_prev; /* in smcr->changed while events != 0 */
    unsigned events;                                /* enum smcr_event, not asked for yet */
    enum smcr_conn_state state;
    bool owned;  /* the application has not given it back */
    bool linger; /* it wants CLOSED although it has */
    int error;
    const char *reason;
    uint32_t diagnosis;
    bool declined_by_peer;
    bool may_cross; /* in FALLBACK: a Decline of the peer's may still come, and is no data (SMCR-FBK-05) */
    struct rdma_timer timer; /* the handshake's, then the guard of closing and aborting */

    /* --- handshake --- */
    enum smcr_stage stage;
    struct smcr_clc_reader clc; /* of the next CLC message, or the one that waits in GROUP */
    bool is_first_contact;
    bool group_settled;                             /* in GROUP: what it waits for is over */
    bool is_surplus;                                /* beyond max_conns: it only gets to hear so */
    struct smcr_conn *contact_next, **contact_prev; /* in smcr->waiting while in GROUP; else NULL */
    uint64_t clc_came_ns;                           /* when the last CLC message was complete */
    struct smcr_peer_id peer_id;                    /* of the peer, once a group is found or made */
    struct smcr_link *link_accepted;                /* that the Accept named */

    /* --- both ends of the data (set by the handshake) --- */
    struct smcr_group *group; /* NULL: none yet, or in FALLBACK */
    struct smcr_rmb *rmb;     /* ours: the peer writes there */
    uint8_t rmb_index;        /* 1..255; 0: none */
    uint32_t token;           /* ours: names the connection in what comes */
    struct smcr_peer_rmb *peer_rmb;
    uint8_t peer_index;
    uint32_t peer_elem_bytes;
    uint32_t peer_token;

    /* --- data: smcr/conn_*.c --- */
    struct smcr_conn_data *data; /* smcr/conn/data.h; from the moment that the RMBE is told to the peer */
    struct smcr_link *link;      /* that we send over; NULL: none now */
    struct smcr_conn *wait_next; /* in link->waiting */
    bool is_waiting;
    uint32_t posts; /* CDC messages of ours that have not ended */
    bool urgent_inline;
    uint64_t keepalive_ns; /* 0: off */
    bool tcp_is_reset;
};

/* Adds to its events and puts it on the instance's list. */
void smcr_conn_event(struct smcr_conn *conn, unsigned events);
/* Changes state and traces it. */
void smcr_conn_set_state(struct smcr_conn *conn, enum smcr_conn_state state, const char *cause,
                         uint64_t now_ns);
/* Frees it if the application has given it back, nothing of it is posted, and it is over. */
void smcr_conn_release(struct smcr_conn *conn, uint64_t now_ns);

/* --- called by the handshake --- */

/* The RMBE and the token exist and are about to be told to the peer: data may arrive from now on and is held
 * (SMCR-SC-08). 0 or -ENOMEM. */
int smcr_conn_prepare(struct smcr_conn *conn, uint64_t now_ns);
/* The handshake is over and both ends are known: ACTIVE, on the least loaded link; what was held is taken. */
void smcr_conn_activate(struct smcr_conn *conn, uint64_t now_ns);
/* Takes the RMBE, the peer's RMBE (peer_rmb->elems), send buffer, data, token and group from it, as far as it
 * has them, without a word to the peer. Fine twice. */
void smcr_conn_detach(struct smcr_conn *conn, uint64_t now_ns);

/* --- called by links and groups --- */

/* A CDC that came on a link, 44 bytes with type 0xFE. */
void smcr_conn_cdc_rx(struct smcr_link *link, const uint8_t *message, size_t len_bytes, uint64_t now_ns);
/* The CDC `seq` of ours, with all writes before it, was delivered or failed. */
void smcr_conn_cdc_done(struct smcr_conn *conn, uint16_t seq, bool ok, uint64_t now_ns);
/* It was waiting and the link has room again. */
void smcr_conn_kick(struct smcr_conn *conn, uint64_t now_ns);
/* Its link is DOWN and all posts on it have ended: goes on over another (SMCR-FOV-07), or is reset. */
void smcr_conn_link_lost(struct smcr_conn *conn, uint64_t now_ns);
/* A voluntary move off `link` to `to`, once its posts have ended (SMCR-FOV-15). */
void smcr_conn_move(struct smcr_conn *conn, struct smcr_link *to, uint64_t now_ns);
/* The group is no more, or the peer reuses our target (SMCR-RMB-20): RST, error to the application; no CDC
 * leaves. Detaches it. */
void smcr_conn_kill(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);

#endif
