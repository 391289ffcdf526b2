/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: from nornic's form to the ABI's, and back. Internal to verbs/. */
#ifndef NORNIC_VERBS_WC_H
#define NORNIC_VERBS_WC_H

#include "verbs/verbs.h"

/* How a datagram travelled, in the low bits of its service level, as UCX reads it: 1 IPv6 (or a
 * GRH), 2 IPv4. */
static inline uint8_t verbs_wc_sl(const struct nornic_wc *wc)
{
    if (!(wc->wc_flags & NORNIC_WC_GRH))
        return 0;
    return wc->network == NORNIC_NETWORK_IPV4 ? 2 : 1;
}

/* After fast registration is a number that the ABI has not got: it is a driver's. */
static inline enum ibv_wc_opcode verbs_wc_opcode(enum nornic_wc_opcode opcode)
{
    return opcode == NORNIC_WC_REG_MR ? IBV_WC_DRIVER1 : (enum ibv_wc_opcode)opcode;
}

/* Returns the vendor_err of a completion of the ABI. That has room for four octets of Immediate Data, so a
 * good completion has the other four in this member (IWARP-RDMAP-43). */
static inline uint32_t verbs_wc_vendor_err(const struct nornic_wc *wc)
{
    return wc->status == NORNIC_WC_SUCCESS ? wc->imm_data_2 : wc->vendor_err;
}

static inline void verbs_wc_of(const struct nornic_wc *wc, struct ibv_wc *out)
{
    *out = (struct ibv_wc){
        .wr_id = wc->wr_id,
        .status = (enum ibv_wc_status)wc->status,
        .opcode = verbs_wc_opcode(wc->opcode),
        .vendor_err = verbs_wc_vendor_err(wc),
        .byte_len = wc->byte_len,
        .qp_num = wc->qp_num,
        .src_qp = wc->src_qpn,
        .wc_flags = wc->wc_flags,
        .pkey_index = wc->pkey_index,
        .sl = verbs_wc_sl(wc),
    };
    if (wc->wc_flags & NORNIC_WC_WITH_INV)
        out->invalidated_rkey = wc->invalidated_rkey;
    else
        out->imm_data = wc->imm_data;
}

/* Why a request ends so, in words that stand behind the status. */
const char *verbs_wc_why(enum nornic_wc_status status);

/* The completion of a datagram as nornic_av_from_wc() wants it. The sender's MAC,
 * which a completion of the ABI lacks, is left out: the creator of a handle resolves it. */
void verbs_wc_back(const struct ibv_wc *wc, const struct ibv_grh *grh, struct nornic_wc *out);

#endif
