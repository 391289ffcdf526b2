/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management of a device, shaped like librdmacm: ROCE section 16. An id listens, or connects, or
 * is what a listener gives for a request. Like the engine it has no clock and does no I/O: time is an
 * argument, the next deadline a return value, and management datagrams leave and arrive over a roce_cm_wire.
 *
 * All calls of one CM come from the thread that drives its device (roce.h). A `now_ns` is the device's time.
 */
#ifndef NORNIC_ROCE_CM_CM_H
#define NORNIC_ROCE_CM_CM_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/cm.h"
#include "nornic/decls.h"
#include "rdma/mem.h"
#include "roce/cm/mad.h"
#include "roce/roce.h"

NORNIC_BEGIN_DECLS

struct roce_cm;
struct roce_cm_id;
struct roce_cm_connection; /* roce/cm/estate.h */

/* --- the connection manager --- */

/* Between two CMs, and of the connection that they make. */
struct roce_cm_path {
    struct nornic_av av; /* to the peer: dgid its address, sgid_index ours, dst_mac resolved */
    uint32_t remote_qpn; /* where its CM is: 1 */
    uint16_t pkey_index;
};

/* Who carries management datagrams. `send` gets ROCE_MAD_BYTES, borrowed for the call; one that it cannot
 * send now is lost like one that the network lost. What arrives goes to roce_cm_input(). */
struct roce_cm_wire {
    void (*send)(void *ctx, const struct roce_cm_path *path, const uint8_t *mad, uint64_t now_ns);
    void *ctx;
};

#define ROCE_CM_NO_SERVICE UINT64_MAX /* nobody listens to it: no port space has such an id */

/* Zero means the default where one is named. Timeouts are codes n of 4.096 us * 2^n (ROCE-CM-34). */
struct roce_cm_config {
    const struct rdma_mem *mem;      /* default: the C library's; copied */
    struct rdma_random random;       /* needed; copied */
    const struct roce_cm_wire *wire; /* default: the device's QP 1, which the CM makes; copied */
    uint64_t ca_guid;                /* default: EUI-64 of the MAC address of the first GID */
    uint32_t port_mtu_bytes;         /* IP MTU of the port: bounds the path MTU (ROCE-CM-36); needed */
    uint32_t max_ids;                /* of all ids, those in TIMEWAIT included; default 16384 */
    uint8_t response_timeout;        /* of either CM; default 20: 4.3 s (ROCE-CM-35) */
    uint8_t packet_life_time;        /* default 16: 268 ms */
    uint8_t ack_delay;               /* of this device; default 15 (ROCE-LIM-2) */
    uint8_t mra_timeout;             /* promised by an MRA for an application that thinks; default 24: 69 s */
    uint8_t max_retries;             /* 1..15, default 15 */
    uint32_t first_comm_id;          /* of the ids that this CM gives, beside those of other processes; */
    uint8_t comm_id_bits;            /* they are 2^bits, and the first is a multiple of that; default: 32 */
    bool no_mra;                     /* a repeated REQ or REP is not answered while the application thinks */
    /* Several CMs answer at one address, each in a process of its own, and each gets every datagram. Asked
     * before what is not known here is refused: a request for `service_id`, or (0) an end of a connection;
     * and (ROCE_CM_NO_SERVICE) what is not for any of them, which one is to answer. False: another one may
     * know it, nothing is said. NULL: this is the only one. */
    bool (*may_refuse)(void *ctx, uint64_t service_id);
    void *may_refuse_ctx;
    /* Gets each change of a connection (borrowed), and NULL when the peer waits for no message any more.
     * `handle` is the callee's, 0 at first, and stays with the connection. NULL: nobody takes notes. */
    void (*note)(void *ctx, const struct roce_cm_connection *connection, uint32_t *handle);
    void *note_ctx;
};

/* 0, -EINVAL, -ENOMEM, or -EBUSY: the device's QP 1 is taken. The device stays the caller's and outlives
 * the CM. */
int roce_cm_create(struct roce_dev *dev, const struct roce_cm_config *config, struct roce_cm **out);
/* 0, or -EBUSY while the application holds ids. Connections in TIMEWAIT are forgotten. */
int roce_cm_destroy(struct roce_cm *cm);

/* Takes what arrived at QP 1 and fires the timers that are due: after each progress of the device. Returns
 * whether events wait for roce_cm_get_event(). */
bool roce_cm_progress(struct roce_cm *cm, uint64_t now_ns);
/* When roce_cm_progress() is due next; NET_TIME_NONE: never. */
uint64_t roce_cm_deadline_ns(const struct roce_cm *cm);

/* The host of `peer` says that nobody there takes packets (ICMP port unreachable): what waits for an answer
 * from there without having been asked to wait (MRA) is given up after 100 ms, as it otherwise is after the
 * last retry; unless the answer comes. */
void roce_cm_refused(struct roce_cm *cm, const struct nornic_addr *peer, uint64_t now_ns);

/* QP 1 has datagrams that have not left yet: before the CM is destroyed, who drives the device makes progress
 * until there are none (a DREQ or DREP whose peer would repeat its own for a minute). */
bool roce_cm_is_sending(const struct roce_cm *cm);
/* Returns whether some of these datagrams wait for their time: roce_cm_deadline_ns() or later. */
bool roce_cm_is_paced(const struct roce_cm *cm);
/* QP 1 has half of its messages on their way, or more: time for a roce_cm_progress(). */
bool roce_cm_is_crowded(const struct roce_cm *cm);

/* With a wire of the caller's: takes one datagram that was addressed to QP 1. `path` leads back to its
 * sender (ROCE-CM-3). Both borrowed. */
void roce_cm_input(struct roce_cm *cm, const struct roce_cm_path *path, const uint8_t *mad, size_t len_bytes,
                   uint64_t now_ns);

/* Name, and what it counts. */
#define ROCE_CM_COUNTERS(C)                                           \
    C(resent, "messages sent again")                                  \
    C(timeouts, "exchanges given up after all retries")               \
    C(rx_malformed, "not 256 bytes, or not base version 1")           \
    C(rx_class, "management class not served")                        \
    C(rx_version, "class version not supported")                      \
    C(rx_method, "method is not Send, or reserved attribute id")      \
    C(rx_unknown_id, "for a connection that is not known")            \
    C(rx_wrong_peer, "for a connection of another peer")              \
    C(rx_duplicate, "repeated by the peer")                           \
    C(rx_unexpected, "not expected in the state of the connection")   \
    C(rx_bad_value, "a field has a value that cannot be")             \
    C(left_to_others, "not known here, and maybe to another process") \
    C(drop_backlog, "requests over the backlog of a listener")        \
    C(drop_no_id, "requests over the limit of ids, or of memory")     \
    C(stale, "connections that the peer has forgotten")               \
    C(tx_dropped, "messages that QP 1 could not send, or has no memory for")

/* Lives as long as the CM. Messages by attribute id, from ROCE_CM_ATTR_FIRST; a received one counts once its
 * envelope is good. */
struct roce_cm_counters {
    uint64_t rx[ROCE_CM_ATTR_COUNT], tx[ROCE_CM_ATTR_COUNT];
#define ROCE_CM_COUNTER_(name, words) uint64_t name;
    ROCE_CM_COUNTERS(ROCE_CM_COUNTER_)
#undef ROCE_CM_COUNTER_
};
const struct roce_cm_counters *roce_cm_counters(const struct roce_cm *cm);

/* --- ids --- */

/* ROCE section 16.5. */
/* clang-format off */
#define ROCE_CM_STATES(S)                                                                          \
    S(IDLE) S(LISTEN) S(REQ_SENT) S(REQ_RCVD) S(MRA_REQ_SENT) S(MRA_REQ_RCVD) S(REP_SENT)          \
    S(REP_RCVD) S(MRA_REP_SENT) S(MRA_REP_RCVD) S(ESTABLISHED) S(DREQ_SENT) S(DREQ_RCVD)           \
    S(TIMEWAIT) S(SIDR_REQ_SENT) S(SIDR_REQ_RCVD) S(SIDR_REP_SENT)
/* clang-format on */

enum roce_cm_state {
#define ROCE_CM_STATE_ENUM_(name) ROCE_CM_##name##_STATE,
    ROCE_CM_STATES(ROCE_CM_STATE_ENUM_)
#undef ROCE_CM_STATE_ENUM_
};
const char *roce_cm_state_name(enum roce_cm_state state); /* "REQ_SENT" */

/* `ctx`: the caller's, of roce_cm_id_ctx(). 0, -EINVAL, -ENOSPC or -ENOMEM. */
int roce_cm_id_create(struct roce_cm *cm, enum nornic_port_space space, void *ctx, struct roce_cm_id **out);

/* Gives an id back, in any state: what is open is rejected or disconnected (a connection goes on by itself
 * until the peer has agreed and its QPN may be used again), events that wait are dropped. Requests that a
 * listener has not shown yet are rejected. Does not touch the QP after this call. 0, or -EBUSY while events
 * that name the id are not acknowledged. */
int roce_cm_id_destroy(struct roce_cm_id *id, uint64_t now_ns);

/* The caller's pointer, of a new request that of its listener; and where the id is. */
void *roce_cm_id_ctx(const struct roce_cm_id *id);
void roce_cm_id_set_ctx(struct roce_cm_id *id, void *ctx);
enum roce_cm_state roce_cm_id_state(const struct roce_cm_id *id);

/* As nornic_cm_id_set_qp_type(). 0 or -EINVAL. */
int roce_cm_id_set_qp_type(struct roce_cm_id *id, enum nornic_qp_type type);

/* As nornic_cm_id_set_patience(). */
void roce_cm_id_set_patience(struct roce_cm_id *id, uint64_t patience_ns);

/* What an id is bound and connected to; zero before it is known. */
struct roce_cm_endpoints {
    struct nornic_addr local, remote;
    uint16_t local_port, remote_port;
    uint32_t local_qpn, remote_qpn;
    struct roce_cm_path path; /* to the peer */
};
void roce_cm_id_endpoints(const struct roce_cm_id *id, struct roce_cm_endpoints *out);

/* Takes requests for `port` (0: one that is free; see the endpoints) of an address of the device, of all IPv4
 * addresses (0.0.0.0) that nobody else listens to, or of all (NULL) that are left. At most `backlog` requests
 * wait for an answer of the application; more are dropped, so that their senders try again. 0, -EINVAL or
 * -EADDRINUSE. */
int roce_cm_listen(struct roce_cm_id *id, const struct nornic_addr *addr, uint16_t port, unsigned backlog);

/* User's bytes in the private data of a REQ and a SIDR_REQ, after the addresses (ROCE-CM-61). */
#define ROCE_CM_REQ_USER_BYTES      (ROCE_CM_REQ_PRIVATE_BYTES - ROCE_CM_IP_HDR_BYTES)
#define ROCE_CM_SIDR_REQ_USER_BYTES (ROCE_CM_SIDR_REQ_PRIVATE_BYTES - ROCE_CM_IP_HDR_BYTES)

/* ROCE-CM-60. */
static inline uint64_t roce_cm_service_id(enum nornic_port_space space, uint16_t port)
{
    return (uint64_t)space << 16 | port;
}

/* A free port of a port space, for an id that named none. */
uint16_t roce_cm_draw_port(struct roce_cm *cm, enum nornic_port_space space);

/* Where to. */
struct roce_cm_route {
    struct roce_cm_path path; /* resolved by the caller; remote_qpn 0 means 1 */
    uint16_t src_port;        /* 0: one is drawn */
    uint16_t dst_port;
    uint32_t mtu_bytes; /* of IP, on the way there: a bound beside the port's; 0: not known */
};

/* Connects (UD: asks for QPN and Q_Key). With a QP, which stays the application's and is kept until the id
 * is destroyed: moves it to INIT now, to RTR and RTS when the peer has answered, to ERR when the connection
 * ends. Without one the application does so, with roce_cm_qp_attr(). Then CONNECT_RESPONSE (without QP) or
 * ESTABLISHED, REJECTED, UNREACHABLE or CONNECT_ERROR. 0, -EINVAL (state, values; also what
 * roce_qp_modify() says) or -EADDRINUSE: the QPN belongs to a connection, maybe one in TIMEWAIT (ROCE
 * section 16.5). */
int roce_cm_connect(struct roce_cm_id *id, const struct roce_cm_route *route, struct roce_qp *qp,
                    const struct nornic_conn_param *param, uint64_t now_ns);

/* Answers CONNECT_REQUEST. The QP goes through INIT and RTR to RTS before the answer leaves (ROCE-CM-53):
 * the peer's data may come before ESTABLISHED. Values above those of the request are lowered to them.
 * `param` NULL: those of the request. Errors as roce_cm_connect(). */
int roce_cm_accept(struct roce_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param,
                   uint64_t now_ns);

/* Refuses CONNECT_REQUEST or CONNECT_RESPONSE. `reason` 0: consumer reject. At most
 * ROCE_CM_REJ_PRIVATE_BYTES (UD: ROCE_CM_SIDR_REP_PRIVATE_BYTES). 0 or -EINVAL. */
int roce_cm_reject(struct roce_cm_id *id, uint16_t reason, const void *private_data, uint8_t len_bytes,
                   uint64_t now_ns);

/* After CONNECT_RESPONSE, with the QP in RTS: the connection stands. 0 or -EINVAL. */
int roce_cm_establish(struct roce_cm_id *id, const void *private_data, uint8_t len_bytes, uint64_t now_ns);

/* The QP has seen data (NORNIC_EVENT_COMM_EST) before the RTU came. 0, or -EINVAL in other states. */
int roce_cm_notify_established(struct roce_cm_id *id, uint64_t now_ns);

/* Asks the peer for patience while the application thinks about CONNECT_REQUEST or CONNECT_RESPONSE:
 * `service_timeout` 0..31. 0 or -EINVAL. */
int roce_cm_mra(struct roce_cm_id *id, uint8_t service_timeout, const void *private_data, uint8_t len_bytes,
                uint64_t now_ns);

/* Ends the connection, or answers DISCONNECTED: the QP goes to ERR. Then DISCONNECTED (to who began) and
 * TIMEWAIT_EXIT. 0 or -EINVAL. */
int roce_cm_disconnect(struct roce_cm_id *id, const void *private_data, uint8_t len_bytes, uint64_t now_ns);

/* The application is about to destroy the id's QP: it is not touched any more. Its QPN stays taken. */
void roce_cm_forget_qp(struct roce_cm_id *id);

/* The attributes, and which, that take the id's QP to INIT, RTR or RTS: what the CM itself would use
 * (ROCE-CM-30 to 36, ROCE-INT-23 to 25). 0, or -EINVAL where they are not known yet. */
int roce_cm_qp_attr(const struct roce_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                    uint32_t *mask);

/* --- events --- */

struct roce_cm_event {
    enum nornic_cm_event_type type;
    struct roce_cm_id *id;        /* CONNECT_REQUEST: a new one, now the application's */
    struct roce_cm_id *listen_id; /* CONNECT_REQUEST */
    /* REJECTED: enum roce_cm_rej_reason. UNREACHABLE: enum roce_cm_sidr_status, or -ETIMEDOUT. CONNECT_ERROR,
     * DISCONNECTED: 0 or -errno. */
    int status;
    /* Of CONNECT_REQUEST, CONNECT_RESPONSE, ESTABLISHED, as seen from here: what we may take and issue. */
    uint8_t responder_resources, initiator_depth;
    bool flow_control, srq;
    uint8_t retry_count, rnr_retry_count;
    uint32_t qpn;             /* the peer's */
    uint32_t qkey;            /* UD: ESTABLISHED */
    struct roce_cm_path path; /* to the peer */
    uint8_t private_data_len; /* all that the message has room for, zero-padded (ROCE-CM-63) */
    uint8_t private_data[ROCE_CM_RTU_PRIVATE_BYTES];
};

/* Copies the oldest event out. False: none waits. */
bool roce_cm_get_event(struct roce_cm *cm, struct roce_cm_event *event);
/* Every event that was got is acknowledged, so that its id can be destroyed. */
void roce_cm_ack_event(const struct roce_cm_event *event);

NORNIC_END_DECLS

#endif
