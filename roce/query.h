/* SPDX-License-Identifier: BSD-2-Clause */
/* What a device and its port offer: ROCE sections 14 and 18. */
#ifndef NORNIC_ROCE_QUERY_H
#define NORNIC_ROCE_QUERY_H

#include "roce/roce.h"

/* ROCE-LIM-5 (values of the verbs ABI). */
enum roce_dev_caps {
    ROCE_CAP_BAD_PKEY_COUNTER = 1 << 1,
    ROCE_CAP_BAD_QKEY_COUNTER = 1 << 2,
    ROCE_CAP_AUTO_PATH_MIG = 1 << 4, /* roce_dev_config.path_migration */
    ROCE_CAP_CURR_QP_STATE_MOD = 1 << 7,
    ROCE_CAP_PORT_ACTIVE_EVENT = 1 << 10,
    ROCE_CAP_RC_RNR_NAK_GEN = 1 << 12,
    ROCE_CAP_SRQ_RESIZE = 1 << 13,
    ROCE_CAP_MEM_WINDOW = 1 << 17, /* type 1 */
    ROCE_CAP_XRC = 1 << 20,
    ROCE_CAP_MEM_MGT_EXTENSIONS = 1 << 21, /* fast registration, local and remote invalidation */
    ROCE_CAP_MEM_WINDOW_TYPE_2B = 1 << 24,
};

/* Capabilities of a port (values of the verbs ABI). Those about subnet managers are reserved in RoCE and
 * client reregistration is not supported (ROCE-VB-1, VB-2, CA17-31). */
enum roce_port_caps { ROCE_PORT_CAP_CM = 1 << 16 };

enum roce_atomic_cap { ROCE_ATOMIC_NONE = 0, ROCE_ATOMIC_HCA = 1 }; /* among all atomics: ROCE-RS-47 */

struct roce_dev_attr {
    uint32_t cap_flags; /* enum roce_dev_caps */
    enum roce_atomic_cap atomic_cap;
    enum roce_atomic_cap masked_atomic_cap; /* roce_dev_config.masked_atomics */
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

struct roce_port_attr {
    bool is_up;
    bool roce_v1_supported; /* "RoCE Supported": ROCE-FRM-55, VB-1 */
    bool roce_v2_supported;
    uint32_t cap_flags;                /* enum roce_port_caps */
    enum roce_mtu max_mtu, active_mtu; /* of the engine, and of this port */
    uint32_t max_msg_bytes;            /* of connected services; a datagram is at most active_mtu */
    uint16_t gid_table_size, pkey_table_size;
    uint16_t bad_pkey_counter, qkey_viol_counter; /* they stay at 65535: ROCE-RX-17, RX-18 */
};

/* What holds for the device as long as it lives, and what its port is now. */
void roce_dev_query(const struct roce_dev *dev, struct roce_dev_attr *out);
void roce_dev_query_port(const struct roce_dev *dev, struct roce_port_attr *out);

#endif
