/* SPDX-License-Identifier: BSD-2-Clause */
/* Random calls of libibverbs, librdmacm, rsockets and of TCP sockets: parts that the files of this folder
 * share. */
#ifndef NORNIC_TEST_VERBS_RANDOM_H
#define NORNIC_TEST_VERBS_RANDOM_H

#include <netinet/in.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test/fuzz/input.h"

#define RANDOM_BOARD 256

/* A queue pair and a region that any thread may name. The parts of one entry may not fit together. */
struct random_entry {
    _Atomic uint32_t qpn, rkey;
    _Atomic uint64_t addr;
};

/* The memory that all processes share. */
struct random_shared {
    _Atomic uint64_t calls, refused, completions, events, forks;
    atomic_bool is_over; /* nobody begins a call any more */
    struct random_entry board[RANDOM_BOARD];
};

/* A thread. */
struct random_player {
    struct random_shared *shared;
    struct fuzz_input *input; /* the choices; NULL: they are drawn from `state` */
    uint64_t state;
    unsigned number; /* of the thread, among all of the run */
    struct in_addr addr;
    void *own; /* the state of its kind of calls */
};

/* Returns a number from 0 to `limit` - 1; 0 after the end of an input. */
static inline uint32_t random_below(struct random_player *p, uint32_t limit)
{
    if (p->input)
        return (limit <= 256 ? fuzz_u8(p->input) : fuzz_u32(p->input)) % limit;
    p->state ^= p->state << 13;
    p->state ^= p->state >> 7;
    p->state ^= p->state << 17;
    return (uint32_t)(p->state >> 20) % limit;
}

/* Returns any 32 bits. */
static inline uint32_t random_any(struct random_player *p)
{
    return random_below(p, UINT32_MAX);
}

/* Returns whether a case of probability 1 in `n` holds. */
static inline bool random_one_in(struct random_player *p, uint32_t n)
{
    return random_below(p, n) == 0;
}

/* Returns a count that is mostly from 1 to `usual`, else 0, -1, a power of two or the largest. */
static inline int random_count(struct random_player *p, int usual)
{
    switch (random_below(p, 10)) {
    case 0:
        return 0;
    case 1:
        return -1;
    case 2:
        return INT32_MAX;
    case 3:
        return 1 << random_below(p, 31);
    default:
        return 1 + (int)random_below(p, (uint32_t)usual);
    }
}

/* Counts a call that gave `result`: 0 is a success. */
void random_count_call(struct random_player *p, long result);

/* Makes a child process that runs `body(p)` within 20 s, and waits for its end. */
void random_fork(struct random_player *p, void (*body)(struct random_player *p));

/* A kind of calls. */
struct random_kind {
    const char *name;
    void (*begin)(struct random_player *p);
    void (*step)(struct random_player *p); /* one call, or a few */
    void (*end)(struct random_player *p);
};

extern const struct random_kind random_verbs, random_cm, random_rsockets, random_sockets;

#endif
