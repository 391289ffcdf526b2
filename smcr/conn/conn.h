/* SPDX-License-Identifier: BSD-2-Clause */
/* A connection: the handshake while it runs, then cursors, buffers and the states of SMCR sections 14 to 17.
 * The parts below belong to the files that their comments name. */
#ifndef NORNIC_SMCR_CONN_H
#define NORNIC_SMCR_CONN_H

#include "smcr/clc/clc.h"
#include "smcr/cursor.h"
#include "smcr/group/group.h"

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

/* Where the handshake is: smcr/handshake/. */
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

/* What the connection is to its group. */
enum smcr_contact {
    SMCR_CONTACT_SUBSEQUENT, /* it joins one, or does not know yet */
    SMCR_CONTACT_FIRST,      /* the group was made for it */
    SMCR_CONTACT_SURPLUS,    /* beyond max_conns: it only gets to hear so */
};

/* Whether the application has it. */
enum smcr_holder {
    SMCR_HELD,
    SMCR_LINGERS,    /* given back, but CLOSED is to be told */
    SMCR_GIVEN_BACK, /* freed when it is over */
};

enum smcr_declined {
    SMCR_DECLINED_NOT,
    SMCR_DECLINED_BY_US,
    SMCR_DECLINED_CROSSING, /* by us; one of the peer's may still come, and is no data (SMCR-FBK-05) */
    SMCR_DECLINED_BY_PEER,
};

/* Of the TCP connection beside it. */
enum smcr_tcp_seen {
    SMCR_TCP_RUNS,
    SMCR_TCP_FIN_CAME, /* before the peer said C or A */
    SMCR_TCP_IS_RESET, /* by us or the peer */
};

struct smcr_conn {
    struct smcr *smcr;
    struct smcr_effects effects;
    struct smcr_conn_config config;
    struct smcr_conn *all_next, **all_prev;
    struct smcr_conn *group_next;
    struct smcr_conn *changed_next, **changed_prev; /* in smcr->changed while events != 0 */
    unsigned events;                                /* enum smcr_event, not asked for yet */
    enum smcr_conn_state state;
    enum smcr_holder holder;
    int error;
    const char *reason;
    uint32_t diagnosis;
    enum smcr_declined declined; /* in FALLBACK: by whom */
    enum smcr_tcp_seen tcp;
    struct rdma_timer timer; /* the handshake's, then the guard of closing and aborting */

    /* --- handshake --- */
    enum smcr_stage stage;
    struct smcr_clc_reader clc; /* of the next CLC message, or the one that waits in GROUP */
    enum smcr_contact contact;
    struct smcr_conn *contact_next, **contact_prev; /* in smcr->waiting while in GROUP; else NULL */
    uint64_t clc_came_ns;                           /* when the last CLC message was complete */
    struct smcr_peer_id peer_id;                    /* of the peer, once a group is found or made */
    struct smcr_link *link_accepted;                /* that the Accept named */
    struct smcr_clc_terms terms; /* what the CLC messages agree on; `version`: of those that we send */

    /* --- both ends of the data (set by the handshake) --- */
    struct smcr_group *group; /* NULL: none yet, or in FALLBACK */
    struct smcr_rmb *rmb;     /* ours: the peer writes there */
    uint8_t rmb_index;        /* 1..255; 0: none */
    uint32_t cursor_start;    /* in both elements: smcr/cursor.h */
    uint32_t token;           /* ours: names the connection in what comes */
    struct smcr_peer_rmb *peer_rmb;
    uint8_t peer_index;
    uint32_t peer_elem_bytes;
    uint32_t peer_token;

    /* --- data: smcr/conn/ --- */
    struct smcr_conn_data *data; /* smcr/conn/data.h; from the moment that the RMBE is told to the peer */
    struct smcr_link *link;      /* that we send over; NULL: none now */
    struct smcr_conn *wait_next, **wait_prev; /* in link->waiting; wait_prev NULL: it does not wait */
    uint32_t posts;                           /* CDC messages of ours that have not ended */
    bool is_urgent_inline;
    uint64_t keepalive_ns; /* 0: off */
};

static inline void smcr_conn_effect(struct smcr_conn *conn, enum smcr_conn_effect what)
{
    smcr_effect_leave(conn->smcr, &conn->effects, what);
}

/* --- smcr/conn/conn.c --- */

/* A new one in HANDSHAKE. 0 or what smcr_conn_create() says. And frees it; for smcr/progress.c. */
int smcr_conn_make(struct smcr *smcr, const struct smcr_conn_config *config, struct smcr_conn **out);
void smcr_conn_free(struct smcr_conn *conn);
/* The application gives it back: it hears no more of it, but CLOSED where it `lingers`. */
void smcr_conn_let_go(struct smcr_conn *conn, bool lingers);
/* Adds to its events and puts it on the instance's list. And takes it off there. */
void smcr_conn_event(struct smcr_conn *conn, unsigned events);
/* Changes state and traces it. */
void smcr_conn_set_state(struct smcr_conn *conn, enum smcr_conn_state state, const char *cause,
                         uint64_t now_ns);
/* TCP ends with RST, after this step (SMCR-ABT-01); nothing for one that is reset already. */
void smcr_conn_reset_tcp(struct smcr_conn *conn);
/* The handshake, and all that the connection was for, is over. */
static inline bool smcr_conn_is_ended(const struct smcr_conn *conn)
{
    return conn->state == SMCR_CONN_FALLBACK || conn->state == SMCR_CONN_CLOSED;
}
/* It is ended, or never was open, and holds nothing any more: no post, no RMBE, no group. */
static inline bool smcr_conn_is_over(const struct smcr_conn *conn)
{
    return smcr_conn_is_ended(conn) && conn->posts == 0 && !conn->data && !conn->group;
}

/* --- called by the handshake: smcr/conn/life.c --- */

/* The RMBE and the token exist and are about to be told to the peer: data may arrive from now on and is held
 * (SMCR-SC-08). 0 or -ENOMEM. */
int smcr_conn_prepare(struct smcr_conn *conn, uint64_t now_ns);
/* The handshake is over and both ends are known: ACTIVE, on the least loaded link; what was held is taken. */
void smcr_conn_activate(struct smcr_conn *conn, uint64_t now_ns);
/* Takes the RMBE, the peer's RMBE (peer_rmb->elems), send buffer, data, token and group from it, as far as it
 * has them, without a word to the peer. Idempotent. */
void smcr_conn_detach(struct smcr_conn *conn, uint64_t now_ns);

#endif
