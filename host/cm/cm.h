/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management of a device, shaped like librdmacm: ids, addresses, one stream of events with a
 * descriptor. What roce/cm/cm.h does for who has time, routes and MACs, this does for a program.
 *
 * All calls are made without the device's lock, from any thread; calls about one id from one thread at a
 * time. Errors are -errno; where there is an `why` (may be NULL) it gets a sentence. */
#ifndef NORNIC_HOST_CM_H
#define NORNIC_HOST_CM_H

#include <stdbool.h>
#include <stdint.h>

#include "host/host.h"
#include "roce/cm/cm.h"

struct host_cm;
struct host_cm_id;

struct host_cm_config {
    struct roce_cm_config timeouts; /* zero means the default; mem, random, wire, port_mtu_bytes are ours */
    enum nornic_gid_type gid_type;  /* of the GIDs that connections are made from (ROCE-CM-2) */
    struct nornic_mac peer_mac;     /* of the other end of a port that has no interface (memory) */
    bool is_keeper;                 /* it ends connections of the dead, and owes nothing of its own */
};

/* One for a device (-EBUSY), which makes its progress and outlives it; it holds the device's QP 1.
 * `config` NULL: all defaults. */
int host_cm_open(struct host_dev *dev, const struct host_cm_config *config, struct host_cm **out,
                 struct nornic_error *why);

/* What ids had to say when they were destroyed or disconnected leaves first, for at most 10 ms; a DREQ that
 * gets lost is not repeated any more. 0, or -EBUSY while there are ids. */
int host_cm_close(struct host_cm *cm);

/* --- ids --- */

/* `ctx`: the caller's. 0, -ENOSPC or -ENOMEM. */
int host_cm_create_id(struct host_cm *cm, enum nornic_port_space space, void *ctx, struct host_cm_id **out);

/* Gives an id back in any state, when the events taken about it are acknowledged: waits for that. What is
 * open is rejected or disconnected; events not taken yet are dropped, among them requests that came to a
 * listener. The QP stays the caller's: host_qp_destroy() takes it before or after its id. */
void host_cm_destroy_id(struct host_cm_id *id);

/* The caller's `ctx`; that of a request is its listener's until it is set. */
void *host_cm_id_ctx(const struct host_cm_id *id);
void host_cm_id_set_ctx(struct host_cm_id *id, void *ctx);

/* As roce_cm_id_set_qp_type(). */
int host_cm_set_qp_type(struct host_cm_id *id, enum nornic_qp_type type);
/* As nornic_cm_id_set_patience(). */
void host_cm_set_patience(struct host_cm_id *id, uint64_t patience_ns);
/* As nornic_cm_id_set_src_port(). */
int host_cm_set_src_port(struct host_cm_id *id, uint16_t port);

/* What it is bound and connected to; zero before it is known. */
void host_cm_id_endpoints(const struct host_cm_id *id, struct roce_cm_endpoints *out);

/* Finds the GID to send from (that of `src`, or with NULL the one that the kernel's routes choose), and
 * the MAC of the next hop to `dst`, at `dst_port` of which the id will connect. Does not wait:
 * ADDR_RESOLVED follows, or ADDR_ERROR when the neighbour does not answer within `timeout_ns`. 0; -EINVAL
 * (the id is in use); -EADDRNOTAVAIL (`src` is no address of the device); -EHOSTUNREACH (no route); or
 * another -errno. Called in the network namespace of the device. */
int host_cm_resolve_addr(struct host_cm_id *id, const struct nornic_addr *src, const struct nornic_addr *dst,
                         uint16_t dst_port, uint64_t timeout_ns, struct nornic_error *why);

/* After ADDR_RESOLVED. On Ethernet nobody has to be asked: ROUTE_RESOLVED follows. 0 or -EINVAL. */
int host_cm_resolve_route(struct host_cm_id *id);

/* As roce_cm_listen(): requests for `port` (0: a free one) of `addr` (NULL: of all addresses). -EADDRINUSE
 * also where another process on the interface listens to it. Called in the network namespace of the device.
 */
int host_cm_listen(struct host_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog);

/* After ROUTE_RESOLVED. The rest is as roce_cm_connect() has it. */
int host_cm_connect(struct host_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param);

/* As their counterparts of roce/cm/cm.h. */
int host_cm_accept(struct host_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param);
int host_cm_reject(struct host_cm_id *id, const void *private_data, uint8_t len_bytes);
int host_cm_establish(struct host_cm_id *id, const void *private_data, uint8_t len_bytes);
int host_cm_notify(struct host_cm_id *id);
int host_cm_disconnect(struct host_cm_id *id, const void *private_data, uint8_t len_bytes);
int host_cm_qp_attr(const struct host_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                    uint32_t *mask);

/* Joins a multicast group for UD (ROCE-UD-24), from the GID that resolving chose, else from the first of
 * the group's family: the kernel tells the network (IGMP, MLD). MULTICAST_JOIN follows with the path, QPN
 * and Q_Key to send to; or -errno at once. To receive, a QP is attached as well (roce_qp_attach_mcast()).
 * `is_send_only`: the kernel is not told. Leaving ends it. A group is joined once by an id (-EEXIST,
 * -ENOENT). */
int host_cm_join_multicast(struct host_cm_id *id, const struct nornic_addr *group, bool is_send_only,
                           struct nornic_error *why);
int host_cm_leave_multicast(struct host_cm_id *id, const struct nornic_addr *group);

/* --- events --- */

struct host_cm_event {
    enum nornic_cm_event_type type;
    struct host_cm_id *id;        /* CONNECT_REQUEST: a new one, now the caller's */
    struct host_cm_id *listen_id; /* CONNECT_REQUEST */
    int status;                   /* as roce_cm_event; ADDR_ERROR: -errno */
    struct roce_cm_event values;  /* what the messages said, and the path. Its ids are not for callers */
    struct nornic_error error;    /* ADDR_ERROR: why, as a sentence */
};

/* Polls readable (POLLIN) while events wait. */
int host_cm_fd(const struct host_cm *cm);

/* Takes the oldest event, waiting at most `timeout_ns` for one. 0 or -EAGAIN. It stays until it is
 * acknowledged, and its ids do as long. */
int host_cm_get_event(struct host_cm *cm, struct host_cm_event **event, uint64_t timeout_ns);
void host_cm_ack_event(struct host_cm_event *event);

#endif
