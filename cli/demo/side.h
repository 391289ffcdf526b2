/* SPDX-License-Identifier: BSD-2-Clause */
/* One side of the demo from inside: its device, its QP, its memory, and the socket to the other side, over
 * which they exchange what a connection manager would, and tell each other what to compare. */
#ifndef NORNIC_CLI_DEMO_SIDE_H
#define NORNIC_CLI_DEMO_SIDE_H

#include <assert.h>

#include "cli/demo/demo.h"
#include "base/histogram.h"
#include "host/host.h"

#define DEMO_MAX_DEPTH    64u
#define DEMO_DATA_OFFSET  4096u        /* the word for atomics lies at 0, messages from here on */
#define DEMO_PATIENCE_NS  10000000000u /* nothing moves for so long: give up */
#define DEMO_LESSON_PKTS  3u           /* of a WRITE or READ in the lesson */
#define DEMO_SAMPLE_PKTS  8u           /* of a message in the captured sample, */
#define DEMO_SAMPLE_DEPTH 4u           /* so many of them at a time */

enum demo_msg_type {
    DEMO_MSG_HELLO,   /* who I am: at the start of each part */
    DEMO_MSG_BEGIN,   /* A: a phase begins */
    DEMO_MSG_READY,   /* B: buffers are posted and filled */
    DEMO_MSG_CHECK,   /* A: `count` messages so far have been written, compare them */
    DEMO_MSG_CHECKED, /* B: `count` messages so far are compared and may be overwritten */
    DEMO_MSG_END,     /* A: the phase had `count` operations */
    DEMO_MSG_RESULT,  /* B: `count` compared, `wrong` of them differed */
    DEMO_MSG_BYE,     /* the part is over */
};

struct demo_phase {
    enum demo_op op;
    uint32_t size_bytes;
    uint32_t depth; /* operations under way */
    uint32_t half;  /* at least depth: there are places for twice as many messages */
    uint64_t count; /* operations; 0: for time_ns */
    uint64_t time_ns;
    uint64_t stream; /* message i has the data of cli_pattern_fill(stream + i) */
};

struct demo_msg {
    enum demo_msg_type type;
    struct demo_phase phase; /* BEGIN */
    uint64_t count, wrong;
    uint32_t qpn, psn, rkey; /* HELLO */
    uint64_t va;
    struct nornic_mac mac;
};

struct demo_side {
    struct demo_board *board;
    const struct demo_plan *plan;
    struct demo_side_result *result;
    enum demo_role role;
    int peer; /* socket */
    struct host_dev *dev;
    struct roce_dev *engine;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    uint8_t *memory; /* registered: the word for atomics, the places of a phase's messages, the receives */
    uint64_t memory_bytes;
    uint8_t *receives; /* B: buffers of message_bytes each, which stay posted over all phases */
    uint32_t receive_count, message_bytes;
    struct demo_msg remote; /* its HELLO */
    unsigned idle_rounds;
};

/* --- progress and messages: talk.c --- */

/* Keeps the first error's sentence; returns false. */
bool demo_side_fail(struct demo_side *side, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* One round of progress; after many rounds with nothing to do it sleeps for at most a millisecond. False: the
 * demo was stopped. */
bool demo_side_round(struct demo_side *side, bool did_something);

bool demo_side_send(struct demo_side *side, const struct demo_msg *msg);
/* 1: a message; 0: none yet; -1: the other side has gone (no error of ours). */
int demo_side_poll(struct demo_side *side, struct demo_msg *msg);
/* Makes progress until a message of that type comes. */
bool demo_side_await(struct demo_side *side, enum demo_msg_type type, struct demo_msg *msg);

/* --- a connection (connect.c): device, memory, QP in RTS, and back --- */

/* Opens the port of this side, or uses `memory`. `shown`: with capture and ladder. */
bool demo_connect(struct demo_side *side, struct net_port *memory, bool shown);
/* Adds the counters up and gives everything back; of what exists. False: the capture could not be written
 * whole. */
bool demo_disconnect(struct demo_side *side);

/* --- phases (ask.c, serve.c) --- */

/* Message `index` of a phase in this side's memory. */
static inline uint8_t *demo_slot(const struct demo_side *side, const struct demo_phase *phase, uint64_t index)
{
    assert(phase->half > 0);
    return side->memory + DEMO_DATA_OFFSET + index % (2 * phase->half) * (uint64_t)phase->size_bytes;
}

/* Which of B's messages READ number `index` fetches: another one for the same local slot every time. */
static inline uint64_t demo_read_source(const struct demo_phase *phase, uint64_t index)
{
    uint64_t slots = 2 * (uint64_t)phase->half;
    return (index + index / slots) % slots;
}

static inline bool demo_op_is_atomic(enum demo_op op)
{
    return op == DEMO_CMP_SWAP || op == DEMO_FETCH_ADD;
}

/* Side A: runs a phase; what was compared goes to `result`, and if `is_bulk` also counts, bytes and time.
 * Adds the time from each post to its completion, in nanoseconds, to `latency` (may be NULL). */
bool demo_ask(struct demo_side *side, const struct demo_phase *phase, struct demo_op_result *result,
              bool is_bulk, struct histogram *latency);

/* Side B: answers phases until BYE. */
bool demo_serve(struct demo_side *side);

#endif
