/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/queue/wc.h"

void verbs_wc_back(const struct ibv_wc *wc, const struct ibv_grh *grh, struct nornic_wc *out)
{
    /* The service level is what verbs_wc_sl() made of it; where a program has not kept it, the version stands
     * where an IPv6 header has its own. */
    bool is_v4 = wc->sl == 2 || (wc->sl == 0 && ((const uint8_t *)grh)[0] >> 4 != 6);
    *out = (struct nornic_wc){
        .wr_id = wc->wr_id,
        .qp_num = wc->qp_num,
        .wc_flags = wc->wc_flags,
        .src_qpn = wc->src_qp,
        .pkey_index = wc->pkey_index,
        .network = is_v4 ? NORNIC_NETWORK_IPV4 : NORNIC_NETWORK_IPV6,
    };
}

const char *verbs_wc_why(enum nornic_wc_status status)
{
    switch (status) {
    case NORNIC_WC_SUCCESS:
        return "all went well";
    case NORNIC_WC_LOC_LEN_ERR:
        return "the message is longer than the receive, or than a message may be";
    case NORNIC_WC_LOC_QP_OP_ERR:
        return "the queue pair cannot do that";
    case NORNIC_WC_LOC_PROT_ERR:
        return "a piece of it is not in the region that its lkey names, or that may not be written to";
    case NORNIC_WC_WR_FLUSH_ERR:
        return "the queue pair is in an error state";
    case NORNIC_WC_MW_BIND_ERR:
        return "the window cannot be bound to that";
    case NORNIC_WC_BAD_RESP_ERR:
        return "the peer's answer is none to this request";
    case NORNIC_WC_LOC_ACCESS_ERR:
        return "the peer's message may not be written there";
    case NORNIC_WC_REM_INV_REQ_ERR:
        return "the peer refused it: its kind, its length, or too many at a time";
    case NORNIC_WC_REM_ACCESS_ERR:
        return "the peer's rkey does not allow it: its bounds, its rights, or it is gone";
    case NORNIC_WC_REM_OP_ERR:
        return "the peer could not carry it out";
    case NORNIC_WC_RETRY_EXC_ERR:
        return "the peer has acknowledged nothing, at the last of its retries (timeout, retry_cnt)";
    case NORNIC_WC_RNR_RETRY_EXC_ERR:
        return "the peer had no receive posted, at the last of its RNR retries (rnr_retry)";
    case NORNIC_WC_FATAL_ERR:
        return "the completion queue had no room for what came";
    case NORNIC_WC_LOC_EEC_OP_ERR:
    case NORNIC_WC_LOC_RDD_VIOL_ERR:
    case NORNIC_WC_REM_INV_RD_REQ_ERR:
    case NORNIC_WC_REM_ABORT_ERR:
    case NORNIC_WC_INV_EECN_ERR:
    case NORNIC_WC_INV_EEC_STATE_ERR:
    case NORNIC_WC_RESP_TIMEOUT_ERR:
    case NORNIC_WC_GENERAL_ERR:
        break;
    }
    return "nornic gives no such status of itself";
}
