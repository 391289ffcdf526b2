/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic perf: the speed of one operation. Declarations that the files of cli/perf/ share.
 *
 * Control exchange on TCP: one JSON object a line, each with "nornic_perf": 1.
 *   client: the test, its GID and its queue pairs     server: its GID, queue pairs, address and rkey
 *   over iWARP both say "transport": "iwarp"          and the server the "tcp_port" of its queue pairs
 *   (the transfer)
 *   client: "ops": how many a queue pair did          server: "checked": how many messages it compared
 * Instead of any of these a side may say "error": why it gives up. */
#ifndef NORNIC_CLI_PERF_PERF_H
#define NORNIC_CLI_PERF_PERF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "cli/node/iwarp.h"
#include "cli/node/memory.h"
#include "cli/node/node.h"
#include "net/error.h"

#define PERF_VERSION          1
#define PERF_MAX_QPS          1024
#define PERF_MAX_DEPTH        4096
#define PERF_MAX_WINDOW_PKTS  65536
#define PERF_MAX_REGION_BYTES (1ull << 30)
#define PERF_ATOMIC_BYTES     8u

/* --op; E(id, name, operation, remote rights it needs) */
#define PERF_OPS(E)                                                                        \
    E(SEND, "send", NORNIC_WR_SEND, 0)                                                     \
    E(WRITE, "write", NORNIC_WR_RDMA_WRITE, NORNIC_ACCESS_REMOTE_WRITE)                    \
    E(WRITE_IMM, "write-imm", NORNIC_WR_RDMA_WRITE_WITH_IMM, NORNIC_ACCESS_REMOTE_WRITE)   \
    E(READ, "read", NORNIC_WR_RDMA_READ, NORNIC_ACCESS_REMOTE_READ)                        \
    E(FETCH_ADD, "fetch-add", NORNIC_WR_ATOMIC_FETCH_AND_ADD, NORNIC_ACCESS_REMOTE_ATOMIC) \
    E(CMP_SWAP, "cmp-swap", NORNIC_WR_ATOMIC_CMP_AND_SWP, NORNIC_ACCESS_REMOTE_ATOMIC)     \
    E(MASKED_FETCH_ADD, "masked-fetch-add", NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,         \
      NORNIC_ACCESS_REMOTE_ATOMIC)                                                         \
    E(MASKED_CMP_SWAP, "masked-cmp-swap", NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, NORNIC_ACCESS_REMOTE_ATOMIC)

enum perf_op {
#define PERF_OP_ENUM_(id, name, opcode, access) PERF_OP_##id,
    PERF_OPS(PERF_OP_ENUM_)
#undef PERF_OP_ENUM_
        PERF_OP_COUNT
};

const char *perf_op_name(enum perf_op op);
bool perf_op_parse(const char *name, enum perf_op *op);
enum nornic_wr_opcode perf_op_opcode(enum perf_op op);
uint32_t perf_op_access(enum perf_op op); /* of the server's region and queue pairs */
bool perf_op_is_atomic(enum perf_op op);
bool perf_op_is_masked(enum perf_op op); /* a masked atomic */

/* Writes the operands of the atomic that follows `seq` others on its word, which was 0. Masked: of a
 * FETCH_ADD each field has 4 bits and grows by 1, and a CMP_SWAP compares and swaps the lower half. */
void perf_op_operands(enum perf_op op, uint64_t seq, struct nornic_send_wr *wr);
/* Returns the word after `seq` atomics. */
uint64_t perf_op_word(enum perf_op op, uint64_t seq);
bool perf_op_takes_receive(enum perf_op op); /* one receive of the server a message */
bool perf_op_is_answered(enum perf_op op);   /* with data: a READ, an atomic */

struct cli_command;

/* The test, on which both sides must agree. */
struct perf_test {
    enum perf_op op;
    uint32_t size_bytes;
    uint32_t depth; /* operations under way on a queue pair */
    uint32_t qps;
    uint32_t pmtu_bytes;
    bool verify;
};

struct perf_options {
    struct cli_node_config node;
    struct perf_test test;
    const char *host; /* of the server; NULL: this is the server */
    uint16_t tcp_port;
    uint64_t iters; /* operations in all; 0: as many as fit into time_ns */
    uint64_t time_ns;
    uint64_t warmup; /* operations that are not counted */
    uint64_t timeout_ns;
    bool latency;
    bool json;
};

/* The command; its settings are a struct perf_options: options.c. */
extern const struct cli_command perf_command;

/* Runs it: roles.c. The exit status. */
int perf_main(void *settings);

/* --- one side's objects: side.c --- */

struct perf_qp {
    struct nornic_qp *qp;
    uint32_t qpn, psn; /* of this side */
    uint32_t peer_qpn, peer_psn;
    uint8_t *region;        /* this queue pair's slots, of perf_slot_bytes() */
    uint64_t posted, done;  /* client: operations; server: receives, and messages that came */
    uint64_t credited;      /* client: messages whose receives the server has posted again */
    uint64_t *posted_at_ns; /* client: by slot */
};

struct perf_side {
    struct cli_node *node;
    struct perf_test test;
    bool is_client;
    bool is_iwarp; /* of a port of iWARP */
    uint64_t timeout_ns;
    uint32_t slots;        /* of a queue pair, used in turn */
    uint32_t receives;     /* of the server: posted on a queue pair */
    uint32_t credit_every; /* messages that a credit is for; 0: none are needed */
    struct cli_memory memory;
    struct cli_cq cq;
    struct cli_iwarp iwarp; /* else all zero */
    uint64_t *times;
    struct perf_qp *qps;
    unsigned sgid_index;
    struct nornic_addr gid, peer_gid; /* iWARP: IP addresses */
    uint16_t tcp_port;                /* iWARP: the server's, of its queue pairs */
    uint64_t peer_addr;               /* client: the server's region */
    uint32_t peer_rkey;
    uint64_t checked; /* messages compared */
};

/* 0, or -errno with a sentence: the test asks for more than this side can do. */
int perf_side_open(struct perf_side *side, struct cli_node *node, const struct perf_test *test,
                   bool is_client, uint64_t timeout_ns, struct nornic_error *why);
void perf_side_close(struct perf_side *side);

/* Connects every queue pair to its peer; or as a server over iWARP listens. CLI_OK or CLI_ERROR. */
int perf_side_connect(struct perf_side *side);

/* The server, when the client has its answer: over iWARP waits for connections. CLI_OK or CLI_ERROR. */
int perf_side_accept(struct perf_side *side);

/* Whether the server hears of the end of a queue pair's WRITEs by an empty SEND behind them: over iWARP,
 * where a WRITE completes when TCP has it and not when it is placed (IWARP-ORD). */
bool perf_side_marks_end(const struct perf_side *side);

/* Bytes between two slots; the client's slot s of queue pair q maps to the server's of the same numbers. */
uint64_t perf_slot_bytes(const struct perf_test *test);

/* The pattern (cli/node/pattern.h) of message `seq` of a queue pair, and of a server's slot that is read. */
uint64_t perf_key(unsigned qp_index, uint64_t seq);

/* --- credits for messages over iWARP: credit.c; without effect over other transports --- */

#define PERF_CREDITS   8u           /* at the most under way on a queue pair, with some to spare */
#define PERF_WR_CREDIT (1ull << 32) /* wr_id of a message of credits, with its queue pair */

/* When `receives` is known. */
void perf_credit_init(struct perf_side *side);
/* Whether the server has a receive for one message more. */
bool perf_credit_is_left(const struct perf_side *side, const struct perf_qp *p);
/* The client: posts the receives of all queue pairs, before they are connected; and has got one. 0 or -errno
 * with a sentence, like the next. */
int perf_credit_await_all(const struct perf_side *side, struct nornic_error *why);
int perf_credit_take(struct perf_side *side, uint32_t qp_index, struct nornic_error *why);
/* The server: sends one if it is due, when the receive of a message is posted again. */
int perf_credit_give(const struct perf_side *side, uint32_t qp_index, struct nornic_error *why);

/* --- control exchange: control.c. 0 or -errno with a sentence in `why` --- */

int perf_control_send_test(int fd, const struct perf_side *side, struct nornic_error *why);
/* Reads the test of the client; its queue pairs go to `peers` (PERF_MAX_QPS of them), its GID to `gid`. */
struct perf_peer {
    uint32_t qpn, psn;
};
int perf_control_read_test(int fd, uint64_t timeout_ns, bool is_iwarp, struct perf_test *test,
                           struct nornic_addr *gid, struct perf_peer *peers, struct nornic_error *err);
int perf_control_send_answer(int fd, const struct perf_side *side, struct nornic_error *err);
int perf_control_read_answer(int fd, struct perf_side *side, struct nornic_error *err);
int perf_control_send_ops(int fd, const struct perf_side *side, struct nornic_error *err);
int perf_control_read_ops(int fd, const struct perf_side *side, uint64_t *ops, struct nornic_error *err);
int perf_control_send_checked(int fd, uint64_t checked, struct nornic_error *err);
int perf_control_read_checked(int fd, uint64_t timeout_ns, uint64_t *checked, struct nornic_error *err);
/* Tells the peer why this side gives up; best effort. */
void perf_control_send_error(int fd, const char *why);

/* --- the roles --- */

struct perf_result {
    uint64_t ops;
    uint64_t start_ns, end_ns;
    struct histogram latency; /* post to completion, ns */
    uint64_t retransmitted_pkts;
    uint64_t server_checked;
};

/* The client's part on an open connection. CLI_OK, or CLI_NEGATIVE or CLI_ERROR after a sentence. */
int perf_client(const struct perf_options *options, struct cli_node *node, int fd,
                struct perf_result *result);

/* The transfer itself: transfer.c. */
int perf_transfer(struct perf_side *side, const struct perf_options *options, struct perf_result *result);

/* The server's part. `quiet`: it is the helper of a client in this process, which reports failures. */
int perf_server(const struct perf_options *options, struct cli_node *node, int fd, bool quiet);

void perf_report(const struct perf_options *options, const struct cli_node *node,
                 const struct perf_test *test, const struct perf_result *result);

#endif
