/* SPDX-License-Identifier: BSD-2-Clause */
/* The third act of the demo: what iWARP can do over an ordinary TCP connection, step by step, between two
 * processes without any privilege; at the end a mistake, and how both sides are told of it. A begins each
 * step, B is the other end. */
#ifndef NORNIC_CLI_DEMO_IWARP_H
#define NORNIC_CLI_DEMO_IWARP_H

#include <json-c/json.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "cli/demo/lab.h"

/* The steps, in their order: X(id, name, JSON name, what it is). */
#define DEMO_IWARP_STEPS(X)                                                                             \
    X(CONNECT, "Connect", "connect",                                                                    \
      "TCP, then MPA's Request and Reply; the Reply's private data says where B's memory is.")          \
    X(SEND, "SEND", "send", "A message that lands in a buffer that B has posted.")                      \
    X(WRITE, "RDMA WRITE", "write", "A puts data into B's memory; a SEND behind it tells B's program.") \
    X(WRITE_IMM, "WRITE + imm", "write_imm",                                                            \
      "The same, and 4 bytes tell B's program: Immediate Data of RFC 7306.")                            \
    X(READ, "RDMA READ", "read", "A takes data out of B's memory; B's program notices nothing.")        \
    X(FETCH_ADD, "FetchAdd", "fetch_add", "A adds to a word at B and learns what it was (RFC 7306).")   \
    X(CMP_SWAP, "CmpSwap", "cmp_swap", "If the word is what A expects, it is replaced.")                \
    X(SWAP, "Swap", "swap", "It is replaced in any case.")                                              \
    X(SEND_INV, "SEND + invalidate", "send_inv",                                                        \
      "A message that takes an STag out of use at B: a window that A has just written through.")        \
    X(BAD_STAG, "Bad STag", "bad_stag", "A writes through that window once more.")

enum demo_iwarp_step {
#define DEMO_IWARP_ENUM_(id, name, json, lesson) DEMO_IWARP_##id,
    DEMO_IWARP_STEPS(DEMO_IWARP_ENUM_)
#undef DEMO_IWARP_ENUM_
        DEMO_IWARP_STEP_COUNT
};

#define DEMO_IWARP_SAYS_BYTES 224u

/* What a side tells of a step. */
struct demo_iwarp_told {
    bool is_right; /* it went as it should, and the data is what it should be */
    char says[DEMO_IWARP_SAYS_BYTES];
};

/* Shared by the front and both processes: each writes its own part, and the front reads it when they have
 * ended. */
struct demo_iwarp_board {
    struct nornic_addr addr[2];
    char netns[2][64];         /* "": the one we are in */
    bool drops_root;           /* the sides are to become nobody */
    atomic_uint_fast32_t port; /* TCP port that B listens on; 0: not yet */
    uint32_t uid[2];           /* of the processes, as they worked */
    struct demo_iwarp_told told[DEMO_IWARP_STEP_COUNT][2];
    uint64_t took_ns[DEMO_IWARP_STEP_COUNT]; /* at A, from the post to the completion */
};

/* What the front wants. */
struct demo_iwarp_plan {
    const struct demo_lab *lab; /* its two namespaces; NULL: the loopback interface */
    bool ipv6;
    FILE *out; /* NULL: print nothing */
    bool colour;
};

/* Runs the act and prints it. The board, which the caller gives back by demo_iwarp_forget(), or NULL. How it
 * went is in `*status`: CLI_OK; CLI_NEGATIVE or CLI_ERROR after a sentence. */
struct demo_iwarp_board *demo_iwarp_run(const struct demo_iwarp_plan *plan, int *status);
void demo_iwarp_forget(struct demo_iwarp_board *board);

/* Of the board, for --json: a new object, which is the caller's to json_object_put(), or to give to another
 * object; NULL: no memory. */
struct json_object *demo_iwarp_json(const struct demo_iwarp_board *board);

/* What a side's process does: iwarp_side.c. CLI_OK, or another exit status after a sentence. */
int demo_iwarp_side(struct demo_iwarp_board *board, int role);

#endif
