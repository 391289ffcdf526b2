/* SPDX-License-Identifier: BSD-2-Clause */
/* iWARP on a machine: the engine of iwarp/ over TCP connections of the kernel. A device of this kind has a
 * domain for its objects, the addresses that it is for, and an epoll descriptor for all of its sockets; its
 * connection manager (host/iwarp/cm/cm.h) makes the connections, and gives each a queue pair.
 *
 *     socket readable, writable --> a connection is active --> octets in, octets out (conn.c)
 *     a post, a deadline ---------^                            changes: news for the CM
 *
 * Everything here is under the device's lock, unless its comment says otherwise. Internal to host/. */
#ifndef NORNIC_HOST_IW_H
#define NORNIC_HOST_IW_H

#include <stdatomic.h>
#include <sys/queue.h>

#include "host/dev/dev.h"
#include "host/port/open.h"
#include "iwarp/qp.h"
#include "nornic/cm.h"
#include "net/kernel/watch.h"
#include "rdma/numbers.h"
#include "rdma/timer.h"

#define HOST_IW_MAX_QP     16384u
#define HOST_IW_QPNS       0xfffffdu /* 24 bits but for 0, 1 and 0xffffff */
#define HOST_IW_MAX_MR     65536u
#define HOST_IW_MAX_CONNS  (2 * HOST_IW_MAX_QP) /* with those that have no queue pair yet, or no more */
#define HOST_IW_MAX_DEPTH  128u                 /* READs and atomics of a queue pair, each way */
#define HOST_IW_MAX_ADDRS  NORNIC_GID_MAX
#define HOST_IW_NAME_BYTES 80u
#define HOST_IW_RX_BYTES   262144u /* of one read */

/* A descriptor in the device's epoll set. */
struct host_iw_fd {
    int fd; /* -1: closed */
    /* `events` of epoll. Notes them and frees nothing: others of the same round may be next. Whether there
     * is now something to do for a round. */
    bool (*ready)(struct host_iw_fd *self, uint32_t events);
    uint32_t place; /* the set's */
};

/* That set: set.c. */
struct host_iw_set {
    int fd;                       /* epoll */
    struct host_iw_place *places; /* the socket of each event */
    uint32_t place_count, first_free;
    bool was_told; /* a sleeper has told the sockets: the next round need not ask */
};

/* Options of TCP for a connection. All zero: the kernel's own choice. */
struct host_iw_tcp_options {
    bool has_traffic_class;
    uint8_t traffic_class; /* of packets that leave: IPv6's, IPv4's type of service, but for its ECN bits */
    uint32_t user_timeout_ms; /* how long data may be unacknowledged (RFC 5482); 0: TCP's own limit */
};

enum host_iw_tcp { HOST_IW_CONNECTING, HOST_IW_OPEN, HOST_IW_CLOSED };

/* The readiness of a connection's socket. */
struct host_iw_ready {
    bool is_readable, is_writable;
    bool is_bulk; /* the last read was a long one: more gathers while the set is asked */
};

/* The ends of both halves of a connection. */
struct host_iw_halves {
    bool is_fin_near; /* a FIN, or an error, is in the socket: it is read until that comes */
    bool has_fin;     /* of the peer */
    bool is_shut;     /* the own half has ended */
};

/* One TCP connection. The CM makes it, and lets it go; it is freed when it is closed and nobody's. */
struct host_iw_conn {
    struct host_iw_fd socket;
    struct host_iw *iw;
    enum host_iw_tcp tcp;
    int err; /* CLOSED: -errno of TCP, or 0: it ended as this side asked or by a FIN */
    struct host_iw_ready ready;
    struct host_iw_halves halves;
    bool is_port_named;       /* by the program: another one of the id would come from the same */
    unsigned look;            /* the state that the CM was told last */
    bool ends_are_known;      /* the CM's: it has asked the kernel for them */
    struct host_iw_qp *qp;    /* NULL: a responder's set-up, before there is one; or it is gone */
    struct iwarp_setup setup; /* of such a one */
    uint64_t emss_checked_ns;
    struct rdma_timer timer;
    uint64_t end_ns; /* CONNECTING, or a refusal without a queue pair: then it has failed; 0: none */
    void *owner;     /* the CM's */
    bool is_active, has_news;
    TAILQ_ENTRY(host_iw_conn) of_all, of_active, of_news;
};

TAILQ_HEAD(host_iw_conns, host_iw_conn);

/* A queue pair, which may have no connection yet, or none any more. */
struct host_iw_qp {
    struct iwarp_qp *engine;
    struct host_iw *iw;
    struct host_iw_conn *conn; /* or NULL */
    /* Posts: any thread. */
    struct host_iw_qp *next_posted;
    atomic_bool is_posted; /* it is on the list of those */
    TAILQ_ENTRY(host_iw_qp) of_all;
};

/* The queue pair around its neutral half `base`, which must be one of iWARP. */
static inline struct host_iw_qp *host_iw_qp_of(const struct rdma_qp *base)
{
    return iwarp_qp_of((struct rdma_qp *)base)->owner;
}

TAILQ_HEAD(host_iw_qps, host_iw_qp);
TAILQ_HEAD(host_iw_partings, host_iw_parting);

/* The counters of an iWARP device: X(name). */
#define HOST_IW_COUNTERS(X) \
    X(rx_bytes)             \
    X(tx_bytes)             \
    X(rx_calls)             \
    X(tx_calls)             \
    X(connected)            \
    X(accepted)             \
    X(resets)

struct host_iw_counters {
#define HOST_IW_COUNTER_MEMBER_(name) uint64_t name;
    HOST_IW_COUNTERS(HOST_IW_COUNTER_MEMBER_)
#undef HOST_IW_COUNTER_MEMBER_
};

struct host_iw {
    struct host_dev *dev;
    struct rdma_domain *domain;
    struct nornic_iwarp_config config;
    uint8_t traffic_class, hop_limit; /* of the sockets; 0: the kernel's */
    char name[HOST_IW_NAME_BYTES];    /* of the port */
    struct net_interface interface;
    struct nornic_addr only; /* the one address that it is for; zero: those of the interface */
    struct nornic_addr addrs[HOST_IW_MAX_ADDRS];
    unsigned addr_count;
    unsigned addr_changes; /* how often they have changed */
    struct net_watch *watch;
    struct host_source news; /* of `watch` */
    struct host_iw_set set;
    unsigned looks;                         /* for octets that have come */
    struct host_iw_fd bell, timer, sources; /* the device's, in `set`: they end sleeps */
    uint8_t *rx;                            /* octets between the socket and the engine */
    struct host_iw_conns conns, active, changed;
    unsigned conn_count;
    struct host_iw_qps qps;
    unsigned qp_count;
    struct host_iw_partings partings, partings_ready; /* part.c; in the order of their deadlines */
    unsigned parting_count;
    struct rdma_timer partings_timer; /* of the first */
    struct rdma_numbers qpns;
    uint32_t qps_made;
    struct rdma_timers timers;
    _Atomic(struct host_iw_qp *) posted; /* a stack: pushed by any thread, taken whole by a round */
    struct host_iw_counters counters;
};

/* --- the device: dev.c --- */

/* Opens a device of `transport` on "iwarp:ADDRESS", "iwarp:ADDRESS%IFACE" or "iwarp:IFACE", as `name` has
 * it. 0 or -errno with a sentence. */
int host_iw_open(const struct host_transport *transport, const struct host_dev_config *config,
                 const struct host_port_name *name, struct host_dev **out, struct nornic_error *why);
/* Its part of the rounds. */
extern const struct host_drive host_iw_drive;

/* Whether `addr` is one of the device's; and the one to connect from to `dst`, by the kernel's routes
 * if there is a choice: 0, -EADDRNOTAVAIL, or -EHOSTUNREACH. The latter is called without the lock. */
bool host_iw_has_addr(const struct host_iw *iw, const struct nornic_addr *addr);
int host_iw_source(struct host_iw *iw, const struct nornic_addr *dst, struct nornic_addr *out);

/* --- the epoll set: set.c --- */

/* 0 or -errno. */
int host_iw_set_init(struct host_iw_set *set);
void host_iw_set_deinit(struct host_iw_set *set);
/* `events` of epoll. 0 or -errno. The socket stays at its address until it is closed. */
int host_iw_set_add(struct host_iw_set *set, struct host_iw_fd *socket, uint32_t events);
/* Takes a socket out of the set, and closes it. close() alone is not enough: a child of the program may have
 * a copy of the descriptor, and epoll reports events until all copies are closed. */
void host_iw_set_close(struct host_iw_set *set, struct host_iw_fd *socket);
/* Moves a socket of the set from `from` to `to`, of which `ready` is filled in: `to` gets its events from now
 * on. `from` has none any more. */
void host_iw_set_move(struct host_iw_set *set, struct host_iw_fd *from, struct host_iw_fd *to);
/* Tells each socket its events. Whether there is something to do. */
bool host_iw_set_look(struct host_iw_set *set);
/* The same after a sleep, which ends when something happens, or after `timeout_ns`. Called without the
 * lock. */
void host_iw_set_sleep(struct host_iw_set *set, struct host_dev *dev, uint64_t timeout_ns);

/* --- connections: conn.c --- */

/* Takes over `fd`, a non-blocking TCP socket: connecting (`end_ns`: how long it may), or connected. NULL: no
 * memory, or as many as there may be; then it is closed. */
struct host_iw_conn *host_iw_conn_new(struct host_iw *iw, int fd, bool is_connecting, uint64_t end_ns);

/* Sets them for a socket of TCP, connected or to be. Options that the kernel refuses are left out. */
void host_iw_set_tcp_of_dev(int fd, const struct host_iw *iw); /* first: options of the device */
void host_iw_set_tcp(int fd, const struct host_iw_tcp_options *options);

/* It has something to do. */
void host_iw_conn_activate(struct host_iw_conn *conn);
/* Lets it look for octets that nobody has told of. False: it does so anyway, takes none, has much to take, or
 * waits for TCP to take some, which only the set tells. */
bool host_iw_conn_ask(struct host_iw_conn *conn);
/* Octets in; and out, as far as TCP takes them, at most a round's share. Whether there were any. */
bool host_iw_conn_receive(struct host_iw_conn *conn, uint64_t now_ns);
bool host_iw_conn_send(struct host_iw_conn *conn, uint64_t now_ns);
/* Its timer fired. */
void host_iw_conn_expire(struct host_iw_conn *conn, uint64_t now_ns);
/* After each step of its engine that was made by another caller: treats TCP as the engine wants, and sets
 * the timer. */
void host_iw_conn_settle(struct host_iw_conn *conn);
/* One that has ended: it is news again at that time. */
void host_iw_conn_recall(struct host_iw_conn *conn, uint64_t due_ns);
/* Ends it at once; with a reset, or in the order of TCP: if the peer's FIN is still to come after ours,
 * its socket parts (host_iw_part()). */
void host_iw_conn_close(struct host_iw_conn *conn, bool is_reset, int err);
/* Its addresses and TCP ports, as the kernel says. */
void host_iw_conn_ends(const struct host_iw_conn *conn, struct nornic_cm_endpoints *out);
/* The next connection with a change of state since the last call about it, or NULL. */
struct host_iw_conn *host_iw_take_news(struct host_iw *iw);
/* Frees it if it is closed and nobody's. The caller has it no longer. */
void host_iw_conn_release(struct host_iw_conn *conn);

/* --- sockets of streams that this side has ended: part.c --- */

void host_iw_part_init(struct host_iw *iw);
/* Closes them all, whatever the peers have got. */
void host_iw_part_deinit(struct host_iw *iw);
/* Takes over a socket of the set with its sending half shut down: it is read, and closed when the peer's FIN
 * has come, or IWARP_CLOSE_WAIT_NS have passed without it and with nothing more acknowledged. False: no
 * memory, and nothing has changed. */
bool host_iw_part(struct host_iw *iw, struct host_iw_fd *socket);
/* Reads those that have something. Whether there were any. */
bool host_iw_part_round(struct host_iw *iw);
/* Waits until the peers' TCP has acknowledged all that was sent on streams that this side has ended,
 * `limit_ns` at most. Called without the lock, at the end of the device or of the process. */
void host_iw_see_off(struct host_iw *iw, uint64_t limit_ns);

/* --- queue pairs: qp.c --- */

/* 0, -EINVAL, -EOPNOTSUPP (a type that iWARP has not), -ENOSPC or -ENOMEM. Takes the lock, as do those
 * below. */
int host_iw_qp_create(struct host_iw *iw, const struct iwarp_qp_config *config, struct host_iw_qp **out);
/* Waits until events about it are acknowledged. A stream that is open ends in good order, as far as TCP takes
 * that at once; else it is reset. */
void host_iw_qp_destroy(struct host_iw_qp *qp);
/* To ERR: ends the stream at once. INIT of one that is there already: nothing. 0, -EINVAL, or -EOPNOTSUPP:
 * another state, which only connecting leads to. */
int host_iw_qp_modify(struct host_iw_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask);
void host_iw_qp_query(struct host_iw_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps);

/* The queue pairs that were posted to, by any thread, since the last call become active. */
void host_iw_take_posted(struct host_iw *iw, uint64_t now_ns);

#endif
