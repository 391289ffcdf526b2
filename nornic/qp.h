/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: types, states, attributes, capacities. The enumerators have the values of the verbs ABI. */
#ifndef NORNIC_QP_H
#define NORNIC_QP_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"

enum nornic_qp_type {
    NORNIC_QPT_GSI = 1, /* QP1, one a device: ROCE section 10.3 */
    NORNIC_QPT_RC = 2,
    NORNIC_QPT_UC = 3,
    NORNIC_QPT_UD = 4,
    NORNIC_QPT_XRC_INI = 9,
    NORNIC_QPT_XRC_TGT = 10,
};

/* ROCE section 11.1 (values of the verbs ABI). */
enum nornic_qp_state {
    NORNIC_QPS_RESET = 0,
    NORNIC_QPS_INIT = 1,
    NORNIC_QPS_RTR = 2,
    NORNIC_QPS_RTS = 3,
    NORNIC_QPS_SQD = 4,
    NORNIC_QPS_SQE = 5,
    NORNIC_QPS_ERR = 6,
    NORNIC_QPS_COUNT
};

const char *nornic_qp_state_name(enum nornic_qp_state state); /* "RTS" */

/* Path MTU, ROCE-HDR-24. */
enum nornic_mtu {
    NORNIC_MTU_256 = 1,
    NORNIC_MTU_512 = 2,
    NORNIC_MTU_1024 = 3,
    NORNIC_MTU_2048 = 4,
    NORNIC_MTU_4096 = 5
};

/* Bytes of a path MTU, or 0; and the enum of a number of bytes, or 0 where there is none. */
uint32_t nornic_mtu_bytes(enum nornic_mtu mtu);
enum nornic_mtu nornic_mtu_from_bytes(uint32_t bytes);
/* The largest path MTU that fits an interface: mtu_bytes - 96, as connection managers count (ROCE-INT-25);
 * 0: none. */
enum nornic_mtu nornic_mtu_for_port(uint32_t port_mtu_bytes);

/* Address vector: ROCE-AH-1. The destination MAC is resolved by the caller. */
struct nornic_av {
    struct nornic_addr dgid;
    uint8_t sgid_index;
    uint8_t sl; /* 0..7: PCP of the VLAN tag */
    uint8_t traffic_class;
    uint8_t hop_limit;
    uint32_t flow_label;
    struct nornic_mac dst_mac;
};

/* Bits of an attribute mask: ROCE section 11.2. */
enum nornic_qp_attr_mask {
    NORNIC_QP_STATE = 1 << 0,
    NORNIC_QP_CUR_STATE = 1 << 1,
    NORNIC_QP_EN_SQD_ASYNC_NOTIFY = 1 << 2,
    NORNIC_QP_ACCESS_FLAGS = 1 << 3,
    NORNIC_QP_PKEY_INDEX = 1 << 4,
    NORNIC_QP_PORT = 1 << 5,
    NORNIC_QP_QKEY = 1 << 6,
    NORNIC_QP_AV = 1 << 7,
    NORNIC_QP_PATH_MTU = 1 << 8,
    NORNIC_QP_TIMEOUT = 1 << 9,
    NORNIC_QP_RETRY_CNT = 1 << 10,
    NORNIC_QP_RNR_RETRY = 1 << 11,
    NORNIC_QP_RQ_PSN = 1 << 12,
    NORNIC_QP_MAX_QP_RD_ATOMIC = 1 << 13,
    NORNIC_QP_ALT_PATH = 1 << 14,
    NORNIC_QP_MIN_RNR_TIMER = 1 << 15,
    NORNIC_QP_SQ_PSN = 1 << 16,
    NORNIC_QP_MAX_DEST_RD_ATOMIC = 1 << 17,
    NORNIC_QP_PATH_MIG_STATE = 1 << 18,
    NORNIC_QP_CAP = 1 << 19,
    NORNIC_QP_DEST_QPN = 1 << 20,
};

struct nornic_qp_attr {
    enum nornic_qp_state state;
    enum nornic_qp_state cur_state;
    bool en_sqd_async_notify;
    uint32_t access_flags; /* enum nornic_access: REMOTE_READ, REMOTE_WRITE, REMOTE_ATOMIC */
    uint16_t pkey_index;
    uint8_t port; /* 1 */
    uint32_t qkey;
    struct nornic_av av;
    enum nornic_mtu path_mtu;
    uint8_t timeout;       /* 0..31: 4.096 us * 2^timeout; 0: no timer (ROCE-RC-41) */
    uint8_t retry_cnt;     /* 0..7 (ROCE-RC-47) */
    uint8_t rnr_retry;     /* 0..7, 7: for ever (ROCE-RC-49) */
    uint8_t min_rnr_timer; /* 0..31: code of ROCE-HDR-22 */
    uint32_t rq_psn;
    uint32_t sq_psn;
    uint8_t max_rd_atomic;
    uint8_t max_dest_rd_atomic;
    uint32_t dest_qpn;
    /* Path migration; only where roce_dev_config.path_migration is on (ROCE-QP-33, IBA 17.2.8). */
    struct nornic_av alt_av;
    uint16_t alt_pkey_index;
    uint8_t alt_timeout;    /* as timeout */
    uint8_t path_mig_state; /* 0 migrated, 1 rearm, 2 armed. Setting 0 in state 2 migrates */
};

struct nornic_qp_caps {
    uint32_t max_send_wr, max_recv_wr;   /* rounded up to powers of two */
    uint32_t max_send_sge, max_recv_sge; /* at most NORNIC_MAX_SGE */
    uint32_t max_inline_bytes;           /* at most NORNIC_MAX_INLINE_BYTES */
};

#define NORNIC_MAX_WR           (1u << 20)
#define NORNIC_MAX_SGE          16
#define NORNIC_MAX_INLINE_BYTES 1024
#define NORNIC_MAX_RD_ATOMIC    128 /* ROCE-LIM-1 */
#define NORNIC_MAX_REORDER_PKTS 4096
#define NORNIC_MAX_MSG_BYTES    (1u << 31)

/* Every receive buffer of a UD or GSI QP begins with the L3 header of what arrived: 40 bytes, an IPv4
 * header in the second 20 of them (ROCE-UD-4). */
#define NORNIC_L3_AREA_BYTES 40

#endif
