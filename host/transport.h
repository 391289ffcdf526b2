/* SPDX-License-Identifier: BSD-2-Clause */
/* The transports of host/: a table of functions for each, with RoCE and iWARP as the two instances. The
 * calls of programs (host/api/) go by the table. Posts, completions and memory are alike on all transports:
 * these calls go straight to rdma/. A queue pair is known by its neutral half, struct rdma_qp. Internal to
 * host/.
 *
 * Results are 0 or -errno if nothing else is said. A call that the transport does not have results in
 * -EOPNOTSUPP. */
#ifndef NORNIC_HOST_TRANSPORT_H
#define NORNIC_HOST_TRANSPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "nornic/cm.h"

struct host_conn_event;
struct host_conn_id;
struct host_conn_manager;
struct host_drive;
struct host_port_name;
struct host_transport;
struct rdma_cq;
struct rdma_domain;
struct rdma_pd;
struct rdma_qp;
struct rdma_srq;
struct rdma_xrcd;

/* The parts of a queue pair: struct nornic_qp_config in objects of the engine, all of one device. */
struct host_qp_config {
    enum nornic_qp_type type;
    struct rdma_pd *pd;                /* or NULL */
    struct rdma_cq *send_cq, *recv_cq; /* or NULL; may be one */
    struct rdma_srq *srq;              /* or NULL */
    struct rdma_xrcd *xrcd;            /* or NULL */
    struct nornic_qp_caps caps;
    bool sq_sig_all;
    uint32_t reorder_pkts;
    bool e2e_credits;
    bool block_multicast_loopback;
    void *ctx; /* the caller's: rdma_qp.ctx, also in events */
};

/* Takes one counter of many. */
typedef void host_visit_counter(void *ctx, const char *name, uint64_t value);

/* Connection management of a transport. A manager, an id and an event are the transport's own objects: struct
 * host_conn_manager, host_conn_id and host_conn_event are names for pointers to them, and nothing more. All
 * calls are made without the device's lock, from any thread; calls about one id from one thread at a time. */
struct host_cm_calls {
    /* Makes the one connection manager of `dev`, with struct nornic_cm_config. `peer_mac` is the MAC of the
     * other end of a port without an interface. 0 or -errno (-EBUSY: there is one) with a sentence. */
    int (*open)(struct host_dev *dev, const struct nornic_cm_config *config,
                const struct nornic_mac *peer_mac, struct host_conn_manager **out, struct nornic_error *why);
    /* Ends it. 0, or -EBUSY while there are ids. */
    int (*close)(struct host_conn_manager *cm);
    /* Makes an id with the caller's `ctx`. `*out` is set before an event can name the id. */
    int (*create_id)(struct host_conn_manager *cm, enum nornic_port_space space, void *ctx,
                     struct host_conn_id **out);
    /* Ends an id in any state after the events taken about it are acknowledged. */
    void (*destroy_id)(struct host_conn_id *id);
    /* Gives an id another `ctx`; that of a request is its listener's at first. */
    void (*set_ctx)(struct host_conn_id *id, void *ctx);

    /* The calls about an id, as nornic_cm_id_set_qp_type() and so on (nornic/cm.h). A queue pair is of the
     * same device, or NULL. */
    int (*set_qp_type)(struct host_conn_id *id, enum nornic_qp_type type);
    void (*set_patience)(struct host_conn_id *id, uint64_t patience_ns);
    int (*set_src_port)(struct host_conn_id *id, uint16_t port);
    void (*get_endpoints)(struct host_conn_id *id, struct nornic_cm_endpoints *out);
    int (*resolve_addr)(struct host_conn_id *id, const struct nornic_addr *src, const struct nornic_addr *dst,
                        uint16_t dst_port, uint64_t timeout_ns, struct nornic_error *why);
    int (*resolve_route)(struct host_conn_id *id);
    int (*listen)(struct host_conn_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog);
    int (*connect)(struct host_conn_id *id, struct rdma_qp *qp, const struct nornic_conn_param *param);
    int (*accept)(struct host_conn_id *id, struct rdma_qp *qp, const struct nornic_conn_param *param);
    int (*get_qp_attr)(struct host_conn_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                       uint32_t *mask);
    int (*establish)(struct host_conn_id *id);
    int (*notify)(struct host_conn_id *id);
    int (*reject)(struct host_conn_id *id, const void *private_data, uint16_t len_bytes);
    int (*disconnect)(struct host_conn_id *id);
    int (*join_mcast)(struct host_conn_id *id, const struct nornic_addr *group, bool is_send_only,
                      struct nornic_error *why);
    int (*leave_mcast)(struct host_conn_id *id, const struct nornic_addr *group);

    /* A descriptor that polls readable (POLLIN) while events wait; the manager's. */
    int (*get_fd)(const struct host_conn_manager *cm);
    /* Takes the oldest event: fills in `out`, with the `ctx` of each id as the id, and `*taken`, to be
     * acknowledged. `*request` is the new id of a CONNECT_REQUEST, else NULL. 0 or -EAGAIN. */
    int (*take_event)(struct host_conn_manager *cm, struct nornic_cm_event *out,
                      struct host_conn_event **taken, struct host_conn_id **request);
    /* Acknowledges an event, after which its ids may go. */
    void (*ack_event)(struct host_conn_event *taken);
};

struct host_transport {
    const struct host_cm_calls *cm;

    /* --- devices --- */

    const struct host_drive *drive; /* the parts of a round, and the end of a device */
    bool has_xrc;                   /* XRC domains can be made */

    /* Opens a device on the port that `config` names; `name` is that name in parts, and `self` the table.
     * 0 or -errno with a sentence in `why`. */
    int (*open)(const struct host_transport *self, const struct host_dev_config *config,
                const struct host_port_name *name, struct host_dev **out, struct nornic_error *why);
    /* Waits until the peers have all data of TCP connections that this side has ended, or until the messages
     * of the device's connection manager have left, `limit_ns` at most.
     * Without the device's lock. */
    void (*see_off)(struct host_dev *dev, uint64_t limit_ns);
    /* The name of the port, and its mode of operation ("native"); both live as long as the device. Any
     * thread. */
    const char *(*get_port_name)(const struct host_dev *dev);
    const char *(*get_port_mode)(const struct host_dev *dev);
    /* The domain of the device's objects. Any thread. */
    struct rdma_domain *(*get_domain)(const struct host_dev *dev);
    /* Fills in all attributes of the device, or those of its port now. Under the device's lock. */
    void (*query_dev)(const struct host_dev *dev, struct nornic_dev_attr *out);
    void (*query_port)(const struct host_dev *dev, struct nornic_port_attr *out);
    /* Calls `visit` for each counter of the device. Under the device's lock. */
    void (*visit_counters)(const struct host_dev *dev, host_visit_counter *visit, void *ctx);
    /* Changes the state of the port; while it is down, all frames are lost. Under the device's lock. */
    int (*set_port)(struct host_dev *dev, bool is_up);

    /* Fills in an entry of the GID table, or an address of the device. 0 or -ENOENT. Under the device's
     * lock. */
    int (*get_gid)(const struct host_dev *dev, unsigned index, struct nornic_gid *out);
    int (*get_addr)(const struct host_dev *dev, unsigned index, struct nornic_addr *out);
    /* The kernel's index of the interface that owns the GID or the address; 0: the device is on none. Under
     * the device's lock. */
    unsigned (*get_ifindex)(const struct host_dev *dev, unsigned index);
    /* Adds a GID: its index or -errno. Removes a GID at `now_ns`. Under the device's lock. */
    int (*add_gid)(struct host_dev *dev, const struct nornic_gid *gid);
    int (*remove_gid)(struct host_dev *dev, unsigned index, uint64_t now_ns);
    /* Fills in an entry of the P_Key table, or sets it. 0 or -EINVAL. Under the device's lock. */
    int (*get_pkey)(const struct host_dev *dev, unsigned index, uint16_t *pkey);
    int (*set_pkey)(struct host_dev *dev, unsigned index, uint16_t pkey);
    /* Finds the MAC of the next hop to `dst` from GID `sgid_index`, as host_dev_resolve_from(). Without the
     * device's lock. */
    int (*resolve)(struct host_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                   uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why);

    /* Makes an address handle in `pd`, or destroys it, as roce_ah_create() and roce_ah_destroy(). Under the
     * device's lock. */
    int (*create_ah)(struct host_dev *dev, struct rdma_pd *pd, const struct nornic_av *av,
                     struct nornic_ah **out);
    int (*destroy_ah)(struct nornic_ah *ah);
    /* Fills in the way back to the sender of a datagram, as roce_ah_from_wc(). Under the device's lock. */
    int (*get_av_back)(const struct host_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                       struct nornic_av *av);

    /* --- queue pairs --- */

    /* Makes a queue pair of `config` on `dev`; `*out` is its neutral half. 0, -EINVAL, -EOPNOTSUPP (a type or
     * a member that the transport does not have), -ENOSPC or -ENOMEM. Without the device's lock. */
    int (*create_qp)(struct host_dev *dev, const struct host_qp_config *config, struct rdma_qp **out);
    /* Destroys `qp` after the events taken about it are acknowledged. 0, or -EBUSY: it is attached to a
     * multicast group, and stays. Without the device's lock. */
    int (*destroy_qp)(struct host_dev *dev, struct rdma_qp *qp);
    /* Changes the state and the attributes in `mask` at `now_ns`. 0, or -EINVAL or -EOPNOTSUPP with nothing
     * changed. Under the device's lock, while nobody posts. */
    int (*modify_qp)(struct rdma_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask, uint64_t now_ns);
    /* Fills in the attributes and limits in force. `attr` or `caps` may be NULL. Under the device's lock. */
    void (*query_qp)(const struct rdma_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps);
    /* Fills in the address of the peer and its queue pair number, or 0 for none. False: `qp` has no peer.
     * Under the device's lock. */
    bool (*get_qp_peer)(const struct rdma_qp *qp, struct nornic_addr *addr, uint32_t *qpn);
    /* Says whether a program may lead a queue pair to RTS without a connection manager. 0, or -EOPNOTSUPP
     * with a sentence in `why`. Any thread. */
    int (*check_manual_connect)(struct nornic_error *why);
    /* Attaches a queue pair to the multicast group `group`, or detaches it. Under the device's lock. */
    int (*attach_mcast)(struct rdma_qp *qp, const struct nornic_addr *group);
    int (*detach_mcast)(struct rdma_qp *qp, const struct nornic_addr *group);
    /* Calls `visit` for each counter of the queue pair; none if the device counts for all. Under the
     * device's lock. */
    void (*visit_qp_counters)(const struct rdma_qp *qp, host_visit_counter *visit, void *ctx);
};

extern const struct host_transport host_transport_roce, host_transport_iwarp;
extern const struct host_cm_calls host_cm_calls_roce, host_cm_calls_iwarp;

#endif
