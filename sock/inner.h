/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket, as the files of sock/ share it. Everything in it is under the runtime's lock. */
#ifndef NORNIC_SOCK_INNER_H
#define NORNIC_SOCK_INNER_H

#include "sock/mirror.h"
#include "sock/runtime.h"

enum smcr_sock_state {
    SMCR_SOCK_NEW, /* fresh, maybe bound */
    SMCR_SOCK_LISTENING,
    SMCR_SOCK_CONNECTING,  /* a SYN is on its way */
    SMCR_SOCK_NEGOTIATING, /* both options were seen: the core talks CLC and LLC (SMCR-ARC-02) */
    SMCR_SOCK_SMCR,        /* bytes go by RDMA */
    SMCR_SOCK_TCP,         /* bytes go by TCP */
    SMCR_SOCK_FAILED,      /* connecting failed */
};

struct smcr_sock {
    struct smcr_sock *all_next, **all_prev, *ino_next, *dead_next, *offer_next;
    unsigned refs;    /* the application's descriptors together, the core's connection, calls that run */
    unsigned num_fds; /* of the application, that we know */
    bool is_dead, is_offered, is_finished;
    enum smcr_sock_state state;
    int tcp_fd; /* -1: closed */
    struct smcr_mirror mirror;
    struct smcr_rt_source tcp_source, inner_source;
    struct smcr_conn *conn; /* NULL: none */

    uint32_t seq;                                  /* a futex: grows with each event */
    unsigned waiters, rx_waiters, connect_waiters; /* the last two of the first */

    /* why and how */
    bool tcp_only;   /* asked for, or needed: SMCR-REN-06 */
    bool wants;      /* the option was asked for */
    bool is_closing; /* the application has given it back */
    bool is_reset;   /* of SMCR: ended abnormally */
    bool saw_eof;    /* of SMCR: the peer had ended its side */
    bool has_shut_write, has_shut_read;
    bool has_reported;  /* connect() has told that it is connected */
    bool has_tcp_ended; /* the core was told */
    int error;          /* SO_ERROR: positive; 0: none */
    const char *reason; /* of plain TCP or of the error; static */
    uint32_t diagnosis;
    bool declined_by_peer;
    bool may_cross; /* of TCP: what comes first may be the Decline of `peer_id`, which is no data */
    uint8_t peer_id[SMCR_PEER_ID_BYTES];
    uint8_t *unsent; /* CLC bytes that TCP did not take */
    size_t unsent_bytes;

    /* of a listener */
    int backlog;
    struct smcr_sock *ready, **ready_end; /* children to be accepted: next_ready */
    unsigned num_ready, num_negotiating;
    /* of a child, until it is accepted */
    struct smcr_sock *parent, *next_ready;
    bool is_ready;

    /* options that do not act on TCP alone; a child has its listener's */
    uint64_t rcvtimeo_ns, sndtimeo_ns; /* NET_TIME_NONE: none */
    int rcvlowat;
    bool oob_inline, nodelay, cork, keepalive;
    bool linger_on;
    int linger_s;
    uint32_t rcvbuf_bytes, sndbuf_bytes; /* as the application set them; 0: it did not */
};

/* --- sockets.c: table and life --- */

/* A socket of a TCP socket (taken over); refs 1: the application's. NULL: no memory. */
struct smcr_sock *smcr_sock_new(int tcp_fd);
/* Gives it a descriptor. Returns that or -errno. */
int smcr_sock_add_fd(struct smcr_sock *s, int flags);
/* A fresh end in the place of descriptor `fd`, whose old one has failed. 0 or -errno. */
int smcr_sock_renew_fd(struct smcr_sock *s, int fd, int flags);
void smcr_sock_ref(struct smcr_sock *s);
/* The last one frees it, later, by the thread. */
void smcr_sock_unref(struct smcr_sock *s);
/* Takes the lock and finds the socket; NULL, without the lock: none of ours. smcr_sock_leave() gives both
 * back. */
struct smcr_sock *smcr_sock_enter(int fd);
void smcr_sock_leave(struct smcr_sock *s);
/* smcr_sock_leave() with the result of a call: -errno becomes -1 and errno. */
ssize_t smcr_sock_leave_with(struct smcr_sock *s, ssize_t result);
/* Forgets a descriptor. */
void smcr_sock_forget_fd(int fd);
void smcr_sock_close_tcp(struct smcr_sock *s);
void smcr_sock_close_mirror(struct smcr_sock *s);
/* Whether descriptor `fd` is one of the socket's now. Applications may close and reuse it behind our back. */
bool smcr_sock_owns_fd(const struct smcr_sock *s, int fd);

/* --- events.c: readiness, waiting, the core's events --- */

/* Sets the mirror to what is. `fd`: a descriptor of the application in whose call this runs, or -1: then
 * levels only go up. `news`: POLLIN, POLLOUT that are new and make edges. */
void smcr_sock_sync(struct smcr_sock *s, int fd, short news);
/* The same, and wakes all who wait. */
void smcr_sock_notify(struct smcr_sock *s, short news);
/* Waits for the next event; the lock is given back meanwhile. 0, -EAGAIN (the deadline), -EINTR, or -EBADF:
 * the socket is over, and no event comes any more. */
int smcr_sock_wait(struct smcr_sock *s, uint64_t deadline_ns);
bool smcr_sock_is_nonblocking(int fd, int flags);
uint64_t smcr_sock_deadline(uint64_t timeout_ns);
void smcr_sock_on_conn_event(struct smcr_sock *s, unsigned events);
/* SO_KEEPALIVE and TCP_KEEPIDLE into the core (SMCR-KAL-01). */
void smcr_sock_apply_keepalive(struct smcr_sock *s);
/* Takes the pending error. Returns -errno or 0. */
int smcr_sock_take_error(struct smcr_sock *s);

/* --- tcp.c: the TCP connection beside --- */

/* Watches it from now on. 0 or -errno. */
int smcr_sock_watch_tcp(struct smcr_sock *s);
void smcr_sock_on_tcp(struct smcr_sock *s, uint32_t events);
/* TCP is established: negotiates, or is plain. */
void smcr_sock_on_established(struct smcr_sock *s, enum smcr_role role);
/* Gives bytes that have come to the core, and tells it the end. */
void smcr_sock_offer_tcp(struct smcr_sock *s);
/* From now on bytes go by TCP. */
void smcr_sock_become_tcp(struct smcr_sock *s, const char *reason);
/* Ends it with RST, but keeps the descriptor. */
void smcr_sock_reset_tcp(struct smcr_sock *s);
/* Whether the SYN may have the option. */
bool smcr_sock_may_offer(const struct smcr_sock *s);
/* Why not, in words. */
const char *smcr_sock_why_not(const struct smcr_sock *s);

/* --- accept.c --- */

void smcr_sock_pump_listener(struct smcr_sock *s, int *error);
/* A child has ended negotiating; `ok`: it can be accepted. */
void smcr_sock_child_done(struct smcr_sock *s, bool ok);
void smcr_sock_drop_children(struct smcr_sock *s);

/* --- close.c --- */

/* The application has no descriptor of it any more. */
void smcr_sock_final_close(struct smcr_sock *s);
/* All that it had is over: frees it. */
void smcr_sock_finish(struct smcr_sock *s);

#endif
