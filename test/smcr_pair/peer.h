/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer played by hand against one instance: it knows how to be honest step by step, so that a test says
 * only where it lies. Its node is a scripted one. */
#ifndef NORNIC_TEST_SMCR_PAIR_PEER_H
#define NORNIC_TEST_SMCR_PAIR_PEER_H

#include "smcr/wire/cdc.h"
#include "smcr/clc_wire.h"
#include "smcr/cursor.h"
#include "smcr/wire/llc.h"
#include "test/smcr_pair/raw.h"

#define PEER_ELEMS      8
#define PEER_ELEM_BYTES 16384u
#define PEER_LINKS      3
#define PEER_WAIT_NS    (8 * PAIR_S)

/* What it keeps of one link: its own end and what the instance told. */
struct peer_link {
    struct raw_link *raw;
    struct smcr_link_end theirs;
    uint8_t number;
    uint32_t rkey; /* of the instance's first RMB on this link */
    uint64_t va;
};

struct peer {
    struct pair *pair;
    unsigned node;
    enum smcr_role role;
    uint8_t peer_id[SMCR_PEER_ID_BYTES];
    uint8_t *rmb;
    struct peer_link link[PEER_LINKS];
    unsigned num_links;
    unsigned conns; /* made so far: gives the next element and token */
};

/* One connection: the instance's end is pair_other(end). */
struct peer_conn {
    struct peer *peer;
    struct pair_end *end; /* ours, scripted */
    uint8_t index;        /* of our element */
    uint32_t token;       /* ours */
    struct smcr_accept theirs;
    uint16_t seq;
    struct smcr_cursor producer; /* in their element */
    struct smcr_cursor consumer; /* in ours */
};

/* Node `node` of `pair` is scripted and plays `role`. */
void peer_init(struct peer *peer, struct pair *pair, unsigned node, enum smcr_role role);
void peer_deinit(struct peer *peer);

/* --- CLC, as it should be; each returns the length --- */

size_t peer_proposal(const struct peer *peer, uint8_t *out);
/* Accept or Confirm (`type`) that names link `link` and the element of `conn`. */
size_t peer_accept(const struct peer_conn *conn, enum smcr_clc_type type, bool first_contact, unsigned link,
                   uint8_t *out);
size_t peer_decline(const struct peer *peer, bool out_of_sync, uint8_t *out);
/* Waits for a whole CLC message on the TCP connection. Returns its length, at most `size`; 0: none came. */
size_t peer_clc_wait(struct pair_end *end, uint8_t *out, size_t size, uint64_t max_ns);

/* --- LLC and CDC, as they should be --- */

void peer_confirm_link(const struct peer *peer, unsigned link, bool response, uint8_t *out);
void peer_add_link(const struct peer *peer, unsigned link, bool response, uint8_t *out);
void peer_add_link_reject(const struct peer *peer, uint8_t number, uint8_t *out);
/* Our one RMB, as link 0 and as link `link` know it. */
void peer_add_link_cont(const struct peer *peer, unsigned link, bool response, uint8_t *out);
/* The present state of the connection, under the next sequence number. */
void peer_cdc(struct peer_conn *conn, struct smcr_cdc *out);
void peer_send_cdc(struct peer_conn *conn, unsigned link, const struct smcr_cdc *cdc);

/* --- whole flows --- */

/* Link `link` (0: the first) gets a queue pair on port `port`. */
void peer_make_link(struct peer *peer, unsigned link, unsigned port);
/* Reads the instance's end of link 0, its element and token from an Accept or a Confirm. */
void peer_learn(struct peer_conn *conn, const uint8_t *message, bool with_link);
/* A connection without a byte yet: as client it is opened, as server the instance opens it. */
void peer_conn_begin(struct peer *peer, struct peer_conn *conn);
/* First contact with `links` links (1 or 2); the second one on port 1. False: the instance did something
 * else. */
bool peer_first_contact(struct peer *peer, struct peer_conn *conn, unsigned links);
/* The parts of it: CLC with both QPs ready, then the LLC of the first link. */
bool peer_contact_clc(struct peer *peer, struct peer_conn *conn);
bool peer_contact_confirm(struct peer *peer);
bool peer_contact_second(struct peer *peer, unsigned links);
/* A further connection in the group. */
bool peer_subsequent_contact(struct peer *peer, struct peer_conn *conn);

/* Writes bytes at the producer cursor over a link, moves the cursor, and tells by CDC. */
void peer_write(struct peer_conn *conn, unsigned link, const uint8_t *bytes, uint32_t len_bytes);
/* The newest CDC of the instance for this connection; false: none came. */
bool peer_cdc_wait(struct peer_conn *conn, unsigned link, struct smcr_cdc *out, uint64_t max_ns);

#endif
