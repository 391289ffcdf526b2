/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic's peers of the programs of rdmacm-utils (rping, udaddy, ucmatose, rdma_client, rdma_server):
 * what they share. A peer connects, or waits for, a number of connections through the connection
 * manager, moves messages and disconnects. Functions that return an exit status have printed their
 * sentence. */
#ifndef NORNIC_CLI_PEER_PEER_H
#define NORNIC_CLI_PEER_PEER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cli/node/node.h"
#include "nornic/nornic.h"

struct json_object;
struct peer;
struct peer_conn;

/* --- options: options.h --- */

struct peer_options {
    struct cli_node_config node;
    const char *host; /* of the server, a name or an address; NULL: this is the server */
    const char *bind; /* own address, or NULL */
    uint16_t service_port;
    uint32_t connections;
    uint32_t messages; /* of each connection */
    uint32_t size_bytes;
    uint64_t timeout_ns; /* without anything happening */
    bool print, persistent;
    bool json;
};

/* --- a peer and its connections: peer.c, conn.c --- */

/* What one connection of a program needs. */
struct peer_kind {
    const char *stock; /* the stock program, for reports: "rping" */
    enum nornic_port_space space;
    enum nornic_qp_type qp_type;
    uint32_t max_send_wr, max_recv_wr; /* of a connection; 0: as many as it has messages */
    uint32_t access;                   /* remote rights of the connection's memory */
    /* Memory of a connection. */
    size_t (*memory_bytes)(const struct peer_options *options);
    struct nornic_conn_param param; /* of connect and accept */
    /* The QP is there and takes receives; the connection is not yet. CLI_OK or CLI_ERROR. */
    int (*prepare)(struct peer_conn *conn);
    /* A completion without error. CLI_OK, or another status, which ends the program. */
    int (*completed)(struct peer_conn *conn, const struct nornic_wc *wc);
};

enum peer_conn_state { PEER_CONN_NONE, PEER_CONN_OPENING, PEER_CONN_ESTABLISHED, PEER_CONN_CLOSED };

struct peer_conn {
    struct peer *peer;
    uint32_t index;
    enum peer_conn_state state;
    struct nornic_cm_id *id;
    struct nornic_qp *qp;
    struct nornic_mr *mr;
    uint8_t *memory;
    /* UD */
    struct nornic_ah *ah;
    uint32_t remote_qpn, remote_qkey;

    uint32_t posted, sent, received; /* work posted to the send queue; completions */
    uint32_t verified;               /* received messages with the data of a nornic peer */
    uint32_t peer_index; /* what that peer calls this connection; valid when `verified` is not 0 */
};

struct peer {
    const struct peer_options *options;
    const struct peer_kind *kind;
    struct cli_node node;
    struct nornic_cm *cm;
    struct nornic_cm_id *listen_id;
    struct nornic_addr remote, local; /* of the server, and ours; zero: not said */
    struct nornic_pd *pd;
    struct nornic_channel *channel; /* with events; else NULL */
    struct nornic_cq *cq;
    uint32_t max_send_wr, max_recv_wr; /* of a connection */
    struct peer_conn *conns;           /* options->connections of them */
    uint32_t opened;                   /* how many of them have been given an id */
    bool stop_ends_round;              /* a first Ctrl-C lets what has begun come to its end */
    bool peer_may_leave;               /* it waits for nothing more than what is under way to it */
    uint64_t start_ns, end_ns;
    /* over all connections */
    uint64_t sent, received, verified;
    uint64_t unacknowledged; /* of the last messages: the peer left without a word */
    uint32_t crc_sum;        /* of the CRC-32 of each received message */
};

/* Opens port, connection manager and queues, and resolves names. CLI_OK or CLI_ERROR. */
int peer_open(struct peer *peer, const struct peer_options *options, const struct peer_kind *kind);

/* Closes what peer_open() has opened and every connection; returns `status` or what went wrong beside. */
int peer_close(struct peer *peer, int status);

/* Connects, or listens and accepts, all the connections; CLI_OK once all are established. */
int peer_connect_all(struct peer *peer);

/* Disconnects those that are established and waits until all are closed. */
int peer_disconnect_all(struct peer *peer);

/* Waits until the other side has closed all. */
int peer_await_closed(struct peer *peer);

/* Handles what happens until `done` says so. `what` is what is waited for, for the sentence when it does not
 * come, also because a connection has been closed. */
int peer_wait(struct peer *peer, bool (*done)(const struct peer *peer, const void *ctx), const void *ctx,
              const char *what);

/* What peer.c and event.c want of conn.c: makes memory and a QP that takes receives. CLI_OK or
 * CLI_ERROR. */
int peer_conn_open(struct peer_conn *conn);
/* Gives back what a connection holds, so that a server can take the next one in its place. */
void peer_conn_close(struct peer_conn *conn);
/* UD: the way to the other end. CLI_OK or CLI_ERROR. */
int peer_conn_set_remote(struct peer_conn *conn, const struct nornic_av *av, uint32_t qpn, uint32_t qkey);

/* Handles all CM events that wait, event.c. `*did`: set if there was one. CLI_OK or another status. */
int peer_handle_events(struct peer *peer, bool *did);

/* --- work: work.c --- */

enum peer_wr {
    PEER_WR_SEND = 1,
    PEER_WR_RECV = 2,
    PEER_WR_READ = 3,
    PEER_WR_WRITE = 4
}; /* wr_id, low byte */

static inline uint64_t peer_wr_id(enum peer_wr kind, uint64_t number)
{
    return number << 8 | kind;
}

/* Posts to a connection: receives into, sends from `len_bytes` at `at` of its memory. CLI_OK or CLI_ERROR. */
int peer_post_recv(struct peer_conn *conn, uint64_t number, size_t at, uint32_t len_bytes);
int peer_post_send(struct peer_conn *conn, uint64_t number, size_t at, uint32_t len_bytes);
/* RDMA READ or WRITE of the peer's memory. */
int peer_post_rdma(struct peer_conn *conn, enum peer_wr kind, size_t at, uint32_t len_bytes,
                   uint64_t remote_addr, uint32_t rkey);

/* Fills message `number` that this side sends on `conn`. */
void peer_fill(const struct peer_conn *conn, uint32_t number, uint8_t *buf, uint32_t len_bytes);

/* Counts message `number` received on `conn`. Where it is that of a nornic peer, all of the connection
 * have to be; what stock programs send is whatever stood in their memory. CLI_OK or CLI_NEGATIVE. */
int peer_received(struct peer_conn *conn, uint32_t number, const uint8_t *buf, uint32_t len_bytes);

/* --- reports: report.c --- */

/* Says that the server is ready: a line of text, or {"listening": PORT}. */
void peer_say_listening(const struct peer *peer);

/* Packets of reliable connections that were sent again. */
uint64_t peer_retransmitted(const struct peer *peer);

/* The report of a run that went well, on standard output. */
void peer_report(const struct peer *peer);

#endif
