/* SPDX-License-Identifier: BSD-2-Clause */
/* The demo's parts share one board: memory that the front, which plans and prints, and the two sides A and B,
 * which run as processes or as threads, all see. A side writes its own results; the front only reads them,
 * those that are not atomic after the side has ended. */
#ifndef NORNIC_CLI_DEMO_DEMO_H
#define NORNIC_CLI_DEMO_DEMO_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "cli/demo/ladder.h"
#include "nornic/addr.h"
#include "net/error.h"
#include "net/port.h"
#include "roce/counters.h"

#define DEMO_LOG_EVENTS 16384 /* a side's ladder keeps so many */

/* What is shown: D(id, name, JSON name, what the lesson says). */
#define DEMO_OPS(D)                                                                                          \
    D(SEND, "SEND", "send", "SEND: B has posted a buffer; A's message lands in it. B acknowledges.")         \
    D(SEND_IMM, "SEND + imm", "send_imm", "SEND with immediate: 4 bytes more, handed to B beside the data.") \
    D(WRITE, "RDMA WRITE", "write",                                                                          \
      "RDMA WRITE: A puts data into B's memory; B's program notices nothing. Three packets.")                \
    D(WRITE_IMM, "WRITE + imm", "write_imm",                                                                 \
      "RDMA WRITE with immediate: the same, and B's program is told that it happened.")                      \
    D(READ, "RDMA READ", "read", "RDMA READ: A takes data out of B's memory. The answer is three packets.")  \
    D(CMP_SWAP, "CMP_SWAP", "cmp_swap",                                                                      \
      "COMPARE & SWAP: if the 64-bit word at B is what A expects, it is replaced, at once.")                 \
    D(FETCH_ADD, "FETCH_ADD", "fetch_add",                                                                   \
      "FETCH & ADD: A adds to the 64-bit word at B and learns what it was before.")

enum demo_op {
#define DEMO_OP_ENUM_(id, name, json, lesson) DEMO_##id,
    DEMO_OPS(DEMO_OP_ENUM_)
#undef DEMO_OP_ENUM_
        DEMO_OP_COUNT
};

#define DEMO_LESSON_OVER \
    DEMO_OP_COUNT /* the remark after those of the lessons, which are numbered as these */

extern const char *const demo_op_name[DEMO_OP_COUNT];
extern const char *const demo_op_json[DEMO_OP_COUNT];
extern const char *const demo_op_lesson[DEMO_OP_COUNT];

enum demo_role { DEMO_A, DEMO_B };

/* What both sides shall do; set by the front before they start. */
struct demo_plan {
    char port[2][64];  /* host_dev_config.port of each side; unused on the memory port */
    char netns[2][64]; /* network namespace of each side; "": the one we are in */
    struct nornic_addr addr[2];
    char capture[256]; /* written by A; "": none */
    uint32_t pmtu_bytes;
    uint32_t size_bytes;
    uint32_t depth;
    uint64_t count;      /* operations of each kind; 0: by time */
    uint64_t op_time_ns; /* for each operation */
    uint32_t loss_ppm;
    uint64_t seed;
};

struct demo_latency {
    uint64_t samples, min_ns, p50_ns, p99_ns, p999_ns;
};

/* One operation's figures. Written by A; B's comparisons are added when it reports them. */
struct demo_op_result {
    atomic_uint_fast64_t ops, bytes, elapsed_ns; /* of the bulk part */
    uint64_t retransmitted_pkts;                 /* in the bulk and latency parts */
    uint64_t checked_ops, checked_bytes;         /* of all parts: data that was compared, */
    uint64_t wrong_ops;                          /* operations whose data differed */
    struct demo_latency latency;
};

struct demo_side_result {
    struct roce_dev_counters counters; /* of all parts */
    struct nornic_error error;         /* "": none */
    char mode[96];                     /* the port's, in words */
    uint64_t lost_frames;              /* that the impairment threw away */
    bool ok;
    atomic_bool ended;
};

struct demo_board {
    struct demo_plan plan;
    atomic_bool stop;   /* the front asks the sides to end */
    atomic_int running; /* enum demo_op in bulk, or -1 */
    struct demo_op_result ops[DEMO_OP_COUNT];
    struct demo_side_result sides[2];
};

/* A board with both ladders behind it, in memory that a descriptor names. Returns NULL with errno. */
struct demo_board *demo_board_create(int *fd);
/* The board of a descriptor that was inherited. */
struct demo_board *demo_board_map(int fd);
void demo_board_unmap(struct demo_board *board);
struct ladder_log *demo_board_log(struct demo_board *board, enum demo_role role);

/* --- a side (side.c) --- */

/* Runs one side to its end: opens its ports (or uses `memory`, one for each of the two parts, and takes them
 * over), meets the other side over the socket `peer`, and does its share of the plan. What went wrong is in
 * board->sides[role]. Returns whether all went right. */
bool demo_side_run(struct demo_board *board, enum demo_role role, int peer, struct net_port *const memory[2]);

/* --- a pass (pass.c) --- */

/* What the front does while the sides run: called about ten times a second. */
typedef void demo_tick(void *ctx, struct demo_board *board);

/* Runs both sides of board->plan, as two processes when `in_processes`, else as two threads joined by a
 * memory port, and waits. Returns when both have ended, whatever happens; cli_stopped() ends them early. */
void demo_pass_run(struct demo_board *board, int board_fd, bool in_processes, demo_tick *tick, void *ctx);

/* What a side's process runs: `nornic demo --side a|b --board FD --peer FD`. Returns the exit status. */
int demo_side_main(const char *role, int board_fd, int peer);

/* --- words and figures (report.c, progress.c, json.c) --- */

#define DEMO_COLUMNS 96

struct demo_screen {
    FILE *out; /* NULL: print nothing */
    bool is_terminal, colour;
    bool ladder_shown;
    int running; /* the operation whose line is being drawn; -1: none yet */
    const char *names[2];
};

/* A demo_tick: draws the ladder once it is recorded, then a line for each operation. `ctx`: demo_screen. */
void demo_progress(void *ctx, struct demo_board *board);
/* The table of a pass and the figures below it. */
void demo_report(const struct demo_screen *screen, const struct demo_board *board);

/* Packets whose ICRC a side found good. */
uint64_t demo_icrc_good(const struct demo_side_result *side);
/* Whether every operation was run, every byte compared right and every ICRC was good. */
bool demo_is_right(const struct demo_board *board);

/* Counts with separators ("12,345") and bytes with a unit ("507.7 MiB"). `buf` has 32 bytes. Return buf. */
const char *demo_count_str(uint64_t n, char *buf);
const char *demo_bytes_str(uint64_t bytes, char *buf);

/* Prints the passes, the second act and the third (NULL: not played) as one JSON object. `port`: what was
 * used. 0 or -ENOMEM. */
struct json_object;
int demo_print_json(FILE *out, const char *port, struct demo_board *const *boards, unsigned n,
                    struct json_object *smc, struct json_object *iwarp, bool ok);

#endif
