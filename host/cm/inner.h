/* SPDX-License-Identifier: BSD-2-Clause */
/* Internal to host/cm/. */
#ifndef NORNIC_HOST_CM_INNER_H
#define NORNIC_HOST_CM_INNER_H

#include "host/event/ack_queue.h"
#include "host/cm/cm.h"
#include "host/cm/note.h"
#include "host/dev/dev.h"
#include "host/dev/sources.h"
#include "net/kernel/kernel.h"

/* An event, from when it is raised until it is acknowledged. */
struct host_cm_record {
    struct host_cm_event event; /* callers hold a pointer to it */
    struct host_cm *cm;
    struct host_ack_event base;
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
    bool is_send_only; /* the device is no member for this id */
    struct host_cm_group *next;
};

struct host_cm_id {
    struct host_cm *cm;
    struct roce_cm_id *engine;
    enum nornic_port_space space;
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
    uint64_t leased;            /* the service id that it listens to; 0: none */
    struct roce_qp *qp;         /* of its connection: the CM is told of its COMM_EST */
    struct host_cm_id **bucket; /* of `qp` */
    struct host_cm_id *next_of_qp;
    bool has_seen_data; /* COMM_EST was raised and the CM has not been told */

    struct host_ack_subject
        subject; /* under the lock of `cm->events`; of a request: held until that is taken */
};

#define HOST_CM_QP_BUCKETS 256

struct host_cm {
    struct host_dev_client client; /* of `dev` */
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

    struct host_ack_queue events;

    /* beside other processes on the interface: share.c */
    struct host_cm_lease *leases; /* the service ids that are listened to */
    int qp1_fd;                   /* the claim to refuse unknown requests; negative: not ours */
    uint64_t claims_read_ns;      /* when the claims of a service were last asked for */
    bool is_alone;                /* until `alone_end_ns` */
    uint64_t alone_end_ns;

    struct host_cm_notes notes;
};

/* --- events: event.c --- */

/* An event to fill in; NULL: no memory. */
struct host_cm_record *host_cm_record_new(struct host_cm *cm, struct host_cm_id *id,
                                          enum nornic_cm_event_type type);
void host_cm_raise(struct host_cm_record *record);

/* Under the device's lock, after each call that may have made the engine raise some: takes them over. Without
 * memory they wait there. */
void host_cm_take_over(struct host_cm *cm);

/* Drops the events about `id` that nobody took. Returns one id of a request that came to it, which nobody has
 * seen, or NULL when there is none any more. */
struct host_cm_id *host_cm_drop_events(struct host_cm_id *id);

/* --- the ids of a CM: index.c; under the device's lock --- */

void host_cm_link_id(struct host_cm *cm, struct host_cm_id *id, struct roce_cm_id *engine);
void host_cm_unlink_id(struct host_cm_id *id);
/* The QP of its connection; NULL: none any more. */
void host_cm_set_qp(struct host_cm_id *id, struct roce_qp *qp);
/* Returns the first id of the QP; NULL: there is none. */
struct host_cm_id *host_cm_first_of_qp(struct host_cm *cm, const struct roce_qp *qp);

/* --- paths: path.c; under the device's lock --- */

/* A path to `dst` from a GID of the device. */
struct roce_cm_path host_cm_path(unsigned sgid_index, const struct nornic_addr *dst,
                                 const struct nornic_mac *mac);
/* The GID of an address, of the configured type, or -ENOENT. */
int host_cm_find_gid(const struct host_cm *cm, const struct nornic_addr *addr);
/* The first GID of the configured type that can send to `dst`: of its family and, if possible, scope. */
int host_cm_gid_for(const struct host_cm *cm, const struct nornic_addr *dst);

/* --- other processes: share.c; under the device's lock --- */

/* Claims a service id for an id that listens. 0; -EADDRINUSE: another process listens to it; or -ENOMEM. */
int host_cm_lease(struct host_cm *cm, uint64_t service_id);
void host_cm_release(struct host_cm *cm, uint64_t service_id);
/* Fills in the members about them that the CM's engine needs. */
void host_cm_share(struct host_cm *cm, struct roce_cm_config *config);
void host_cm_share_deinit(struct host_cm *cm);

/* --- addresses: resolve.c --- */

/* Under the device's lock: ends a query that runs. */
void host_cm_stop_query(struct host_cm_id *id);
void host_cm_expire_queries(struct host_cm *cm, uint64_t now_ns);

/* --- multicast: multicast.c --- */

/* Under the device's lock. */
void host_cm_leave_all(struct host_cm_id *id);

#endif
