/* SPDX-License-Identifier: BSD-2-Clause */
/* A link: one RC queue pair to the peer, its protection domain, the receives for messages, and the posts that
 * have not ended. SMCR sections 2, 9 and 17. */
#ifndef NORNIC_SMCR_LINK_H
#define NORNIC_SMCR_LINK_H

#include "smcr/effects.h"
#include "smcr/instance.h"
#include "smcr/wire/llc2.h"

struct smcr_group;

/* clang-format off */
#define SMCR_LINK_STATES(S) S(FREE) S(ALLOCATED) S(CONFIRMING) S(ACTIVE) S(DELETING) S(DOWN)
/* clang-format on */
/* SMCR-ALK-11. ALLOCATED: the QP is there and its values were told to the peer, or will be. CONFIRMING: may
 * receive and carries its CONFIRM LINK. ACTIVE: data may go. DELETING: no new data, waits for the exchange.
 * DOWN: its QP is in error and all posts have ended; its resources wait for the DELETE LINK exchange. */
enum smcr_link_state {
#define SMCR_LINK_STATE_ENUM_(name) SMCR_LINK_##name,
    SMCR_LINK_STATES(SMCR_LINK_STATE_ENUM_)
#undef SMCR_LINK_STATE_ENUM_
};
const char *smcr_link_state_name(enum smcr_link_state state);

/* What CLC and ADD LINK tell of one end of a link: SMCR-QP-01. */
struct smcr_link_end {
    struct nornic_mac mac;
    struct nornic_addr gid;
    uint32_t qpn;
    uint32_t psn; /* the first that this end sends */
    uint8_t mtu;  /* enum nornic_mtu */
};

#define SMCR_LINK_SENDS  256 /* posts of a link at a time, RDMA writes included */
#define SMCR_LLC_SENDS   32  /* of them, those that data leaves to LLC messages */
#define SMCR_LINK_RECVS  512 /* messages that may wait for us (SMCR-ENG-03) */
#define SMCR_LINK_HELD   64  /* CDCs that may be held back: smcr_hold() */
#define SMCR_LINK_WRITES 3   /* RDMA writes of one post, in front of its message */
#define SMCR_RECV_BYTES  64  /* of each: a longer message than there may be is seen, and not an error of RC */

/* What a signalled post was: whom its completion concerns, and what follows from its arrival. */
enum smcr_post_kind {
    SMCR_POST_CDC,         /* of `conn`, with the sequence number `value` */
    SMCR_POST_LLC,         /* nothing follows but what its serial number `value` says: smcr/llc/exchange.c */
    SMCR_POST_ADD_LINK,    /* ADD LINK of the running exchange, or our response */
    SMCR_POST_CONFIRM_RSP, /* our response to CONFIRM LINK */
    SMCR_POST_DELETE_RSP,  /* to DELETE LINK */
    SMCR_POST_DELETE_ALL,  /* DELETE LINK (all) */
};
struct smcr_post {
    enum smcr_post_kind kind;
    struct smcr_conn *conn;
    uint32_t value;
    uint32_t writes; /* RDMA writes posted before it since the last signalled post */
};

/* How far the end of a link has come. */
enum smcr_link_end_step {
    SMCR_LINK_STAYS,
    SMCR_LINK_DRAINS,  /* its connections leave it first (SMCR-FOV-15) */
    SMCR_LINK_DUE,     /* S: DELETE LINK is to be sent when nothing else runs */
    SMCR_LINK_TOLD,    /* S: DELETE LINK is out; C: its request to the server is */
    SMCR_LINK_ANSWERS, /* C: the response is out; the link is freed when that has arrived */
    SMCR_LINK_GONE,    /* freed with the next SMCR_GROUP_ADVANCE */
};

struct smcr_link {
    struct smcr_group *group;
    struct smcr_effects effects;
    struct smcr_port *port;
    struct smcr_link *next_on_port;
    uint32_t port_index; /* in port->table */
    unsigned slot;       /* which column of the RToken tables is its */
    uint8_t number;      /* SMCR-ARC-19 */
    enum smcr_link_state state;
    const char *down_cause; /* why it failed, for SMCR_LINK_LOST */
    struct rdma_pd *pd;     /* its own: SMCR-ARC-24 */
    struct roce_qp *qp;
    struct smcr_link_end local, peer;
    uint32_t write_max_bytes; /* of new data in one RDMA write; 0: any, unless the MTU shrank under it */
    uint32_t user_id, peer_user_id;

    /* SMCR_LINK_RECVS buffers of SMCR_RECV_BYTES. In a group of version 2 behind them SMCR_LLC2_MAX_BYTES for
     * the rest of a long message that comes, whichever buffer it began in, and as many for one that leaves:
     * there is one at a time, since each waits for an answer. */
    uint8_t *recv_bytes;
    struct rdma_mr *recv_mr;
    /* Signalled posts that have not ended, oldest first: posts[(first + i) % SMCR_LINK_SENDS]. */
    struct smcr_post posts[SMCR_LINK_SENDS];
    uint32_t first_post, num_posts;
    uint32_t sends_left;     /* room in the send queue, in work requests */
    uint32_t pending_writes; /* since the last signalled post */
    /* The newest of `posts` that the queue pair has not been given yet: smcr_hold(). */
    uint8_t held[SMCR_LINK_HELD][SMCR_MSG_BYTES];
    uint32_t num_held;

    uint32_t conns; /* that send over it */
    /* Those that found the send queue full, or wait for completions to send on: conn->wait_next. */
    struct smcr_conn *waiting_head, **waiting_tail;
    uint64_t last_heard_ns; /* a completion, or a message (SMCR-KAL-02) */
    struct rdma_timer test_timer;
    uint8_t test_data[16];
    bool is_tested; /* a TEST LINK is out */

    /* Deleting: smcr/llc/delete.c. */
    enum smcr_link_end_step delete_step;
    uint32_t delete_reason;
    bool is_delete_orderly;
    struct smcr_link *delete_via; /* C: its request went over this; the response goes over this */
    struct rdma_timer delete_timer;
};

/* Makes a link in a free slot of the group: PD, QP in INIT, receives posted, every RMB of the group and every
 * send buffer registered on it; `local` filled, with an unpredictable PSN (SMCR-QP-04). 0 or -errno; then
 * nothing is left. */
int smcr_link_create(struct smcr_group *group, struct smcr_port *port, uint8_t number,
                     struct smcr_link **out);
/* Takes the QP to RTR (client: SMCR-FC-07), or on to RTS, with what the peer told. 0 or -errno. */
int smcr_link_receive(struct smcr_link *link, const struct smcr_link_end *peer, uint64_t now_ns);
int smcr_link_send_ready(struct smcr_link *link, uint64_t now_ns);
/* Takes the QP to ERR: DOWN; no byte of ours leaves on it any more (SMCR-FOV-04). The posts that had not
 * ended are still listed: smcr/progress.c reports them. `cause`: static words. */
void smcr_link_take_down(struct smcr_link *link, const char *cause, uint64_t now_ns);
/* The link is down (SMCR-FOV-01), whoever noticed: takes it down, and leaves SMCR_LINK_LOST. Nothing for one
 * that is DOWN already. `cause`: static words. */
void smcr_link_fail(struct smcr_link *link, const char *cause, uint64_t now_ns);
/* Frees what a link that is DOWN has of its port, which may go away; the slot and the number stay until the
 * peer was told. And frees the slot. For smcr/progress.c. */
void smcr_link_unplug(struct smcr_link *link);
void smcr_link_free(struct smcr_link *link, uint64_t now_ns);
void smcr_link_effect(struct smcr_link *link, enum smcr_link_effect what);

/* Posts one message as an RC SEND, signalled; inline, but for a long one of version 2. `writes` RDMA writes
 * posted since count as part of it. 0, or -EAGAIN: the send queue has no room; -ENOTCONN: the link does not
 * send. The outcome comes as smcr_llc_sent() or smcr_tx_completed(). */
int smcr_link_post_message(struct smcr_link *link, const uint8_t *message, size_t len_bytes,
                           struct smcr_post what);
/* Posts the CDCs that were held back: smcr_release(). */
void smcr_link_post_held(struct smcr_link *link);
/* The most that one RDMA write of new data should have. */
uint32_t smcr_link_write_most(const struct smcr_link *link);
/* `len_bytes` at `local`, which `lkey` covers on this link, to the peer's memory. `spare_bytes` behind them
 * there may be overwritten as well: they are the sender's, and their turn comes later. */
struct smcr_write {
    const uint8_t *local;
    uint32_t lkey, rkey;
    uint64_t remote_va;
    uint32_t len_bytes, spare_bytes;
};
/* Posts it as an RDMA write, or as several of one packet each, unsignalled. As above; it must be followed by
 * a message. A caller that needs it several times, at most SMCR_LINK_WRITES, checks smcr_link_room() first,
 * as if each were one work request. */
int smcr_link_post_write(struct smcr_link *link, const struct smcr_write *write);
static inline uint32_t smcr_link_room(const struct smcr_link *link)
{
    return link->sends_left > SMCR_LLC_SENDS ? link->sends_left - SMCR_LLC_SENDS : 0;
}
/* Of its packets: the smaller one of what its ends said (SMCR-QP-02). */
static inline enum nornic_mtu smcr_link_mtu(const struct smcr_link *link)
{
    uint8_t peer = link->peer.mtu, own = link->local.mtu;
    return (enum nornic_mtu)(peer && peer < own ? peer : own);
}
/* It carries messages both ways. */
static inline bool smcr_link_talks(const struct smcr_link *link)
{
    return link->state == SMCR_LINK_CONFIRMING || link->state == SMCR_LINK_ACTIVE ||
           link->state == SMCR_LINK_DELETING;
}

/* Changes state and traces it. `cause`: static words. */
void smcr_link_set_state(struct smcr_link *link, enum smcr_link_state state, const char *cause,
                         uint64_t now_ns);
/* Whether both name the same RNIC: SMCR-ARC-11. By its MAC, since an RNIC has several GIDs, of IPv4 and of
 * IPv6, and a group is on one VLAN: two links over two GIDs of one RNIC would fail together. */
static inline bool smcr_rnic_equal(const struct smcr_link_end *a, const struct smcr_link_end *b)
{
    return nornic_mac_equal(&a->mac, &b->mac);
}
/* Whether a packet can go from one GID to the other: both are IPv4's, or both IPv6's. */
static inline bool smcr_gids_fit(const struct nornic_addr *a, const struct nornic_addr *b)
{
    return nornic_addr_is_v4(a) == nornic_addr_is_v4(b);
}
/* Whether both name the same end of a link, as CLC messages name it: SMCR-FC-05. */
static inline bool smcr_link_end_equal(const struct smcr_link_end *a, const struct smcr_link_end *b)
{
    return a->qpn == b->qpn && smcr_rnic_equal(a, b) && nornic_addr_equal(&a->gid, &b->gid);
}

/* It has a last post less, or a connection less: it may be drained. */
static inline void smcr_link_has_less(struct smcr_link *link)
{
    if (link->delete_step == SMCR_LINK_DRAINS && link->conns == 0 && link->num_posts == 0)
        smcr_link_effect(link, SMCR_LINK_EMPTY);
}
/* Copies out the `len_bytes` that came into receive buffer `index`, at most SMCR_LLC2_MAX_BYTES. Returns how
 * many there were room for. */
size_t smcr_link_take_received(const struct smcr_link *link, unsigned index, size_t len_bytes, uint8_t *out);
/* Posts the receive buffer `index`. 0 or -errno. */
int smcr_link_post_recv(struct smcr_link *link, unsigned index);
/* The oldest post that has not ended did so: false: there is none. */
bool smcr_link_post_ended(struct smcr_link *link, struct smcr_post *out);

/* --- smcr/group/port_cq.c --- */

/* A place in the port's table, and room in its CQ. 0 or -ENOMEM. */
int smcr_port_join(struct smcr_port *port, struct smcr_link *link);
void smcr_port_leave(struct smcr_link *link);
/* wr_id of a post or of receive buffer `value`. */
enum smcr_wr_kind { SMCR_WR_RECV, SMCR_WR_MESSAGE, SMCR_WR_WRITE };
static inline uint64_t smcr_wr_id(const struct smcr_link *link, enum smcr_wr_kind kind, unsigned value)
{
    return (uint64_t)link->port_index << 32 | (uint64_t)kind << 16 | value;
}
static inline enum smcr_wr_kind smcr_wr_kind_of(const struct nornic_wc *wc)
{
    return (enum smcr_wr_kind)(wc->wr_id >> 16 & 0xffff);
}
/* The receive buffer that `wc` filled. */
static inline unsigned smcr_wr_recv_index(const struct nornic_wc *wc)
{
    return (unsigned)(wc->wr_id & 0xffff);
}
/* What `wc` is about, if that still exists: NULL if not. QPNs are not reused soon, so a late completion of a
 * link that was freed finds another one, or none, at its place. */
struct smcr_link *smcr_port_link_of(const struct smcr_port *port, const struct nornic_wc *wc);
/* The next completion: those that were set aside are older than what is in the CQ. 1, 0, or -errno as
 * rdma_cq_poll(). */
int smcr_port_next_wc(struct smcr_port *port, struct nornic_wc *wc);
/* Moves all of the CQ to the inbox, which is as large. */
void smcr_port_set_aside(struct smcr_port *port);
/* Takes the ends of the link's posts out of the inbox. Returns how many messages of its were delivered: these
 * are the oldest. */
unsigned smcr_port_drop_posts(struct smcr_link *link);
/* Takes the next message of the link out of the inbox; false: there is none. */
bool smcr_port_take_message(struct smcr_link *link, struct nornic_wc *wc);

#endif
