/* SPDX-License-Identifier: BSD-2-Clause */
/* One connection of an instance whose peer the test plays: CLC messages in and out, and how it ended. */
#ifndef NORNIC_TEST_SMCR_HS_H
#define NORNIC_TEST_SMCR_HS_H

#include "test/smcr_pair/peer.h"

struct hs {
    struct pair *pair;
    struct peer peer;
    struct peer_conn conn; /* the peer's end: conn.end */
    uint8_t m[SMCR_CLC_MAX_BYTES];
    size_t len_bytes; /* of the last message that hs_wait() returned, or that was made, in `m` */
};

#define HS_INSTANCE 0 /* the node */
#define HS_PEER     1

/* An instance, and the peer that plays `role`. `config` (may be NULL) is copied. */
void hs_begin(struct hs *h, enum smcr_role role, const struct pair_config *config);
/* Ends everything; the test fails if anything leaked or went wrong. */
void hs_end(struct hs *h);

/* A new connection: `conn` begins anew. The former one is left as it is. */
void hs_open(struct hs *h);
/* The instance's end of it, and what it says of itself. */
struct smcr_conn *hs_conn(const struct hs *h);
struct smcr_conn_status hs_status(const struct hs *h);

void hs_send(struct hs *h, const uint8_t *bytes, size_t len_bytes);
/* The next CLC message of the instance: its type; 0: none came within `max_ns`. */
uint8_t hs_wait(struct hs *h, uint64_t max_ns);
/* Lets whatever is on its way arrive. */
void hs_pass(struct hs *h);

/* CLC up to the message that the peer sends next, which lies in `m`, not sent: Proposal, Accept or Confirm. A
 * first contact makes link 0; a further one uses it. */
void hs_to_proposal(struct hs *h);
void hs_to_accept(struct hs *h, bool first_contact);
void hs_to_confirm(struct hs *h, bool first_contact);
/* Whichever of these three, an enum smcr_clc_type, of a first contact. */
void hs_to(struct hs *h, uint8_t type);
/* The whole first contact with `links` links. */
void hs_contact(struct hs *h, unsigned links);

/* How it ended. Each fails the test when it is otherwise. */

/* The instance sent a Decline with this code and S, and uses TCP. */
void hs_expect_decline(struct hs *h, uint32_t diagnosis);
/* It uses TCP; bytes go both ways, from the first to the last, and no CLC byte among them. */
void hs_expect_tcp(struct hs *h);
/* RST, without a Decline before it. */
void hs_expect_reset(struct hs *h, int error);
void hs_expect_smc(struct hs *h);

const struct smcr_counters *hs_counters(const struct hs *h);
/* Groups that are not about to be freed. */
unsigned hs_groups(const struct hs *h);
/* Whether it acknowledges what the peer sends on link 0: its QP is alive. */
bool hs_link_0_lives(struct hs *h);

#endif
