/* SPDX-License-Identifier: BSD-2-Clause */
/* One instance against a peer that the test plays, past a first contact with one or two links; for the LLC
 * flows of SMCR sections 10 to 12. */
#ifndef NORNIC_TEST_SMCR_PLAYED_H
#define NORNIC_TEST_SMCR_PLAYED_H

#include "smcr/conn/conn.h"
#include "test/smcr_pair/peer.h"

#define PLAYED_SOON (20 * PAIR_MS) /* an answer comes within */

struct played {
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn;
    unsigned me; /* the instance's node */
};

/* The instance's role; `links` 1 or 2 as agreed in the first contact. `config` may be NULL: one port a link
 * on one network. Ports: each end `ports`, 0 means `links`. */
void played_begin(struct played *t, enum smcr_role role, unsigned links);
void played_begin_with(struct played *t, enum smcr_role role, unsigned links, struct pair_config config);
/* Only the CLC part of a first contact. */
void played_begin_clc(struct played *t, enum smcr_role role, struct pair_config config);
/* Everything is given back, and nothing is left. */
void played_end(struct played *t);

/* The instance's group, the only one; NULL: none any more. And its link; NULL. */
struct smcr_group *played_group(const struct played *t);
struct smcr_link *played_link(const struct played *t, uint8_t number);
enum smcr_link_state played_state(const struct played *t, uint8_t number); /* FREE if it is not there */
const struct smcr_counters *played_counters(const struct played *t);

/* The peer sends 44 bytes over its link 0.., and all that follows at once happens. */
void played_send(struct played *t, unsigned link, const uint8_t *message);
/* The peer's link 0.. gets a queue pair on its port, in place of the one that it had. */
void played_make_link(struct played *t, unsigned link, unsigned port);
/* It learns the instance's end from that ADD LINK, request or response, and its queue pair is ready. */
void played_join_link(struct played *t, unsigned link, const uint8_t *add_link);
/* Such a message comes from the instance soon; must. `out`: SMCR_MSG_BYTES, may be NULL. */
void played_expect(struct played *t, unsigned link, uint8_t type, bool response, uint8_t *out);
/* It does not within `ns`. */
void played_expect_none(struct played *t, unsigned link, uint8_t type, bool response, uint64_t ns);

/* Messages of the peer. */
void played_test_link(uint8_t *out, uint8_t fill);
void played_delete_link(uint8_t *out, uint8_t number, uint32_t reason, uint8_t flags); /* flags: byte 3 */
void played_confirm_rkey(uint8_t *out, uint32_t rkey, uint64_t va, uint8_t others);
void played_delete_rkey(uint8_t *out, unsigned count, const uint32_t *rkeys);

/* The server (peer) deletes a link of the instance, or the client answers the instance's request. */
void played_answer_delete(struct played *t, unsigned via, uint8_t number);
/* Over its link 0 the peer (server) tells the first two of three RTokens of its link `link`, and gets an
 * answer: it owes one CONTINUATION more. */
void played_owe_tokens(struct played *t, unsigned link);
/* The R_Key of the peer's RMB on its link. */
uint32_t played_rkey(const struct played *t, unsigned link);

/* Another connection of the instance, with such a receive buffer, up to the point where it needs an answer:
 * the instance's end (as server: a Proposal has come). */
struct pair_end *played_open(struct played *t, uint32_t rcvbuf_bytes);
/* The instance's status of its first connection. */
struct smcr_conn_status played_status(const struct played *t);

#endif
