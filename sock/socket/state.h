/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket, as the files of sock/ share it. Everything in it is under the runtime's lock.
 *
 * The files, from below: known, user, mirror, addrs, cgroup, rendezvous, runtime (the lock, what the
 * process has once), ports, sockets (the table), ready (what poll() sees), tcp (the connection beside),
 * end (closing), listener, events (what the core and TCP say), progress (the rounds; calls begin and
 * end there), and the calls themselves: accept, connect, send, recv, options, close; thread, fork,
 * stat, start. Each knows those before it. */
#ifndef NORNIC_SOCK_INNER_H
#define NORNIC_SOCK_INNER_H

#include "sock/socket/mirror.h"
#include "sock/runtime.h"

enum smcr_sock_state {
    SMCR_SOCK_NEW, /* fresh, maybe bound */
    SMCR_SOCK_LISTENING,
    SMCR_SOCK_CONNECTING,  /* a SYN is on its way */
    SMCR_SOCK_NEGOTIATING, /* both options were seen: the core talks CLC and LLC (SMCR-ARC-02) */
    SMCR_SOCK_SMCR,        /* bytes go by RDMA */
    SMCR_SOCK_RESET,       /* they did: it has ended abnormally */
    SMCR_SOCK_TCP,         /* bytes go by TCP */
    SMCR_SOCK_FAILED,      /* connecting failed */
};

/* How long the application has it. */
enum smcr_sock_life {
    SMCR_SOCK_OPEN,
    SMCR_SOCK_CLOSING,  /* it has given it back; the core and TCP may still have to end */
    SMCR_SOCK_FINISHED, /* they have: who still is in a call goes */
    SMCR_SOCK_DEAD,     /* nobody is: the thread frees it */
};

/* Whether the SYN has the option. */
enum smcr_sock_offer {
    SMCR_SOCK_MAY_OFFER, /* not yet, or it could not be */
    SMCR_SOCK_OFFERED,
    SMCR_SOCK_TCP_ONLY, /* asked for, or needed: SMCR-REN-06 */
};

/* What the core was told of the end of the TCP connection beside. A RST may follow a FIN: in version 2 a peer
 * that has said all that it had to say ends its direction of TCP, too, and lives on. */
enum smcr_sock_told { SMCR_SOCK_TOLD_NOTHING, SMCR_SOCK_TOLD_FIN, SMCR_SOCK_TOLD_RST };

enum smcr_sock_shut { SMCR_SOCK_SHUT_READ = 1, SMCR_SOCK_SHUT_WRITE = 2 };

/* Options that do not act on TCP alone. A child begins with its listener's. */
struct smcr_sock_options {
    uint64_t rcvtimeo_ns, sndtimeo_ns; /* NET_TIME_NONE: none */
    int rcvlowat;
    int linger_s; /* -1: SO_LINGER is off */
    bool is_oob_inline, is_nodelay, is_corked, is_keepalive;
    uint32_t rcvbuf_bytes, sndbuf_bytes; /* as the application set them; 0: it did not */
};

/* Of a connection that fell back to TCP. */
struct smcr_sock_fallback {
    uint32_t diagnosis;
    bool is_declined_by_peer;
    bool may_cross; /* what comes first may be the Decline of `peer_id`, which is no data (SMCR-FBK-05) */
    uint8_t peer_id[SMCR_PEER_ID_BYTES];
};

struct smcr_sock {
    struct smcr_sock *all_next, **all_prev, *ino_next, *dead_next, *offer_next, *orphan_next;
    unsigned refs;    /* the application's descriptors together, the core's connection, calls that run */
    unsigned num_fds; /* of the application, that we know */
    enum smcr_sock_state state;
    enum smcr_sock_life life;
    enum smcr_sock_offer offer;
    unsigned shut; /* enum smcr_sock_shut, by the application */
    int tcp_fd;    /* -1: closed */
    struct smcr_mirror mirror;
    struct smcr_rt_source tcp_source, inner_source;
    struct smcr_conn *conn; /* NULL: none */

    uint32_t seq;                                  /* a futex: grows with each event */
    unsigned waiters, rx_waiters, connect_waiters; /* the last two of the first */

    bool is_in_offers; /* its TCP bytes wait for the core */
    bool has_seen_end; /* of SMCR: the peer had ended its side */
    bool has_reported; /* connect() has told that it is connected */
    enum smcr_sock_told told;
    int error;          /* SO_ERROR: positive; 0: none */
    const char *reason; /* of plain TCP or of the error; static */
    struct smcr_sock_fallback fallback;
    uint8_t *unsent; /* CLC bytes that TCP did not take */
    size_t unsent_bytes;

    /* of a listener */
    int backlog;
    struct smcr_sock *ready, **ready_end; /* children to be accepted: next_ready */
    unsigned num_ready, num_negotiating;
    uint64_t crowded_ns; /* full: when the next clients are let in all the same; NET_TIME_NONE: it is not */
    /* of a child, until it is accepted */
    struct smcr_sock *parent, *next_ready;

    struct smcr_sock_options options;

    /* Of a connection that is lent to another process (service/): it has no descriptor here, and whoever
     * lends it asks for the news by smcr_sock_next_news(). */
    void *loan;           /* NULL: it is not */
    bool is_handed_over;  /* its program has the TCP socket, whose options are the program's */
    pid_t loan_pid;       /* of the process that borrowed it */
    const char *declines; /* as smcr_conn_config has it */
    struct smcr_sock *news_next;
    short news; /* POLLIN, POLLOUT, POLLPRI */
    bool is_in_news;
};

static inline bool smcr_sock_is_closing(const struct smcr_sock *s)
{
    return s->life != SMCR_SOCK_OPEN;
}

/* Its bytes go, or went, by RDMA. */
static inline bool smcr_sock_is_smcr(const struct smcr_sock *s)
{
    return s->state == SMCR_SOCK_SMCR || s->state == SMCR_SOCK_RESET;
}

static inline bool smcr_sock_is_pending(const struct smcr_sock *s)
{
    return s->state == SMCR_SOCK_CONNECTING || s->state == SMCR_SOCK_NEGOTIATING;
}

/* --- sockets.c: table and life --- */

/* A socket of a TCP socket (taken over); refs 1: the application's. NULL: no memory. */
struct smcr_sock *smcr_sock_new(int tcp_fd);
/* Gives it a descriptor. Returns that or -errno. */
int smcr_sock_add_fd(struct smcr_sock *s, int flags);
/* A fresh end in the place of descriptor `fd`, whose old one has failed. 0 or -errno. */
int smcr_sock_renew_fd(struct smcr_sock *s, int fd, int flags);
/* The socket that descriptor `fd` is of; NULL: none of ours. */
struct smcr_sock *smcr_sock_find(int fd);
/* The same by the descriptor's other end, whether or not it was seen before; nothing is remembered. */
struct smcr_sock *smcr_sock_behind(int fd);
void smcr_sock_ref(struct smcr_sock *s);
/* The last one frees it, later, by the thread. */
void smcr_sock_unref(struct smcr_sock *s);
void smcr_sock_close_tcp(struct smcr_sock *s);
void smcr_sock_close_mirror(struct smcr_sock *s);
/* Whether descriptor `fd` is one of the socket's now. Applications may close and reuse it behind our back. */
bool smcr_sock_owns_fd(const struct smcr_sock *s, int fd);
/* Frees the sockets that are over: by the thread, which may hold events of them, or when there is none. */
void smcr_sock_reap(void);

/* --- ready.c: what poll() sees --- */

/* Sets the mirror to what is. `fd`: a descriptor of the application in whose call this runs, or -1: then
 * levels only go up. `news`: POLLIN, POLLOUT that are new and make edges. */
void smcr_sock_sync(struct smcr_sock *s, int fd, short news);
/* The same, and wakes all who wait. */
void smcr_sock_notify(struct smcr_sock *s, short news);
/* The next socket that is lent and to which something has happened since it was asked last, with what made
 * edges; NULL: none. It stays in memory at least until the next call of smcr_sock_reap(). */
struct smcr_sock *smcr_sock_next_news(short *news);
/* Takes the pending error. Returns -errno or 0. */
int smcr_sock_take_error(struct smcr_sock *s);

/* --- tcp.c: the TCP connection beside --- */

/* Watches it from now on. 0 or -errno. */
int smcr_sock_watch_tcp(struct smcr_sock *s);
/* Before the first SYN, or listen(): offers SMC-R, or says in `reason` why not. */
void smcr_sock_offer(struct smcr_sock *s);
/* Whom an established TCP socket is connected with; an IPv4 address as that. 0 or -errno. */
int smcr_sock_peer_addr(int tcp_fd, struct nornic_addr *out);
/* TCP is established: negotiates, or is plain. */
void smcr_sock_on_established(struct smcr_sock *s, enum smcr_role role);
/* The same where it is known that both ends want SMC-R: negotiates. */
void smcr_sock_negotiate(struct smcr_sock *s, enum smcr_role role);
/* What TCP did not take of CLC messages. */
void smcr_sock_send_rest(struct smcr_sock *s);
/* Gives bytes that have come to the core, and tells it the end. */
void smcr_sock_offer_tcp(struct smcr_sock *s);
/* Of one whose bytes go by TCP: whether it is settled if a Decline comes before them, which is taken out of
 * the stream (SMCR-FBK-05). False: more has to come to know. */
bool smcr_sock_settle_crossed(struct smcr_sock *s);
/* From now on bytes go by TCP. */
void smcr_sock_become_tcp(struct smcr_sock *s, const char *reason);
/* Ends it with RST, but keeps the descriptor. */
void smcr_sock_reset_tcp(struct smcr_sock *s);
/* SO_KEEPALIVE and TCP_KEEPIDLE into the core (SMCR-KAL-01). */
void smcr_sock_apply_keepalive(struct smcr_sock *s);
/* An option of the TCP socket that is a number. */
int smcr_sock_int_option(const struct smcr_sock *s, int level, int name);

/* --- end.c: closing --- */

/* The application has no descriptor of it any more. */
void smcr_sock_final_close(struct smcr_sock *s);
/* All that it had is over: frees it. */
void smcr_sock_finish(struct smcr_sock *s);
/* As the kernel resets what nobody has accepted when a listener is closed. */
void smcr_sock_drop_children(struct smcr_sock *s);

/* --- listener.c --- */

/* Takes in who has come. 0, or the -errno of what keeps it from that. */
int smcr_sock_pump_listener(struct smcr_sock *s);
/* A child has ended negotiating; `is_ready`: it can be accepted. */
void smcr_sock_child_done(struct smcr_sock *s, bool is_ready);
/* Listeners that are full for so long that their clients would give up. */
void smcr_sock_relieve_listeners(uint64_t now_ns);

/* --- events.c: what the core and TCP say --- */

void smcr_sock_on_conn_event(struct smcr_sock *s, unsigned events);
void smcr_sock_on_tcp(struct smcr_sock *s, uint32_t events);
/* Something is at the inner end of the descriptor: `events` of epoll. */
void smcr_sock_on_inner(struct smcr_sock *s, uint32_t events);

/* --- progress.c: calls --- */

/* Takes the lock and finds the socket; NULL, without the lock: none of ours. smcr_sock_leave() gives both
 * back. */
struct smcr_sock *smcr_sock_enter(int fd);
void smcr_sock_leave(struct smcr_sock *s);
/* smcr_sock_leave() with the result of a call: -errno becomes -1 and errno. */
ssize_t smcr_sock_leave_with(struct smcr_sock *s, ssize_t result);
/* Waits for the next event; the lock is given back meanwhile. 0, -EAGAIN (the deadline), -EINTR, or -EBADF:
 * the socket is over, and no event comes any more. While it waits the thread can be cancelled: that ends the
 * call, without the lock. */
enum smcr_sock_purpose { SMCR_SOCK_FOR_ANY, SMCR_SOCK_FOR_DATA, SMCR_SOCK_FOR_CONNECT };
int smcr_sock_wait(struct smcr_sock *s, enum smcr_sock_purpose purpose, uint64_t deadline_ns);
/* For connecting, and negotiating, to end; `timeout_ns` of the option that bounds the call. 0, or as
 * smcr_sock_wait(); -EAGAIN at once, where the call does not wait. */
int smcr_sock_wait_pending(struct smcr_sock *s, int fd, int flags, uint64_t timeout_ns);
bool smcr_sock_is_nonblocking(int fd, int flags);
uint64_t smcr_sock_deadline(uint64_t timeout_ns);
/* Around a call of the kernel on the TCP socket that may wait, be interrupted or cancelled: without the
 * lock. */
ssize_t smcr_sock_in_kernel(struct smcr_sock *s, ssize_t (*call)(int, struct msghdr *, int),
                            struct msghdr *msg, int flags);

#endif
