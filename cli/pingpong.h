/* SPDX-License-Identifier: BSD-2-Clause */
/* The ping-pong of ibv_rc_pingpong (rdma-core, libibverbs/examples/rc_pingpong.c), so that either side can be
 * the stock program. What the files of cli/pingpong_*.c share.
 *
 * Each side posts rx_depth receives. The client sends first; whoever has received a message and has its
 * previous one acknowledged sends again, until both have sent and received `iters` messages. */
#ifndef NORNIC_CLI_PINGPONG_H
#define NORNIC_CLI_PINGPONG_H

#include <stdbool.h>
#include <stdint.h>

#include "cli/histogram.h"
#include "cli/node.h"
#include "net/error.h"

struct pingpong_options {
    struct cli_node_config node;
    const char *host; /* of the server; NULL: this is the server */
    uint16_t tcp_port;
    uint32_t size_bytes;
    uint32_t pmtu_bytes;
    uint32_t rx_depth;
    uint32_t iters;
    uint64_t timeout_ns; /* without any completion */
    uint8_t sl;
    bool stock_check; /* -c */
    bool json;
};

/* Reads the command line. CLI_OK; -1: help was printed; CLI_ERROR after a sentence. */
int pingpong_parse(int argc, char **argv, struct pingpong_options *options);

/* --- what the sides tell each other over TCP: pingpong_exchange.c --- */

struct pingpong_dest {
    uint32_t qpn, psn;
    struct net_addr gid;
};

/* The client: sends `mine`, then reads `peer` and says "done". 0 or -errno with a sentence in `err`. */
int pingpong_exchange_client(int fd, const struct pingpong_dest *mine, struct pingpong_dest *peer,
                             uint64_t timeout_ns, struct net_error *err);

/* The server reads `peer`, connects its queue pair, then sends `mine` and reads "done". */
int pingpong_exchange_server_read(int fd, struct pingpong_dest *peer, uint64_t timeout_ns,
                                  struct net_error *err);
int pingpong_exchange_server_reply(int fd, const struct pingpong_dest *mine, uint64_t timeout_ns,
                                   struct net_error *err);

#define PINGPONG_LINE_BYTES sizeof "0000:000000:000000:00000000000000000000000000000000"

/* Text and back; `line` has PINGPONG_LINE_BYTES with its NUL. The second is false when it is no such line. */
void pingpong_dest_format(const struct pingpong_dest *dest, char *line);
bool pingpong_dest_parse(const char *line, struct pingpong_dest *dest);

/* --- what the messages hold: pingpong_data.c --- */

/* The server echoes: the stock program receives into the buffer that it sends from. So the client decides
 * what travels, and a server can check a message only against the forms that it knows clients to send. */
enum pingpong_form {
    PINGPONG_FORM_COUNTED,       /* a nornic client: each message different, each 8 bytes of it too */
    PINGPONG_FORM_STOCK,         /* the stock client: all 0x7b */
    PINGPONG_FORM_STOCK_CHECKED, /* with -c: and the first byte of each page of 4096 bytes is 0 */
    PINGPONG_FORM_COUNT
};

/* Fills the message of exchange `iter` (from 0). */
void pingpong_fill(enum pingpong_form form, uint32_t iter, uint8_t *buf, uint32_t len_bytes);

/* Where a message first differs from its form; `len_bytes`: nowhere. */
uint32_t pingpong_compare(enum pingpong_form form, uint32_t iter, const uint8_t *buf, uint32_t len_bytes);

/* --- the transfer: pingpong_run.c --- */

enum { PINGPONG_WR_SEND = 1, PINGPONG_WR_RECV = 2 }; /* wr_id */

struct pingpong_side {
    const struct pingpong_options *options;
    struct cli_node *node;
    bool is_client;
    struct rdma_pd *pd;
    struct rdma_mr *mr;
    struct cli_cq cq;
    struct roce_qp *qp;
    uint8_t *memory; /* one message to send, one received */
    uint8_t *send_buf, *recv_buf;
    struct pingpong_dest mine, peer;

    uint32_t sent, received, receives_posted;
    bool send_pending, receive_pending;
    unsigned forms; /* bits of enum pingpong_form: what the messages so far agree with */
    uint64_t sent_at_ns;
    uint64_t start_ns, end_ns;
    struct cli_histogram round_trips; /* of the client, ns */
};

/* Makes memory, queues and QP on `node`, in INIT with the receives posted. CLI_OK or CLI_ERROR. */
int pingpong_side_open(struct pingpong_side *side, const struct pingpong_options *options,
                       struct cli_node *node, bool is_client);
void pingpong_side_close(struct pingpong_side *side);

/* Fills the receive queue up. All receives name one buffer, as the stock program has it: a peer that keeps
 * the rules has one message under way. CLI_OK or CLI_ERROR. */
int pingpong_post_receives(struct pingpong_side *side);

/* Connects the QP to `side->peer`. CLI_OK or CLI_ERROR. */
int pingpong_side_connect(struct pingpong_side *side, unsigned sgid_index);

/* All the exchanges. `quiet`: no live progress. CLI_OK, or CLI_NEGATIVE or CLI_ERROR after a sentence. */
int pingpong_run(struct pingpong_side *side, bool quiet);

/* The report of a run that went well, on standard output. */
void pingpong_report(const struct pingpong_side *side);

#endif
