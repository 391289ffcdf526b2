/* SPDX-License-Identifier: BSD-2-Clause */
/* Connection management: port spaces, parameters of a connection, events. Enumerators with a value of
 * librdmacm have that value. */
#ifndef NORNIC_CM_H
#define NORNIC_CM_H

#include <stdbool.h>
#include <stdint.h>

/* Port spaces, as the upper half of a service id writes them (ROCE-CM-60). */
enum nornic_port_space {
    NORNIC_PS_TCP = 0x0106, /* RC */
    NORNIC_PS_UDP = 0x0111, /* UD, by service id resolution */
    NORNIC_PS_IB = 0x013f,  /* RC */
};

/* What both ends of a connection agree on; the meaning of each is librdmacm's. */
struct nornic_conn_param {
    const void *private_data; /* borrowed for the call; may be NULL */
    uint8_t private_data_len;
    uint8_t responder_resources; /* READs and atomics that we take at once */
    uint8_t initiator_depth;     /* and that we have outstanding */
    bool flow_control;
    uint8_t retry_count;     /* 0..7, of the peer's QP and of ours; connect only */
    uint8_t rnr_retry_count; /* 0..7, of the peer's QP */
    bool srq;                /* the QP takes its receives from an SRQ */
    uint32_t qp_num;         /* when `qp` is NULL */
    uint32_t qkey;           /* UD; 0: NORNIC_CM_QKEY */
};

#define NORNIC_CM_QKEY 0x01234567 /* ROCE-CM-62 */

/* Values of librdmacm. The CM raises those of ROCE section 16.5; the others are for who resolves addresses on
 * top of it (ROCE-CM-64). */
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

#endif
