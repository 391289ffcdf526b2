/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of the program's half share: open.c (the service), conn.c (a connection's
 * beginning and its options), data.c (its bytes), wait.c (waiting). They need the C library
 * and nothing of nornic but what is inline in base/: they are part of the library that is preloaded. */
#ifndef NORNIC_SERVICE_BORROW_INNER_H
#define NORNIC_SERVICE_BORROW_INNER_H

#include <time.h>

#include "service/borrow/borrow.h"
#include "service/memory/control.h"

/* A service as this process knows it. Never freed: connections of one that has gone still name it. */
struct borrow_service {
    struct borrow_service *before; /* the one that was open before it; NULL: none */
    void *memory;
    struct service_life *life; /* service_life() of this process */
    int doorbell; /* the eventfd that wakes it; for good, since threads may be about to write to it */
    int pid;
    uid_t uid;                             /* of its user */
    struct borrow *by_slot[SERVICE_CONNS]; /* those that this process has */
};

struct borrow {
    struct borrow_service *service;
    struct service_block *block;
    uint32_t slot, generation;
    unsigned refs;
    _Atomic bool is_given_up; /* borrow_give_up() */
    _Atomic bool has_tcp; /* borrow_tcp_fd() had success: it is TCP from then on, also after the loan's end */
    _Atomic unsigned inside; /* calls of this process that have a lock of its block, or are about to */
    /* Where its buffers lie: copies, since any program of the user can change those in the block,
     * and the memory may go (borrow_renounce()). Packed by pack_ring(); 0: not read yet. */
    _Atomic uint64_t tx_ring, rx_ring;
    struct borrow *next_free;
};

/* The kernel says so, in the memory. */
static inline bool borrow_has_died(const struct borrow_service *service)
{
    return !service_is_alive(service->life);
}

/* It is still the connection that this process borrowed. */
static inline bool borrow_is_lent(const struct borrow *b)
{
    return !borrow_has_died(b->service) && !b->is_given_up &&
           atomic_load_explicit(&b->block->generation, memory_order_acquire) == b->generation;
}

#define BORROW_NS_PER_S UINT64_C(1000000000)
static inline struct timespec borrow_timespec(uint64_t ns)
{
    return (struct timespec){.tv_sec = (time_t)(ns / BORROW_NS_PER_S),
                             .tv_nsec = (long)(ns % BORROW_NS_PER_S)};
}

/* --- open.c --- */

/* The service that is open; NULL: none. */
struct borrow_service *borrow_service(void);
/* Asks the service `of` one thing and waits for the answer, five seconds at most. `fd` goes with it (-1:
 * none); what comes with the answer into `fds` (SERVICE_MAX_FDS, -1: none), close-on-exec. A connection to
 * it that has failed is made anew. 0: `*answer` is there; or -errno: -ENOTCONN: it was not asked, as it has
 * gone, or cannot be reached; -ETIMEDOUT: what it answers later is given back. */
int borrow_ask(struct borrow_service *of, struct service_request *request, int fd,
               struct service_answer *answer, int *fds);
/* In the child of fork(): lets go of what is the parent's. */
void borrow_forget_control(void);
/* Every service that this process has had open, the latest first: struct borrow_service.before.
 * Ends its connection to the service, and waits for one that has an answer to come. */
struct borrow_service *borrow_end_control(void);
/* No service is known any more, as before the first borrow_open(). */
void borrow_forget_services(void);

/* --- owner.c --- */

/* Remembers whose service this is, and the peers that it names. */
void borrow_note_service(const struct borrow_service *service);
/* Notes that this process has renounced its service: borrow_has_renounced(). False: it had
 * before. */
bool borrow_note_renounced(void);

/* --- conn.c --- */

/* Takes one of the two locks of `b`. 0 or -errno: its owner died and it cannot be repaired; a signal handler
 * asks for what the thread it interrupted has (-EDEADLK); its owner, in whatever process, has had it for
 * BORROW_LOCK_NS (-EBUSY). */
int borrow_lock(struct borrow *b, pthread_mutex_t *lock);
void borrow_unlock(struct borrow *b, pthread_mutex_t *lock);
/* Longer than a copy takes, also where its thread waits for a processor: who has it is stopped. */
#define BORROW_LOCK_NS UINT64_C(100000000)
/* Tells the service that there is something to do. */
void borrow_ring(const struct borrow *b);

/* --- rings.c --- */

/* A buffer of a connection in the memory. */
struct borrow_ring {
    char *bytes;
    uint32_t size; /* 0: there is none, or the block says nonsense */
};
struct borrow_ring borrow_tx(const struct borrow *b);
struct borrow_ring borrow_rx(const struct borrow *b);

/* --- data.c --- */

/* Where reading goes on: behind an urgent byte that is not to come in line. */
uint64_t borrow_read_from(const struct borrow *b);
/* Bytes that the next read could take: to the end of what has come, or to the urgent byte. */
uint64_t borrow_read_until(const struct borrow *b, uint64_t from);
/* An urgent byte is announced or there, and was neither read nor passed. */
bool borrow_has_urgent(const struct borrow *b);

#endif
