/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions. The enumerators have the values of the verbs ABI. */
#ifndef NORNIC_WC_H
#define NORNIC_WC_H

#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* How a request ended: ROCE-CQ-7. */
enum nornic_wc_status {
    NORNIC_WC_SUCCESS = 0,
    NORNIC_WC_LOC_LEN_ERR = 1,
    NORNIC_WC_LOC_QP_OP_ERR = 2,
    NORNIC_WC_LOC_EEC_OP_ERR = 3,
    NORNIC_WC_LOC_PROT_ERR = 4,
    NORNIC_WC_WR_FLUSH_ERR = 5,
    NORNIC_WC_MW_BIND_ERR = 6,
    NORNIC_WC_BAD_RESP_ERR = 7,
    NORNIC_WC_LOC_ACCESS_ERR = 8,
    NORNIC_WC_REM_INV_REQ_ERR = 9,
    NORNIC_WC_REM_ACCESS_ERR = 10,
    NORNIC_WC_REM_OP_ERR = 11,
    NORNIC_WC_RETRY_EXC_ERR = 12,
    NORNIC_WC_RNR_RETRY_EXC_ERR = 13,
    NORNIC_WC_LOC_RDD_VIOL_ERR = 14,
    NORNIC_WC_REM_INV_RD_REQ_ERR = 15,
    NORNIC_WC_REM_ABORT_ERR = 16,
    NORNIC_WC_INV_EECN_ERR = 17,
    NORNIC_WC_INV_EEC_STATE_ERR = 18,
    NORNIC_WC_FATAL_ERR = 19,
    NORNIC_WC_RESP_TIMEOUT_ERR = 20,
    NORNIC_WC_GENERAL_ERR = 21,
};

/* What is complete: ROCE section 11.3 (send queue), ROCE-QP-41 (receive queue). */
enum nornic_wc_opcode {
    NORNIC_WC_SEND = 0,
    NORNIC_WC_RDMA_WRITE = 1,
    NORNIC_WC_RDMA_READ = 2,
    NORNIC_WC_COMP_SWAP = 3,
    NORNIC_WC_FETCH_ADD = 4,
    NORNIC_WC_BIND_MW = 5,
    NORNIC_WC_LOCAL_INV = 6,
    NORNIC_WC_REG_MR = 10,
    NORNIC_WC_MASKED_COMP_SWAP = 11,
    NORNIC_WC_MASKED_FETCH_ADD = 12,
    NORNIC_WC_RECV = 128,
    NORNIC_WC_RECV_RDMA_WITH_IMM = 129,
};

/* What else a completion says. */
enum nornic_wc_flags {
    NORNIC_WC_GRH = 1 << 0,
    NORNIC_WC_WITH_IMM = 1 << 1,
    NORNIC_WC_WITH_INV = 1 << 3,
};

/* How a datagram travelled (ROCE-UD-5). */
enum nornic_network {
    NORNIC_NETWORK_IB = 0, /* RoCEv1: a GRH */
    NORNIC_NETWORK_IPV4 = 1,
    NORNIC_NETWORK_IPV6 = 2,
};

/* One completion. After an error only wr_id, status, vendor_err and qp_num are valid (ROCE-RC-61). */
struct nornic_wc {
    uint64_t wr_id;
    enum nornic_wc_status status;
    enum nornic_wc_opcode opcode;
    uint32_t vendor_err;
    uint32_t byte_len; /* valid for receives, READs and atomics (ROCE-CQ-8) */
    uint32_t imm_data; /* NORNIC_WC_WITH_IMM, as the four octets travel: network order */
    uint32_t qp_num;
    uint32_t wc_flags;         /* enum nornic_wc_flags */
    uint32_t invalidated_rkey; /* NORNIC_WC_WITH_INV */
    /* of a datagram: ROCE-UD-5 */
    uint32_t src_qpn;
    uint16_t pkey_index;
    uint16_t vlan_id; /* 0: untagged */
    uint8_t src_mac[6];
    enum nornic_network network;
    uint32_t
        imm_data_2; /* iWARP, NORNIC_WC_WITH_IMM: octets 4 to 7 of Immediate Data, as they travel; else 0 */
};

/* The name of a status or an opcode as the standard writes it ("RNR_RETRY_EXC_ERR"); never NULL. */
const char *nornic_wc_status_name(enum nornic_wc_status status);
const char *nornic_wc_opcode_name(enum nornic_wc_opcode opcode);

NORNIC_END_DECLS

#endif
