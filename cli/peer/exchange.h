/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchange that udaddy, ucmatose, rdma_client and rdma_server have in common: over each connection
 * one side sends all its messages, then the other. */
#ifndef NORNIC_CLI_PEER_EXCHANGE_H
#define NORNIC_CLI_PEER_EXCHANGE_H

#include "cli/peer/peer.h"

/* Members of a struct peer_kind. */
size_t peer_exchange_memory(const struct peer_options *options);
int peer_exchange_prepare(struct peer_conn *conn);
int peer_exchange_completed(struct peer_conn *conn, const struct nornic_wc *wc);

#define PEER_EXCHANGE_KIND                                                  \
    .memory_bytes = peer_exchange_memory, .prepare = peer_exchange_prepare, \
    .completed = peer_exchange_completed,                                   \
    .param = {.responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7}

/* How the program goes. */
struct peer_exchange_order {
    bool client_sends_first;
    bool client_disconnects, server_disconnects; /* by itself; else it waits for the other side to */
};

/* A whole program, from opening to report: its exit status. */
int peer_exchange_run(const struct peer_options *options, const struct peer_kind *kind,
                      const struct peer_exchange_order *order);

#endif
