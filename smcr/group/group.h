/* SPDX-License-Identifier: BSD-2-Clause */
/* A link group: all equal links to one peer, the memory on them, and the connections. SMCR sections 2, 11,
 * 17, 18. */
#ifndef NORNIC_SMCR_GROUP_H
#define NORNIC_SMCR_GROUP_H

#include "smcr/wire/clc2.h"
#include "smcr/effects.h"
#include "smcr/instance.h"
#include "smcr/group/link.h"
#include "smcr/llc/llc.h"
#include "smcr/group/rmb.h"

/* clang-format off */
#define SMCR_REDUNDANCIES(R) R(NONE) R(SINGLE) R(ASYMMETRIC_LOCAL) R(ASYMMETRIC_PEER) R(SYMMETRIC)
/* clang-format on */
/* SMCR-ALK-11. NONE: no link is active yet, or any more. */
enum smcr_redundancy {
#define SMCR_REDUNDANCY_ENUM_(name) SMCR_##name,
    SMCR_REDUNDANCIES(SMCR_REDUNDANCY_ENUM_)
#undef SMCR_REDUNDANCY_ENUM_
};
const char *smcr_redundancy_name(enum smcr_redundancy redundancy);

#define SMCR_GONE_LINKS 8

enum smcr_group_state {
    SMCR_GROUP_FIRST_CONTACT, /* no connection but the first may use it (SMCR-FC-21) */
    SMCR_GROUP_USABLE,
    SMCR_GROUP_ENDING, /* takes no new connection */
};

/* How a first contact has ended. */
enum smcr_contact_end {
    SMCR_CONTACT_OK,      /* the socket opens: SMCR-FC-19 */
    SMCR_CONTACT_DECLINE, /* a Decline is still allowed (SMCR-FBK-01): fall back */
    SMCR_CONTACT_RESET,   /* RST */
};

struct smcr_group {
    struct smcr *smcr;
    struct smcr_effects effects;
    struct smcr_group *next;
    uint32_t id;
    enum smcr_role role;
    enum smcr_group_state state;
    struct smcr_peer_id peer_id;
    struct {
        struct nornic_addr peer, own;
    } tcp; /* addresses of the TCP connection of the first contact */
    uint16_t vlan_id;
    char pnetid[17];
    uint8_t version;             /* of CLC and LLC: 1 or 2 */
    uint8_t release;             /* of version 2: 1 is v2.1 */
    uint8_t eid[SMCR_EID_BYTES]; /* of version 2: that both know */
    struct nornic_addr
        client_gid; /* S, version 2: of its first contact; who sends no Peer ID is known by it */
    /* S, version 2: all RNICs of the client's, as its Confirm lists them; none: they are not known. */
    struct nornic_addr client_gids[SMCR_CLC2_MAX_GIDS];
    unsigned num_client_gids;
    uint32_t max_conns; /* of version 2; version 1 has no such limit */
    uint8_t max_links;  /* negotiated by the first CONFIRM LINK (SMCR-ARC-15), in version 2 by CLC */
    uint8_t last_link_number;
    struct smcr_link links[SMCR_LINK_SLOTS];    /* state FREE: the slot is free */
    struct smcr_link_end gone[SMCR_GONE_LINKS]; /* the peer's ends of the last links that were deleted */
    unsigned num_gone;

    struct smcr_rmb *rmbs;
    unsigned num_rmbs;
    struct smcr_peer_rmb *peer_rmbs;
    unsigned num_peer_rmbs;
    struct smcr_send_buf *send_bufs, *free_send_bufs; /* all, and those not in use */
    unsigned num_free_send_bufs;
    struct rdma_timer rmb_timer; /* the next of our RMBs has been idle long enough: SMCR-RKY-07 */

    /* Connections by index of their alert token (smcr/token.c), of all states. */
    struct smcr_token_table *tokens;
    struct smcr_conn *conns; /* conn->group_next */
    uint32_t num_conns;
    struct smcr_conn *first; /* the connection whose first contact runs */
    bool past_fallback;      /* that first contact can no longer end in TCP (SMCR-FBK-01, rows 11 and 12) */

    struct smcr_llc llc; /* exchanges, queues and timers: smcr/llc/llc.h */
    struct {
        enum smcr_contact_end how;
        uint32_t diagnosis;
        const char *cause;
    } contact; /* of the first contact that has ended, for SMCR_GROUP_CONTACT */
    struct {
        bool tells; /* the peer is to be told */
        uint32_t reason;
        const char *cause;
    } ending; /* for SMCR_GROUP_END */
    struct rdma_timer idle_timer, repair_timer;
    uint64_t repair_ns;                   /* the present interval of the repair timer */
    const struct smcr_port *failed_offer; /* S: a link on it was refused or failed last; only compared */
    enum smcr_redundancy redundancy_traced;
};

/* Timers that a group may have armed at a time: its own, those of llc.h, two a link. */
#define SMCR_GROUP_TIMERS (8 + 2 * SMCR_LINK_SLOTS)

/* A new group in FIRST_CONTACT without links. NULL: no memory, or max_groups. */
struct smcr_group *smcr_group_create(struct smcr *smcr, enum smcr_role role,
                                     const struct smcr_peer_id *peer_id, uint16_t vlan_id,
                                     const char *pnetid);
/* Frees all that is its: it has no connection, its links are FREE, no exchange runs. For
 * smcr/progress.c. */
void smcr_group_free(struct smcr_group *group, uint64_t now_ns);
static inline void smcr_group_effect(struct smcr_group *group, enum smcr_group_effect what)
{
    smcr_effect_leave(group->smcr, &group->effects, what);
}

/* Finds the link that an Accept names on the TCP connection of `conn` (SMCR-FC-05): the active link with the
 * end `peer`, in a group of smcr_group_is_to(). NULL: none. */
struct smcr_link *smcr_link_find(const struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                                 const struct smcr_link_end *peer);

/* Whether such a link was deleted not long ago: a late message may still name it; that is not a protocol
 * error. And the usable group that had it; NULL: none. */
bool smcr_group_had_link(const struct smcr_group *group, const struct smcr_link_end *peer);
struct smcr_group *smcr_group_find_gone(const struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                                        const struct smcr_link_end *peer);
/* Whether the TCP connection of `conn` comes from the host of the group's peer: from the address of the
 * first contact, or from the GID of an active link. CLC messages name their sender without a proof. So
 * messages from other addresses neither join nor end the group (SMCR-FC-01, SMCR-FC-05, SMCR-SC-06). */
bool smcr_group_is_with(const struct smcr_group *group, const struct smcr_conn *conn);
/* Returns whether a client's group of the server `peer_id` is with the host of `conn`, in its VLAN. */
bool smcr_group_is_to(const struct smcr_group *group, const struct smcr_conn *conn,
                      const struct smcr_peer_id *peer_id);
/* Returns whether a client knows the server's group by the server's address `own`, and so takes an Accept for
 * the group from there: the address of the first contact, or the GID of an active link. */
bool smcr_group_is_at(const struct smcr_group *group, const struct nornic_addr *own);
/* An active link instead of the one that has gone, with the key of the peer's RMB at `va` there
 * (SMCR-SC-11). NULL: no link, or no RMB that is known by that address alone. */
struct smcr_link *smcr_group_replacement_link(struct smcr_group *group, uint64_t va, uint32_t *rkey);

/* The active link that fewest of our connections send over, other than `not_this` (may be NULL); NULL: none
 * (SMCR-ARC-26, FOV-17). */
struct smcr_link *smcr_group_pick_link(struct smcr_group *group, const struct smcr_link *not_this);
/* SMCR-ARC-19; 0: all 255 are in use. */
uint8_t smcr_group_next_link_number(struct smcr_group *group);
enum smcr_redundancy smcr_group_redundancy(const struct smcr_group *group);

/* A connection enters and leaves: the idle timer of the server's group, SMCR-LGT-01. */
void smcr_group_add_conn(struct smcr_group *group, struct smcr_conn *conn);
void smcr_group_remove_conn(struct smcr_group *group, struct smcr_conn *conn, uint64_t now_ns);

/* Returns the link by its number; NULL: none. */
struct smcr_link *smcr_group_link(struct smcr_group *group, uint8_t number);
/* Returns the link that carries LLC messages: an active link, or else a link in deletion, and never
 * `not_this` (may be NULL). NULL: none. */
struct smcr_link *smcr_group_talking_link(struct smcr_group *group, const struct smcr_link *not_this);

/* --- smcr/group/ports.c: which RNICs a new link may join --- */

/* Links that exist at both ends, or will: a new one must differ from them (SMCR-ARC-12). */
static inline bool smcr_link_counts(const struct smcr_link *link)
{
    return link->state == SMCR_LINK_CONFIRMING || link->state == SMCR_LINK_ACTIVE;
}
/* Returns whether a link between these RNICs may be added beside the other links, but for `not_this`
 * (SMCR-ARC-12, ARC-16, ALK-02, FC-14). */
bool smcr_group_pair_is_allowed(const struct smcr_group *group, const struct smcr_link_end *local,
                                const struct smcr_link_end *peer, const struct smcr_link *not_this);
/* Counts the symmetric links of the group: SMCR-ARC-16, ARC-17. */
unsigned smcr_group_symmetric_links(const struct smcr_group *group);
/* Whether the port is of the group's LAN and VLAN, and up. */
bool smcr_group_may_use(const struct smcr_group *group, const struct smcr_port *port);
/* Server: the port of ours for one more link; NULL: none is of use. */
struct smcr_port *smcr_group_port_to_offer(const struct smcr_group *group);
/* Client: the port of ours that answers a link from that RNIC of the server's; NULL: none (SMCR-FC-14). */
struct smcr_port *smcr_group_port_to_answer(const struct smcr_group *group, const struct smcr_link_end *peer);
/* A port of ours that no link is on and that one could use; NULL: none. */
struct smcr_port *smcr_group_unused_port(const struct smcr_group *group);
/* The active link that a symmetric one has made superfluous (SMCR-ARC-13); NULL: none. */
struct smcr_link *smcr_group_superfluous_link(struct smcr_group *group);

/* Redundancy may have changed: traces it, and plans or ends the server's repair (SMCR-REC-30). */
void smcr_group_links_changed(struct smcr_group *group, uint64_t now_ns);

/* Ends it with all its connections, after this step: each is reset (SMCR-FOV-16, LGT-03, SC-06). It is
 * ENDING at once. Tells the peer by DELETE LINK (all) where `tell` and a link works. The group is freed
 * when its last connection is. `cause`: static. */
void smcr_group_end(struct smcr_group *group, bool tell, const char *cause, uint64_t now_ns);
/* The same for a reason that the peer is told: enum smcr_delete_link_reason. */
void smcr_group_end_for(struct smcr_group *group, uint32_t reason, const char *cause, uint64_t now_ns);
/* Server: a link is to be added if there is a port for it and room (SMCR-ALK-01); client: the server is
 * to be asked for one (ALK-03). After whatever runs. */
void smcr_group_want_link(struct smcr_group *group);

/* A port came, or came up: redundancy is repaired at once. */
void smcr_group_port_up(struct smcr_group *group, const struct smcr_port *port, uint64_t now_ns);

/* The alert token of a connection of the group: index and generation (SMCR-CLC-37), never 0. 0: no memory.
 * And back: NULL for a stale or unknown one (SMCR-CDC-06). */
uint32_t smcr_token_get(struct smcr_group *group, struct smcr_conn *conn);
void smcr_token_put(struct smcr_group *group, uint32_t token);
struct smcr_conn *smcr_token_find(const struct smcr_group *group, uint32_t token);
void smcr_token_deinit(struct smcr_group *group);

#endif
