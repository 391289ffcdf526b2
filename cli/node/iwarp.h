/* SPDX-License-Identifier: BSD-2-Clause */
/* The streams of a side's queue pairs over iWARP, where two sides have told each other an address and a TCP
 * port on a connection of their own: the server listens, the client connects queue pair after queue pair.
 * Each Request says in its private data which one it is for, so that a stranger gets none. Functions with an
 * exit status have printed their sentence. */
#ifndef NORNIC_CLI_NODE_IWARP_H
#define NORNIC_CLI_NODE_IWARP_H

#include <stdint.h>

#include "cli/node/node.h"

/* One queue pair, and its stream. */
struct cli_iwarp_stream {
    struct nornic_qp *qp;    /* the caller's */
    uint32_t token;          /* the same on both sides: the PSN that the client named for it */
    struct nornic_cm_id *id; /* NULL: none yet */
    bool stands;
};

struct cli_iwarp {
    const struct cli_node *node;
    struct nornic_cm *cm;
    struct nornic_cm_id *listener; /* of a server */
    struct cli_iwarp_stream *streams;
    uint32_t count;
    uint8_t rd_atomic;         /* READs and atomics at once, each way */
    struct nornic_addr remote; /* of a client: the server's, with `port` */
    uint16_t port;
};

/* For `count` queue pairs, which the caller then names in `streams`. What has been made is given back by
 * cli_iwarp_close() also after a failure. CLI_OK or CLI_ERROR. */
int cli_iwarp_open(const struct cli_node *node, uint32_t count, uint8_t rd_atomic, struct cli_iwarp *out);

/* The server: takes Requests at `addr`, one of the device's, on a TCP port that the kernel chooses. Then
 * waits until all streams stand. CLI_OK or CLI_ERROR. */
int cli_iwarp_listen(struct cli_iwarp *iw, const struct nornic_addr *addr, uint16_t *port);
int cli_iwarp_accept(struct cli_iwarp *iw, uint64_t timeout_ns);

/* The client: connects all, from `local`, to `remote`. CLI_OK or CLI_ERROR. */
int cli_iwarp_connect(struct cli_iwarp *iw, const struct nornic_addr *local, const struct nornic_addr *remote,
                      uint16_t port, uint64_t timeout_ns);

/* Ends the streams in good order, before their queue pairs are destroyed. All zero is fine. */
void cli_iwarp_close(struct cli_iwarp *iw);

#endif
