/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management: port spaces, parameters of a connection, events. Enumerators with a value of
 * librdmacm have that value. */
#ifndef NORNIC_CM_H
#define NORNIC_CM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/decls.h"
#include "nornic/device.h"
#include "nornic/error.h"
#include "nornic/qp.h"

NORNIC_BEGIN_DECLS

/* Port spaces, as the upper half of a service id writes them (ROCE-CM-60). */
enum nornic_port_space {
    NORNIC_PS_TCP = 0x0106, /* RC */
    NORNIC_PS_UDP = 0x0111, /* UD, by service id resolution */
    NORNIC_PS_IB = 0x013f,  /* RC; XRC after nornic_cm_id_set_qp_type() */
};

/* Parameters on which both ends of a connection agree; they mean the same as in librdmacm. */
struct nornic_conn_param {
    const void *private_data; /* borrowed for the call; NULL: no data, whatever the length */
    uint16_t private_data_len;
    uint8_t responder_resources; /* READs and atomics that we take at once */
    uint8_t initiator_depth;     /* and that we have outstanding */
    bool flow_control;
    uint8_t retry_count;     /* 0..7, of the peer's QP and of ours; connect only */
    uint8_t rnr_retry_count; /* 0..7, of the peer's QP */
    bool srq;                /* the QP takes its receives from an SRQ */
    uint32_t qp_num;         /* when `qp` is NULL */
    uint32_t qkey;           /* UD; 0: NORNIC_CM_QKEY */
    bool has_traffic_class;  /* packets have `traffic_class`; else 0 or, accepting, the request's */
    uint8_t traffic_class;   /* IPv6's, IPv4's type of service */
    /* RC: our QP's timer is `ack_timeout`; else it follows from the path's times. Over iWARP TCP gives up
     * (its user timeout) after 32 times that, as a queue pair of RoCE does, but not within a second; else
     * after its own time. */
    bool has_ack_timeout;
    uint8_t ack_timeout; /* 4.096 us * 2^n, 0..31; 0: without end. The peer is not told */
};

#define NORNIC_CM_QKEY 0x01234567 /* ROCE-CM-62 */

/* Values of librdmacm. The CM raises those of ROCE section 16.5. The others are for a library that resolves
 * addresses on top of it (ROCE-CM-64). */
/* clang-format off */
#define NORNIC_CM_EVENTS(E)                                                                          \
    E(ADDR_RESOLVED, 0) E(ADDR_ERROR, 1) E(ROUTE_RESOLVED, 2) E(ROUTE_ERROR, 3)                    \
    E(CONNECT_REQUEST, 4) E(CONNECT_RESPONSE, 5) E(CONNECT_ERROR, 6) E(UNREACHABLE, 7)             \
    E(REJECTED, 8) E(ESTABLISHED, 9) E(DISCONNECTED, 10) E(DEVICE_REMOVAL, 11)                     \
    E(MULTICAST_JOIN, 12) E(MULTICAST_ERROR, 13) E(ADDR_CHANGE, 14) E(TIMEWAIT_EXIT, 15)
/* clang-format on */

enum nornic_cm_event_type {
#define NORNIC_CM_EVENT_ENUM_(name, value) NORNIC_CM_EVENT_##name = value,
    NORNIC_CM_EVENTS(NORNIC_CM_EVENT_ENUM_)
#undef NORNIC_CM_EVENT_ENUM_
};
const char *nornic_cm_event_name(enum nornic_cm_event_type type); /* "CONNECT_REQUEST" */

/* --- the connection manager of a device: any call from any thread --- */

struct nornic_cm;
struct nornic_cm_id;
struct nornic_dev;
struct nornic_qp;

/* How to open a connection manager. Zero means the default. */
struct nornic_cm_config {
    size_t struct_bytes;           /* NORNIC_INIT() */
    enum nornic_gid_type gid_type; /* of the GIDs that connections are made from (ROCE-CM-2) */
    uint32_t max_ids;              /* of all ids, those in TIMEWAIT included; default 16384 */
    uint8_t response_timeout; /* for an answer of the peer, 4.096 us * 2^n; default 20: 4.3 s (ROCE-CM-35) */
    uint8_t max_retries;      /* of a message, 1..15; default 15 */
};

/* One for a device (-EBUSY), closed before it. `config` NULL: all defaults. 0 or -errno. */
int nornic_cm_open(struct nornic_dev *dev, const struct nornic_cm_config *config, struct nornic_cm **out,
                   struct nornic_error *why);

/* 0, or -EBUSY while there are ids. */
int nornic_cm_close(struct nornic_cm *cm);

/* Makes an id, which listens or connects. A listener makes one for each request. `ctx`: the caller's. 0,
 * -ENOSPC or -ENOMEM. */
int nornic_cm_id_create(struct nornic_cm *cm, enum nornic_port_space space, void *ctx,
                        struct nornic_cm_id **out);

/* Destroys an id in any state. Waits until the events taken about it are acknowledged. An open request is
 * rejected, an open connection disconnected. Events not taken yet are dropped, among them a listener's
 * requests. Its queue pair stays the caller's and is destroyed before or after it. */
void nornic_cm_id_destroy(struct nornic_cm_id *id);

/* The caller's `ctx`; that of a request is its listener's until it is set. */
void *nornic_cm_id_ctx(const struct nornic_cm_id *id);
void nornic_cm_id_set_ctx(struct nornic_cm_id *id, void *ctx);

/* Sets the type of an id's queue pairs (ROCE-XRC-4): of NORNIC_PS_IB, before it listens or connects.
 * RC, as of every new id; XRC_TGT of a listener and of the ids of its requests; XRC_INI of an id that
 * connects. 0; -EINVAL (another type, another port space, or the id is in use); or -EOPNOTSUPP: over iWARP
 * there is no XRC. */
int nornic_cm_id_set_qp_type(struct nornic_cm_id *id, enum nornic_qp_type type);

/* Sets the time in ns for which nornic_cm_id_connect() asks again, each NORNIC_CM_ASK_AGAIN_NS, while there
 * is no listener. REJECTED comes after it. 0, as of every new id: it asks once. For a program with a peer
 * that may tell it to connect a moment before it listens. Before the id connects; ids of UD ask once. */
#define NORNIC_CM_ASK_AGAIN_NS UINT64_C(10000000)
void nornic_cm_id_set_patience(struct nornic_cm_id *id, uint64_t patience_ns);

/* The port that an id connects from, which its peer is told: RoCE writes it into the request (ROCE-CM-61),
 * over iWARP it is that of the TCP connection, and nornic_cm_id_connect() fails if it is in use.
 * 0, as of every new id: one that is drawn. Before its address is resolved. 0, or -EINVAL: it is in use. */
int nornic_cm_id_set_src_port(struct nornic_cm_id *id, uint16_t port);

/* The addresses of an id and of its peer; zero before they are known. */
struct nornic_cm_endpoints {
    struct nornic_addr local, remote;
    uint16_t local_port, remote_port;
    uint32_t local_qpn, remote_qpn;
};
void nornic_cm_id_endpoints(struct nornic_cm_id *id, struct nornic_cm_endpoints *out);

/* Finds the GID to send from (that of `src`, or with NULL the one that the kernel's routes choose) and
 * the MAC of the next hop to `dst`, at `dst_port` of which the id will connect. Does not wait:
 * ADDR_RESOLVED follows, or ADDR_ERROR when the neighbour does not answer within `timeout_ns`. 0; -EINVAL
 * (the id is in use); -EADDRNOTAVAIL (`src` is no address of the device); -EHOSTUNREACH (no route); or
 * another -errno. Called in the network namespace of the device. */
int nornic_cm_id_resolve_addr(struct nornic_cm_id *id, const struct nornic_addr *src,
                              const struct nornic_addr *dst, uint16_t dst_port, uint64_t timeout_ns,
                              struct nornic_error *why);

/* After ADDR_RESOLVED. On Ethernet nobody has to be asked: ROUTE_RESOLVED follows. 0 or -EINVAL. */
int nornic_cm_id_resolve_route(struct nornic_cm_id *id);

/* Takes requests for `port` (0: a free one; nornic_cm_id_endpoints() says which) of `addr`; with 0.0.0.0 of
 * all IPv4 addresses of the device, with :: of all IPv6 addresses, and with NULL of all, but for those that
 * another id listens to by name or family. At most `backlog` requests wait for an answer; more are dropped,
 * so that their senders try again. 0, -EINVAL or -EADDRINUSE. */
int nornic_cm_id_listen(struct nornic_cm_id *id, const struct nornic_addr *addr, uint16_t port,
                        unsigned backlog);

/* Gets a queue pair ready for receives before its connection stands: moves it to INIT, with the
 * attributes of a later connect or accept. So no message of the peer finds an empty queue:
 * nornic_cm_id_prepare(), nornic_qp_post_recv(), then connect or accept with the same queue pair. 0 or
 * -EINVAL. */
int nornic_cm_id_prepare(struct nornic_cm_id *id, struct nornic_qp *qp);

/* After ROUTE_RESOLVED: connects (UD: asks for QPN and Q_Key, for which `qp` may be NULL). `qp` NULL: for
 * param->qp_num, as nornic_cm_id_qp_attr() has it. The queue pair,
 * of the CM's device, goes to INIT now, to RTR and RTS when the peer has answered, to ERR when the connection
 * ends. Then comes ESTABLISHED, REJECTED, UNREACHABLE or CONNECT_ERROR. `param` is borrowed. 0, -EINVAL
 * (state, values) or -EADDRINUSE: a connection of this queue pair is still in TIMEWAIT. Over iWARP, of the
 * port of nornic_cm_id_set_src_port(): -EADDRINUSE, somebody has it and does not share; -EADDRNOTAVAIL, a
 * connection from it to this peer is still there; -EACCES, it needs privilege. */
int nornic_cm_id_connect(struct nornic_cm_id *id, struct nornic_qp *qp,
                         const struct nornic_conn_param *param);

/* Answers CONNECT_REQUEST. The queue pair is in RTS before the answer leaves (ROCE-CM-53): the peer's
 * data may come before ESTABLISHED. Values above those of the request are lowered to them; `param` NULL:
 * those of the request. `qp` NULL: for param->qp_num, a queue pair that the program moves itself. Fails as
 * nornic_cm_id_connect() does. */
int nornic_cm_id_accept(struct nornic_cm_id *id, struct nornic_qp *qp, const struct nornic_conn_param *param);

/* For a program that moves its queue pair itself: connect or accept with `qp` NULL and its number in
 * param->qp_num. Writes the attributes that take it to INIT, RTR or RTS, and which of them count: the CM
 * itself would use these. 0, or -EINVAL while they are not known: those of INIT are known from the start,
 * those of RTR and RTS from CONNECT_REQUEST or CONNECT_RESPONSE on. Over iWARP, whose queue pairs have no
 * such states, INIT and RTR have the access rights and the port, RTS the port. */
int nornic_cm_id_qp_attr(struct nornic_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                         uint32_t *mask);

/* Establishes a connection whose queue pair the program has moved to RTS. CONNECT_RESPONSE, which comes
 * instead of ESTABLISHED to such a program, came before. 0 or -EINVAL. */
int nornic_cm_id_establish(struct nornic_cm_id *id);

/* Reports IBV_EVENT_COMM_EST: the queue pair of an accepted request has received, so that the connection
 * stands although the peer's confirmation is missing. 0; -EISCONN: it stands already; or -EINVAL: nothing was
 * accepted. Over iWARP, which needs no report, 0 from connecting or the request on. */
int nornic_cm_id_notify(struct nornic_cm_id *id);

/* Refuses CONNECT_REQUEST. At most 148 bytes (UD: 136; iWARP: as many as connecting takes), which may be
 * NULL. 0 or -EINVAL. */
int nornic_cm_id_reject(struct nornic_cm_id *id, const void *private_data, uint16_t len_bytes);

/* Ends the connection, or answers DISCONNECTED: the queue pair goes to ERR. DISCONNECTED (to the end that
 * began) and TIMEWAIT_EXIT follow. 0 or -EINVAL. */
int nornic_cm_id_disconnect(struct nornic_cm_id *id);

/* Joins a multicast group for UD (ROCE-UD-24); the kernel tells the network. MULTICAST_JOIN follows with
 * the way, QPN and Q_Key to send to; or -errno at once. To receive, a queue pair is attached as well
 * (nornic_qp_attach_mcast()). And leaves it. A group is joined once by an id (-EEXIST, -ENOENT). */
int nornic_cm_id_join_mcast(struct nornic_cm_id *id, const struct nornic_addr *group,
                            struct nornic_error *why);
int nornic_cm_id_leave_mcast(struct nornic_cm_id *id, const struct nornic_addr *group);

/* Joins a group as nornic_cm_id_join_mcast() does, only to send to it: the network is not told, and nothing
 * comes from the group. nornic_cm_id_leave_mcast() ends it. */
int nornic_cm_id_join_mcast_to_send(struct nornic_cm_id *id, const struct nornic_addr *group,
                                    struct nornic_error *why);

#define NORNIC_CM_PRIVATE_BYTES 512 /* of the message that carries most: an MPA frame; of RoCE's 224 */

/* An event, from when it is taken until it is acknowledged. */
struct nornic_cm_event {
    enum nornic_cm_event_type type;
    struct nornic_cm_id *id;        /* CONNECT_REQUEST: a new one, now the caller's */
    struct nornic_cm_id *listen_id; /* CONNECT_REQUEST */
    /* REJECTED: the standard's reason (28: by the application, 8: nobody listens). UNREACHABLE: a SIDR
     * status, or -ETIMEDOUT. ADDR_ERROR, CONNECT_ERROR, DISCONNECTED: 0 or -errno. */
    int status;
    /* CONNECT_REQUEST and ESTABLISHED: READs that this side may take, and READs that it may issue. */
    uint8_t responder_resources, initiator_depth;
    bool flow_control, srq;
    uint8_t retry_count, rnr_retry_count;
    uint32_t qpn;              /* the peer's */
    uint32_t qkey;             /* UD: ESTABLISHED; MULTICAST_JOIN */
    struct nornic_av av;       /* to the peer, or the group: for nornic_ah_create() */
    uint16_t private_data_len; /* RoCE: all that the message has room for, zero-padded (ROCE-CM-63) */
    uint8_t private_data[NORNIC_CM_PRIVATE_BYTES];
    struct nornic_error why; /* ADDR_ERROR; iWARP: whatever has gone wrong, else "" */
};

/* Polls readable (POLLIN) while events wait; the CM's. */
int nornic_cm_fd(const struct nornic_cm *cm);

/* Takes the oldest event, waiting at most `timeout_ns` for one. 0, -EAGAIN (none came) or -ENOMEM. The
 * event, and the ids that it names, stay until it is acknowledged. */
int nornic_cm_get_event(struct nornic_cm *cm, struct nornic_cm_event **event, uint64_t timeout_ns);
void nornic_cm_ack_event(struct nornic_cm_event *event);

NORNIC_END_DECLS

#endif
