/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion statuses and opcodes in the standard's words: ROCE-CQ-7, ROCE section 11.3. */
#include "base/base.h"
#include "rdma/cq.h"

const char *nornic_wc_status_name(enum nornic_wc_status status)
{
    static const char *const names[] = {
        [NORNIC_WC_SUCCESS] = "SUCCESS",
        [NORNIC_WC_LOC_LEN_ERR] = "LOC_LEN_ERR",
        [NORNIC_WC_LOC_QP_OP_ERR] = "LOC_QP_OP_ERR",
        [NORNIC_WC_LOC_EEC_OP_ERR] = "LOC_EEC_OP_ERR",
        [NORNIC_WC_LOC_PROT_ERR] = "LOC_PROT_ERR",
        [NORNIC_WC_WR_FLUSH_ERR] = "WR_FLUSH_ERR",
        [NORNIC_WC_MW_BIND_ERR] = "MW_BIND_ERR",
        [NORNIC_WC_BAD_RESP_ERR] = "BAD_RESP_ERR",
        [NORNIC_WC_LOC_ACCESS_ERR] = "LOC_ACCESS_ERR",
        [NORNIC_WC_REM_INV_REQ_ERR] = "REM_INV_REQ_ERR",
        [NORNIC_WC_REM_ACCESS_ERR] = "REM_ACCESS_ERR",
        [NORNIC_WC_REM_OP_ERR] = "REM_OP_ERR",
        [NORNIC_WC_RETRY_EXC_ERR] = "RETRY_EXC_ERR",
        [NORNIC_WC_RNR_RETRY_EXC_ERR] = "RNR_RETRY_EXC_ERR",
        [NORNIC_WC_LOC_RDD_VIOL_ERR] = "LOC_RDD_VIOL_ERR",
        [NORNIC_WC_REM_INV_RD_REQ_ERR] = "REM_INV_RD_REQ_ERR",
        [NORNIC_WC_REM_ABORT_ERR] = "REM_ABORT_ERR",
        [NORNIC_WC_INV_EECN_ERR] = "INV_EECN_ERR",
        [NORNIC_WC_INV_EEC_STATE_ERR] = "INV_EEC_STATE_ERR",
        [NORNIC_WC_FATAL_ERR] = "FATAL_ERR",
        [NORNIC_WC_RESP_TIMEOUT_ERR] = "RESP_TIMEOUT_ERR",
        [NORNIC_WC_GENERAL_ERR] = "GENERAL_ERR",
    };
    return (unsigned)status < array_len(names) ? names[status] : "unknown status";
}

const char *nornic_wc_opcode_name(enum nornic_wc_opcode opcode)
{
    switch (opcode) {
    case NORNIC_WC_SEND:
        return "SEND";
    case NORNIC_WC_RDMA_WRITE:
        return "RDMA_WRITE";
    case NORNIC_WC_RDMA_READ:
        return "RDMA_READ";
    case NORNIC_WC_COMP_SWAP:
        return "COMP_SWAP";
    case NORNIC_WC_FETCH_ADD:
        return "FETCH_ADD";
    case NORNIC_WC_BIND_MW:
        return "BIND_MW";
    case NORNIC_WC_LOCAL_INV:
        return "LOCAL_INV";
    case NORNIC_WC_REG_MR:
        return "REG_MR";
    case NORNIC_WC_MASKED_COMP_SWAP:
        return "MASKED_COMP_SWAP";
    case NORNIC_WC_MASKED_FETCH_ADD:
        return "MASKED_FETCH_ADD";
    case NORNIC_WC_RECV:
        return "RECV";
    case NORNIC_WC_RECV_RDMA_WITH_IMM:
        return "RECV_RDMA_WITH_IMM";
    }
    return "unknown opcode";
}
