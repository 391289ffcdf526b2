/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside host/cm.h. */
#ifndef NORNIC_HOST_CM_INNER_H
#define NORNIC_HOST_CM_INNER_H

#include <pthread.h>

#include "host/cm.h"
#include "host/sources.h"
#include "net/kernel.h"

/* An event, from when it is raised until it is acknowledged. */
struct host_cm_record {
    struct host_cm_event event; /* first: callers hold a pointer to it */
    struct host_cm *cm;
    struct host_cm_record *next;
};

/* How far the application has come with an id that it connects; afterwards the engine knows. */
enum host_cm_step {
    HOST_CM_IDLE,
    HOST_CM_ADDR_QUERY,
    HOST_CM_ADDR_RESOLVED,
    HOST_CM_ROUTE_RESOLVED,
    HOST_CM_USED
};

struct host_cm_group {
    struct nornic_addr addr;
    struct host_cm_group *next;
};

struct host_cm_id {
    struct host_cm *cm;
    struct roce_cm_id *engine;
    void *ctx;

    /* under the device's lock */
    struct host_cm_id *next, **at; /* all ids of the CM */
    enum host_cm_step step;
    struct roce_cm_route route;
    struct host_source source; /* of `query` */
    struct net_neighbour_query *query;
    uint64_t query_end_ns;
    struct host_cm_record *record; /* for how resolving ends; NULL: it has not begun, or has ended */
    struct host_cm_group *groups;
    struct roce_qp *qp;         /* of its connection: whose COMM_EST the CM is told */
    uint32_t qpn;               /* of `qp` */
    struct host_cm_id **bucket; /* the same */
    struct host_cm_id *next_of_qp;
    bool has_seen_data; /* COMM_EST was raised and the CM has not been told */

    /* under the CM's lock */
    unsigned unacknowledged; /* events taken */
    bool is_closing;         /* no event about it may be taken any more */
    bool is_unseen;          /* of a request: until that is taken, nothing else about it may be */
};

#define HOST_CM_QP_BUCKETS 256

struct host_cm {
    struct host_dev *dev;
    struct host_cm_config config;
    struct roce_cm *engine;

    /* under the device's lock */
    struct host_cm_id *ids;
    struct host_cm_id *by_qp[HOST_CM_QP_BUCKETS];
    bool has_seen_data;           /* an id has */
    uint64_t query_end_ns;        /* the first end of a query; NET_TIME_NONE: none runs */
    struct host_cm_record *spare; /* memory for the next event of the engine */
    struct host_cm_id *spare_id;

    /* The last to be taken: nothing is called with it held. */
    pthread_mutex_t lock;
    pthread_cond_t acknowledged;
    int fd;
    bool is_signalled;
    struct host_cm_record *first, **end;
};

/* --- events: cm_event.c --- */

/* 0 or -errno. */
int host_cm_events_init(struct host_cm *cm);
void host_cm_events_deinit(struct host_cm *cm);

/* An event to fill in; NULL: no memory. */
struct host_cm_record *host_cm_record_new(struct host_cm *cm, struct host_cm_id *id,
                                          enum nornic_cm_event_type type);
void host_cm_raise(struct host_cm_record *record);

/* Under the device's lock, after each call that may have made the engine raise some: takes them over. Without
 * memory they wait there. */
void host_cm_take_over(struct host_cm *cm);

/* No event about `id` is taken any more; waits until those that were are acknowledged. */
void host_cm_close_events(struct host_cm_id *id);
/* Drops the events about `id` that nobody took. Returns one id of a request that came to it, which nobody has
 * seen, or NULL when there is none any more. */
struct host_cm_id *host_cm_drop_events(struct host_cm_id *id);

/* --- ids: cm_id.c; under the device's lock --- */

void host_cm_link_id(struct host_cm *cm, struct host_cm_id *id, struct roce_cm_id *engine);
void host_cm_set_qp(struct host_cm_id *id, struct roce_qp *qp);
/* A path to `dst` from a GID of the device. */
struct roce_cm_path host_cm_path(unsigned sgid_index, const struct nornic_addr *dst,
                                 const struct nornic_mac *mac);
/* The GID of an address, of the configured type, or -ENOENT. */
int host_cm_find_gid(const struct host_cm *cm, const struct nornic_addr *addr);
/* The first GID of the configured type that can send to `dst`: of its family and, where possible, scope. */
int host_cm_gid_for(const struct host_cm *cm, const struct nornic_addr *dst);

/* --- addresses: cm_resolve.c --- */

/* Under the device's lock: ends a query that runs. */
void host_cm_stop_query(struct host_cm_id *id);
void host_cm_expire_queries(struct host_cm *cm, uint64_t now_ns);

/* --- multicast: cm_multicast.c --- */

/* Under the device's lock. */
void host_cm_leave_all(struct host_cm_id *id);

/* --- what the device calls, under its lock --- */

bool host_cm_round(struct host_cm *cm, uint64_t now_ns);
uint64_t host_cm_deadline_ns(const struct host_cm *cm);
/* A QP has got its first packet before it was in RTS: roce_cm_notify_established(). May be called inside the
 * engine. */
void host_cm_comm_est(struct host_cm *cm, const struct roce_qp *qp);
/* QP `qpn` has been destroyed, maybe before its id (librdmacm's order). */
void host_cm_qp_gone(struct host_cm *cm, uint32_t qpn);
/* The interface is no more. */
void host_cm_removed(struct host_cm *cm);
/* A GID is no more, or has another MAC. */
void host_cm_addr_changed(struct host_cm *cm, unsigned sgid_index);

#endif
