/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management of an iWARP device: TCP connections with the frames of MPA (RFC 5044 7.1, RFC
 * 6581), shaped as host/cm/cm.h is for RoCE, and told by the same events.
 *
 * All calls are made without the device's lock, from any thread; calls about one id from one thread at a
 * time. Errors are -errno; where there is a `why` (may be NULL) it gets a sentence. Internal to host/. */
#ifndef NORNIC_HOST_IW_CM_H
#define NORNIC_HOST_IW_CM_H

#include "host/iwarp/iwarp.h"
#include "nornic/cm.h"

struct host_iw_cm;
struct host_iw_id;

struct host_iw_cm_event {
    enum nornic_cm_event_type type;
    struct host_iw_id *id;                        /* CONNECT_REQUEST: a new one, now the caller's */
    struct host_iw_id *listen_id;                 /* CONNECT_REQUEST */
    int status;                                   /* as struct nornic_cm_event has it */
    uint8_t responder_resources, initiator_depth; /* CONNECT_REQUEST, ESTABLISHED */
    uint16_t private_data_len;
    uint8_t private_data[IWARP_MPA_PRIVATE_BYTES];
    struct nornic_error why; /* what has gone wrong, as a sentence; else "" */
};

/* One for a device (-EBUSY), which makes its progress and outlives it. */
int host_iw_cm_open(struct host_dev *dev, struct host_iw_cm **out, struct nornic_error *why);
/* 0, or -EBUSY while there are ids. */
int host_iw_cm_close(struct host_iw_cm *cm);

/* --- ids --- */

/* 0, -EOPNOTSUPP: a port space of datagrams; or -ENOMEM. */
int host_iw_cm_create_id(struct host_iw_cm *cm, enum nornic_port_space space, void *ctx,
                         struct host_iw_id **out);
/* As host_cm_destroy_id(). */
void host_iw_cm_destroy_id(struct host_iw_id *id);
void *host_iw_cm_id_ctx(const struct host_iw_id *id);
void host_iw_cm_id_set_ctx(struct host_iw_id *id, void *ctx);
/* As nornic_cm_id_set_patience(). */
void host_iw_cm_set_patience(struct host_iw_id *id, uint64_t patience_ns);
/* As nornic_cm_id_set_src_port(). */
int host_iw_cm_set_src_port(struct host_iw_id *id, uint16_t port);
void host_iw_cm_id_endpoints(const struct host_iw_id *id, struct nornic_cm_endpoints *out);

/* Which of the device's addresses to connect from; ADDR_RESOLVED follows. As host_cm_resolve_addr(), but that
 * nobody is asked: the kernel resolves while it connects. */
int host_iw_cm_resolve_addr(struct host_iw_id *id, const struct nornic_addr *src,
                            const struct nornic_addr *dst, uint16_t dst_port, struct nornic_error *why);
int host_iw_cm_resolve_route(struct host_iw_id *id);

/* A TCP port of `addr`, or with NULL of all addresses that the device has, with 0.0.0.0 or :: of a family.
 * At most `backlog` Requests are told of and not answered. 0, -EINVAL, -EADDRINUSE, -EACCES (a port that
 * needs privilege) or another -errno. */
int host_iw_cm_listen(struct host_iw_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog);

/* As host_cm_connect() and so on. The queue pair is new. */
int host_iw_cm_connect(struct host_iw_id *id, struct host_iw_qp *qp, const struct nornic_conn_param *param);
int host_iw_cm_accept(struct host_iw_id *id, struct host_iw_qp *qp, const struct nornic_conn_param *param);
int host_iw_cm_reject(struct host_iw_id *id, const void *private_data, size_t private_bytes);
/* As nornic_cm_id_qp_attr() and nornic_cm_id_notify(). */
int host_iw_cm_qp_attr(const struct host_iw_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                       uint32_t *mask);
int host_iw_cm_notify(const struct host_iw_id *id);
/* 0 also where the peer, or this side, has ended it already: to answer DISCONNECTED so is fine. */
int host_iw_cm_disconnect(struct host_iw_id *id);

/* --- events: as host/cm/cm.h has them --- */

int host_iw_cm_fd(const struct host_iw_cm *cm);
int host_iw_cm_get_event(struct host_iw_cm *cm, struct host_iw_cm_event **event, uint64_t timeout_ns);
void host_iw_cm_ack_event(struct host_iw_cm_event *event);

#endif
