/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal to host/iwarp/cm/. */
#ifndef NORNIC_HOST_IW_CM_INNER_H
#define NORNIC_HOST_IW_CM_INNER_H

#include "host/event/ack_queue.h"
#include "host/iwarp/cm/cm.h"

/* How far an id has come.
 *
 *     IDLE -> ADDR -> ROUTE -> CONNECTING -----> STANDS -> ENDED     an id that connects
 *     IDLE -> LISTENING                                              a listener
 *             REQUESTED -> ACCEPTED -----------> STANDS -> ENDED     an id of a request to it */
enum host_iw_step {
    HOST_IW_IDLE,
    HOST_IW_ADDR,
    HOST_IW_ROUTE,
    HOST_IW_STARTED, /* TCP, then MPA */
    HOST_IW_LISTENING,
    HOST_IW_REQUESTED,
    HOST_IW_ACCEPTED, /* the Reply is not out yet */
    HOST_IW_STANDS,
    HOST_IW_ENDED
};

enum host_iw_family { HOST_IW_BOTH_FAMILIES, HOST_IW_IPV4, HOST_IW_IPV6 };

/* Whether an id that listens to addresses of `family` listens to `addr`. */
static inline bool host_iw_is_of_family(enum host_iw_family family, const struct nornic_addr *addr)
{
    return family == HOST_IW_BOTH_FAMILIES || (family == HOST_IW_IPV4) == nornic_addr_is_v4(addr);
}

/* A socket of an id that listens: one for each address. */
struct host_iw_listener {
    struct host_iw_fd socket;
    struct host_iw_id *id;
    struct nornic_addr addr;
    bool has_more; /* connections wait in the kernel */
    struct host_iw_listener *next;
};

struct host_iw_id {
    struct host_iw_cm *cm;
    void *ctx;

    /* under the device's lock */
    TAILQ_ENTRY(host_iw_id) of_all;
    enum host_iw_step step;
    bool has_stood;            /* ESTABLISHED was told */
    struct host_iw_conn *conn; /* NULL: none yet, or none any more */
    struct nornic_cm_endpoints ends;
    uint16_t src_port;                      /* to connect from; 0: one that the kernel chooses */
    uint8_t ird, ord;                       /* to connect with */
    uint64_t patience_ns, patient_until_ns; /* host_iw_cm_set_patience() */
    uint64_t again_ns;                      /* when to ask again after a refusal; 0: there was none */
    struct host_iw_tcp_options tcp;
    uint16_t private_bytes;
    uint8_t private_data[IWARP_MPA_PRIVATE_BYTES];
    /* of one that listens */
    struct host_iw_listener *listeners;
    bool follows_addrs;         /* at all that the device has, as they come and go, */
    enum host_iw_family family; /* of these */
    unsigned backlog, unanswered;
    unsigned silent;  /* connections that came and have no whole Request yet */
    bool has_waiting; /* Requests beyond the backlog */
    /* of a request */
    struct host_iw_id *listener; /* that counts it as unanswered; else NULL */

    struct host_ack_subject subject; /* under the lock of `cm->events` */
};

TAILQ_HEAD(host_iw_ids, host_iw_id);

struct host_iw_cm {
    struct host_dev_client client; /* of `iw->dev` */
    struct host_iw *iw;
    /* under the device's lock */
    struct host_iw_ids ids;
    unsigned addr_changes; /* of the device, that its listeners have followed */
    uint64_t retry_ns;     /* when to look at the listeners again; NET_TIME_NONE: when a socket says so */

    struct host_ack_queue events;
};

/* --- events: event.c; under the device's lock --- */

/* An event to fill in, and to raise; NULL: no memory, and nobody is told. */
struct host_iw_cm_event *host_iw_cm_event_new(struct host_iw_id *id, enum nornic_cm_event_type type,
                                              int status);
/* Puts the private data of the peer's frame into the event. */
void host_iw_cm_event_take_private(struct host_iw_cm_event *event, const struct iwarp_setup *setup);
void host_iw_cm_raise(struct host_iw_cm_event *event);
void host_iw_cm_event_drop(struct host_iw_cm_event *event);
/* As host_cm_drop_events(). */
struct host_iw_id *host_iw_cm_drop_events(struct host_iw_id *id);

/* --- events of connections: follow.c; under the device's lock --- */

/* Makes an id. NULL: no memory. */
struct host_iw_id *host_iw_cm_new_id(struct host_iw_cm *cm, enum host_iw_step step, void *ctx);
/* A connection has changed. */
void host_iw_cm_follow(struct host_iw_cm *cm, struct host_iw_conn *conn, uint64_t now_ns);
/* The READs and atomics that a Request asks this side to serve, and to make. One of revision 1, or without S,
 * tells none, and the programs know them. */
struct host_iw_depths {
    uint8_t responder_resources, initiator_depth;
};
struct host_iw_depths host_iw_cm_asked_depths(const struct iwarp_setup *setup);
/* A request was answered, or its id goes: another one may be told of. */
void host_iw_cm_answered(struct host_iw_id *id);

/* --- how they end: end.c; under the device's lock --- */

/* The id's connection has ended before it stood; or since, in good order or not. */
void host_iw_cm_tell_failure(struct host_iw_id *id);
void host_iw_cm_tell_disconnected(struct host_iw_id *id);

/* --- connecting: connect.c; under the device's lock --- */

/* A connection has a queue pair from now on. */
void host_iw_cm_join(struct host_iw_conn *conn, struct host_iw_qp *qp);
/* Begins a TCP connection for the id, by its `ends`, with the queue pair. An event tells of the kernel's
 * refusal, also of one at once. 0, -ENOMEM, or -errno of a socket that cannot be had. */
int host_iw_cm_start(struct host_iw_id *id, struct host_iw_qp *qp);
/* The id's connection has ended before it stood. False: that is all. True: it has another one now, which asks
 * for revision 1 of MPA (iwarp_qp_may_fall_back()), and the one that ended is gone; or nobody listened, and
 * it will have one in a moment. */
bool host_iw_cm_try_again(struct host_iw_id *id, uint64_t now_ns);

/* --- listening: listen.c; under the device's lock --- */

/* One socket. 0 or -errno. `*port` 0: a free one, which it says. */
int host_iw_cm_listen_on(struct host_iw_id *id, const struct nornic_addr *addr, uint16_t *port);
void host_iw_cm_stop_listening(struct host_iw_id *id);
/* Lets the listeners on all addresses follow the device's addresses, which have changed. */
void host_iw_cm_follow_addrs(struct host_iw_cm *cm);
/* Takes connections that have come. Returns whether there were any. */
bool host_iw_cm_take_incoming(struct host_iw_cm *cm, uint64_t now_ns);

#endif
