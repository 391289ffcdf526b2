/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory that a service and the programs of its user have mapped together: one sparse memfd.
 *
 *     0                      struct service_head: sizes, and the doorbell
 *     SERVICE_BLOCKS_AT      a struct service_block a connection
 *     SERVICE_WAITERS_AT     a struct service_waiter for each waiter for many connections
 *     SERVICE_BUFFERS_AT     RMBs and send buffers, handed out by service/memory/arena.h
 *
 * Each field has one side that writes it. The service checks a program's value before it uses it, and
 * loses no more by nonsense than that connection. Programs of the user trust each other with all of it, so a
 * process that gives up the user gives up the memory: borrow_renounce().
 *
 * Orders. A position is stored (release) after the bytes that it is about are in place, and read (acquire)
 * before they are touched. A thread that is about to sleep says so first and then looks again. A thread with
 * news writes them first and then looks for sleepers. Both are sequentially consistent, so that one of the
 * two sees the other. */
#ifndef NORNIC_SERVICE_SHARED_H
#define NORNIC_SERVICE_SHARED_H

#include <pthread.h>
#include <stdatomic.h>
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SERVICE_MAGIC   0x4e6f534du /* "NoSM" */
#define SERVICE_VERSION 9 /* of this memory and of service/memory/control.h: both ends have the same */

#define SERVICE_CONNS          16384 /* connections that are lent at a time */
#define SERVICE_WAITERS        1024
#define SERVICE_WATCHES        8  /* waiters that may watch a connection */
#define SERVICE_ENDS           16 /* of sends that the service has not seen yet */
#define SERVICE_WORDS          (SERVICE_CONNS / 64)
#define SERVICE_SUMMARY_WORDS  (SERVICE_WORDS / 64)
#define SERVICE_LINE           64   /* bytes of a cache line */
#define SERVICE_LIVES          1024 /* the kernel looks at 2,048 locks of a thread that dies */
#define SERVICE_BLOCKS_AT      UINT64_C(0x10000)
#define SERVICE_WAITERS_AT     (SERVICE_BLOCKS_AT + SERVICE_CONNS * sizeof(struct service_block))
#define SERVICE_BUFFERS_AT     UINT64_C(0x4000000)
#define SERVICE_BYTES          (UINT64_C(16) << 30)
#define SERVICE_MAX_SEND_BYTES (4u << 20) /* of a send buffer */

/* Bits by connection, and by word of those: which have one set. */
struct service_bits {
    _Atomic uint64_t summary[SERVICE_SUMMARY_WORDS];
    _Atomic uint64_t words[SERVICE_WORDS];
};

/* A futex, in the place that the kernel's list of them has for a pointer (service/memory/life.h). */
struct service_life {
    _Alignas(uint64_t) _Atomic uint32_t word;
};

/* Addresses with which SMC-R is negotiated without the TCP option: those of `bits` leading bits in
 * common. IPv4 addresses are IPv4-mapped ones. */
struct service_named {
    uint8_t addr[16];
    uint8_t bits; /* 0 to 128 */
};
#define SERVICE_NAMED 64

struct service_head {
    uint32_t magic, version;
    /* Robust, held by the service's thread as long as it lives, with the bit for waiters. When the
     * service dies the kernel wakes one waiter of each, and that wakes the others there: threads of one
     * process, as service_life() has it. So a stopped process holds up no other. */
    _Alignas(SERVICE_LINE) struct service_life lives[SERVICE_LIVES];
    /* The number of the sleep that the service is in or about to begin, while no program has rung for it; 0:
     * no ring is needed. Written by the service, and by the ringing program: service_ring(). */
    _Alignas(SERVICE_LINE) _Atomic uint64_t sleep;
    _Alignas(SERVICE_LINE) struct service_bits to_look_at; /* set by programs: there is something to do */
    _Alignas(SERVICE_LINE) uint32_t num_named; /* by the service, before its first program; of `named` */
    struct service_named named[SERVICE_NAMED];
};

/* service_block.flags, by the service. */
enum service_flag {
    SERVICE_RX_ENDED = 1 << 0,         /* nothing comes behind `produced` */
    SERVICE_WRITE_CLOSED = 1 << 1,     /* the peer reads no more */
    SERVICE_URGENT_ANNOUNCED = 1 << 2, /* an urgent byte is to come */
};

/* service_block.options, by programs. */
enum service_option {
    SERVICE_NODELAY = 1 << 0,
    SERVICE_CORKED = 1 << 1,
    SERVICE_OOB_INLINE = 1 << 2,
    SERVICE_KEEPALIVE = 1 << 3,
    SERVICE_NONBLOCKING = 1 << 4, /* kept here for all that share the open file */
};

/* service_block.shut, by programs: the directions that shutdown() has ended. */
enum service_shut { SERVICE_SHUT_READ = 1 << 0, SERVICE_SHUT_WRITE = 1 << 1 };

/* service_block.was_missed, by programs: locks for which a waiter gave up. The lock holder rings the
 * doorbell when it releases the lock. It may die instead, so the service looks, too. */
enum service_missed { SERVICE_MISSED_SEND = 1 << 0, SERVICE_MISSED_RECV = 1 << 1 };

#define SERVICE_NO_MARK     UINT64_MAX
#define SERVICE_NO_LINGER   UINT32_MAX
#define SERVICE_REASON_SIZE 96

/* A connection. Positions count the bytes of a direction from 0 and never wrap; that of position p lies at
 * p modulo the size in its buffer. */
struct service_block {
    /* --- by the service --- */
    _Alignas(SERVICE_LINE) _Atomic uint32_t seq; /* a futex: grows with all that somebody may wait for */
    _Atomic uint32_t generation; /* odd: lent, the same connection as long as it is the same */
    _Atomic uint32_t state;      /* enum borrow_state */
    _Atomic uint32_t flags;      /* enum service_flag */
    _Atomic uint32_t ends_taken; /* of `ends` */
    _Atomic uint32_t in_edges, out_edges;
    _Atomic uint64_t produced; /* bytes before it can be read */
    _Atomic uint64_t acked;    /* bytes before it are at the peer: their place in the send buffer is free */
    _Atomic uint64_t mark;     /* of the last urgent byte; SERVICE_NO_MARK: there was none */
    _Alignas(
        SERVICE_LINE) _Atomic uint64_t tell_at; /* once `consumed` is here the service wants to hear of it */
    _Atomic uint32_t mark_byte;
    uint32_t tx_size, rx_size; /* of the buffers, and their places: set before BORROW_SMCR, for good */
    uint64_t tx_at, rx_at;
    /* The generation that has the send buffer: a sender looks at it under `send_lock`, before each copy. It
     * is taken back before the buffer is freed, and that is before `state` says that the connection is
     * over. */
    _Atomic uint32_t tx_lent_to;
    char reason[SERVICE_REASON_SIZE]; /* of BORROW_TCP and BORROW_RESET, in words, ended by 0 */

    /* --- by the sender, under `send_lock` --- */
    _Alignas(SERVICE_LINE) pthread_mutex_t send_lock; /* robust, shared by processes */
    _Atomic uint64_t head;                            /* bytes before it are to be sent */
    _Atomic uint64_t urgent_end;                      /* one past the last urgent byte among them; 0: none */
    _Atomic uint32_t has_more;                        /* more follows at once: MSG_MORE */
    _Atomic uint32_t has_lost;                        /* bytes went to a peer that reads no more */
    /* With TCP_NODELAY: positions at which sends ended, since each send leaves alone (RFC 7609 4.5.2). A
     * ring, and the number of all that were ever put there. A full ring takes none: that send leaves with the
     * next. A connection has no more messages in flight than the ring has places. */
    _Atomic uint32_t ends_put;
    _Atomic uint64_t ends[SERVICE_ENDS];

    /* --- by the receiver, under `recv_lock` --- */
    _Alignas(SERVICE_LINE) pthread_mutex_t recv_lock;
    _Atomic uint64_t consumed;  /* bytes before it were read */
    _Atomic uint64_t oob_taken; /* one past the urgent byte that was asked for last */

    /* --- by any --- */
    _Alignas(SERVICE_LINE) _Atomic uint32_t is_waited_for; /* at `seq`; the service takes it back */
    _Atomic uint32_t wants_room;           /* somebody found too little; the service takes it back */
    _Atomic uint32_t was_missed;           /* enum service_missed; the service takes it back */
    _Atomic uint32_t was_renounced;        /* a holder changed its user: borrow_renounce() */
    _Atomic int32_t error;                 /* SO_ERROR: set by the service, taken by a program */
    _Atomic uint32_t shut;                 /* enum service_shut */
    _Atomic uint32_t options;              /* enum service_option */
    _Atomic uint32_t keepidle_s, linger_s; /* SERVICE_NO_LINGER: off */
    _Atomic uint32_t rcvlowat;
    _Atomic uint64_t rcvtimeo_ns, sndtimeo_ns; /* for the programs alone; 0: none */
    _Atomic uint32_t watch[SERVICE_WATCHES];   /* service_watch(); 0: free */
};

/* A waiter for many connections. */
struct service_waiter {
    _Atomic uint32_t generation; /* odd: in use; by the service */
    /* The generation of the one that sleeps, 0: none: by the program, and by the service that wakes it. */
    _Atomic uint32_t asleep;
    _Alignas(SERVICE_LINE) struct service_bits news;
};

/* An entry of service_block.watch: 0 is none, since a generation in use is odd. */
static inline uint32_t service_watch(uint32_t waiter, uint32_t generation)
{
    return waiter << 16 | (generation & 0xffff);
}

static inline uint32_t service_watch_waiter(uint32_t watch)
{
    return watch >> 16;
}

_Static_assert(sizeof(struct service_head) <= SERVICE_BLOCKS_AT, "the head lies before the blocks");
_Static_assert(SERVICE_WAITERS_AT + SERVICE_WAITERS * sizeof(struct service_waiter) <= SERVICE_BUFFERS_AT,
               "the waiters lie before the buffers");

static inline struct service_block *service_block_at(void *memory, uint32_t slot)
{
    return (struct service_block *)((char *)memory + SERVICE_BLOCKS_AT) + slot;
}

static inline struct service_waiter *service_waiter_at(void *memory, uint32_t number)
{
    return (struct service_waiter *)((char *)memory + SERVICE_WAITERS_AT) + number;
}

/* The word by which the process `pid` sees whether the service lives. Two processes with numbers 1,024 apart
 * share it. */
static inline struct service_life *service_life(void *memory, int pid)
{
    return &((struct service_head *)memory)->lives[(unsigned)pid % SERVICE_LIVES];
}

static inline void service_bits_set(struct service_bits *bits, uint32_t slot)
{
    atomic_fetch_or(&bits->words[slot / 64], UINT64_C(1) << slot % 64);
    atomic_fetch_or(&bits->summary[slot / 64 / 64], UINT64_C(1) << slot / 64 % 64);
}

static inline int service_bits_any(const struct service_bits *bits)
{
    uint64_t any = 0;
    for (unsigned i = 0; i < SERVICE_SUMMARY_WORDS; i++)
        any |= atomic_load(&bits->summary[i]);
    return any != 0;
}

/* Takes up to `max` set bits out, at most those of one word: how many, their places into `out`. 0: none is
 * set. */
static inline unsigned service_bits_take(struct service_bits *bits, uint32_t *out, unsigned max)
{
    for (unsigned i = 0; i < SERVICE_SUMMARY_WORDS; i++) {
        uint64_t summary = atomic_load(&bits->summary[i]);
        while (summary) {
            unsigned bit = (unsigned)__builtin_ctzll(summary), word = i * 64 + bit, n = 0;
            summary &= summary - 1;
            /* The summary first: a program that sets a bit now sets it again. */
            atomic_fetch_and(&bits->summary[i], ~(UINT64_C(1) << bit));
            uint64_t set = atomic_exchange(&bits->words[word], 0);
            for (; set && n < max; set &= set - 1)
                out[n++] = word * 64 + (unsigned)__builtin_ctzll(set);
            for (; set; set &= set - 1)
                service_bits_set(bits, word * 64 + (unsigned)__builtin_ctzll(set));
            if (n > 0)
                return n;
        }
    }
    return 0;
}

/* How the service is woken. A program sets the connection's bit, looks whether the service sleeps, writes the
 * doorbell's eventfd, and then says that this sleep was rung for: later programs need not write, too.
 *
 * Why no wake-up is lost. The service numbers its sleeps, never twice the same: it stores the number, looks
 * at the bits, waits for the eventfd, stores 0, and only then empties the eventfd and takes the bits.
 * - A program sees 0 before the number is stored: it had set its bit before that, and the service finds the
 *   bit when it looks.
 * - A program sees 0 because another program rang for this sleep: that program wrote the eventfd first, and
 *   the eventfd stays full until the sleep has ended. So the sleep ends, and the service looks at the bits
 *   afterwards: in the next rounds, or at the latest after it has stored the next number, as above.
 * - A program is held up between its look and its exchange (stopped, without a processor): the number has
 *   gone, and the exchange fails. So it has to be a number: a mere flag would be the next sleep's.
 * - A program dies or is stopped between its look and its write: it has said nothing, and the next program
 *   rings. The exchange before the write would give exactly one writer, but a program killed between the two
 *   would leave all others waiting. So two programs that look at the same time both write. */
static inline void service_ring(struct service_head *head, uint32_t slot, int doorbell)
{
    uint64_t one = 1;
    service_bits_set(&head->to_look_at, slot);
    uint64_t sleep = atomic_load(&head->sleep);
    if (sleep == 0)
        return;
    /* Not write(), in which a thread is cancelled. EAGAIN: it has been written as often as it can be. */
    if (syscall(SYS_write, doorbell, &one, sizeof one) == (long)sizeof one || errno == EAGAIN)
        atomic_compare_exchange_strong(&head->sleep, &sleep, 0);
}

/* Bits of a robust mutex's first word (the kernel's robust futex ABI). */
#define SERVICE_LOCK_OWNER   0x3fffffffu
#define SERVICE_LOCK_DIED    0x40000000u
#define SERVICE_LOCK_WAITERS 0x80000000u

/* A live thread has it. */
static inline int service_word_is_held(uint32_t word)
{
    return (word & SERVICE_LOCK_OWNER) != 0 && !(word & SERVICE_LOCK_DIED);
}

static inline _Atomic uint32_t *service_lock_word(pthread_mutex_t *lock)
{
    return (_Atomic uint32_t *)lock;
}

/* Whether one of the locks is held by a thread that lives: the kernel marks those of the dead. It reads
 * the word of the C library's mutex, as the kernel does; the service asks this way, since it takes no lock
 * that a program may have broken. */
static inline int service_lock_is_held(pthread_mutex_t *lock)
{
    return service_word_is_held(atomic_load(service_lock_word(lock)));
}

/* The service lives. */
static inline int service_is_alive(const struct service_life *life)
{
    return service_word_is_held(atomic_load(&life->word));
}

#endif
