/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device and its port offer, its address tables, and the events that it raises. The enumerators have
 * the values of the verbs ABI. */
#ifndef NORNIC_DEVICE_H
#define NORNIC_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "nornic/qp.h"

/* Asynchronous events, ROCE section 12.2 (values of the verbs ABI). */
enum nornic_event_type {
    NORNIC_EVENT_CQ_ERR = 0,
    NORNIC_EVENT_QP_FATAL = 1,
    NORNIC_EVENT_QP_REQ_ERR = 2,
    NORNIC_EVENT_QP_ACCESS_ERR = 3,
    NORNIC_EVENT_COMM_EST = 4,
    NORNIC_EVENT_SQ_DRAINED = 5,
    NORNIC_EVENT_PATH_MIG = 6,
    NORNIC_EVENT_PATH_MIG_ERR = 7,
    NORNIC_EVENT_DEVICE_FATAL = 8,
    NORNIC_EVENT_PORT_ACTIVE = 9,
    NORNIC_EVENT_PORT_ERR = 10,
    NORNIC_EVENT_PKEY_CHANGE = 12,
    NORNIC_EVENT_SRQ_ERR = 14,
    NORNIC_EVENT_SRQ_LIMIT_REACHED = 15,
    NORNIC_EVENT_QP_LAST_WQE_REACHED = 16,
    NORNIC_EVENT_GID_CHANGE = 18,
    NORNIC_EVENT_COUNT
};

/* The name of an event as the standard writes it ("QP_ACCESS_ERR"); never NULL. */
const char *nornic_event_name(enum nornic_event_type type);

#define NORNIC_PKEY_MAX     128 /* entries of a P_Key table at the most */
#define NORNIC_PKEY_DEFAULT 0xffff

/* The protocol that an entry of the GID table stands for: ROCE-AH-10. Which IP version a V2 entry has, its
 * address says. */
enum nornic_gid_type { NORNIC_GID_V2, NORNIC_GID_V1 };

#define NORNIC_GID_MAX 64 /* entries of a GID table: ROCE-LIM-4 */

/* One entry of the GID table. */
struct nornic_gid {
    struct nornic_addr addr; /* IPv4 as ::ffff:a.b.c.d */
    enum nornic_gid_type type;
    struct nornic_mac mac; /* of the interface that owns the address */
    uint16_t vlan_id;      /* 0: untagged */
};

/* ROCE-LIM-5 (values of the verbs ABI). */
enum nornic_dev_caps {
    NORNIC_CAP_BAD_PKEY_COUNTER = 1 << 1,
    NORNIC_CAP_BAD_QKEY_COUNTER = 1 << 2,
    NORNIC_CAP_AUTO_PATH_MIG = 1 << 4, /* roce_dev_config.path_migration */
    NORNIC_CAP_CURR_QP_STATE_MOD = 1 << 7,
    NORNIC_CAP_PORT_ACTIVE_EVENT = 1 << 10,
    NORNIC_CAP_RC_RNR_NAK_GEN = 1 << 12,
    NORNIC_CAP_SRQ_RESIZE = 1 << 13,
    NORNIC_CAP_MEM_WINDOW = 1 << 17, /* type 1 */
    NORNIC_CAP_XRC = 1 << 20,
    NORNIC_CAP_MEM_MGT_EXTENSIONS = 1 << 21, /* fast registration, local and remote invalidation */
    NORNIC_CAP_MEM_WINDOW_TYPE_2B = 1 << 24,
};

/* Capabilities of a port (values of the verbs ABI). Those about subnet managers are reserved in RoCE and
 * client reregistration is not supported (ROCE-VB-1, VB-2, CA17-31). */
enum nornic_port_caps { NORNIC_PORT_CAP_CM = 1 << 16 };

enum nornic_atomic_cap { NORNIC_ATOMIC_NONE = 0, NORNIC_ATOMIC_HCA = 1 }; /* among all atomics: ROCE-RS-47 */

struct nornic_dev_attr {
    uint32_t cap_flags; /* enum nornic_dev_caps */
    enum nornic_atomic_cap atomic_cap;
    enum nornic_atomic_cap masked_atomic_cap; /* roce_dev_config.masked_atomics */
    uint32_t max_qp;
    uint32_t max_mr;    /* regions and windows together */
    uint32_t max_qp_wr; /* of either queue */
    uint32_t max_sge;
    uint32_t max_inline_bytes;
    uint32_t max_cqe;
    uint32_t max_srq_wr;
    uint8_t max_qp_rd_atomic, max_qp_init_rd_atomic; /* ROCE-LIM-1 */
    uint8_t local_ca_ack_delay; /* 4.096 us * 2^n; no answer waits so long (ROCE-LIM-2, RS-51) */
    uint16_t max_pkeys;
};

struct nornic_port_attr {
    bool is_up;
    bool roce_v1_supported; /* "RoCE Supported": ROCE-FRM-55, VB-1 */
    bool roce_v2_supported;
    uint32_t cap_flags;                  /* enum nornic_port_caps */
    enum nornic_mtu max_mtu, active_mtu; /* of the engine, and of this port */
    uint32_t max_msg_bytes;              /* of connected services; a datagram is at most active_mtu */
    uint16_t gid_table_size, pkey_table_size;
    uint16_t bad_pkey_counter, qkey_viol_counter; /* they stay at 65535: ROCE-RX-17, RX-18 */
};

#endif
