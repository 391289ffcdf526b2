/* SPDX-License-Identifier: BSD-2-Clause */
/* The declarations that the files of the service's half share, from below: arena (the memory), life (its
 * end), wake (sleepers), judge (which connections are lent), loan (these), tcp (their TCP sockets where they
 * fell back), client (borrowers and their requests), service (the loop). Everything is under the
 * lock of sock/runtime.h, in one thread. */
#ifndef NORNIC_SERVICE_INNER_H
#define NORNIC_SERVICE_INNER_H

#include "service/memory/arena.h"
#include "service/borrow/borrow.h"
#include "service/memory/control.h"
#include "service/memory/life.h"
#include "service/service.h"
#include "sock/socket/state.h"

/* What a descriptor of the loop's epoll is. */
enum service_kind { SERVICE_STOP, SERVICE_DOORBELL, SERVICE_LISTENER, SERVICE_CLIENT, SERVICE_INNER };
struct service_source {
    struct smcr_rt_source rt; /* SMCR_RT_OTHER: what epoll has points here */
    enum service_kind kind;
    void *of; /* struct service_client, or struct service_loan */
};

#define SERVICE_TO_WAKE 256 /* that are woken at the end of a pass over the news; more are before it */

/* A program that is connected. */
struct service_client {
    struct service_client *next, **prev;
    struct service_source source;
    int fd;
    pid_t pid;
    bool has_said_hello;
};

/* What hears for a program. */
struct service_ear {
    struct service_client *owner; /* NULL: the place is free */
    int fd;                       /* the service's end of the pair that wakes it */
    bool is_due;                  /* it has news that it is to be woken for */
};

/* A connection that is lent. */
struct service_loan {
    struct service *service;
    struct smcr_sock *sock; /* with a reference of ours */
    struct service_block *block;
    struct service_source source; /* of `inner` */
    int inner;                    /* the service's end of the pair; -1: nobody has the other end any more */
    uint32_t slot, generation;
    uint32_t seen_shut, seen_options; /* of the block */
    uint32_t seen_keepidle_s, seen_linger_s;
    uint64_t cross_ns; /* until then its TCP socket is not handed over; 0: it may be */
    bool has_rings;    /* the block says where the buffers lie */
    bool must_push;    /* an option was set that sends what is gathered */
    bool is_server;
    /* A holder gave up the service's user: where its bytes were then, in both directions
     * together. */
    bool was_renounced;
    uint64_t begun_ns, renounced_at;
};

struct service {
    struct service_config config;
    struct service_arena arena;
    struct service_head *head;
    struct service_lives lives;
    char path[SERVICE_PATH_BYTES];
    int lock_fd, listen_fd, doorbell_fd;
    int spare_fd; /* a descriptor in reserve, to refuse programs by where there is no other; -1: none */
    bool is_full; /* the listener is not watched until `look_ns`: there was no descriptor even to refuse by */
    struct service_source stop_source, doorbell_source, listen_source;
    struct service_client *clients;
    struct service_loan *loans[SERVICE_CONNS];
    uint16_t free_slots[SERVICE_CONNS]; /* a ring: those that rest longest come first */
    unsigned first_free, num_free;
    unsigned num_loans;
    uint32_t generations[SERVICE_CONNS]; /* of the blocks; odd: lent */
    struct service_ear ears[SERVICE_WAITERS];
    struct service_block *to_wake[SERVICE_TO_WAKE]; /* somebody sleeps on their futex, */
    uint16_t to_ring[SERVICE_TO_WAKE];              /* and maybe by these ears: service_wake_all() */
    unsigned num_to_wake, num_to_ring;
    uint64_t look_ns; /* when those that wait for time alone are looked at; NET_TIME_NONE: there are none */
    uint64_t used_ns; /* when somebody was there last */
    pthread_mutex_t fresh_lock;     /* what a lock of a block looks like at first */
    uint64_t num_sleeps;            /* service_head.sleep of the last */
    uint64_t tcp_ports[65536 / 64]; /* a bit for each whose server gives up the service's user */
    bool is_stopping;
};

/* Adds a descriptor to the loop. 0 or -errno. */
static inline int service_watch_fd(struct service_source *source, enum service_kind kind, int fd,
                                   uint32_t events, void *of)
{
    *source = (struct service_source){.rt = {.kind = SMCR_RT_OTHER}, .kind = kind, .of = of};
    return smcr_rt_watch(fd, events, &source->rt);
}

/* --- wake.c --- */

/* There is news of a connection, and it stands in its block: who waits for it is woken by the next
 * service_wake_all(). */
void service_wake(struct service_loan *loan);
/* Those who gave up a lock of the connection that nobody has any more: who waits for an edge has none of what
 * the one who had it has left. While that one has it still it is looked at again (`look_ns`): the kernel
 * marks the locks of the dead, and tells only those who wait there. */
void service_wake_who_missed(struct service_loan *loan);
/* Wakes a waiter by its pair; empties the doorbell's eventfd. The service never waits there,
 * whatever programs have made of their descriptors. */
void service_ring_ear(const struct service_ear *ear);
void service_empty(int doorbell);
/* Wakes all whom news came for. Before the service sleeps. */
void service_wake_all(struct service *service);

/* --- loan.c --- */

/* Takes over `tcp_fd` and makes a loan of it. 0: `*outer_fd` is the program's end, the caller's to hand
 * over; 1: it stays plain TCP, `*why_not` says why, and `tcp_fd` is closed; or -errno, likewise: there was no
 * room for one that the peer waits with for CLC. */
int service_loan_begin(struct service *service, int tcp_fd, const struct service_begin *begin, pid_t pid,
                       struct service_loan **out, int *outer_fd, enum service_why_not *why_not);
/* What a program wrote into the block: bytes to send, bytes read, options, the end of a direction. */
void service_loan_look(struct service_loan *loan);
/* Tells the programs what has become of it, and frees it where all is over. */
void service_loan_tell(struct service_loan *loan, short news);
/* As if its last descriptor were closed: what was handed over is sent, then it ends as by close(). */
void service_loan_end(struct service_loan *loan);
/* Something is at the service's end of the pair. */
void service_loan_on_inner(struct service_loan *loan, uint32_t events);
/* The loan of that slot and generation; NULL: it is no more. */
struct service_loan *service_loan_find(struct service *service, uint32_t slot, uint32_t generation);

/* --- judge.c --- */

/* Judges whether the TCP connection `tcp_fd` is lent. 0: it is; where `*declines` is not NULL its
 * peer waits for CLC messages, and gets a Decline for that reason. 1: it stays plain TCP,
 * `*why_not` says why. A port that is missing the core finds itself. */
int service_judge(const struct service *service, int tcp_fd, bool is_server, enum service_why_not *why_not,
                  const char **declines);
/* Notes that a holder of the loan gave up the service's user, and how far its bytes were then. */
void service_judge_look(struct service_loan *loan);
/* Learns from a loan whose last descriptor is closed. Where no byte moved after a holder had given
 * up the service's user, that holder was its server: the next connections of this port stay plain
 * TCP. */
void service_judge_end(struct service_loan *loan);

/* --- tcp.c --- */

/* Its TCP socket is about to be a program's: it gets what programs have set, once. Those who ask later get
 * the same open file, with what the first has made of it since. */
void service_loan_hand_over(const struct service_loan *loan);
/* Closes a TCP socket that a program has, or had, where close() might wait: for SO_LINGER, which is the
 * program's, if the service's reference is the last. That is left to a thread. */
void service_loan_let_go(const struct service_loan *loan);
/* Closes a descriptor that a program has sent. A close() that might wait (SO_LINGER, or a file
 * whose end another process serves) is left to a thread. */
void service_close_theirs(int fd);

/* --- client.c --- */

/* Watches for programs that connect, now or, where the kernel has no room for it, soon. 0 or -errno. */
int service_client_listen(struct service *service);
/* A program has connected: it is taken in, or, another user's, refused. */
void service_client_accept(struct service *service);
/* A packet has come, or the end. */
void service_client_on_event(struct service *service, struct service_client *client);
/* The end of its connection, and of what hears for it. What it has borrowed lives on. */
void service_client_drop(struct service *service, struct service_client *client);

#endif
