/* SPDX-License-Identifier: BSD-2-Clause */
/* Steps that the files of the handshake share. Each step that ends a handshake leaves the connection in
 * FALLBACK or CLOSED; the caller then returns. A connection in its handshake is never freed by them: the
 * application still has it. */
#ifndef NORNIC_SMCR_HANDSHAKE_FLOW_H
#define NORNIC_SMCR_HANDSHAKE_FLOW_H

#include "smcr/handshake/handshake.h"

#define SMCR_NO_ROOM "no room for one more connection over SMC-R"

/* --- smcr/handshake/stage.c --- */

/* Enters a stage; its timer runs `wait_ns`, 0: not at all. */
void smcr_handshake_await(struct smcr_conn *conn, enum smcr_stage stage, uint64_t wait_ns, uint64_t now_ns);
/* Enters a stage in which we owe the peer a message and wait for a link group or an RMB: until well before
 * the peer's timer for it ends. */
void smcr_handshake_hold(struct smcr_conn *conn, enum smcr_stage stage);
/* It does not wait for a first contact any more. Idempotent. */
void smcr_handshake_stop_waiting(struct smcr_conn *conn);

/* --- smcr/handshake/outcome.c --- */

/* Sends a CLC message. False: the TCP connection is broken, the connection is reset. */
bool smcr_handshake_tell(struct smcr_conn *conn, const uint8_t *message, size_t len_bytes, uint64_t now_ns);
/* Sends a Decline and falls back to TCP; OUT_OF_SYNC sets S (SMCR-CLC-43). `reason`: static. */
void smcr_handshake_decline(struct smcr_conn *conn, uint32_t diagnosis, const char *reason, uint64_t now_ns);
/* TCP from now on. A first contact of its own is torn down (SMCR-FBK-03). */
void smcr_handshake_fall_back(struct smcr_conn *conn, uint32_t diagnosis, bool by_peer, const char *reason,
                              uint64_t now_ns);
/* RST. A first contact of its own is torn down. `error`: negative errno. */
void smcr_handshake_reset(struct smcr_conn *conn, int error, const char *cause, uint64_t now_ns);
/* What came is no CLC message, or not one that may come here: SMCR-CLC-06, CLC-08. */
void smcr_handshake_broken(struct smcr_conn *conn, const char *cause, uint64_t now_ns);
/* Data from now on. */
void smcr_handshake_succeed(struct smcr_conn *conn, uint64_t now_ns);

/* --- smcr/handshake/ports.c --- */

/* The port that the client proposes, or of a first contact with the server's GID in hand (else NULL); NULL:
 * none. */
struct smcr_port *smcr_handshake_client_port(const struct smcr_conn *conn,
                                             const struct nornic_addr *server_gid);
/* The port that the server accepts a first contact on (SMCR-FC-02, FC-03); NULL: none. */
struct smcr_port *smcr_handshake_server_port(const struct smcr_conn *conn,
                                             const struct smcr_clc_proposal *proposal);
/* Whether the connection has any port that could be used, whatever the client proposes. */
bool smcr_handshake_has_port(const struct smcr_conn *conn);
/* Whether the port reaches that GID without a gateway: it is in one of its networks. */
bool smcr_handshake_is_direct(const struct smcr_port *port, const struct nornic_addr *gid);
/* The GIDs of ours that links of the connection's group may use, of the family of `port`, which is the first.
 * Returns how many, at most `max`. */
unsigned smcr_handshake_gids(const struct smcr_conn *conn, const struct smcr_port *port,
                             struct nornic_addr *out, unsigned max);

/* --- smcr/handshake/terms.c: what version 2 settles --- */

/* What we offer in a Proposal: nothing without an EID. */
void smcr_terms_offer(const struct smcr_conn *conn, const struct smcr_port *port,
                      struct smcr_clc_proposal *proposal);
/* Server: what we answer to an offer, in conn->terms. False: no EID is common to both. */
bool smcr_terms_answer(struct smcr_conn *conn, const struct smcr_clc_offer2 *offer);
/* Client: takes what the server answered, into conn->terms. 0, or the diagnosis of our Decline. */
uint32_t smcr_terms_take(struct smcr_conn *conn, const struct smcr_clc_accept *accept);
/* Server: whether a Confirm repeats what we answered. 0, or the diagnosis of our Decline. */
uint32_t smcr_terms_check(const struct smcr_conn *conn, const struct smcr_clc_accept *confirm);

/* --- smcr/handshake/rmbe.c: the two ends of the data --- */

/* A new group with its first link on `port`, and the connection as its first. 0 or -errno: nothing is
 * left. */
int smcr_handshake_new_group(struct smcr_conn *conn, const struct smcr_peer_id *peer_id,
                             struct smcr_port *port, uint64_t now_ns);
/* Joins the group: token and RMBE. As smcr_rmb_get_elem(); at an error it has left the group. */
int smcr_handshake_join(struct smcr_conn *conn, struct smcr_group *group, uint64_t now_ns);
/* Fills in our end, as the peer is told of it over `link`. 0 or -ENOMEM. */
int smcr_handshake_own_end(struct smcr_conn *conn, const struct smcr_link *link, struct smcr_clc_accept *out,
                           uint64_t now_ns);
/* Takes the peer's end. False: its RMB is not known (or, with `may_add`, cannot be). A connection that
 * wrote to that RMBE before is over: SMCR-RMB-20. */
bool smcr_handshake_peer_end(struct smcr_conn *conn, const struct smcr_link *link,
                             const struct smcr_clc_accept *peer, bool may_add, uint64_t now_ns);

/* --- smcr/handshake/server.c, smcr/handshake/client.c --- */

/* The message in conn->clc; again when what GROUP waited for is over. */
void smcr_server_proposal(struct smcr_conn *conn, uint64_t now_ns);
void smcr_server_confirm(struct smcr_conn *conn, uint64_t now_ns);
void smcr_server_accept(struct smcr_conn *conn, uint64_t now_ns); /* sends it: the RMB is ready */
void smcr_client_propose(struct smcr_conn *conn, uint64_t now_ns);
void smcr_client_accept(struct smcr_conn *conn, uint64_t now_ns);
void smcr_client_confirm(struct smcr_conn *conn, uint64_t now_ns); /* sends it: the RMB is ready */

#endif
