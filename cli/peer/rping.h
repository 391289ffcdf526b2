/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic rping: what its files share.
 *
 * A round: the client says where its text stands (SEND), the server READs it and says so (SEND), the
 * client says where its sink stands (SEND), the server WRITEs the text there and says so (SEND). What
 * the client says is an advertisement; what the server says is any message of the same length. */
#ifndef NORNIC_CLI_PEER_RPING_H
#define NORNIC_CLI_PEER_RPING_H

#include "cli/peer/peer.h"

#define RPING_ADVERT_BYTES   16u
#define RPING_MAX_SIZE_BYTES 65535u

/* Where memory of the client stands. */
struct rping_advert {
    uint64_t addr;
    uint32_t rkey;
    uint32_t len_bytes;
};

/* On the wire, in RPING_ADVERT_BYTES: the members in this order, big-endian. */
void rping_advert_put(const struct rping_advert *advert, uint8_t *out);
struct rping_advert rping_advert_get(const uint8_t *bytes);

/* The text of round `round` (from 0), with its NUL at the end: "rdma-ping-ROUND: ", then the characters
 * from 'A' to 'z' over and over, of which each round begins one later. `len_bytes` at least
 * RPING_MIN_SIZE_BYTES. */
void rping_text(uint32_t round, char *buf, uint32_t len_bytes);
#define RPING_MIN_SIZE_BYTES 23u

/* How the connection's memory is used: one advertisement each way, the text, and a client's sink. */
enum { RPING_SEND_AT = 0, RPING_RECV_AT = RPING_ADVERT_BYTES, RPING_TEXT_AT = 2 * RPING_ADVERT_BYTES };

/* Waits until `received` advertisements, or answers to them, have come on the connection, and all that
 * was posted is sent. CLI_OK or another status. */
int rping_await(struct peer *peer, uint32_t received, const char *what);

/* All rounds of an established connection. CLI_OK, or CLI_NEGATIVE or CLI_ERROR after a sentence. */
int rping_client(struct peer *peer);
/* Until the client disconnects. */
int rping_server(struct peer *peer);

#endif
