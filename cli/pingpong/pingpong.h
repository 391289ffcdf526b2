/* SPDX-License-Identifier: BSD-2-Clause */
/* The ping-pong of ibv_rc_pingpong, ibv_uc_pingpong, ibv_ud_pingpong and ibv_srq_pingpong (rdma-core,
 * libibverbs/examples), so that either side can be the stock program. What the files of cli/pingpong/
 * share.
 *
 * Each side posts rx_depth receives. The client sends first, over each queue pair; whoever has received
 * a message on a queue pair sends again there, until both have sent and received `iters` messages in all.
 * The stock programs wait for the acknowledgement of their previous message besides; nornic, for that of the
 * one before it, as the answer says as much. RC, UC and UD have one queue pair; srq has several RC ones
 * that share a receive queue. */
#ifndef NORNIC_CLI_PINGPONG_PINGPONG_H
#define NORNIC_CLI_PINGPONG_PINGPONG_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "cli/node/iwarp.h"
#include "cli/node/memory.h"
#include "cli/node/node.h"
#include "net/error.h"

enum pingpong_transport { PINGPONG_RC, PINGPONG_UC, PINGPONG_UD, PINGPONG_SRQ, PINGPONG_TRANSPORT_COUNT };

struct cli_command;

/* As --transport has them: "rc"; ended by NULL. */
extern const char *const pingpong_transport_names[];

#define PINGPONG_UD_QKEY   0x11111111 /* of ibv_ud_pingpong */
#define PINGPONG_MAX_PAIRS 256        /* so many lines ibv_srq_pingpong exchanges, whatever its -q is */

struct pingpong_options {
    struct cli_node_config node;
    enum pingpong_transport transport;
    const char *host; /* of the server; NULL: this is the server */
    uint16_t tcp_port;
    uint32_t size_bytes;
    uint32_t pmtu_bytes; /* not of UD */
    uint32_t pairs;      /* queue pairs; 1 unless srq */
    uint32_t rx_depth;
    uint32_t iters;
    uint64_t timeout_ns; /* without any completion */
    uint8_t sl;
    bool stock_check; /* -c */
    bool json;
};

/* The command, whose settings are a struct pingpong_options: options.c. */
extern const struct cli_command pingpong_command;

/* Runs it: roles.c. The exit status. */
int pingpong_main(void *settings);

/* --- what the sides tell each other over TCP: exchange.c --- */

/* Over iWARP, which the stock programs do not speak so, the LID says that (a permissive one, which no port
 * has), the GID is the IP address, and the server's PSN is the TCP port that it listens on. */
struct pingpong_dest {
    uint32_t qpn, psn;
    struct nornic_addr gid;
    bool is_iwarp;
};

/* The client: sends its `n` lines, then reads as many and says "done". 0 or -errno with a sentence in
 * `why`. */
int pingpong_exchange_client(int fd, const struct pingpong_dest *mine, struct pingpong_dest *peer, uint32_t n,
                             uint64_t timeout_ns, struct nornic_error *why);

/* The server reads `peer`, connects its queue pairs, then sends `mine` and reads "done". */
int pingpong_exchange_server_read(int fd, struct pingpong_dest *peer, uint32_t n, uint64_t timeout_ns,
                                  struct nornic_error *why);
int pingpong_exchange_server_reply(int fd, const struct pingpong_dest *mine, uint32_t n, uint64_t timeout_ns,
                                   struct nornic_error *why);

#define PINGPONG_LINE_BYTES sizeof "0000:000000:000000:00000000000000000000000000000000"

/* Text and back; `line` has PINGPONG_LINE_BYTES with its NUL. The second is false when it is no such line. */
void pingpong_dest_format(const struct pingpong_dest *dest, char *line);
bool pingpong_dest_parse(const char *line, struct pingpong_dest *dest);

/* --- what the messages hold: data.c --- */

/* The server echoes: the stock program receives into the buffer that it sends from. So the client decides
 * what travels, and a server can check a message only against the forms that it knows clients to send. */
enum pingpong_form {
    PINGPONG_FORM_COUNTED,       /* a nornic client: each message different, each 8 bytes of it too */
    PINGPONG_FORM_STOCK,         /* the stock client: all 0x7b */
    PINGPONG_FORM_STOCK_CHECKED, /* with -c: and the first byte of each page of 4096 bytes is 0 */
    PINGPONG_FORM_STOCK_ZERO,    /* ibv_srq_pingpong: all 0 */
    PINGPONG_FORM_COUNT
};

/* The name of message `iter` (from 0) of queue pair `pair`, for the two below. */
static inline uint64_t pingpong_key(uint32_t pair, uint32_t iter)
{
    return (uint64_t)pair << 32 | iter;
}

/* Fills a message. */
void pingpong_fill(enum pingpong_form form, uint64_t key, uint8_t *buf, uint32_t len_bytes);

/* Where a message first differs from its form; `len_bytes`: nowhere. */
uint32_t pingpong_compare(enum pingpong_form form, uint64_t key, const uint8_t *buf, uint32_t len_bytes);

/* --- the transfer: run.c --- */

#define PINGPONG_SENDS 2 /* of a queue pair, that may be unacknowledged: each has a buffer */

/* A queue pair and what is under way on it. */
struct pingpong_link {
    struct nornic_qp *qp;
    struct nornic_ah *ah; /* UD: towards the peer */
    uint32_t posted, received;
    uint32_t sends_pending; /* not acknowledged */
    bool receive_pending;
    uint8_t *send_buf, *next_buf; /* what was sent last, and what is sent next */
    uint64_t sent_at_ns;
};

struct pingpong_side {
    const struct pingpong_options *options;
    struct cli_node *node;
    bool is_client;
    struct cli_memory memory; /* of all messages */
    struct cli_cq cq;
    struct nornic_srq *srq; /* srq only */
    struct cli_iwarp iwarp; /* of a port of iWARP, else all zero */
    struct pingpong_link *links;
    uint8_t *slots; /* in it: the messages that are received */
    struct pingpong_dest mine[PINGPONG_MAX_PAIRS], peer[PINGPONG_MAX_PAIRS];

    uint32_t posted, sent, received, receives_posted;
    unsigned forms;          /* bits of enum pingpong_form: what the messages so far agree with */
    uint32_t mixed;          /* messages that held pieces of those of other queue pairs */
    uint32_t unacknowledged; /* of the last messages: the peer left before it said that it has them */
    uint64_t start_ns, end_ns;
    struct histogram round_trips; /* of the client, ns */
};

/* wr_id: the kind, and above it the number of a link (sends) or a slot (receives). */
enum { PINGPONG_WR_SEND = 1, PINGPONG_WR_RECV = 2, PINGPONG_WR_SHIFT = 8 };

/* Bytes of a receive buffer before its message: the L3 area of UD. */
uint32_t pingpong_area_bytes(const struct pingpong_options *options);

/* Buffer `i` of those that receive. Without SRQ there is one that all receives name, as the stock program has
 * it: a peer that keeps the rules has one message under way. With it each receive has its own. */
uint8_t *pingpong_slot(const struct pingpong_side *side, uint64_t i);

/* Makes memory, queues and QPs on `node`, in INIT with the receives posted. CLI_OK or CLI_ERROR. */
int pingpong_side_open(struct pingpong_side *side, const struct pingpong_options *options,
                       struct cli_node *node, bool is_client);
void pingpong_side_close(struct pingpong_side *side);

/* Posts the receive of one slot; or, without SRQ, fills the queue up. CLI_OK or CLI_ERROR. */
int pingpong_post_receive(struct pingpong_side *side, uint64_t slot);
int pingpong_post_receives(struct pingpong_side *side);

/* Creates the QP of link `i`, in INIT, and sets its `mine`. CLI_OK or CLI_ERROR. */
int pingpong_link_open(struct pingpong_side *side, uint32_t i);

/* Connects all QPs to `side->peer`; or as a server over iWARP listens, which changes `mine`. CLI_OK or
 * CLI_ERROR. */
int pingpong_connect(struct pingpong_side *side, unsigned sgid_index);

/* The server, when the client has been answered: over iWARP waits for its connections. CLI_OK or
 * CLI_ERROR. */
int pingpong_accept(struct pingpong_side *side);

/* All the exchanges. `quiet`: no live progress. CLI_OK, or CLI_NEGATIVE or CLI_ERROR after a sentence. */
int pingpong_run(struct pingpong_side *side, bool quiet);

/* The report of a run that went well, on standard output. */
void pingpong_report(const struct pingpong_side *side);

#endif
